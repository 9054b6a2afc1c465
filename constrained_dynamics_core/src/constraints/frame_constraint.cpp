// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/frame_constraint.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include <Eigen/Geometry>

#include "clones.hpp"
#include "model/relate.hpp"

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

}  // namespace

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
        continue;  // a joint that moves both frames alike
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

}  // namespace constrained_dynamics
