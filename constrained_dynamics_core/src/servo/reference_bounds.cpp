// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/reference_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "model/kinematic_tree.hpp"

namespace constrained_dynamics
{

namespace
{

/// A ball around a fixed point that a frame cannot leave.
struct Ball
{
  Eigen::Vector3d centre = Eigen::Vector3d::Zero();  // in the world [m]
  double radius = 0.0;                               // [m], ∞: there is none
};

/// How far a joint moves the origin of its body.
double stroke(const TreeBody & body, const std::vector<RigidBodySystem::Limits> & limits)
{
  switch (body.kind)
  {
    case JointKind::kFixed:
    case JointKind::kRevolute:
    case JointKind::kBall:
      return 0.0;
    case JointKind::kPrismatic:
    {
      const RigidBodySystem::Limits & range = limits[static_cast<std::size_t>(body.q)];
      return std::max(std::abs(range.lower), std::abs(range.upper));
    }
    case JointKind::kPlanar:
    case JointKind::kFloating:
    case JointKind::kTranslation:
      break;
  }
  return std::numeric_limits<double>::infinity();
}

Ball ball_of(const RigidBodySystem & system, int frame)
{
  const KinematicTree & tree = system.tree();
  const TreeFramePlace & place = tree.frames[static_cast<std::size_t>(frame)];
  if (place.body < 0)
  {
    return {place.position, 0.0};
  }
  Ball ball;
  ball.radius = place.position.norm();
  for (int i = place.body; i >= 0;)
  {
    const TreeBody & body = tree.bodies[static_cast<std::size_t>(i)];
    ball.radius += stroke(body, system.limits());
    if (body.parent < 0)
    {
      ball.centre = body.position;
    }
    else
    {
      ball.radius += body.position.norm();
    }
    i = body.parent;
  }
  return ball;
}

}  // namespace

ReferenceBounds::ReferenceBounds(const ServoConstraint & servo)
: names_(servo.value_names()),
  rate_names_(servo.rate_names()),
  lower_(Eigen::VectorXd::Constant(servo.position_size(), -kLargestValue)),
  upper_(-lower_),
  rate_(Eigen::VectorXd::Constant(servo.velocity_size(), kLargestValue))
{
  bound_joints(servo);
  bound_reach(servo);
}

void ReferenceBounds::bound_joints(const ServoConstraint & servo)
{
  const auto * robot = servo.system().as_robot();
  if (!robot || servo.type() != "joint")
  {
    return;
  }
  for (int i = 0; i < servo.position_size(); ++i)
  {
    const int coordinate = robot->coordinate_index(names_[static_cast<std::size_t>(i)]);
    const RigidBodySystem::Limits & limits = robot->limits()[static_cast<std::size_t>(coordinate)];
    lower_(i) = std::max(lower_(i), limits.lower);
    upper_(i) = std::min(upper_(i), limits.upper);
    if (limits.velocity > 0.0)
    {
      rate_(i) = std::min(rate_(i), limits.velocity);
    }
  }
}

void ReferenceBounds::bound_reach(const ServoConstraint & servo)
{
  const auto * robot = servo.system().as_robot();
  const auto [frame_a, frame_b] = servo.frames();
  if (!robot || frame_a < 0)
  {
    return;
  }
  const Ball a = ball_of(*robot, frame_a);
  const Ball b = ball_of(*robot, frame_b);
  // Factor for the rounding of a chain that is stretched out.
  constexpr double kSlack = 1.0 + 1e-9;
  const TreeFramePlace & base = robot->tree().frames[static_cast<std::size_t>(frame_b)];
  if (base.body < 0)
  {
    centre_ = base.rotation.transpose() * (a.centre - b.centre);
    reach_ = kSlack * a.radius;
  }
  else
  {
    reach_ = kSlack * ((a.centre - b.centre).norm() + a.radius + b.radius);
  }
  has_reach_ = std::isfinite(reach_);
}

RefusedValue ReferenceBounds::check(const ServoReference & reference) const noexcept CD_NONBLOCKING
{
  using Kind = RefusedValue::Kind;
  for (Eigen::Index i = 0; i < lower_.size(); ++i)
  {
    const double value = reference.position(i);
    if (!(value >= lower_(i) && value <= upper_(i)))
    {
      return {Kind::kValue, static_cast<int>(i), value, lower_(i), upper_(i)};
    }
  }
  for (Eigen::Index i = 0; i < rate_.size(); ++i)
  {
    const double rate = reference.velocity(i);
    if (!(std::abs(rate) <= rate_(i)))
    {
      return {Kind::kRate, static_cast<int>(i), rate, -rate_(i), rate_(i)};
    }
  }
  if (has_reach_)
  {
    const double distance = (reference.position.head<3>() - centre_).norm();
    if (!(distance <= reach_))
    {
      return {Kind::kReach, 0, distance, 0.0, reach_};
    }
  }
  return {};
}

std::string ReferenceBounds::explain(const RefusedValue & refused) const
{
  using Kind = RefusedValue::Kind;
  std::ostringstream text;
  const auto name = [&](const std::vector<std::string> & names)
  { return "'" + names[static_cast<std::size_t>(refused.index)] + "'"; };
  const char * why = "";
  switch (refused.kind)
  {
    case Kind::kNone:
      return "";
    case Kind::kValue:
      text << name(names_) << " is " << refused.value;
      why = "";
      break;
    case Kind::kRate:
      text << "the rate of " << name(rate_names_) << " is " << refused.value;
      break;
    case Kind::kReach:
      text << "the point is " << refused.value << " m from where the robot is mounted";
      why = " m, the length of the stretched chain";
      break;
    case Kind::kForce:
      text << name(names_) << " is " << refused.value;
      why = ", which the limits of the efforts can make in this position";
      break;
  }
  text << "; allowed: " << refused.lower << " to " << refused.upper << why;
  return text.str();
}

}  // namespace constrained_dynamics
