// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include "constrained_dynamics_controllers/constraint_controller.hpp"

namespace constrained_dynamics_controllers
{

/// A controller that commands nothing and follows no references.
class Broadcaster : public ConstraintController
{
public:
  controller_interface::InterfaceConfiguration command_interface_configuration() const final
  {
    return {controller_interface::interface_configuration_type::NONE, {}};
  }
  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time &, const rclcpp::Duration &) final
  {
    return controller_interface::return_type::OK;
  }

protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list()
    final
  {
    return {};
  }
  bool uses_servo() const final { return false; }
};

}  // namespace constrained_dynamics_controllers
