// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/scenario_system.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "constrained_dynamics/model/force_element.hpp"
#include "constrained_dynamics/scenario/profile_file.hpp"
#include "scenario/scenario_keys.hpp"
#include "scenario/scenario_system_parts.hpp"

namespace constrained_dynamics
{

namespace
{

const std::vector<std::string> kSceneKeys = {
  "parameters", "definitions", "robots",         "bodies",         "attachments",    "frames",
  "gravity",    "springs",     "dampers",        "armature",       "model_damping",  "actuated",
  "external",   "friction",    "model_friction", "control_states", "force_elements", "profile"};

void read_bodies(const ScenarioReader & reader, SceneDescription & scene)
{
  if (const auto bodies = reader.find("bodies"))
  {
    for (const ScenarioReader & item : bodies->items())
    {
      item.allow_keys({"name", "mass", "inertia", "com", "base", "pose"});
      FreeBody body;
      body.name = item.at("name").name();
      body.mass = item.at("mass").positive();
      body.inertia = read_inertia(item.at("inertia"));
      body.com = item.vector_or("com", body.com);
      body.base = read_base(item, Base::kFloating);
      if (body.base == Base::kFixed)
      {
        item.at("base").fail("allowed: floating, planar");
      }
      body.pose = read_pose_or_zero(item);
      scene.bodies.push_back(body);
    }
  }
  if (const auto attachments = reader.find("attachments"))
  {
    for (const ScenarioReader & item : attachments->items())
    {
      item.allow_keys({"name", "parent", "pose", "mass", "com", "inertia"});
      Attachment attachment;
      attachment.name = item.at("name").name();
      attachment.parent = item.at("parent").name();
      attachment.pose = read_pose_or_zero(item);
      attachment.mass = item.has("mass") ? item.at("mass").nonnegative() : 0.0;
      attachment.com = item.vector_or("com", attachment.com);
      if (const auto inertia = item.find("inertia"))
      {
        attachment.inertia = read_inertia(*inertia);
      }
      scene.attachments.push_back(attachment);
    }
  }
  if (const auto frames = reader.find("frames"))
  {
    for (const ScenarioReader & item : frames->items())
    {
      item.allow_keys({"name", "parent", "pose"});
      FrameDescription frame;
      frame.name = item.at("name").name();
      frame.parent = item.has("parent") ? item.at("parent").name() : frame.parent;
      frame.pose = read_pose_or_zero(item);
      scene.frames.push_back(frame);
    }
  }
}

std::map<std::string, double> read_joint_numbers(
  const ScenarioReader & reader, const std::string & key)
{
  std::map<std::string, double> result;
  if (const auto map = reader.find(key))
  {
    for (const auto & [joint, value] : map->entries())
    {
      result[joint] = value.nonnegative();
    }
  }
  return result;
}

void read_joint_forces(const ScenarioReader & reader, SceneDescription & scene)
{
  if (const auto springs = reader.find("springs"))
  {
    for (const auto & [joint, value] : springs->entries())
    {
      JointSpring spring;
      spring.joint = joint;
      if (value.node().is_map())
      {
        value.allow_keys({"stiffness", "rest"});
        spring.stiffness = value.at("stiffness").nonnegative();
        spring.rest = value.number_or("rest", 0.0);
      }
      else
      {
        spring.stiffness = value.nonnegative();
      }
      scene.springs.push_back(spring);
    }
  }
  scene.dampers = read_joint_numbers(reader, "dampers");
  scene.armature = read_joint_numbers(reader, "armature");
  scene.use_model_damping = reader.boolean_or("model_damping", true);
  if (const auto actuated = reader.find("actuated"))
  {
    if (actuated->node().is_list())
    {
      scene.actuated = actuated->names();
    }
    else if (
      !actuated->node().is_scalar() ||
      (actuated->node().text != "all" && actuated->node().text != "none"))
    {
      actuated->fail("allowed: a list of joints or speeds, all, none");
    }
    else if (actuated->node().text == "none")
    {
      scene.actuated = std::vector<std::string>();
    }
  }
}

std::vector<ScenarioWrench> read_wrenches(const ScenarioReader & reader, SceneDescription & scene)
{
  std::vector<ScenarioWrench> result;
  const auto external = reader.find("external");
  if (!external)
  {
    return result;
  }
  for (const ScenarioReader & item : external->items())
  {
    item.allow_keys({"name", "frame", "expressed_in", "force", "torque"});
    ExternalWrench wrench;
    wrench.name = item.at("name").name();
    wrench.frame = item.at("frame").name();
    wrench.expressed_in_frame =
      item.has("expressed_in") && item.at("expressed_in").choice({"world", "frame"}) == "frame";
    ScenarioWrench formulas{
      item, {"0", "0", "0", "0", "0", "0"}, wrench.frame, wrench.expressed_in_frame};
    for (const std::size_t part : {std::size_t{0}, std::size_t{1}})
    {
      if (const auto vector = item.find(part == 0 ? "force" : "torque"))
      {
        if (!vector->node().is_list() || vector->node().children.size() != 3)
        {
          vector->fail("allowed: a list of 3 formulas");
        }
        for (std::size_t k = 0; k < 3; ++k)
        {
          formulas.formulas[3 * part + k] = vector->items()[k].formula();
        }
      }
    }
    scene.external_wrenches.push_back(wrench);
    result.push_back(formulas);
  }
  return result;
}

void read_force_elements(const ScenarioReader & reader, SceneDescription & scene)
{
  const auto elements = reader.find("force_elements");
  if (!elements)
  {
    return;
  }
  std::vector<std::string> types;
  for (const ForceElementDescription & description : force_element_descriptions())
  {
    types.push_back(description.type);
  }
  for (const ScenarioReader & item : elements->items())
  {
    const ForceElementDescription & description =
      force_element_description(item.at("type").choice(types));
    item.allow_keys(key_names(description.keys, {"name", "type"}));
    const std::string name = item.at("name").name();
    const KeyValues keys = read_keys(item, description.keys);
    scene.force_elements.push_back(make_at(
      item,
      [&] {
        return description.make({name, keys, item.scope().names.parameters});
      }));
  }
}

/// Adds what the file of the key `profile` states about gravity, rotors and payloads.
std::optional<RobotProfile> apply_profile(const ScenarioReader & reader, SceneDescription & scene)
{
  const auto key = reader.find("profile");
  if (!key)
  {
    return std::nullopt;
  }
  const RobotProfile profile = load_robot_profile(resolve_file(*key));
  if (profile.gravity && reader.has("gravity"))
  {
    reader.at("gravity").fail_here(
      "the profile '" + profile.name + "' states gravity as well; allowed: one of them");
  }
  profile.apply(scene);
  return profile;
}

ScenarioSystem build_scene(const ScenarioReader & reader)
{
  std::vector<std::string> keys = kSceneKeys;
  keys.insert(keys.end(), robot_keys().begin(), robot_keys().end());
  reader.allow_keys(keys);
  SceneDescription scene;
  std::vector<ClosedLoops> loops;
  read_robots(reader, scene, loops);
  read_bodies(reader, scene);
  if (scene.robots.empty() && scene.bodies.empty())
  {
    reader.fail_here(
      "nothing moves; allowed: 'coordinates' and 'kinetic' (a textbook system), or a robot by "
      "'urdf', 'mjcf', 'sdf', 'robots', or 'bodies'");
  }
  scene.gravity = reader.vector_or("gravity", scene.gravity);
  read_joint_forces(reader, scene);
  std::optional<RobotProfile> profile = apply_profile(reader, scene);
  if (!scene.actuated && !loops.empty() && loops.size() == scene.robots.size())
  {
    scene.actuated.emplace();
    for (const ClosedLoops & of_robot : loops)
    {
      scene.actuated->insert(scene.actuated->end(), of_robot.motors.begin(), of_robot.motors.end());
    }
  }
  read_force_elements(reader, scene);
  ScenarioSystem result;
  result.profile = std::move(profile);
  result.wrenches = read_wrenches(reader, scene);
  try
  {
    const auto system = std::make_shared<const RigidBodySystem>(scene);
    result.robot = system.get();
    result.system = system;
    result.file_constraints = system->file_constraints();
  }
  catch (const std::exception & error)
  {
    reader.fail_here(error.what());
  }
  for (const ClosedLoops & of_robot : loops)
  {
    result.file_constraints.insert(
      result.file_constraints.end(), of_robot.constraints.begin(), of_robot.constraints.end());
  }
  wrap_control_states(reader, read_control_states(reader), result);
  return result;
}

}  // namespace

Eigen::Matrix3d read_inertia(const ScenarioReader & reader)
{
  if (reader.node().is_list())
  {
    return reader.vector().asDiagonal();
  }
  if (!reader.node().is_map())
  {
    reader.fail("allowed: [ixx, iyy, izz] or {ixx, iyy, izz, ixy, ixz, iyz}");
  }
  reader.allow_keys({"ixx", "iyy", "izz", "ixy", "ixz", "iyz"});
  const double xy = reader.number_or("ixy", 0.0);
  const double xz = reader.number_or("ixz", 0.0);
  const double yz = reader.number_or("iyz", 0.0);
  Eigen::Matrix3d inertia;
  inertia << reader.at("ixx").number(), xy, xz, xy, reader.at("iyy").number(), yz, xz, yz,
    reader.at("izz").number();
  return inertia;
}

ScenarioSystem build_system(
  const ScenarioReader & reader, const std::optional<ScenarioReader> & initial)
{
  std::vector<std::string> all = textbook_keys();
  all.insert(all.end(), kSceneKeys.begin(), kSceneKeys.end());
  all.insert(all.end(), robot_keys().begin(), robot_keys().end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  reader.allow_keys(all);
  const bool is_textbook = reader.has("coordinates") || reader.has("kinetic");
  return is_textbook ? build_textbook(reader, initial) : build_scene(reader);
}

}  // namespace constrained_dynamics
