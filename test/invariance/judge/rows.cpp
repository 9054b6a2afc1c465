// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <set>

#include "system.hpp"

namespace invariance
{
namespace
{

std::size_t at(int i) { return static_cast<std::size_t>(i); }

Row coordinate_row(
  const System & system, const std::string & name,
  const std::vector<std::pair<std::string, Real>> & terms, const Real & offset)
{
  Row row;
  row.name = name;
  row.position = -offset;
  row.a.resize(at(system.size()));
  row.a_size.resize(at(system.size()));
  row.rotational = true;  // if all of its coordinates are angles
  for (const auto & [coordinate, coefficient] : terms)
  {
    if (
      std::find(system.coordinates.begin(), system.coordinates.end(), coordinate) ==
      system.coordinates.end())
    {
      throw Unsupported("coordinate '" + coordinate + "' of " + name);
    }
    const Variable x = system.variable(coordinate);
    row.rotational = row.rotational && system.is_angle(coordinate);
    row.position += coefficient * x.value;
    row.velocity += coefficient * x.rate;
    row.b -= coefficient * x.second;
    row.b_size += abs(coefficient) * x.second_size;
    for (std::size_t j = 0; j < row.a.size(); ++j)
    {
      row.a[j] += coefficient * x.row[j];
      row.a_size[j] += abs(coefficient) * x.row_size[j];
    }
  }
  return row;
}

/// The formula with the sizes that it has when everything moves with at least unit speed: a row
/// that is nonlinear in the speeds and vanishes at rest is small there, not a full row of its own
/// size.
Jet in_motion(const Expression & formula, const Names & names, const EvaluatedFormula & f)
{
  std::vector<Argument> arguments;
  for (const Variable & x : f.variables)
  {
    arguments.push_back({x.value, x.level == 1 ? std::max<Real>(x.value_size, 1) : x.value_size});
  }
  return evaluate(formula, names, f.names, arguments);
}

void add_formula_rows(
  const YAML::Node & item, const std::string & name, const Document & document,
  const System & system, std::vector<Row> & rows)
{
  require_known(item, "formula", {"name", "type", "active", "level", "rows"});
  const std::string level_name = item["level"].as<std::string>();
  const int level = level_name == "position" ? 0 : level_name == "velocity" ? 1 : 2;
  std::vector<std::pair<std::string, std::string>> formulas;
  if (item["rows"].IsMap())
  {
    for (const auto & entry : item["rows"])
    {
      formulas.push_back({entry.first.as<std::string>(), entry.second.as<std::string>()});
    }
  }
  else
  {
    for (const YAML::Node & entry : item["rows"])
    {
      formulas.push_back({"row_" + std::to_string(formulas.size() + 1), entry.as<std::string>()});
    }
  }
  for (const auto & [label, text] : formulas)
  {
    const Expression formula = parse_formula(text);
    const EvaluatedFormula f = evaluate(formula, document.names, system);
    const std::vector<Variable> & x = f.variables;
    const Jet & jet = f.jet;
    const Jet could_be = level == 1 ? in_motion(formula, document.names, f) : jet;
    Row row;
    row.name = name + "/" + label;
    row.level = level;
    row.a.resize(at(system.size()));
    row.a_size.resize(at(system.size()));
    Real first = 0;   // d/dt at u̇ = 0
    Real second = 0;  // d²/dt² at u̇ = 0
    Real first_size = 0;
    Real second_size = 0;
    for (std::size_t k = 0; k < x.size(); ++k)
    {
      if (x[k].level > level)
      {
        throw std::invalid_argument(
          "row '" + row.name + "' uses '" + f.names[k] + "', which is above its level");
      }
      first += jet.gradient[k] * x[k].rate;
      first_size += jet.gradient_size[k] * x[k].rate_size;
      second += jet.gradient[k] * x[k].second;
      second_size += jet.gradient_size[k] * x[k].second_size;
      for (std::size_t l = 0; l < x.size(); ++l)
      {
        const int i = static_cast<int>(k);
        const int j = static_cast<int>(l);
        second += jet.hessian(i, j) * x[k].rate * x[l].rate;
        second_size += jet.hessian_size(i, j) * x[k].rate_size * x[l].rate_size;
      }
      for (std::size_t j = 0; j < row.a.size() && x[k].level == level; ++j)
      {
        row.a[j] += jet.gradient[k] * x[k].row[j];
        row.a_size[j] += could_be.gradient_size[k] * x[k].row_size[j];
      }
    }
    const Real values[3] = {second, first, jet.value};
    const Real sizes[3] = {second_size, first_size, jet.size};
    row.position = level == 0 ? jet.value : Real(0);
    row.velocity = level == 0 ? first : level == 1 ? jet.value : Real(0);
    row.b = -values[level];
    row.b_size = sizes[level];
    rows.push_back(row);
  }
}

}  // namespace

void add_constraint(
  const YAML::Node & item, const Document & document, const System & system, const Real & time,
  std::vector<Row> & rows)
{
  const std::string name = item["name"].as<std::string>();
  const std::string type = item["type"].as<std::string>();
  if (type == "formula")
  {
    add_formula_rows(item, name, document, system, rows);
  }
  else if (type == "joint_coupling")
  {
    require_known(item, type, {"name", "type", "active", "terms", "offset"});
    std::vector<std::pair<std::string, Real>> terms;
    for (const auto & entry : item["terms"])
    {
      terms.push_back({entry.first.as<std::string>(), document.number(entry.second)});
    }
    rows.push_back(
      coordinate_row(system, name + "/coupling", terms, document.number(item, "offset", 0)));
  }
  else if (type == "joint")
  {
    require_known(item, type, {"name", "type", "active", "joint", "joints", "value"});
    std::vector<std::pair<std::string, Real>> wanted;
    if (item["joint"])
    {
      wanted.push_back({item["joint"].as<std::string>(), document.number(item, "value", 0)});
    }
    else if (item["joints"].IsMap())
    {
      for (const auto & entry : item["joints"])
      {
        wanted.push_back({entry.first.as<std::string>(), document.number(entry.second)});
      }
    }
    else
    {
      for (const YAML::Node & entry : item["joints"])
      {
        wanted.push_back({entry.as<std::string>(), 0});
      }
    }
    for (const auto & [coordinate, value] : wanted)
    {
      rows.push_back(coordinate_row(system, name + "/" + coordinate, {{coordinate, 1}}, value));
    }
  }
  else if (type == "prescribed_motion" && item["coordinate"])
  {
    require_known(item, type, {"name", "type", "active", "coordinate", "motion"});
    const std::string coordinate = item["coordinate"].as<std::string>();
    const Jet f = evaluate(
      parse_formula(item["motion"].as<std::string>()), document.names, {"t"}, {{time, abs(time)}});
    Row row = coordinate_row(system, name + "/" + coordinate, {{coordinate, 1}}, f.value);
    row.velocity -= f.gradient[0];
    row.b += f.hessian(0, 0);
    row.b_size += f.hessian_size(0, 0);
    rows.push_back(row);
  }
  else if (!system.add_rows(item, name, type, rows))
  {
    throw Unsupported("constraint type " + type);
  }
}

namespace
{

/// Whether a constraint that comes and goes is out of reach, so that it exerts nothing. Where it
/// touches, more than rows decides.
bool is_open(
  const YAML::Node & item, const Document & document, const System & system, const Real & time)
{
  YAML::Node row_alone = YAML::Clone(item);
  bool above = true;
  if (item["type"].as<std::string>() == "contact")
  {
    require_known(
      item, "contact",
      {"name", "type", "active", "frame_a", "frame_b", "normal", "offset", "radius", "tangent",
       "side", "restitution", "rest_speed", "tolerance", "law", "adhesive", "force", "friction"});
    row_alone = YAML::Node(YAML::NodeType::Map);
    for (const char * key : {"name", "frame_a", "frame_b", "normal", "offset"})
    {
      if (item[key])
      {
        row_alone[key] = item[key];
      }
    }
    if (!item["normal"])
    {
      row_alone["normal"] = std::vector<double>{0.0, 0.0, 1.0};
    }
    row_alone["type"] = "point_on_plane";
  }
  else
  {
    above = text_of(item["unilateral"], "side", "below") == "above";
    row_alone.remove("unilateral");
  }
  std::vector<Row> rows;
  add_constraint(row_alone, document, system, time, rows);
  if (rows.size() != 1)
  {
    throw Unsupported("a unilateral constraint with " + std::to_string(rows.size()) + " rows");
  }
  const Real distance =
    (above ? rows[0].position : Real(-rows[0].position)) - document.number(item, "radius", 0);
  return distance > Real("1e-6");
}

/// b ← b + Γ1 φ̇ + Γ2 φ (position rows), b ← b + Γ ψ (velocity rows).
void stabilise(const Document & document, std::vector<Row> & rows)
{
  const YAML::Node & s = document.stabilisation;
  if (text_of(s, "kind", "projection") != "baumgarte")
  {
    return;
  }
  require_known(
    s, "stabilisation",
    {"kind", "velocity_gain", "position_gain", "nonholonomic_gain", "follow_step"});
  if (s["follow_step"])
  {
    const Real rate =
      document.number(s["follow_step"]) / document.number(document.run, "step", Real(0.001));
    for (Row & row : rows)
    {
      const Real added[3] = {
        -2 * rate * row.velocity - rate * rate * row.position, -rate * row.velocity, 0};
      row.b += added[row.level];
      row.b_size += abs(added[row.level]);
    }
    return;
  }
  // gain · residual over the rows of a level.
  const auto add = [&](const char * key, int level, Real Row::*residual)
  {
    const YAML::Node gain = s[key];
    if (!gain)
    {
      return;
    }
    std::vector<Row *> chosen;
    for (Row & row : rows)
    {
      if (row.level == level)
      {
        chosen.push_back(&row);
      }
    }
    for (std::size_t i = 0; i < chosen.size(); ++i)
    {
      for (std::size_t j = 0; j < chosen.size(); ++j)
      {
        const Real factor = gain.IsSequence() ? document.number(gain[i][j])
                            : i == j          ? document.number(gain)
                                              : Real(0);
        chosen[i]->b += factor * (chosen[j]->*residual);
        chosen[i]->b_size += abs(factor * (chosen[j]->*residual));
      }
    }
  };
  add("velocity_gain", 0, &Row::velocity);
  add("position_gain", 0, &Row::position);
  add("nonholonomic_gain", 1, &Row::velocity);
}

bool is_active(const YAML::Node & item, const Document & document, const Real & time)
{
  bool active = document.truth(item, "active", true);
  for (const YAML::Node & event : document.events)
  {
    if (!event["switch"] || event["switch"].as<std::string>() != item["name"].as<std::string>())
    {
      continue;
    }
    const Real moment = document.number(event["time"]);
    if (moment == time)
    {
      throw Unsupported("a constraint that is switched at the very time of the state");
    }
    if (moment < time)
    {
      active = event["active"].as<bool>();
    }
  }
  return active;
}

}  // namespace

EvaluatedFormula evaluate(const Expression & formula, const Names & names, const System & system)
{
  EvaluatedFormula out;
  out.names = variables_of(formula, names);
  std::vector<Argument> arguments;
  for (const std::string & name : out.names)
  {
    out.variables.push_back(system.variable(name));
    arguments.push_back({out.variables.back().value, out.variables.back().value_size});
  }
  out.jet = evaluate(formula, names, out.names, arguments);
  return out;
}

std::unique_ptr<System> make_system(const Document & document, const State & state)
{
  if (!document.system["coordinates"])
  {
    return make_robots(document, state);
  }
  return document.system["control_states"] ? make_control_states(document, state)
                                           : make_textbook(document, state);
}

std::vector<Row> make_rows(
  const Document & document, const System & system, const Real & time,
  std::vector<YAML::Node> * touching)
{
  std::vector<Row> rows;
  std::set<std::string> slips;  // constraints that are the slip of a contact, which is open
  for (const YAML::Node & item : document.constraints)
  {
    const YAML::Node unilateral = item["unilateral"];
    if (unilateral && unilateral["friction"] && unilateral["friction"].IsMap())
    {
      slips.insert(text_of(unilateral["friction"], "rows", ""));
    }
  }
  for (const YAML::Node & item : document.constraints)
  {
    const bool comes_and_goes = item["unilateral"] || item["type"].as<std::string>() == "contact";
    if (!is_active(item, document, time) || slips.count(item["name"].as<std::string>()) != 0)
    {
      continue;
    }
    if (!comes_and_goes)
    {
      add_constraint(item, document, system, time, rows);
    }
    else if (!is_open(item, document, system, time))
    {
      if (touching == nullptr || item["unilateral"])
      {
        throw Unsupported("contact '" + item["name"].as<std::string>() + "', which touches");
      }
      touching->push_back(item);
    }
  }
  for (const System::Coupling & coupling : system.couplings())
  {
    rows.push_back(
      coordinate_row(system, coupling.name + "/coupling", coupling.terms, coupling.offset));
  }
  stabilise(document, rows);
  return rows;
}

}  // namespace invariance
