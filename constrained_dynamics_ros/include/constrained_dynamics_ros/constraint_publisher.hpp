// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <constrained_dynamics/dynamics/dynamics.hpp>
#include <constrained_dynamics_msgs/msg/constraint_forces.hpp>
#include <geometry_msgs/msg/wrench_stamped.hpp>
#include <rclcpp/time.hpp>
#include <visualization_msgs/msg/marker_array.hpp>

#include "constrained_dynamics_ros/markers.hpp"
#include "constrained_dynamics_ros/topic_writer.hpp"

namespace constrained_dynamics_ros
{

/// How a node makes its publishers: in real time, with a lifecycle or plainly.
class TopicMaker
{
public:
  virtual ~TopicMaker() = default;
  /// A publisher of a topic. @param message as large as any that will be sent.
  virtual Send<constrained_dynamics_msgs::msg::ConstraintForces> make(
    const std::string & topic,
    const constrained_dynamics_msgs::msg::ConstraintForces & message) = 0;
  virtual Send<geometry_msgs::msg::WrenchStamped> make(
    const std::string & topic, const geometry_msgs::msg::WrenchStamped & message) = 0;
  virtual Send<visualization_msgs::msg::MarkerArray> make(
    const std::string & topic, const visualization_msgs::msg::MarkerArray & message) = 0;
};

/// A TopicMaker of one generic function (topic, message) → Send.
template <typename Make>
class GenericTopicMaker final : public TopicMaker
{
public:
  explicit GenericTopicMaker(Make make) : make_(std::move(make)) {}
  Send<constrained_dynamics_msgs::msg::ConstraintForces> make(
    const std::string & topic,
    const constrained_dynamics_msgs::msg::ConstraintForces & message) override
  {
    return make_(topic, message);
  }
  Send<geometry_msgs::msg::WrenchStamped> make(
    const std::string & topic, const geometry_msgs::msg::WrenchStamped & message) override
  {
    return make_(topic, message);
  }
  Send<visualization_msgs::msg::MarkerArray> make(
    const std::string & topic, const visualization_msgs::msg::MarkerArray & message) override
  {
    return make_(topic, message);
  }

private:
  Make make_;
};

/// Everything that is published about the constraints of a robot, by controllers and nodes alike:
/// ~/constraint_forces, ~/wrench/<constraint>, ~/markers.
class ConstraintPublisher
{
public:
  struct Options
  {
    double publish_rate = 100.0;  ///< [Hz]; 0: every cycle
    double marker_rate = 30.0;    ///< [Hz]; 0: no markers
    bool wrench_topics = false;
    MarkerStyle style;  ///< world_frame is that of all messages
  };

  /// @throw std::invalid_argument for a style out of range.
  ConstraintPublisher(
    std::shared_ptr<const constrained_dynamics::Dynamics> dynamics, const Options & options,
    TopicMaker & topics);

  /// Sends what is due. Without output of the solve (see has_output) the forces are those of the
  /// last one, and wrenches and markers are left out. Real-time safe: yes, where the publishers
  /// are.
  /// @param period since the last call [s].
  void write(
    const rclcpp::Time & stamp, double period, constrained_dynamics::Status status,
    const constrained_dynamics::Workspace & workspace) noexcept;

  const constrained_dynamics::Dynamics & dynamics() const { return *dynamics_; }
  /// The last message.
  const constrained_dynamics_msgs::msg::ConstraintForces & forces() const
  {
    return forces_->message();
  }
  /// Messages that could not be sent.
  std::uint64_t lost_count() const;

private:
  using Forces = TopicWriter<constrained_dynamics_msgs::msg::ConstraintForces>;
  using Wrench = TopicWriter<geometry_msgs::msg::WrenchStamped>;
  using Markers = TopicWriter<visualization_msgs::msg::MarkerArray>;

  std::shared_ptr<const constrained_dynamics::Dynamics> dynamics_;
  std::uint64_t sequence_ = 0;
  std::unique_ptr<Forces> forces_;
  std::vector<std::pair<int, std::unique_ptr<Wrench>>> wrenches_;  // with their constraint
  std::unique_ptr<Markers> markers_;                               // null: none
  constrained_dynamics::ForceDrawing drawing_;                     // what they show
};

}  // namespace constrained_dynamics_ros
