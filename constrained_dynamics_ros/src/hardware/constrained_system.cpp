// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_ros/constrained_system.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>

#include <hardware_interface/types/hardware_interface_type_values.hpp>
#include <rclcpp/logging.hpp>

#include "constrained_dynamics_ros/scenario_parameters.hpp"
#include "hardware/hardware_parameters.hpp"
#include "hardware/interfaces.hpp"
#include "hardware/measurement.hpp"
#include "hardware/plant.hpp"

namespace constrained_dynamics_ros
{

using constrained_dynamics::Status;
using hardware_interface::CallbackReturn;
using hardware_interface::CommandInterface;
using hardware_interface::ComponentInfo;
using hardware_interface::InterfaceInfo;
using hardware_interface::return_type;
using hardware_interface::StateInterface;
using simulated::Channel;
using simulated::Command;
using simulated::DriveTarget;
using simulated::Joint;
using simulated::kCommands;
using simulated::Measurement;
using simulated::Plant;
using simulated::Quantity;

namespace
{

constexpr int kThrottle = 1000;  // [ms]

/// The initial values of the tag, as keys of a scenario.
void add_initial_values(const std::vector<ComponentInfo> & joints, ParameterMap & keys)
{
  for (const ComponentInfo & joint : joints)
  {
    for (const InterfaceInfo & state : joint.state_interfaces)
    {
      const bool is_position = state.name == hardware_interface::HW_IF_POSITION;
      const bool is_velocity = state.name == hardware_interface::HW_IF_VELOCITY;
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

// ---- what it is made of ------------------------------------------------------------------------

struct ConstrainedSystem::Impl
{
  void build(const hardware_interface::HardwareInfo & info);
  void choose_options(const constrained_dynamics::Scenario & scenario, unsigned rate);
  std::unique_ptr<Measurement> make_measurement() const;
  double noise(Quantity quantity) const;

  void collect() noexcept;
  void publish() noexcept;
  double effort(const Joint & joint) const noexcept;
  void set_mode(Joint & joint, unsigned commands) noexcept;
  Joint * find_joint(const std::string & interface, unsigned & command);
  bool is_running() const noexcept;

  simulated::HardwareParameters parameters;
  simulated::PlantOptions options;
  std::unique_ptr<Plant> plant;
  simulated::InterfaceTable interfaces;
  Eigen::VectorXd values;  // of the channels
  std::unique_ptr<Measurement> measurement;
  std::atomic<bool> is_active{false};
  Counts counts;
};

void ConstrainedSystem::Impl::build(const hardware_interface::HardwareInfo & info)
{
  parameters = simulated::read_hardware_parameters(info.hardware_parameters);
  ScenarioSource source;
  source.file = parameters.scenario;
  source.robot_description = info.original_xml;
  source.parameters = parameters.scenario_keys;
  source.without_controls = true;
  add_initial_values(info.joints, source.parameters);
  const constrained_dynamics::Scenario scenario = load_scenario(source);

  choose_options(scenario, info.rw_rate);
  interfaces = simulated::InterfaceTable(info, *scenario.dynamics());
  plant = std::make_unique<Plant>(scenario, interfaces.driven, options);
  values.setZero(static_cast<Eigen::Index>(interfaces.channels.size()));
  measurement = make_measurement();
}

void ConstrainedSystem::Impl::choose_options(
  const constrained_dynamics::Scenario & scenario, unsigned rate)
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

double ConstrainedSystem::Impl::noise(Quantity quantity) const
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

std::unique_ptr<Measurement> ConstrainedSystem::Impl::make_measurement() const
{
  simulated::MeasurementOptions sensors;
  sensors.deviation.resize(static_cast<Eigen::Index>(interfaces.channels.size()));
  for (std::size_t i = 0; i < interfaces.channels.size(); ++i)
  {
    sensors.deviation(static_cast<Eigen::Index>(i)) = noise(interfaces.channels[i].quantity);
  }
  sensors.delay = parameters.delay;
  sensors.step = options.step;
  sensors.dropout_probability = parameters.dropout_probability;
  sensors.dropout_windows = parameters.dropout_windows;
  sensors.freezes = parameters.freezes;
  sensors.seed = parameters.seed;
  return std::make_unique<Measurement>(
    static_cast<Eigen::Index>(interfaces.channels.size()), std::move(sensors));
}

// ---- what runs in the cycle --------------------------------------------------------------------

double ConstrainedSystem::Impl::effort(const Joint & joint) const noexcept
{
  const double by_command = joint.input < 0 ? 0.0 : plant->simulation().inputs()(joint.input);
  const auto drive = static_cast<std::size_t>(std::max(joint.drive, 0));
  return joint.drive >= 0 && plant->is_driven(drive) ? plant->drive_effort(drive) : by_command;
}

/// The true values of all interfaces.channels.
void ConstrainedSystem::Impl::collect() noexcept
{
  const constrained_dynamics::State & state = plant->simulation().state();
  const constrained_dynamics::Solution & solution = plant->simulation().workspace().solution();
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
        value = effort(interfaces.joints[index]);
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

void ConstrainedSystem::Impl::publish() noexcept
{
  const Eigen::VectorXd & reading = measurement->read(plant->simulation().state().time);
  for (std::size_t i = 0; i < interfaces.channels.size(); ++i)
  {
    if (!interfaces.channels[i].handle->set_value(reading(static_cast<Eigen::Index>(i))))
    {
      ++counts.missed_values;
    }
  }
}

/// Where nothing is commanded, joints that can be driven by effort are free, others hold.
void ConstrainedSystem::Impl::set_mode(Joint & joint, unsigned commands) noexcept
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
  DriveTarget & target = plant->target(drive);
  target.follows_position = commands == Command::kNone || (commands & Command::kPosition) != 0;
  target.position = plant->simulation().state().q(joint.coordinate);
  target.velocity = 0.0;
  plant->switch_drive(
    drive, commands == Command::kNone ? joint.input < 0 : (commands & Command::kEffort) == 0);
}

bool ConstrainedSystem::Impl::is_running() const noexcept
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
Joint * ConstrainedSystem::Impl::find_joint(const std::string & interface, unsigned & command)
{
  for (Joint & joint : interfaces.joints)
  {
    for (std::size_t i = 0; i < kCommands.size(); ++i)
    {
      if (joint.commands[i] && joint.commands[i]->get_name() == interface)
      {
        command = kCommands[i].second;
        return &joint;
      }
    }
  }
  return nullptr;
}

// ---- the plugin --------------------------------------------------------------------------------

ConstrainedSystem::ConstrainedSystem() : impl_(std::make_unique<Impl>()) {}
ConstrainedSystem::~ConstrainedSystem() = default;

CallbackReturn ConstrainedSystem::on_init(
  const hardware_interface::HardwareComponentInterfaceParams & params)
{
  if (SystemInterface::on_init(params) != CallbackReturn::SUCCESS)
  {
    return CallbackReturn::ERROR;
  }
  try
  {
    impl_->build(info_);
  }
  catch (const std::exception & error)
  {
    RCLCPP_FATAL(get_logger(), "%s", error.what());
    return CallbackReturn::ERROR;
  }
  for (const std::string & warning : impl_->plant->scenario().warnings())
  {
    RCLCPP_WARN(get_logger(), "%s", warning.c_str());
  }
  return CallbackReturn::SUCCESS;
}

std::vector<hardware_interface::InterfaceDescription>
ConstrainedSystem::export_unlisted_state_interface_descriptions()
{
  std::vector<hardware_interface::InterfaceDescription> descriptions;
  for (const std::size_t i : impl_->interfaces.unlisted)
  {
    const std::string & name = impl_->interfaces.channels[i].name;
    const std::size_t slash = name.rfind('/');
    InterfaceInfo info{};
    info.name = name.substr(slash + 1);
    info.data_type = "double";
    descriptions.emplace_back(name.substr(0, slash), info);
  }
  return descriptions;
}

CallbackReturn ConstrainedSystem::on_configure(const rclcpp_lifecycle::State &)
{
  for (Channel & channel : impl_->interfaces.channels)
  {
    for (const auto * handles : {&joint_states_, &sensor_states_, &unlisted_states_})
    {
      for (const StateInterface::SharedPtr & handle : *handles)
      {
        channel.handle = handle->get_name() == channel.name ? handle : channel.handle;
      }
    }
    if (!channel.handle)
    {
      RCLCPP_ERROR(get_logger(), "state interface '%s' was not exported", channel.name.c_str());
      return CallbackReturn::ERROR;
    }
  }
  for (Joint & joint : impl_->interfaces.joints)
  {
    for (const CommandInterface::SharedPtr & handle : joint_commands_)
    {
      for (std::size_t i = 0; i < kCommands.size(); ++i)
      {
        if (handle->get_name() == joint.name + "/" + kCommands[i].first)
        {
          joint.commands[i] = handle;
        }
      }
    }
  }
  try
  {
    impl_->plant->reset();
  }
  catch (const std::invalid_argument & error)
  {
    RCLCPP_ERROR(get_logger(), "%s", error.what());
    return CallbackReturn::FAILURE;
  }
  impl_->counts = Counts{};
  for (Joint & joint : impl_->interfaces.joints)
  {
    joint.next = Command::kNone;
    impl_->set_mode(joint, Command::kNone);
  }
  impl_->collect();
  impl_->measurement->reset(impl_->values);
  impl_->publish();
  return CallbackReturn::SUCCESS;
}

CallbackReturn ConstrainedSystem::on_activate(const rclcpp_lifecycle::State &)
{
  impl_->is_active = true;
  return CallbackReturn::SUCCESS;
}

CallbackReturn ConstrainedSystem::on_deactivate(const rclcpp_lifecycle::State &)
{
  impl_->is_active = false;
  return CallbackReturn::SUCCESS;
}

CallbackReturn ConstrainedSystem::on_error(const rclcpp_lifecycle::State &)
{
  impl_->is_active = false;
  return CallbackReturn::SUCCESS;
}

return_type ConstrainedSystem::prepare_command_mode_switch(
  const std::vector<std::string> & start, const std::vector<std::string> & stop)
{
  for (Joint & joint : impl_->interfaces.joints)
  {
    joint.next = joint.claimed;
  }
  unsigned command = Command::kNone;
  for (const std::string & interface : stop)
  {
    if (Joint * joint = impl_->find_joint(interface, command))
    {
      joint->next &= ~command;
    }
  }
  for (const std::string & interface : start)
  {
    if (Joint * joint = impl_->find_joint(interface, command))
    {
      joint->next |= command;
    }
  }
  for (const Joint & joint : impl_->interfaces.joints)
  {
    if ((joint.next & Command::kEffort) != 0 && joint.next != Command::kEffort)
    {
      RCLCPP_ERROR(
        get_logger(),
        "joint '%s': effort and position or velocity at once; allowed: effort alone, or position, "
        "velocity or both",
        joint.name.c_str());
      return return_type::ERROR;
    }
  }
  return return_type::OK;
}

return_type ConstrainedSystem::perform_command_mode_switch(
  const std::vector<std::string> &, const std::vector<std::string> &)
{
  for (Joint & joint : impl_->interfaces.joints)
  {
    if (joint.next != joint.claimed)
    {
      impl_->set_mode(joint, joint.next);
    }
  }
  return return_type::OK;
}

return_type ConstrainedSystem::read(const rclcpp::Time &, const rclcpp::Duration & period)
{
  Impl & impl = *impl_;
  Status status = Status::kOk;
  if (impl.is_running())
  {
    status = impl.plant->advance(
      period.seconds(), impl.parameters.delay > 0.0,
      [&impl]() noexcept
      {
        impl.collect();
        impl.measurement->push(impl.values);
      });
  }
  impl.counts.singular_cycles += status == Status::kSingular ? 1 : 0;
  impl.counts.inconsistent_cycles += status == Status::kInconsistent ? 1 : 0;
  impl.publish();
  if (!has_output(status))
  {
    RCLCPP_ERROR_THROTTLE(
      get_logger(), *get_clock(), kThrottle, "the simulation cannot go on at %g s: %s",
      impl.plant->simulation().state().time, to_string(status));
    return return_type::ERROR;
  }
  return return_type::OK;
}

return_type ConstrainedSystem::write(const rclcpp::Time &, const rclcpp::Duration &)
{
  Impl & impl = *impl_;
  for (Joint & joint : impl.interfaces.joints)
  {
    for (std::size_t i = 0; i < kCommands.size(); ++i)
    {
      const Command command = kCommands[i].second;
      if ((joint.claimed & command) == 0)
      {
        continue;
      }
      const std::optional<double> value = joint.commands[i]->get_optional();
      if (!value)
      {
        ++impl.counts.missed_values;
      }
      else if (!std::isfinite(*value))
      {
        ++impl.counts.bad_commands;
        RCLCPP_WARN_THROTTLE(
          get_logger(), *get_clock(), kThrottle,
          "command '%s' is %g; allowed: finite numbers; the last one is held",
          joint.commands[i]->get_name().c_str(), *value);
      }
      else if (command == Command::kEffort)
      {
        impl.plant->efforts()(joint.input) = *value;
      }
      else
      {
        DriveTarget & target = impl.plant->target(static_cast<std::size_t>(joint.drive));
        (command == Command::kPosition ? target.position : target.velocity) = *value;
      }
    }
  }
  return return_type::OK;
}

ConstrainedSystem::Counts ConstrainedSystem::counts() const
{
  Counts counts = impl_->counts;
  counts.cut_periods = static_cast<std::uint64_t>(impl_->plant->cut_count());
  return counts;
}

}  // namespace constrained_dynamics_ros

#include <pluginlib/class_list_macros.hpp>

PLUGINLIB_EXPORT_CLASS(
  constrained_dynamics_ros::ConstrainedSystem, hardware_interface::SystemInterface)
