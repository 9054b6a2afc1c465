// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// SDF: the document, its links and frames. (Pinocchio reads SDF only with the library sdformat,
// which its packages come without.)

#include "model/sdf_reader.hpp"

#include <algorithm>
#include <utility>

namespace constrained_dynamics::sdf
{
namespace
{

/// Versions of the format, 1.kOldest to 1.kNewest.
constexpr int kNewest = 12;
/// As many names as a message lists.
constexpr std::size_t kListed = 10;
/// More `<frame>` elements than any robot has, few enough for untrusted documents.
constexpr int kMaxFrames = 1000;

}  // namespace

RobotTree SdfReader::read(const std::string & text)
{
  tinyxml2::XMLDocument document;
  const XMLElement & root = xml_.parse(text, document);
  if (std::string(root.Name()) != "sdf")
  {
    xml_.fail(std::string("the root element is <") + root.Name() + ">; SDF needs <sdf>");
  }
  read_version(root);
  const XMLElement & model = the_model(root);
  xml_.name(model, "name", "model");
  refuse_parts(model);
  count(model, "link", limits_.links);
  count(model, "joint", limits_.links);
  count(model, "frame", kMaxFrames);
  read_links(model);
  for_each(model, "frame", [this](const XMLElement & e) { read_frame(e); });
  for_each(model, "joint", [this](const XMLElement & e) { read_joint(e); });
  read_model(model);
  for (Entity & entity : entities_)
  {
    pose_in_model(entity);
  }
  for (auto & [name, joint] : joints_)
  {
    resolve_joint(joint);
  }
  check_mimics();
  build_tree();
  add_frames();
  return std::move(tree_);
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

void SdfReader::refuse_parts(const XMLElement & model) const
{
  if (const XMLElement * nested = model.FirstChildElement("model"))
  {
    xml_.fail(
      "model '" + xml_.text(*nested, "name").value_or("") + "' is nested in model '" +
      xml_.text(model, "name").value_or("") +
      "', which is not supported; put its links and joints into the outer one");
  }
  if (const XMLElement * include = model.FirstChildElement("include"))
  {
    const XMLElement * uri = xml_.child(*include, "uri", "<include>");
    xml_.fail(
      "<include> of '" + (uri ? xml_.content(*uri, "<include>") : "") +
      "' is not followed; put its links and joints into the model");
  }
}

void SdfReader::count(const XMLElement & model, const char * what, int allowed) const
{
  int total = 0;
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

void SdfReader::read_links(const XMLElement & model)
{
  for_each(model, "link", [this](const XMLElement & e) { read_link(e); });
  if (links_.empty())
  {
    xml_.fail("there is no <link>; at least one is needed");
  }
  canonical_ = xml_.text(model, "canonical_link").value_or("");
  canonical_ = canonical_.empty() ? entities_.front().name : canonical_;
  if (links_.count(canonical_) == 0)
  {
    xml_.fail("canonical_link is '" + canonical_ + "', which is not a link of the model");
  }
}

void SdfReader::read_link(const XMLElement & element)
{
  Entity entity;
  entity.name = xml_.name(element, "name", "link");
  const std::string where = "link '" + entity.name + "'";
  const StatedPose pose = read_pose(element, where);
  entity.label = where;
  entity.X = pose.X;
  entity.reference = pose.relative_to.empty() ? kModel : pose.relative_to;
  masses_.emplace(entity.name, read_inertial(element, where));
  add_entity(links_, std::move(entity));
  if (!truth_of_child(element, "gravity", where, true))
  {
    tree_.warnings.push_back(where + " states that gravity does not act on it; here it does");
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

void SdfReader::read_frame(const XMLElement & element)
{
  Entity entity;
  entity.name = xml_.name(element, "name", "frame");
  entity.label = "frame '" + entity.name + "'";
  const StatedPose pose = read_pose(element, entity.label);
  entity.X = pose.X;
  entity.attached = xml_.text(element, "attached_to").value_or("");
  entity.attached = entity.attached.empty() ? kModel : entity.attached;
  entity.reference = pose.relative_to.empty() ? entity.attached : pose.relative_to;
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

RobotTree read_sdf(const std::string & text, const std::string & who, const SizeLimits & limits)
{
  return sdf::SdfReader(who, limits).read(text);
}

}  // namespace constrained_dynamics
