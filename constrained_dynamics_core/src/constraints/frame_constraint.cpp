#include "constrained_dynamics/constraints/frame_constraint.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include <Eigen/Geometry>

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
  return std::isfinite(row.position) && std::isfinite(row.velocity) && row.linear.allFinite() &&
         row.angular.allFinite() && std::isfinite(row.bias);
}

}  // namespace

FrameConstraint::FrameConstraint(
  std::string name, std::string type, const System & system, const std::string & frame_a,
  const std::string & frame_b, std::vector<RowDescription> rows, int scratch_size)
: Constraint(
    name, std::move(type), system, std::move(rows),
    bodies_of_frames(name, system, frame_a, frame_b), scratch_size),
  frame_a_(system.frame_index(frame_a)),
  frame_b_(system.frame_index(frame_b)),
  b_is_fixed_(system.body_of_frame(frame_b_) == kWorld)
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
  FrameKinematics b;
  relative_motion(data, b, out);
}

void FrameConstraint::relative_motion(
  const SystemData & data, FrameKinematics & b, RelativeMotion & out) const noexcept CD_NONBLOCKING
{
  FrameKinematics a;
  system().frame_kinematics(data, frame_a_, a);
  system().frame_kinematics(data, frame_b_, b);
  out.time = data.terms.time;
  const Eigen::Matrix3d R_BW = b.rotation.transpose();
  const Eigen::Vector3d d = a.position - b.position;
  out.position.noalias() = R_BW * d;
  out.rotation.noalias() = R_BW * a.rotation;
  if (b_is_fixed_)
  {
    out.velocity.noalias() = R_BW * a.velocity;
    out.angular_velocity.noalias() = R_BW * a.angular_velocity;
    out.acceleration_bias.noalias() = R_BW * a.acceleration_bias;
    out.angular_acceleration_bias.noalias() = R_BW * a.angular_acceleration_bias;
    return;
  }
  const Eigen::Vector3d carried = b.angular_velocity.cross(d);
  const Eigen::Vector3d v_W = a.velocity - b.velocity - carried;
  const Eigen::Vector3d acceleration_W =
    a.acceleration_bias - b.acceleration_bias - b.angular_acceleration_bias.cross(d) -
    b.angular_velocity.cross(carried) - 2.0 * b.angular_velocity.cross(v_W);
  const Eigen::Vector3d angular_acceleration_W = a.angular_acceleration_bias -
                                                 b.angular_acceleration_bias -
                                                 b.angular_velocity.cross(a.angular_velocity);
  out.velocity.noalias() = R_BW * v_W;
  out.angular_velocity.noalias() = R_BW * (a.angular_velocity - b.angular_velocity);
  out.acceleration_bias.noalias() = R_BW * acceleration_W;
  out.angular_acceleration_bias.noalias() = R_BW * angular_acceleration_W;
}

Status FrameConstraint::frame_rows(
  const SystemData & data, ConstraintScratch & scratch, FrameKinematics & b,
  RelativeMotion & motion, FrameRows & out) const noexcept CD_NONBLOCKING
{
  relative_motion(data, b, motion);
  out.wrench_point = motion.position;
  const Eigen::Vector3d zero = Eigen::Vector3d::Zero();
  for (int i = 0; i < row_count(); ++i)
  {
    out.row[static_cast<std::size_t>(i)] = {0.0, 0.0, zero, zero, 0.0};
  }
  const Status status = do_frame_rows(motion, scratch, out);
  if (status != Status::kOk)
  {
    return status;
  }
  for (int i = 0; i < row_count(); ++i)
  {
    if (!is_finite(out.row[static_cast<std::size_t>(i)]))
    {
      return Status::kNonFiniteResult;
    }
  }
  return Status::kOk;
}

Status FrameConstraint::evaluate_forces(
  const SystemData & data, ConstraintScratch & scratch, double * position, double * velocity,
  double * bias, FrameRowForces & out) const noexcept CD_NONBLOCKING
{
  FrameKinematics b;
  RelativeMotion motion;
  FrameRows rows;
  const Status status = frame_rows(data, scratch, b, motion, rows);
  if (status != Status::kOk)
  {
    return status;
  }
  out.point = b.position + b.rotation * motion.position;
  out.wrench_point = b.position + b.rotation * rows.wrench_point;
  for (int i = 0; i < row_count(); ++i)
  {
    const std::size_t k = static_cast<std::size_t>(i);
    const FrameRow & row = rows.row[k];
    position[i] = row.position;
    velocity[i] = row.velocity;
    bias[i] = row.bias;
    out.force[k].noalias() = b.rotation * row.linear;
    out.torque[k].noalias() = b.rotation * row.angular;
  }
  return Status::kOk;
}

Status FrameConstraint::do_evaluate(
  const SystemData & data, ConstraintScratch & scratch,
  RowBlock & rows) const noexcept CD_NONBLOCKING
{
  FrameKinematics b;
  RelativeMotion motion;
  FrameRows own_rows;
  const Status status = frame_rows(data, scratch, b, motion, own_rows);
  if (status != Status::kOk)
  {
    return status;
  }
  const Eigen::Vector3d d_W = b.rotation * motion.position;
  system().frame_jacobian(data, frame_a_, scratch.jacobian_a);
  if (!b_is_fixed_)
  {
    system().frame_jacobian(data, frame_b_, scratch.jacobian_b);
  }
  for (int i = 0; i < row_count(); ++i)
  {
    const FrameRow & row = own_rows.row[static_cast<std::size_t>(i)];
    rows.position(i) = row.position;
    rows.velocity(i) = row.velocity;
    rows.bias(i) = row.bias;
    Eigen::Matrix<double, 6, 1> on_a;
    on_a << b.rotation * row.linear, b.rotation * row.angular;
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

void FrameConstraint::do_wrenches(
  const SystemData & data, ConstraintScratch & scratch, const ConstVectorRef & multipliers,
  WrenchPair * out) const noexcept CD_NONBLOCKING
{
  FrameKinematics b;
  RelativeMotion motion;
  FrameRows rows;
  *out = WrenchPair{};
  if (frame_rows(data, scratch, b, motion, rows) != Status::kOk)
  {
    return;
  }
  Eigen::Vector3d force = Eigen::Vector3d::Zero();
  Eigen::Vector3d torque = Eigen::Vector3d::Zero();
  for (int i = 0; i < row_count(); ++i)
  {
    const FrameRow & row = rows.row[static_cast<std::size_t>(i)];
    force += multipliers(i) * row.linear;
    torque += multipliers(i) * row.angular;
  }
  torque += (motion.position - rows.wrench_point).cross(force);

  out->on_a.point = b.position + b.rotation * rows.wrench_point;
  out->on_a.force = b.rotation * force;
  out->on_a.torque = b.rotation * torque;
  out->on_b.point = out->on_a.point;
  out->on_b.force = -out->on_a.force;
  out->on_b.torque = -out->on_a.torque;
}

}  // namespace constrained_dynamics
