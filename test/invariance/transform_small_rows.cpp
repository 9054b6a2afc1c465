// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>

#include "mechanism.hpp"
#include "transformation.hpp"

namespace invariance
{

namespace
{

/// Below this a row says nothing: well under 1e3 ε of the size that it could have.
constexpr double kNothing = 1e-14;

/// Coordinates whose rates formulas may use: all of a textbook system, the joints of robots.
std::vector<std::string> rated_coordinates(const Case & c, const Result & twin)
{
  std::vector<std::string> result;
  for (const std::string & name : twin.q.names)
  {
    if (c.scenario["system"]["coordinates"] || twin.u.has("d" + name))
    {
      result.push_back(name);
    }
  }
  return result;
}

std::string quoted(const std::string & name)
{
  const bool plain = std::all_of(
    name.begin(), name.end(), [](unsigned char ch) { return std::isalnum(ch) != 0 || ch == '_'; });
  return plain ? name : "`" + name + "`";
}

YAML::Node formula_constraint(
  const std::string & name, const std::string & level, const std::vector<std::string> & rows)
{
  YAML::Node constraint;
  constraint["name"] = name;
  constraint["type"] = "formula";
  constraint["level"] = level;
  for (const std::string & row : rows)
  {
    constraint["rows"].push_back(row);
  }
  return constraint;
}

/// Relative sizes: 0, or 1e-17 to 1e-8.
double small_size(Random & random)
{
  return random.chance(0.15) ? 0.0 : random.magnitude(1e-17, 1e-8);
}

int random_link(const Mechanism & mechanism, Random & random)
{
  return random.integer(0, static_cast<int>(mechanism.links.size()) - 1);
}

/// A frame at a random point of a link, added to the scenario.
Frame add_point(
  YAML::Node & scenario, const std::string & stem, const Mechanism & mechanism, int link,
  Random & random)
{
  Frame frame{unused_name(scenario, stem), link, {}};
  frame.pose.xyz = random.vector(1.0);
  add_frame(scenario, frame.name, mechanism.body_name(link), frame.pose);
  return frame;
}

/// A plane with this normal that the origin of the frame lies on, added to the scenario.
void add_plane(
  YAML::Node & scenario, const std::string & stem, const Mechanism & mechanism, const Frame & frame,
  const Eigen::Vector3d & normal)
{
  YAML::Node plane;
  plane["name"] = unused_name(scenario, stem);
  plane["type"] = "point_on_plane";
  plane["frame_a"] = frame.name;
  plane["normal"] = node(normal);
  plane["offset"] = text(normal.dot(mechanism.frame_pose(frame).translation()));
  scenario["constraints"].push_back(plane);
}

/// c x − c x + s y: it could have the size 2 c and has s.
std::optional<Changed> cancelling_formula(
  const Case & original, const Result & twin, Random & random)
{
  std::vector<std::string> names = rated_coordinates(original, twin);
  if (names.size() < 2)
  {
    return std::nullopt;
  }
  random.shuffle(names);
  const double size = small_size(random);
  const double c = random.magnitude(0.1, 10.0);
  const std::string s = text(2.0 * c * size);
  Changed result;
  result.changed = original;
  const std::string name = unused_name(original.scenario, "nothing");
  const std::string x = quoted(names[0]);
  const std::string y = quoted(names[1]);
  const std::string dx = quoted("d" + names[0]);
  const std::string dy = quoted("d" + names[1]);
  result.changed.scenario["constraints"].push_back(
    random.chance(0.5) ? formula_constraint(
                           name, "velocity",
                           {text(c) + "*" + dx + " - " + text(c) + "*" + dx + " + " + s + "*" + dy})
                       : formula_constraint(
                           name, "position",
                           {text(c) + "*" + x + " - " + text(c) + "*" + x + " + " + s + "*(" + y +
                            " - (" + text(twin.q.at(names[1])) + "))"}));
  result.expected = size <= kNothing ? Expected::kSame : Expected::kSameOrNot;
  result.detail = "formula, relative size " + text(size);
  return result;
}

/// A joint written a second time, as a constraint between its two links: rows of rounding noise.
std::optional<Changed> repeat_joint(const Case & original, Random & random)
{
  if (!original.mechanism || original.mechanism->links.empty())
  {
    return std::nullopt;
  }
  const Mechanism & mechanism = *original.mechanism;
  const int i = random_link(mechanism, random);
  const Link & link = mechanism.links[static_cast<std::size_t>(i)];
  const int parent = link.parent < 0 ? -2 - link.robot : link.parent;
  // y of both frames is the joint's axis; of a hinge they lie somewhere on it.
  const Eigen::Quaterniond to_axis =
    Eigen::Quaterniond::FromTwoVectors(Eigen::Vector3d::UnitY(), link.axis);
  Eigen::Isometry3d on_link = Eigen::Isometry3d::Identity();
  on_link.linear() = to_axis.toRotationMatrix();
  on_link.translation() =
    link.prismatic ? random.vector(1.0) : Eigen::Vector3d(random.uniform(-1.0, 1.0) * link.axis);
  const Eigen::Isometry3d on_parent =
    mechanism.body_pose(parent).inverse() * mechanism.body_pose(i) * on_link;
  Changed result;
  result.changed = original;
  YAML::Node & scenario = result.changed.scenario;
  YAML::Node joint;
  joint["name"] = unused_name(scenario, "nothing");
  joint["type"] = "frame_coincidence";
  joint["frame_a"] = unused_name(scenario, "on_link");
  add_frame(scenario, "on_link", link.name, pose_of(on_link));
  joint["frame_b"] = unused_name(scenario, "on_parent");
  add_frame(scenario, "on_parent", mechanism.body_name(parent), pose_of(on_parent));
  const std::vector<std::string> rows = link.prismatic
                                          ? std::vector<std::string>{"x", "z", "rx", "ry", "rz"}
                                          : std::vector<std::string>{"x", "y", "z", "rx", "rz"};
  joint["rows"] = random.chance(0.5) ? flow_list(rows) : flow_list({random.pick(rows)});
  scenario["constraints"].push_back(joint);
  result.detail = link.joint;
  return result;
}

/// Direction, in the world, that no body of a robot in the plane can move along: the axis of all
/// its hinges; nothing where the robot is none.
std::optional<Eigen::Vector3d> plane_normal(const Mechanism & mechanism, int link)
{
  std::optional<Eigen::Vector3d> normal;
  for (; link >= 0; link = mechanism.links[static_cast<std::size_t>(link)].parent)
  {
    const Link & l = mechanism.links[static_cast<std::size_t>(link)];
    const Eigen::Vector3d axis = mechanism.body_pose(link).linear() * l.axis;
    if (mechanism.robots[static_cast<std::size_t>(l.robot)].base != Base::kFixed || l.prismatic)
    {
      return std::nullopt;
    }
    if (normal && normal->cross(axis).norm() > 1e-12)
    {
      return std::nullopt;
    }
    normal = normal ? normal : axis;
  }
  return normal;
}

/// A point of a body that moves in a plane, kept in that plane, or in one tilted by a small angle.
std::optional<Changed> keep_in_plane(const Case & original, Random & random)
{
  if (!original.mechanism)
  {
    return std::nullopt;
  }
  const Mechanism & mechanism = *original.mechanism;
  std::vector<int> links;
  for (std::size_t i = 0; i < mechanism.links.size(); ++i)
  {
    if (plane_normal(mechanism, static_cast<int>(i)))
    {
      links.push_back(static_cast<int>(i));
    }
  }
  if (links.empty())
  {
    return std::nullopt;
  }
  const int link = random.pick(links);
  const double size = small_size(random);
  const Eigen::Vector3d n = *plane_normal(mechanism, link);
  const Eigen::Vector3d normal = n + size * n.cross(random.direction());
  Changed result;
  result.changed = original;
  YAML::Node & scenario = result.changed.scenario;
  const Frame frame = add_point(scenario, "kept", mechanism, link, random);
  add_plane(scenario, "nothing", mechanism, frame, normal);
  result.expected = size <= kNothing ? Expected::kSame : Expected::kSameOrNot;
  result.detail = "plane of the motion, tilt " + text(size);
  return result;
}

/// A row a second time, with a little of another: s (row + angle · rate of y).
std::optional<Changed> almost_a_copy(const Case & original, const Result & twin, Random & random)
{
  const YAML::Node constraints = original.scenario["constraints"];
  const std::vector<std::string> names = rated_coordinates(original, twin);
  std::vector<YAML::Node> rows;
  for (std::size_t i = 0; constraints && i < constraints.size(); ++i)
  {
    const std::string type = constraints[i]["type"].as<std::string>();
    const bool formula = type == "formula" && constraints[i]["rows"].size() == 1 &&
                         string_of(constraints[i], "level", "") != "acceleration" &&
                         !constraints[i]["friction"] && !constraints[i]["law"];
    if (
      (formula || type == "joint_coupling") && !constraints[i]["repeat"] &&
      !constraints[i]["unilateral"] &&
      !is_named(original.scenario, constraints[i]["name"].as<std::string>()))
    {
      rows.push_back(constraints[i]);
    }
  }
  if (rows.empty() || names.size() < 2)
  {
    return std::nullopt;
  }
  const double angle = random.magnitude(1e-15, 1e-2);
  const YAML::Node row = random.pick(rows);
  const std::string y = random.pick(names);
  Changed result;
  result.changed = original;
  YAML::Node again = YAML::Clone(row);
  again["name"] = unused_name(original.scenario, "almost");
  if (row["type"].as<std::string>() == "joint_coupling")
  {
    double largest = 0.0;
    double old = 0.0;
    if (!is_plain(row["terms"]) || !is_plain(row["offset"]))
    {
      return std::nullopt;
    }
    for (const auto & term : row["terms"])
    {
      largest = std::max(largest, std::abs(term.second.as<double>()));
      old = term.first.as<std::string>() == y ? term.second.as<double>() : old;
    }
    const double offset = row["offset"] ? row["offset"].as<double>() : 0.0;
    again["terms"][y] = text(old + angle * largest);
    again["offset"] = text(offset + angle * largest * twin.q.at(y));
  }
  else
  {
    for (auto item : again["rows"])
    {
      YAML::Node formula = again["rows"].IsMap() ? item.second : static_cast<YAML::Node &>(item);
      const bool position = row["level"].as<std::string>() == "position";
      formula = "(" + formula.as<std::string>() + ") + " + text(angle) + "*(" +
                (position ? quoted(y) + " - (" + text(twin.q.at(y)) + ")" : quoted("d" + y)) + ")";
    }
  }
  result.changed.scenario["constraints"].push_back(again);
  result.expected = angle <= kNothing ? Expected::kSame
                    : angle <= 1e-9   ? Expected::kSameOrNot
                                      : Expected::kJudge;
  result.multipliers = false;
  result.wrenches = false;
  result.rank = result.expected != Expected::kJudge;
  result.detail = "copy of a row, angle " + text(angle);
  return result;
}

/// Two planes through one point at a small angle.
std::optional<Changed> almost_one_plane(const Case & original, Random & random)
{
  if (!original.mechanism || original.mechanism->links.empty())
  {
    return std::nullopt;
  }
  const Mechanism & mechanism = *original.mechanism;
  const int link = random_link(mechanism, random);
  const double angle = random.magnitude(1e-15, 1e-2);
  Changed result;
  result.changed = original;
  YAML::Node & scenario = result.changed.scenario;
  const Frame frame = add_point(scenario, "on_planes", mechanism, link, random);
  const Eigen::Vector3d n = random.direction();
  for (const Eigen::Vector3d & normal :
       {n, Eigen::Vector3d(n + angle * n.cross(random.direction()).normalized())})
  {
    add_plane(scenario, "plane", mechanism, frame, normal);
  }
  result.expected = Expected::kJudge;
  result.detail = "two planes, angle " + text(angle);
  return result;
}

/// Hinges of a closed mechanism that are not quite parallel any more. At rest, so that rows which
/// were redundant do not contradict each other.
std::optional<Changed> tilt_axis(const Case & original, Random & random)
{
  if (!original.mechanism || original.mechanism->closures.empty())
  {
    return std::nullopt;
  }
  auto mechanism = std::make_shared<Mechanism>(*original.mechanism);
  const double angle = random.magnitude(1e-15, 1e-2);
  Link & link = mechanism->links[static_cast<std::size_t>(random_link(*mechanism, random))];
  link.axis = (link.axis + angle * link.axis.cross(random.direction()).normalized()).normalized();
  // All that was closed stays so: each frame B, and what the others go through, moves along.
  for (std::size_t k = 0; k < mechanism->constraints.size(); ++k)
  {
    const YAML::Node & constraint = mechanism->constraints[k];
    if (constraint["type"].as<std::string>() != "frame_coincidence")
    {
      continue;
    }
    const auto find = [&](const Mechanism & m, const char * key)
    {
      return std::find_if(
        m.frames.begin(), m.frames.end(),
        [&](const Frame & f) { return f.name == constraint[key].as<std::string>(); });
    };
    const Mechanism & old = *original.mechanism;
    const Eigen::Isometry3d relative =
      old.frame_pose(*find(old, "frame_a")).inverse() * old.frame_pose(*find(old, "frame_b"));
    const Eigen::Isometry3d world = mechanism->frame_pose(*find(*mechanism, "frame_a")) * relative;
    Frame & b = mechanism->frames[static_cast<std::size_t>(
      find(*mechanism, "frame_b") - mechanism->frames.cbegin())];
    b.pose = pose_of(mechanism->body_pose(b.link).inverse() * world);
  }
  mechanism->u.setZero();
  Changed result = rewritten(original, mechanism);
  result.expected = Expected::kJudge;
  result.detail = link.joint + " tilted by " + text(angle);
  return result;
}

/// Accelerations that cannot both be.
std::optional<Changed> contradict(const Case & original, const Result & twin, Random & random)
{
  const std::vector<std::string> names = rated_coordinates(original, twin);
  if (names.empty() || !twin.has_solution())
  {
    return std::nullopt;
  }
  const std::string acceleration = quoted("dd" + random.pick(names));
  const double a = random.uniform(-1.0, 1.0);
  const double gap = (1.0 + twin.udot.values.cwiseAbs().maxCoeff()) * random.magnitude(0.1, 10.0);
  const std::string factor = text(random.sign() * random.magnitude(1e-3, 1e3));
  Changed result;
  result.changed = original;
  result.changed.scenario["constraints"].push_back(formula_constraint(
    unused_name(original.scenario, "contradiction"), "acceleration",
    {acceleration + " - (" + text(a) + ")",
     factor + "*(" + acceleration + " - (" + text(a + gap) + "))"}));
  result.expected = Expected::kNotOk;
  result.detail = acceleration + " is " + text(a) + " and " + text(a + gap);
  return result;
}

}  // namespace

std::vector<Transformation> small_row_transformations()
{
  const std::string small =
    "up to 1e3 ε of its possible size a row is redundant, from there to 1e-8 `singular`";
  return {
    {"row that cancels", "systems with two coordinates that have rates", small,
     [](const Case & c, const Result & twin, Random & random)
     { return cancelling_formula(c, twin, random); }},
    {"joint written twice", "generated trees (the axis must be known)", "all the same",
     [](const Case & c, const Result &, Random & random) { return repeat_joint(c, random); }},
    {"kept in its plane", "generated trees: bodies that move in a plane", small,
     [](const Case & c, const Result &, Random & random) { return keep_in_plane(c, random); }},
    {"row almost repeated", "formula (one row), joint_coupling", small + ", above the judge",
     [](const Case & c, const Result & twin, Random & random)
     { return almost_a_copy(c, twin, random); }},
    {"planes almost parallel", "generated trees (the point must be known)", "the judge",
     [](const Case & c, const Result &, Random & random) { return almost_one_plane(c, random); }},
    {"hinges almost parallel", "generated trees with loops", "the judge",
     [](const Case & c, const Result &, Random & random) { return tilt_axis(c, random); }},
    {"contradiction", "systems with a coordinate that has a rate", "any status but ok",
     [](const Case & c, const Result & twin, Random & random)
     { return contradict(c, twin, random); }},
  };
}

}  // namespace invariance
