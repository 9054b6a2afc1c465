// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constrained_dynamics/servo/robot_profile.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// A force and a torque in axes of a frame, about its origin: force [N], then torque [N m].
using WrenchVector = Eigen::Matrix<double, 6, 1>;

/// Takes weight, inertia and offset of a tool out of the readings of a force/torque sensor. The
/// sensor reads
///     y = external wrench on the tool − wrench that moves and carries the tool + offset,
/// about the origin of its frame and in axes of the frame. Allocates only in the constructor.
class CONSTRAINED_DYNAMICS_EXPORT WrenchCompensation
{
public:
  /// @param system a RigidBodySystem, which must outlive this object. @param tool everything beyond
  /// the sensor; its `frame` is that of the sensor.
  /// @throw std::invalid_argument for another system, an unknown frame, a negative mass or numbers
  /// that are not finite.
  WrenchCompensation(const System & system, const Payload & tool);

  /// The external wrench on the tool. @param data at the state of the last update_kinematics.
  /// @param acceleration u̇ (n). @param reading y (6).
  /// Statuses: kOk, kSizeMismatch, kNonFiniteInput, kNonFiniteResult. Real-time safe: yes.
  [[nodiscard]] Status compensate(
    const SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef & reading,
    WrenchVector & out) noexcept CD_NONBLOCKING;

  /// Sets the offset from a reading while nothing touches the tool. Parameters and statuses as of
  /// `compensate`; the offset is untouched unless kOk. Real-time safe: yes.
  [[nodiscard]] Status tare(
    const SystemData & data, const ConstVectorRef & acceleration,
    const ConstVectorRef & reading) noexcept CD_NONBLOCKING;

  const WrenchVector & offset() const { return offset_; }
  void set_offset(const WrenchVector & offset) noexcept CD_NONBLOCKING { offset_ = offset; }

private:
  const RigidBodySystem * robot_;
  int frame_;
  double mass_;
  Eigen::Vector3d moment_;   // mass · centre
  Eigen::Matrix3d inertia_;  // about the origin of the frame
  WrenchVector offset_ = WrenchVector::Zero();
  Matrix6X jacobian_;
};

}  // namespace constrained_dynamics
