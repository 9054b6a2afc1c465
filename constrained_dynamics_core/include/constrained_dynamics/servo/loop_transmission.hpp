// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// Bounds of a LoopTransmission.
struct LoopTransmissionOptions
{
  /// Largest ratio of speeds and of efforts between the two sides, above 1. Motions in which one
  /// side moves less than 1/largest_ratio of all speeds together are left out as singular.
  double largest_ratio = 1e3;
  /// A change of positions is divided into parts of at most this size [rad, m], so that the branch
  /// is held.
  double largest_step = 0.1;
};

/// A closed chain seen as a serial one: positions, velocities and efforts of actuators (motors) and
/// of joints (the independent joints of the serial robot) converted into each other through the
/// loops. All are coordinates of one system with closed loops, e.g. a motor crank and a finger.
///
///     const Dynamics dynamics(scenario.active_constraints());
///     LoopTransmission transmission(dynamics, scenario.initial(), {"motor"}, {"finger"});  // once
///     status = transmission.actuators_to_joints(motor_positions, joint_positions);
///     status = transmission.actuator_velocities_to_joints(motor_velocities, joint_velocities);
///     status = transmission.joint_efforts_to_actuators(joint_efforts, motor_efforts);
///
/// With the motions u = N w that the loops allow, N (n × d), and the rows N_a, N_j of the actuators
/// and joints:
///     (E47) velocities: v_j = N_j N_a⁺ v_a,      efforts: N_aᵀ τ_a = N_jᵀ τ_j,
/// so that the power is the same on both sides for every motion. If there are more actuators than
/// degrees of freedom, efforts have the least norm, and positions and velocities are those of the
/// motion that is nearest to the given ones (least squares); the same holds for joints.
///
/// Positions are found by Newton's method to 1e-12, from the position that was held before. Of
/// several solutions (elbow up and down) it is the one that is reached without passing a singular
/// position. Velocities and efforts are converted at the position that was found last.
///
/// Efforts are those of statics: inertia, gravity and springs of the links belong to the model of
/// the robot.
///
/// All conversions are real-time safe, need sizes that fit, and leave their outputs and the held
/// position untouched without output. Statuses with output: kOk; kSingular if a side does not
/// determine the motion here (a toggle position): velocities and efforts then leave out the motions
/// that it does not determine, so that they stay bounded. Without output: kSizeMismatch,
/// kNonFiniteInput, failures of the evaluation, and for positions kNotConverged: there is no such
/// position on this branch, or it is too far away. Use one object per thread; one for measured and
/// another for commanded positions.
class CONSTRAINED_DYNAMICS_EXPORT LoopTransmission
{
public:
  /// @param state its coordinates are near the branch to be held; they are corrected to φ = 0.
  /// @param actuators, joints names of coordinates with one degree of freedom.
  /// @throw std::invalid_argument for unknown or repeated names, coordinates of joints with several
  /// degrees of freedom, sides that do not determine the motion at the state, rows that are not of
  /// positions or depend on time, options out of range, a state that cannot be assembled.
  LoopTransmission(
    const Dynamics & dynamics, const State & state, const std::vector<std::string> & actuators,
    const std::vector<std::string> & joints, const LoopTransmissionOptions & options = {});
  ~LoopTransmission();
  LoopTransmission(LoopTransmission &&) noexcept;
  LoopTransmission & operator=(LoopTransmission &&) noexcept;

  int actuator_count() const noexcept CD_NONBLOCKING;
  int joint_count() const noexcept CD_NONBLOCKING;
  int degrees_of_freedom() const noexcept CD_NONBLOCKING;  ///< d

  /// All coordinates q (nq) of the position that is held.
  const Eigen::VectorXd & coordinates() const noexcept CD_NONBLOCKING;

  /// Takes another position as the one that is held. Real-time safe: no.
  /// @throw std::invalid_argument as the constructor does.
  void start(const State & state);

  /// Positions [rad, m].
  [[nodiscard]] Status actuators_to_joints(
    const ConstVectorRef & actuators, VectorRef joints) noexcept CD_NONBLOCKING;
  [[nodiscard]] Status joints_to_actuators(
    const ConstVectorRef & joints, VectorRef actuators) noexcept CD_NONBLOCKING;

  /// Velocities [rad/s, m/s] at the position that is held.
  [[nodiscard]] Status actuator_velocities_to_joints(
    const ConstVectorRef & actuators, VectorRef joints) noexcept CD_NONBLOCKING;
  [[nodiscard]] Status joint_velocities_to_actuators(
    const ConstVectorRef & joints, VectorRef actuators) noexcept CD_NONBLOCKING;

  /// Efforts [N m, N] at the position that is held.
  [[nodiscard]] Status actuator_efforts_to_joints(
    const ConstVectorRef & actuators, VectorRef joints) noexcept CD_NONBLOCKING;
  [[nodiscard]] Status joint_efforts_to_actuators(
    const ConstVectorRef & joints, VectorRef actuators) noexcept CD_NONBLOCKING;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace constrained_dynamics
