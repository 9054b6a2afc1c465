// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <nanobind/stl/variant.h>

#include <variant>

#include "common.hpp"
#include "constrained_dynamics/constraints/stabilisation.hpp"

namespace constrained_dynamics::python
{

/// A gain as Python gives it: a number or a matrix.
using GainArgument = std::variant<double, MatrixArgument>;

inline Gain gain(const GainArgument & argument)
{
  if (const double * number = std::get_if<double>(&argument))
  {
    return Gain(*number);
  }
  return Gain(matrix(std::get<MatrixArgument>(argument)));
}

}  // namespace constrained_dynamics::python
