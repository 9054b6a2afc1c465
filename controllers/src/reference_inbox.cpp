// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/reference_inbox.hpp"

#include <cmath>
#include <utility>

#include <constrained_dynamics_ros/servo_messages.hpp>

namespace constrained_dynamics_controllers
{

using constrained_dynamics::ServoReference;
using constrained_dynamics_msgs::msg::ServoReferences;

ReferenceInbox::ReferenceInbox(
  std::shared_ptr<const constrained_dynamics::ServoLaw> law, std::string world_frame,
  double timeout, bool with_bounds)
: law_(std::move(law)), world_frame_(std::move(world_frame)), timeout_(timeout)
{
  Content content;
  for (const constrained_dynamics::ServoTask & task : law_->tasks())
  {
    content.tasks.push_back({0, task.constraint->make_reference(), false, false});
    if (with_bounds)
    {
      bounds_.emplace_back(*task.constraint);
    }
    next_.push_back(content.tasks.back().reference);
  }
  const auto inputs = static_cast<std::size_t>(law_->passive().system().input_count());
  content.null_counts.assign(inputs, 0);
  content.null_space.setZero(static_cast<Eigen::Index>(inputs));
  box_.set(content);
  seen_tasks_.assign(content.tasks.size(), 0);
  seen_null_.assign(inputs, 0);
}

std::string ReferenceInbox::check_stamp(
  const builtin_interfaces::msg::Time & stamp, const rclcpp::Time & now) const
{
  if ((stamp.sec == 0 && stamp.nanosec == 0) || timeout_ <= 0.0)
  {
    return "";
  }
  const double age = 1e-9 * static_cast<double>(now.nanoseconds()) -
                     (static_cast<double>(stamp.sec) + 1e-9 * stamp.nanosec);
  return std::abs(age) <= timeout_
           ? ""
           : "the stamp is " + std::to_string(age) + " s old; allowed: at most " +
               std::to_string(timeout_) + " s before or after now (reference_timeout), or 0";
}

std::string ReferenceInbox::put(const ServoReferences & message, const rclcpp::Time & now)
{
  std::vector<constrained_dynamics_ros::ReadReference> references;
  std::string what =
    constrained_dynamics_ros::read_references(message, *law_, bounds_, world_frame_, references);
  if (what.empty())
  {
    what = check_stamp(message.header.stamp, now);
  }
  if (!what.empty())
  {
    return what;
  }
  box_.set(
    [&](Content & content)
    {
      for (const constrained_dynamics_ros::ReadReference & read : references)
      {
        Task & task = content.tasks[static_cast<std::size_t>(read.task)];
        task.reference = read.reference;
        task.has_position = read.has_position;
        task.resumes = read.resumes;
        ++task.count;
      }
      for (std::size_t i = 0; i < message.null_space.size(); ++i)
      {
        const int input = law_->passive().system().input_index(message.null_space_names[i]);
        content.null_space(input) = message.null_space[i];
        ++content.null_counts[static_cast<std::size_t>(input)];
      }
      ++content.count;
    });
  return "";
}

void ReferenceInbox::take(
  const Content & content, constrained_dynamics::ServoRuntime * runtime) noexcept
{
  if (content.count == seen_)
  {
    return;
  }
  seen_ = content.count;
  for (std::size_t i = 0; i < content.tasks.size(); ++i)
  {
    const Task & task = content.tasks[i];
    if (task.count == seen_tasks_[i])
    {
      continue;
    }
    seen_tasks_[i] = task.count;
    const int index = static_cast<int>(i);
    if (runtime && task.resumes)
    {
      runtime->resume_trajectory(index);
    }
    else if (runtime)
    {
      ServoReference & next = next_[i];
      next.position =
        task.has_position ? task.reference.position : runtime->servo().reference(index).position;
      next.velocity = task.reference.velocity;
      next.acceleration = task.reference.acceleration;
      // What the runtime refuses, because of forces that are too large here, it counts.
      (void)runtime->give_reference(index, next, true);
    }
  }
  for (std::size_t i = 0; i < content.null_counts.size(); ++i)
  {
    if (content.null_counts[i] != seen_null_[i])
    {
      seen_null_[i] = content.null_counts[i];
      if (runtime)
      {
        const int input = static_cast<int>(i);
        runtime->give_null_space(input, content.null_space(input), true);
      }
    }
  }
}

void ReferenceInbox::clear() noexcept
{
  (void)box_.try_get([this](const Content & content) { take(content, nullptr); });
}

void ReferenceInbox::give(constrained_dynamics::ServoRuntime & runtime) noexcept
{
  if (!runtime.is_started())
  {
    return;  // they wait in the box
  }
  const auto take_all = [this, &runtime](const Content & content) { take(content, &runtime); };
  (void)box_.try_get(take_all);
}

}  // namespace constrained_dynamics_controllers
