// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/profile_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "constrained_dynamics/scenario/text_tree.hpp"
#include "scenario/scenario_keys.hpp"
#include "scenario/scenario_reader.hpp"
#include "scenario/scenario_system_parts.hpp"
#include "scenario/scenario_tree.hpp"
#include "text_file.hpp"

namespace constrained_dynamics
{

namespace
{

/// The flags of EffortTerms by their names in files.
const std::array<std::pair<const char *, bool EffortTerms::*>, 3> kTerms = {
  {{"gravity", &EffortTerms::gravity},
   {"friction", &EffortTerms::friction},
   {"armature", &EffortTerms::armature}}};

EffortTerms read_terms(const ScenarioReader & reader)
{
  EffortTerms terms;
  for (const ScenarioReader & item : reader.items())
  {
    const std::string word = item.choice({"gravity", "friction", "armature"});
    for (const auto & [name, flag] : kTerms)
    {
      terms.*flag = terms.*flag || word == name;
    }
  }
  return terms;
}

JointFriction read_friction(const ScenarioReader & reader)
{
  reader.allow_keys({"viscous", "coulomb", "static", "stribeck", "smoothing"});
  JointFriction friction;
  const auto nonnegative = [&](const char * key, double & value)
  { value = reader.has(key) ? reader.at(key).nonnegative() : value; };
  nonnegative("viscous", friction.viscous);
  nonnegative("coulomb", friction.coulomb);
  nonnegative("static", friction.static_bound);
  friction.stribeck = reader.positive_or("stribeck", friction.stribeck);
  friction.smoothing = reader.positive_or("smoothing", friction.smoothing);
  return friction;
}

ProfileJoint read_joint(const ScenarioReader & item)
{
  item.allow_keys({"name", "effort_limit", "effort_rate_limit", "armature", "friction"});
  ProfileJoint joint;
  joint.name = item.at("name").name();
  joint.effort_limit = item.positive_or("effort_limit", joint.effort_limit);
  joint.effort_rate_limit = item.positive_or("effort_rate_limit", joint.effort_rate_limit);
  joint.armature = item.has("armature") ? item.at("armature").nonnegative() : 0.0;
  if (const auto friction = item.find("friction"))
  {
    joint.friction = read_friction(*friction);
  }
  return joint;
}

Payload read_payload(const ScenarioReader & item)
{
  item.allow_keys({"name", "frame", "mass", "com", "inertia"});
  Payload payload;
  payload.name = item.at("name").name();
  payload.frame = item.at("frame").name();
  payload.mass = item.at("mass").nonnegative();
  payload.com = item.vector_or("com", payload.com);
  if (const auto inertia = item.find("inertia"))
  {
    payload.inertia = read_inertia(*inertia);
  }
  return payload;
}

void read_drive(const ScenarioReader & root, RobotProfile & profile)
{
  if (const auto command = root.find("command"))
  {
    command->allow_keys({"interface", "adds", "friction_compensation"});
    profile.command_interface = command->string_or("interface", profile.command_interface);
    profile.friction_compensation =
      command->number_or("friction_compensation", profile.friction_compensation);
    if (const auto adds = command->find("adds"))
    {
      profile.command_adds = read_terms(*adds);
    }
  }
  if (const auto state = root.find("state"))
  {
    state->allow_keys({"position", "velocity", "effort", "effort_contains"});
    profile.position_interface = state->string_or("position", profile.position_interface);
    profile.velocity_interface = state->string_or("velocity", profile.velocity_interface);
    profile.effort_interface = state->string_or("effort", profile.effort_interface);
    if (const auto contains = state->find("effort_contains"))
    {
      profile.effort_contains = read_terms(*contains);
    }
  }
}

RobotProfile read_profile(const ScenarioReader & root)
{
  root.allow_keys(
    {"profile", "description", "joints", "command", "state", "drive_knows_payloads", "gravity",
     "payloads", "rate", "delay"});
  RobotProfile profile;
  profile.name = root.at("profile").name();
  (void)root.string_or("description", "");
  for (const ScenarioReader & item : root.at("joints").items())
  {
    profile.joints.push_back(read_joint(item));
  }
  read_drive(root, profile);
  profile.drive_knows_payloads = root.boolean_or("drive_knows_payloads", true);
  if (const auto gravity = root.find("gravity"))
  {
    profile.gravity = gravity->vector();
  }
  if (const auto payloads = root.find("payloads"))
  {
    for (const ScenarioReader & item : payloads->items())
    {
      profile.payloads.push_back(read_payload(item));
    }
  }
  profile.rate = root.has("rate") ? root.at("rate").positive() : 0.0;
  profile.delay = root.has("delay") ? root.at("delay").nonnegative() : 0.0;
  make_at(root, [&] { profile.check(); });
  return profile;
}

TextTree number(double value)
{
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.17g", value);
  return TextTree::value(text.data());
}

TextTree numbers(const Eigen::Vector3d & vector)
{
  TextTree list = TextTree::list();
  for (const double value : vector)
  {
    list.children.push_back(number(value));
  }
  return list;
}

TextTree terms_of(const EffortTerms & terms)
{
  TextTree list = TextTree::list();
  for (const auto & [name, flag] : kTerms)
  {
    if (terms.*flag)
    {
      list.children.push_back(TextTree::value(name));
    }
  }
  return list;
}

TextTree tree_of(const ProfileJoint & joint)
{
  TextTree item = TextTree::map();
  item.at("name") = TextTree::value(joint.name);
  if (std::isfinite(joint.effort_limit))
  {
    item.at("effort_limit") = number(joint.effort_limit);
  }
  if (std::isfinite(joint.effort_rate_limit))
  {
    item.at("effort_rate_limit") = number(joint.effort_rate_limit);
  }
  item.at("armature") = number(joint.armature);
  TextTree & friction = item.at("friction");
  friction = TextTree::map();
  friction.at("viscous") = number(joint.friction.viscous);
  friction.at("coulomb") = number(joint.friction.coulomb);
  friction.at("static") = number(joint.friction.static_bound);
  friction.at("stribeck") = number(joint.friction.stribeck);
  friction.at("smoothing") = number(joint.friction.smoothing);
  return item;
}

TextTree tree_of(const Payload & payload)
{
  TextTree item = TextTree::map();
  item.at("name") = TextTree::value(payload.name);
  item.at("frame") = TextTree::value(payload.frame);
  item.at("mass") = number(payload.mass);
  item.at("com") = numbers(payload.com);
  TextTree & inertia = item.at("inertia");
  inertia = TextTree::map();
  const Eigen::Matrix3d & I = payload.inertia;
  const std::array<std::pair<const char *, double>, 6> elements = {
    {{"ixx", I(0, 0)},
     {"iyy", I(1, 1)},
     {"izz", I(2, 2)},
     {"ixy", I(0, 1)},
     {"ixz", I(0, 2)},
     {"iyz", I(1, 2)}}};
  for (const auto & [name, value] : elements)
  {
    inertia.at(name) = number(value);
  }
  return item;
}

}  // namespace

RobotProfile robot_profile_from_text(const std::string & text, const std::string & source)
{
  const ScenarioNode node = parse_scenario(text, source);
  ScenarioScope scope;
  scope.source = source;
  return read_profile(ScenarioReader(node, "", scope));
}

RobotProfile load_robot_profile(const std::string & path)
{
  return robot_profile_from_text(read_text_file(path, kMaxScenarioSize), path);
}

bool is_robot_profile(const std::string & path)
{
  return parse_scenario(read_text_file(path, kMaxScenarioSize), path).find("profile") != nullptr;
}

std::string write_robot_profile(const RobotProfile & profile)
{
  profile.check();
  TextTree root = TextTree::map();
  root.at("profile") = TextTree::value(profile.name);
  root.at("joints") = TextTree::list();
  for (const ProfileJoint & joint : profile.joints)
  {
    root.at("joints").children.push_back(tree_of(joint));
  }
  TextTree & command = root.at("command");
  command = TextTree::map();
  command.at("interface") = TextTree::value(profile.command_interface);
  command.at("friction_compensation") = number(profile.friction_compensation);
  if (profile.command_adds)
  {
    command.at("adds") = terms_of(*profile.command_adds);
  }
  TextTree & state = root.at("state");
  state = TextTree::map();
  state.at("position") = TextTree::value(profile.position_interface);
  state.at("velocity") = TextTree::value(profile.velocity_interface);
  state.at("effort") = TextTree::value(profile.effort_interface);
  if (profile.effort_contains)
  {
    state.at("effort_contains") = terms_of(*profile.effort_contains);
  }
  root.at("drive_knows_payloads") =
    TextTree::value(profile.drive_knows_payloads ? "true" : "false");
  if (profile.gravity)
  {
    root.at("gravity") = numbers(*profile.gravity);
  }
  root.at("payloads") = TextTree::list();
  for (const Payload & payload : profile.payloads)
  {
    root.at("payloads").children.push_back(tree_of(payload));
  }
  if (profile.rate > 0.0)
  {
    root.at("rate") = number(profile.rate);
  }
  root.at("delay") = number(profile.delay);
  return write_yaml(root);
}

}  // namespace constrained_dynamics
