// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// MJCF: `<equality>`.

#include <algorithm>

#include "model/mjcf_reader.hpp"

namespace constrained_dynamics::mjcf
{
namespace
{

const std::vector<std::string> kTranslations = {"x", "y", "z"};
const std::vector<std::string> kAllRows = {"x", "y", "z", "rx", "ry", "rz"};

/// The coefficients of p(x − shift) + constant.
std::vector<double> shifted(std::vector<double> p, double shift, double constant)
{
  // Taylor's expansion about −shift by repeated synthetic division.
  for (std::size_t i = 0; i + 1 < p.size(); ++i)
  {
    for (std::size_t k = p.size() - 1; k-- > i;)
    {
      p[k] -= shift * p[k + 1];
    }
  }
  p[0] += constant;
  return p;
}

}  // namespace

void MjcfReader::read_equality(const XMLElement & section)
{
  for (const XMLElement * e = section.FirstChildElement(); e; e = e->NextSiblingElement())
  {
    const std::string kind = e->Name();
    const std::string name = xml_.text(*e, "name").value_or("");
    const int count = ++equality_counts_[kind];
    if (count > limits_.links)
    {
      xml_.fail(
        "there are more than " + std::to_string(limits_.links) + " <" + kind + "> in <equality>");
    }
    TreeConstraint constraint;
    constraint.name = name.empty() ? kind + std::to_string(count) : name;
    constraint.source = "<" + kind + "> '" + name + "' of <equality>";
    const std::string active =
      xml_.text(giver(*e, "active", "", "equality"), "active").value_or("true");
    if (!is_one_of(active, {"true", "false"}))
    {
      xml_.fail(constraint.source + ": active is '" + active + "'; allowed are true and false");
    }
    constraint.active = active == "true";
    if (!equality_names_.insert(constraint.name).second)
    {
      xml_.fail(constraint.source + " has the same name as another: '" + constraint.name + "'");
    }
    if (!robot_.use_file_constraints && kind != "joint")
    {
      tree_.warnings.push_back(constraint.source + " is ignored");
      continue;
    }
    if (!read_constraint(*e, constraint))
    {
      xml_.fail(
        constraint.source +
        " is not supported; allowed are connect, weld, joint, and tendon with fixed tendons. "
        "Otherwise the constraints of the file must be ignored (file_constraints: ignore)");
    }
    if (!add_mimic(constraint, !name.empty()))
    {
      tree_.constraints.push_back(std::move(constraint));
    }
  }
}

bool MjcfReader::read_constraint(const XMLElement & e, TreeConstraint & constraint)
{
  const std::string kind = e.Name();
  if (kind == "connect")
  {
    read_connect(e, constraint);
  }
  else if (kind == "weld")
  {
    read_weld(e, constraint);
  }
  else if (kind == "joint")
  {
    read_joints(e, constraint);
  }
  else if (kind == "tendon")
  {
    read_tendons(e, constraint);
  }
  return is_one_of(kind, {"connect", "weld", "joint", "tendon"});
}

bool MjcfReader::read_sites(const XMLElement & e, TreeConstraint & constraint) const
{
  if (!e.Attribute("site1") && !e.Attribute("site2"))
  {
    return false;
  }
  constraint.frame_a = xml_.name(e, "site1", constraint.source);
  constraint.frame_b = xml_.name(e, "site2", constraint.source);
  for (const std::string & site : {constraint.frame_a, constraint.frame_b})
  {
    if (site_names_.count(site) == 0)
    {
      xml_.fail(constraint.source + ": there is no site '" + site + "'");
    }
  }
  if (e.Attribute("body1") || e.Attribute("body2") || e.Attribute("anchor"))
  {
    xml_.fail(constraint.source + ": two sites, or bodies with an anchor, are allowed, not both");
  }
  return true;
}

std::pair<int, int> MjcfReader::read_bodies(const XMLElement & e, const std::string & where) const
{
  const auto node_of = [&](const std::string & name)
  {
    const auto found = body_nodes_.find(name);
    if (name != "world" && found == body_nodes_.end())
    {
      xml_.fail(where + ": there is no body '" + name + "'");
    }
    return name == "world" ? -1 : found->second;
  };
  const int body1 = node_of(xml_.name(e, "body1", where));
  const int body2 = node_of(xml_.text(e, "body2").value_or("world"));
  if (body1 == body2)
  {
    xml_.fail(where + ": body1 and body2 are the same; they must differ");
  }
  return {body1, body2};
}

void MjcfReader::add_ends(const Place & a, const Place & b, TreeConstraint & constraint)
{
  constraint.frame_a = constraint.name + "_a";
  constraint.frame_b = constraint.name + "_b";
  for (const std::string & frame : {constraint.frame_a, constraint.frame_b})
  {
    if (site_names_.count(frame) > 0 || body_nodes_.count(frame) > 0)
    {
      xml_.fail(
        constraint.source + ": its frame '" + frame +
        "' has the name of a body or site; rename one of them");
    }
  }
  tree_.frames.push_back({constraint.frame_a, a.node, a.X});
  tree_.frames.push_back({constraint.frame_b, b.node, b.X});
}

void MjcfReader::read_connect(const XMLElement & e, TreeConstraint & constraint)
{
  constraint.rows = kTranslations;
  if (read_sites(e, constraint))
  {
    return;
  }
  const std::string & where = constraint.source;
  const auto [body1, body2] = read_bodies(e, where);
  if (!e.Attribute("anchor"))
  {
    xml_.fail(where + " needs the attribute 'anchor', three numbers");
  }
  const Eigen::Isometry3d anchor =
    translation(xml_.vector3(e, "anchor", where, Eigen::Vector3d::Zero()));
  const Eigen::Isometry3d X_12 = drawn_relative(body1, body2);
  add_ends(
    {body1, anchor}, {body2, translation(X_12.inverse() * anchor.translation())}, constraint);
}

void MjcfReader::read_weld(const XMLElement & e, TreeConstraint & constraint)
{
  const std::string & where = constraint.source;
  // The weight of angles in MuJoCo's soft weld. A rigid one has no such weight, but 0 means that
  // angles are free.
  const double scale = xml_.number(e, "torquescale", where, 1.0);
  constraint.rows =
    xml_.not_negative(scale, where + ": its torquescale") > 0.0 ? kAllRows : kTranslations;
  if (read_sites(e, constraint))
  {
    return;
  }
  const auto [body1, body2] = read_bodies(e, where);
  const Eigen::Isometry3d anchor =
    translation(xml_.vector3(e, "anchor", where, Eigen::Vector3d::Zero()));
  Eigen::Isometry3d X_12 = drawn_relative(body1, body2);
  std::vector<double> x = xml_.numbers(e, "relpose", where).value_or(std::vector<double>(7, 0.0));
  if (x.size() != 7)
  {
    xml_.fail(where + ": attribute 'relpose' needs 7 numbers");
  }
  // A quaternion of zeros stands for the pose of the drawing.
  if (std::any_of(x.begin() + 3, x.end(), [](double value) { return value != 0.0; }))
  {
    X_12 = translation(Eigen::Vector3d(x[0], x[1], x[2]));
    X_12.linear() = rotation_of("quat", {x[3], x[4], x[5], x[6]}, where);
  }
  add_ends({body1, X_12 * anchor}, {body2, anchor}, constraint);
}

Eigen::Isometry3d MjcfReader::drawn_relative(int node1, int node2) const
{
  const auto pose = [this](int node)
  {
    return node < 0 ? Eigen::Isometry3d(Eigen::Isometry3d::Identity())
                    : drawn_poses_[static_cast<std::size_t>(node)];
  };
  return pose(node1).inverse() * pose(node2);
}

void MjcfReader::check_joint(const std::string & name, const std::string & where) const
{
  if (references_.count(name) == 0)
  {
    xml_.fail(where + ": '" + name + "' is not a joint with one degree of freedom");
  }
}

void MjcfReader::read_joints(const XMLElement & e, TreeConstraint & constraint) const
{
  const auto side = [&](const char * attribute)
  {
    const std::string name = xml_.name(e, attribute, constraint.source);
    check_joint(name, constraint.source);
    return NamedNumbers{{name, 1.0}};
  };
  constraint.terms = side("joint1");
  constraint.of = e.Attribute("joint2") ? side("joint2") : NamedNumbers();
  if (!constraint.of.empty() && constraint.of[0].first == constraint.terms[0].first)
  {
    xml_.fail(constraint.source + ": joint1 and joint2 are the same; they must differ");
  }
  read_polynomial(e, constraint);
}

void MjcfReader::read_tendons(const XMLElement & e, TreeConstraint & constraint) const
{
  const auto side = [&](const char * attribute)
  { return read_fixed_tendon(xml_.name(e, attribute, constraint.source), constraint.source); };
  constraint.terms = side("tendon1");
  constraint.of = e.Attribute("tendon2") ? side("tendon2") : NamedNumbers();
  read_polynomial(e, constraint);
}

NamedNumbers MjcfReader::read_fixed_tendon(
  const std::string & name, const std::string & where) const
{
  for (const XMLElement * section : tendons_)
  {
    for (const XMLElement * e = section->FirstChildElement(); e; e = e->NextSiblingElement())
    {
      if (xml_.text(*e, "name").value_or("") != name)
      {
        continue;
      }
      if (std::string(e->Name()) != "fixed")
      {
        xml_.fail(
          where + ": tendon '" + name + "' is <" + e->Name() + ">; only <fixed> is allowed here");
      }
      NamedNumbers terms;
      for (const XMLElement * term = e->FirstChildElement("joint"); term;
           term = term->NextSiblingElement("joint"))
      {
        const std::string what = "tendon '" + name + "'";
        terms.emplace_back(xml_.name(*term, "joint", what), xml_.number(*term, "coef", what));
        check_joint(terms.back().first, what);
      }
      return terms;
    }
  }
  xml_.fail(where + ": there is no tendon '" + name + "'");
}

void MjcfReader::read_polynomial(const XMLElement & e, TreeConstraint & constraint) const
{
  const std::string & where = constraint.source;
  std::vector<double> p = xml_.numbers(e, "polycoef", where).value_or(std::vector<double>{0, 1});
  if (p.size() > kPolynomialSize)
  {
    xml_.fail(
      where + ": polycoef has " + std::to_string(p.size()) + " numbers; at most " +
      std::to_string(kPolynomialSize) + " are allowed");
  }
  // With one joint or tendon only the constant counts.
  p.resize(constraint.of.empty() ? 1 : kPolynomialSize, 0.0);
  const auto drawn = [this](const NamedNumbers & terms)
  {
    double sum = 0.0;
    for (const auto & [joint, coefficient] : terms)
    {
      sum += coefficient * references_.at(joint);
    }
    return sum;
  };
  constraint.polynomial = shifted(p, drawn(constraint.of), drawn(constraint.terms));
}

bool MjcfReader::add_mimic(const TreeConstraint & constraint, bool has_name)
{
  const auto is_joint = [](const NamedNumbers & terms)
  { return terms.size() == 1 && terms[0].second == 1.0; };
  if (!constraint.active || !is_joint(constraint.terms) || !is_joint(constraint.of))
  {
    return false;
  }
  // A joint that follows another has no motor of its own.
  const std::string & joint = constraint.terms[0].first;
  for (TreeNode & node : tree_.nodes)
  {
    node.properties.mimics = node.properties.mimics || node.joint == joint;
  }
  const std::vector<double> & p = constraint.polynomial;
  if (p[2] != 0.0 || p[3] != 0.0 || p[4] != 0.0)
  {
    return false;
  }
  tree_.mimics.push_back(
    {joint, constraint.of[0].first, p[1], p[0], has_name ? constraint.name : ""});
  return true;
}

}  // namespace constrained_dynamics::mjcf
