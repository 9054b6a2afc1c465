// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <builtin_interfaces/msg/time.hpp>
#include <constrained_dynamics/dynamics/dynamics.hpp>
#include <geometry_msgs/msg/transform_stamped.hpp>
#include <visualization_msgs/msg/marker_array.hpp>

namespace constrained_dynamics_ros
{

/// The bodies of a system without a robot description, for viewers: lines from joint to joint, a
/// ball at each link, and the wheels and balls of the constraints. Not for control cycles.
class BodyMarkers
{
public:
  BodyMarkers(
    const constrained_dynamics::Dynamics & dynamics, const std::string & world_frame,
    double lifetime);

  /// Whether there is nothing to draw: a textbook system without bodies.
  bool empty() const { return markers_.markers.empty(); }

  /// Namespaces: skeleton (lines), links (balls), wheels (one id per constraint).
  const visualization_msgs::msg::MarkerArray & write(
    const builtin_interfaces::msg::Time & stamp, const constrained_dynamics::SystemData & data);

  /// A frame for cameras, without its name: below the middle of the bodies where these can move
  /// away (floating and planar bases, free bodies), else at the origin. Valid after `write`.
  const geometry_msgs::msg::TransformStamped & view() const { return view_; }

private:
  /// A round part of a constraint, in the axes of its frame.
  struct Round
  {
    int frame;
    std::size_t marker;
    Eigen::Matrix3d axes;
  };

  void add_skeleton();
  void add_rounds(const constrained_dynamics::ConstraintSet & constraints);
  visualization_msgs::msg::Marker & add_marker(const char * name_space, int id, int type);

  const constrained_dynamics::System & system_;
  std::string world_frame_;
  double lifetime_;
  std::vector<int> links_;                  // frames
  std::vector<std::pair<int, int>> bones_;  // frames
  std::vector<Round> rounds_;
  bool moves_away_ = false;
  visualization_msgs::msg::MarkerArray markers_;
  geometry_msgs::msg::TransformStamped view_;
};

}  // namespace constrained_dynamics_ros
