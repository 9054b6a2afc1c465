// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/constraint_outputs.hpp"

#include <chrono>
#include <utility>

#include <constrained_dynamics_ros/force_messages.hpp>

namespace constrained_dynamics_controllers
{

using constrained_dynamics::Constraint;
using constrained_dynamics::Workspace;
using hardware_interface::StateInterface;

namespace
{

StateInterface::SharedPtr make_state_interface(const std::string & prefix, const std::string & name)
{
  hardware_interface::InterfaceInfo info;
  info.name = name;
  info.data_type = "double";
  info.initial_value = "0.0";
  return std::make_shared<StateInterface>(hardware_interface::InterfaceDescription(prefix, info));
}

}  // namespace

ConstraintOutputs::ConstraintOutputs(
  const rclcpp_lifecycle::LifecycleNode::SharedPtr & node,
  std::shared_ptr<const constrained_dynamics::Dynamics> dynamics, const OutputOptions & options,
  Diagnose diagnose)
: node_(node),
  dynamics_(std::move(dynamics)),
  options_(options),
  diagnose_(std::move(diagnose)),
  forces_(
    *node, "~/constraint_forces",
    constrained_dynamics_ros::make_force_message(*dynamics_, options.style.world_frame),
    options.publish_rate),
  requests_(static_cast<std::size_t>(dynamics_->constraints().size()))
{
  for (int i = 0; i < dynamics_->constraints().size(); ++i)
  {
    requests_[static_cast<std::size_t>(i)] = kNone;
    const Constraint & constraint = dynamics_->constraints()[i];
    if (options.wrench_topics && !constraint.wrench_bodies().empty())
    {
      wrenches_.push_back(
        {i,
         std::make_unique<CyclicPublisher<geometry_msgs::msg::WrenchStamped>>(
           *node, "~/wrench/" + constraint.name(),
           constrained_dynamics_ros::make_wrench_message(*dynamics_, i, options.style.world_frame),
           options.publish_rate)});
    }
  }
  if (options.marker_rate > 0.0)
  {
    markers_ = std::make_unique<CyclicPublisher<visualization_msgs::msg::MarkerArray>>(
      *node, "~/markers", constrained_dynamics_ros::make_markers(*dynamics_, options.style),
      options.marker_rate);
  }
}

std::shared_ptr<ConstraintOutputs> ConstraintOutputs::create(
  const rclcpp_lifecycle::LifecycleNode::SharedPtr & node,
  std::shared_ptr<const constrained_dynamics::Dynamics> dynamics, const OutputOptions & options,
  Diagnose diagnose)
{
  const std::shared_ptr<ConstraintOutputs> outputs(
    new ConstraintOutputs(node, std::move(dynamics), options, std::move(diagnose)));
  outputs->listen(*node);
  return outputs;
}

void ConstraintOutputs::listen(rclcpp_lifecycle::LifecycleNode & node)
{
  const std::weak_ptr<ConstraintOutputs> weak = weak_from_this();
  service_ = node.create_service<SetActive>(
    "~/set_constraint_active",
    [weak](
      const std::shared_ptr<SetActive::Request> request,
      std::shared_ptr<SetActive::Response> response)
    {
      if (const auto self = weak.lock())
      {
        self->set_active(*request, *response);
      }
    });
  diagnostics_ = node.create_publisher<diagnostic_msgs::msg::DiagnosticArray>(
    "/diagnostics", rclcpp::SystemDefaultsQoS());
  timer_ = node.create_wall_timer(
    std::chrono::seconds(1),
    [weak]
    {
      if (const auto self = weak.lock())
      {
        self->publish_diagnostics();
      }
    });
}

std::vector<StateInterface::SharedPtr> ConstraintOutputs::make_state_interfaces(
  const std::string & controller)
{
  interfaces_.clear();
  for (int i = 0; i < dynamics_->constraints().size(); ++i)
  {
    const Constraint & constraint = dynamics_->constraints()[i];
    const std::string prefix = controller + "/" + constraint.name();
    if (!constraint.wrench_bodies().empty())
    {
      for (const char * name :
           {"force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z"})
      {
        interfaces_.push_back(make_state_interface(prefix, name));
      }
    }
    for (const constrained_dynamics::RowDescription & row : constraint.rows())
    {
      interfaces_.push_back(make_state_interface(prefix, "multiplier." + row.label));
    }
  }
  return interfaces_;
}

void ConstraintOutputs::write(
  const rclcpp::Time & time, double period, constrained_dynamics::Status status,
  const Workspace & workspace) noexcept
{
  const bool solved = has_output(status);
  sequence_ += solved ? 1 : 0;
  if (solved)
  {
    write_state_interfaces(workspace);
  }
  if (forces_.is_due(period))
  {
    constrained_dynamics_ros::write_forces(
      time, sequence_, status, *dynamics_, workspace, forces_.message());
    forces_.publish();
  }
  for (WrenchTopic & topic : wrenches_)
  {
    if (topic.publisher->is_due(period) && solved)
    {
      constrained_dynamics_ros::write_wrench(
        time, *dynamics_, workspace, topic.constraint, topic.publisher->message());
      topic.publisher->publish();
    }
  }
  if (markers_ && markers_->is_due(period) && solved)
  {
    constrained_dynamics_ros::write_markers(
      time, *dynamics_, workspace, options_.style, markers_->message());
    markers_->publish();
  }
}

void ConstraintOutputs::write_state_interfaces(const Workspace & workspace) noexcept
{
  if (interfaces_.empty())
  {
    return;
  }
  const constrained_dynamics::Solution & solution = workspace.solution();
  std::size_t next = 0;
  const auto put = [&](double value) { (void)interfaces_[next++]->set_value(value); };
  for (int i = 0; i < dynamics_->constraints().size(); ++i)
  {
    const Constraint & constraint = dynamics_->constraints()[i];
    if (!constraint.wrench_bodies().empty())
    {
      const auto pair = static_cast<std::size_t>(dynamics_->constraints().wrench_offset(i));
      const constrained_dynamics::Wrench & wrench = solution.wrenches[pair].on_a;
      for (const Eigen::Vector3d * vector : {&wrench.force, &wrench.torque})
      {
        put(vector->x());
        put(vector->y());
        put(vector->z());
      }
    }
    const int offset = dynamics_->constraints().row_offset(i);
    for (int k = 0; k < constraint.row_count(); ++k)
    {
      put(solution.multipliers(offset + k));
    }
  }
}

void ConstraintOutputs::set_active(
  const SetActive::Request & request, SetActive::Response & response)
{
  std::string names;
  for (int i = 0; i < dynamics_->constraints().size(); ++i)
  {
    const std::string & name = dynamics_->constraints()[i].name();
    if (name == request.name)
    {
      requests_[static_cast<std::size_t>(i)].store(
        request.active ? kOn : kOff, std::memory_order_release);
      response.success = true;
      response.message =
        "'" + name + "' is switched " + (request.active ? "on" : "off") + " with the next cycle";
      return;
    }
    names += (names.empty() ? "" : ", ") + name;
  }
  response.success = false;
  response.message = "there is no constraint '" + request.name +
                     "'; allowed: " + (names.empty() ? "none, there are no constraints" : names);
}

std::uint64_t ConstraintOutputs::lost_count() const
{
  std::uint64_t lost = forces_.lost_count() + (markers_ ? markers_->lost_count() : 0);
  for (const WrenchTopic & topic : wrenches_)
  {
    lost += topic.publisher->lost_count();
  }
  return lost;
}

void ConstraintOutputs::publish_diagnostics()
{
  const auto node = node_.lock();
  if (!node)
  {
    return;
  }
  diagnostic_msgs::msg::DiagnosticArray message;
  message.header.stamp = node->now();
  diagnostic_msgs::msg::DiagnosticStatus & status = message.status.emplace_back();
  status.name = std::string(node->get_fully_qualified_name()) + ": constrained dynamics";
  status.hardware_id = node->get_name();
  diagnose_(status);
  diagnostic_msgs::msg::KeyValue & lost = status.values.emplace_back();
  lost.key = "messages lost";
  lost.value = std::to_string(lost_count());
  diagnostics_->publish(message);
}

}  // namespace constrained_dynamics_controllers
