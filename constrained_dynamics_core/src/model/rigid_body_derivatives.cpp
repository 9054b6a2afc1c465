// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "model/rigid_body_derivatives.hpp"

#include <Eigen/Geometry>

#include "clones.hpp"

namespace constrained_dynamics
{

namespace
{

/// Whether q̇ = u whatever q is.
bool has_constant_rates(JointKind kind)
{
  return is_simple(kind) || kind == JointKind::kTranslation;
}

Eigen::Vector2d quarter_turn(const Eigen::Vector2d & v) { return {-v(1), v(0)}; }

}  // namespace

Vector6 TreeDerivatives::velocity_of(int body) const noexcept
{
  return body < 0 ? Vector6::Zero() : velocity_[static_cast<std::size_t>(body)];
}

Vector6 TreeDerivatives::acceleration_of(int body) const noexcept
{
  return body < 0 ? Vector6::Zero() : acceleration_[static_cast<std::size_t>(body)];
}

int TreeDerivatives::parent_of(int body) const noexcept
{
  return tree_->bodies[static_cast<std::size_t>(body)].parent;
}

Eigen::Vector3d TreeDerivatives::position_of(const TreeFramePlace & frame) const noexcept
{
  if (frame.body < 0)
  {
    return frame.position;
  }
  const BodyMotion & motion = data_->motions[static_cast<std::size_t>(frame.body)];
  return motion.position + motion.rotation * frame.position;
}

TreeDerivatives::TreeDerivatives(std::size_t body_count, Eigen::Index speed_count)
: columns_(static_cast<std::size_t>(speed_count)),
  velocity_(body_count, Vector6::Zero()),
  acceleration_(body_count, Vector6::Zero()),
  carried_(body_count),
  subspace_(Matrix6X::Zero(6, speed_count)),
  mass_matrix_(Eigen::MatrixXd::Zero(speed_count, speed_count)),
  path_(static_cast<std::size_t>(speed_count))
{
}

CD_CLONES void TreeDerivatives::update(
  const KinematicTree & tree, const TreeData & data,
  const ConstVectorRef & acceleration) noexcept CD_NONBLOCKING
{
  tree_ = &tree;
  data_ = &data;
  tree.spatial_jacobian(data, subspace_);
  Vector6 base = Vector6::Zero();
  base.head<3>() = -tree.gravity;
  for (std::size_t i = 0; i < tree.bodies.size(); ++i)
  {
    const TreeBody & body = tree.bodies[i];
    const Vector6 V_parent = velocity_of(body.parent);
    const Vector6 A_parent = acceleration_of(body.parent);
    Vector6 across = Vector6::Zero();
    Vector6 accelerated = Vector6::Zero();
    for (Eigen::Index m = body.u; m < body.u + body.nu; ++m)
    {
      across += data.terms.speeds(m) * subspace_.col(m);
      accelerated += acceleration(m) * subspace_.col(m);
    }
    velocity_[i] = V_parent + across;
    acceleration_[i] = A_parent + accelerated + cross(velocity_[i], across);
    for (Eigen::Index m = body.u; m < body.u + body.nu; ++m)
    {
      Column & column = columns_[static_cast<std::size_t>(m)];
      column.subspace = subspace_.col(m);
      column.first = cross(V_parent, column.subspace);
      column.second = cross(A_parent + base, column.subspace) + cross(V_parent, column.first);
      column.speed = cross(velocity_[i], column.subspace) + column.first;
    }
  }
}

/// I, B and f of one body. B has two blocks only:
///     B = −Vxᵀ I − I Vx + (I V)x* = [0, −2 [p]×; 0, K],  p = m v + ω × c, l = c × v + J ω,
///     K = 2 (v·c) 1 − c vᵀ − v cᵀ + [ω]× J + ([ω]× J)ᵀ − [l]×.
void TreeDerivatives::load(std::size_t i) noexcept
{
  const TreeBody & body = tree_->bodies[i];
  const BodyMotion & motion = data_->motions[i];
  Carried & out = carried_[i];
  const Eigen::Matrix3d & R = motion.rotation;
  const Eigen::Vector3d & o = motion.position;
  const Eigen::Vector3d h = R.lazyProduct(body.moment);
  const Eigen::Matrix3d turned = R.lazyProduct(body.inertia);
  out.mass = body.mass;
  out.moment = body.mass * o + h;
  // −[o]× [m o + h]× − [h]× [o]×, with [a]× [b]× = b aᵀ − (a·b) 1.
  out.inertia.noalias() = turned.lazyProduct(R.transpose());
  out.inertia -= out.moment * o.transpose() + o * h.transpose();
  out.inertia.diagonal().array() += o.dot(out.moment) + h.dot(o);

  const Eigen::Vector3d v = velocity_[i].head<3>();
  const Eigen::Vector3d w = velocity_[i].tail<3>();
  const Eigen::Vector3d & c = out.moment;
  Vector6 a = acceleration_[i];
  a.head<3>() -= tree_->gravity;
  out.momentum = body.mass * v + w.cross(c);
  const Eigen::Vector3d l = c.cross(v) + out.inertia.lazyProduct(w);
  Eigen::Matrix3d half;  // [ω]× J − c vᵀ
  for (int k = 0; k < 3; ++k)
  {
    half.col(k) = w.cross(out.inertia.col(k)) - v(k) * c;
  }
  out.bias = half + half.transpose() - skew(l);
  out.bias.diagonal().array() += 2.0 * v.dot(c);
  const Eigen::Vector3d alpha = a.tail<3>();
  out.force.head<3>() = body.mass * a.head<3>() + alpha.cross(c) + w.cross(out.momentum);
  out.force.tail<3>() =
    c.cross(a.head<3>()) + out.inertia.lazyProduct(alpha) + w.cross(l) + v.cross(out.momentum);
}

/// Rows and columns of one joint's speeds against those of the joints that carry it, and against
/// each other. What lies behind a speed's joint turns with S as one piece; what is left is the part
/// that does not turn, the velocity and the acceleration of the joint's parent.
void TreeDerivatives::fill_joint(std::size_t i, MatrixRef by_q, MatrixRef by_u) noexcept
{
  const TreeBody & joint = tree_->bodies[i];
  const Carried & behind = carried_[i];
  const auto times_inertia = [&behind](const Vector6 & x)
  {
    Vector6 result;
    result.head<3>() = behind.mass * x.head<3>() + x.tail<3>().cross(behind.moment);
    result.tail<3>() = behind.moment.cross(x.head<3>()) + behind.inertia.lazyProduct(x.tail<3>());
    return result;
  };
  const auto add_bias = [&behind](const Vector6 & x, Vector6 & to)
  {
    to.head<3>() += 2.0 * x.tail<3>().cross(behind.momentum);
    to.tail<3>() += behind.bias.lazyProduct(x.tail<3>());
  };
  for (Eigen::Index m = joint.u; m < joint.u + joint.nu; ++m)
  {
    const Column & own = columns_[static_cast<std::size_t>(m)];
    const Vector6 & S = own.subspace;
    const Vector6 t = times_inertia(S);
    const Eigen::Vector3d r = 2.0 * behind.momentum.cross(S.head<3>()) +
                              behind.bias.transpose().lazyProduct(S.tail<3>());  // Bᵀ S
    Vector6 q_here = cross_force(S, behind.force) + times_inertia(own.second);
    add_bias(own.first, q_here);
    Vector6 u_here = times_inertia(own.speed);
    add_bias(S, u_here);
    for (int k = static_cast<int>(i); k >= 0; k = parent_of(k))
    {
      const TreeBody & other = tree_->bodies[static_cast<std::size_t>(k)];
      const bool carries = k != static_cast<int>(i);
      for (Eigen::Index j = other.u; j < other.u + other.nu; ++j)
      {
        const Column & column = columns_[static_cast<std::size_t>(j)];
        by_q(m, j) = t.dot(column.second) + r.dot(column.first.tail<3>());
        by_u(m, j) = t.dot(column.speed) + r.dot(column.subspace.tail<3>());
        mass_matrix_(m, j) = t.dot(column.subspace);
        if (carries)
        {
          by_q(j, m) = column.subspace.dot(q_here);
          by_u(j, m) = column.subspace.dot(u_here);
          mass_matrix_(j, m) = mass_matrix_(m, j);
        }
      }
    }
  }
}

// (E19).
CD_CLONES void TreeDerivatives::inverse_dynamics(MatrixRef by_q, MatrixRef by_u) noexcept
  CD_NONBLOCKING
{
  const std::size_t count = tree_->bodies.size();
  for (std::size_t i = 0; i < count; ++i)
  {
    load(i);
  }
  for (std::size_t i = count; i-- > 0;)
  {
    fill_joint(i, by_q, by_u);
    if (tree_->bodies[i].parent >= 0)
    {
      Carried & parent = carried_[static_cast<std::size_t>(tree_->bodies[i].parent)];
      const Carried & own = carried_[i];
      parent.mass += own.mass;
      parent.moment += own.moment;
      parent.inertia += own.inertia;
      parent.momentum += own.momentum;
      parent.bias += own.bias;
      parent.force += own.force;
    }
  }
  mass_matrix_.diagonal() += tree_->armature;
}

void TreeDerivatives::frame_acceleration(
  int frame, Eigen::Vector3d & linear, Eigen::Vector3d & angular) const noexcept CD_NONBLOCKING
{
  const TreeFramePlace & place = tree_->frames[static_cast<std::size_t>(frame)];
  const Vector6 V = velocity_of(place.body);
  const Vector6 A = acceleration_of(place.body);
  const Eigen::Vector3d p = position_of(place);
  const Eigen::Vector3d omega = V.tail<3>();
  angular = A.tail<3>();
  linear = A.head<3>() + angular.cross(p) + omega.cross(V.head<3>() + omega.cross(p));
}

void TreeDerivatives::frame(int frame, FrameDerivatives & out) const noexcept CD_NONBLOCKING
{
  const TreeFramePlace & place = tree_->frames[static_cast<std::size_t>(frame)];
  const int joint = place.body;
  out.resize(subspace_.cols());
  if (joint < 0)
  {
    return;
  }
  const Vector6 V = velocity_of(joint);
  const Vector6 A = acceleration_of(joint);
  const Eigen::Vector3d p = position_of(place);
  const Eigen::Vector3d omega = V.tail<3>();
  const Eigen::Vector3d alpha = A.tail<3>();
  const Eigen::Vector3d v = V.head<3>() + omega.cross(p);
  out.acceleration = A.head<3>() + alpha.cross(p) + omega.cross(v);
  out.angular_acceleration = alpha;
  for (int i = joint; i >= 0; i = parent_of(i))
  {
    const TreeBody & moved = tree_->bodies[static_cast<std::size_t>(i)];
    const Vector6 V_parent = velocity_of(moved.parent);
    const Vector6 A_parent = acceleration_of(moved.parent);
    for (Eigen::Index m = moved.u; m < moved.u + moved.nu; ++m)
    {
      const Vector6 S = subspace_.col(m);
      const Vector6 dV = cross(S, V - V_parent);
      const Vector6 dA = cross(S, A - A_parent) - cross(cross(S, V_parent), V - V_parent);
      const Vector6 dA_u = cross(velocity_of(i), S) + dV;
      const Eigen::Vector3d dp = S.head<3>() + S.tail<3>().cross(p);
      const Eigen::Vector3d dv = dV.head<3>() + dV.tail<3>().cross(p) + omega.cross(dp);
      out.jacobian.col(m) << dp, S.tail<3>();
      out.velocity_q.col(m) << dv, dV.tail<3>();
      out.acceleration_q.col(m) << dA.head<3>() + dA.tail<3>().cross(p) + alpha.cross(dp) +
                                     dV.tail<3>().cross(v) + omega.cross(dv),
        dA.tail<3>();
      // By u: p stays, v changes by dp and ω by S.
      out.acceleration_u.col(m) << dA_u.head<3>() + dA_u.tail<3>().cross(p) + S.tail<3>().cross(v) +
                                     omega.cross(dp),
        dA_u.tail<3>();
    }
  }
}

void TreeDerivatives::add_frame_force(
  int frame, const Eigen::Vector3d & force, const Eigen::Vector3d & torque,
  MatrixRef out) const noexcept CD_NONBLOCKING
{
  const TreeFramePlace & place = tree_->frames[static_cast<std::size_t>(frame)];
  const int joint = place.body;
  const Eigen::Vector3d p = position_of(place);
  Vector6 wrench;
  wrench << force, torque + p.cross(force);
  for (int i = joint; i >= 0; i = parent_of(i))
  {
    const TreeBody & moved = tree_->bodies[static_cast<std::size_t>(i)];
    for (Eigen::Index m = moved.u; m < moved.u + moved.nu; ++m)
    {
      const Vector6 S = subspace_.col(m);
      const Eigen::Vector3d dp = S.head<3>() + S.tail<3>().cross(p);
      const Eigen::Vector3d moment = dp.cross(force);  // the wrench moves along with its point
      const Vector6 turned = cross_force(S, wrench);
      // From the body down to joint i the subspaces turn, further down they do not.
      bool turns = true;
      for (int k = joint; k >= 0; k = parent_of(k))
      {
        const TreeBody & other = tree_->bodies[static_cast<std::size_t>(k)];
        for (Eigen::Index row = other.u; row < other.u + other.nu; ++row)
        {
          const Vector6 S_k = subspace_.col(row);
          out(row, m) += S_k.tail<3>().dot(moment) - (turns ? S_k.dot(turned) : 0.0);
        }
        turns = turns && k != i;
      }
    }
  }
}

void differentiate_joints(
  const KinematicTree & tree, const SystemTerms & terms,
  SystemDerivatives & out) noexcept CD_NONBLOCKING
{
  // C is the identity but for joints of several degrees of freedom.
  out.coordinate_acceleration = terms.acceleration_bias;
  for (const TreeBody & joint : tree.bodies)
  {
    const int nq = coordinates_of(joint.kind);
    for (Eigen::Index k = joint.u; k < joint.u + joint.nu; ++k)
    {
      out.coordinate_acceleration.segment(joint.q, nq) +=
        out.acceleration(k) * terms.kinematic_matrix.col(k).segment(joint.q, nq);
    }
  }
  const Eigen::VectorXd & rates = terms.rates;
  for (const TreeBody & joint : tree.bodies)
  {
    if (has_constant_rates(joint.kind))
    {
      continue;
    }
    const Eigen::Index q = joint.q;
    const Eigen::Index u = joint.u;
    if (joint.kind == JointKind::kPlanar)
    {
      const Eigen::Vector2d v = terms.speeds.segment<2>(u);
      const double w = terms.speeds(u + 2);
      const Eigen::Matrix2d R = terms.kinematic_matrix.block<2, 2>(q, u);
      out.rate_q.block<2, 1>(q, u + 2) = quarter_turn(rates.segment<2>(q));
      out.coordinate_acceleration_q.block<2, 1>(q, u + 2) =
        quarter_turn(out.coordinate_acceleration.segment<2>(q));
      out.coordinate_acceleration_u.block<2, 1>(q, u) = w * quarter_turn(R.col(0));
      out.coordinate_acceleration_u.block<2, 1>(q, u + 1) = w * quarter_turn(R.col(1));
      out.coordinate_acceleration_u.block<2, 1>(q, u + 2) = quarter_turn(rates.segment<2>(q));
      // −ad of the plane: (w, turned δv − turned v δθ; 0).
      out.transport(u, u + 1) = w;
      out.transport(u + 1, u) = -w;
      out.transport.block<2, 1>(u, u + 2) = quarter_turn(v);
      continue;
    }
    const Eigen::Index iq = q + coordinates_of(joint.kind) - 4;
    const Eigen::Index iu = u + joint.nu - 3;
    const Eigen::Vector4d e = terms.coordinates.segment<4>(iq);
    const Eigen::Vector3d omega = terms.speeds.segment<3>(iu);
    const Eigen::Vector3d omega_dot = out.acceleration.segment<3>(iu);
    out.transport.block<3, 3>(iu, iu) = -skew(omega);
    for (Eigen::Index k = 0; k < 3; ++k)
    {
      const Eigen::Vector4d de = terms.kinematic_matrix.block<4, 1>(iq, iu + k);
      const Eigen::Matrix<double, 4, 3> dE = quaternion_rates(de);
      out.rate_q.block<4, 1>(iq, iu + k) = dE * omega;
      out.coordinate_acceleration_q.block<4, 1>(iq, iu + k) =
        dE * omega_dot - 0.25 * omega.squaredNorm() * de;
      out.coordinate_acceleration_u.block<4, 1>(iq, iu + k) = -0.5 * omega(k) * e;
    }
    if (joint.kind == JointKind::kFloating)
    {
      const Eigen::Matrix3d R = terms.kinematic_matrix.block<3, 3>(q, u);
      const Eigen::Vector3d v = terms.speeds.segment<3>(u);
      const Eigen::Vector3d a = Eigen::Vector3d(out.acceleration.segment<3>(u)) + omega.cross(v);
      out.rate_q.block<3, 3>(q, iu) = -R * skew(v);
      out.coordinate_acceleration_q.block<3, 3>(q, iu) = -R * skew(a);
      out.coordinate_acceleration_u.block<3, 3>(q, u) = R * skew(omega);
      out.coordinate_acceleration_u.block<3, 3>(q, iu) = -R * skew(v);
      out.transport.block<3, 3>(u, u) = -skew(omega);
      out.transport.block<3, 3>(u, iu) = -skew(v);
    }
  }
}

void add_joint_force_derivatives(
  const KinematicTree & tree, const SystemTerms & terms, const ConstVectorRef & y,
  MatrixRef out) noexcept CD_NONBLOCKING
{
  for (const TreeBody & joint : tree.bodies)
  {
    if (has_constant_rates(joint.kind))
    {
      continue;
    }
    const Eigen::Index q = joint.q;
    const Eigen::Index u = joint.u;
    if (joint.kind == JointKind::kPlanar)
    {
      const Eigen::Matrix2d R = terms.kinematic_matrix.block<2, 2>(q, u);
      out.block<2, 1>(u, u + 2) -= quarter_turn(R.transpose() * y.segment<2>(q));
      continue;
    }
    const Eigen::Index iq = q + coordinates_of(joint.kind) - 4;
    const Eigen::Index iu = u + joint.nu - 3;
    for (Eigen::Index k = 0; k < 3; ++k)
    {
      const Eigen::Vector4d de = terms.kinematic_matrix.block<4, 1>(iq, iu + k);
      out.block<3, 1>(iu, iu + k) += quaternion_rates(de).transpose() * y.segment<4>(iq);
    }
    if (joint.kind == JointKind::kFloating)
    {
      const Eigen::Matrix3d R = terms.kinematic_matrix.block<3, 3>(q, u);
      out.block<3, 3>(u, iu) += skew(R.transpose() * y.segment<3>(q));
    }
  }
}

}  // namespace constrained_dynamics
