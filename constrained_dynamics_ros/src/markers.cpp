// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_ros/markers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics_ros/force_messages.hpp"

namespace constrained_dynamics_ros
{

using constrained_dynamics::ConstraintSet;
using constrained_dynamics::Dynamics;
using constrained_dynamics::Wrench;
using visualization_msgs::msg::Marker;

namespace
{

// Order of the markers of one wrench.
enum
{
  kForce,
  kTorque,
  kPoint,
  kName,
  kPerWrench
};

// RViz makes spaces very wide where scale.x of a text is not set.
constexpr double kTextAspect = 0.3;
// Room for numbers in texts.
constexpr std::size_t kNumbers = 64;

std_msgs::msg::ColorRGBA colour(const std::array<float, 4> & rgba) noexcept
{
  std_msgs::msg::ColorRGBA message;
  message.r = rgba[0];
  message.g = rgba[1];
  message.b = rgba[2];
  message.a = rgba[3];
  return message;
}

geometry_msgs::msg::Point point(const Eigen::Vector3d & p) noexcept
{
  geometry_msgs::msg::Point message;
  message.x = p.x();
  message.y = p.y();
  message.z = p.z();
  return message;
}

Marker make_marker(const MarkerStyle & style, const char * name_space, int id, int type)
{
  Marker marker;
  marker.header.frame_id = style.world_frame;
  marker.ns = name_space;
  marker.id = id;
  marker.type = type;
  marker.action = Marker::DELETE;
  marker.pose.orientation.w = 1.0;
  marker.lifetime = rclcpp::Duration::from_seconds(style.lifetime);
  return marker;
}

Marker make_arrow(
  const MarkerStyle & style, const char * name_space, int id, const std::array<float, 4> & rgba)
{
  Marker marker = make_marker(style, name_space, id, Marker::ARROW);
  marker.points.resize(2);
  marker.scale.x = style.shaft_diameter;        // shaft
  marker.scale.y = 2.0 * style.shaft_diameter;  // head
  marker.scale.z = 0.0;                         // length of the head: RViz' own
  marker.color = colour(rgba);
  return marker;
}

Marker make_text(
  const MarkerStyle & style, const char * name_space, int id, const std::string & text,
  const std::array<float, 4> & rgba)
{
  Marker marker = make_marker(style, name_space, id, Marker::TEXT_VIEW_FACING);
  marker.scale.x = kTextAspect * style.text_height;
  marker.scale.z = style.text_height;
  marker.color = colour(rgba);
  marker.text = text;
  return marker;
}

void write_arrow(
  const Eigen::Vector3d & start, Eigen::Vector3d arrow, const MarkerStyle & style,
  Marker & marker) noexcept
{
  const double length = arrow.norm();
  // Also where it is NaN.
  if (!(length >= style.smallest_length))
  {
    marker.action = Marker::DELETE;
    return;
  }
  arrow *= std::min(1.0, style.largest_length / length);
  marker.action = Marker::ADD;
  marker.points[0] = point(start);
  marker.points[1] = point(start + arrow);
}

/// "name", or "name (cut: 123 N)".
void write_name(
  const std::string & name, const Wrench & wrench, const MarkerStyle & style,
  Marker & marker) noexcept
{
  const double force = wrench.force.norm();
  const double torque = wrench.torque.norm();
  const bool force_is_cut = style.force_scale * force > style.largest_length;
  const bool torque_is_cut = style.torque_scale * torque > style.largest_length;
  char numbers[kNumbers] = "";
  if (force_is_cut && torque_is_cut)
  {
    std::snprintf(numbers, sizeof(numbers), " (cut: %.3g N, %.3g N m)", force, torque);
  }
  else if (force_is_cut)
  {
    std::snprintf(numbers, sizeof(numbers), " (cut: %.3g N)", force);
  }
  else if (torque_is_cut)
  {
    std::snprintf(numbers, sizeof(numbers), " (cut: %.3g N m)", torque);
  }
  marker.text = name;
  marker.text += numbers;
  marker.action = Marker::ADD;
  marker.pose.position = point(wrench.point + Eigen::Vector3d(0.0, 0.0, style.text_height));
}

void write_legend(
  const ConstraintSet & constraints, int largest, double force, Marker & marker) noexcept
{
  marker.action = Marker::ADD;
  if (largest < 0)
  {
    marker.text = "largest force: none";
    return;
  }
  char numbers[kNumbers];
  std::snprintf(numbers, sizeof(numbers), "largest force: %.4g N, ", force);
  marker.text = numbers;
  marker.text += constraints[largest].name();
}

void add_legend(
  const ConstraintSet & constraints, const MarkerStyle & style, std::vector<Marker> & markers)
{
  std::size_t longest = 0;
  for (int i = 0; i < constraints.size(); ++i)
  {
    longest = std::max(longest, constraints[i].name().size());
  }
  const auto scale = [](const char * kind, const char * unit, double metres)
  {
    char text[kNumbers];
    std::snprintf(text, sizeof(text), "%s: 1 m = %.4g %s", kind, 1.0 / metres, unit);
    return std::string(text);
  };
  const std::array<std::pair<std::string, std::array<float, 4>>, 3> lines = {
    {{scale("force", "N", style.force_scale), style.force_colour},
     {scale("torque", "N m", style.torque_scale), style.torque_colour},
     {std::string(kNumbers + longest, ' '), style.force_colour}}};
  for (std::size_t i = 0; i < lines.size(); ++i)
  {
    Marker text = make_text(style, "legend", static_cast<int>(i), lines[i].first, lines[i].second);
    // RViz ends on a text of spaces: the last line is shown once it is written.
    text.action = i + 1 < lines.size() ? Marker::ADD : Marker::DELETE;
    text.pose.position.x = style.legend_position[0];
    text.pose.position.y = style.legend_position[1];
    text.pose.position.z =
      style.legend_position[2] - 1.2 * style.text_height * static_cast<double>(i);
    markers.push_back(std::move(text));
  }
}

}  // namespace

void check(const MarkerStyle & style)
{
  const auto demand = [](const char * name, double value, bool may_be_zero)
  {
    if (!std::isfinite(value) || value < 0.0 || (value == 0.0 && !may_be_zero))
    {
      throw std::invalid_argument(
        "markers: " + std::string(name) + ": " + std::to_string(value) +
        "; allowed: a number above 0" + (may_be_zero ? ", or 0" : ""));
    }
  };
  demand("force_scale", style.force_scale, false);
  demand("torque_scale", style.torque_scale, false);
  demand("shaft_diameter", style.shaft_diameter, false);
  demand("smallest_length", style.smallest_length, true);
  demand("largest_length", style.largest_length, false);
  demand("text_height", style.text_height, false);
  demand("lifetime", style.lifetime, true);
  const std::array<std::pair<const char *, const std::array<float, 4> *>, 3> colours = {
    {{"force_colour", &style.force_colour},
     {"torque_colour", &style.torque_colour},
     {"inactive_colour", &style.inactive_colour}}};
  for (const auto & [name, rgba] : colours)
  {
    for (const float part : *rgba)
    {
      if (!(part >= 0.0F && part <= 1.0F))
      {
        throw std::invalid_argument(
          std::string("markers.") + name + ": " + std::to_string(part) + "; allowed: 0 to 1");
      }
    }
  }
  for (const double position : style.legend_position)
  {
    if (!std::isfinite(position))
    {
      throw std::invalid_argument(
        "markers: legend_position: " + std::to_string(position) + "; allowed: finite numbers");
    }
  }
  if (style.world_frame.empty())
  {
    throw std::invalid_argument("markers: world_frame: ''; allowed: the name of a frame");
  }
}

visualization_msgs::msg::MarkerArray make_markers(
  const Dynamics & dynamics, const MarkerStyle & style)
{
  check(style);
  const ConstraintSet & constraints = dynamics.constraints();
  visualization_msgs::msg::MarkerArray array;
  std::vector<Marker> & markers = array.markers;
  for (int i = 0; i < constraints.size(); ++i)
  {
    const int count = static_cast<int>(constraints[i].wrench_bodies().size());
    for (int k = 0; k < count; ++k)
    {
      const int id = constraints.wrench_offset(i) + k;
      markers.push_back(make_arrow(style, "force", id, style.force_colour));
      markers.push_back(make_arrow(style, "torque", id, style.torque_colour));
      Marker sphere = make_marker(style, "point", id, Marker::SPHERE);
      sphere.scale.x = sphere.scale.y = sphere.scale.z = 2.0 * style.shaft_diameter;
      markers.push_back(sphere);
      markers.push_back(make_text(
        style, "name", id, constraints[i].name() + std::string(kNumbers, ' '), style.force_colour));
    }
  }
  if (style.legend)
  {
    add_legend(constraints, style, markers);
  }
  return array;
}

void write_markers(
  const rclcpp::Time & stamp, const Dynamics & dynamics,
  const constrained_dynamics::Workspace & workspace, const MarkerStyle & style,
  visualization_msgs::msg::MarkerArray & markers) noexcept
{
  const ConstraintSet & constraints = dynamics.constraints();
  const builtin_interfaces::msg::Time time = to_message(stamp);
  for (Marker & marker : markers.markers)
  {
    marker.header.stamp = time;
  }
  int largest = -1;
  double largest_force = 0.0;
  Marker * marker = markers.markers.data();
  for (int i = 0; i < constraints.size(); ++i)
  {
    const int count = static_cast<int>(constraints[i].wrench_bodies().size());
    const bool is_active = workspace.is_active(i);
    for (int k = 0; k < count; ++k, marker += kPerWrench)
    {
      const Wrench & wrench =
        workspace.solution()
          .wrenches[static_cast<std::size_t>(constraints.wrench_offset(i) + k)]
          .on_a;
      const double force = wrench.force.norm();
      // Sliding and compliant contacts push without being active.
      const bool acts = is_active || force > 0.0 || wrench.torque.norm() > 0.0;
      write_arrow(wrench.point, style.force_scale * wrench.force, style, marker[kForce]);
      write_arrow(wrench.point, style.torque_scale * wrench.torque, style, marker[kTorque]);
      marker[kPoint].action = Marker::ADD;
      marker[kPoint].pose.position = point(wrench.point);
      marker[kPoint].color = colour(acts ? style.force_colour : style.inactive_colour);
      write_name(constraints[i].name(), wrench, style, marker[kName]);
      marker[kName].color = marker[kPoint].color;
      if (force > largest_force)
      {
        largest_force = force;
        largest = i;
      }
    }
  }
  if (style.legend)
  {
    write_legend(constraints, largest, largest_force, marker[2]);
  }
}

}  // namespace constrained_dynamics_ros
