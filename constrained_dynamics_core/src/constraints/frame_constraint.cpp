// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/frame_constraint.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include <Eigen/Geometry>

#include "clones.hpp"
#include "constraints/relative_motion.hpp"

namespace constrained_dynamics
{

namespace
{

constexpr char kWorld[] = "world";

std::vector<WrenchBodies> bodies_of_frames(
  const std::string & name, const System & system, const std::string & frame_a,
  const std::string & frame_b)
{
  if (system.frame_names().empty())
  {
    throw std::invalid_argument(
      "constraint '" + name + "': frames '" + frame_a + "' and '" + frame_b +
      "' are asked for, but the system has no frames");
  }
  const std::string body_a = system.body_of_frame(system.frame_index(frame_a));
  const std::string body_b = system.body_of_frame(system.frame_index(frame_b));
  if (frame_a == frame_b || body_a == body_b)
  {
    throw std::invalid_argument(
      "constraint '" + name + "': frames '" + frame_a + "' and '" + frame_b +
      "' belong to one body, '" + body_a + "'; two bodies are needed");
  }
  return {{body_a, frame_a, body_b, frame_b}};
}

bool is_finite(const FrameRow & row) noexcept
{
  // 0 for finite numbers, NaN otherwise.
  const double sum = 0.0 * row.position + 0.0 * row.velocity + 0.0 * row.bias +
                     (0.0 * row.linear + 0.0 * row.angular).sum();
  return sum == 0.0;
}

/// RelativeMotion's formulas; for a point its rotation and the like are left alone.
void relate(
  const FrameKinematics & a, const FrameKinematics & b, bool b_is_fixed, bool point_only,
  RelativeMotion & out) noexcept
{
  const Eigen::Matrix3d R_BW = b.rotation.transpose();
  const Eigen::Vector3d d = a.position - b.position;
  out.position.noalias() = R_BW.lazyProduct(d);
  if (b_is_fixed)
  {
    out.velocity.noalias() = R_BW.lazyProduct(a.velocity);
    out.acceleration_bias.noalias() = R_BW.lazyProduct(a.acceleration_bias);
  }
  else
  {
    const Eigen::Vector3d carried = b.angular_velocity.cross(d);
    const Eigen::Vector3d v_W = a.velocity - b.velocity - carried;
    const Eigen::Vector3d acceleration_W = a.acceleration_bias - b.acceleration_bias -
                                           b.angular_acceleration_bias.cross(d) -
                                           b.angular_velocity.cross(carried + 2.0 * v_W);
    out.velocity.noalias() = R_BW.lazyProduct(v_W);
    out.acceleration_bias.noalias() = R_BW.lazyProduct(acceleration_W);
  }
  if (point_only)
  {
    return;
  }
  out.rotation.noalias() = R_BW.lazyProduct(a.rotation);
  const Eigen::Vector3d w_W = a.angular_velocity - b.angular_velocity;
  const Eigen::Vector3d angular_acceleration_W = a.angular_acceleration_bias -
                                                 b.angular_acceleration_bias -
                                                 b.angular_velocity.cross(a.angular_velocity);
  out.angular_velocity.noalias() = R_BW.lazyProduct(w_W);
  out.angular_acceleration_bias.noalias() = R_BW.lazyProduct(angular_acceleration_W);
}

}  // namespace

void find_relative_motion(
  const FrameKinematics & a, const FrameKinematics & b, bool b_is_fixed,
  RelativeMotion & out) noexcept CD_NONBLOCKING
{
  relate(a, b, b_is_fixed, false, out);
}

FrameConstraint::FrameConstraint(
  std::string name, std::string type, const System & system, const std::string & frame_a,
  const std::string & frame_b, std::vector<RowDescription> rows, int scratch_size, bool point_only)
: Constraint(
    name, std::move(type), system, std::move(rows),
    bodies_of_frames(name, system, frame_a, frame_b), scratch_size),
  frame_a_(system.frame_index(frame_a)),
  frame_b_(system.frame_index(frame_b)),
  b_is_fixed_(system.body_of_frame(frame_b_) == kWorld),
  point_only_(point_only)
{
  if (row_count() > FrameRows::kMaximum)
  {
    throw std::invalid_argument(
      "constraint '" + name + "' has " + std::to_string(row_count()) + " rows; at most " +
      std::to_string(FrameRows::kMaximum) + " are allowed");
  }
}

FrameConstraint::~FrameConstraint() = default;

void FrameConstraint::relative_motion(const SystemData & data, RelativeMotion & out) const noexcept
  CD_NONBLOCKING
{
  FrameWork work;
  find_motions(data, work);
  out.time = data.terms.time;
  relate(work.a, work.b, b_is_fixed_, false, out);
}

void FrameConstraint::find_motions(const SystemData & data, FrameWork & work) const noexcept
  CD_NONBLOCKING
{
  system().frame_kinematics(data, frame_a_, work.a);
  system().frame_kinematics(data, frame_b_, work.b);
}

Status FrameConstraint::find_rows(
  double time, ConstraintScratch & scratch, FrameWork & work) const noexcept CD_NONBLOCKING
{
  const int count = row_count();
  relate(work.a, work.b, b_is_fixed_, point_only_, work.motion);
  work.motion.time = time;
  work.rows.wrench_point = work.motion.position;
  work.rows.clear(count);
  const Status status = do_frame_rows(work.motion, scratch, work.rows);
  if (status != Status::kOk)
  {
    return status;
  }
  for (int i = 0; i < count; ++i)
  {
    if (!is_finite(work.rows.row[static_cast<std::size_t>(i)]))
    {
      return Status::kNonFiniteResult;
    }
  }
  return Status::kOk;
}

CD_CLONES Status FrameConstraint::evaluate_forces(
  double time, ConstraintScratch & scratch, FrameWork & work, double * position, double * velocity,
  double * bias, FrameRowForces & out) const noexcept CD_NONBLOCKING
{
  const Status status = find_rows(time, scratch, work);
  if (status != Status::kOk)
  {
    return status;
  }
  const Eigen::Matrix3d & R = work.b.rotation;
  out.point = work.a.position;
  out.wrench_point = work.b.position + R.lazyProduct(work.rows.wrench_point);
  const int count = row_count();
  for (int i = 0; i < count; ++i)
  {
    const std::size_t k = static_cast<std::size_t>(i);
    const FrameRow & row = work.rows.row[k];
    position[i] = row.position;
    velocity[i] = row.velocity;
    bias[i] = row.bias;
    out.force[k].noalias() = R.lazyProduct(row.linear);
    out.torque[k].noalias() = R.lazyProduct(row.angular);
  }
  return Status::kOk;
}

Status FrameConstraint::do_evaluate(
  const SystemData & data, ConstraintScratch & scratch,
  RowBlock & rows) const noexcept CD_NONBLOCKING
{
  FrameWork work;
  find_motions(data, work);
  const Status status = find_rows(data.terms.time, scratch, work);
  if (status != Status::kOk)
  {
    return status;
  }
  const Eigen::Matrix3d & R = work.b.rotation;
  const Eigen::Vector3d d_W = R * work.motion.position;
  system().frame_jacobian(data, frame_a_, scratch.jacobian_a);
  if (!b_is_fixed_)
  {
    system().frame_jacobian(data, frame_b_, scratch.jacobian_b);
  }
  for (int i = 0; i < row_count(); ++i)
  {
    const FrameRow & row = work.rows.row[static_cast<std::size_t>(i)];
    rows.position(i) = row.position;
    rows.velocity(i) = row.velocity;
    rows.bias(i) = row.bias;
    Eigen::Matrix<double, 6, 1> on_a;
    on_a << R * row.linear, R * row.angular;
    rows.jacobian.row(i) = on_a.transpose().lazyProduct(scratch.jacobian_a);
    if (!b_is_fixed_)
    {
      Eigen::Matrix<double, 6, 1> on_b = on_a;
      on_b.tail<3>() += d_W.cross(on_a.head<3>());
      rows.jacobian.row(i) -= on_b.transpose().lazyProduct(scratch.jacobian_b);
    }
  }
  return Status::kOk;
}

void FrameConstraint::do_row_sizes(
  const SystemData & data, ConstraintScratch & scratch, const ConstMatrixRef &,
  VectorRef out) const noexcept CD_NONBLOCKING
{
  FrameWork work;
  out.setZero();
  find_motions(data, work);
  if (find_rows(data.terms.time, scratch, work) != Status::kOk)
  {
    return;
  }
  system().frame_reach(data, frame_a_, scratch.jacobian_a);
  system().frame_reach(data, frame_b_, scratch.jacobian_b);
  const double distance = work.motion.position.norm();
  for (int i = 0; i < row_count(); ++i)
  {
    const FrameRow & row = work.rows.row[static_cast<std::size_t>(i)];
    const double linear = row.linear.norm();
    const double angular = row.angular.norm();
    double squares = 0.0;
    for (Eigen::Index j = 0; j < scratch.jacobian_a.cols(); ++j)
    {
      const auto a = scratch.jacobian_a.col(j).head<2>();
      const auto b = scratch.jacobian_b.col(j).head<2>();
      if (a.maxCoeff() > 0.0 && b.maxCoeff() > 0.0)
      {
        continue;  // a joint that carries both frames alike
      }
      const double size = linear * (a(0) + b(0) + distance * b(1)) + angular * (a(1) + b(1));
      squares += size * size;
    }
    out(i) = std::sqrt(squares);
  }
}

void FrameConstraint::do_wrenches(
  const SystemData & data, ConstraintScratch & scratch, const ConstVectorRef & multipliers,
  WrenchPair * out) const noexcept CD_NONBLOCKING
{
  FrameWork work;
  *out = WrenchPair{};
  find_motions(data, work);
  if (find_rows(data.terms.time, scratch, work) != Status::kOk)
  {
    return;
  }
  const FrameKinematics & b = work.b;
  const FrameRows & rows = work.rows;
  Eigen::Vector3d force = Eigen::Vector3d::Zero();
  Eigen::Vector3d torque = Eigen::Vector3d::Zero();
  for (int i = 0; i < row_count(); ++i)
  {
    const FrameRow & row = rows.row[static_cast<std::size_t>(i)];
    force += multipliers(i) * row.linear;
    torque += multipliers(i) * row.angular;
  }
  torque += (work.motion.position - rows.wrench_point).cross(force);

  out->on_a.point = b.position + b.rotation * rows.wrench_point;
  out->on_a.force = b.rotation * force;
  out->on_a.torque = b.rotation * torque;
  out->on_b.point = out->on_a.point;
  out->on_b.force = -out->on_a.force;
  out->on_b.torque = -out->on_a.torque;
}

bool FrameConstraint::do_frame_rows_along(
  const RelativeMotionOf<Dual> &, FrameRowsOf<Dual> &) const noexcept
{
  return false;
}

namespace
{

// The motion of A in B as 18 numbers: p, rotation vector, v, ω, v̇, ω̇; rows depend on all of them.
constexpr int kMotionSize = 18;
constexpr int kStateSize = 12;  // without the accelerations
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, kMotionSize>;

/// Motion and changes of both frames in the world, by one direction.
struct FramePair
{
  FrameKinematics a;
  FrameKinematics b;
  FrameDerivatives da;
  FrameDerivatives db;
};

/// Column k of the derivatives of the 18 numbers, from RelativeMotion's formulas; by q or by u.
Eigen::Matrix<double, kMotionSize, 1> motion_change(
  const FramePair & pair, Eigen::Index k, bool by_q)
{
  using Vector = Eigen::Vector3d;
  const FrameKinematics & a = pair.a;
  const FrameKinematics & b = pair.b;
  const auto part = [&](const Matrix6X & by_coordinates, const Matrix6X & by_speeds, int row)
  { return Vector((by_q ? by_coordinates : by_speeds).col(k).segment<3>(row)); };
  const Vector none = Vector::Zero();
  const Vector dp_a = by_q ? Vector(pair.da.jacobian.col(k).head<3>()) : none;
  const Vector dp_b = by_q ? Vector(pair.db.jacobian.col(k).head<3>()) : none;
  const Vector turn_a = by_q ? Vector(pair.da.jacobian.col(k).tail<3>()) : none;
  const Vector turn_b = by_q ? Vector(pair.db.jacobian.col(k).tail<3>()) : none;
  const Vector dv_a = part(pair.da.velocity_q, pair.da.jacobian, 0);
  const Vector dv_b = part(pair.db.velocity_q, pair.db.jacobian, 0);
  const Vector dw_a = part(pair.da.velocity_q, pair.da.jacobian, 3);
  const Vector dw_b = part(pair.db.velocity_q, pair.db.jacobian, 3);
  const Vector dacc_a = part(pair.da.acceleration_q, pair.da.acceleration_u, 0);
  const Vector dacc_b = part(pair.db.acceleration_q, pair.db.acceleration_u, 0);
  const Vector dalpha_a = part(pair.da.acceleration_q, pair.da.acceleration_u, 3);
  const Vector dalpha_b = part(pair.db.acceleration_q, pair.db.acceleration_u, 3);

  const Vector & w_b = b.angular_velocity;
  const Vector & alpha_b = pair.db.angular_acceleration;
  const Vector d = a.position - b.position;
  const Vector dd = dp_a - dp_b;
  const Vector v = a.velocity - b.velocity - w_b.cross(d);
  const Vector dv = dv_a - dv_b - dw_b.cross(d) - w_b.cross(dd);
  const Vector w = a.angular_velocity - w_b;
  const Vector acceleration = pair.da.acceleration - pair.db.acceleration - alpha_b.cross(d) -
                              w_b.cross(w_b.cross(d)) - 2.0 * w_b.cross(v);
  const Vector d_acceleration =
    dacc_a - dacc_b - dalpha_b.cross(d) - alpha_b.cross(dd) - dw_b.cross(w_b.cross(d)) -
    w_b.cross(dw_b.cross(d) + w_b.cross(dd)) - 2.0 * dw_b.cross(v) - 2.0 * w_b.cross(dv);
  const Vector alpha = pair.da.angular_acceleration - alpha_b - w_b.cross(a.angular_velocity);
  const Vector d_alpha = dalpha_a - dalpha_b - dw_b.cross(a.angular_velocity) - w_b.cross(dw_a);

  const Eigen::Matrix3d R = b.rotation.transpose();
  Eigen::Matrix<double, kMotionSize, 1> change;
  change << R * (dd - turn_b.cross(d)), R * (turn_a - turn_b), R * (dv - turn_b.cross(v)),
    R * (dw_a - dw_b - turn_b.cross(w)), R * (d_acceleration - turn_b.cross(acceleration)),
    R * (d_alpha - turn_b.cross(alpha));
  return change;
}

/// Complete accelerations in place of those at u̇ = 0: then −b is φ̈ (or ψ̇).
void complete_accelerations(const FramePair & pair, RelativeMotion & motion)
{
  const FrameKinematics & b = pair.b;
  const Eigen::Vector3d d = pair.a.position - b.position;
  const Eigen::Vector3d v = b.rotation * motion.velocity;
  const Eigen::Vector3d & w_b = b.angular_velocity;
  motion.acceleration_bias =
    b.rotation.transpose() *
    (pair.da.acceleration - pair.db.acceleration - pair.db.angular_acceleration.cross(d) -
     w_b.cross(w_b.cross(d)) - 2.0 * w_b.cross(v));
  motion.angular_acceleration_bias =
    b.rotation.transpose() * (pair.da.angular_acceleration - pair.db.angular_acceleration -
                              w_b.cross(pair.a.angular_velocity));
}

/// Derivatives of the rows by the 18 numbers; the wrench Σ λ (c_v; c_ω) in B with its own.
struct RowGradients
{
  RowMatrix residual;  // of φ̈, ψ̇
  RowMatrix velocity;  // of φ̇, ψ
  Eigen::Matrix<double, 6, 1> wrench;
  Eigen::Matrix<double, 6, kMotionSize> wrench_change;
};

/// The motion with its accelerations complete, moved along one of the 12 numbers of its state.
RelativeMotionOf<Dual> motion_along(const RelativeMotion & motion, int direction)
{
  RelativeMotionOf<Dual> along;
  along.time = motion.time;
  along.position = motion.position.cast<Dual>();
  along.rotation = motion.rotation.cast<Dual>();
  along.velocity = motion.velocity.cast<Dual>();
  along.angular_velocity = motion.angular_velocity.cast<Dual>();
  along.acceleration_bias = motion.acceleration_bias.cast<Dual>();
  along.angular_acceleration_bias = motion.angular_acceleration_bias.cast<Dual>();
  const int axis = direction % 3;
  if (direction < 3)
  {
    along.position(axis).derivative = 1.0;
  }
  else if (direction < 6)
  {
    const Eigen::Vector3d e = Eigen::Vector3d::Unit(axis);
    for (int column = 0; column < 3; ++column)
    {
      const Eigen::Vector3d turned = e.cross(motion.rotation.col(column));
      for (int row = 0; row < 3; ++row)
      {
        along.rotation(row, column).derivative = turned(row);
      }
    }
  }
  else
  {
    (direction < 9 ? along.velocity : along.angular_velocity)(axis).derivative = 1.0;
  }
  return along;
}

/// False where there are no rows along a direction.
template <class RowsAlong>
bool find_gradients(
  const RelativeMotion & motion, const ConstVectorRef & multipliers, const RowsAlong & rows_along,
  RowGradients & out)
{
  const Eigen::Index m = multipliers.size();
  out.residual.setZero(m, kMotionSize);
  out.velocity.setZero(m, kMotionSize);
  out.wrench_change.setZero();
  for (int direction = 0; direction < kStateSize; ++direction)
  {
    FrameRowsOf<Dual> rows;
    rows.clear(static_cast<int>(m));
    if (!rows_along(motion_along(motion, direction), rows))
    {
      return false;
    }
    out.wrench.setZero();
    for (Eigen::Index i = 0; i < m; ++i)
    {
      const FrameRowOf<Dual> & row = rows.row[static_cast<std::size_t>(i)];
      out.residual(i, direction) = -row.bias.derivative;
      out.velocity(i, direction) = row.velocity.derivative;
      for (int axis = 0; axis < 6; ++axis)
      {
        const Dual & coefficient = axis < 3 ? row.linear(axis) : row.angular(axis - 3);
        out.residual(i, kStateSize + axis) = coefficient.value;
        out.wrench(axis) += multipliers(i) * coefficient.value;
        out.wrench_change(axis, direction) += multipliers(i) * coefficient.derivative;
      }
    }
  }
  return true;
}

/// Change of Aᵀ λ = J_Aᵀ (f; g) − J_Bᵀ (f; g + d × f), with f, g the wrench in the world, by column
/// k of a change of the motion; the Jacobians stay.
Eigen::VectorXd force_change(
  const FramePair & pair, const RowGradients & gradients,
  const Eigen::Matrix<double, kMotionSize, 1> & change, Eigen::Index k, bool by_q)
{
  const Eigen::Matrix3d & R = pair.b.rotation;
  const Eigen::Vector3d d = pair.a.position - pair.b.position;
  const Eigen::Vector3d f = R * gradients.wrench.head<3>();
  const Eigen::Vector3d g = R * gradients.wrench.tail<3>();
  const Eigen::Matrix<double, 6, 1> own = gradients.wrench_change * change;
  Eigen::Vector3d df = R * own.head<3>();
  Eigen::Vector3d dg = R * own.tail<3>();
  Eigen::Vector3d dd = Eigen::Vector3d::Zero();
  if (by_q)
  {
    const Eigen::Vector3d turn = pair.db.jacobian.col(k).tail<3>();
    df += turn.cross(f);
    dg += turn.cross(g);
    dd = pair.da.jacobian.col(k).head<3>() - pair.db.jacobian.col(k).head<3>();
  }
  const Eigen::Vector3d on_b = dg + dd.cross(f) + d.cross(df);
  return pair.da.jacobian.topRows<3>().transpose() * df +
         pair.da.jacobian.bottomRows<3>().transpose() * dg -
         pair.db.jacobian.topRows<3>().transpose() * df -
         pair.db.jacobian.bottomRows<3>().transpose() * on_b;
}

}  // namespace

bool FrameConstraint::do_differentiate(
  const SystemData & data, const SystemDerivatives &, const ConstVectorRef & multipliers,
  ConstraintScratch &, RowDerivatives & out) const
{
  FramePair pair;
  RelativeMotion motion;
  relative_motion(data, motion);
  system().frame_kinematics(data, frame_a_, pair.a);
  system().frame_kinematics(data, frame_b_, pair.b);
  system().frame_derivatives(data, frame_a_, pair.da);
  system().frame_derivatives(data, frame_b_, pair.db);
  complete_accelerations(pair, motion);
  RowGradients gradients;
  const auto rows_along = [this](const RelativeMotionOf<Dual> & along, FrameRowsOf<Dual> & rows)
  { return do_frame_rows_along(along, rows); };
  if (!find_gradients(motion, multipliers, rows_along, gradients))
  {
    return false;
  }
  for (Eigen::Index k = 0; k < system().speed_count(); ++k)
  {
    const Eigen::Matrix<double, kMotionSize, 1> by_q = motion_change(pair, k, true);
    const Eigen::Matrix<double, kMotionSize, 1> by_u = motion_change(pair, k, false);
    out.residual_q.col(k) = gradients.residual * by_q;
    out.residual_u.col(k) = gradients.residual * by_u;
    out.velocity_q.col(k) = gradients.velocity * by_q;
    out.force_q.col(k) += force_change(pair, gradients, by_q, k, true);
    out.force_u.col(k) += force_change(pair, gradients, by_u, k, false);
  }
  const Eigen::Vector3d d = pair.a.position - pair.b.position;
  const Eigen::Vector3d f = pair.b.rotation * gradients.wrench.head<3>();
  const Eigen::Vector3d g = pair.b.rotation * gradients.wrench.tail<3>();
  system().add_frame_force_derivatives(data, frame_a_, f, g, out.force_q);
  system().add_frame_force_derivatives(data, frame_b_, -f, -(g + d.cross(f)), out.force_q);
  return true;
}

}  // namespace constrained_dynamics
