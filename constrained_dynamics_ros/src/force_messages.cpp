// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_ros/force_messages.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include <Eigen/Geometry>

#include <constrained_dynamics/dynamics/constraint_record.hpp>
#include <constrained_dynamics/model/rigid_body_system.hpp>

namespace constrained_dynamics_ros
{

using constrained_dynamics::Constraint;
using constrained_dynamics::ConstraintSet;
using constrained_dynamics::Dynamics;
using constrained_dynamics::Solution;
using constrained_dynamics::Status;
using constrained_dynamics::System;
using constrained_dynamics::Workspace;
using constrained_dynamics::WrenchBodies;

namespace
{

// Longer than every status, so that copies of a message have room for each.
const char * const kNoStatus = "no solve has been made yet";

template <typename Message>
void write_vector(const Eigen::Vector3d & vector, Message & message) noexcept
{
  message.x = vector.x();
  message.y = vector.y();
  message.z = vector.z();
}

void write_row(
  const constrained_dynamics::RowRecord & row,
  constrained_dynamics_msgs::msg::ConstraintRow & message) noexcept
{
  message.multiplier = row.multiplier;
  message.redundancy = row.redundancy;
  message.position_residual = row.position_residual;
  message.velocity_residual = row.velocity_residual;
}

void write_pair(
  const constrained_dynamics::WrenchRecord & wrench,
  constrained_dynamics_msgs::msg::ConstraintWrench & message) noexcept
{
  write_vector(wrench.point, message.point);
  write_vector(wrench.force_on_a, message.on_a.force);
  write_vector(wrench.torque_on_a, message.on_a.torque);
  write_vector(wrench.force_on_b, message.on_b.force);
  write_vector(wrench.torque_on_b, message.on_b.torque);
}

/// Whether transforms know a frame: links, not the frames and tools of a scenario.
bool is_link(const System & system, const std::string & frame)
{
  const constrained_dynamics::RigidBodySystem * robots = system.underlying().as_robot();
  return robots != nullptr &&
         std::find(robots->link_names().begin(), robots->link_names().end(), frame) !=
           robots->link_names().end();
}

}  // namespace

builtin_interfaces::msg::Time to_message(const rclcpp::Time & stamp) noexcept
{
  constexpr rcl_time_point_value_t kBillion = 1000000000;
  builtin_interfaces::msg::Time message;
  const rcl_time_point_value_t time = std::max<rcl_time_point_value_t>(stamp.nanoseconds(), 0);
  message.sec = static_cast<std::int32_t>(time / kBillion);
  message.nanosec = static_cast<std::uint32_t>(time % kBillion);
  return message;
}

constrained_dynamics_msgs::msg::ConstraintForces make_force_message(
  const Dynamics & dynamics, const std::string & world_frame)
{
  const ConstraintSet & constraints = dynamics.constraints();
  constrained_dynamics_msgs::msg::ConstraintForces message;
  message.header.frame_id = world_frame;
  message.status = kNoStatus;
  message.names = dynamics.system().speed_names();
  message.generalized_forces.resize(message.names.size(), 0.0);
  message.constraints.resize(static_cast<std::size_t>(constraints.size()));
  for (int i = 0; i < constraints.size(); ++i)
  {
    const Constraint & constraint = constraints[i];
    auto & entry = message.constraints[static_cast<std::size_t>(i)];
    entry.name = constraint.name();
    entry.type = constraint.type();
    for (const constrained_dynamics::RowDescription & row : constraint.rows())
    {
      entry.rows.emplace_back().label = row.label;
    }
    for (const WrenchBodies & bodies : constraint.wrench_bodies())
    {
      auto & wrench = entry.wrenches.emplace_back();
      wrench.link_a = bodies.body_a;
      wrench.frame_a = bodies.frame_a;
      wrench.link_b = bodies.body_b;
      wrench.frame_b = bodies.frame_b;
    }
  }
  return message;
}

void write_forces(
  const rclcpp::Time & stamp, std::uint64_t sequence, Status status, const Dynamics & dynamics,
  const Workspace & workspace, constrained_dynamics_msgs::msg::ConstraintForces & message) noexcept
{
  message.header.stamp = to_message(stamp);
  message.sequence = sequence;
  message.status = to_string(status);
  const ConstraintSet & constraints = dynamics.constraints();
  const Solution & solution = workspace.solution();
  const bool has_numbers = has_output(status);
  for (int i = 0; i < constraints.size(); ++i)
  {
    auto & entry = message.constraints[static_cast<std::size_t>(i)];
    entry.active = workspace.is_active(i);
    if (!has_numbers)
    {
      continue;
    }
    entry.redundant = false;
    for (std::size_t k = 0; k < entry.rows.size(); ++k)
    {
      const constrained_dynamics::RowRecord row = constrained_dynamics::row_record(
        workspace, constraints.row_offset(i) + static_cast<int>(k));
      write_row(row, entry.rows[k]);
      entry.redundant = entry.redundant || constrained_dynamics::is_redundant(row);
    }
    for (std::size_t k = 0; k < entry.wrenches.size(); ++k)
    {
      const std::size_t pair = static_cast<std::size_t>(constraints.wrench_offset(i)) + k;
      write_pair(constrained_dynamics::wrench_record(solution.wrenches[pair]), entry.wrenches[k]);
    }
  }
  if (has_numbers)
  {
    Eigen::VectorXd::Map(
      message.generalized_forces.data(),
      static_cast<Eigen::Index>(message.generalized_forces.size())) = solution.constraint_force;
    message.rank = static_cast<std::uint32_t>(solution.rank);
    message.active_row_count = static_cast<std::uint32_t>(solution.active_row_count);
    message.condition = solution.condition;
    message.inconsistency = solution.inconsistency;
  }
}

geometry_msgs::msg::WrenchStamped make_wrench_message(
  const Dynamics & dynamics, int constraint, const std::string & world_frame)
{
  const ConstraintSet & constraints = dynamics.constraints();
  if (constraint < 0 || constraint >= constraints.size())
  {
    throw std::invalid_argument(
      "make_wrench_message: constraint " + std::to_string(constraint) + "; allowed: 0 to " +
      std::to_string(constraints.size() - 1));
  }
  const std::vector<WrenchBodies> & bodies = constraints[constraint].wrench_bodies();
  if (bodies.empty())
  {
    throw std::invalid_argument(
      "make_wrench_message: constraint '" + constraints[constraint].name() +
      "' acts on no bodies; allowed: constraints with a wrench");
  }
  const std::string & frame = bodies.front().frame_a;
  const std::string & link = is_link(dynamics.system(), frame) ? frame : bodies.front().body_a;
  geometry_msgs::msg::WrenchStamped message;
  message.header.frame_id = link == "world" ? world_frame : link;
  return message;
}

void write_wrench(
  const rclcpp::Time & stamp, const Dynamics & dynamics, const Workspace & workspace,
  int constraint, geometry_msgs::msg::WrenchStamped & message) noexcept
{
  const System & system = dynamics.system();
  const std::vector<std::string> & frames = system.frame_names();
  const auto found = std::find(frames.begin(), frames.end(), message.header.frame_id);
  constrained_dynamics::FrameKinematics frame;  // the world, unless it is a frame of the system
  if (found != frames.end())
  {
    system.frame_kinematics(
      workspace.system_data(), static_cast<int>(found - frames.begin()), frame);
  }
  const constrained_dynamics::Wrench & wrench =
    workspace.solution()
      .wrenches[static_cast<std::size_t>(dynamics.constraints().wrench_offset(constraint))]
      .on_a;
  const Eigen::Vector3d arm = wrench.point - frame.position;
  message.header.stamp = to_message(stamp);
  write_vector(frame.rotation.transpose() * wrench.force, message.wrench.force);
  write_vector(
    frame.rotation.transpose() * (wrench.torque + arm.cross(wrench.force)), message.wrench.torque);
}

}  // namespace constrained_dynamics_ros
