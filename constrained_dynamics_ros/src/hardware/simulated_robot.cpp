// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "hardware/simulated_robot.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>

#include <constrained_dynamics/scenario/profile_file.hpp>

#include "constrained_dynamics_ros/scenario_parameters.hpp"

namespace constrained_dynamics_ros::simulated
{

using constrained_dynamics::SensorModel;
using constrained_dynamics::SimulatedPlant;
using hardware_interface::ComponentInfo;
using hardware_interface::InterfaceInfo;

namespace
{

/// The initial values of the tag, as keys of a scenario.
void add_initial_values(
  const std::vector<ComponentInfo> & joints, const constrained_dynamics::ChannelNames & names,
  ParameterMap & keys)
{
  for (const ComponentInfo & joint : joints)
  {
    for (const InterfaceInfo & state : joint.state_interfaces)
    {
      const bool is_position = state.name == names.position;
      const bool is_velocity = state.name == names.velocity;
      if (!state.initial_value.empty() && (is_position || is_velocity))
      {
        keys.emplace(
          (is_position ? "initial.q." : "initial.u.") + joint.name,
          rclcpp::ParameterValue(state.initial_value));
      }
    }
  }
}

}  // namespace

void SimulatedRobot::build(const hardware_interface::HardwareInfo & info)
{
  parameters = read_hardware_parameters(info.hardware_parameters);
  ScenarioSource source;
  source.file = parameters.scenario;
  source.robot_description = info.original_xml;
  source.parameters = parameters.scenario_keys;
  source.profile = parameters.profile;
  source.without_controls = true;
  std::optional<constrained_dynamics::RobotProfile> named;
  if (!parameters.profile.empty())
  {
    named = constrained_dynamics::load_robot_profile(resolve_uri(parameters.profile));
  }
  add_initial_values(
    info.joints, constrained_dynamics::channel_names(named ? &*named : nullptr), source.parameters);
  const constrained_dynamics::Scenario scenario = load_scenario(source);

  choose_options(scenario, info.rw_rate);
  interfaces = InterfaceTable(info, *scenario.dynamics(), scenario.profile());
  plant = std::make_unique<SimulatedPlant>(scenario, interfaces.driven, options);
  values.setZero(static_cast<Eigen::Index>(interfaces.channels.size()));
  sensor_model = make_sensors();
}

void SimulatedRobot::choose_options(const constrained_dynamics::Scenario & scenario, unsigned rate)
{
  options.step = parameters.step > 0.0 ? parameters.step : scenario.run().integration.step;
  options.largest_period = parameters.largest_period;
  options.drive_bandwidth = parameters.drive_bandwidth;
  const double period = rate > 0 ? 1.0 / rate : options.step;
  if (parameters.step > period * (1.0 + 1e-9))
  {
    throw std::invalid_argument(
      "hardware parameter 'step': '" + std::to_string(parameters.step) +
      "'; allowed: at most the period of the cycle, " + std::to_string(period));
  }
  options.step = std::min(options.step, period);
}

double SimulatedRobot::noise(Quantity quantity) const
{
  switch (quantity)
  {
    case Quantity::kPosition:
      return parameters.noise_position;
    case Quantity::kVelocity:
      return parameters.noise_velocity;
    case Quantity::kEffort:
      return parameters.noise_effort;
    default:
      return 0.0;
  }
}

std::unique_ptr<constrained_dynamics::SensorModel> SimulatedRobot::make_sensors() const
{
  constrained_dynamics::SensorOptions sensors;
  sensors.deviation.resize(static_cast<Eigen::Index>(interfaces.channels.size()));
  for (std::size_t i = 0; i < interfaces.channels.size(); ++i)
  {
    sensors.deviation(static_cast<Eigen::Index>(i)) = noise(interfaces.channels[i].quantity);
  }
  sensors.delay = delay();
  sensors.step = options.step;
  sensors.dropout_probability = parameters.dropout_probability;
  sensors.dropout_windows = parameters.dropout_windows;
  sensors.freezes = parameters.freezes;
  sensors.seed = parameters.seed;
  return std::make_unique<SensorModel>(
    static_cast<Eigen::Index>(interfaces.channels.size()), std::move(sensors));
}

double SimulatedRobot::delay() const noexcept
{
  const constrained_dynamics::RobotProfile * profile = plant->scenario().profile();
  return parameters.delay.value_or(profile ? profile->delay : 0.0);
}

// ---- what runs in the cycle --------------------------------------------------------------------

double SimulatedRobot::effort(const Joint & joint, const Eigen::VectorXd & readings) const noexcept
{
  const auto drive = static_cast<std::size_t>(std::max(joint.drive, 0));
  return joint.actuator >= 0                           ? readings(joint.actuator)
         : joint.drive >= 0 && plant->is_driven(drive) ? plant->drive_effort(drive)
                                                       : 0.0;
}

/// The true values of all interfaces.channels.
void SimulatedRobot::collect() noexcept
{
  const constrained_dynamics::State & state = plant->simulation().state();
  const constrained_dynamics::Solution & solution = plant->simulation().workspace().solution();
  const Eigen::VectorXd & readings = plant->effort_readings();
  for (std::size_t i = 0; i < interfaces.channels.size(); ++i)
  {
    const Channel & channel = interfaces.channels[i];
    const auto index = static_cast<std::size_t>(channel.index);
    double & value = values(static_cast<Eigen::Index>(i));
    switch (channel.quantity)
    {
      case Quantity::kPosition:
        value = state.q(channel.index);
        break;
      case Quantity::kVelocity:
        value = state.u(channel.index);
        break;
      case Quantity::kAcceleration:
        value = solution.acceleration(channel.index);
        break;
      case Quantity::kEffort:
        value = effort(interfaces.joints[index], readings);
        break;
      case Quantity::kForce:
        value = solution.wrenches[index].on_a.force(channel.axis);
        break;
      case Quantity::kTorque:
        value = solution.wrenches[index].on_a.torque(channel.axis);
        break;
      case Quantity::kMultiplier:
        value = solution.multipliers(channel.index);
        break;
    }
  }
}

void SimulatedRobot::publish() noexcept
{
  const Eigen::VectorXd & reading = sensor_model->read(plant->simulation().state().time);
  for (std::size_t i = 0; i < interfaces.channels.size(); ++i)
  {
    if (!interfaces.channels[i].handle->set_value(reading(static_cast<Eigen::Index>(i))))
    {
      ++counts.missed_values;
    }
  }
}

/// Where nothing is commanded, joints that can be driven by effort are free, others hold.
void SimulatedRobot::set_mode(Joint & joint, unsigned commands) noexcept
{
  joint.claimed = commands;
  if (joint.input >= 0 && (commands & Command::kEffort) == 0)
  {
    plant->efforts()(joint.input) = 0.0;
  }
  if (joint.drive < 0)
  {
    return;
  }
  const auto drive = static_cast<std::size_t>(joint.drive);
  constrained_dynamics::DriveTarget & target = plant->target(drive);
  target.follows_position = commands == Command::kNone || (commands & Command::kPosition) != 0;
  target.position = plant->simulation().state().q(joint.coordinate);
  target.velocity = 0.0;
  plant->switch_drive(
    drive, commands == Command::kNone ? joint.input < 0 : (commands & Command::kEffort) == 0);
}

bool SimulatedRobot::is_running() const noexcept
{
  if (!is_active)
  {
    return false;
  }
  bool has_commands = false;
  bool is_claimed = false;
  for (const Joint & joint : interfaces.joints)
  {
    has_commands = has_commands || joint.input >= 0 || joint.drive >= 0;
    is_claimed = is_claimed || joint.claimed != Command::kNone;
  }
  return is_claimed || !has_commands || !parameters.waits_for_controller;
}

/// The joint that a command interface "joint/command" belongs to; null if it is not ours.
Joint * SimulatedRobot::find_joint(const std::string & interface, unsigned & command)
{
  for (Joint & joint : interfaces.joints)
  {
    for (std::size_t i = 0; i < kCommands.size(); ++i)
    {
      if (joint.commands[i] && joint.commands[i]->get_name() == interface)
      {
        command = kCommands[i];
        return &joint;
      }
    }
  }
  return nullptr;
}

}  // namespace constrained_dynamics_ros::simulated
