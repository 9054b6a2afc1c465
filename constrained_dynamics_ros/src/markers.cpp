// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_ros/markers.hpp"

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics_ros/force_messages.hpp"

namespace constrained_dynamics_ros
{

using constrained_dynamics::DrawnShape;
using constrained_dynamics::ForceDrawing;
using constrained_dynamics::ShapeKind;
using visualization_msgs::msg::Marker;

namespace
{

template <typename Message>
void write_vector(const Eigen::Vector3d & vector, Message & message) noexcept
{
  message.x = vector.x();
  message.y = vector.y();
  message.z = vector.z();
}

int marker_type(ShapeKind kind)
{
  switch (kind)
  {
    case ShapeKind::kArrow:
      return Marker::ARROW;
    case ShapeKind::kSphere:
      return Marker::SPHERE;
    case ShapeKind::kText:
      return Marker::TEXT_VIEW_FACING;
  }
  throw std::invalid_argument("markers: a shape of unknown kind");
}

void write_shape(const DrawnShape & shape, Marker & marker) noexcept
{
  marker.action = shape.is_visible ? Marker::ADD : Marker::DELETE;
  if (shape.kind == ShapeKind::kArrow)
  {
    write_vector(shape.position, marker.points[0]);
    write_vector(shape.tip, marker.points[1]);
  }
  else
  {
    write_vector(shape.position, marker.pose.position);
  }
  write_vector(shape.size, marker.scale);
  marker.color.r = shape.colour[0];
  marker.color.g = shape.colour[1];
  marker.color.b = shape.colour[2];
  marker.color.a = shape.colour[3];
  marker.text = shape.text;
}

Marker make_marker(const DrawnShape & shape, const MarkerStyle & style)
{
  Marker marker;
  marker.header.frame_id = style.world_frame;
  marker.ns = shape.group;
  marker.id = shape.id;
  marker.type = marker_type(shape.kind);
  marker.pose.orientation.w = 1.0;
  marker.lifetime = rclcpp::Duration::from_seconds(style.lifetime);
  marker.points.resize(shape.kind == ShapeKind::kArrow ? 2 : 0);
  write_shape(shape, marker);
  return marker;
}

}  // namespace

void check(const MarkerStyle & style)
{
  constrained_dynamics::check(static_cast<const constrained_dynamics::ForceStyle &>(style));
  if (!(style.lifetime >= 0.0 && std::isfinite(style.lifetime)))
  {
    throw std::invalid_argument(
      "markers.lifetime: " + std::to_string(style.lifetime) + "; allowed: a number above 0, or 0");
  }
  if (style.world_frame.empty())
  {
    throw std::invalid_argument("markers.world_frame: ''; allowed: the name of a frame");
  }
}

visualization_msgs::msg::MarkerArray make_markers(
  const constrained_dynamics::Dynamics & dynamics, const MarkerStyle & style)
{
  check(style);
  const ForceDrawing drawing(dynamics, style);
  visualization_msgs::msg::MarkerArray array;
  for (const DrawnShape & shape : drawing.shapes())
  {
    array.markers.push_back(make_marker(shape, style));
  }
  return array;
}

void write_markers(
  const rclcpp::Time & stamp, const ForceDrawing & drawing,
  visualization_msgs::msg::MarkerArray & markers) noexcept
{
  const builtin_interfaces::msg::Time time = to_message(stamp);
  for (std::size_t i = 0; i < markers.markers.size(); ++i)
  {
    markers.markers[i].header.stamp = time;
    write_shape(drawing.shapes()[i], markers.markers[i]);
  }
}

}  // namespace constrained_dynamics_ros
