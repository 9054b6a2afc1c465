// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <string>

#include <constrained_dynamics/dynamics/dynamics.hpp>
#include <rclcpp/time.hpp>
#include <visualization_msgs/msg/marker_array.hpp>

namespace constrained_dynamics_ros
{

/// How forces look.
struct MarkerStyle
{
  std::string world_frame = "world";
  double force_scale = 0.01;      ///< arrow length [m] a newton
  double torque_scale = 0.05;     ///< arrow length [m] a newton metre
  double shaft_diameter = 0.01;   ///< [m]
  double smallest_length = 1e-3;  ///< [m]; shorter arrows are not shown
  double largest_length = 1.0;    ///< [m]; longer arrows are cut, with a text that says so
  std::array<float, 4> force_colour{0.85F, 0.2F, 0.15F, 1.0F};
  std::array<float, 4> torque_colour{0.1F, 0.45F, 0.85F, 1.0F};
  std::array<float, 4> inactive_colour{0.6F, 0.6F, 0.6F, 0.4F};
  bool legend = true;                                    ///< scale, colours, the largest force
  double text_height = 0.05;                             ///< [m]
  std::array<double, 3> legend_position{0.0, 0.0, 1.5};  ///< in the world [m]
  double lifetime = 1.0;  ///< [s] after which what is not renewed vanishes; 0: never
};

/// @throw std::invalid_argument naming what is not finite, negative or 0 where that is not allowed.
void check(const MarkerStyle & style);

/// Takes the memory of all markers: for each wrench on a body A an arrow of force, one of torque, a
/// point where it acts and the name; the legend. Namespaces: force, torque, point, name (ids: index
/// of the wrench), legend (0: scale of forces, 1: of torques, 2: the largest force). Copies have
/// that memory, too. Real-time safe: no.
/// @throw std::invalid_argument as `check`.
visualization_msgs::msg::MarkerArray make_markers(
  const constrained_dynamics::Dynamics & dynamics, const MarkerStyle & style);

/// Writes the last solve into markers of make_markers with the same style. Real-time safe: yes.
void write_markers(
  const rclcpp::Time & stamp, const constrained_dynamics::Dynamics & dynamics,
  const constrained_dynamics::Workspace & workspace, const MarkerStyle & style,
  visualization_msgs::msg::MarkerArray & markers) noexcept;

}  // namespace constrained_dynamics_ros
