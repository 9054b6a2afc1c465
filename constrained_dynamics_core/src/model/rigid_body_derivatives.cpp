// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "model/rigid_body_derivatives.hpp"

#include <Eigen/Geometry>

namespace constrained_dynamics
{

namespace
{

/// V × S of two motions.
Vector6 cross(const Vector6 & v, const Vector6 & s)
{
  Vector6 result;
  result.head<3>() = v.tail<3>().cross(s.head<3>()) + v.head<3>().cross(s.tail<3>());
  result.tail<3>() = v.tail<3>().cross(s.tail<3>());
  return result;
}

/// V ×* F of a motion and a force.
Vector6 cross_force(const Vector6 & v, const Vector6 & f)
{
  Vector6 result;
  result.head<3>() = v.tail<3>().cross(f.head<3>());
  result.tail<3>() = v.tail<3>().cross(f.tail<3>()) + v.head<3>().cross(f.head<3>());
  return result;
}

Eigen::Matrix3d skew(const Eigen::Vector3d & a)
{
  Eigen::Matrix3d result;
  result << 0.0, -a.z(), a.y(), a.z(), 0.0, -a.x(), -a.y(), a.x(), 0.0;
  return result;
}

Matrix6 cross_matrix(const Vector6 & v)
{
  Matrix6 result = Matrix6::Zero();
  result.topLeftCorner<3, 3>() = skew(v.tail<3>());
  result.topRightCorner<3, 3>() = skew(v.head<3>());
  result.bottomRightCorner<3, 3>() = skew(v.tail<3>());
  return result;
}

/// x ↦ x ×* f as a matrix.
Matrix6 force_cross_matrix(const Vector6 & f)
{
  Matrix6 result = Matrix6::Zero();
  result.topRightCorner<3, 3>() = -skew(f.head<3>());
  result.bottomLeftCorner<3, 3>() = -skew(f.head<3>());
  result.bottomRightCorner<3, 3>() = -skew(f.tail<3>());
  return result;
}

/// Whether q̇ = u whatever q is.
bool has_constant_rates(JointKind kind)
{
  return is_simple(kind) || kind == JointKind::kTranslation;
}

Eigen::Vector2d quarter_turn(const Eigen::Vector2d & v) { return {-v(1), v(0)}; }

}  // namespace

Vector6 TreeDerivatives::velocity_of(int body) const
{
  return body < 0 ? Vector6::Zero() : velocity_[static_cast<std::size_t>(body)];
}

Vector6 TreeDerivatives::acceleration_of(int body) const
{
  return body < 0 ? Vector6::Zero() : acceleration_[static_cast<std::size_t>(body)];
}

int TreeDerivatives::parent_of(int body) const
{
  return tree_->bodies[static_cast<std::size_t>(body)].parent;
}

Eigen::Vector3d TreeDerivatives::position_of(const TreeFramePlace & frame) const
{
  if (frame.body < 0)
  {
    return frame.position;
  }
  const BodyMotion & motion = motions_[static_cast<std::size_t>(frame.body)];
  return motion.position + motion.rotation * frame.position;
}

Matrix6 TreeDerivatives::spatial_inertia(std::size_t body) const
{
  const TreeBody & b = tree_->bodies[body];
  const BodyMotion & motion = motions_[body];
  const Eigen::Matrix3d px = skew(motion.position);
  const Eigen::Matrix3d hx = skew(motion.rotation * b.moment);
  const Eigen::Matrix3d cx = b.mass * px + hx;
  Matrix6 result;
  result.topLeftCorner<3, 3>() = b.mass * Eigen::Matrix3d::Identity();
  result.topRightCorner<3, 3>() = -cx;
  result.bottomLeftCorner<3, 3>() = cx;
  result.bottomRightCorner<3, 3>() =
    motion.rotation * b.inertia * motion.rotation.transpose() - px * cx - hx * px;
  return result;
}

void TreeDerivatives::update(
  const KinematicTree & tree, const TreeData & data, const ConstVectorRef & acceleration)
{
  tree_ = &tree;
  motions_ = data.motions;
  const Eigen::VectorXd & speeds = data.terms.speeds;
  subspace_.resize(6, speeds.size());
  tree.spatial_jacobian(data, subspace_);
  velocity_.assign(tree.bodies.size(), Vector6::Zero());
  acceleration_.assign(tree.bodies.size(), Vector6::Zero());
  for (std::size_t i = 0; i < tree.bodies.size(); ++i)
  {
    const TreeBody & body = tree.bodies[i];
    const Matrix6X S = subspace_.middleCols(body.u, body.nu);
    const Vector6 across = S * speeds.segment(body.u, body.nu);
    velocity_[i] = velocity_of(body.parent) + across;
    acceleration_[i] = acceleration_of(body.parent) + S * acceleration.segment(body.u, body.nu) +
                       cross(velocity_[i], across);
  }
}

// (E19). Everything behind the joint of a speed moves with S like one rigid body. What remains is
// the part that does not: the velocity and the acceleration of the joint's parent.
void TreeDerivatives::inverse_dynamics(MatrixRef by_q, MatrixRef by_u) const
{
  by_q.setZero();
  by_u.setZero();
  const std::vector<TreeBody> & bodies = tree_->bodies;
  const std::size_t count = bodies.size();
  Vector6 base = Vector6::Zero();
  base.head<3>() = -tree_->gravity;
  std::vector<Matrix6> inertia(count);  // I of everything that a joint carries
  std::vector<Matrix6> bias(count);     // B of the same
  std::vector<Vector6> force(count);    // f of the same
  for (std::size_t i = 0; i < count; ++i)
  {
    const Vector6 & V = velocity_[i];
    const Matrix6 I = spatial_inertia(i);
    const Vector6 h = I * V;
    const Matrix6 Vx = cross_matrix(V);
    inertia[i] = I;
    bias[i] = -Vx.transpose() * I - I * Vx + force_cross_matrix(h);
    force[i] = I * (acceleration_[i] + base) + cross_force(V, h);
  }
  for (std::size_t i = count; i-- > 0;)
  {
    if (bodies[i].parent >= 0)
    {
      const std::size_t parent = static_cast<std::size_t>(bodies[i].parent);
      inertia[parent] += inertia[i];
      bias[parent] += bias[i];
      force[parent] += force[i];
    }
  }
  for (std::size_t i = 0; i < count; ++i)
  {
    const TreeBody & joint = bodies[i];
    const Vector6 V_parent = velocity_of(joint.parent);
    const Vector6 A_parent = acceleration_of(joint.parent) + base;
    for (Eigen::Index m = joint.u; m < joint.u + joint.nu; ++m)
    {
      const Vector6 S = subspace_.col(m);
      const Vector6 first = cross(V_parent, S);                            // Ψ̇
      const Vector6 second = cross(A_parent, S) + cross(V_parent, first);  // Ψ̈
      const Vector6 speed_part = cross(velocity_[i], S) + first;           // Ṡ + Ψ̇
      // Ancestors of joint i stay in place; everything behind joint i turns.
      const Vector6 by_q_here = cross_force(S, force[i]) + inertia[i] * second + bias[i] * first;
      const Vector6 by_u_here = inertia[i] * speed_part + bias[i] * S;
      for (int k = joint.parent; k >= 0; k = parent_of(k))
      {
        const TreeBody & other = tree_->bodies[static_cast<std::size_t>(k)];
        const auto S_k = subspace_.middleCols(other.u, other.nu).transpose();
        by_q.block(other.u, m, other.nu, 1).noalias() += S_k * by_q_here;
        by_u.block(other.u, m, other.nu, 1).noalias() += S_k * by_u_here;
      }
      // Joint i itself and its descendants turn with it.
      for (std::size_t k = i; k < count; ++k)
      {
        int ancestor = static_cast<int>(k);
        while (ancestor > static_cast<int>(i))
        {
          ancestor = parent_of(ancestor);
        }
        if (ancestor != static_cast<int>(i))
        {
          continue;
        }
        const TreeBody & other = bodies[k];
        const auto S_k = subspace_.middleCols(other.u, other.nu).transpose();
        by_q.block(other.u, m, other.nu, 1).noalias() +=
          S_k * (inertia[k] * second + bias[k] * first);
        by_u.block(other.u, m, other.nu, 1).noalias() +=
          S_k * (inertia[k] * speed_part + bias[k] * S);
      }
    }
  }
}

void TreeDerivatives::frame(int frame, FrameDerivatives & out) const
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
  int frame, const Eigen::Vector3d & force, const Eigen::Vector3d & torque, MatrixRef out) const
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
  const KinematicTree & tree, const SystemTerms & terms, SystemDerivatives & out)
{
  out.coordinate_acceleration = terms.kinematic_matrix * out.acceleration + terms.acceleration_bias;
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
  const KinematicTree & tree, const SystemTerms & terms, const ConstVectorRef & y, MatrixRef out)
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
