// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <controller_interface/chainable_controller_interface.hpp>
#include <lifecycle_msgs/msg/state.hpp>
#include <rclcpp/rclcpp.hpp>

#include "constrained_dynamics_controllers/servo_constraint_controller.hpp"
#include "support/plant.hpp"

namespace constrained_dynamics_controllers::test
{

using Parameters = std::vector<rclcpp::Parameter>;

using constrained_dynamics::test::Plant;

/// Path of a file of the repository's folder config.
inline std::string config_file(const std::string & name)
{
  return std::string(CONFIG_FOLDER) + "/" + name;
}

/// Path of a file of the core's test data.
inline std::string data_file(const std::string & name)
{
  return std::string(CORE_DATA_FOLDER) + "/" + name;
}

inline std::string read_text(const std::string & path)
{
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A controller with real interfaces, which a test reads and writes by name.
template <typename Controller>
class Harness
{
public:
  static constexpr unsigned kRate = 1000;

  explicit Harness(
    const Parameters & parameters, const std::string & robot_description = "",
    const std::string & name = "controller")
  : controller(std::make_shared<Controller>())
  {
    controller_interface::ControllerInterfaceParams params;
    params.controller_name = name;
    params.robot_description = robot_description;
    params.update_rate = kRate;
    params.controller_manager_update_rate = kRate;
    params.node_options = controller->define_custom_node_options();
    params.node_options.parameter_overrides(parameters);
    initialised = controller->init(params) == controller_interface::return_type::OK;
  }

  ~Harness()
  {
    if (executor)
    {
      executor->remove_node(controller->get_node()->get_node_base_interface());
    }
    controller->release_interfaces();
  }

  bool configure()
  {
    const bool done = initialised && controller->configure().id() ==
                                       lifecycle_msgs::msg::State::PRIMARY_STATE_INACTIVE;
    if (done)
    {
      exported_states = controller->export_state_interfaces();
      references.clear();
      for (const auto & interface : controller->export_reference_interfaces())
      {
        references[interface->get_name()] = interface;
      }
    }
    return done;
  }

  /// Interfaces as the controller asks for them, all 0 unless they exist already.
  void assign()
  {
    std::vector<hardware_interface::LoanedCommandInterface> loaned_commands;
    std::vector<hardware_interface::LoanedStateInterface> loaned_states;
    for (const std::string & name : controller->command_interface_configuration().names)
    {
      loaned_commands.emplace_back(find(name, commands), nullptr);
    }
    for (const std::string & name : controller->state_interface_configuration().names)
    {
      loaned_states.emplace_back(find(name, states), nullptr);
    }
    controller->assign_interfaces(std::move(loaned_commands), std::move(loaned_states));
  }

  bool activate()
  {
    assign();
    const bool done =
      controller->get_node()->activate().id() == lifecycle_msgs::msg::State::PRIMARY_STATE_ACTIVE;
    if constexpr (std::is_same_v<Controller, ServoConstraintController>)
    {
      while (done && !controller->is_prepared())
      {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    }
    return done;
  }
  void deactivate()
  {
    controller->get_node()->deactivate();
    controller->release_interfaces();
  }

  controller_interface::return_type update(double period = 1.0 / kRate)
  {
    const rclcpp::Duration duration = rclcpp::Duration::from_seconds(period);
    return controller->update(controller->get_node()->now(), duration);
  }

  void set_state(const std::string & name, double value)
  {
    const auto found = states.find(name);
    if (found != states.end())
    {
      ASSERT_TRUE(found->second->set_value(value));
    }
  }
  double command(const std::string & name) const
  {
    return commands.at(name)->template get_optional<double>().value();
  }
  double exported_state(const std::string & name) const
  {
    for (const auto & interface : exported_states)
    {
      if (interface->get_name() == name)
      {
        return interface->template get_optional<double>().value();
      }
    }
    ADD_FAILURE() << "no state interface " << name;
    return 0.0;
  }

  /// Writes a state of the plant into the interfaces.
  void measure(const constrained_dynamics::System & system, const constrained_dynamics::State & s)
  {
    for (int i = 0; i < system.coordinate_count(); ++i)
    {
      set_state(system.coordinate_names()[static_cast<std::size_t>(i)] + "/position", s.q(i));
    }
    for (int i = 0; i < system.speed_count(); ++i)
    {
      std::string name = system.speed_names()[static_cast<std::size_t>(i)];
      name = name.rfind("d", 0) == 0 ? name.substr(1) : name;
      set_state(name + "/velocity", s.u(i));
    }
  }

  /// Callbacks of the controller's node and of others.
  void spin(const rclcpp::Node::SharedPtr & other = nullptr)
  {
    if (!executor)
    {
      executor = std::make_unique<rclcpp::executors::SingleThreadedExecutor>();
      executor->add_node(controller->get_node()->get_node_base_interface());
    }
    if (other && other != added)
    {
      executor->add_node(other);
      added = other;
    }
    executor->spin_some(std::chrono::milliseconds(5));
  }
  /// Spins until something is true, for at most ten seconds.
  bool spin_until(const std::function<bool()> & done, const rclcpp::Node::SharedPtr & other)
  {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done() && std::chrono::steady_clock::now() < end)
    {
      spin(other);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return done();
  }

  std::shared_ptr<Controller> controller;
  bool initialised = false;
  std::map<std::string, hardware_interface::CommandInterface::SharedPtr> commands;
  std::map<std::string, hardware_interface::StateInterface::SharedPtr> states;
  std::map<std::string, hardware_interface::CommandInterface::SharedPtr> references;
  std::vector<hardware_interface::StateInterface::ConstSharedPtr> exported_states;
  std::unique_ptr<rclcpp::executors::SingleThreadedExecutor> executor;
  rclcpp::Node::SharedPtr added;

private:
  template <typename Interface>
  static std::shared_ptr<Interface> find(
    const std::string & name, std::map<std::string, std::shared_ptr<Interface>> & known)
  {
    std::shared_ptr<Interface> & interface = known[name];
    if (!interface)
    {
      const std::size_t slash = name.rfind('/');
      hardware_interface::InterfaceInfo info;
      info.name = name.substr(slash + 1);
      info.data_type = "double";
      info.initial_value = "0.0";
      interface = std::make_shared<Interface>(
        hardware_interface::InterfaceDescription(name.substr(0, slash), info));
    }
    return interface;
  }
};

}  // namespace constrained_dynamics_controllers::test
