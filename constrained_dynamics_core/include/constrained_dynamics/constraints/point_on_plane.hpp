// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/frame_constraint.hpp"

namespace constrained_dynamics
{

/// The origin of frame A stays on a plane fixed in frame B. Type id "point_on_plane".
///     φ = n · p − offset,   φ̇ = n · v,   b = −n · v̇,   c_v = n.
/// Row "normal". Force: λ n on A at its origin; no friction. It can push and pull.
class CONSTRAINED_DYNAMICS_EXPORT PointOnPlane : public FrameConstraint
{
public:
  /// @param normal in B, any nonzero length. @param offset of the plane from B's origin along it
  /// [m].
  /// @throw std::invalid_argument for a zero or non-finite normal, a non-finite offset, and as
  /// FrameConstraint does.
  PointOnPlane(
    std::string name, const System & system, const std::string & frame_a,
    const std::string & frame_b, const Eigen::Vector3d & normal, double offset = 0.0);

  /// Unit normal n in B.
  const Eigen::Vector3d & normal() const { return normal_; }
  double offset() const { return offset_; }  ///< [m]

  /// Its keys and documentation.
  static ConstraintDescription description();

protected:
  std::vector<DrawnPart> do_drawing() const override;
  Status do_frame_rows(const RelativeMotion & motion, ConstraintScratch & scratch, FrameRows & out)
    const noexcept CD_NONBLOCKING override;
  bool do_frame_rows_along(
    const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept override;

private:
  Eigen::Vector3d normal_;
  double offset_;
};

}  // namespace constrained_dynamics
