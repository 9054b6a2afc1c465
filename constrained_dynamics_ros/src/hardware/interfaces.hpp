// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <hardware_interface/handle.hpp>
#include <hardware_interface/hardware_info.hpp>
#include <hardware_interface/types/hardware_interface_type_values.hpp>

#include <constrained_dynamics/dynamics/dynamics.hpp>
#include <constrained_dynamics/servo/robot_profile.hpp>
#include <constrained_dynamics/servo/state_channels.hpp>

namespace constrained_dynamics_ros::simulated
{

/// Commands of a joint, as bits.
enum Command : unsigned
{
  kNone = 0,
  kPosition = 1,
  kVelocity = 2,
  kEffort = 4,
};
constexpr std::array<Command, 3> kCommands = {kPosition, kVelocity, kEffort};

/// Names of the interfaces of joints.
struct InterfaceNames
{
  std::array<std::string, 3> commands = {
    hardware_interface::HW_IF_POSITION, hardware_interface::HW_IF_VELOCITY,
    hardware_interface::HW_IF_EFFORT};  ///< as kCommands
  constrained_dynamics::ChannelNames states;
};
/// Those of a robot profile; null: the usual ones.
InterfaceNames interface_names(const constrained_dynamics::RobotProfile * profile);

/// What a state interface shows.
enum class Quantity
{
  kPosition,
  kVelocity,
  kAcceleration,
  kEffort,      // of a joint
  kForce,       // of a constraint on its body A
  kTorque,      // likewise
  kMultiplier,  // of a row
};

struct Channel
{
  std::string name;
  Quantity quantity;
  int index;  // of a coordinate, speed, joint, pair of wrenches or row
  int axis = 0;
  hardware_interface::StateInterface::SharedPtr handle;
};

struct Joint
{
  std::string name;
  int coordinate = -1;
  int speed = -1;
  int input = -1;     // −1: no command of effort
  int actuator = -1;  // the input of the system, commanded or not; −1: none
  int drive = -1;     // −1: none of position or velocity
  unsigned claimed = kNone;
  unsigned next = kNone;  // from the next switch on
  std::array<hardware_interface::CommandInterface::SharedPtr, 3>
    commands;  // as kCommands; null: not declared
};

/// What a <ros2_control> tag declares, found in a simulated system.
class InterfaceTable
{
public:
  InterfaceTable() = default;
  /// @param profile says what the interfaces are called; null: none.
  /// @throw std::invalid_argument naming the joint, sensor or interface that cannot be, and what is
  /// allowed; and for efforts of which the profile does not state what drives add to them, or what
  /// they contain.
  InterfaceTable(
    const hardware_interface::HardwareInfo & info, const constrained_dynamics::Dynamics & dynamics,
    const constrained_dynamics::RobotProfile * profile);

  InterfaceNames names;
  std::vector<Joint> joints;
  std::vector<std::string> driven;  ///< joints that can follow positions or velocities
  std::vector<Channel> channels;
  std::vector<std::size_t> unlisted;  ///< channels that no tag declares

private:
  using System = constrained_dynamics::System;
  void add_joint(const System & system, const hardware_interface::ComponentInfo & info);
  void add_state(const Joint & joint, const std::string & interface);
  void add_command(const System & system, const std::string & interface, Joint & joint);
  void add_sensor(
    const constrained_dynamics::ConstraintSet & constraints,
    const hardware_interface::ComponentInfo & info);
  void add_unlisted(const System & system);

  const constrained_dynamics::RobotProfile * profile_ = nullptr;  // only while it is built
};

}  // namespace constrained_dynamics_ros::simulated
