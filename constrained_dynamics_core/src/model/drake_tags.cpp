// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "model/drake_tags.hpp"

#include <set>

#include <tinyxml2.h>

namespace constrained_dynamics
{
namespace
{

using tinyxml2::XMLElement;

/// More constraints than any robot has, few enough for untrusted documents.
constexpr int kMaxConstraints = 500;

/// The values of one tag.
class Tag
{
public:
  Tag(const XmlReader & xml, const XMLElement & element, bool attributes, std::string where)
  : xml_(xml), element_(element), attributes_(attributes), where_(std::move(where))
  {
  }

  std::string name(const char * child) const
  {
    const XMLElement & e = at(child);
    return attributes_ ? xml_.name(e, "name", where_) : xml_.content(e, where_);
  }

  Eigen::Vector3d vector(const char * child) const
  {
    const XMLElement & e = at(child);
    const std::vector<double> x =
      attributes_ ? xml_.numbers(e, "value", where_).value_or(std::vector<double>())
                  : xml_.content_numbers(e, where_);
    if (x.size() != 3)
    {
      xml_.fail(where_ + ": <" + child + "> needs three numbers");
    }
    return Eigen::Vector3d(x[0], x[1], x[2]);
  }

private:
  const XMLElement & at(const char * child) const
  {
    const XMLElement * e = xml_.child(element_, child, where_);
    if (e == nullptr)
    {
      xml_.fail(where_ + " needs <" + child + ">");
    }
    return *e;
  }

  const XmlReader & xml_;
  const XMLElement & element_;
  bool attributes_;
  std::string where_;
};

}  // namespace

void read_drake_tags(
  const XmlReader & xml, const XMLElement & model, bool attributes, const NodeOfBody & node_of,
  RobotTree & tree)
{
  static const std::set<std::string> forces = {
    "drake:linear_bushing_rpy", "drake:linear_spring_damper", "drake:prismatic_spring",
    "drake:revolute_spring"};
  for (const XMLElement * e = model.FirstChildElement(); e; e = e->NextSiblingElement())
  {
    const std::string tag = e->Name();
    if (forces.count(tag) > 0)
    {
      tree.warnings.push_back("<" + tag + "> is a force, which is not applied");
    }
    else if (tag == "drake:joint")
    {
      xml.fail(
        "<drake:joint> '" + xml.text(*e, "name").value_or("") +
        "' is not supported; allowed are the joints of the format itself");
    }
    else if (tag == "drake:ball_constraint")
    {
      const int number = static_cast<int>(tree.constraints.size()) + 1;
      if (number > kMaxConstraints)
      {
        xml.fail("there are more than " + std::to_string(kMaxConstraints) + " constraints");
      }
      TreeConstraint constraint;
      constraint.name = "ball_constraint" + std::to_string(number);
      constraint.source = "<drake:ball_constraint> of line " + std::to_string(e->GetLineNum());
      constraint.rows = {"x", "y", "z"};
      constraint.frame_a = constraint.name + "_a";
      constraint.frame_b = constraint.name + "_b";
      const Tag values(xml, *e, attributes, constraint.source);
      const auto add_end = [&](const std::string & frame, const char * body, const char * point)
      {
        TreeFrame end;
        end.name = frame;
        end.node = node_of(values.name(body), constraint.source);
        end.placement.translation() = values.vector(point);
        tree.frames.push_back(end);
        return end.node;
      };
      const int a =
        add_end(constraint.frame_a, "drake:ball_constraint_body_A", "drake:ball_constraint_p_AP");
      const int b =
        add_end(constraint.frame_b, "drake:ball_constraint_body_B", "drake:ball_constraint_p_BQ");
      if (a == b)
      {
        xml.fail(constraint.source + ": its bodies are the same; they must differ");
      }
      tree.constraints.push_back(std::move(constraint));
    }
  }
}

}  // namespace constrained_dynamics
