// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// Shape of a part of a drawing. A and B are the frames of the first pair of
/// Constraint::wrench_bodies.
enum class DrawnKind
{
  kPlane,      ///< of B: direction · p = offset; the region near A is drawn
  kLine,       ///< through the origin of B along the direction, fixed in B
  kRod,        ///< from the origin of A to that of B
  kSphere,     ///< about the origin of A, of radius size.x
  kDisk,       ///< about the origin of A, of radius size.x, its axis along the direction in A
  kEllipsoid,  ///< about the origin of A, with the semi-axes `size` along the axes of A
  kBlade,      ///< at the origin of A, across the direction in A in which it cannot move
};

/// Stable name: "plane", "line", "rod", "sphere", "disk", "ellipsoid", "blade".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(DrawnKind kind) noexcept CD_NONBLOCKING;

/// One part of how a constraint is drawn.
struct DrawnPart
{
  DrawnKind kind = DrawnKind::kRod;
  Eigen::Vector3d direction = Eigen::Vector3d::UnitZ();  ///< of length 1
  double offset = 0.0;                                   ///< of a plane [m]
  Eigen::Vector3d size = Eigen::Vector3d::Zero();        ///< [m]
};

}  // namespace constrained_dynamics
