#pragma once

#include <array>
#include <string>

#include <constrained_dynamics/dynamics.hpp>
#include <rclcpp/time.hpp>
#include <visualization_msgs/msg/marker_array.hpp>

namespace constrained_dynamics_ros
{

/// How forces look.
struct MarkerStyle
{
  std::string world_frame = "world";
  double force_scale = 0.01;    ///< arrow length [m] a newton
  double torque_scale = 0.05;   ///< arrow length [m] a newton metre
  double shaft_diameter = 0.01; ///< [m]
  double smallest_length = 1e-3;  ///< [m]; shorter arrows are not shown
  double largest_length = 1.0;    ///< [m]; longer arrows are cut, with a text that says so
  std::array<float, 4> force_colour{0.85F, 0.2F, 0.15F, 1.0F};
  std::array<float, 4> torque_colour{0.1F, 0.45F, 0.85F, 1.0F};
  std::array<float, 4> inactive_colour{0.6F, 0.6F, 0.6F, 0.4F};
  bool legend = true;             ///< a text with scale, colours and the largest force
  double text_height = 0.05;      ///< [m]
  std::array<double, 3> legend_position{0.0, 0.0, 1.5};  ///< in the world [m]
};

/// Takes the memory of all markers: an arrow of force and one of torque for each wrench on body A, a point
/// where it acts, the name, the legend. Namespaces: force, torque, point, name, legend. Real-time safe: no.
visualization_msgs::msg::MarkerArray make_markers(
  const constrained_dynamics::Dynamics & dynamics, const MarkerStyle & style);

/// Writes the last solve. Real-time safe: yes (texts fit into the memory that was taken).
void write_markers(
  const rclcpp::Time & stamp, const constrained_dynamics::Dynamics & dynamics,
  const constrained_dynamics::Workspace & workspace, const MarkerStyle & style,
  visualization_msgs::msg::MarkerArray & markers) noexcept;

}  // namespace constrained_dynamics_ros
