// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "model/kinematic_tree.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/Geometry>

#include "clones.hpp"

namespace constrained_dynamics
{

namespace
{

/// The parent of the bodies that are attached to the world.
const BodyMotion kWorld;

/// 0 for finite vectors, NaN otherwise.
double probe(const Eigen::Vector3d & x) noexcept { return 0.0 * (x(0) + x(1) + x(2)); }

}  // namespace

Eigen::Matrix<double, 4, 3> quaternion_rates(const Eigen::Vector4d & q) noexcept
{
  Eigen::Matrix<double, 4, 3> E;
  E << q(3), -q(2), q(1),  //
    q(2), q(3), -q(0),     //
    -q(1), q(0), q(3),     //
    -q(0), -q(1), -q(2);
  return 0.5 * E;
}

TreeData::TreeData(
  int coordinate_count, int speed_count, int input_count, std::size_t body_count,
  const std::vector<TreeWrench> & outside)
: SystemData(coordinate_count, speed_count, input_count),
  motions(body_count),
  wrenches(outside),
  moments(body_count, Eigen::Vector3d::Zero()),
  momenta(body_count, Eigen::Vector3d::Zero())
{
}

bool KinematicTree::update_joint(const TreeBody & body, TreeData & data) const noexcept
{
  // Writes the motion relative to the parent; the caller transforms it to the world.
  SystemTerms & terms = data.terms;
  const Eigen::VectorXd & q = terms.coordinates;
  const Eigen::VectorXd & u = terms.speeds;
  Eigen::MatrixXd & C = terms.kinematic_matrix;
  BodyMotion & motion = data.motions[static_cast<std::size_t>(&body - bodies.data())];
  if (body.kind == JointKind::kTranslation)
  {
    motion.rotation.setIdentity();
    motion.position = q.segment<3>(body.q);
    C.block<3, 3>(body.q, body.u).setIdentity();
    terms.rates.segment<3>(body.q) = u.segment<3>(body.u);
    terms.acceleration_bias.segment<3>(body.q).setZero();
    return true;
  }
  if (body.kind == JointKind::kPlanar)
  {
    const double c = std::cos(q(body.q + 2));
    const double s = std::sin(q(body.q + 2));
    motion.rotation << c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0;
    motion.position << q(body.q), q(body.q + 1), 0.0;
    C.block<3, 3>(body.q, body.u) = motion.rotation;
    const double vx = c * u(body.u) - s * u(body.u + 1);
    const double vy = s * u(body.u) + c * u(body.u + 1);
    const double w = u(body.u + 2);
    terms.rates.segment<3>(body.q) << vx, vy, w;
    // d/dt of the rotation turns the velocity by 90°, times the angular velocity.
    terms.acceleration_bias.segment<3>(body.q) << -w * vy, w * vx, 0.0;
    return true;
  }
  // Floating and ball: the quaternion comes last.
  const Eigen::Index iq = body.q + (body.kind == JointKind::kFloating ? 3 : 0);
  const Eigen::Index iu = body.u + body.nu - 3;
  const Eigen::Vector4d quaternion = q.segment<4>(iq);
  const double norm = quaternion.stableNorm();
  if (!(norm >= kShortestQuaternion) || !std::isfinite(norm))
  {
    return false;
  }
  motion.rotation = Eigen::Quaterniond(Eigen::Vector4d(quaternion / norm)).toRotationMatrix();
  motion.position.setZero();
  const Eigen::Vector3d omega = u.segment<3>(iu);
  const Eigen::Matrix<double, 4, 3> E = quaternion_rates(quaternion);
  C.block<4, 3>(iq, iu) = E;
  terms.rates.segment<4>(iq).noalias() = E * omega;
  // ½ q̇ ⊗ ω = ¼ q ⊗ ω ⊗ ω = −¼ |ω|² q.
  terms.acceleration_bias.segment<4>(iq) = (-0.25 * omega.squaredNorm()) * quaternion;
  if (body.kind == JointKind::kFloating)
  {
    const Eigen::Vector3d v = u.segment<3>(body.u);
    motion.position = q.segment<3>(body.q);
    C.block<3, 3>(body.q, body.u) = motion.rotation;
    terms.rates.segment<3>(body.q).noalias() = motion.rotation * v;
    terms.acceleration_bias.segment<3>(body.q).noalias() = motion.rotation * omega.cross(v);
  }
  return true;
}

void KinematicTree::move_simple(
  const TreeBody & body, const BodyMotion & p, SystemTerms & terms, BodyMotion & m) const noexcept
{
  const bool grounded = body.parent < 0;
  const double q = terms.coordinates(body.q);
  const double u = terms.speeds(body.u);
  terms.rates(body.q) = u;
  // Axes of the joint at q = 0, then turned about or moved along z.
  Eigen::Matrix3d B;
  if (grounded)
  {
    B = body.rotation;
    m.arm = body.position;
  }
  else
  {
    B.noalias() = p.rotation.lazyProduct(body.rotation);
    m.arm.noalias() = p.rotation.lazyProduct(body.position);
  }
  const Eigen::Vector3d & w = p.angular_velocity;
  if (body.kind == JointKind::kPrismatic)
  {
    m.rotation = B;
    m.arm += q * B.col(2);
    m.position = p.position + m.arm;
    const Eigen::Vector3d sliding = u * B.col(2);
    const Eigen::Vector3d carried = w.cross(m.arm);
    m.angular_velocity = w;
    m.velocity = p.velocity + carried + sliding;
    m.angular_acceleration_bias = p.angular_acceleration_bias;
    m.acceleration_bias = p.acceleration_bias + p.angular_acceleration_bias.cross(m.arm) +
                          w.cross(carried + 2.0 * sliding);
    return;
  }
  const double c = std::cos(q);
  const double s = std::sin(q);
  m.rotation.col(0) = c * B.col(0) + s * B.col(1);
  m.rotation.col(1) = c * B.col(1) - s * B.col(0);
  m.rotation.col(2) = B.col(2);
  m.position = p.position + m.arm;
  if (grounded)
  {
    m.angular_velocity = u * B.col(2);
    m.velocity.setZero();
    m.angular_acceleration_bias.setZero();
    m.acceleration_bias.setZero();
    return;
  }
  const Eigen::Vector3d turning = u * B.col(2);
  const Eigen::Vector3d carried = w.cross(m.arm);
  m.angular_velocity = w + turning;
  m.velocity = p.velocity + carried;
  m.angular_acceleration_bias = p.angular_acceleration_bias + w.cross(turning);
  m.acceleration_bias =
    p.acceleration_bias + p.angular_acceleration_bias.cross(m.arm) + w.cross(carried);
}

void KinematicTree::joint_velocity(
  const TreeBody & body, const Eigen::Matrix3d & rotation, const ConstVectorRef & speeds,
  Eigen::Vector3d & linear, Eigen::Vector3d & angular) const noexcept
{
  // Speeds are in axes of the moved body.
  linear.setZero();
  angular.setZero();
  const auto u = speeds.segment(body.u, body.nu);
  if (body.kind == JointKind::kPlanar)
  {
    linear = rotation.leftCols<2>() * u.head<2>();
    angular = rotation.col(2) * u(2);
    return;
  }
  if (body.kind != JointKind::kTranslation)
  {
    angular = rotation * u.tail<3>();
  }
  if (body.kind != JointKind::kBall)
  {
    linear = rotation * u.head<3>();
  }
}

void KinematicTree::carry_joint(
  const TreeBody & body, const BodyMotion & p, const SystemTerms & terms,
  BodyMotion & m) const noexcept
{
  const Eigen::Matrix3d B = p.rotation * body.rotation;
  const Eigen::Vector3d w = p.angular_velocity;
  m.arm = p.rotation * body.position + B * m.position;
  m.rotation = (B * m.rotation).eval();
  m.position = p.position + m.arm;
  Eigen::Vector3d linear;
  Eigen::Vector3d angular;
  joint_velocity(body, m.rotation, terms.speeds, linear, angular);
  const Eigen::Vector3d carried = w.cross(m.arm);
  m.angular_velocity = w + angular;
  m.velocity = p.velocity + carried + linear;
  m.angular_acceleration_bias = p.angular_acceleration_bias + w.cross(angular);
  // The axes along which the joint moves turn with the moved body.
  m.acceleration_bias = p.acceleration_bias + p.angular_acceleration_bias.cross(m.arm) +
                        w.cross(carried + 2.0 * linear) + angular.cross(linear);
}

CD_CLONES Status KinematicTree::update(TreeData & data) const noexcept CD_NONBLOCKING
{
  SystemTerms & terms = data.terms;
  double check = 0.0;
  for (std::size_t i = 0; i < bodies.size(); ++i)
  {
    const TreeBody & body = bodies[i];
    BodyMotion & m = data.motions[i];
    const BodyMotion & p =
      body.parent < 0 ? kWorld : data.motions[static_cast<std::size_t>(body.parent)];
    if (is_simple(body.kind))
    {
      move_simple(body, p, terms, m);
    }
    else
    {
      if (!update_joint(body, data))
      {
        return Status::kNonFiniteInput;
      }
      const int nq = coordinates_of(body.kind);
      check += 0.0 * (terms.rates.segment(body.q, nq).sum() +
                      terms.acceleration_bias.segment(body.q, nq).sum());
      carry_joint(body, p, terms, m);
    }
    check += probe(m.position) + probe(m.velocity) + probe(m.angular_velocity) +
             probe(m.acceleration_bias) + probe(m.angular_acceleration_bias);
  }
  if (!(check == 0.0))
  {
    return Status::kNonFiniteResult;
  }
  return elements.empty() ? Status::kOk : update_elements(data);
}

void KinematicTree::fill_columns(
  std::size_t i, const BodyMotion & m, const Eigen::Vector3d & point, Matrix6X & out) const noexcept
{
  const TreeBody & body = bodies[i];
  const Eigen::Vector3d r = point - m.position;
  const auto turning = [&](int u, int axis)
  {
    out.col(u).head<3>() = m.rotation.col(axis).cross(r);
    out.col(u).tail<3>() = m.rotation.col(axis);
  };
  const auto moving = [&](int u, int axis)
  {
    out.col(u).head<3>() = m.rotation.col(axis);
    out.col(u).tail<3>().setZero();
  };
  switch (body.kind)
  {
    case JointKind::kRevolute:
      turning(body.u, 2);
      break;
    case JointKind::kPrismatic:
      moving(body.u, 2);
      break;
    case JointKind::kPlanar:
      moving(body.u, 0);
      moving(body.u + 1, 1);
      turning(body.u + 2, 2);
      break;
    default:
      for (int k = 0; k < 3; ++k)
      {
        if (body.kind != JointKind::kTranslation)
        {
          turning(body.u + body.nu - 3 + k, k);
        }
        if (body.kind != JointKind::kBall)
        {
          moving(body.u + k, k);
        }
      }
  }
}

void KinematicTree::spatial_jacobian(const TreeData & data, Matrix6X & out) const noexcept
  CD_NONBLOCKING
{
  for (std::size_t i = 0; i < bodies.size(); ++i)
  {
    fill_columns(i, data.motions[i], Eigen::Vector3d::Zero(), out);
  }
}

void KinematicTree::frame_jacobian(const TreeData & data, int frame, Matrix6X & out) const noexcept
  CD_NONBLOCKING
{
  out.setZero();
  const TreeFramePlace & f = frames[static_cast<std::size_t>(frame)];
  if (f.body < 0)
  {
    return;
  }
  const BodyMotion & own = data.motions[static_cast<std::size_t>(f.body)];
  const Eigen::Vector3d point = own.position + own.rotation * f.position;
  for (int i = f.body; i >= 0; i = bodies[static_cast<std::size_t>(i)].parent)
  {
    const std::size_t body = static_cast<std::size_t>(i);
    fill_columns(body, data.motions[body], point, out);
  }
}

void KinematicTree::frame_reach(const TreeData & data, int frame, Matrix6X & out) const noexcept
  CD_NONBLOCKING
{
  // A lever arm is a difference of positions; its round-off grows with the lengths of the links.
  // Using at least a tenth of these lengths as the arm keeps the round-off far below kRowRounding.
  constexpr double kLeast = 0.1;
  frame_jacobian(data, frame, out);
  const TreeFramePlace & f = frames[static_cast<std::size_t>(frame)];
  double length = f.position.norm();  // of the links between the joint and the frame
  for (int i = f.body; i >= 0; i = bodies[static_cast<std::size_t>(i)].parent)
  {
    const TreeBody & body = bodies[static_cast<std::size_t>(i)];
    for (int u = body.u; u < body.u + body.nu; ++u)
    {
      const double angular = out.col(u).tail<3>().norm();
      out(0, u) = std::max(out.col(u).head<3>().norm(), kLeast * length * angular);
      out(1, u) = angular;
    }
    length += data.motions[static_cast<std::size_t>(i)].arm.norm();
  }
}

}  // namespace constrained_dynamics
