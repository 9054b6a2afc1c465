// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/setup_check.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "constrained_dynamics/scenario/profile_file.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/scenario/scenario_merge.hpp"
#include "model/xml_reader.hpp"
#include "names.hpp"
#include "scenario/scenario_tree.hpp"
#include "scenario/setup_parts.hpp"
#include "text_file.hpp"

namespace constrained_dynamics
{

namespace
{

const char * const kServo = "ServoConstraintController";
const char * const kForces = "ConstraintForceBroadcaster";

/// The robot profile of a controller; without one, the names of interfaces that are usual.
RobotProfile profile_of(
  const SetupFiles & files, const ConfiguredController & controller, const std::string & thing,
  SetupReport & report)
{
  const std::vector<std::string> named = texts_of(controller.parameters, "profile");
  RobotProfile profile;
  profile.command_adds.emplace();
  profile.effort_contains.emplace();
  try
  {
    return named.empty() || named.front().empty()
             ? profile
             : load_robot_profile(files.resolve(named.front()));
  }
  catch (const std::exception & error)
  {
    report.error(thing + ": profile", error.what());
  }
  return profile;
}

/// Checks that the joints named by a controller exist and have the interfaces it needs.
void check_joints(
  const ConfiguredController & controller, const std::string & thing, const DescribedJoints & robot,
  const RobotProfile & profile, SetupReport & report)
{
  const bool commands = controller.kind == kServo;
  const std::vector<std::string> effort = texts_of(controller.parameters, "effort");
  const bool reads_effort = commands
                              ? contains(texts_of(controller.parameters, "measured_effort"), "true")
                              : effort.empty() || effort.front() == "measured";
  try
  {
    if (commands)
    {
      profile.require_command_terms();
    }
    if (reads_effort)
    {
      profile.require_effort_contents();
    }
  }
  catch (const std::invalid_argument & error)
  {
    report.error(thing + ": profile", error.what());
  }
  std::map<std::string, std::vector<std::string>> missing;  // interface → joints
  for (const char * key : {"joints", "passive_joints"})
  {
    const bool is_driven = std::string(key) == "joints";
    for (const std::string & joint : texts_of(controller.parameters, key))
    {
      if (!contains(robot.movable, joint))
      {
        // A passive joint may also be a base or one of its coordinates; the system checks those.
        if (is_driven)
        {
          report.error(
            thing + ": joints: " + joint,
            "is no joint of the robot that moves; allowed: " + join_names(robot.movable));
        }
        continue;
      }
      const auto found = robot.interfaces.find(joint);
      const DescribedJoints::Interfaces given =
        found != robot.interfaces.end() ? found->second : DescribedJoints::Interfaces();
      const auto need = [&](const char * element, const auto & there, const std::string & name)
      {
        if (there.count(name) == 0)
        {
          missing["<" + std::string(element) + " name=\"" + name + "\"/>"].push_back(joint);
        }
      };
      need("state_interface", given.states, profile.position_interface);
      need("state_interface", given.states, profile.velocity_interface);
      if (is_driven && commands)
      {
        need("command_interface", given.commands, profile.command_interface);
      }
      if (is_driven && reads_effort)
      {
        need("state_interface", given.states, profile.effort_interface);
      }
    }
  }
  for (const auto & [element, joints] : missing)
  {
    if (robot.has_tag)
    {
      report.error(
        thing + ": joints: " + join_names(joints),
        "the <ros2_control> tag has no " + element + " of them, which the controller asks for");
    }
  }
}

/// The scenario of a controller: file, parameters and description, merged as the controller does.
std::string scenario_text(
  const SetupFiles & files, const ConfiguredController & controller, std::string & folder)
{
  const std::vector<std::string> named = texts_of(controller.parameters, "scenario");
  const std::string file =
    !files.scenario.empty() ? files.scenario : (named.empty() ? "" : named.front());
  TextTree root = TextTree::map();
  if (!file.empty())
  {
    const std::filesystem::path path = files.resolve(file);
    root = read_yaml(read_text_file(path.string(), kMaxScenarioSize), path.string());
    folder = path.has_parent_path() ? path.parent_path().string() : ".";
  }
  TextTree changes = TextTree::map();
  for (std::size_t i = 0; i < controller.parameters.keys.size(); ++i)
  {
    if (contains(scenario_sections(), controller.parameters.keys[i]))
    {
      changes.at(controller.parameters.keys[i]) = controller.parameters.children[i];
    }
  }
  if (!names_robot(changes))
  {
    use_robot_description(files.description, root);
  }
  const TextTree * joints = controller.parameters.find("joints");
  if (joints != nullptr && joints->is_list() && !joints->children.empty())
  {
    TextTree & system = changes.at("system");
    if (system.is_null())
    {
      system = TextTree::map();
    }
    if (system.find("actuated") == nullptr)
    {
      system.at("actuated") = *joints;
    }
  }
  merge_scenario(changes, root);
  const std::vector<std::string> profile = texts_of(controller.parameters, "profile");
  if (!profile.empty() && !profile.front().empty())
  {
    use_robot_profile(files.resolve(profile.front()), root);
  }
  if (controller.kind != kServo)
  {
    remove_controls(root);
  }
  return write_yaml(root);
}

/// Removes "scenario:<line>: …": the line is one of a generated text, which the user does not see.
std::string without_line(const std::string & message)
{
  const std::string begin = "scenario:";
  if (message.compare(0, begin.size(), begin) != 0)
  {
    return message;
  }
  const std::size_t end = message.find_first_not_of("0123456789: ", begin.size());
  return end == std::string::npos ? message : message.substr(end);
}

/// Checks the efforts that the law needs at the initial state, and the motions it leaves open.
void check_law(
  const Scenario & scenario, const DescribedJoints & robot, const std::string & thing,
  SetupReport & report)
{
  const std::shared_ptr<const ServoLaw> law = scenario.servo_law();
  const State & state = scenario.initial();
  ServoWorkspace workspace(*law, state);
  const Status status = law->evaluate(state.time, state.q, state.u, workspace);
  if (!has_output(status))
  {
    report.warning(
      thing + ": servo",
      std::string("the law has no torques at the initial state: ") + to_string(status));
    return;
  }
  const ServoResult & result = workspace.result();
  int force_rows = 0;
  for (const ServoTask & task : law->tasks())
  {
    force_rows += static_cast<int>(task.constraint->force_rows().size());
  }
  // Force tasks use directions without moving anything.
  const int open =
    workspace.dynamics().rank_report().degrees_of_freedom - std::max(0, result.rank - force_rows);
  if (open > 0)
  {
    report.warning(
      thing + ": servo",
      "the tasks leave " + std::to_string(open) +
        " motions open, which are not controlled and sag under gravity; a 'joint' task of all "
        "joints with a later priority holds them");
  }
  // Tasks of later priorities are meant to be relaxed.
  std::vector<std::string> relaxed;
  for (const int task : law->levels().front())
  {
    if (result.relaxed[static_cast<std::size_t>(task)])
    {
      relaxed.push_back(law->tasks()[static_cast<std::size_t>(task)].constraint->name());
    }
  }
  if (!relaxed.empty())
  {
    report.warning(
      thing + ": servo", "at the initial state the law is " + std::string(to_string(status)) +
                           "; tasks of the first priority that give way: " + join_names(relaxed));
  }
  const std::vector<std::string> & names = scenario.system().input_names();
  for (std::size_t i = 0; i < names.size(); ++i)
  {
    const double needed = result.inputs(static_cast<Eigen::Index>(i));
    const auto limit = robot.effort_limits.find(names[i]);
    if (limit != robot.effort_limits.end() && !(std::abs(needed) <= limit->second))
    {
      report.warning(
        thing + ": servo", "joint " + names[i] + " needs " + show(needed) +
                             " at the initial state; its limit in the description is " +
                             show(limit->second));
    }
  }
}

/// Joints without sensors.
void check_unmeasured(
  const Scenario & scenario, const ConfiguredController & controller, const std::string & thing,
  SetupReport & report)
{
  std::vector<std::string> measured = scenario.system().input_names();
  const std::vector<std::string> passive = texts_of(controller.parameters, "passive_joints");
  measured.insert(measured.end(), passive.begin(), passive.end());
  std::vector<std::string> rest;
  for (int i = 0; i < scenario.system().coordinate_count(); ++i)
  {
    const std::string & name = scenario.system().coordinate_names()[static_cast<std::size_t>(i)];
    if (scenario.system().has_joint(i) && !contains(measured, name))
    {
      rest.push_back(name);
    }
  }
  if (!rest.empty())
  {
    report.note(
      thing, "joints without sensors, whose state the constraints have to determine: " +
               join_names(rest) + "; those with sensors belong into 'passive_joints'");
  }
}

void check_scenario(
  const SetupFiles & files, const ConfiguredController & controller, const DescribedJoints & robot,
  const std::string & thing, SetupReport & report)
{
  std::string folder = ".";
  std::string text;
  const auto load = [&](bool assemble)
  {
    ScenarioLoadOptions options;
    options.assemble = assemble;
    return Scenario::from_text(text, {}, folder, options);
  };
  try
  {
    text = scenario_text(files, controller, folder);
    const Scenario scenario = load(false);
    const bool has_law = scenario.servo_law() != nullptr;
    if (controller.kind == kServo && !has_law)
    {
      report.error(thing, "the scenario has no 'servo' tasks, so that there is nothing to command");
    }
    if (controller.kind == kForces && scenario.dynamics()->constraints().size() == 0)
    {
      report.error(thing, "the scenario has no 'constraints', so that there is no force to report");
    }
    for (const std::string & warning : scenario.warnings())
    {
      report.note(thing + ": robot_description", warning);
    }
    check_unmeasured(scenario, controller, thing, report);
  }
  catch (const std::exception & error)
  {
    report.error(thing, without_line(error.what()));
    return;
  }
  try
  {
    const Scenario scenario = load(true);
    if (controller.kind == kServo && scenario.servo_law() != nullptr)
    {
      check_law(scenario, robot, thing, report);
    }
  }
  catch (const std::exception & error)
  {
    report.warning(
      thing + ": initial",
      without_line(error.what()) +
        " (a simulated robot starts there; a real one must hold the constraints when the "
        "controller is activated)");
  }
}

}  // namespace

const char * to_string(SetupFinding::Severity severity) noexcept
{
  switch (severity)
  {
    case SetupFinding::Severity::kError:
      return "error";
    case SetupFinding::Severity::kWarning:
      return "warning";
    case SetupFinding::Severity::kNote:
      break;
  }
  return "note";
}

std::vector<SetupFinding> check_setup(const SetupFiles & files)
{
  SetupReport report;
  const DescribedJoints robot = read_described_joints(files.description, report);
  for (const ConfiguredController & controller : read_configured_controllers(files, report))
  {
    const std::string thing = files.parameters_name + ": " + controller.name;
    const RobotProfile profile = profile_of(files, controller, thing, report);
    check_joints(controller, thing, robot, profile, report);
    check_scenario(files, controller, robot, thing, report);
  }
  return report.take();
}

}  // namespace constrained_dynamics
