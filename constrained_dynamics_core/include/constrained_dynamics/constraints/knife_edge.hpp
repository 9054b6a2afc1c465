// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/frame_constraint.hpp"

namespace constrained_dynamics
{

/// A blade, skate or thin wheel: relative to B, the origin of frame A cannot move along the axis s,
/// which is fixed in A. Nonholonomic. Type id "knife_edge". With s_B = R s:
///     ψ = s_B · v,   b = −((ω × s_B) · v + s_B · v̇),   c_v = s_B.
/// Row "lateral". Force: λ s_B on A at its origin. It does not keep A on a surface: add a
/// PointOnPlane for that.
class CONSTRAINED_DYNAMICS_EXPORT KnifeEdge : public FrameConstraint
{
public:
  /// @param axis the forbidden direction in A, any nonzero length.
  /// @throw std::invalid_argument for a zero or non-finite axis, and as FrameConstraint does.
  KnifeEdge(
    std::string name, const System & system, const std::string & frame_a,
    const std::string & frame_b, const Eigen::Vector3d & axis);

  /// Unit vector s in A.
  const Eigen::Vector3d & axis() const { return axis_; }

  /// Its keys and documentation.
  static ConstraintDescription description();

protected:
  std::vector<DrawnPart> do_drawing() const override;
  Status do_frame_rows(const RelativeMotion & motion, ConstraintScratch & scratch, FrameRows & out)
    const noexcept CD_NONBLOCKING override;
  bool do_frame_rows_along(
    const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept override;

private:
  Eigen::Vector3d axis_;
};

}  // namespace constrained_dynamics
