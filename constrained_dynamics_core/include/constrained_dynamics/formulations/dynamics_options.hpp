// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include "constrained_dynamics/constraints/stabilisation.hpp"
#include "constrained_dynamics/formulations/row_factorisation.hpp"

namespace constrained_dynamics
{

/// Options of a solve that do not belong to the formulation.
struct DynamicsOptions
{
  RankOptions rank;
  /// Length [m] that makes angles comparable with distances: it scales rotational rows in rank
  /// decisions and in the distribution of forces over redundant rows.
  double characteristic_length = 1.0;
  Stabilisation stabilisation;
};

}  // namespace constrained_dynamics
