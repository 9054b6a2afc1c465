// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/scenario.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <filesystem>

#include "common.hpp"
#include "constrained_dynamics/analysis/linearisation.hpp"
#include "constrained_dynamics/scenario/scenario_types.hpp"
#include "dynamics/owned_workspace.hpp"
#include "simulation/simulation.hpp"

namespace constrained_dynamics::python
{

namespace
{

std::shared_ptr<SimulationHandle> make_simulation(const Scenario & scenario)
{
  // The law is the one of the simulation; a second one would have its own scratch memory.
  return std::make_shared<SimulationHandle>(
    scenario.dynamics(), scenario.make_simulation(), scenario.make_input_law());
}

/// What a record takes from a scenario. The copy lives as long as the record.
Record::Extras recorded_extras(const Scenario & scenario)
{
  auto copy = std::make_shared<const Scenario>(scenario);
  const auto observe =
    [copy](const Workspace & workspace, const Eigen::VectorXd & inputs, Eigen::VectorXd & values)
  { return copy->observe(workspace, inputs, values); };
  return {copy->observable_names(), observe, copy->contacts()};
}

}  // namespace

void bind_scenario(nb::module_ & module)
{
  module.def(
    "constraint_descriptions", &scenario_constraint_types, nb::rv_policy::reference,
    "All types of constraints, with those that only scenario files have.");
  using Strings = std::vector<std::string>;
  nb::enum_<LimitMode>(module, "LimitMode", "What limits of robot descriptions do in a simulation.")
    .value("REPORT", LimitMode::kReport, "nothing; runs tell which were exceeded")
    .value("STOP", LimitMode::kStop, "position limits are stops, velocity limits are reported")
    .value("IGNORE", LimitMode::kIgnore, "nothing");
  nb::class_<RunSettings>(module, "RunSettings", "The section `run` of a scenario.")
    .def_ro("until", &RunSettings::until)
    .def_ro("output_interval", &RunSettings::output_interval)
    .def_prop_ro("step", [](const RunSettings & run) { return run.integration.step; })
    .def_prop_ro("integrator", [](const RunSettings & run) { return run.integration.integrator; })
    .def_prop_ro(
      "error_tolerance", [](const RunSettings & run) { return run.integration.error_tolerance; })
    .def_ro("limits", &RunSettings::limits);

  nb::class_<Scenario>(
    module, "Scenario", "A scenario file, read, checked and built. Constant; may be shared.")
    .def_static(
      "load",
      [](const std::filesystem::path & path, const Strings & overrides, bool assemble)
      {
        const nb::gil_scoped_release release;
        return Scenario::load(path.string(), overrides, ScenarioLoadOptions{assemble});
      },
      "path"_a, "overrides"_a = Strings(), nb::kw_only(), "assemble"_a = true)
    .def_static(
      "from_text",
      [](
        const std::string & text, const Strings & overrides, const std::filesystem::path & folder,
        bool assemble)
      {
        const nb::gil_scoped_release release;
        return Scenario::from_text(text, overrides, folder.string(), ScenarioLoadOptions{assemble});
      },
      "text"_a, "overrides"_a = Strings(), nb::kw_only(), "folder"_a = std::filesystem::path("."),
      "assemble"_a = true)
    .def(
      "__getstate__",
      [](const Scenario & s)
      {
        const ScenarioSource & from = s.source();
        return nb::make_tuple(
          from.text, from.path, from.folder, from.overrides, from.options.assemble);
      })
    .def(
      "__setstate__",
      [](
        Scenario & s, const std::tuple<std::string, std::string, std::string, Strings, bool> & from)
      {
        new (&s) Scenario(Scenario::from_source(
          {std::get<0>(from), std::get<1>(from), std::get<2>(from), std::get<3>(from),
           ScenarioLoadOptions{std::get<4>(from)}}));
      })
    .def(
      "__repr__",
      [](const Scenario & s)
      {
        return "Scenario('" + s.name() + "', " + std::to_string(s.system().speed_count()) +
               " speeds, " + std::to_string(s.dynamics()->constraints().row_count()) + " rows)";
      })
    .def_prop_ro("name", &Scenario::name)
    .def_prop_ro("description", &Scenario::description)
    .def_prop_ro("parameters", &Scenario::parameters, "Name and value, in the order of the file.")
    .def_prop_ro("dynamics", &Scenario::dynamics)
    .def_prop_ro(
      "system", [](const Scenario & s) { return s.dynamics()->constraints().shared_system(); })
    .def_prop_ro("contacts", &Scenario::contacts)
    .def_prop_ro(
      "servo_law", &Scenario::servo_law, "The ServoLaw of `servo` and `servo_law`, or None.")
    .def(
      "make_input_law", &Scenario::make_input_law,
      "The law of `inputs`, `external` or `servo` for a Simulation, or None.")
    .def_prop_ro("initial", [](const Scenario & s) { return State(s.initial()); })
    .def_prop_ro("run_settings", [](const Scenario & s) { return RunSettings(s.run()); })
    .def_prop_ro("warnings", &Scenario::warnings)
    .def_prop_ro("observable_names", &Scenario::observable_names)
    .def("make_simulation", &make_simulation, "A simulation at the initial state.")
    .def(
      "make_workspace",
      [](const Scenario & s)
      {
        OwnedWorkspace workspace(*s.dynamics());
        s.switch_constraints(workspace.workspace);
        workspace.workspace.reset(s.initial());
        return workspace;
      },
      nb::keep_alive<0, 1>(),
      "A workspace at the initial state, with what is not active there switched off.")
    .def(
      "run",
      [](
        const Scenario & s, std::optional<double> until, std::optional<double> output_interval,
        const std::optional<nb::callable> & observer)
      {
        const std::shared_ptr<SimulationHandle> simulation = make_simulation(s);
        return run_recorded(
          *simulation, until.value_or(s.run().until),
          output_interval.value_or(s.run().output_interval), observer, recorded_extras(s));
      },
      "until"_a = nb::none(), "output_interval"_a = nb::none(), "observer"_a = nb::none(),
      "Runs the scenario and returns the Record; releases the interpreter's lock.");
  module.def(
    "linearise_scenario",
    [](const Scenario & scenario)
    {
      OwnedWorkspace w(*scenario.dynamics());
      scenario.switch_constraints(w.workspace);
      const Dynamics & d = *scenario.dynamics();
      w.workspace.reset(scenario.initial());
      const std::shared_ptr<InputLaw> law = scenario.make_input_law();
      LinearModel out;
      require_output(
        linearise(
          d, scenario.initial(), Eigen::VectorXd::Zero(d.system().input_count()), law.get(),
          w.workspace, out),
        "linearise_scenario");
      return out;
    },
    "scenario"_a, "Linear model of a scenario at its initial state, its laws of inputs included.");
}

}  // namespace constrained_dynamics::python
