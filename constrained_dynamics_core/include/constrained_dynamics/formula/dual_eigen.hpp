// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "constrained_dynamics/formula/dual.hpp"

/// @file
/// Lets Eigen's matrices hold Dual, so that generic code can also differentiate vectors and
/// rotations. Cast matrices of doubles to the scalar before mixing.

namespace Eigen
{

template <>
struct NumTraits<constrained_dynamics::Dual> : NumTraits<double>
{
  using Real = constrained_dynamics::Dual;
  using NonInteger = constrained_dynamics::Dual;
  using Nested = constrained_dynamics::Dual;
  enum  // NOLINTBEGIN(readability-identifier-naming): Eigen's names
  {
    IsComplex = 0,
    IsInteger = 0,
    IsSigned = 1,
    RequireInitialization = 1,
    ReadCost = 2,
    AddCost = 2,
    MulCost = 4
  };  // NOLINTEND(readability-identifier-naming)
};

}  // namespace Eigen
