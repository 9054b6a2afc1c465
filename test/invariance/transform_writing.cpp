// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <map>

#include <Eigen/LU>

#include "mechanism.hpp"
#include "transformation.hpp"

namespace invariance
{

namespace
{

using Names = std::map<std::string, std::string>;

/// New names to old ones.
void rename(Named & values, const Names & old)
{
  for (std::string & name : values.names)
  {
    const auto found = old.find(name);
    name = found == old.end() ? name : found->second;
  }
}

/// Three letters that change the alphabetical order.
std::string word(Random & random, const std::string & unique)
{
  std::string result;
  for (int i = 0; i < 3; ++i)
  {
    result += static_cast<char>((random.chance(0.5) ? 'a' : 'A') + random.integer(0, 25));
  }
  return result + unique;
}

std::optional<Changed> rename_all(const Case & original, Random & random)
{
  if (!original.mechanism || !original.mechanism->formula_rows.empty())
  {
    return std::nullopt;
  }
  auto mechanism = std::make_shared<Mechanism>(*original.mechanism);
  const std::vector<std::string> old_speeds = mechanism->speeds();
  Names joints;
  Names frames;
  Names back;
  for (std::size_t r = 0; r < mechanism->robots.size(); ++r)
  {
    mechanism->robots[r].name = word(random, std::to_string(r));
  }
  for (std::size_t i = 0; i < mechanism->links.size(); ++i)
  {
    Link & link = mechanism->links[i];
    const std::string & robot = mechanism->robots[static_cast<std::size_t>(link.robot)].name;
    link.name = robot + "_" + word(random, std::to_string(i));
    const std::string joint = robot + "_" + word(random, std::to_string(i) + "j");
    joints[link.joint] = joint;
    back[joint] = link.joint;
    link.joint = joint;
  }
  for (std::size_t i = 0; i < mechanism->frames.size(); ++i)
  {
    const std::string frame = word(random, std::to_string(i) + "f");
    frames[mechanism->frames[i].name] = frame;
    mechanism->frames[i].name = frame;
  }
  Names constraints;
  for (std::size_t i = 0; i < mechanism->constraints.size(); ++i)
  {
    YAML::Node constraint = YAML::Clone(mechanism->constraints[i]);
    const std::string name = word(random, std::to_string(i) + "c");
    constraints[name] = constraint["name"].as<std::string>();
    constraint["name"] = name;
    for (const char * key : {"frame_a", "frame_b"})
    {
      if (constraint[key])
      {
        constraint[key] = frames.at(constraint[key].as<std::string>());
      }
    }
    if (constraint["terms"])
    {
      YAML::Node terms;
      for (const auto & term : constraint["terms"])
      {
        terms[joints.at(term.first.as<std::string>())] = term.second;
      }
      constraint["terms"] = terms;
    }
    mechanism->constraints[i] = constraint;
  }
  const std::vector<std::string> speeds = mechanism->speeds();
  for (std::size_t i = 0; i < speeds.size(); ++i)
  {
    back[speeds[i]] = old_speeds[i];
  }
  mechanism->closures.clear();
  Changed result = rewritten(original, mechanism);
  result.undo = [back, constraints](Result & r)
  {
    for (Named * values : {&r.q, &r.u, &r.udot, &r.force, &r.inputs})
    {
      rename(*values, back);
    }
    for (std::string & row : r.multipliers.names)
    {
      const std::size_t slash = row.find('/');
      row = constraints.at(row.substr(0, slash)) + row.substr(slash);
    }
    for (ConstraintWrench & wrench : r.wrenches)
    {
      wrench.constraint = constraints.at(wrench.constraint);
    }
  };
  return result;
}

void shuffle_list(YAML::Node list, Random & random)
{
  std::vector<OwnNode> items;
  for (const YAML::Node & item : list)
  {
    items.emplace_back(item);
  }
  random.shuffle(items);
  for (std::size_t i = 0; i < items.size(); ++i)
  {
    list[i] = static_cast<const YAML::Node &>(items[i]);
  }
}

std::optional<Changed> reorder(const Case & original, Random & random)
{
  Changed result;
  result.changed = original;
  YAML::Node system = result.changed.scenario["system"];
  bool any = false;
  for (const char * key : {"robots", "bodies"})
  {
    any = any || (system[key] && system[key].size() > 1);
    shuffle_list(system[key], random);
  }
  if (original.mechanism)
  {
    any = any || system["frames"].size() > 1;
    shuffle_list(system["frames"], random);
  }
  if (!any)
  {
    return std::nullopt;
  }
  return result;
}

std::optional<Changed> shift_time(const Case & original, Random & random)
{
  if (original.scenario["servo"] || original.scenario["events"])
  {
    return std::nullopt;
  }
  Changed result;
  result.changed = original;
  YAML::Node & scenario = result.changed.scenario;
  const double shift = random.uniform(-100.0, 100.0);
  YAML::Node initial = scenario["initial"];
  YAML::Node run = scenario["run"];
  if (!is_plain(initial["time"]) || !is_plain(run["until"]))
  {
    return std::nullopt;
  }
  initial["time"] = text((initial["time"] ? initial["time"].as<double>() : 0.0) + shift);
  if (run["until"])
  {
    run["until"] = text(run["until"].as<double>() + shift);
  }
  const std::string old = "(t - (" + text(shift) + "))";
  for (const char * key : {"definitions", "inputs", "constraints"})
  {
    replace_word(scenario[key], "t", old);
  }
  for (const char * key :
       {"definitions", "external", "kinetic", "potential", "force", "inputs", "speeds"})
  {
    replace_word(scenario["system"][key], "t", old);
  }
  result.detail = "by " + text(shift);
  return result;
}

/// A formulation with options: they name speeds.
bool has_own_formulation(const YAML::Node & scenario)
{
  return scenario["formulation"] && scenario["formulation"].IsMap();
}

/// New speeds w = L u with a constant L.
std::optional<Changed> other_speeds(const Case & original, const Result & twin, Random & random)
{
  YAML::Node system = original.scenario["system"];
  const YAML::Node law = original.scenario["servo_law"];
  // Damping in the null space acts on speeds, and so depends on what they are.
  if (
    !system["coordinates"] || system["control_states"] || original.scenario["events"] ||
    (law && law["null_space"]) || has_own_formulation(original.scenario))
  {
    return std::nullopt;
  }
  const Eigen::Index n = twin.u.values.size();
  // What names a speed of its own would have to be rewritten.
  if (system["speeds"])
  {
    for (const std::string & speed : twin.u.names)
    {
      for (const char * key : {"inputs", "constraints", "definitions", "servo"})
      {
        if (mentions(original.scenario[key], speed))
        {
          return std::nullopt;
        }
      }
      const YAML::Node inputs = system["inputs"];
      for (const auto & input : inputs)
      {
        if (input.second[speed])
        {
          return std::nullopt;
        }
      }
      if (mentions(system["force"], speed) || (system["force"] && system["force"][speed]))
      {
        return std::nullopt;
      }
    }
  }
  Eigen::MatrixXd L = Eigen::MatrixXd::Identity(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
  {
    for (Eigen::Index k = 0; k < n; ++k)
    {
      L(i, k) += random.uniform(-0.4, 0.4) / std::sqrt(static_cast<double>(n));
    }
  }
  Changed result;
  result.changed = original;
  YAML::Node & scenario = result.changed.scenario;
  YAML::Node speeds(YAML::NodeType::Map);
  YAML::Node initial(YAML::NodeType::Map);
  const Eigen::VectorXd w = L * twin.u.values;
  std::vector<std::string> names;
  for (Eigen::Index i = 0; i < n; ++i)
  {
    std::string formula;
    for (Eigen::Index k = 0; k < n; ++k)
    {
      const std::string & old = twin.u.names[static_cast<std::size_t>(k)];
      const std::string rate = system["speeds"] ? system["speeds"][old].as<std::string>() : old;
      formula += (k == 0 ? "(" : " + (") + text(L(i, k)) + ")*(" + rate + ")";
    }
    names.push_back(unused_name(original.scenario, "own_speed_" + std::to_string(i)));
    speeds[names.back()] = formula;
    initial[names.back()] = text(w(i));
  }
  scenario["system"]["speeds"] = speeds;
  scenario["initial"]["u"] = initial;
  const std::vector<std::string> old_names = twin.u.names;
  result.undo = [L, names, old_names](Result & r)
  {
    const Eigen::PartialPivLU<Eigen::MatrixXd> lu(L);
    for (Named * values : {&r.u, &r.udot, &r.force})
    {
      if (values->values.size() != L.rows())
      {
        continue;
      }
      const Eigen::VectorXd old = values == &r.force
                                    ? Eigen::VectorXd(L.transpose() * values->values)
                                    : Eigen::VectorXd(lu.solve(values->values));
      values->values = old;
      values->names = old_names;
    }
  };
  return result;
}

Transformation formulation(const std::string & name)
{
  return {
    "formulation " + name,
    "all; canonical_inversion, udwadia_kalaba and projection need a regular inertia",
    "all the same",
    [name](const Case & c, const Result &, Random &) -> std::optional<Changed>
    {
      if (has_own_formulation(c.scenario))
      {
        return std::nullopt;
      }
      Changed result;
      result.changed = c;
      result.changed.arguments.insert(result.changed.arguments.end(), {"--formulation", name});
      if (
        c.scenario["system"]["coordinates"] &&
        (name == "canonical_inversion" || name == "udwadia_kalaba" || name == "projection"))
      {
        result.allowed_status = "singular_inertia";
      }
      return result;
    }};
}

}  // namespace

std::vector<Transformation> writing_transformations()
{
  std::vector<Transformation> result = {
    {"names", "generated trees: the description of a robot is not rewritten",
     "the same by name; joints come in another order",
     [](const Case & c, const Result &, Random & random) { return rename_all(c, random); }},
    {"order of robots", "several robots or bodies; frames of generated trees", "the same by name",
     [](const Case & c, const Result &, Random & random) { return reorder(c, random); }},
    {"time shifted", "no servo (references count from the start), no events", "all the same",
     [](const Case & c, const Result &, Random & random) { return shift_time(c, random); }},
    {"other speeds", "textbook systems where no formula names a speed; robots have their own",
     "u̇ = L⁻¹ ẇ, F^c = Lᵀ F^c_w, λ the same",
     [](const Case & c, const Result & twin, Random & random)
     { return other_speeds(c, twin, random); }},
  };
  for (const char * name :
       {"kane_nonminimal", "kane_minimal", "canonical_inversion", "udwadia_kalaba", "projection",
        "coordinate_partition", "coordinate_partition_full", "coordinate_partition_selected"})
  {
    result.push_back(formulation(name));
  }
  return result;
}

Changed rewritten(const Case & original, const std::shared_ptr<const Mechanism> & mechanism)
{
  Changed result;
  result.changed = original;
  result.changed.scenario = mechanism->scenario();
  result.changed.mechanism = mechanism;
  if (original.scenario["run"])
  {
    result.changed.scenario["run"] = YAML::Clone(original.scenario["run"]);
  }
  return result;
}

const std::vector<Transformation> & transformations()
{
  static const std::vector<Transformation> all = []
  {
    std::vector<Transformation> result;
    for (auto group :
         {world_transformations, row_transformations, loop_transformations,
          small_row_transformations, writing_transformations, unit_transformations,
          robot_file_transformations})
    {
      for (Transformation & transformation : group())
      {
        result.push_back(std::move(transformation));
      }
    }
    return result;
  }();
  return all;
}

}  // namespace invariance
