// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "model/kinematic_tree.hpp"

namespace constrained_dynamics
{

/// Velocities of planar and floating joints are in axes that turn with their body: their speeds
/// change at the rate u̇, the velocity itself, in the axes of the moment, at u̇ + ω × v.
///
/// Real-time safe.
class TurningAxes
{
public:
  /// @param system a robot, or a system whose first coordinates and speeds are those of a robot;
  /// any other has no such axes.
  explicit TurningAxes(const System & system)
  {
    if (const RigidBodySystem * robot = system.underlying().as_robot())
    {
      tree_ = &robot->tree();
    }
  }

  /// Writes ω × v where speeds are in such axes. @pre `out` is 0 elsewhere.
  void turning(const Eigen::VectorXd & u, Eigen::VectorXd & out) const noexcept
  {
    visit(
      [&](const TreeBody & body)
      {
        const double w = u(body.u + 2);
        out.segment<2>(body.u) << -w * u(body.u + 1), w * u(body.u);
      },
      [&](const TreeBody & body)
      {
        const Eigen::Vector3d v = u.segment<3>(body.u);
        const Eigen::Vector3d omega = u.segment<3>(body.u + 3);
        out.segment<3>(body.u) = omega.cross(v);
      });
  }

  /// Expresses velocities in the axes at q in those at `to`.
  void carry(const ConstVectorRef & q, const ConstVectorRef & to, VectorRef u) const noexcept
  {
    visit(
      [&](const TreeBody & body)
      {
        const Eigen::Vector2d v = u.segment<2>(body.u);
        u.segment<2>(body.u) = Eigen::Rotation2Dd(q(body.q + 2) - to(body.q + 2)) * v;
      },
      [&](const TreeBody & body)
      {
        const Eigen::Vector3d v = u.segment<3>(body.u);
        u.segment<3>(body.u) = rotation(to.segment<4>(body.q + 3)).conjugate() *
                               (rotation(q.segment<4>(body.q + 3)) * v);
      });
  }

private:
  static Eigen::Quaterniond rotation(const Eigen::Vector4d & quaternion) noexcept
  {
    return Eigen::Quaterniond(Eigen::Vector4d(quaternion / quaternion.stableNorm()));
  }

  template <typename Planar, typename Floating>
  void visit(const Planar & planar, const Floating & floating) const noexcept
  {
    if (tree_ == nullptr)
    {
      return;
    }
    for (const TreeBody & body : tree_->bodies)
    {
      if (body.kind == JointKind::kPlanar)
      {
        planar(body);
      }
      else if (body.kind == JointKind::kFloating)
      {
        floating(body);
      }
    }
  }

  const KinematicTree * tree_ = nullptr;
};

}  // namespace constrained_dynamics
