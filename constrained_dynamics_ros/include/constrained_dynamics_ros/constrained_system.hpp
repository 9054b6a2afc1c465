// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <hardware_interface/system_interface.hpp>

namespace constrained_dynamics_ros
{

namespace simulated
{
struct SimulatedRobot;
}

/// Simulated hardware: a constrained robot, integrated in `read`, behind the interfaces that the
/// <ros2_control> tag of its URDF declares. doc/ros.md has the parameters.
///
/// Commands hold from one `write` to the next `read`, which lets the period pass. In the state
/// inactive, and (parameter wait_for_controller) while no controller has claimed a command
/// interface, time stands still. `configure` begins at the initial state: cleanup and configure are
/// the way to reset.
class ConstrainedSystem : public hardware_interface::SystemInterface
{
public:
  ConstrainedSystem();
  ~ConstrainedSystem() override;

  using hardware_interface::SystemInterface::on_init;
  hardware_interface::CallbackReturn on_init(
    const hardware_interface::HardwareComponentInterfaceParams & params) override;
  std::vector<hardware_interface::InterfaceDescription>
  export_unlisted_state_interface_descriptions() override;

  hardware_interface::CallbackReturn on_configure(
    const rclcpp_lifecycle::State & previous) override;
  hardware_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State & previous) override;
  hardware_interface::CallbackReturn on_deactivate(
    const rclcpp_lifecycle::State & previous) override;
  hardware_interface::CallbackReturn on_error(const rclcpp_lifecycle::State & previous) override;

  hardware_interface::return_type prepare_command_mode_switch(
    const std::vector<std::string> & start, const std::vector<std::string> & stop) override;
  hardware_interface::return_type perform_command_mode_switch(
    const std::vector<std::string> & start, const std::vector<std::string> & stop) override;

  /// Real-time safe: yes, both.
  hardware_interface::return_type read(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;
  hardware_interface::return_type write(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

  /// What went wrong since `configure`.
  struct Counts
  {
    std::uint64_t bad_commands = 0;   ///< NaN or infinite: the last good one held
    std::uint64_t missed_values = 0;  ///< of interfaces that another thread had locked
    std::uint64_t singular_cycles = 0;
    std::uint64_t inconsistent_cycles = 0;
    std::uint64_t cut_periods = 0;
  };
  Counts counts() const;

private:
  std::unique_ptr<simulated::SimulatedRobot> impl_;
};

}  // namespace constrained_dynamics_ros
