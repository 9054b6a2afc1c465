// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/constraint_controller.hpp"

#include <cmath>
#include <exception>
#include <sstream>
#include <stdexcept>

#include <constrained_dynamics/scenario/scenario_merge.hpp>
#include <constrained_dynamics/scenario/suggestion.hpp>
#include <constrained_dynamics_ros/scenario_parameters.hpp>

#include "constrained_dynamics_controllers/controller_parameters.hpp"
#include "constrained_dynamics_controllers/realtime_topics.hpp"

namespace constrained_dynamics_controllers
{

using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;

CallbackReturn ConstraintController::guarded(
  const std::function<void()> & step, CallbackReturn failure)
{
  try
  {
    step();
  }
  catch (const std::exception & error)
  {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
    return failure;
  }
  return CallbackReturn::SUCCESS;
}

// ---- lifecycle ---------------------------------------------------------------------------------

CallbackReturn ConstraintController::on_init()
{
  return guarded(
    [this]
    {
      model_listener_ = std::make_shared<model_parameters::ParamListener>(get_node());
      declare_parameters();
      declare_scenario_parameters(*get_node());
      updater_ = std::make_unique<diagnostic_updater::Updater>(get_node(), 1.0);
      updater_->setHardwareID(get_node()->get_name());
      updater_->add(
        "constrained dynamics",
        [this](diagnostic_updater::DiagnosticStatusWrapper & status)
        {
          const std::lock_guard<std::mutex> lock(callback_mutex_);
          if (!outputs_ || !torques_)
          {
            status.summary(diagnostic_msgs::msg::DiagnosticStatus::OK, "not configured");
            return;
          }
          diagnose(status);
          add_value(status, "messages lost", outputs_->lost_count() + torques_->lost_count());
        });
    },
    CallbackReturn::ERROR);
}

CallbackReturn ConstraintController::on_configure(const rclcpp_lifecycle::State &)
{
  reset();
  const CallbackReturn result = guarded([this] { build(); }, CallbackReturn::FAILURE);
  if (result != CallbackReturn::SUCCESS)
  {
    reset();
  }
  return result;
}

void ConstraintController::build()
{
  const auto node = get_node();
  model_ = model_listener_->get_params();
  read_parameters();
  if (get_update_rate() == 0)
  {
    throw std::invalid_argument("parameter 'update_rate' is 0; allowed: above 0");
  }
  period_ = 1.0 / get_update_rate();
  scenario_ = std::make_unique<const constrained_dynamics::Scenario>(
    load_controller_scenario(*node, model_, get_robot_description(), uses_servo()));
  if (needs_constraints() && scenario_->dynamics()->constraints().size() == 0)
  {
    throw std::invalid_argument(
      "there are no constraints: parameter 'scenario' is '" + model_.scenario +
      "', and no parameter begins with 'constraints.'; allowed: a scenario file that has "
      "constraints, or parameters constraints.<name>.<key>");
  }
  for (const std::string & warning : scenario_->warnings())
  {
    RCLCPP_WARN(node->get_logger(), "%s", warning.c_str());
  }
  check_profile();
  const constrained_dynamics::System & system = scenario_->system();
  mapping_ = std::make_unique<StateMapping>(
    system, measured_joints(system, model_), measures_effort(),
    constrained_dynamics::channel_names(profile()));
  effort_.setZero(system.input_count());
  outputs_ = ConstraintOutputs::create(node, scenario_->dynamics(), output_options(model_));
  torques_ = make_realtime_writer(
    *node, "~/torques", make_joint_message(system, joint_of_input_), model_.publish_rate);
  set_up();
  check_parameter_names();
}

void ConstraintController::check_profile() const
{
  if (profile() && measures_effort())
  {
    profile()->require_effort_contents();
  }
  // A hundredth covers rates that are no whole numbers.
  const double rate = profile() ? profile()->rate : 0.0;
  if (rate > 0.0 && std::abs(rate * period_ - 1.0) > 0.01)
  {
    RCLCPP_WARN(
      get_node()->get_logger(), "profile '%s' is for cycles at %g Hz; here they are at %g Hz",
      profile()->name.c_str(), rate, 1.0 / period_);
  }
}

void ConstraintController::check_parameter_names()
{
  const auto node = get_node();
  std::vector<std::string> known = node->list_parameters({}, 0).names;
  const std::vector<std::string> & sections = constrained_dynamics::scenario_sections();
  for (const auto & [name, value] :
       node->get_node_parameters_interface()->get_parameter_overrides())
  {
    if (node->has_parameter(name) || name.rfind("qos_overrides.", 0) == 0)
    {
      continue;
    }
    const std::string section = name.substr(0, name.find('.'));
    const std::string meant =
      section == name ? "" : constrained_dynamics::nearest_name(section, sections);
    const std::string nearest = meant.empty() ? constrained_dynamics::nearest_name(name, known)
                                              : meant + name.substr(section.size());
    if (!nearest.empty())
    {
      throw std::invalid_argument(
        "parameter '" + name + "' is unknown; did you mean '" + nearest + "'?");
    }
    // It may come from a wildcard section that speaks to other nodes.
    RCLCPP_WARN(node->get_logger(), "parameter '%s' is unknown, and without effect", name.c_str());
  }
}

void ConstraintController::tell_violation(
  const constrained_dynamics::ConstraintViolation & violation, bool refuses) const
{
  if (!violation.is_beyond())
  {
    return;
  }
  std::ostringstream message;
  message << "the measured state violates constraint "
          << describe(violation, scenario_->dynamics()->constraints()) << "; allowed: at most "
          << model_.position_tolerance << " (position_tolerance) and " << model_.velocity_tolerance
          << " (velocity_tolerance). Is the constraint where the robot meets it?";
  if (refuses)
  {
    throw std::invalid_argument(message.str() + " (violated_start: warn activates nevertheless)");
  }
  RCLCPP_WARN(get_node()->get_logger(), "%s", message.str().c_str());
}

CallbackReturn ConstraintController::on_activate(const rclcpp_lifecycle::State &)
{
  const CallbackReturn result = guarded([this] { begin(); }, CallbackReturn::FAILURE);
  active_ = result == CallbackReturn::SUCCESS;
  return result;
}

void ConstraintController::begin()
{
  mapping_->bind(state_interfaces_);
  const std::string bad = mapping_->first_not_finite(state_interfaces_);
  if (!bad.empty())
  {
    throw std::invalid_argument(
      "state interface '" + bad + "' has no finite value; allowed: finite numbers");
  }
  constrained_dynamics::State state = scenario_->initial();
  read_state(state.q, state.u);
  start(state);
}

CallbackReturn ConstraintController::on_deactivate(const rclcpp_lifecycle::State &)
{
  active_ = false;
  stop();
  return CallbackReturn::SUCCESS;
}

CallbackReturn ConstraintController::on_cleanup(const rclcpp_lifecycle::State &)
{
  reset();
  return CallbackReturn::SUCCESS;
}

CallbackReturn ConstraintController::on_error(const rclcpp_lifecycle::State &)
{
  reset();
  return CallbackReturn::SUCCESS;
}

void ConstraintController::reset()
{
  active_ = false;
  const std::lock_guard<std::mutex> lock(callback_mutex_);
  release();
  torques_.reset();
  outputs_.reset();
  mapping_.reset();
  scenario_.reset();
}

// ---- interfaces and outputs --------------------------------------------------------------------

InterfaceConfiguration ConstraintController::state_interface_configuration() const
{
  InterfaceConfiguration configuration;
  configuration.type = controller_interface::interface_configuration_type::INDIVIDUAL;
  if (mapping_)
  {
    configuration.names = mapping_->interface_names();
    const std::vector<std::string> more = more_state_interfaces();
    configuration.names.insert(configuration.names.end(), more.begin(), more.end());
  }
  return configuration;
}

std::vector<hardware_interface::StateInterface::SharedPtr>
ConstraintController::on_export_state_interfaces_list()
{
  auto all = outputs_->make_state_interfaces(get_node()->get_name());
  const auto more = make_state_interfaces();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

void ConstraintController::publish(
  const rclcpp::Time & time, constrained_dynamics::Status status,
  const constrained_dynamics::Workspace & workspace, const Eigen::VectorXd & q,
  const Eigen::VectorXd & u, const Eigen::VectorXd & torques, bool always) noexcept
{
  outputs_->write(time, period_, status, workspace);
  if (torques_->is_due(period_) && (always || has_output(status)))
  {
    write_joint_message(time, joint_of_input_, q, u, torques, torques_->message());
    torques_->send();
  }
}

}  // namespace constrained_dynamics_controllers
