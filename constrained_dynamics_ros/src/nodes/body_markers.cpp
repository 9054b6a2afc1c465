// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "body_markers.hpp"

#include <algorithm>
#include <cstddef>

#include <Eigen/Geometry>

#include <constrained_dynamics/constraints/drawn_part.hpp>
#include <rclcpp/duration.hpp>

namespace constrained_dynamics_ros
{

using constrained_dynamics::DrawnKind;
using constrained_dynamics::DrawnPart;
using constrained_dynamics::FrameKinematics;
using visualization_msgs::msg::Marker;

namespace
{

constexpr double kBoneWidth = 0.025;  // [m]
constexpr double kBallWidth = 0.06;   // [m]
constexpr double kWheelWidth = 0.02;  // [m]

geometry_msgs::msg::Point point(const Eigen::Vector3d & p)
{
  geometry_msgs::msg::Point message;
  message.x = p.x();
  message.y = p.y();
  message.z = p.z();
  return message;
}

template <typename Colour>
void set_colour(Colour & colour, float red, float green, float blue, float opacity)
{
  colour.r = red;
  colour.g = green;
  colour.b = blue;
  colour.a = opacity;
}

/// Index of a frame; −1 for the world and for unknown names.
int frame_of(const constrained_dynamics::System & system, const std::string & name)
{
  const std::vector<std::string> & names = system.frame_names();
  const auto found = std::find(names.begin(), names.end(), name);
  return name == "world" || found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

}  // namespace

BodyMarkers::BodyMarkers(
  const constrained_dynamics::Dynamics & dynamics, const std::string & world_frame, double lifetime)
: system_(dynamics.system()), world_frame_(world_frame), lifetime_(lifetime)
{
  for (int i = 0; i < system_.coordinate_count(); ++i)
  {
    if (!system_.has_joint(i))
    {
      moves_away_ = true;
      continue;
    }
    const auto [child, parent] = system_.joint_bodies(i);
    bones_.emplace_back(frame_of(system_, child), frame_of(system_, parent));
  }
  const constrained_dynamics::ConstraintSet & constraints = dynamics.constraints();
  for (int i = 0; i < constraints.size(); ++i)
  {
    for (const constrained_dynamics::WrenchBodies & pair : constraints[i].wrench_bodies())
    {
      bones_.emplace_back(frame_of(system_, pair.body_a), frame_of(system_, pair.frame_a));
      bones_.emplace_back(frame_of(system_, pair.body_b), frame_of(system_, pair.frame_b));
    }
  }
  add_skeleton();
  add_rounds(constraints);
  view_.header.frame_id = world_frame;
  view_.transform.rotation.w = 1.0;
}

visualization_msgs::msg::Marker & BodyMarkers::add_marker(const char * name_space, int id, int type)
{
  Marker & marker = markers_.markers.emplace_back();
  marker.header.frame_id = world_frame_;
  marker.ns = name_space;
  marker.id = id;
  marker.type = type;
  marker.action = Marker::ADD;
  marker.pose.orientation.w = 1.0;
  marker.lifetime = rclcpp::Duration::from_seconds(lifetime_);
  return marker;
}

void BodyMarkers::add_skeleton()
{
  for (const auto & [a, b] : bones_)
  {
    links_.insert(links_.end(), {a, b});
  }
  std::sort(links_.begin(), links_.end());
  links_.erase(std::unique(links_.begin(), links_.end()), links_.end());
  links_.erase(std::remove(links_.begin(), links_.end(), -1), links_.end());
  bones_.erase(
    std::remove_if(
      bones_.begin(), bones_.end(),
      [](const auto & bone)
      { return bone.first < 0 || bone.second < 0 || bone.first == bone.second; }),
    bones_.end());
  if (links_.empty())
  {
    return;
  }
  Marker & lines = add_marker("skeleton", 0, Marker::LINE_LIST);
  lines.scale.x = kBoneWidth;
  set_colour(lines.color, 0.75F, 0.78F, 0.82F, 1.0F);
  Marker & balls = add_marker("links", 0, Marker::SPHERE_LIST);
  balls.scale.x = balls.scale.y = balls.scale.z = kBallWidth;
  set_colour(balls.color, 0.55F, 0.6F, 0.66F, 1.0F);
}

void BodyMarkers::add_rounds(const constrained_dynamics::ConstraintSet & constraints)
{
  for (int i = 0; i < constraints.size(); ++i)
  {
    const auto & pairs = constraints[i].wrench_bodies();
    const int frame = pairs.empty() ? -1 : frame_of(system_, pairs.front().frame_a);
    for (const DrawnPart & part : constraints[i].drawing())
    {
      const bool is_disk = part.kind == DrawnKind::kDisk;
      const bool is_ball = part.kind == DrawnKind::kSphere || part.kind == DrawnKind::kEllipsoid;
      if (frame < 0 || !(is_disk || is_ball))
      {
        continue;
      }
      Marker & marker = add_marker(
        "wheels", static_cast<int>(rounds_.size()), is_disk ? Marker::CYLINDER : Marker::SPHERE);
      const bool is_round = part.kind != DrawnKind::kEllipsoid;
      marker.scale.x = 2.0 * part.size.x();
      marker.scale.y = 2.0 * (is_round ? part.size.x() : part.size.y());
      marker.scale.z = is_disk ? kWheelWidth : 2.0 * (is_round ? part.size.x() : part.size.z());
      set_colour(marker.color, 0.45F, 0.55F, 0.7F, 0.7F);
      const Eigen::Matrix3d axes =
        is_disk ? Eigen::Quaterniond::FromTwoVectors(Eigen::Vector3d::UnitZ(), part.direction)
                    .toRotationMatrix()
                : Eigen::Matrix3d::Identity();
      rounds_.push_back({frame, markers_.markers.size() - 1, axes});
    }
  }
}

const visualization_msgs::msg::MarkerArray & BodyMarkers::write(
  const builtin_interfaces::msg::Time & stamp, const constrained_dynamics::SystemData & data)
{
  view_.header.stamp = stamp;
  if (empty())
  {
    return markers_;
  }
  FrameKinematics frame;
  const auto position = [&](int index) -> Eigen::Vector3d
  {
    system_.frame_kinematics(data, index, frame);
    return frame.position;
  };
  for (Marker & marker : markers_.markers)
  {
    marker.header.stamp = stamp;
  }
  Marker & lines = markers_.markers[0];
  Marker & balls = markers_.markers[1];
  lines.points.clear();
  balls.points.clear();
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();
  for (const int link : links_)
  {
    const Eigen::Vector3d place = position(link);
    balls.points.push_back(point(place));
    sum += place;
  }
  for (const auto & [a, b] : bones_)
  {
    lines.points.push_back(point(position(a)));
    lines.points.push_back(point(position(b)));
  }
  // A list of lines without points is refused by RViz.
  lines.action = lines.points.empty() ? Marker::DELETE : Marker::ADD;
  for (const Round & round : rounds_)
  {
    Marker & marker = markers_.markers[round.marker];
    marker.pose.position = point(position(round.frame));
    const Eigen::Quaterniond turn(frame.rotation * round.axes);
    marker.pose.orientation.x = turn.x();
    marker.pose.orientation.y = turn.y();
    marker.pose.orientation.z = turn.z();
    marker.pose.orientation.w = turn.w();
  }
  if (moves_away_)
  {
    view_.transform.translation.x = sum.x() / static_cast<double>(links_.size());
    view_.transform.translation.y = sum.y() / static_cast<double>(links_.size());
  }
  return markers_;
}

}  // namespace constrained_dynamics_ros
