// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/dynamics/state_completion.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/servo/inverse_dynamics.hpp"
#include "constrained_dynamics/servo/robot_profile.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// Estimates the constraint forces of a robot that another controller drives, from its measured
/// motion and joint efforts. If efforts are not measured, they are computed from accelerations,
/// which are filtered differences of speeds (InverseDynamics). Allocates only in the constructor
/// and in `start`; use one per thread.
class CONSTRAINED_DYNAMICS_EXPORT ForceObserver
{
public:
  /// @param measured_coordinates, measured_speeds as for StateCompletion.
  /// @param acceleration_filter time constant [s], ≥ 0; 0: none. @param profile says what measured
  /// efforts contain; null: they are efforts of the model.
  /// @throw std::invalid_argument as DriveConversion, with a profile.
  ForceObserver(
    std::shared_ptr<const Dynamics> dynamics, const std::vector<bool> & measured_coordinates,
    const std::vector<bool> & measured_speeds, double acceleration_filter,
    const RobotProfile * profile = nullptr);

  /// Starts at a state whose unmeasured values are an initial guess. Real-time safe: no.
  /// @throw std::invalid_argument if the constraints do not determine the unmeasured values.
  void start(State state);

  /// Solves at the measured values in q (nq) and u (n); the others are ignored. Real-time safe:
  /// yes.
  /// @param period since the last cycle [s]. @param effort as measured (l); null: not measured.
  /// Statuses: kNonFiniteInput, those of StateCompletion::complete, InverseDynamics::find,
  /// DriveConversion::net_effort and Dynamics::solve.
  [[nodiscard]] Status update(
    double period, const Eigen::VectorXd & q, const Eigen::VectorXd & u,
    const Eigen::VectorXd * effort) noexcept CD_NONBLOCKING;

  const Dynamics & dynamics() const { return *dynamics_; }
  /// Workspace of the last solve.
  const Workspace & workspace() const { return workspace_; }
  Workspace & workspace() { return workspace_; }
  /// Last complete state: q (nq), u (n).
  const Eigen::VectorXd & q() const { return q_; }
  const Eigen::VectorXd & u() const { return u_; }
  /// Efforts that the forces were solved for (l).
  const Eigen::VectorXd & effort() const { return effort_; }

  /// Filtered differences of the speeds u (n) of the last cycles.
  const Eigen::VectorXd & acceleration() const { return acceleration_; }

private:
  void filter_acceleration(double period) noexcept CD_NONBLOCKING;

  std::shared_ptr<const Dynamics> dynamics_;
  double acceleration_filter_;
  std::vector<bool> measured_coordinates_;
  std::vector<bool> measured_speeds_;
  Workspace workspace_;
  StateCompletion completion_;
  InverseDynamics inverse_dynamics_;
  std::unique_ptr<DriveConversion> drives_;  // null: efforts are those of the model
  double time_ = 0.0;
  Eigen::VectorXd q_, u_;
  Eigen::VectorXd next_q_, next_u_;
  Eigen::VectorXd effort_;
  Eigen::VectorXd last_u_;
  Eigen::VectorXd acceleration_;
  bool has_last_ = false;
};

}  // namespace constrained_dynamics
