// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include "constrained_dynamics/simulation/simulation.hpp"

namespace constrained_dynamics
{

/// One explicit Runge-Kutta scheme: y ← y + h Σ weight_i k_i, k_i = f(y + h Σ_{j<i} stage_ij k_j).
struct StepScheme
{
  static constexpr int kMostStages = 5;
  int stages;
  double time[kMostStages];
  double stage[kMostStages][kMostStages];
  double weight[kMostStages];
};

constexpr StepScheme kRk4Scheme = {
  4,
  {0.0, 0.5, 0.5, 1.0, 0.0},
  {{0.0, 0.0, 0.0, 0.0, 0.0},
   {0.5, 0.0, 0.0, 0.0, 0.0},
   {0.0, 0.5, 0.0, 0.0, 0.0},
   {0.0, 0.0, 1.0, 0.0, 0.0},
   {0.0, 0.0, 0.0, 0.0, 0.0}},
  {1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0, 0.0}};

constexpr StepScheme kKuttaMersonScheme = {
  5,
  {0.0, 1.0 / 3.0, 1.0 / 3.0, 0.5, 1.0},
  {{0.0, 0.0, 0.0, 0.0, 0.0},
   {1.0 / 3.0, 0.0, 0.0, 0.0, 0.0},
   {1.0 / 6.0, 1.0 / 6.0, 0.0, 0.0, 0.0},
   {1.0 / 8.0, 0.0, 3.0 / 8.0, 0.0, 0.0},
   {0.5, 0.0, -1.5, 2.0, 0.0}},
  {1.0 / 6.0, 0.0, 0.0, 2.0 / 3.0, 1.0 / 6.0}};

/// The slopes that a step of Moreau evaluates; coordinates then follow the speeds at its end.
constexpr StepScheme kMoreauScheme = {1, {}, {}, {1.0}};

inline const StepScheme & scheme_of(Integrator integrator) noexcept
{
  return integrator == Integrator::kMoreau        ? kMoreauScheme
         : integrator == Integrator::kKuttaMerson ? kKuttaMersonScheme
                                                  : kRk4Scheme;
}

}  // namespace constrained_dynamics
