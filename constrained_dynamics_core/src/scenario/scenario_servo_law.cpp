// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/scenario_servo_law.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "constants.hpp"
#include "constrained_dynamics/servo/servo_description.hpp"
#include "scenario/scenario_contacts.hpp"
#include "scenario/scenario_keys.hpp"
#include "scenario/scenario_servo.hpp"

namespace constrained_dynamics
{

namespace
{

ErrorDynamics read_error_dynamics(const ScenarioReader & reader)
{
  const std::vector<std::string> gains = {"velocity_gain", "position_gain", "first_order_gain"};
  const bool has_gains = std::any_of(
    gains.begin(), gains.end(), [&](const std::string & key) { return reader.has(key); });
  const auto stiffness = reader.find("stiffness");
  if (has_gains && (stiffness || reader.has("damping_ratio")))
  {
    reader.fail_here(
      "allowed: either stiffness and damping_ratio, or velocity_gain, position_gain and "
      "first_order_gain");
  }
  if (!has_gains)
  {
    return ErrorDynamics::from_stiffness(
      stiffness ? stiffness->positive() : 100.0, reader.positive_or("damping_ratio", 1.0));
  }
  ErrorDynamics result;
  const auto gain = [&](const std::string & key, const Gain & fallback)
  { return reader.has(key) ? read_gain(reader.at(key)) : fallback; };
  return ErrorDynamics::from_gains(
    gain(gains[0], result.velocity), gain(gains[1], result.position),
    gain(gains[2], result.first_order));
}

/// One number for all inputs, or a map from inputs to numbers; ∞ for those without.
Eigen::VectorXd read_bounds(const ScenarioReader & reader, const System & system, double sign)
{
  const std::vector<std::string> & names = system.input_names();
  Eigen::VectorXd bounds =
    Eigen::VectorXd::Constant(system.input_count(), sign * std::numeric_limits<double>::infinity());
  if (!reader.node().is_map())
  {
    bounds.setConstant(reader.number());
    return bounds;
  }
  reader.allow_keys(names);
  for (const auto & [name, value] : reader.entries())
  {
    bounds(system.input_index(name)) = value.number();
  }
  return bounds;
}

/// The effort limits of the robot descriptions, by input; none for controls that are states.
Eigen::VectorXd model_efforts(const RigidBodySystem & robot, const System & system)
{
  const std::vector<std::string> & inputs = system.input_names();
  Eigen::VectorXd efforts =
    Eigen::VectorXd::Constant(system.input_count(), std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < robot.limits().size(); ++i)
  {
    const std::string & name = robot.coordinate_names()[i];
    const auto input = std::find(inputs.begin(), inputs.end(), name);
    if (input != inputs.end() && robot.limits()[i].effort > 0.0)
    {
      efforts(input - inputs.begin()) = robot.limits()[i].effort;
    }
  }
  return efforts;
}

/// Whether the value is one of the words `model` and `none`; `model` is allowed only for robots.
bool is_word(const ScenarioReader & reader, const RigidBodySystem * robot, std::string & word)
{
  if (!reader.node().is_scalar() || (reader.node().text != "model" && reader.node().text != "none"))
  {
    return false;
  }
  word = reader.node().text;
  if (word == "model" && !robot)
  {
    reader.fail("allowed only for robots");
  }
  return true;
}

/// One number per coordinate: `fallback` if the map does not name it.
Eigen::VectorXd read_coordinates(
  const ScenarioReader & reader, const System & system, const Eigen::VectorXd & fallback)
{
  Eigen::VectorXd values = fallback;
  if (!reader.node().is_map())
  {
    values.setConstant(reader.positive());
    return values;
  }
  reader.allow_keys(system.coordinate_names());
  for (const auto & [name, value] : reader.entries())
  {
    values(system.coordinate_index(name)) = value.positive();
  }
  return values;
}

/// Position and velocity limits of the description, unless the file says otherwise.
MotionLimits read_motion_limits(
  const ScenarioReader & reader, const System & system, const RigidBodySystem * robot)
{
  const Eigen::Index count = system.coordinate_count();
  const Eigen::VectorXd none = Eigen::VectorXd::Constant(count, kInfinity);
  const auto stated = [&](const auto & get)
  {
    Eigen::VectorXd values = none;
    for (Eigen::Index i = 0; robot != nullptr && i < count; ++i)
    {
      const auto index = static_cast<std::size_t>(i);
      values(i) = index < robot->limits().size() ? get(robot->limits()[index]) : kInfinity;
    }
    return values;
  };
  MotionLimits limits;
  std::string word;
  if (const auto position = reader.find("position"))
  {
    limits.lower = -none;
    limits.upper = none;
    if (is_word(*position, robot, word))
    {
      limits.lower.resize(word == "model" ? 0 : count);
      limits.upper.resize(limits.lower.size());
      limits.lower.setConstant(-kInfinity);
      limits.upper.setConstant(kInfinity);
    }
    else
    {
      position->allow_keys(system.coordinate_names());
      for (const auto & [name, value] : position->entries())
      {
        const std::vector<ScenarioReader> range = value.items();
        if (range.size() != 2 || !(range[0].number() < range[1].number()))
        {
          value.fail("allowed: a list of two numbers, lower < upper");
        }
        limits.lower(system.coordinate_index(name)) = range[0].number();
        limits.upper(system.coordinate_index(name)) = range[1].number();
      }
    }
  }
  if (const auto velocity = reader.find("velocity"))
  {
    if (is_word(*velocity, robot, word))
    {
      limits.velocity = word == "model" ? Eigen::VectorXd() : none;
    }
    else
    {
      limits.velocity = read_coordinates(*velocity, system, none);
    }
  }
  if (const auto deceleration = reader.find("deceleration"))
  {
    Eigen::VectorXd usual = limits.velocity.size() > 0
                              ? limits.velocity
                              : stated([&](const RigidBodySystem::Limits & l)
                                       { return l.velocity > 0.0 ? l.velocity : kInfinity; });
    usual = (usual.array() < kInfinity)
              .select(usual / MotionLimits::kStopTime, MotionLimits::kDeceleration);
    limits.deceleration = read_coordinates(*deceleration, system, usual);
  }
  return limits;
}

InputLimits read_limits(
  const ScenarioReader & reader, const System & system, const RigidBodySystem * robot)
{
  reader.allow_keys({"lower", "upper", "effort", "rate", "position", "velocity", "deceleration"});
  InputLimits limits;
  if (const auto effort = reader.find("effort"))
  {
    if (reader.has("lower") || reader.has("upper"))
    {
      effort->fail("allowed: either effort, or lower and upper");
    }
    if (effort->node().is_scalar() && effort->node().text == "model")
    {
      if (!robot)
      {
        effort->fail("allowed only for robots");
      }
      limits.upper = model_efforts(*robot, system);
    }
    else
    {
      limits.upper = read_bounds(*effort, system, 1.0);
    }
    limits.lower = -limits.upper;
  }
  if (const auto lower = reader.find("lower"))
  {
    limits.lower = read_bounds(*lower, system, -1.0);
  }
  if (const auto upper = reader.find("upper"))
  {
    limits.upper = read_bounds(*upper, system, 1.0);
  }
  if (const auto rate = reader.find("rate"))
  {
    limits.rate = read_bounds(*rate, system, 1.0);
  }
  return limits;
}

FrictionCone read_cone(const ScenarioReader & reader)
{
  reader.allow_keys({"constraint", "normal", "tangents", "coefficient", "least_push", "side"});
  FrictionCone cone;
  cone.constraint = reader.at("constraint").name();
  cone.normal = reader.at("normal").name();
  if (const auto tangents = reader.find("tangents"))
  {
    cone.tangents = tangents->names();
  }
  cone.coefficient = reader.number_or("coefficient", cone.coefficient);
  cone.least_push = reader.number_or("least_push", cone.least_push);
  cone.side = reader.number_or("side", cone.side);
  return cone;
}

std::shared_ptr<const NullSpaceTerm> read_null_space(
  const ScenarioReader & reader, const System & system)
{
  std::vector<std::string> kinds;
  for (const NullSpaceDescription & description : null_space_descriptions())
  {
    kinds.push_back(description.kind);
  }
  const NullSpaceDescription & description =
    null_space_description(reader.at("kind").choice(kinds));
  reader.allow_keys(key_names(description.keys, {"kind"}));
  const KeyValues values = read_keys(reader, description.keys, system);
  return make_at(reader, [&] { return description.make({system, values}); });
}

ServoOptions read_options(
  const ScenarioReader & reader, const System & system, const RigidBodySystem * robot)
{
  reader.allow_keys(
    {"metric", "singular_tolerance", "consistency_tolerance", "null_space", "limits", "cones",
     "period"});
  ServoOptions options;
  if (const auto metric = reader.find("metric"))
  {
    options.metric = metric->choice({"moore_penrose", "ideal"}) == "ideal"
                       ? ServoMetric::kIdeal
                       : ServoMetric::kMoorePenrose;
  }
  options.singular_tolerance = reader.positive_or("singular_tolerance", options.singular_tolerance);
  options.consistency_tolerance =
    reader.positive_or("consistency_tolerance", options.consistency_tolerance);
  options.period = reader.number_or("period", 0.0);
  if (const auto terms = reader.find("null_space"))
  {
    for (const ScenarioReader & term : terms->items())
    {
      options.null_space.push_back(read_null_space(term, system));
    }
  }
  if (const auto limits = reader.find("limits"))
  {
    options.limits = read_limits(*limits, system, robot);
    options.motion_limits = read_motion_limits(*limits, system, robot);
  }
  if (const auto cones = reader.find("cones"))
  {
    for (const ScenarioReader & cone : cones->items())
    {
      options.cones.push_back(read_cone(cone));
    }
  }
  return options;
}

ServoTask read_servo_task(const ScenarioReader & item, const ConstraintSet & constraints)
{
  ServoTask task;
  task.constraint = read_servo_constraint(item, constraints);
  task.error_dynamics = read_error_dynamics(item);
  const double priority = item.number_or("priority", 0.0);
  if (priority != static_cast<double>(static_cast<int>(priority)))
  {
    item.at("priority").fail("allowed: a whole number");
  }
  task.priority = static_cast<int>(priority);
  task.weight = item.number_or("weight", 1.0);
  if (!(task.weight >= ServoTask::kLeastWeight && task.weight <= ServoTask::kLargestWeight))
  {
    item.at("weight").fail("allowed: 1e-6 to 1e6");
  }
  return task;
}

}  // namespace

std::optional<ScenarioServo> read_servo(
  const ScenarioReader & root, const std::shared_ptr<const Dynamics> & dynamics,
  const RigidBodySystem * robot, bool adaptive, const std::vector<int> & stops)
{
  const auto list = root.find("servo");
  const auto section = root.find("servo_law");
  if (!list)
  {
    if (section)
    {
      section->fail_here("allowed only with servo");
    }
    return std::nullopt;
  }
  if (const auto inputs = root.find("inputs"))
  {
    inputs->fail_here("not allowed with servo, because the servo law computes the inputs");
  }
  // Errors that the classes throw get the place in the file.
  const auto at = [](const ScenarioReader & reader, const auto & build)
  {
    try
    {
      return build();
    }
    catch (const ScenarioError &)
    {
      throw;
    }
    catch (const std::exception & error)
    {
      reader.fail_here(error.what());
    }
  };
  ScenarioServo servo;
  std::vector<ServoTask> tasks;
  for (const ScenarioReader & item : list->items())
  {
    at(
      item,
      [&]
      {
        tasks.push_back(read_servo_task(item, dynamics->constraints()));
        servo.drive.references.push_back(read_reference(item, *tasks.back().constraint));
        servo.drive.smooth_start.push_back(read_smooth_start(item));
      });
  }
  ServoOptions options;
  if (section)
  {
    options = at(*section, [&] { return read_options(*section, dynamics->system(), robot); });
  }
  if (options.period > 0.0 && adaptive)
  {
    section->at("period").fail("allowed only with fixed-step integrators (run.integrator)");
  }
  servo.drive.period = options.period;
  servo.drive.unknown = stops;
  at(
    section ? *section : *list,
    [&]
    {
      servo.law = std::make_shared<const ServoLaw>(dynamics, std::move(tasks), std::move(options));
      (void)ServoInputLaw(servo.law, servo.drive);  // throws if the law cannot be used
    });
  return servo;
}

}  // namespace constrained_dynamics
