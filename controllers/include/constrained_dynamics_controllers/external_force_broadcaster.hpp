// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <Eigen/Core>

#include <constrained_dynamics/servo/force_observer.hpp>
#include <constrained_dynamics/servo/momentum_observer.hpp>
#include <constrained_dynamics_msgs/msg/external_forces.hpp>

#include "constrained_dynamics_controllers/broadcaster.hpp"
#include "constrained_dynamics_controllers/external_force_broadcaster_parameters.hpp"

namespace constrained_dynamics_controllers
{

/// External forces on a robot that another controller drives, by a momentum observer. See
/// userdoc.rst. Plugin: constrained_dynamics_controllers/ExternalForceBroadcaster.
class ExternalForceBroadcaster : public Broadcaster
{
public:
  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

private:
  using Message = constrained_dynamics_msgs::msg::ExternalForces;

  void declare_parameters() override;
  void read_parameters() override;
  bool needs_constraints() const override { return false; }
  bool measures_effort() const override { return true; }
  void set_up() override;
  void start(const constrained_dynamics::State & state) override;
  void release() override;
  void diagnose(diagnostic_msgs::msg::DiagnosticStatus & status) override;
  std::vector<hardware_interface::StateInterface::SharedPtr> make_state_interfaces() override;
  /// Real-time safe: yes.
  void write_state_interfaces() noexcept;

  std::shared_ptr<external_force_broadcaster::ParamListener> listener_;
  external_force_broadcaster::Params parameters_;
  std::unique_ptr<constrained_dynamics::ForceObserver> state_;  // completes and converts
  std::unique_ptr<constrained_dynamics::MomentumObserver> observer_;
  std::unique_ptr<constrained_dynamics_ros::TopicWriter<Message>> message_;
  std::vector<hardware_interface::StateInterface::SharedPtr> interfaces_;
  Eigen::VectorXd q_, u_;  // as measured
  std::atomic<int> last_status_{0};
  std::atomic<std::uint64_t> cycles_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<bool> contact_{false};
};

}  // namespace constrained_dynamics_controllers
