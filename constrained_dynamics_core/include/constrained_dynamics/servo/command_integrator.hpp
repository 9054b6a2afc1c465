// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// Options of a CommandIntegrator.
struct CommandIntegratorOptions
{
  /// Time constant T [s] with which commands return to the measurement, > 0. A drive that deviates
  /// from its command by d because of a load leaves d/(k T²) of error in a task of stiffness k.
  double join_time = 0.5;
  /// Largest deviation of a commanded from a measured coordinate [rad, m], > 0.
  double position_bound = 0.1;
  /// The same of the commanded speeds [rad/s, m/s], > 0.
  double velocity_bound = 1.0;
};

/// Position and velocity commands for robots without an effort interface: integrates the
/// accelerations of a control law on the constraint manifold, joined to the measurement (E54):
///     u_c ← u_c + h u̇ + ε (u_m − u_c),   q_c ← q_c + h u_c + ε (q_m − q_c),   ε = 1 − exp(−h/T),
/// with the deviations from the measurement scaled back to their bounds, and then moved to φ = 0
/// and φ̇ = ψ = 0 by the smallest correction. Commands start at the measurement, stay close to it
/// if the robot is blocked, and do not drift away from it.
///
/// Only coordinates of joints with one degree of freedom are commanded; those of a free base and of
/// ball joints are taken from the measurement. Allocates only in the constructor and in `start`;
/// use one per thread.
class CONSTRAINED_DYNAMICS_EXPORT CommandIntegrator
{
public:
  /// @throw std::invalid_argument for null, or options out of range.
  CommandIntegrator(
    std::shared_ptr<const Dynamics> dynamics, const CommandIntegratorOptions & options = {});

  /// Starts with the commands at a measured state. Real-time safe: no.
  /// @throw std::invalid_argument where the rows cannot be evaluated or satisfied near the state.
  void start(const State & state);
  /// Constraints are switched here. Real-time safe: yes.
  void set_active(int constraint, bool active) noexcept CD_NONBLOCKING
  {
    workspace_.set_active(constraint, active);
  }

  /// Advances the commands by a period.
  /// @param time at its end [s]. @param period [s], > 0. @param q, u measured (nq, n).
  /// @param acceleration u̇ (n) of the law, at the measured state.
  /// Statuses: kOk; kLimited (a bound binds); without output: kNoState (not started),
  /// kSizeMismatch, kNonFiniteInput, and those of Dynamics::project_position. Real-time safe: yes.
  [[nodiscard]] Status update(
    double time, double period, const ConstVectorRef & q, const ConstVectorRef & u,
    const ConstVectorRef & acceleration) noexcept CD_NONBLOCKING;

  /// Commanded coordinates q_c (nq) and speeds u_c (n).
  const Eigen::VectorXd & position() const { return q_; }
  const Eigen::VectorXd & velocity() const { return u_; }

private:
  std::shared_ptr<const Dynamics> dynamics_;
  CommandIntegratorOptions options_;
  Workspace workspace_;
  std::vector<bool> is_commanded_;        // of each coordinate
  std::vector<bool> is_commanded_speed_;  // of each speed
  Eigen::VectorXd q_, u_;
  Eigen::VectorXd next_q_, next_u_;
  Eigen::VectorXd rates_;
  bool has_started_ = false;
};

}  // namespace constrained_dynamics
