// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/scenario_system.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#ifndef CD_EXAMPLE_ROBOT_DATA
#define CD_EXAMPLE_ROBOT_DATA ""
#endif

namespace constrained_dynamics
{

namespace
{

const std::vector<std::string> kTextbookKeys = {"parameters", "definitions", "coordinates",
                                                "kinetic",    "potential",   "speeds",
                                                "force",      "inputs",      "control_states"};
const std::vector<std::string> kRobotKeys = {"name", "prefix", "urdf",   "mjcf",           "sdf",
                                             "base", "pose",   "locked", "ignore_equality"};
const std::vector<std::string> kSceneKeys = {
  "parameters", "definitions", "robots",         "bodies",        "attachments",   "frames",
  "gravity",    "springs",     "dampers",        "armature",      "model_damping", "actuated",
  "external",   "friction",    "model_friction", "control_states"};
const std::vector<std::string> kFormats = {"urdf", "mjcf", "sdf"};

std::vector<NamedFormula> read_formulas(const ScenarioReader & reader)
{
  std::vector<NamedFormula> result;
  for (const auto & [name, formula] : reader.entries())
  {
    result.push_back({name, formula.formula()});
  }
  return result;
}

/// Coordinates named in initial.q; a value that is no number is refused later.
Eigen::VectorXd read_regular_coordinates(
  const std::vector<std::string> & coordinates, const std::optional<ScenarioReader> & initial)
{
  if (!initial || !initial->node().is_map() || !initial->has("q"))
  {
    return {};
  }
  const ScenarioReader q = initial->at("q");
  Eigen::VectorXd result = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(coordinates.size()));
  for (const auto & [name, value] : q.entries())
  {
    const auto found = std::find(coordinates.begin(), coordinates.end(), name);
    if (found != coordinates.end())
    {
      result(found - coordinates.begin()) = value.number();
    }
  }
  return result;
}

ControlStates read_control_states(const ScenarioReader & reader)
{
  ControlStates states;
  if (const auto section = reader.find("control_states"))
  {
    section->allow_keys({"first", "second"});
    const auto names = [&](const char * key)
    {
      const auto list = section->find(key);
      return list ? list->names() : std::vector<std::string>();
    };
    states.first = names("first");
    states.second = names("second");
  }
  return states;
}

/// Makes controls states where the scenario asks for it.
void wrap_control_states(
  const ScenarioReader & reader, const ControlStates & states, ScenarioSystem & system)
{
  if (states.first.empty() && states.second.empty())
  {
    return;
  }
  try
  {
    system.system = std::make_shared<const ControlStateSystem>(system.system, states);
  }
  catch (const std::exception & error)
  {
    reader.at("control_states").fail_here(error.what());
  }
}

/// Refuses a textbook system at the key that the message begins with.
[[noreturn]] void fail_in_place(const ScenarioReader & reader, const std::string & message)
{
  static const std::vector<std::pair<std::string, std::string>> keys = {
    {"kinetic", "kinetic"}, {"potential", "potential"},    {"speed", "speeds"},
    {"force on", "force"},  {"coordinate", "coordinates"}, {"input", "inputs"}};
  for (const auto & [beginning, key] : keys)
  {
    if (message.compare(0, beginning.size(), beginning) == 0 && reader.has(key))
    {
      const ScenarioReader place = reader.at(key);
      const std::size_t begin = message.find('\'');
      const std::size_t end = message.find('\'', begin == std::string::npos ? begin : begin + 1);
      const bool has_name = place.node().is_map() && end != std::string::npos;
      const auto named =
        has_name ? place.find(message.substr(begin + 1, end - begin - 1)) : std::nullopt;
      (named ? *named : place).fail_here(message);
    }
  }
  reader.fail_here(message);
}

ScenarioSystem build_textbook(
  const ScenarioReader & reader, const std::optional<ScenarioReader> & initial)
{
  constexpr std::size_t kMostCoordinates = 500;
  reader.allow_keys(kTextbookKeys);
  const ScenarioScope & scope = reader.scope();
  AnalyticDescription description;
  description.coordinates = reader.at("coordinates").names();
  if (description.coordinates.empty() || description.coordinates.size() > kMostCoordinates)
  {
    reader.at("coordinates")
      .fail("allowed: 1 to " + std::to_string(kMostCoordinates) + " coordinates");
  }
  description.parameters = scope.names.parameters;
  for (const auto & definition : scope.names.definitions)
  {
    description.definitions.push_back({definition.first, definition.second});
  }
  description.kinetic = reader.at("kinetic").formula();
  if (const auto potential = reader.find("potential"))
  {
    description.potential = potential->formula();
  }
  if (const auto speeds = reader.find("speeds"))
  {
    description.speeds = read_formulas(*speeds);
  }
  if (const auto force = reader.find("force"))
  {
    description.force = read_formulas(*force);
  }
  if (const auto inputs = reader.find("inputs"))
  {
    for (const auto & [name, coefficients] : inputs->entries())
    {
      description.inputs.push_back({name, read_formulas(coefficients)});
    }
  }
  const ControlStates states = read_control_states(reader);
  add_control_coordinates(states.second, description);
  description.regular_coordinates = read_regular_coordinates(description.coordinates, initial);
  ScenarioSystem result;
  try
  {
    const auto system = make_analytic_system(description);
    result.textbook = system.get();
    result.system = system;
  }
  catch (const std::exception & error)
  {
    fail_in_place(reader, error.what());
  }
  wrap_control_states(reader, states, result);
  return result;
}

Pose read_pose(const ScenarioReader & reader)
{
  reader.allow_keys({"xyz", "rpy"});
  Pose pose;
  pose.xyz = reader.vector_or("xyz", pose.xyz);
  pose.rpy = reader.vector_or("rpy", pose.rpy);
  return pose;
}

Pose pose_or_zero(const ScenarioReader & reader)
{
  const auto pose = reader.find("pose");
  return pose ? read_pose(*pose) : Pose();
}

Base read_base(const ScenarioReader & reader, Base fallback)
{
  static const std::map<std::string, Base> bases = {
    {"fixed", Base::kFixed}, {"planar", Base::kPlanar}, {"floating", Base::kFloating}};
  const auto base = reader.find("base");
  return base ? bases.at(base->choice({"fixed", "planar", "floating"})) : fallback;
}

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

/// The file that a name in a scenario stands for.
std::string resolve_file(const ScenarioReader & reader)
{
  namespace fs = std::filesystem;
  const std::string name = reader.name();
  const std::string robot_data = "example-robot-data:";
  const std::string package = "package://";
  std::error_code error;
  if (name.compare(0, robot_data.size(), robot_data) == 0)
  {
    const char * folder = std::getenv("EXAMPLE_ROBOT_DATA");
    std::string root = folder != nullptr && *folder != '\0' ? folder : CD_EXAMPLE_ROBOT_DATA;
    if (root.empty())
    {
      reader.fail(
        "the folder of example-robot-data is not known: install it (pip install "
        "example-robot-data) and name its share/example-robot-data/robots in the environment "
        "variable EXAMPLE_ROBOT_DATA");
    }
    const fs::path path = fs::path(root) / name.substr(robot_data.size());
    if (!fs::is_regular_file(path, error))
    {
      reader.fail(
        "no file " + path.string() +
        "; the environment variable EXAMPLE_ROBOT_DATA names another folder 'robots'");
    }
    return path.string();
  }
  if (name.compare(0, package.size(), package) == 0)
  {
    const char * prefixes = std::getenv("AMENT_PREFIX_PATH");
    std::string list = prefixes != nullptr ? prefixes : "";
    for (std::size_t begin = 0; begin < list.size();)
    {
      const std::size_t end = std::min(list.find(':', begin), list.size());
      const fs::path path =
        fs::path(list.substr(begin, end - begin)) / "share" / name.substr(package.size());
      if (end > begin && fs::is_regular_file(path, error))
      {
        return path.string();
      }
      begin = end + 1;
    }
    reader.fail(
      "no such file in share/ of the prefixes in AMENT_PREFIX_PATH, which is '" + list + "'");
  }
  const fs::path path =
    fs::path(name).is_absolute() ? fs::path(name) : reader.scope().folder / name;
  if (!fs::is_regular_file(path, error))
  {
    reader.fail("no file " + path.string());
  }
  return path.string();
}

RobotDescription read_robot(const ScenarioReader & reader)
{
  static const std::map<std::string, RobotFormat> formats = {
    {"urdf", RobotFormat::kUrdf}, {"mjcf", RobotFormat::kMjcf}, {"sdf", RobotFormat::kSdf}};
  std::vector<std::string> given;
  std::copy_if(
    kFormats.begin(), kFormats.end(), std::back_inserter(given),
    [&](const std::string & key) { return reader.has(key); });
  if (given.size() != 1)
  {
    reader.fail_here("a robot needs exactly one of the keys urdf, mjcf, sdf");
  }
  const ScenarioReader document = reader.at(given[0]);
  const std::string text = document.string();
  RobotDescription robot;
  const std::size_t first = text.find_first_not_of(" \n\r\t");
  if (first != std::string::npos && text[first] == '<')
  {
    robot.text = text.substr(first);
    robot.source = document.path();
    robot.format = formats.at(given[0]);
  }
  else
  {
    const std::string path = resolve_file(document);
    try
    {
      robot = load_robot_description(path);
    }
    catch (const std::exception & error)
    {
      document.fail(error.what());
    }
    if (robot.format != formats.at(given[0]))
    {
      document.fail("the file is not " + given[0] + "; allowed: a key that fits the file");
    }
  }
  robot.base = read_base(reader, Base::kFixed);
  robot.pose = pose_or_zero(reader);
  robot.ignore_equality = reader.boolean_or("ignore_equality", false);
  if (const auto locked = reader.find("locked"))
  {
    if (locked->node().is_map())
    {
      for (const auto & [joint, value] : locked->entries())
      {
        robot.locked[joint] = value.number();
      }
    }
    else if (locked->node().is_list())
    {
      for (const std::string & joint : locked->names())
      {
        robot.locked[joint] = 0.0;
      }
    }
    else
    {
      locked->fail("allowed: a list of joints, or a map joint: value");
    }
  }
  return robot;
}

void read_robots(const ScenarioReader & reader, SceneDescription & scene)
{
  const bool has_one = std::any_of(
    kRobotKeys.begin(), kRobotKeys.end(), [&](const std::string & key) { return reader.has(key); });
  if (has_one && reader.has("robots"))
  {
    reader.at("robots").fail_here("allowed: one robot directly below 'system', or 'robots'");
  }
  if (has_one)
  {
    RobotDescription robot = read_robot(reader);
    robot.name = reader.string_or("name", "");
    robot.prefix = reader.string_or("prefix", "");
    scene.robots.push_back(std::move(robot));
  }
  if (const auto robots = reader.find("robots"))
  {
    for (const ScenarioReader & item : robots->items())
    {
      item.allow_keys(kRobotKeys);
      const std::string name = item.at("name").name();
      RobotDescription robot = read_robot(item);
      robot.name = name;
      robot.prefix = item.string_or("prefix", name + "_");
      scene.robots.push_back(std::move(robot));
    }
  }
}

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
      body.pose = pose_or_zero(item);
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
      attachment.pose = pose_or_zero(item);
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
      frame.pose = pose_or_zero(item);
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
    ScenarioWrench formulas{item, {"0", "0", "0", "0", "0", "0"}};
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

ScenarioSystem build_scene(const ScenarioReader & reader)
{
  std::vector<std::string> keys = kSceneKeys;
  keys.insert(keys.end(), kRobotKeys.begin(), kRobotKeys.end());
  reader.allow_keys(keys);
  SceneDescription scene;
  read_robots(reader, scene);
  read_bodies(reader, scene);
  if (scene.robots.empty() && scene.bodies.empty())
  {
    reader.fail_here(
      "nothing moves; allowed: 'coordinates' and 'kinetic' (a textbook system), or a robot by "
      "'urdf', 'mjcf', 'sdf', 'robots', or 'bodies'");
  }
  scene.gravity = reader.vector_or("gravity", scene.gravity);
  read_joint_forces(reader, scene);
  ScenarioSystem result;
  result.wrenches = read_wrenches(reader, scene);
  try
  {
    const auto system = std::make_shared<const RigidBodySystem>(scene);
    result.robot = system.get();
    result.system = system;
  }
  catch (const std::exception & error)
  {
    reader.fail_here(error.what());
  }
  wrap_control_states(reader, read_control_states(reader), result);
  return result;
}

}  // namespace

ScenarioSystem build_system(
  const ScenarioReader & reader, const std::optional<ScenarioReader> & initial)
{
  std::vector<std::string> all = kTextbookKeys;
  all.insert(all.end(), kSceneKeys.begin(), kSceneKeys.end());
  all.insert(all.end(), kRobotKeys.begin(), kRobotKeys.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  reader.allow_keys(all);
  const bool is_textbook = reader.has("coordinates") || reader.has("kinetic");
  return is_textbook ? build_textbook(reader, initial) : build_scene(reader);
}

}  // namespace constrained_dynamics
