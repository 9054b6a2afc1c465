// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "marker_parameters.hpp"

#include <algorithm>
#include <cmath>

namespace constrained_dynamics_ros
{

namespace
{

std::array<float, 4> colour(const std::vector<double> & rgba)
{
  std::array<float, 4> out{};
  std::transform(
    rgba.begin(), rgba.end(), out.begin(), [](double part) { return static_cast<float>(part); });
  return out;
}

}  // namespace

MarkerStyle make_marker_style(const node_parameters::Params & parameters)
{
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
  std::copy(
    given.legend_position.begin(), given.legend_position.end(), style.legend_position.begin());
  style.lifetime = given.lifetime;
  check(style);
  return style;
}

int marker_cycles(const node_parameters::Params & parameters)
{
  const double rate = parameters.markers.rate;
  return rate > 0.0 ? std::max(1, static_cast<int>(std::lround(parameters.rate / rate))) : 0;
}

}  // namespace constrained_dynamics_ros
