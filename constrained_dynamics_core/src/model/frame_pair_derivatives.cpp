// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Derivatives of rows between two frames of a tree (E19a).

#include <Eigen/Geometry>

#include "clones.hpp"
#include "model/rigid_body_derivatives.hpp"

namespace constrained_dynamics
{

namespace
{

using Vector3 = Eigen::Vector3d;
using Matrix63 = Eigen::Matrix<double, 6, 3>;
using RowGradient = Eigen::Matrix<double, 1, 18>;

/// A row's derivatives by the motion of A relative to B as spatial vectors of the world: by a
/// displacement, by the relative velocity and by the relative acceleration.
struct SpatialGradient
{
  Vector6 pose;
  Vector6 velocity;
  Vector6 acceleration;
};

/// A force and a torque about the origin of B, in axes of B, as a spatial force of the world.
Vector6 to_world(const FramePairRows & rows, const Vector3 & force, const Vector3 & torque) noexcept
{
  Vector6 result;
  const Vector3 f = rows.rotation_b.lazyProduct(force);
  result.head<3>() = f;
  result.tail<3>() = rows.rotation_b.lazyProduct(torque) + rows.position_b.cross(f);
  return result;
}

/// From δv = δν + δω × p + ω × δp and δv̇ = δν̇ + δω̇ × p + ω̇ × δp + δω × v + ω × δv, with ν the
/// velocity of A's body at the origin of B, and δp = δd + δθ × p.
SpatialGradient to_world(const FramePairRows & rows, const RowGradient & g) noexcept
{
  const Vector3 & p = rows.position;
  const Vector3 & w = rows.angular_velocity;
  const Vector3 by_acceleration = g.segment<3>(12).transpose();
  const Vector3 by_velocity = g.segment<3>(6).transpose() + by_acceleration.cross(w);
  const Vector3 by_position = g.segment<3>(0).transpose() + by_velocity.cross(w) +
                              by_acceleration.cross(rows.angular_acceleration);
  const Vector3 by_turn = g.segment<3>(3).transpose() + p.cross(by_position);
  const Vector3 by_angular =
    g.segment<3>(9).transpose() + p.cross(by_velocity) + rows.velocity.cross(by_acceleration);
  const Vector3 by_angular_acceleration = g.segment<3>(15).transpose() + p.cross(by_acceleration);
  return {
    to_world(rows, by_position, by_turn), to_world(rows, by_velocity, by_angular),
    to_world(rows, by_acceleration, by_angular_acceleration)};
}

/// Changes of the spatial wrench on A by a displacement and by the relative velocity, while B
/// stays; both are matrices on spatial motions of the world.
struct WrenchGradient
{
  Matrix6 pose;
  Matrix6 velocity;
  bool has_velocity;
};

/// A map from motions of B's axes about its origin to forces there, as a map in the world.
Matrix6 map_to_world(const FramePairRows & rows, const Matrix63 & linear, const Matrix63 & angular)
{
  // X* M X⁻¹, column by column: X⁻¹ of a motion (v; ω) is (Rᵀ (v − p × ω); Rᵀ ω).
  const Matrix63 by_linear = linear.lazyProduct(rows.rotation_b.transpose());
  const Matrix63 by_angular =
    angular.lazyProduct(rows.rotation_b.transpose()) - by_linear.lazyProduct(skew(rows.position_b));
  Matrix6 result;
  for (int k = 0; k < 3; ++k)
  {
    result.col(k) = to_world(rows, by_linear.col(k).head<3>(), by_linear.col(k).tail<3>());
    result.col(k + 3) = to_world(rows, by_angular.col(k).head<3>(), by_angular.col(k).tail<3>());
  }
  return result;
}

WrenchGradient wrench_gradient(const FramePairRows & rows) noexcept
{
  const Eigen::Matrix3d px = skew(rows.position);
  const Eigen::Matrix3d fx = skew(rows.wrench.head<3>());
  Matrix63 by_position = Matrix63::Zero();
  Matrix63 by_turn = Matrix63::Zero();
  WrenchGradient result;
  result.has_velocity = false;
  if (!rows.has_constant_wrench)
  {
    const Matrix63 C_v = rows.wrench_change.middleCols<3>(6);
    by_position = rows.wrench_change.leftCols<3>() + C_v.lazyProduct(skew(rows.angular_velocity));
    by_turn = rows.wrench_change.middleCols<3>(3) - by_position.lazyProduct(px);
    Matrix63 by_velocity = C_v;
    Matrix63 by_angular = rows.wrench_change.middleCols<3>(9) - C_v.lazyProduct(px);
    // About the origin of B the torque is g + p × f.
    for (Matrix63 * change : {&by_position, &by_turn, &by_velocity, &by_angular})
    {
      const Eigen::Matrix3d moment = px.lazyProduct(change->topRows<3>());
      change->bottomRows<3>() += moment;
    }
    result.has_velocity = (rows.wrench_change.rightCols<6>().array() != 0.0).any();
    if (result.has_velocity)
    {
      result.velocity = map_to_world(rows, by_velocity, by_angular);
    }
  }
  by_position.bottomRows<3>() -= fx;
  by_turn.bottomRows<3>() += fx.lazyProduct(px);
  result.pose = map_to_world(rows, by_position, by_turn);
  return result;
}

}  // namespace

/// The speeds between the bodies and their closest common ancestor: those that move one body
/// relative to the other. Returns how many there are.
std::size_t TreeDerivatives::find_path(int body_a, int body_b) const noexcept
{
  std::size_t count = 0;
  while (body_a != body_b)
  {
    const bool on_b = body_b > body_a;
    int & body = on_b ? body_b : body_a;
    const TreeBody & joint = tree_->bodies[static_cast<std::size_t>(body)];
    for (Eigen::Index m = joint.u; m < joint.u + joint.nu; ++m)
    {
      PathColumn & column = path_[count++];
      column.speed = m;
      column.body = body;
      column.on_b = on_b;
      column.subspace = columns_[static_cast<std::size_t>(m)].subspace;
      if (on_b)
      {
        column.subspace = -column.subspace;
      }
    }
    body = joint.parent;
  }
  return count;
}

// (E19a) With σ = S on the side of A and −S on that of B, W = V_A − V_parent, the acceleration
// a = A_A − A_parent − V_parent × V_A of A relative to the joint's parent and D = V_parent − V_B:
//     displacement σ;  δν = σ × W;  δν̇ = σ × a + D × δν,   by u: δν = σ,
//     δν̇ = (V_joint − V_B) × σ + σ × W.
CD_CLONES void TreeDerivatives::frame_pair(
  const FramePairRows & rows, MatrixRef residual_q, MatrixRef residual_u, MatrixRef velocity_q,
  MatrixRef force_q, MatrixRef force_u) const noexcept CD_NONBLOCKING
{
  const int body_a = tree_->frames[static_cast<std::size_t>(rows.frame_a)].body;
  const int body_b = tree_->frames[static_cast<std::size_t>(rows.frame_b)].body;
  const Vector6 V_a = velocity_of(body_a);
  const Vector6 A_a = acceleration_of(body_a);
  const Vector6 V_b = velocity_of(body_b);
  SpatialGradient residual[FramePairRows::kMaximum];
  SpatialGradient velocity[FramePairRows::kMaximum];
  for (int i = 0; i < rows.count; ++i)
  {
    RowGradient g = RowGradient::Zero();
    g.head<12>() = rows.velocity_rows.row(i);
    velocity[i] = to_world(rows, g);
    residual[i] = to_world(rows, rows.residual.row(i));
  }
  const Vector3 & f = rows.wrench.head<3>();
  const Vector6 wrench = to_world(rows, f, rows.wrench.tail<3>() + rows.position.cross(f));
  const WrenchGradient change = wrench_gradient(rows);
  const std::size_t count = find_path(body_a, body_b);
  for (std::size_t k = 0; k < count; ++k)
  {
    PathColumn & column = path_[k];
    const Eigen::Index m = column.speed;
    const int parent = parent_of(column.body);
    const Vector6 V_parent = velocity_of(parent);
    const Vector6 & S = column.subspace;
    const Vector6 W = V_a - V_parent;
    const Vector6 dV = cross(S, W);
    const Vector6 dA =
      cross(S, A_a - acceleration_of(parent) - cross(V_parent, V_a)) + cross(V_parent - V_b, dV);
    const Vector6 dA_u = cross(velocity_of(column.body) - V_b, S) + dV;
    for (int i = 0; i < rows.count; ++i)
    {
      residual_q(i, m) =
        residual[i].pose.dot(S) + residual[i].velocity.dot(dV) + residual[i].acceleration.dot(dA);
      residual_u(i, m) = residual[i].velocity.dot(S) + residual[i].acceleration.dot(dA_u);
      velocity_q(i, m) = velocity[i].pose.dot(S) + velocity[i].velocity.dot(dV);
    }
    column.turned = cross_force(S, wrench);
    column.by_q = change.pose.lazyProduct(S);
    if (change.has_velocity)
    {
      column.by_q += change.velocity.lazyProduct(dV);
      column.by_u = change.velocity.lazyProduct(S);
    }
  }
  // Aᵀ λ = σᵀ Ω: Ω changes, and with it B's part of the world; the subspaces behind a joint turn.
  for (std::size_t c = 0; c < count; ++c)
  {
    const PathColumn & moved = path_[c];
    const Vector6 alike = moved.on_b ? moved.by_q : Vector6(moved.by_q - moved.turned);
    const Vector6 across = moved.on_b ? Vector6(moved.by_q - moved.turned) : moved.by_q;
    for (std::size_t r = 0; r < count; ++r)
    {
      const PathColumn & row = path_[r];
      const bool turns = row.on_b == moved.on_b && row.body >= moved.body;
      force_q(row.speed, moved.speed) += row.subspace.dot(turns ? alike : across);
      if (change.has_velocity)
      {
        force_u(row.speed, moved.speed) += row.subspace.dot(moved.by_u);
      }
    }
  }
}

}  // namespace constrained_dynamics
