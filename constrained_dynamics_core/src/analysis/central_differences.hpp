// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/status.hpp"

// Central differences of fourth order, for terms without analytic derivatives.

namespace constrained_dynamics
{

/// Their step: error h⁴ and rounding ε/h are both below 1e-12 for terms that vary over lengths,
/// angles and speeds of about 1.
inline constexpr double kDifferenceStep = 1e-3;

/// out = f'(0) from f(±h), f(±2h). `evaluate(x)` writes f(x) to `value` and returns its status; the
/// first that is not kOk ends the evaluation. Allocates nothing if `out` has its size.
template <class Values, class Evaluate>
Status central_difference(double step, Evaluate && evaluate, const Values & value, Values & out)
{
  constexpr double kNodes[] = {-2.0, -1.0, 1.0, 2.0};
  constexpr double kWeights[] = {1.0 / 12.0, -8.0 / 12.0, 8.0 / 12.0, -1.0 / 12.0};
  for (int node = 0; node < 4; ++node)
  {
    const Status status = evaluate(kNodes[node] * step);
    if (status != Status::kOk)
    {
      return status;
    }
    if (node == 0)
    {
      out = kWeights[node] / step * value;
    }
    else
    {
      out += kWeights[node] / step * value;
    }
  }
  return Status::kOk;
}

/// A state moved by a distance in direction k of (δ, u), δ in the directions of the speeds.
/// @param C the kinematic matrix at the state.
inline State displaced(
  const System & system, State state, const Eigen::MatrixXd & C, Eigen::Index k, double distance)
{
  if (k < C.cols())
  {
    state.q += distance * C.col(k);
    system.normalise(state.q);
  }
  else
  {
    state.u(k - C.cols()) += distance;
  }
  return state;
}

}  // namespace constrained_dynamics
