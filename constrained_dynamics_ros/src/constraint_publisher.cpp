// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_ros/constraint_publisher.hpp"

#include "constrained_dynamics_ros/force_messages.hpp"

namespace constrained_dynamics_ros
{

namespace
{

template <typename Message>
std::unique_ptr<TopicWriter<Message>> make_writer(
  TopicMaker & topics, const std::string & topic, Message message, double rate)
{
  Send<Message> send = topics.make(topic, message);
  return std::make_unique<TopicWriter<Message>>(std::move(message), std::move(send), rate);
}

}  // namespace

ConstraintPublisher::ConstraintPublisher(
  std::shared_ptr<const constrained_dynamics::Dynamics> dynamics, const Options & options,
  TopicMaker & topics)
: dynamics_(std::move(dynamics)), drawing_(*dynamics_, options.style)
{
  const std::string & world = options.style.world_frame;
  const constrained_dynamics::ConstraintSet & constraints = dynamics_->constraints();
  forces_ = make_writer(
    topics, "~/constraint_forces", make_force_message(*dynamics_, world), options.publish_rate);
  for (int i = 0; options.wrench_topics && i < constraints.size(); ++i)
  {
    if (!constraints[i].wrench_bodies().empty())
    {
      wrenches_.emplace_back(
        i, make_writer(
             topics, "~/wrench/" + constraints[i].name(), make_wrench_message(*dynamics_, i, world),
             options.publish_rate));
    }
  }
  if (options.marker_rate > 0.0)
  {
    markers_ = make_writer(
      topics, "~/markers", make_markers(*dynamics_, options.style), options.marker_rate);
  }
}

void ConstraintPublisher::write(
  const rclcpp::Time & stamp, double period, constrained_dynamics::Status status,
  const constrained_dynamics::Workspace & workspace) noexcept
{
  const bool solved = has_output(status);
  sequence_ += solved ? 1 : 0;
  if (forces_->is_due(period))
  {
    write_forces(stamp, sequence_, status, *dynamics_, workspace, forces_->message());
    forces_->send();
  }
  for (auto & [constraint, topic] : wrenches_)
  {
    if (topic->is_due(period) && solved)
    {
      write_wrench(stamp, *dynamics_, workspace, constraint, topic->message());
      topic->send();
    }
  }
  if (markers_ && markers_->is_due(period) && solved)
  {
    drawing_.update(workspace);
    write_markers(stamp, drawing_, markers_->message());
    markers_->send();
  }
}

std::uint64_t ConstraintPublisher::lost_count() const
{
  std::uint64_t lost = forces_->lost_count() + (markers_ ? markers_->lost_count() : 0);
  for (const auto & [constraint, topic] : wrenches_)
  {
    lost += topic->lost_count();
  }
  return lost;
}

}  // namespace constrained_dynamics_ros
