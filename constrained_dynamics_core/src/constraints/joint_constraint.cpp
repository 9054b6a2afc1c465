// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/joint_constraint.hpp"

#include <cmath>
#include <stdexcept>

#include <Eigen/Geometry>

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constraints/coincidence_rows.hpp"
#include "constraints/validation.hpp"
#include "model/twist.hpp"

namespace constrained_dynamics
{

namespace
{

std::vector<std::string> coincidence_labels(JointType type)
{
  switch (type)
  {
    case JointType::kHinge:
      return {"x", "y", "z", "rx", "ry"};
    case JointType::kPrismatic:
      return {"x", "y", "rx", "ry", "rz"};
    case JointType::kPlanar:
      return {"z", "rx", "ry"};
    default:
      return {"x", "y", "rx", "ry"};
  }
}

std::vector<RowDescription> joint_rows(const std::string & owner, JointType type)
{
  std::vector<RowDescription> rows = CoincidenceAxes::describe(owner, coincidence_labels(type));
  if (type == JointType::kScrew)
  {
    rows.push_back({"helix", RowLevel::kPosition, false});
  }
  return rows;
}

std::vector<std::string> joint_coordinates(JointType type)
{
  switch (type)
  {
    case JointType::kHinge:
      return {"angle"};
    case JointType::kPrismatic:
      return {"displacement"};
    case JointType::kPlanar:
      return {"x", "y", "angle"};
    default:
      return {"angle", "displacement"};
  }
}

/// Axes x, y and z = a as columns.
Eigen::Matrix3d axes_about(const Eigen::Vector3d & a)
{
  const std::array<Eigen::Vector3d, 2> across = orthonormal_pair(a);
  Eigen::Matrix3d turn;
  turn << across[0], across[1], a;
  return turn;
}

double checked_pitch(const std::string & owner, JointType type, double pitch)
{
  checked_finite(owner, "pitch", pitch);
  if ((type == JointType::kScrew) != (pitch != 0.0))
  {
    throw std::invalid_argument(
      owner + ": pitch is " + std::to_string(pitch) +
      (type == JointType::kScrew ? "; a screw needs one that is not 0"
                                 : "; only a screw has one, allowed: 0"));
  }
  return pitch;
}

/// The motion in axes that are turned alike on A and B.
template <class S>
RelativeMotionOf<S> turned(
  const RelativeMotionOf<S> & motion, const Eigen::Matrix3d & turn) noexcept
{
  const typename RelativeMotionOf<S>::Matrix3 to = turn.transpose().cast<S>();
  RelativeMotionOf<S> out;
  out.time = motion.time;
  out.position = to * motion.position;
  out.rotation = to * motion.rotation * turn.cast<S>();
  out.velocity = to * motion.velocity;
  out.angular_velocity = to * motion.angular_velocity;
  out.acceleration_bias = to * motion.acceleration_bias;
  out.angular_acceleration_bias = to * motion.angular_acceleration_bias;
  return out;
}

/// The twist about z (E41) with its derivatives at u̇ = 0.
template <class S>
struct Twist
{
  S angle, rate, acceleration;
  Eigen::Matrix<S, 3, 1> gradient;  // g: θ̇ = g · ω
};

template <class S>
Twist<S> twist_about_z(const RelativeMotionOf<S> & motion) noexcept
{
  const QuaternionError<S> q = quaternion_error(motion);
  const Eigen::Matrix<S, 3, 1> & w = motion.angular_velocity;
  const Eigen::Matrix<S, 3, 1> z = unit<S>(2);
  const S eta = q.eta;
  const S s = q.epsilon(2);
  const S eta_dot = -0.5 * w.dot(q.epsilon);
  const S s_dot = 0.5 * q.velocity(2);
  const S eta_ddot =
    -0.5 * (motion.angular_acceleration_bias.dot(q.epsilon) + w.dot(S(0.5) * q.velocity));
  const S s_ddot = 0.5 * q.acceleration(2);
  const S size = eta * eta + s * s;
  const S size_dot = 2.0 * (eta * eta_dot + s * s_dot);
  const S moment = eta * s_dot - s * eta_dot;
  const S moment_dot = eta * s_ddot - s * eta_ddot;
  const UnitQuaternion<S> unit_quaternion(eta, q.epsilon);
  return {
    twist_angle(unit_quaternion, z), 2.0 * moment / size,
    2.0 * (moment_dot / size - moment * size_dot / (size * size)),
    twist_gradient(unit_quaternion, z)};
}

/// The helix row (E44).
template <class S>
void helix_row(const RelativeMotionOf<S> & motion, double advance, FrameRowOf<S> & out) noexcept
{
  const Twist<S> twist = twist_about_z(motion);
  const double pitch = 2.0 * kPi * advance;
  const S difference = motion.position(2) - advance * twist.angle;
  double turns = 0.0;
  if constexpr (std::is_same_v<S, double>)
  {
    turns = std::round(difference / pitch);
  }
  else
  {
    turns = std::round(difference.value / pitch);
  }
  out.position = difference - pitch * turns;
  out.velocity = motion.velocity(2) - advance * twist.rate;
  out.linear = unit<S>(2);
  out.angular = S(-advance) * twist.gradient;
  out.bias = -(motion.acceleration_bias(2) - advance * twist.acceleration);
}

}  // namespace

const char * to_string(JointType type) noexcept
{
  switch (type)
  {
    case JointType::kHinge:
      return "hinge";
    case JointType::kPrismatic:
      return "prismatic";
    case JointType::kCylindrical:
      return "cylindrical";
    case JointType::kPlanar:
      return "planar";
    case JointType::kScrew:
      return "screw";
  }
  return "unknown";
}

JointCoordinates::JointCoordinates(std::vector<std::string> names) : names_(std::move(names)) {}
JointCoordinates::~JointCoordinates() = default;

const JointCoordinates * JointCoordinates::of(const Constraint & constraint) noexcept CD_NONBLOCKING
{
  const FrameConstraint * frames = constraint.as_frame_constraint();
  return frames != nullptr ? frames->as_joint() : nullptr;
}

JointConstraint::JointConstraint(
  std::string name, JointType type, const System & system, const std::string & frame_a,
  const std::string & frame_b, const Eigen::Vector3d & axis, double pitch)
: FrameConstraint(
    name, to_string(type), system, frame_a, frame_b, joint_rows("constraint '" + name + "'", type)),
  JointCoordinates(joint_coordinates(type)),
  axes_(coincidence_labels(type)),
  turn_(axes_about(checked_direction("constraint '" + name + "'", "axis", axis))),
  advance_(checked_pitch("constraint '" + name + "'", type, pitch) / (2.0 * kPi))
{
}

template <class S>
Status JointConstraint::find_rows(
  const RelativeMotionOf<S> & motion, FrameRowsOf<S> & out) const noexcept
{
  const RelativeMotionOf<S> about = turned(motion, turn_);
  const Status status = coincidence_rows(about, axes_, out);
  if (status != Status::kOk)
  {
    return status;
  }
  const std::size_t count = static_cast<std::size_t>(row_count());
  if (advance_ != 0.0)
  {
    helix_row(about, advance_, out.row[count - 1]);
  }
  const typename RelativeMotionOf<S>::Matrix3 back = turn_.cast<S>();
  for (std::size_t i = 0; i < count; ++i)
  {
    out.row[i].linear = (back * out.row[i].linear).eval();
    out.row[i].angular = (back * out.row[i].angular).eval();
  }
  return Status::kOk;
}

Status JointConstraint::do_frame_rows(
  const RelativeMotion & motion, ConstraintScratch &, FrameRows & out) const noexcept CD_NONBLOCKING
{
  return find_rows(motion, out);
}

bool JointConstraint::do_frame_rows_along(
  const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept
{
  return find_rows(motion, out) == Status::kOk;
}

double JointConstraint::do_coordinate(const SystemData & data, int index) const noexcept
  CD_NONBLOCKING
{
  RelativeMotion motion;
  relative_motion(data, motion);
  const RelativeMotion about = turned(motion, turn_);
  const int count = static_cast<int>(coordinate_names().size());
  if (index < 0 || index >= count)
  {
    return 0.0;
  }
  const std::string & name = coordinate_names()[static_cast<std::size_t>(index)];
  if (name != "angle")
  {
    return about.position(name == "x" ? 0 : name == "y" ? 1 : 2);
  }
  const double angle = twist_about_z(about).angle;
  if (advance_ == 0.0)
  {
    return angle;
  }
  const double turns = std::round((about.position(2) / advance_ - angle) / (2.0 * kPi));
  return angle + 2.0 * kPi * turns;
}

ConstraintDescription JointConstraint::description(JointType type)
{
  struct Words
  {
    const char * python_name;
    const char * text;
    const char * equation;
    const char * rows;
  };
  static const std::array<Words, 5> kWords = {{
    {"Hinge", "A hinge: A turns about the axis in B. Coordinate: `angle`.",
     "R_bᵀ (p_a − p_b) = 0, R_bᵀ R_a axis = axis", "`x`, `y`, `z`, `rx`, `ry` (position)"},
    {"Prismatic", "A slider: A moves along the axis in B. Coordinate: `displacement`.",
     "R_bᵀ (p_a − p_b) ∥ axis, R_bᵀ R_a = 1", "`x`, `y`, `rx`, `ry`, `rz` (position)"},
    {"Cylindrical",
     "A turns about the axis in B and moves along it. Coordinates: `angle`, `displacement`.",
     "R_bᵀ (p_a − p_b) ∥ axis, R_bᵀ R_a axis = axis", "`x`, `y`, `rx`, `ry` (position)"},
    {"Planar",
     "A moves in the plane across the axis in B and turns about the axis. Coordinates: `x`, `y`, "
     "`angle`.",
     "axis · R_bᵀ (p_a − p_b) = 0, R_bᵀ R_a axis = axis", "`z`, `rx`, `ry` (position)"},
    {"Screw",
     "A turns about the axis in B and moves along it by `pitch` in a turn; the displacement counts "
     "the turns. Coordinates: `angle`, `displacement`.",
     "as cylindrical, and displacement = pitch · angle/2π",
     "`x`, `y`, `rx`, `ry`, `helix` (position)"},
  }};
  const Words & words = kWords[static_cast<std::size_t>(type)];
  ConstraintDescription description;
  description.type = to_string(type);
  description.python_name = words.python_name;
  description.text = words.text;
  description.equation = words.equation;
  description.rows = std::string(words.rows) + "; z is the axis, x and y are across it";
  std::vector<KeyDescription> keys = {
    describe_key("axis", KeyKind::kVector, "in A and in B alike, any nonzero length")
      .with_default(Eigen::Vector3d(0.0, 0.0, 1.0))};
  if (type == JointType::kScrew)
  {
    keys.push_back(describe_key(
      "pitch", KeyKind::kNumber, "displacement in a turn [m], not 0; positive: right-handed"));
  }
  description.keys = with_frames(keys);
  description.make = [type](const ConstraintArguments & given)
  {
    return std::make_shared<const JointConstraint>(
      given.name, type, given.system, given.keys.text("frame_a"), given.keys.text("frame_b"),
      given.keys.vector("axis"), given.keys.has("pitch") ? given.keys.number("pitch") : 0.0);
  };
  return description;
}

}  // namespace constrained_dynamics
