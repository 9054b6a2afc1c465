// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <constrained_dynamics/dynamics/dynamics.hpp>
#include <constrained_dynamics/dynamics/reduction.hpp>
#include <constrained_dynamics/status.hpp>

namespace constrained_dynamics_ros
{

/// The inputs that give a constrained system an acceleration, with the help of the constraints;
/// where they cannot do it wholly, those that come closest in the norm of the inertia. With speeds
/// and acceleration 0: what keeps the system at rest against gravity and springs. Memory is taken
/// once; one a thread.
class InverseDynamics
{
public:
  explicit InverseDynamics(std::shared_ptr<const constrained_dynamics::Dynamics> dynamics);

  /// @param active workspace whose active constraints count. @param out (l), untouched without
  /// output. Statuses: those of Dynamics::set_state and Dynamics::reduce, kNonFiniteResult.
  /// Real-time safe: yes, as `find_at_rest`.
  [[nodiscard]] constrained_dynamics::Status find(
    double time, const constrained_dynamics::ConstVectorRef & q,
    const constrained_dynamics::ConstVectorRef & u,
    const constrained_dynamics::ConstVectorRef & acceleration,
    const constrained_dynamics::Workspace & active,
    constrained_dynamics::VectorRef out) noexcept CD_NONBLOCKING;
  /// For speeds and acceleration 0.
  [[nodiscard]] constrained_dynamics::Status find_at_rest(
    double time, const constrained_dynamics::ConstVectorRef & q,
    const constrained_dynamics::Workspace & active,
    constrained_dynamics::VectorRef out) noexcept CD_NONBLOCKING;

  /// At the state of the last `find` with output, terms included.
  const constrained_dynamics::Workspace & workspace() const { return workspace_; }

private:
  std::shared_ptr<const constrained_dynamics::Dynamics> dynamics_;
  constrained_dynamics::Workspace workspace_;
  constrained_dynamics::Reduction reduction_;
  Eigen::VectorXd rest_;
  Eigen::VectorXd missing_;  // acceleration
  Eigen::VectorXd force_;
  Eigen::VectorXd inputs_;
  Eigen::MatrixXd metric_;  // H
  Eigen::LDLT<Eigen::MatrixXd> factor_;
};

}  // namespace constrained_dynamics_ros
