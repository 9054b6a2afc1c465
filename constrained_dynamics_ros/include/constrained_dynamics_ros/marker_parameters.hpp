// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "constrained_dynamics_ros/constraint_publisher.hpp"
#include "constrained_dynamics_ros/markers.hpp"

namespace constrained_dynamics_ros
{

/// How forces look, from the parameters of a node or controller: `world_frame` and `markers`.
/// @throw std::invalid_argument naming what is out of range.
template <typename Parameters>
MarkerStyle make_marker_style(const Parameters & parameters)
{
  const auto colour = [](const std::vector<double> & rgba)
  {
    std::array<float, 4> out{};
    for (std::size_t i = 0; i < std::min(out.size(), rgba.size()); ++i)
    {
      out[i] = static_cast<float>(rgba[i]);
    }
    return out;
  };
  const auto & given = parameters.markers;
  MarkerStyle style;
  style.world_frame = parameters.world_frame;
  style.force_scale = given.force_scale;
  style.torque_scale = given.torque_scale;
  style.shaft_diameter = given.shaft_diameter;
  style.smallest_length = given.smallest_length;
  style.largest_length = given.largest_length;
  style.force_colour = colour(given.force_colour);
  style.torque_colour = colour(given.torque_colour);
  style.inactive_colour = colour(given.inactive_colour);
  style.legend = given.legend;
  style.text_height = given.text_height;
  std::copy_n(given.legend_position.begin(), 3, style.legend_position.begin());
  style.lifetime = given.lifetime;
  check(style);
  return style;
}

}  // namespace constrained_dynamics_ros
