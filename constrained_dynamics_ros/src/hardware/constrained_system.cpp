// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_ros/constrained_system.hpp"

#include <cmath>
#include <cstddef>
#include <optional>
#include <stdexcept>

#include <rclcpp/logging.hpp>

#include "hardware/simulated_robot.hpp"

namespace constrained_dynamics_ros
{

using constrained_dynamics::Status;
using hardware_interface::CallbackReturn;
using hardware_interface::CommandInterface;
using hardware_interface::InterfaceInfo;
using hardware_interface::return_type;
using hardware_interface::StateInterface;
using simulated::Channel;
using simulated::Command;
using simulated::Joint;
using simulated::kCommands;

namespace
{

constexpr int kThrottle = 1000;  // [ms]

}  // namespace

ConstrainedSystem::ConstrainedSystem() : impl_(std::make_unique<simulated::SimulatedRobot>()) {}
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
        if (handle->get_name() == joint.name + "/" + impl_->interfaces.names.commands[i])
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
  impl_->sensor_model->reset(impl_->values);
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
  simulated::SimulatedRobot & impl = *impl_;
  Status status = Status::kOk;
  if (impl.is_running())
  {
    status = impl.plant->advance(
      period.seconds(), impl.delay() > 0.0,
      [&impl]() noexcept
      {
        impl.collect();
        impl.sensor_model->push(impl.values);
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
  simulated::SimulatedRobot & impl = *impl_;
  for (Joint & joint : impl.interfaces.joints)
  {
    for (std::size_t i = 0; i < kCommands.size(); ++i)
    {
      const Command command = kCommands[i];
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
        constrained_dynamics::DriveTarget & target =
          impl.plant->target(static_cast<std::size_t>(joint.drive));
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
