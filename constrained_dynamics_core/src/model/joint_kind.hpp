// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

namespace constrained_dynamics
{

/// Kinds of joints that a tree may have. In the frame of the body that it moves, the motion
/// subspace of each is constant.
enum class JointKind
{
  kFixed,
  kRevolute,
  kPrismatic,
  kPlanar,
  kFloating,
  kBall,
  kTranslation,
};

/// Number of coordinates of a joint.
constexpr int coordinates_of(JointKind kind)
{
  switch (kind)
  {
    case JointKind::kFixed:
      return 0;
    case JointKind::kRevolute:
    case JointKind::kPrismatic:
      return 1;
    case JointKind::kPlanar:
    case JointKind::kTranslation:
      return 3;
    case JointKind::kFloating:
      return 7;
    case JointKind::kBall:
      return 4;
  }
  return 0;
}

/// Number of speeds of a joint.
constexpr int speeds_of(JointKind kind)
{
  return kind == JointKind::kFloating || kind == JointKind::kBall ? coordinates_of(kind) - 1
                                                                  : coordinates_of(kind);
}

/// Whether the joint has one degree of freedom.
constexpr bool is_simple(JointKind kind)
{
  return kind == JointKind::kRevolute || kind == JointKind::kPrismatic;
}

/// Whether the last four coordinates of the joint are a quaternion.
constexpr bool has_quaternion(JointKind kind)
{
  return kind == JointKind::kFloating || kind == JointKind::kBall;
}

}  // namespace constrained_dynamics
