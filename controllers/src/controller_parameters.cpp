// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/controller_parameters.hpp"

#include <atomic>
#include <cmath>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <constrained_dynamics/servo/sampled_gains.hpp>
#include <constrained_dynamics_ros/scenario_parameters.hpp>
#include <realtime_tools/realtime_thread_safe_box.hpp>

namespace constrained_dynamics_controllers
{

namespace
{

constexpr const char * kStiffness = "stiffness";
constexpr const char * kDampingRatio = "damping_ratio";

std::string gain_name(const std::string & task, const char * key)
{
  return "servo." + task + "." + key;
}

bool ends_with(const std::string & text, const std::string & end)
{
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool is_live(const std::string & name)
{
  return name.rfind("servo.", 0) == 0 && (ends_with(name, std::string(".") + kStiffness) ||
                                          ends_with(name, std::string(".") + kDampingRatio));
}

std::optional<double> as_number(const rclcpp::Parameter & parameter)
{
  switch (parameter.get_type())
  {
    case rclcpp::ParameterType::PARAMETER_DOUBLE:
      return parameter.as_double();
    case rclcpp::ParameterType::PARAMETER_INTEGER:
      return static_cast<double>(parameter.as_int());
    default:
      return std::nullopt;
  }
}

rcl_interfaces::msg::ParameterDescriptor describe(const std::string & what, bool read_only)
{
  rcl_interfaces::msg::ParameterDescriptor descriptor;
  descriptor.description = what;
  descriptor.read_only = read_only;
  descriptor.dynamic_typing = true;  // whole numbers may stand for any
  return descriptor;
}

}  // namespace

void declare_scenario_parameters(rclcpp_lifecycle::LifecycleNode & node)
{
  for (const auto & [name, value] : node.get_node_parameters_interface()->get_parameter_overrides())
  {
    if (constrained_dynamics_ros::is_scenario_parameter(name) && !node.has_parameter(name))
    {
      node.declare_parameter(
        name, value, describe("Key of scenario files, see doc/scenario.md.", !is_live(name)));
    }
  }
}

constrained_dynamics::Scenario load_controller_scenario(
  rclcpp_lifecycle::LifecycleNode & node, const model_parameters::Params & model,
  const std::string & robot_description, bool with_servo)
{
  constrained_dynamics_ros::ScenarioSource source;
  source.file = model.scenario;
  source.profile = model.profile;
  source.robot_description = robot_description;
  source.without_controls = !with_servo;
  for (const auto & [name, value] : node.get_node_parameters_interface()->get_parameter_overrides())
  {
    if (constrained_dynamics_ros::is_scenario_parameter(name))
    {
      source.parameters[name] = node.get_parameter(name).get_parameter_value();
    }
  }
  if (!model.joints.empty() && source.parameters.count("system.actuated") == 0)
  {
    source.parameters["system.actuated"] = rclcpp::ParameterValue(model.joints);
  }
  // The state is measured; what the scenario says about it is at most a guess.
  constrained_dynamics::ScenarioLoadOptions options;
  options.assemble = false;
  return constrained_dynamics_ros::load_scenario(source, options);
}

struct LiveGains::Shared
{
  struct Gains
  {
    int task;
    double stiffness;
    double damping_ratio;
  };

  void read(rclcpp_lifecycle::LifecycleNode & node);
  /// What is wrong with new values of parameters; empty: nothing.
  std::string check(const std::vector<rclcpp::Parameter> & parameters);
  std::string check(const Gains & gains, double period) const;

  std::shared_ptr<const constrained_dynamics::ServoLaw> law;
  double sample_period = 0.0;      // [s]
  std::vector<std::string> names;  // of the tasks with gains
  realtime_tools::RealtimeThreadSafeBox<std::vector<Gains>> box;
  std::atomic<std::uint64_t> version{0};
};

std::string LiveGains::Shared::check(const Gains & gains, double period) const
{
  const auto task = static_cast<std::size_t>(gains.task);
  return constrained_dynamics::check_sampled_gains(
    *law->tasks()[task].constraint,
    constrained_dynamics::ErrorDynamics::from_stiffness(gains.stiffness, gains.damping_ratio),
    period);
}

std::string LiveGains::Shared::check(const std::vector<rclcpp::Parameter> & parameters)
{
  std::vector<Gains> all = box.get();
  for (const rclcpp::Parameter & parameter : parameters)
  {
    const std::string & full = parameter.get_name();
    if (!is_live(full))
    {
      continue;
    }
    const std::optional<double> value = as_number(parameter);
    if (!value || !(*value > 0.0 && std::isfinite(*value)))
    {
      return "parameter '" + full + "' is " + parameter.value_to_string() +
             "; allowed: a finite number above 0";
    }
    for (std::size_t i = 0; i < all.size(); ++i)
    {
      all[i].stiffness = full == gain_name(names[i], kStiffness) ? *value : all[i].stiffness;
      all[i].damping_ratio =
        full == gain_name(names[i], kDampingRatio) ? *value : all[i].damping_ratio;
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i)
  {
    const std::string what = check(all[i], sample_period);
    if (!what.empty())
    {
      return "parameter '" + gain_name(names[i], kStiffness) + "': " + what;
    }
  }
  return "";
}

std::string LiveGains::check(double sample_period) const
{
  std::string all;
  for (const Shared::Gains & gains : shared_->box.get())
  {
    const std::string what = sample_period > 0.0 ? shared_->check(gains, sample_period) : "";
    all += (all.empty() || what.empty() ? "" : ", ") + what;
  }
  return all;
}

LiveGains::LiveGains(
  const rclcpp_lifecycle::LifecycleNode::SharedPtr & node,
  std::shared_ptr<const constrained_dynamics::ServoLaw> law, double sample_period)
: shared_(std::make_shared<Shared>())
{
  shared_->law = std::move(law);
  shared_->sample_period = sample_period;
  std::vector<Shared::Gains> all;
  for (std::size_t i = 0; i < shared_->law->tasks().size(); ++i)
  {
    const constrained_dynamics::ServoTask & task = shared_->law->tasks()[i];
    const auto gains = task.error_dynamics.stiffness_and_damping_ratio();
    if (!task.constraint->force_rows().empty() || !gains)
    {
      continue;
    }
    const std::string & name = task.constraint->name();
    const auto & [stiffness, ratio] = *gains;
    const auto declare = [&](const char * key, double value, const char * what)
    {
      const std::string full = gain_name(name, key);
      if (!node->has_parameter(full))
      {
        node->declare_parameter(full, rclcpp::ParameterValue(value), describe(what, false));
      }
    };
    declare(kStiffness, stiffness, "Stiffness of the error [1/s^2], above 0.");
    declare(kDampingRatio, ratio, "Damping ratio of the error, above 0; 1: critical.");
    shared_->names.push_back(name);
    all.push_back({static_cast<int>(i), stiffness, ratio});
  }
  shared_->box.set(all);
  on_set_ = node->add_on_set_parameters_callback(
    [shared = shared_](const std::vector<rclcpp::Parameter> & parameters)
    {
      rcl_interfaces::msg::SetParametersResult result;
      result.reason = shared->check(parameters);
      result.successful = result.reason.empty();
      return result;
    });
  const rclcpp_lifecycle::LifecycleNode::WeakPtr weak = node;
  after_set_ = node->add_post_set_parameters_callback(
    [weak, shared = shared_](const std::vector<rclcpp::Parameter> &)
    {
      if (const auto alive = weak.lock())
      {
        shared->read(*alive);
      }
    });
  shared_->read(*node);  // what was set before wins over the scenario
}

void LiveGains::Shared::read(rclcpp_lifecycle::LifecycleNode & node)
{
  box.set(
    [&](std::vector<Gains> & all)
    {
      for (std::size_t i = 0; i < all.size(); ++i)
      {
        const auto take = [&](const char * key, double & value)
        { value = as_number(node.get_parameter(gain_name(names[i], key))).value_or(value); };
        take(kStiffness, all[i].stiffness);
        take(kDampingRatio, all[i].damping_ratio);
      }
    });
  version.fetch_add(1, std::memory_order_release);
}

void LiveGains::apply(constrained_dynamics::ServoWorkspace & workspace) noexcept
{
  const std::uint64_t version = shared_->version.load(std::memory_order_acquire);
  if (version == applied_)
  {
    return;
  }
  // One pointer fits into a std::function without an allocation.
  const auto take = [&workspace](const std::vector<Shared::Gains> & all)
  {
    for (const Shared::Gains & gains : all)
    {
      workspace.error_dynamics(gains.task).set_stiffness(gains.stiffness, gains.damping_ratio);
    }
  };
  if (shared_->box.try_get(take))
  {
    applied_ = version;
  }
}

}  // namespace constrained_dynamics_controllers
