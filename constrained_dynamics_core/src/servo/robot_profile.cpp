// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/robot_profile.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <Eigen/Geometry>

#include "checked_values.hpp"
#include "names.hpp"

namespace constrained_dynamics
{

namespace
{

/// @throw std::invalid_argument unless a limit is above 0; infinite: none.
void check_limit(const std::string & owner, const std::string & what, double limit)
{
  if (!(limit > 0.0))
  {
    throw std::invalid_argument(
      owner + ": " + what + " " + std::to_string(limit) + "; allowed: above 0");
  }
}

void check_joint(const ProfileJoint & joint)
{
  const std::string owner = "joint '" + joint.name + "'";
  check_limit(owner, "effort_limit", joint.effort_limit);
  check_limit(owner, "effort_rate_limit", joint.effort_rate_limit);
  checked_nonnegative(owner, "armature", joint.armature);
  const JointFriction & friction = joint.friction;
  checked_nonnegative(owner, "friction viscous", friction.viscous);
  checked_nonnegative(owner, "friction coulomb", friction.coulomb);
  checked_nonnegative(owner, "friction static", friction.static_bound);
  checked_positive(owner, "friction stribeck", friction.stribeck);
  checked_positive(owner, "friction smoothing", friction.smoothing);
  if (friction.static_bound > 0.0 && !(friction.static_bound >= friction.coulomb))
  {
    throw std::invalid_argument(
      owner + ": friction static " + std::to_string(friction.static_bound) +
      "; allowed: not below coulomb, which is " + std::to_string(friction.coulomb));
  }
}

}  // namespace

double JointFriction::effort(double speed) const noexcept CD_NONBLOCKING
{
  // (E50)
  const double ratio = speed / stribeck;
  const double above = static_bound > coulomb ? static_bound - coulomb : 0.0;
  const double dry = coulomb + above * std::exp(-ratio * ratio);
  return viscous * speed + dry * std::tanh(speed / smoothing);
}

void RobotProfile::check() const
{
  std::vector<std::string> names;
  for (const ProfileJoint & joint : joints)
  {
    names.push_back(joint.name);
    check_joint(joint);
  }
  check_names("joint", names);
  for (const std::string * interface :
       {&command_interface, &position_interface, &velocity_interface, &effort_interface})
  {
    if (interface->empty())
    {
      throw std::invalid_argument("profile '" + name + "': the name of an interface is empty");
    }
  }
  const std::string owner = "profile '" + name + "'";
  if (!(friction_compensation >= 0.0 && friction_compensation <= 1.0))
  {
    throw std::invalid_argument(
      owner + ": friction_compensation " + std::to_string(friction_compensation) +
      "; allowed: 0 to 1");
  }
  if (gravity && !gravity->allFinite())
  {
    throw std::invalid_argument(owner + ": gravity is not finite");
  }
  checked_nonnegative(owner, "rate", rate);
  checked_nonnegative(owner, "delay", delay);
  for (const Payload & payload : payloads)
  {
    const std::string of = "payload '" + payload.name + "'";
    checked_nonnegative(of, "mass", payload.mass);
    if (!payload.com.allFinite() || !payload.inertia.allFinite())
    {
      throw std::invalid_argument(of + ": com or inertia is not finite");
    }
  }
}

void RobotProfile::require_command_terms() const
{
  if (!command_adds)
  {
    throw std::invalid_argument(
      "profile '" + name + "' does not state what the drives add to a command of effort; " +
      "allowed: 'command: adds' with a list of gravity, friction, armature, or []");
  }
}

void RobotProfile::require_effort_contents() const
{
  if (!effort_contains)
  {
    throw std::invalid_argument(
      "profile '" + name + "' does not state which terms a measured effort contains; " +
      "allowed: 'state: effort_contains' with a list of gravity, friction, armature, or []");
  }
}

void RobotProfile::apply(SceneDescription & scene) const
{
  check();
  scene.gravity = gravity.value_or(scene.gravity);
  for (const ProfileJoint & joint : joints)
  {
    if (joint.armature > 0.0)
    {
      scene.armature[joint.name] += joint.armature;
    }
  }
  for (const Payload & payload : payloads)
  {
    scene.attachments.push_back(
      {payload.name, payload.frame, Pose(), payload.mass, payload.com, payload.inertia});
  }
}

DriveConversion::DriveConversion(RobotProfile profile, const System & system)
: profile_(std::move(profile)), robot_(system.as_robot())
{
  profile_.check();
  if (robot_ == nullptr)
  {
    throw std::invalid_argument(
      "profile '" + profile_.name + "': the system is not a robot; allowed: a RigidBodySystem");
  }
  std::vector<std::string> names;
  for (const ProfileJoint & joint : profile_.joints)
  {
    names.push_back(joint.name);
  }
  for (const std::string & input : system.input_names())
  {
    joints_.push_back(index_of_name("joint of profile '" + profile_.name + "'", input, names));
    speeds_.push_back(system.speed_index("d" + input));
  }
  for (const Payload & payload : profile_.payloads)
  {
    frames_.push_back(system.frame_index(payload.frame));
  }
  held_.setZero(system.speed_count());
  gravity_.setZero(system.input_count());
  rest_ = held_;
  requested_ = gravity_;
  offset_ = gravity_;
  granted_ = gravity_;
  last_ = gravity_;
  jacobian_.setZero(6, system.speed_count());
}

void DriveConversion::reset(const ConstVectorRef & command) noexcept CD_NONBLOCKING
{
  has_last_ = command.size() == last_.size() && command.allFinite();
  if (has_last_)
  {
    last_ = command;
  }
}

void DriveConversion::subtract_payload(
  const SystemData & data, const Payload & payload, int frame) noexcept CD_NONBLOCKING
{
  FrameKinematics motion;
  robot_->frame_kinematics(data, frame, motion);
  robot_->frame_jacobian(data, frame, jacobian_);
  const Eigen::Vector3d holding = -payload.mass * robot_->gravity();
  const Eigen::Vector3d arm = motion.rotation * payload.com;
  const Eigen::Vector3d torque = arm.cross(holding);
  held_.noalias() -= jacobian_.topRows<3>().transpose() * holding;
  held_.noalias() -= jacobian_.bottomRows<3>().transpose() * torque;
}

const Eigen::VectorXd & DriveConversion::find_gravity(const SystemData & data) noexcept
  CD_NONBLOCKING
{
  robot_->gravity_torque(data, held_);
  for (std::size_t i = 0; i < frames_.size() && !profile_.drive_knows_payloads; ++i)
  {
    subtract_payload(data, profile_.payloads[i], frames_[i]);
  }
  for (std::size_t i = 0; i < speeds_.size(); ++i)
  {
    gravity_(static_cast<Eigen::Index>(i)) = held_(speeds_[i]);
  }
  return gravity_;
}

Status DriveConversion::check_arguments(
  const SystemData & data, const ConstVectorRef & effort, const ConstVectorRef & acceleration,
  Eigen::Index out_size) const noexcept CD_NONBLOCKING
{
  if (
    effort.size() != requested_.size() || out_size != requested_.size() ||
    acceleration.size() != held_.size() || data.terms.speeds.size() != held_.size())
  {
    return Status::kSizeMismatch;
  }
  return effort.allFinite() && acceleration.allFinite() ? Status::kOk : Status::kNonFiniteInput;
}

DriveConversion::Terms DriveConversion::terms_of(
  std::size_t i, const SystemData & data,
  const ConstVectorRef & acceleration) const noexcept CD_NONBLOCKING
{
  const ProfileJoint & joint = joint_of(i);
  return {
    gravity_(static_cast<Eigen::Index>(i)), joint.friction.effort(data.terms.speeds(speeds_[i])),
    joint.armature * acceleration(speeds_[i])};
}

Status DriveConversion::command(
  const SystemData & data, const ConstVectorRef & effort, const ConstVectorRef & acceleration,
  double period, VectorRef out) noexcept CD_NONBLOCKING
{
  return send(data, effort, acceleration, period, profile_.friction_compensation, out);
}

Status DriveConversion::rest_command(
  const SystemData & data, const ConstVectorRef & effort, double period,
  VectorRef out) noexcept CD_NONBLOCKING
{
  return send(data, effort, rest_, period, 0.0, out);
}

Status DriveConversion::send(
  const SystemData & data, const ConstVectorRef & effort, const ConstVectorRef & acceleration,
  double period, double compensation, VectorRef out) noexcept CD_NONBLOCKING
{
  if (!profile_.command_adds)
  {
    return Status::kDeclined;
  }
  const Status status = check_arguments(data, effort, acceleration, out.size());
  if (status != Status::kOk || !std::isfinite(period))
  {
    return status != Status::kOk ? status : Status::kNonFiniteInput;
  }
  const EffortTerms adds = *profile_.command_adds;
  find_gravity(data);
  bool is_limited = false;
  for (std::size_t i = 0; i < joints_.size(); ++i)
  {
    const Eigen::Index k = static_cast<Eigen::Index>(i);
    const ProfileJoint & joint = joint_of(i);
    const Terms terms = terms_of(i, data, acceleration);
    // Friction is compensated once: by the drive, or by the command.
    const EffortTerms added{adds.gravity, false, adds.armature};
    offset_(k) = (adds.friction ? 0.0 : compensation * terms.friction) - terms.sum(added);
    requested_(k) = effort(k) + offset_(k);
    double value = requested_(k);
    if (has_last_ && period > 0.0)
    {
      const double step = joint.effort_rate_limit * period;
      value = std::clamp(value, last_(k) - step, last_(k) + step);
    }
    granted_(k) = std::clamp(value, -joint.effort_limit, joint.effort_limit);
    is_limited = is_limited || granted_(k) != requested_(k);
  }
  if (!granted_.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  last_ = granted_;
  has_last_ = true;
  out = granted_;
  return is_limited ? Status::kLimited : Status::kOk;
}

Status DriveConversion::exerted_effort(
  const SystemData & data, const ConstVectorRef & command, const ConstVectorRef & acceleration,
  VectorRef out) noexcept CD_NONBLOCKING
{
  if (!profile_.command_adds)
  {
    return Status::kDeclined;
  }
  const Status status = check_arguments(data, command, acceleration, out.size());
  if (status != Status::kOk)
  {
    return status;
  }
  find_gravity(data);
  for (std::size_t i = 0; i < joints_.size(); ++i)
  {
    const Eigen::Index k = static_cast<Eigen::Index>(i);
    const double limit = joint_of(i).effort_limit;
    const Terms terms = terms_of(i, data, acceleration);
    granted_(k) =
      std::clamp(command(k), -limit, limit) + terms.sum(*profile_.command_adds) - terms.friction;
  }
  if (!granted_.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  out = granted_;
  return Status::kOk;
}

Status DriveConversion::net_effort(
  const SystemData & data, const ConstVectorRef & measured, const ConstVectorRef & acceleration,
  VectorRef out) noexcept CD_NONBLOCKING
{
  return read(data, measured, acceleration, 1.0, out);
}

Status DriveConversion::measured_effort(
  const SystemData & data, const ConstVectorRef & effort, const ConstVectorRef & acceleration,
  VectorRef out) noexcept CD_NONBLOCKING
{
  return read(data, effort, acceleration, -1.0, out);
}

Status DriveConversion::read(
  const SystemData & data, const ConstVectorRef & from, const ConstVectorRef & acceleration,
  double sign, VectorRef out) noexcept CD_NONBLOCKING
{
  if (!profile_.effort_contains)
  {
    return Status::kDeclined;
  }
  const Status status = check_arguments(data, from, acceleration, out.size());
  if (status != Status::kOk)
  {
    return status;
  }
  find_gravity(data);
  for (std::size_t i = 0; i < joints_.size(); ++i)
  {
    const Eigen::Index k = static_cast<Eigen::Index>(i);
    const Terms terms = terms_of(i, data, acceleration);
    // τ = y + gravity and rotor if y lacks them − friction if y contains it.
    const EffortTerms contains = *profile_.effort_contains;
    const EffortTerms lacks{!contains.gravity, false, !contains.armature};
    const double difference = terms.sum(lacks) - (contains.friction ? terms.friction : 0.0);
    granted_(k) = from(k) + sign * difference;
  }
  if (!granted_.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  out = granted_;
  return Status::kOk;
}

}  // namespace constrained_dynamics
