// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>

#include <constrained_dynamics/dynamics/force_drawing.hpp>
#include <rclcpp/time.hpp>
#include <visualization_msgs/msg/marker_array.hpp>

namespace constrained_dynamics_ros
{

/// How forces look, and what markers need besides.
struct MarkerStyle : constrained_dynamics::ForceStyle
{
  std::string world_frame = "world";
  double lifetime = 1.0;  ///< [s] after which what is not renewed vanishes; 0: never
};

/// @throw std::invalid_argument naming what is not finite, negative or 0 where that is not allowed.
void check(const MarkerStyle & style);

/// Takes the memory of a marker for each shape of a ForceDrawing: its group is the namespace, its
/// id the id. Copies have that memory, too. Real-time safe: no.
/// @throw std::invalid_argument as `check`.
visualization_msgs::msg::MarkerArray make_markers(
  const constrained_dynamics::Dynamics & dynamics, const MarkerStyle & style);

/// Copies a drawing into markers of make_markers for the same Dynamics and style. Real-time safe:
/// yes.
void write_markers(
  const rclcpp::Time & stamp, const constrained_dynamics::ForceDrawing & drawing,
  visualization_msgs::msg::MarkerArray & markers) noexcept;

}  // namespace constrained_dynamics_ros
