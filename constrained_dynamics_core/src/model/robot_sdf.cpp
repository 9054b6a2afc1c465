// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// SDF: the document, its links and frames. (Pinocchio reads SDF only with the library sdformat,
// which its packages come without.)

#include "model/sdf_reader.hpp"

#include <algorithm>
#include <utility>

#include "model/drake_tags.hpp"
#include "model/xml_vocabulary.hpp"

namespace constrained_dynamics::sdf
{
namespace
{

/// Versions of the format, 1.kOldest to 1.kNewest.
constexpr int kNewest = 12;
/// As many names as a message lists.
constexpr std::size_t kListed = 10;

}  // namespace

RobotTree SdfReader::read()
{
  tinyxml2::XMLDocument document;
  const XMLElement & root = xml_.parse(robot_.text, document);
  if (std::string(root.Name()) != "sdf")
  {
    xml_.fail(std::string("the root element is <") + root.Name() + ">; SDF needs <sdf>");
  }
  read_version(root);
  warn_of_names(root);
  const XMLElement & model = the_model(root);
  xml_.name(model, "name", "model");
  Scope outer;
  outer.minor = minor_;
  outer.folder = robot_.folder;
  canonical_ = read_parts(model, keep(std::move(outer)));
  minor_ = scopes_.front().minor;
  read_model(model);
  for (Entity & entity : entities_)
  {
    pose_in_model(entity);
  }
  for (const std::string & name : joint_order_)
  {
    resolve_joint(joints_.at(name));
  }
  check_mimics();
  build_tree();
  add_frames();
  for (const SdfJoint * joint : cut_)
  {
    close_loop(*joint);
  }
  for (const Gearbox & gearbox : gearboxes_)
  {
    add_gearbox(gearbox);
  }
  for (const auto & [element, scope] : models_)
  {
    read_drake_tags(
      xml_, *element, false,
      [&, scope = scope](const std::string & name, const std::string & where)
      {
        const std::string link = scope->name(name);
        return link == "world" ? -1 : node_of_link_.at(link_of(link, where));
      },
      tree_);
  }
  return std::move(tree_);
}

void SdfReader::warn_of_names(const XMLElement & root)
{
  const std::vector<std::string> unknown = warn_of_unknown_names(root, "sdf", sdf_vocabulary());
  tree_.warnings.insert(tree_.warnings.end(), unknown.begin(), unknown.end());
}

std::string SdfReader::list(const std::vector<std::string> & names)
{
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kListed); ++i)
  {
    text += (i > 0 ? ", '" : "'") + names[i] + "'";
  }
  return text + (names.size() > kListed ? ", …" : "");
}

void SdfReader::read_version(const XMLElement & root)
{
  const std::string version = xml_.name(root, "version", "the document");
  for (int minor = kOldest; minor <= kNewest; ++minor)
  {
    if (version == "1." + std::to_string(minor))
    {
      minor_ = minor;
      return;
    }
  }
  xml_.fail(
    "the version of SDF is '" + version + "'; allowed are 1." + std::to_string(kOldest) + " to 1." +
    std::to_string(kNewest));
}

const XMLElement & SdfReader::the_model(const XMLElement & root)
{
  std::vector<const XMLElement *> models;
  std::vector<std::string> includes;
  const auto collect = [&](const XMLElement & parent)
  {
    for_each(parent, "model", [&](const XMLElement & e) { models.push_back(&e); });
    for_each(
      parent, "include",
      [&](const XMLElement & e)
      {
        const XMLElement * uri = xml_.child(e, "uri", "<include>");
        includes.push_back(uri ? xml_.content(*uri, "<include>") : "");
      });
  };
  collect(root);
  for_each(
    root, "world",
    [&](const XMLElement & world)
    {
      collect(world);
      read_world(world);
    });
  if (models.empty())
  {
    xml_.fail(
      includes.empty() ? "there is no <model>; one is needed"
                       : "there is no <model>, and <include> is not followed: " + list(includes) +
                           "; give the document of the model itself");
  }
  if (models.size() > 1)
  {
    std::vector<std::string> names;
    for (const XMLElement * model : models)
    {
      names.push_back(xml_.text(*model, "name").value_or(""));
    }
    xml_.fail(
      "there are " + std::to_string(models.size()) + " models, " + list(names) +
      "; one is allowed, give each a document of its own");
  }
  if (!includes.empty())
  {
    tree_.warnings.push_back("<include> beside the model is not read: " + list(includes));
  }
  return *models.front();
}

void SdfReader::read_world(const XMLElement & world)
{
  if (const XMLElement * joint = world.FirstChildElement("joint"))
  {
    xml_.fail(
      "joint '" + xml_.text(*joint, "name").value_or("") +
      "' belongs to the <world>; joints are allowed in the <model>");
  }
  const XMLElement * gravity = xml_.child(world, "gravity", "<world>");
  // SDF's own value is 9.8.
  if (gravity && !vector3(*gravity, "<world>").isApprox(Eigen::Vector3d(0, 0, -9.81), 2e-3))
  {
    tree_.warnings.push_back("<gravity> of the world is not read; the scene's gravity holds");
  }
}

void SdfReader::count(const XMLElement & model, const char * what, int allowed)
{
  int & total = counts_[what];
  for_each(model, what, [&total](const XMLElement &) { ++total; });
  if (total > allowed)
  {
    xml_.fail(
      "there are " + std::to_string(total) + " " + what + "s; at most " + std::to_string(allowed) +
      " are allowed");
  }
}

void SdfReader::add_entity(std::map<std::string, std::size_t> & kind, Entity entity)
{
  const std::string & name = entity.name;
  if (
    name == "world" || (name.size() >= 4 && name.compare(0, 2, "__") == 0 &&
                        name.compare(name.size() - 2, 2, "__") == 0))
  {
    xml_.fail(entity.label + ": SDF reserves this name");
  }
  for (const auto * other : {&links_, &frames_, &joint_entities_})
  {
    const auto found = other->find(name);
    if (found == other->end() || (other != &kind && minor_ < kFrameSemantics))
    {
      continue;
    }
    xml_.fail(
      other == &kind ? entity.label + " is defined twice"
                     : entity.label + " has the same name as " + entities_[found->second].label +
                         "; names of links, joints and frames must differ");
  }
  kind.emplace(name, entities_.size());
  entities_.push_back(std::move(entity));
}

std::string SdfReader::read_links(const XMLElement & model, const Scope & scope)
{
  for_each(model, "link", [&](const XMLElement & e) { read_link(e, scope); });
  const XMLElement * first = model.FirstChildElement("link");
  std::string canonical = xml_.text(model, "canonical_link").value_or("");
  canonical = canonical.empty() && first ? xml_.name(*first, "name", "link") : canonical;
  return canonical.empty() ? "" : scope.name(canonical);
}

void SdfReader::read_link(const XMLElement & element, const Scope & scope)
{
  Entity entity;
  entity.name = scope.prefix + xml_.name(element, "name", "link");
  const std::string where = "link '" + entity.name + "'";
  const StatedPose pose = read_pose(element, where);
  entity.label = where;
  entity.X = pose.X;
  entity.reference = scope.name(pose.relative_to.empty() ? kModel : pose.relative_to);
  masses_.emplace(entity.name, read_inertial(element, where));
  add_entity(links_, std::move(entity));
  if (!truth_of_child(element, "gravity", where, true))
  {
    tree_.warnings.push_back(where + " states that gravity does not act on it; here it does");
  }
  if (xml_.child(element, "velocity_decay", where) != nullptr)
  {
    tree_.warnings.push_back(where + " states <velocity_decay>, which is not applied");
  }
  if (truth_of_child(element, "kinematic", where, false))
  {
    tree_.warnings.push_back(where + " states that it is kinematic, which is not applied");
  }
}

MassProperties SdfReader::read_inertial(const XMLElement & link, const std::string & where)
{
  const XMLElement * inertial = xml_.child(link, "inertial", where);
  const XMLElement * inertia = inertial ? xml_.child(*inertial, "inertia", where) : nullptr;
  const XMLElement * mass_element = inertial ? xml_.child(*inertial, "mass", where) : nullptr;
  if (
    inertial &&
    truth(xml_.text(*inertial, "auto").value_or("false"), where + ": auto of <inertial>"))
  {
    xml_.fail(
      where +
      ": <inertial auto=\"true\"> asks for the inertia of its collision shapes, which "
      "is not computed; give <mass> and <inertia>");
  }
  MassProperties mass;
  mass.mass = xml_.not_negative(
    mass_element ? xml_.content_number(*mass_element, where) : 1.0, where + ": the mass");
  Eigen::Matrix3d I = Eigen::Matrix3d::Identity();
  static const std::vector<std::pair<const char *, std::pair<int, int>>> entries = {
    {"ixx", {0, 0}}, {"iyy", {1, 1}}, {"izz", {2, 2}},
    {"ixy", {0, 1}}, {"ixz", {0, 2}}, {"iyz", {1, 2}}};
  bool complete = mass_element && inertia;
  for (const auto & [name, place] : entries)
  {
    const auto [row, column] = place;
    // Products that are not stated are 0 and nothing to speak of.
    complete = complete && (row != column || inertia->FirstChildElement(name));
    I(row, column) = inertia ? number(*inertia, name, where, I(row, column)) : I(row, column);
    I(column, row) = I(row, column);
  }
  if (!complete)
  {
    tree_.warnings.push_back(
      where +
      (inertial ? " does not state all of its mass and moments of inertia"
                : " states no <inertial>") +
      "; SDF's values are taken for what is missing: 1 kg, 1 kg m²");
  }
  const StatedPose pose = inertial ? read_pose(*inertial, where) : StatedPose();
  if (!pose.relative_to.empty())
  {
    xml_.fail(
      where + ": <pose> of <inertial> is relative to '" + pose.relative_to +
      "'; only the link itself is allowed");
  }
  if (inertial && inertial->FirstChildElement("fluid_added_mass"))
  {
    tree_.warnings.push_back(where + " states <fluid_added_mass>, which is not applied");
  }
  mass.com = pose.X.translation();
  mass.inertia = pose.X.linear() * I * pose.X.linear().transpose();
  return mass;
}

void SdfReader::read_frame(const XMLElement & element, const Scope & scope)
{
  Entity entity;
  entity.name = scope.prefix + xml_.name(element, "name", "frame");
  entity.label = "frame '" + entity.name + "'";
  const StatedPose pose = read_pose(element, entity.label);
  entity.X = pose.X;
  entity.attached = xml_.text(element, "attached_to").value_or("");
  entity.attached = scope.name(entity.attached.empty() ? kModel : entity.attached);
  entity.reference = pose.relative_to.empty() ? entity.attached : scope.name(pose.relative_to);
  frame_order_.push_back(entity.name);
  add_entity(frames_, std::move(entity));
}

void SdfReader::read_model(const XMLElement & model)
{
  const StatedPose pose = read_pose(model, "the model");
  if (!pose.relative_to.empty() && pose.relative_to != "world")
  {
    xml_.fail(
      "<pose> of the model is relative to '" + pose.relative_to + "'; only 'world' is allowed");
  }
  tree_.placement = pose.X;
  const std::string placed = xml_.text(model, "placement_frame").value_or("");
  if (!placed.empty())
  {
    tree_.placement = pose.X * pose_in_model(placed, "placement_frame of the model").inverse();
  }
  static_ = truth_of_child(model, "static", "the model", false);
  if (static_)
  {
    tree_.grounded = "the model is <static>";
    tree_.warnings.push_back("the model is <static>: all of its joints are fixed");
  }
}

}  // namespace constrained_dynamics::sdf

namespace constrained_dynamics
{

RobotTree read_sdf(
  const RobotDescription & robot, const std::string & who, const SizeLimits & limits)
{
  return sdf::SdfReader(who, robot, limits).read();
}

}  // namespace constrained_dynamics
