// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>

#include "transformation.hpp"

namespace invariance
{

bool is_named(const YAML::Node & scenario, const std::string & name)
{
  for (const YAML::Node & constraint : scenario["constraints"])
  {
    for (const char * key : {"unilateral", "friction"})
    {
      if (constraint[key] && mentions(constraint[key], name))
      {
        return true;
      }
    }
  }
  return mentions(scenario["servo"], name) || mentions(scenario["servo_law"], name);
}

namespace
{

using Labels = std::vector<std::string>;

/// Constraints that are always in force (no contact, no friction, no law) and stand for themselves.
std::vector<int> bilateral_constraints(const YAML::Node & scenario)
{
  std::vector<int> result;
  const YAML::Node constraints = scenario["constraints"];
  for (std::size_t i = 0; constraints && i < constraints.size(); ++i)
  {
    const YAML::Node c = constraints[i];
    const bool plain = !c["unilateral"] && !c["friction"] && !c["law"] && !c["repeat"] &&
                       !c["active"] && c["type"].as<std::string>() != "contact" &&
                       !is_named(scenario, c["name"].as<std::string>());
    if (plain)
    {
      result.push_back(static_cast<int>(i));
    }
  }
  return result;
}

/// Picks one with a property; −1: none has it.
int pick(
  const YAML::Node & scenario, Random & random,
  const std::function<bool(const YAML::Node &)> & property)
{
  std::vector<int> candidates;
  for (const int i : bilateral_constraints(scenario))
  {
    if (property(scenario["constraints"][i]))
    {
      candidates.push_back(i);
    }
  }
  return candidates.empty() ? -1 : random.pick(candidates);
}

bool is_type(const YAML::Node & constraint, const char * type)
{
  return constraint["type"].as<std::string>() == type;
}

/// Rows x y z, or all six.
bool is_full_triple(const YAML::Node & constraint)
{
  if (!is_type(constraint, "frame_coincidence"))
  {
    return false;
  }
  Labels labels = row_labels(constraint);
  std::sort(labels.begin(), labels.end());
  return labels == Labels{"x", "y", "z"} || labels == Labels{"rx", "ry", "rz", "x", "y", "z"};
}

std::optional<Changed> permute(const Case & original, Random & random)
{
  Changed result;
  result.changed = original;
  YAML::Node & scenario = result.changed.scenario;
  const YAML::Node constraints = scenario["constraints"];
  if (!constraints || constraints.size() == 0)
  {
    return std::nullopt;
  }
  std::vector<std::size_t> order(constraints.size());
  for (std::size_t i = 0; i < order.size(); ++i)
  {
    order[i] = i;
  }
  random.shuffle(order);
  YAML::Node shuffled(YAML::NodeType::Sequence);
  for (const std::size_t i : order)
  {
    YAML::Node constraint = YAML::Clone(constraints[i]);
    if (is_type(constraint, "frame_coincidence"))
    {
      Labels labels = row_labels(constraint);
      random.shuffle(labels);
      constraint["rows"] = flow_list(labels);
    }
    shuffled.push_back(constraint);
  }
  scenario["constraints"] = shuffled;
  return result;
}

std::optional<Changed> repeat(const Case & original, Random & random)
{
  Changed result;
  result.changed = original;
  YAML::Node & scenario = result.changed.scenario;
  const int i = pick(scenario, random, [](const YAML::Node &) { return true; });
  if (i < 0)
  {
    return std::nullopt;
  }
  const int copies = random.chance(0.8) ? 1 : 5;
  const std::string name = scenario["constraints"][i]["name"].as<std::string>();
  Labels names;
  for (int k = 0; k < copies; ++k)
  {
    YAML::Node again = YAML::Clone(scenario["constraints"][i]);
    names.push_back(unused_name(scenario, name + "_again"));
    again["name"] = names.back();
    scenario["constraints"].push_back(again);
  }
  result.undo = [name, names](Result & r)
  {
    for (std::size_t row = 0; row < r.multipliers.names.size(); ++row)
    {
      const std::string & label = r.multipliers.names[row];
      for (const std::string & again : names)
      {
        if (label.compare(0, again.size() + 1, again + "/") == 0)
        {
          r.multipliers.at(name + label.substr(again.size())) +=
            r.multipliers.values(static_cast<Eigen::Index>(row));
        }
      }
    }
  };
  result.wrenches = false;
  result.detail = name + " " + std::to_string(copies + 1) + " times";
  return result;
}

/// Multiplies a row by a number: its multiplier is divided by it.
std::optional<Changed> scale(const Case & original, Random & random, bool only_sign)
{
  Changed result;
  result.changed = original;
  YAML::Node & scenario = result.changed.scenario;
  const int i = pick(
    scenario, random,
    [&](const YAML::Node & c)
    {
      return is_type(c, "formula") || is_type(c, "joint_coupling") ||
             (only_sign && is_type(c, "point_on_plane") && is_plain(c["normal"]));
    });
  if (i < 0)
  {
    return std::nullopt;
  }
  YAML::Node constraint = scenario["constraints"][i];
  const double factor = only_sign ? -1.0 : random.sign() * random.magnitude(1e-6, 1e6);
  const auto times = [&](const std::string & formula)
  { return text(factor) + "*(" + formula + ")"; };
  if (is_type(constraint, "formula"))
  {
    for (auto row : constraint["rows"])
    {
      YAML::Node formula = constraint["rows"].IsMap() ? row.second : static_cast<YAML::Node &>(row);
      formula = times(formula.as<std::string>());
    }
  }
  else if (is_type(constraint, "joint_coupling"))
  {
    for (auto term : constraint["terms"])
    {
      term.second = times(term.second.as<std::string>());
    }
    constraint["offset"] = times(string_of(constraint, "offset", "0"));
  }
  else
  {
    constraint["normal"] = node(Eigen::Vector3d(-vector_from(constraint["normal"])));
    constraint["offset"] = times(string_of(constraint, "offset", "0"));
  }
  const std::string prefix = constraint["name"].as<std::string>() + "/";
  result.undo = [prefix, factor](Result & r)
  {
    for (std::size_t row = 0; row < r.multipliers.names.size(); ++row)
    {
      if (r.multipliers.names[row].compare(0, prefix.size(), prefix) == 0)
      {
        r.multipliers.values(static_cast<Eigen::Index>(row)) *= factor;
      }
    }
  };
  result.detail = prefix + " times " + text(factor);
  return result;
}

/// The rotation of B's axes as they are read from the multipliers and the wrench: nothing is known
/// of the frames, so that only wrenches are compared where axes differ.
std::optional<Changed> swap_frames(const Case & original, Random & random)
{
  Changed result;
  result.changed = original;
  YAML::Node & scenario = result.changed.scenario;
  const int i = pick(
    scenario, random,
    [](const YAML::Node & c) { return is_full_triple(c) || is_type(c, "distance"); });
  if (i < 0)
  {
    return std::nullopt;
  }
  YAML::Node constraint = scenario["constraints"][i];
  const std::string name = constraint["name"].as<std::string>();
  const std::string a = constraint["frame_a"].as<std::string>();
  const std::string b = string_of(constraint, "frame_b", "world");
  constraint["frame_a"] = b;
  constraint["frame_b"] = a;
  const std::size_t rows = row_labels(constraint).size();
  // Six rows: the axes coincide, all multipliers change their sign. Three: they turn from one frame
  // to the other. A distance is the same from both ends.
  result.multipliers = rows != 3;
  const double sign = rows == 6 ? -1.0 : 1.0;
  result.undo = [name, sign](Result & r)
  {
    for (std::size_t row = 0; row < r.multipliers.names.size(); ++row)
    {
      if (r.multipliers.names[row].compare(0, name.size() + 1, name + "/") == 0)
      {
        r.multipliers.values(static_cast<Eigen::Index>(row)) *= sign;
      }
    }
    for (ConstraintWrench & wrench : r.wrenches)
    {
      if (wrench.constraint == name)
      {
        wrench.force *= -1.0;
        wrench.torque *= -1.0;
      }
    }
  };
  // The wrench is reported about A's point, which of a distance is another one.
  result.wrenches = rows != 1;
  result.detail = name;
  return result;
}

/// Turns the axes of B (with six rows those of A as well): multipliers turn along.
std::optional<Changed> turn_axes(const Case & original, Random & random)
{
  Changed result;
  result.changed = original;
  YAML::Node & scenario = result.changed.scenario;
  const int i = pick(scenario, random, is_full_triple);
  if (i < 0)
  {
    return std::nullopt;
  }
  YAML::Node constraint = scenario["constraints"][i];
  const std::string name = constraint["name"].as<std::string>();
  const bool six = row_labels(constraint).size() == 6;
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.linear() = random.rotation();
  const auto turn = [&](const char * key, const char * stem)
  {
    const std::string frame = unused_name(scenario, stem);
    add_frame(scenario, frame, string_of(constraint, key, "world"), pose_of(X));
    constraint[key] = frame;
  };
  turn("frame_b", "turned_b");
  if (six)
  {
    turn("frame_a", "turned_a");
  }
  const Eigen::Matrix3d R = X.linear();
  result.undo = [name, R, six](Result & r)
  {
    const std::vector<Labels> triples =
      six ? std::vector<Labels>{{"/x", "/y", "/z"}, {"/rx", "/ry", "/rz"}}
          : std::vector<Labels>{{"/x", "/y", "/z"}};
    for (const Labels & triple : triples)
    {
      if (!r.multipliers.has(name + triple[0]))
      {
        continue;
      }
      Eigen::Vector3d lambda;
      for (int k = 0; k < 3; ++k)
      {
        lambda(k) = r.multipliers.at(name + triple[static_cast<std::size_t>(k)]);
      }
      lambda = R * lambda;
      for (int k = 0; k < 3; ++k)
      {
        r.multipliers.at(name + triple[static_cast<std::size_t>(k)]) = lambda(k);
      }
    }
  };
  result.detail = name;
  return result;
}

}  // namespace

std::vector<Transformation> row_transformations()
{
  return {
    {"rows permuted", "all with constraints", "the same by name",
     [](const Case & c, const Result &, Random & random) { return permute(c, random); }},
    {"rows repeated", "constraints that are always in force",
     "u̇, F^c, rank the same; the sum of a row's multipliers",
     [](const Case & c, const Result &, Random & random) { return repeat(c, random); }},
    {"rows negated", "formula, joint_coupling, point_on_plane", "λ changes its sign",
     [](const Case & c, const Result &, Random & random) { return scale(c, random, true); }},
    {"rows scaled", "formula, joint_coupling (other types have no factor)", "λ is divided by it",
     [](const Case & c, const Result &, Random & random) { return scale(c, random, false); }},
    {"frames swapped",
     "distance, and frame_coincidence with x y z or all six: other rows say "
     "something else in the other frame's axes",
     "λ of six rows and wrenches change their sign",
     [](const Case & c, const Result &, Random & random) { return swap_frames(c, random); }},
    {"axes turned", "frame_coincidence with x y z or all six", "λ turns along, wrenches the same",
     [](const Case & c, const Result &, Random & random) { return turn_axes(c, random); }},
  };
}

}  // namespace invariance
