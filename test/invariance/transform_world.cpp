// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <cmath>

#include "document.hpp"
#include "mechanism.hpp"
#include "transformation.hpp"

namespace invariance
{

namespace
{

bool is_textbook(const YAML::Node & scenario)
{
  return static_cast<bool>(scenario["system"]["coordinates"]);
}

Pose turned(const Eigen::Isometry3d & X, const YAML::Node & pose)
{
  return pose_of(X * pose_from(pose).isometry());
}

YAML::Node numbers(const RealTriple & vector)
{
  return flow_list(
    {text(vector[0].convert_to<double>()), text(vector[1].convert_to<double>()),
     text(vector[2].convert_to<double>())});
}

/// Formulas of a pose become numbers.
void evaluate_pose(const Document & document, YAML::Node item)
{
  for (const char * key : {"xyz", "rpy"})
  {
    if (item["pose"] && item["pose"][key])
    {
      item["pose"][key] = numbers(document.triple(item["pose"][key]));
    }
  }
}

/// Gravity and poses in the world as numbers, and items that are repeated written one by one.
void evaluate_places(YAML::Node system, const Document & document)
{
  if (system["gravity"])
  {
    system["gravity"] = numbers(document.triple(system["gravity"]));
  }
  evaluate_pose(document, system);
  for (const char * key : {"robots", "bodies", "frames"})
  {
    if (!system[key])
    {
      continue;
    }
    YAML::Node items(YAML::NodeType::Sequence);
    for (YAML::Node item : document.items(system[key]))
    {
      evaluate_pose(document, item);
      items.push_back(item);
    }
    system[key] = items;
  }
}

/// Turns the list of poses of items that stand in the world.
void turn_items(const Eigen::Isometry3d & X, YAML::Node items, bool only_in_world)
{
  for (YAML::Node item : items)
  {
    if (!only_in_world || string_of(item, "parent", "world") == "world")
    {
      item["pose"] = node(turned(X, item["pose"]));
    }
  }
}

/// `px(f)` in axes and from the origin of the old world, in terms of the new one.
std::string old_component(
  char quantity, int axis, const std::string & frame, const Eigen::Isometry3d & X)
{
  std::string sum = "(";
  for (int i = 0; i < 3; ++i)
  {
    const std::string component =
      std::string(1, quantity) + static_cast<char>('x' + i) + "(" + frame + ")";
    const double shift = quantity == 'p' ? X.translation()(i) : 0.0;
    sum += (i == 0 ? "(" : " + (") + text(X.linear()(i, axis)) + ")*(" + component + " - (" +
           text(shift) + "))";
  }
  return sum + ")";
}

/// Replaces px(f), …, wz(f) in a formula.
std::string turn_formula(const std::string & formula, const Eigen::Isometry3d & X)
{
  std::string result;
  for (std::size_t i = 0; i < formula.size();)
  {
    const bool starts = i == 0 || (std::isalnum(static_cast<unsigned char>(formula[i - 1])) == 0 &&
                                   formula[i - 1] != '_');
    const bool is_component = starts && i + 2 < formula.size() &&
                              std::string("pvw").find(formula[i]) != std::string::npos &&
                              formula[i + 1] >= 'x' && formula[i + 1] <= 'z' &&
                              formula[i + 2] == '(';
    const std::size_t end = is_component ? formula.find(')', i) : std::string::npos;
    if (end == std::string::npos)
    {
      result += formula[i++];
      continue;
    }
    result +=
      old_component(formula[i], formula[i + 1] - 'x', formula.substr(i + 3, end - i - 3), X);
    i = end + 1;
  }
  return result;
}

void turn_formulas(const Eigen::Isometry3d & X, YAML::Node node)
{
  if (node.IsScalar())
  {
    const std::string turned_text = turn_formula(node.Scalar(), X);
    if (turned_text != node.Scalar())
    {
      node = turned_text;
    }
    return;
  }
  for (auto item : node)
  {
    turn_formulas(X, node.IsMap() ? item.second : static_cast<YAML::Node &>(item));
  }
}

/// External wrenches that are given in world axes.
void turn_external(const Eigen::Isometry3d & X, YAML::Node externals)
{
  for (YAML::Node external : externals)
  {
    if (string_of(external, "expressed_in", "world") != "world")
    {
      continue;
    }
    for (const char * key : {"force", "torque"})
    {
      if (!external[key])
      {
        continue;
      }
      const std::vector<std::string> old = strings_of(external[key]);
      std::vector<std::string> components;
      for (int i = 0; i < 3; ++i)
      {
        std::string sum;
        for (int k = 0; k < 3; ++k)
        {
          sum += (k == 0 ? "(" : " + (") + text(X.linear()(i, k)) + ")*(" +
                 old[static_cast<std::size_t>(k)] + ")";
        }
        components.push_back(sum);
      }
      external[key] = flow_list(components);
    }
  }
}

/// Constraints and servo-constraints that count from the world count from a frame in it instead.
bool turn_references(YAML::Node items, const std::string & turned_world)
{
  for (YAML::Node item : items)
  {
    const std::string type = item["type"].as<std::string>();
    if (type == "centre_of_mass" || type == "energy")
    {
      return false;  // rows along the axes of the world; a potential that counts from its origin
    }
    if (string_of(item, "frame_a", "") == "world")
    {
      item["frame_a"] = turned_world;
    }
    if (item["frame_a"] && string_of(item, "frame_b", "world") == "world")
    {
      item["frame_b"] = turned_world;
    }
  }
  return true;
}

bool turn_world(YAML::Node scenario, const Eigen::Isometry3d & X, bool turn_gravity)
{
  YAML::Node system = scenario["system"];
  if (is_textbook(scenario))
  {
    return false;
  }
  try
  {
    evaluate_places(system, Document(scenario, ""));
  }
  catch (const Unsupported &)
  {
    return false;
  }
  if (turn_gravity)
  {
    const Eigen::Vector3d gravity =
      system["gravity"] ? vector_from(system["gravity"]) : Eigen::Vector3d(0.0, 0.0, -9.81);
    system["gravity"] = node(Eigen::Vector3d(X.linear() * gravity));
  }
  if (system["urdf"] || system["mjcf"] || system["sdf"])
  {
    system["pose"] = node(turned(X, system["pose"]));
  }
  for (const char * key : {"definitions", "inputs", "constraints", "servo"})
  {
    turn_formulas(X, scenario[key]);
  }
  turn_formulas(X, system["definitions"]);
  turn_formulas(X, system["external"]);
  turn_external(X, system["external"]);
  const std::string name = unused_name(scenario, "turned_world");
  turn_items(X, system["robots"], false);
  turn_items(X, system["bodies"], false);
  turn_items(X, system["frames"], true);
  if (
    !turn_references(scenario["constraints"], name) || !turn_references(scenario["servo"], name) ||
    !turn_references(system["force_elements"], name))
  {
    return false;
  }
  add_frame(scenario, name, "world", pose_of(X));
  return true;
}

std::optional<Changed> in_turned_world(
  const Case & original, const Eigen::Isometry3d & X, bool turn_gravity)
{
  Changed result;
  result.changed = original;
  if (!turn_world(result.changed.scenario, X, turn_gravity))
  {
    return std::nullopt;
  }
  result.undo = [X](Result & r)
  {
    for (ConstraintWrench & wrench : r.wrenches)
    {
      wrench.point = X.inverse() * wrench.point;
      wrench.force = X.linear().transpose() * wrench.force;
      wrench.torque = X.linear().transpose() * wrench.torque;
    }
  };
  result.detail = "rpy " + text(pose_of(X).rpy.x()) + " " + text(pose_of(X).rpy.y()) + " " +
                  text(pose_of(X).rpy.z());
  return result;
}

/// Zero where the judge cannot read the scenario.
Eigen::Vector3d gravity_of(const YAML::Node & scenario)
{
  const YAML::Node gravity = scenario["system"]["gravity"];
  try
  {
    return gravity ? vector_from(numbers(Document(scenario, "").triple(gravity)))
                   : Eigen::Vector3d(0.0, 0.0, -9.81);
  }
  catch (const Unsupported &)
  {
    return Eigen::Vector3d::Zero();
  }
}

std::optional<Changed> mirror(const Case & original)
{
  if (!original.mechanism || !original.mechanism->formula_rows.empty())
  {
    return std::nullopt;
  }
  auto mechanism = std::make_shared<Mechanism>(mirrored(*original.mechanism));
  Changed result = rewritten(original, mechanism);
  const YAML::Node constraints = YAML::Clone(original.scenario["constraints"]);
  result.undo = [constraints](Result & r)
  {
    const auto ends_with = [](const std::string & name, const char * end)
    {
      const std::string tail = end;
      return name.size() > tail.size() &&
             name.compare(name.size() - tail.size(), tail.size(), tail) == 0;
    };
    for (Named * values : {&r.udot, &r.u, &r.force})
    {
      for (std::size_t i = 0; i < values->names.size(); ++i)
      {
        const std::string & name = values->names[i];
        if (
          name[0] != 'd' &&
          (ends_with(name, "_vy") || ends_with(name, "_wx") || ends_with(name, "_wz")))
        {
          values->values(static_cast<Eigen::Index>(i)) *= -1.0;
        }
      }
    }
    for (std::size_t i = 0; i < r.multipliers.names.size(); ++i)
    {
      const std::string & name = r.multipliers.names[i];
      if (ends_with(name, "/y") || ends_with(name, "/rx") || ends_with(name, "/rz"))
      {
        r.multipliers.values(static_cast<Eigen::Index>(i)) *= -1.0;
      }
    }
    const Eigen::Vector3d M(1.0, -1.0, 1.0);
    for (ConstraintWrench & wrench : r.wrenches)
    {
      wrench.point = wrench.point.cwiseProduct(M);
      wrench.force = wrench.force.cwiseProduct(M);
      wrench.torque = -wrench.torque.cwiseProduct(M);
    }
  };
  // The two directions across a line are chosen by the library.
  for (const YAML::Node & constraint : constraints)
  {
    result.multipliers =
      result.multipliers && constraint["type"].as<std::string>() != "point_on_line";
  }
  return result;
}

}  // namespace

std::vector<Transformation> world_transformations()
{
  return {
    {"world turned",
     "robots and bodies; not for rows along the axes of the world (centre_of_mass) or from its "
     "origin (energy); textbook systems have no world",
     "u̇, F^c, λ, rank the same; wrenches turn along",
     [](const Case & c, const Result &, Random & random) -> std::optional<Changed>
     {
       Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
       X.translation() = random.vector(3.0);
       const Eigen::Vector3d axis =
         random.chance(0.5) ? Eigen::Vector3d::Unit(random.integer(0, 2)) : random.direction();
       const double angle =
         random.chance(0.3) ? M_PI_2 * random.integer(1, 3) : random.uniform(-3.1, 3.1);
       X.linear() = Eigen::AngleAxisd(angle, axis).toRotationMatrix();
       return in_turned_world(c, X, true);
     }},
    {"base turned about gravity", "as world turned", "all the same; wrenches turn along",
     [](const Case & c, const Result &, Random & random) -> std::optional<Changed>
     {
       if (is_textbook(c.scenario))
       {
         return std::nullopt;
       }
       const Eigen::Vector3d gravity = gravity_of(c.scenario);
       if (gravity.norm() == 0.0)
       {
         return std::nullopt;
       }
       Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
       X.linear() =
         Eigen::AngleAxisd(random.uniform(-3.1, 3.1), gravity.normalized()).toRotationMatrix();
       return in_turned_world(c, X, false);
     }},
    {"mirrored", "generated trees: the description of a robot is not rewritten",
     "u̇ and F^c of joints the same, axial vectors and y change their sign",
     [](const Case & c, const Result &, Random &) { return mirror(c); }},
  };
}

}  // namespace invariance
