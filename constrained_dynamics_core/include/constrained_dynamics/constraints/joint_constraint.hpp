// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/constraints/frame_constraint.hpp"
#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// Which joint a JointConstraint is.
enum class JointType
{
  kHinge,        ///< turns about the axis
  kPrismatic,    ///< moves along the axis
  kCylindrical,  ///< turns about and moves along the axis
  kPlanar,       ///< moves across the axis and turns about it
  kScrew,        ///< turns about the axis and moves along it by the pitch in a turn
};

/// Stable id: "hinge", "prismatic", "cylindrical", "planar", "screw".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(JointType type) noexcept;

/// Coordinates of a joint that is stated as a constraint.
class CONSTRAINED_DYNAMICS_EXPORT JointCoordinates
{
public:
  virtual ~JointCoordinates();

  /// Names of the coordinates of the joint, e.g. "angle" [rad] and "displacement" [m].
  const std::vector<std::string> & coordinate_names() const { return names_; }

  /// Value of a coordinate at the state of the last System::update_kinematics; 0 for an index out
  /// of range. Angles are in [−π, π], except for the screw, whose turns follow from its
  /// displacement. Real-time safe: yes.
  double coordinate(const SystemData & data, int index) const noexcept CD_NONBLOCKING
  {
    return do_coordinate(data, index);
  }

  /// Those of a constraint; null if it is not a joint. Real-time safe: yes.
  static const JointCoordinates * of(const Constraint & constraint) noexcept CD_NONBLOCKING;

protected:
  explicit JointCoordinates(std::vector<std::string> names);
  virtual double do_coordinate(const SystemData & data, int index) const noexcept
    CD_NONBLOCKING = 0;

private:
  std::vector<std::string> names_;
};

/// A joint between frames A and B about (along) an axis a that has the same components in both.
///
/// With axes x, y, z = a fixed in B (z is a; x and y are right-handed with it) the rows are those
/// of FrameCoincidence along and about these axes:
///
/// | type | rows | coordinates |
/// |---|---|---|
/// | hinge | x y z rx ry | angle |
/// | prismatic | x y rx ry rz | displacement |
/// | cylindrical | x y rx ry | angle, displacement |
/// | planar | z rx ry | x, y, angle |
/// | screw | x y rx ry helix | angle, displacement |
///
/// displacement = a · p, p the position of A in B. angle = θ, the twist of (E41).
/// helix: (E44) φ = a · p − h (θ + 2π k), h = pitch/2π, with the integer k that makes |φ| least.
/// Turns are so counted by the displacement, and the row is smooth while |φ| < |pitch|/2:
///     φ̇ = a · v − h g · ω,   c_v = a,   c_ω = −h g.
/// Two rotation rows are undefined if the axes of A and B are opposite: kNonFiniteResult.
class CONSTRAINED_DYNAMICS_EXPORT JointConstraint : public FrameConstraint, public JointCoordinates
{
public:
  /// @param axis of any nonzero length. @param pitch of a screw [m] per turn, not zero, positive
  /// for a right-handed screw; 0 for the others.
  /// @throw std::invalid_argument for a zero or non-finite axis or pitch, and as FrameConstraint
  /// does.
  JointConstraint(
    std::string name, JointType type, const System & system, const std::string & frame_a,
    const std::string & frame_b, const Eigen::Vector3d & axis = Eigen::Vector3d::UnitZ(),
    double pitch = 0.0);

  /// Its keys and documentation.
  static ConstraintDescription description(JointType type);

protected:
  Status do_frame_rows(const RelativeMotion & motion, ConstraintScratch & scratch, FrameRows & out)
    const noexcept CD_NONBLOCKING override;
  bool do_frame_rows_along(
    const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept override;
  double do_coordinate(const SystemData & data, int index) const noexcept CD_NONBLOCKING override;
  const JointCoordinates * do_as_joint() const noexcept CD_NONBLOCKING override { return this; }

private:
  template <class S>
  Status find_rows(const RelativeMotionOf<S> & motion, FrameRowsOf<S> & out) const noexcept;

  CoincidenceAxes axes_;
  Eigen::Matrix3d turn_;  // columns x, y, z in B
  double advance_;        // h [m/rad]; 0 unless a screw
};

/// A universal joint: the origins coincide, and an axis fixed in A stays perpendicular to an axis
/// fixed in B. Type id "universal". Rows x y z as for FrameCoincidence, and with s = R axis_a:
///     cross: φ = axis_b · s,  φ̇ = (s × axis_b) · ω.
/// The rotation of A in B is Rot(axis_b, angle_b) Rot(axis_a, angle_a): coordinates angle_b and
/// angle_a, both in [−π, π]. Torque: about s × axis_b.
class CONSTRAINED_DYNAMICS_EXPORT UniversalJoint : public FrameConstraint, public JointCoordinates
{
public:
  /// @param axis_a in A, @param axis_b in B, of any nonzero length, perpendicular to each other as
  /// they are given: 90° to 1e-6 rad.
  /// @throw std::invalid_argument for axes that are zero, not finite or not perpendicular, and as
  /// FrameConstraint does.
  UniversalJoint(
    std::string name, const System & system, const std::string & frame_a,
    const std::string & frame_b, const Eigen::Vector3d & axis_a = Eigen::Vector3d::UnitX(),
    const Eigen::Vector3d & axis_b = Eigen::Vector3d::UnitY());

  /// Its keys and documentation.
  static ConstraintDescription description();

protected:
  Status do_frame_rows(const RelativeMotion & motion, ConstraintScratch & scratch, FrameRows & out)
    const noexcept CD_NONBLOCKING override;
  bool do_frame_rows_along(
    const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept override;
  double do_coordinate(const SystemData & data, int index) const noexcept CD_NONBLOCKING override;
  const JointCoordinates * do_as_joint() const noexcept CD_NONBLOCKING override { return this; }

private:
  Eigen::Vector3d axis_a_;
  Eigen::Vector3d axis_b_;
};

}  // namespace constrained_dynamics
