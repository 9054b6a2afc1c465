// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "constrained_dynamics/constraints/file_constraints.hpp"
#include "constrained_dynamics/formulations/multiplier_formulation.hpp"
#include "names.hpp"
#include "scenario/scenario_contacts.hpp"
#include "scenario/scenario_formulation.hpp"
#include "scenario/scenario_initial.hpp"
#include "scenario/scenario_keys.hpp"
#include "scenario/scenario_multipliers.hpp"
#include "scenario/scenario_parts.hpp"
#include "scenario/scenario_run.hpp"
#include "scenario/scenario_servo_start.hpp"
#include "scenario/scenario_system.hpp"
#include "scenario/scenario_tree.hpp"

namespace constrained_dynamics
{

namespace
{

bool has_name(
  const std::vector<std::shared_ptr<const Constraint>> & constraints, const std::string & name)
{
  return std::any_of(
    constraints.begin(), constraints.end(),
    [&](const auto & constraint) { return constraint->name() == name; });
}

/// Loops and couplings that the descriptions state.
void add_file_constraints(
  const ScenarioReader & reader, const ScenarioSystem & system,
  std::vector<std::shared_ptr<const Constraint>> & constraints, std::vector<bool> & active)
{
  for (const FileConstraint & stated : system.file_constraints)
  {
    if (has_name(constraints, stated.name))
    {
      reader.fail_here(
        "constraint '" + stated.name + "' is stated twice: there, and by " + stated.source +
        "; allowed: another name, or 'file_constraints: ignore' of the robot");
    }
    constraints.push_back(make_file_constraint(stated, *system.system));
    active.push_back(stated.active);
  }
}

/// Couplings for the mimic joints of the descriptions.
void add_mimics(
  const ScenarioSystem & system, std::vector<std::shared_ptr<const Constraint>> & constraints,
  std::vector<bool> & active, std::vector<std::string> & warnings)
{
  const RigidBodySystem & robot = *system.robot;
  const std::vector<std::string> & names = robot.coordinate_names();
  const auto exists = [&](const std::string & name) { return contains(names, name); };
  for (const RigidBodySystem::Mimic & mimic : robot.mimics())
  {
    if (has_name(constraints, mimic_name(mimic)) || !exists(mimic.joint))
    {
      continue;
    }
    if (!exists(mimic.source))
    {
      warnings.push_back(
        "joint '" + mimic.joint + "' mimics '" + mimic.source + "', which does not move; ignored");
      continue;
    }
    constraints.push_back(make_mimic(mimic, *system.system));
    active.push_back(true);
  }
}

/// Deactivates, in a workspace, the constraints that are not active at the start.
void switch_constraints(const std::vector<bool> & active, Workspace & workspace)
{
  for (std::size_t i = 0; i < active.size(); ++i)
  {
    workspace.set_active(static_cast<int>(i), active[i]);
  }
}

/// An initial state that also satisfies the rows of servo-constraints.
State read_initial_on_servo(
  const ScenarioReader & initial, const ScenarioReader & names, const ScenarioSystem & system,
  const ScenarioParts & out)
{
  std::vector<std::shared_ptr<const Constraint>> constraints = out.constraints;
  const auto rows = servo_rows_at_start(names, out.servo, initial.number_or("time", 0.0));
  constraints.insert(constraints.end(), rows.begin(), rows.end());
  DynamicsOptions options = out.dynamics->options();
  options.stabilisation = Stabilisation::projection();
  return make_at(
    names,
    [&]
    {
      const Dynamics dynamics(ConstraintSet(system.system, constraints), options);
      Workspace workspace = Workspace::unanalysed(dynamics);
      switch_constraints(out.active, workspace);
      return read_initial(initial, system, dynamics, workspace, true);
    });
}

/// Refuses a state inside a rigid obstacle, and Dahl's law on the wrong coordinate.
void check_contacts(
  const ScenarioReader & initial, Workspace & workspace, const ScenarioParts & out)
{
  const double allowed = initial.positive_or("tolerance", 1e-9);
  const State & state = out.initial;
  if (
    (out.contacts->contacts().empty() && out.contacts->frictions().empty()) ||
    out.dynamics->evaluate_rows(state.time, state.q, state.u, workspace) != Status::kOk)
  {
    return;
  }
  const ConstraintSet & set = out.dynamics->constraints();
  for (std::size_t i = 0; i < out.contacts->contacts().size(); ++i)
  {
    const Contact & contact = out.contacts->contacts()[i];
    const double depth =
      contact.side * workspace.rows().position(set.row_offset(contact.constraint)) -
      contact.tolerance;
    if (
      depth > allowed && !out.contacts->is_compliant(static_cast<int>(i)) &&
      contact.stiffness == 0.0)
    {
      initial.fail_here(
        "the initial coordinates are " + format_number(depth) + " inside contact '" +
        set[contact.constraint].name() + "'; allowed: at most " + format_number(allowed));
    }
  }
  for (const DryFriction & friction : out.contacts->frictions())
  {
    const int row = set.row_offset(friction.constraint);
    if (
      friction.dahl_stiffness > 0.0 &&
      !(workspace.rows().jacobian.row(row) -
        workspace.terms().kinematic_matrix.row(friction.coordinate))
         .isZero(1e-9))
    {
      initial.fail_here(
        "friction '" + set[friction.constraint].name() + "' has Dahl's law on coordinate '" +
        out.dynamics->system().coordinate_names()[static_cast<std::size_t>(friction.coordinate)] +
        "'; allowed: the coordinate whose rate is its row");
    }
  }
}

/// All constraints, including those of robot descriptions, and which of them switch during a run.
ConstraintSet build_rows(
  const ScenarioReader & root, const ScenarioSystem & system, ScenarioParts & out)
{
  ScenarioContacts contacts;
  if (const auto constraints = root.find("constraints"))
  {
    out.constraints = build_constraints(*constraints, *system.system, out.active, contacts);
  }
  return make_at(
    root,
    [&]
    {
      if (system.robot != nullptr)
      {
        add_file_constraints(root.at("system"), system, out.constraints, out.active);
        add_joint_frictions(root.at("system"), system, out.constraints, out.active, contacts);
        add_mimics(system, out.constraints, out.active, out.warnings);
      }
      if (out.run.limits == LimitMode::kStop)
      {
        const std::size_t first = out.constraints.size();
        add_limit_stops(
          *system.system, read_stop_restitution(root), out.constraints, contacts.contacts);
        out.active.resize(out.constraints.size(), false);
        out.stops.resize(out.constraints.size() - first);
        std::iota(out.stops.begin(), out.stops.end(), static_cast<int>(first));
      }
      ConstraintSet set(system.system, out.constraints);
      out.contacts = std::make_shared<const ContactSet>(set, contacts.contacts, contacts.frictions);
      if (const auto events = root.find("events"))
      {
        const auto initial = root.find("initial");
        const double start = initial && initial->has("time") ? initial->at("time").number() : 0.0;
        out.changes = read_events(*events, set, *out.contacts, start);
      }
      return set;
    });
}

/// Formulas of the inputs, one each; "0" where none is given, and where MultiplierForces has it.
std::vector<std::string> read_inputs(
  const std::optional<ScenarioReader> & inputs, const std::vector<std::string> & names,
  const SignalNames & of_forces)
{
  std::vector<std::string> formulas(names.size(), "0");
  if (!inputs)
  {
    return formulas;
  }
  for (const auto & [name, formula] : inputs->entries())
  {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
    {
      formula.fail_here("no such input" + suggest(name, names));
    }
    if (!of_forces.uses_multipliers(formula.formula()))
    {
      formulas[static_cast<std::size_t>(found - names.begin())] = formula.formula();
    }
  }
  return formulas;
}

void build_signals(
  const ScenarioReader & root, const ScenarioSystem & system, const SignalNames & of_forces,
  ScenarioParts & out)
{
  const std::unique_ptr<const SignalNames> of_solution =
    signal_names(root, out.dynamics->constraints(), SignalScope::kSolution);
  const auto inputs = root.find("inputs");
  std::vector<std::string> formulas = read_inputs(inputs, system.system->input_names(), of_forces);
  for (std::size_t i = 0; i < system.wrenches.size(); ++i)
  {
    for (const std::string & formula : system.wrenches[i].formulas)
    {
      formulas.push_back(of_forces.uses_multipliers(formula) ? "0" : formula);
    }
    out.wrenches.push_back(static_cast<int>(i));
  }
  std::vector<std::string> observed;
  if (const auto observe = root.find("observe"))
  {
    for (const auto & [name, formula] : observe->entries())
    {
      check_formula(*of_solution, formula, formula.formula());
      out.observable_names.push_back(name);
      observed.push_back(formula.formula());
    }
  }
  make_at(
    root,
    [&]
    {
      if (inputs || !system.wrenches.empty())
      {
        out.input_signals = std::make_shared<const SignalProgram>(of_forces.compile(formulas));
      }
      out.observables = of_solution->compile(observed);
    });
}

/// Warnings about what the robot descriptions state and the scenario does not apply.
std::vector<std::string> read_warnings(const ScenarioReader & root, const ScenarioSystem & system)
{
  if (system.robot == nullptr)
  {
    return {};
  }
  std::vector<std::string> warnings = system.robot->warnings();
  if (root.at("system").boolean_or("model_friction", true))
  {
    // The scenario applies it.
    warnings.erase(
      std::remove_if(
        warnings.begin(), warnings.end(),
        [](const std::string & warning)
        { return warning.find("states a dry friction") != std::string::npos; }),
      warnings.end());
  }
  return warnings;
}

/// Builds everything from the expanded tree.
/// @param nothing an empty map: sections that are absent read like it.
void build_parts(
  const ScenarioReader & root, const ScenarioNode & nothing, const ScenarioLoadOptions & options,
  ScenarioParts & out)
{
  const auto section = [&](const std::string & key)
  {
    const auto found = root.find(key);
    return found ? *found : ScenarioReader(nothing, key, root.scope());
  };
  const ScenarioReader initial = section("initial");
  initial.allow_keys({"time", "q", "u", "rates", "solve", "servo", "tolerance"});
  out.run = read_run(section("run"), initial.number_or("time", 0.0));
  DynamicsOptions dynamics_options = read_options(section("options"));
  dynamics_options.stabilisation =
    read_stabilisation(section("stabilisation"), out.run.integration.step);

  const ScenarioSystem system = build_system(root.at("system"), initial);
  out.profile = system.profile;
  out.warnings = read_warnings(root, system);
  const ConstraintSet set = build_rows(root, system, out);
  const std::unique_ptr<const SignalNames> of_state = signal_names(root, set, SignalScope::kState);
  const std::unique_ptr<const SignalNames> of_forces =
    signal_names(root, set, SignalScope::kForces);
  const auto formulation = root.find("formulation");
  std::shared_ptr<const Formulation> solver =
    build_formulation(formulation, {*system.system, *of_state});
  if (auto forces = build_multiplier_forces(root, system, set, *of_forces))
  {
    solver = std::make_shared<const MultiplierFormulation>(std::move(solver), std::move(forces));
  }
  out.dynamics =
    make_at(root, [&] { return std::make_shared<const Dynamics>(set, dynamics_options, solver); });
  build_signals(root, system, *of_forces, out);
  out.servo = read_servo(
    root, out.dynamics, system.robot, is_adaptive(out.run.integration.integrator), out.stops);

  Workspace workspace = Workspace::unanalysed(*out.dynamics);
  switch_constraints(out.active, workspace);
  const auto on_servo = initial.find("servo");
  out.initial = on_servo && options.assemble
                  ? read_initial_on_servo(initial, *on_servo, system, out)
                  : read_initial(initial, system, *out.dynamics, workspace, options.assemble);
  if (options.assemble)
  {
    check_formulation(formulation, *out.dynamics, out.initial, workspace);
    check_contacts(initial, workspace, out);
  }
}

}  // namespace

void build_scenario(
  const std::string & text, const std::string & source, const std::filesystem::path & folder,
  const std::vector<std::string> & overrides, const ScenarioLoadOptions & options,
  ScenarioParts & out)
{
  ScenarioNode raw = parse_scenario(text, source);
  for (const std::string & assignment : overrides)
  {
    apply_override(raw, assignment);
  }
  ScenarioScope scope;
  scope.source = source;
  scope.folder = folder;
  const ScenarioReader unexpanded(raw, "", scope);
  unexpanded.allow_keys(scenario_keys());
  read_names(unexpanded, scope);
  const ScenarioNode expanded = expand_scenario(raw, scope);
  const ScenarioReader root(expanded, "", scope);
  out.name = root.string_or("name", std::filesystem::path(source).stem().string());
  out.description = root.string_or("description", "");
  out.parameters = scope.names.parameters;

  ScenarioNode nothing;
  nothing.kind = ScenarioNode::Kind::kMap;
  nothing.line = expanded.line;
  build_parts(root, nothing, options, out);
}

}  // namespace constrained_dynamics
