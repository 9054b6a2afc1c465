// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/frame_constraint.hpp"

namespace constrained_dynamics
{

/// The slip of a point or a sphere, with the origin of frame A at its centre, on a plane of frame
/// B: the velocity of the material point at the contact along one or two directions in the plane.
/// Type id "contact_tangents". Friction acts on it; while it is enforced, the contact sticks.
///
/// With the normal n and ρ = −r n:  ψ = e · (v + ω × ρ),  c_v = e,  c_ω = ρ × e,
///     b = −e · (v̇ + ω̇ × ρ).
/// Rows "tangent_1", "tangent_2". Force: λ e on A at the contact point.
class CONSTRAINED_DYNAMICS_EXPORT ContactTangents : public FrameConstraint
{
public:
  /// @param normal in B, any nonzero length. @param radius r ≥ 0 [m].
  /// @param directions one or none, in B, not along the normal: none gives two rows, in the
  /// directions of PointOnLine; one gives one row (for planar systems).
  /// @throw std::invalid_argument for a direction that is zero or along the normal, more than one,
  /// a negative radius, and as FrameConstraint does.
  ContactTangents(
    std::string name, const System & system, const std::string & frame_a,
    const std::string & frame_b, const Eigen::Vector3d & normal, double radius = 0.0,
    const std::vector<Eigen::Vector3d> & directions = {});

  /// Its keys and documentation.
  static ConstraintDescription description();

protected:
  Status do_frame_rows(const RelativeMotion & motion, ConstraintScratch & scratch, FrameRows & out)
    const noexcept CD_NONBLOCKING override;

private:
  Eigen::Vector3d arm_;
  std::array<Eigen::Vector3d, 2> directions_;
};

}  // namespace constrained_dynamics
