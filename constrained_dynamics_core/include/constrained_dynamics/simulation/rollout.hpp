// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/contact/contact.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"
#include "constrained_dynamics/status.hpp"

/// @file
/// Many runs of one system from different states, for training, sampling and sweeps.

namespace constrained_dynamics
{

/// A matrix whose rows are contiguous in memory, as those of numpy are.
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstRowMatrixRef = Eigen::Ref<const RowMatrix>;

struct RolloutOptions
{
  Integrator integrator = Integrator::kMoreau;  ///< with fixed steps
  double step = 1e-3;                           ///< [s]
  double time = 0.0;                            ///< at the start of all runs [s]
  long every = 1;                               ///< states are kept after every k-th step
  int threads = 1;                              ///< 0: one per processor
  bool with_multipliers = false;                ///< one more solve for each state that is kept
  std::shared_ptr<const ContactSet> contacts;   ///< null: none
  /// If given: once true, runs end after their current step with Status::kInterrupted.
  const std::atomic<bool> * stop = nullptr;
};

/// What became of a batch of runs. K = steps/every states are kept of each run.
struct RolloutResult
{
  Eigen::VectorXd times;  ///< of the states that are kept (K) [s]
  /// q and u after every k-th step, run after run (runs · K × nq + n). Beyond the end of a run that
  /// failed, its last state is repeated.
  RowMatrix states;
  /// λ at these states (runs · K × m), see Solution::multipliers; empty unless requested. 0 beyond
  /// the end of a run that failed.
  RowMatrix multipliers;
  std::vector<Status> status;  ///< of each run: the worst of its steps, or why it ended
  std::vector<long> steps;     ///< of each run: how many were made
};

/// Integrates many runs of one system with fixed steps. Every run is computed as it would be alone,
/// so that results are the same, bit for bit, for any number of threads. A run that fails ends
/// without affecting the others. Real-time safe: no.
/// @param states q and u at the start, one row for each run (runs × nq + n). They should satisfy
/// the constraints.
/// @param inputs τ, held constant within each step. No rows: τ = 0; 1: the same for all runs; one
/// for each run; or one for each step, run after run (runs · steps × l).
/// @param steps of each run; a multiple of RolloutOptions::every.
/// @throw std::invalid_argument for sizes and options out of range, and as Simulation does.
CONSTRAINED_DYNAMICS_EXPORT RolloutResult rollout(
  const std::shared_ptr<const Dynamics> & dynamics, const ConstRowMatrixRef & states,
  const ConstRowMatrixRef & inputs, long steps, const RolloutOptions & options = {});

}  // namespace constrained_dynamics
