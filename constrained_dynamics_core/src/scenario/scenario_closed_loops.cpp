// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The file of the key `closed_loops`: loops and motors beside a robot description, as the robots of
// Gepetto/example-parallel-robots have them.

#include <map>
#include <stdexcept>

#include <tinyxml2.h>

#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "scenario/scenario_system_parts.hpp"
#include "scenario/scenario_tree.hpp"
#include "text_file.hpp"

namespace constrained_dynamics
{

namespace
{

std::string text_of_file(const ScenarioReader & key, const std::string & path)
{
  try
  {
    return read_text_file(path, kMaxScenarioSize);
  }
  catch (const std::invalid_argument & error)
  {
    key.fail(error.what());
  }
}

/// Rows of a loop by its type; without types all six, as their loader takes them.
std::vector<std::string> rows_of(const std::optional<ScenarioReader> & type)
{
  const bool point = type && type->choice({"3d", "3D", "6d", "6D"})[0] == '3';
  return point ? std::vector<std::string>{"x", "y", "z"} : FrameCoincidence::all_rows();
}

/// The child links of the joints of a URDF. The files name frames by fixed joints, as Pinocchio
/// does.
std::map<std::string, std::string> child_links(const RobotDescription & robot)
{
  std::map<std::string, std::string> links;
  tinyxml2::XMLDocument document;
  document.Parse(robot.text.data(), robot.text.size());
  const tinyxml2::XMLElement * root = document.RootElement();
  const tinyxml2::XMLElement * joint = root ? root->FirstChildElement("joint") : nullptr;
  for (; joint != nullptr; joint = joint->NextSiblingElement("joint"))
  {
    const tinyxml2::XMLElement * child = joint->FirstChildElement("child");
    const char * name = joint->Attribute("name");
    const char * link = child ? child->Attribute("link") : nullptr;
    if (name != nullptr && link != nullptr)
    {
      links[name] = link;
    }
  }
  return links;
}

void read_loops(const ScenarioReader & root, const RobotDescription & robot, ClosedLoops & out)
{
  const auto loops = root.find("closed_loop");
  const auto types = root.find("type");
  const std::vector<ScenarioReader> pairs = loops ? loops->items() : std::vector<ScenarioReader>();
  const std::vector<ScenarioReader> kinds = types ? types->items() : std::vector<ScenarioReader>();
  if (types && kinds.size() != pairs.size())
  {
    types->fail_here(
      "it has " + std::to_string(kinds.size()) + " items for " + std::to_string(pairs.size()) +
      " loops; allowed: one for each");
  }
  const std::map<std::string, std::string> links = child_links(robot);
  for (std::size_t i = 0; i < pairs.size(); ++i)
  {
    std::vector<std::string> frames = pairs[i].names();
    if (frames.size() != 2)
    {
      pairs[i].fail("allowed: the names of two frames");
    }
    for (std::string & frame : frames)
    {
      const auto joint = links.find(frame);
      frame = joint == links.end() ? frame : joint->second;
    }
    FileConstraint loop;
    loop.name = robot.prefix + "loop" + std::to_string(i + 1);
    loop.type = "frame_coincidence";
    loop.keys = {
      {"frame_a", robot.prefix + frames[0]},
      {"frame_b", robot.prefix + frames[1]},
      {"rows", rows_of(types ? std::optional<ScenarioReader>(kinds[i]) : std::nullopt)}};
    loop.source = root.scope().source + ": " + pairs[i].path();
    out.constraints.push_back(std::move(loop));
  }
}

/// Joints whose kind the file changes: only to fixed.
void lock_fixed_joints(const ScenarioReader & root, RobotDescription & robot)
{
  const auto names = root.find("joint_name");
  const auto types = root.find("joint_type");
  if (!names && !types)
  {
    return;
  }
  const std::vector<std::string> joints = root.at("joint_name").names();
  const std::vector<ScenarioReader> kinds = root.at("joint_type").items();
  if (joints.size() != kinds.size())
  {
    types->fail_here("allowed: as many items as joint_name");
  }
  for (std::size_t i = 0; i < joints.size(); ++i)
  {
    if (kinds[i].name() != "FIXED")
    {
      kinds[i].fail(
        "joint '" + joints[i] +
        "' would become another kind of joint, which is not supported; allowed: FIXED");
    }
    robot.locked.emplace(joints[i], 0.0);
  }
}

}  // namespace

ClosedLoops read_closed_loops(
  const ScenarioReader & key, const std::string & path, RobotDescription & robot)
{
  if (!robot.use_file_constraints)
  {
    key.fail_here("not allowed beside 'file_constraints: ignore'");
  }
  ScenarioScope scope;
  scope.source = path;
  const ScenarioNode document = parse_document(text_of_file(key, path), path);
  const ScenarioReader root(document, "", scope);
  root.allow_keys({"closed_loop", "type", "name_mot", "joint_name", "joint_type"});
  ClosedLoops result;
  read_loops(root, robot, result);
  lock_fixed_joints(root, robot);
  if (const auto motors = root.find("name_mot"))
  {
    result.motors = motors->names();
    for (std::string & motor : result.motors)
    {
      motor = robot.prefix + motor;
    }
  }
  return result;
}

}  // namespace constrained_dynamics
