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

/// The origin of frame A stays on a line through the origin of frame B, fixed in B.
/// Type id "point_on_line".
///     φ_i = e_i · p,   φ̇_i = e_i · v,   b_i = −e_i · v̇,   c_v = e_i,   i = 1, 2,
/// rows "normal_1" and "normal_2". e_1, e_2 and the direction are orthonormal and right-handed;
/// let a be the axis of B nearest to the direction: e_1 is nearest to the axis after a (x → y → z →
/// x), so a line along z has e_1 = x, e_2 = y. Force: λ_1 e_1 + λ_2 e_2 on A at its origin;
/// rotations are free.
class CONSTRAINED_DYNAMICS_EXPORT PointOnLine : public FrameConstraint
{
public:
  /// @param direction in B, any nonzero length.
  /// @throw std::invalid_argument for a zero or non-finite direction, and as FrameConstraint does.
  PointOnLine(
    std::string name, const System & system, const std::string & frame_a,
    const std::string & frame_b, const Eigen::Vector3d & direction);

  /// Unit vector in B.
  Eigen::Vector3d direction() const;

  /// Its keys and documentation.
  static ConstraintDescription description();

protected:
  std::vector<DrawnPart> do_drawing() const override;
  Status do_frame_rows(const RelativeMotion & motion, ConstraintScratch & scratch, FrameRows & out)
    const noexcept CD_NONBLOCKING override;
  bool do_frame_rows_along(
    const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept override;

private:
  std::array<Eigen::Vector3d, 2> normals_;
};

}  // namespace constrained_dynamics
