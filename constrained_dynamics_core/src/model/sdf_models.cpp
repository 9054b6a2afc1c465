// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// SDF: models within models, written there or included from files.

#include <filesystem>

#include "model/sdf_reader.hpp"

namespace constrained_dynamics::sdf
{
namespace
{

/// As deep as models may be within each other.
constexpr int kMaxModelDepth = 8;
/// More `<frame>` elements than any robot has, few enough for untrusted documents.
constexpr int kMaxFrames = 1000;
/// More nested models than any robot has.
constexpr int kMaxModels = 200;
/// All names within a nested model begin with its name.
constexpr std::size_t kMaxModelName = 100;

bool ends_with(const std::string & text, const std::string & end)
{
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// The file that a URI names, relative to a folder; empty if it names something else.
std::string file_of(const std::string & uri)
{
  const std::string scheme = "model://";
  const bool is_model = uri.compare(0, scheme.size(), scheme) == 0;
  const std::string name = is_model ? uri.substr(scheme.size()) : uri;
  if (name.empty() || name.find("://") != std::string::npos)
  {
    return "";
  }
  return ends_with(name, ".sdf") || ends_with(name, ".xml") ? name : name + "/model.sdf";
}

}  // namespace

std::string Scope::name(const std::string & stated) const
{
  if (stated == "world")
  {
    return stated;
  }
  if (stated == kModel)
  {
    return model;
  }
  const std::string of_model = "::" + kModel;
  return prefix +
         (ends_with(stated, of_model) ? stated.substr(0, stated.size() - of_model.size()) : stated);
}

const Scope & SdfReader::keep(Scope scope)
{
  scopes_.push_back(std::move(scope));
  return scopes_.back();
}

std::string SdfReader::read_parts(const XMLElement & model, const Scope & scope)
{
  if (scope.depth > kMaxModelDepth)
  {
    xml_.fail(
      "model '" + xml_.text(model, "name").value_or("") + "' is nested more than " +
      std::to_string(kMaxModelDepth) + " models deep; that many are allowed");
  }
  minor_ = scope.minor;
  count(model, "link", limits_.links);
  count(model, "joint", limits_.links);
  count(model, "frame", kMaxFrames);
  count(model, "model", kMaxModels);
  count(model, "include", kMaxModels);
  models_.emplace_back(&model, &scope);
  std::string canonical = read_links(model, scope);
  for_each(model, "frame", [&](const XMLElement & e) { read_frame(e, scope); });
  for_each(model, "joint", [&](const XMLElement & e) { read_joint(e, scope); });
  const std::size_t before = entities_.size();
  for_each(model, "model", [&](const XMLElement & e) { read_nested(e, e, scope, scope); });
  for_each(model, "include", [&](const XMLElement & e) { read_include(e, scope); });
  minor_ = scope.minor;
  for (std::size_t i = before; i < entities_.size() && canonical.empty(); ++i)
  {
    canonical = entities_[i].attached.empty() ? entities_[i].name : "";
  }
  if (canonical.empty())
  {
    xml_.fail(
      scope.depth == 1
        ? "there is no <link>; at least one is needed"
        : "model '" + xml_.text(model, "name").value_or("") + "' has no <link>; one is needed");
  }
  if (links_.count(canonical) == 0)
  {
    xml_.fail("canonical_link is '" + canonical + "', which is not a link of the model");
  }
  return canonical;
}

void SdfReader::read_nested(
  const XMLElement & model, const XMLElement & owner, const Scope & outer, Scope scope)
{
  const XMLElement * renamed = &model == &owner ? nullptr : xml_.child(owner, "name", "<include>");
  const std::string stated =
    renamed ? xml_.content(*renamed, "<include>") : xml_.name(model, "name", "model");
  const std::string where = "model '" + outer.prefix + stated + "'";
  const bool merged =
    truth(xml_.text(owner, "merge").value_or("false"), where + ": merge of <include>");
  if (stated.empty() || stated.size() > kMaxModelName || stated.find("::") != std::string::npos)
  {
    xml_.fail(
      "model '" + stated.substr(0, kMaxModelName) + "': its name must not be empty, not contain " +
      "'::' and have at most " + std::to_string(kMaxModelName) + " characters");
  }
  Entity entity;
  entity.label = where;
  entity.name = outer.prefix + (merged ? "_merged__" + stated + "__model__" : stated);
  const XMLElement & posed = owner.FirstChildElement("pose") ? owner : model;
  minor_ = &posed == &owner ? outer.minor : scope.minor;
  const StatedPose pose = read_pose(posed, where);
  entity.X = pose.X;
  entity.reference = pose.relative_to.empty() ? outer.model : outer.name(pose.relative_to);
  if (
    xml_.text(model, "placement_frame").value_or("") != "" ||
    owner.FirstChildElement("placement_frame"))
  {
    xml_.fail(where + ": placement_frame of a nested model is not supported; state its <pose>");
  }
  if (
    truth_of_child(model, "static", where, false) || truth_of_child(owner, "static", where, false))
  {
    tree_.warnings.push_back(where + " is <static>, which is not applied to nested models");
  }
  scope.prefix = merged ? outer.prefix : entity.name + "::";
  scope.model = entity.name;
  ++scope.depth;
  entity.attached = read_parts(model, keep(std::move(scope)));
  minor_ = kFrameSemantics;  // a model shares its names with links, joints and frames
  add_entity(frames_, std::move(entity));
}

void SdfReader::read_include(const XMLElement & include, const Scope & outer)
{
  const XMLElement * uri = xml_.child(include, "uri", "<include>");
  const std::string stated = uri ? xml_.content(*uri, "<include>") : "";
  const std::string file = file_of(stated);
  if (file.empty())
  {
    xml_.fail(
      "<include> of '" + stated +
      "' is not followed; allowed are files in the folder of the document and below it, by their "
      "names or as model://");
  }
  std::string path;
  const std::string text = included_.read(file, outer.folder, outer.file_depth, path);
  documents_.emplace_back();
  const XMLElement & root =
    XmlReader(describe(robot_) + ": in '" + file + "'").parse(text, documents_.back());
  const XMLElement * model = root.FirstChildElement("model");
  if (std::string(root.Name()) != "sdf" || !model || model->NextSiblingElement("model"))
  {
    xml_.fail("<include> of '" + stated + "': the file must be <sdf> with one <model>");
  }
  warn_of_names(root);
  Scope scope = outer;
  read_version(root);
  scope.minor = minor_;
  scope.folder = std::filesystem::path(path).parent_path().string();
  ++scope.file_depth;
  read_nested(*model, include, outer, std::move(scope));
}

}  // namespace constrained_dynamics::sdf
