// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <constrained_dynamics/scenario/scenario.hpp>
#include <constrained_dynamics/servo/servo_law.hpp>
#include <rclcpp_lifecycle/lifecycle_node.hpp>

#include "constrained_dynamics_controllers/model_parameters.hpp"

/// @file
/// Parameters of a controller that belong to its scenario.

namespace constrained_dynamics_controllers
{

/// Declares what the node was given below the sections of scenario files: all of it is read-only,
/// but for the gains servo.<task>.stiffness and servo.<task>.damping_ratio.
void declare_scenario_parameters(rclcpp_lifecycle::LifecycleNode & node);

/// The scenario of a controller. Its initial state is not assembled.
/// @param model names its file and profile; its joints become system.actuated, unless there are
/// none.
/// @param with_servo without it, servo-constraints are left out.
/// @throw std::invalid_argument naming the parameter, its value and what is allowed.
constrained_dynamics::Scenario load_controller_scenario(
  rclcpp_lifecycle::LifecycleNode & node, const model_parameters::Params & model,
  const std::string & robot_description, bool with_servo);

/// Gains of servo-constraints as parameters that may change at any time:
/// servo.<task>.stiffness and servo.<task>.damping_ratio, finite and above 0, and stable at the
/// rate of the cycle.
class LiveGains
{
public:
  /// Declares the parameters that the node does not have yet, with the values of the law.
  /// Servo-constraints of forces, and those with gains of another form, have none.
  /// @param sample_period of the slower of cycle and hardware [s].
  LiveGains(
    const rclcpp_lifecycle::LifecycleNode::SharedPtr & node,
    std::shared_ptr<const constrained_dynamics::ServoLaw> law, double sample_period);

  /// Which of the gains diverge if the hardware is sampled with a period [s]; empty: none. Not for
  /// the cycle.
  std::string check(double sample_period) const;

  /// Takes over what changed. Real-time safe: yes.
  void apply(constrained_dynamics::ServoWorkspace & workspace) noexcept;

private:
  /// Shared with the callbacks of the node.
  struct Shared;

  std::shared_ptr<Shared> shared_;
  std::uint64_t applied_ = 0;
  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr on_set_;
  rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr after_set_;
};

}  // namespace constrained_dynamics_controllers
