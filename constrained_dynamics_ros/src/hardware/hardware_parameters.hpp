// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "constrained_dynamics_ros/scenario_parameters.hpp"

namespace constrained_dynamics_ros::simulated
{

/// The <param> elements of the <hardware> tag.
struct HardwareParameters
{
  std::string scenario;        ///< file
  ParameterMap scenario_keys;  ///< sections and keys of scenarios
  std::string profile;         ///< file
  double step = 0.0;           ///< [s]; 0: that of the scenario
  double largest_period = 0.1;
  double drive_bandwidth = 100.0;
  double noise_position = 0.0;
  double noise_velocity = 0.0;
  double noise_effort = 0.0;
  std::optional<double> delay;
  double dropout_probability = 0.0;
  std::vector<std::pair<double, double>> dropout_windows;
  bool freezes = false;
  std::uint64_t seed = 1;
  bool waits_for_controller = true;
};

/// @throw std::invalid_argument naming the parameter, its value and what is allowed.
HardwareParameters read_hardware_parameters(
  const std::unordered_map<std::string, std::string> & parameters);

}  // namespace constrained_dynamics_ros::simulated
