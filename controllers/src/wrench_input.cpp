// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/wrench_input.hpp"

#include <limits>
#include <stdexcept>

#include <constrained_dynamics_ros/estimate_messages.hpp>
#include <constrained_dynamics_ros/force_messages.hpp>

#include "constrained_dynamics_controllers/realtime_topics.hpp"

namespace constrained_dynamics_controllers
{

using constrained_dynamics::Status;

namespace
{

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

geometry_msgs::msg::WrenchStamped make_message(const std::string & frame)
{
  geometry_msgs::msg::WrenchStamped message;
  message.header.frame_id = frame;
  return message;
}

}  // namespace

WrenchInput::WrenchInput(
  rclcpp_lifecycle::LifecycleNode & node, const constrained_dynamics::System & system,
  const Options & options)
: sensor_(options.name),
  compensation_(system, options.tool),
  tare_cycles_(options.tare_cycles),
  reading_(Eigen::VectorXd::Constant(6, kNothing)),
  wrench_(reading_),
  sum_(Eigen::VectorXd::Zero(6)),
  message_(make_realtime_writer(
    node, "~/sensor_wrench", make_message(options.tool.frame), options.publish_rate))
{
}

std::shared_ptr<WrenchInput> WrenchInput::create(
  rclcpp_lifecycle::LifecycleNode & node, const constrained_dynamics::System & system,
  const Options & options)
{
  const std::shared_ptr<WrenchInput> input(new WrenchInput(node, system, options));
  input->listen(node);
  return input;
}

void WrenchInput::listen(rclcpp_lifecycle::LifecycleNode & node)
{
  const std::weak_ptr<WrenchInput> weak = weak_from_this();
  service_ = node.create_service<Trigger>(
    "~/tare",
    [weak](
      const std::shared_ptr<Trigger::Request>, const std::shared_ptr<Trigger::Response> response)
    {
      const auto self = weak.lock();
      response->success = self != nullptr;
      response->message = self ? "the mean of the next " + std::to_string(self->tare_cycles_) +
                                   " readings becomes the offset; nothing may touch the tool"
                               : "the controller is not configured";
      if (self)
      {
        self->tare_ = Tare::kAsked;
      }
    });
}

void WrenchInput::bind(std::vector<hardware_interface::LoanedStateInterface> & interfaces)
{
  sensor_.release_interfaces();
  if (!sensor_.assign_loaned_state_interfaces(interfaces))
  {
    std::string names;
    for (const std::string & name : sensor_.get_state_interface_names())
    {
      names += (names.empty() ? "" : ", ") + name;
    }
    throw std::invalid_argument("one of the state interfaces " + names + " was not assigned");
  }
}

void WrenchInput::read() noexcept
{
  try
  {
    geometry_msgs::msg::Wrench wrench;
    (void)sensor_.get_values_as_message(wrench);
    reading_ << wrench.force.x, wrench.force.y, wrench.force.z, wrench.torque.x, wrench.torque.y,
      wrench.torque.z;
  }
  catch (...)  // interfaces that are no numbers
  {
    reading_.setConstant(kNothing);
  }
}

Status WrenchInput::update(
  const rclcpp::Time & time, double period, const constrained_dynamics::SystemData & data,
  const Eigen::VectorXd & acceleration) noexcept
{
  read();
  tare(data, acceleration);
  constrained_dynamics::WrenchVector wrench;
  const Status status = compensation_.compensate(data, acceleration, reading_, wrench);
  wrench_.setConstant(kNothing);
  if (has_output(status))
  {
    wrench_ = wrench;
  }
  if (message_->is_due(period))
  {
    message_->message().header.stamp = constrained_dynamics_ros::to_message(time);
    constrained_dynamics_ros::write_wrench_vector(wrench_, message_->message().wrench);
    message_->send();
  }
  return status;
}

void WrenchInput::tare(
  const constrained_dynamics::SystemData & data, const Eigen::VectorXd & acceleration) noexcept
{
  Tare asked = Tare::kAsked;
  if (tare_.compare_exchange_strong(asked, Tare::kRunning))
  {
    sum_.setZero();
    summed_ = 0;
  }
  if (tare_ != Tare::kRunning)
  {
    return;
  }
  sum_ += reading_;
  if (++summed_ < tare_cycles_)
  {
    return;
  }
  sum_ /= summed_;
  const Status status = compensation_.tare(data, acceleration, sum_);
  Tare running = Tare::kRunning;  // unless it was asked for once more
  (void)tare_.compare_exchange_strong(running, has_output(status) ? Tare::kDone : Tare::kFailed);
}

const char * WrenchInput::tare_state() const
{
  switch (tare_.load())
  {
    case Tare::kNever:
      return "not tared";
    case Tare::kAsked:
    case Tare::kRunning:
      return "being tared";
    case Tare::kDone:
      return "tared";
    case Tare::kFailed:
      break;
  }
  return "the sensor had no values when it was to be tared";
}

}  // namespace constrained_dynamics_controllers
