// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/constraint_outputs.hpp"

#include <utility>

#include "constrained_dynamics_controllers/realtime_topics.hpp"

namespace constrained_dynamics_controllers
{

using constrained_dynamics::Constraint;
using constrained_dynamics::Workspace;
using hardware_interface::StateInterface;

StateInterface::SharedPtr make_state_interface(const std::string & prefix, const std::string & name)
{
  hardware_interface::InterfaceInfo info;
  info.name = name;
  info.data_type = "double";
  info.initial_value = "0.0";
  return std::make_shared<StateInterface>(hardware_interface::InterfaceDescription(prefix, info));
}

ConstraintOutputs::ConstraintOutputs(
  const rclcpp_lifecycle::LifecycleNode::SharedPtr & node,
  std::shared_ptr<const constrained_dynamics::Dynamics> dynamics, const OutputOptions & options)
: dynamics_(std::move(dynamics)),
  requests_(static_cast<std::size_t>(dynamics_->constraints().size()))
{
  for (std::atomic<int> & request : requests_)
  {
    request = kNone;
  }
  constrained_dynamics_ros::GenericTopicMaker topics(
    [&node](const std::string & topic, const auto & message)
    { return make_realtime_publisher(*node, topic, message); });
  publisher_ =
    std::make_unique<constrained_dynamics_ros::ConstraintPublisher>(dynamics_, options, topics);
}

std::shared_ptr<ConstraintOutputs> ConstraintOutputs::create(
  const rclcpp_lifecycle::LifecycleNode::SharedPtr & node,
  std::shared_ptr<const constrained_dynamics::Dynamics> dynamics, const OutputOptions & options)
{
  const std::shared_ptr<ConstraintOutputs> outputs(
    new ConstraintOutputs(node, std::move(dynamics), options));
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
      for (const char * name : kWrenchParts)
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
  if (has_output(status))
  {
    write_state_interfaces(workspace);
  }
  publisher_->write(time, period, status, workspace);
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

}  // namespace constrained_dynamics_controllers
