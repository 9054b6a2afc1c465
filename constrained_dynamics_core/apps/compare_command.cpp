// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <cmath>
#include <sstream>

#include "commands.hpp"
#include "formulation_comparison.hpp"
#include "output.hpp"
#include "terminal.hpp"

namespace cdyn
{

namespace cd = constrained_dynamics;

namespace
{

constexpr std::size_t kNameWidth = 31;
constexpr std::size_t kNumberWidth = 9;

std::string cell(double value, int digits = 2)
{
  return pad(std::isfinite(value) ? format(value, digits) : "-", kNumberWidth);
}

std::string without_trailing_blanks(const std::string & line)
{
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

std::string heading(const std::vector<std::string> & columns)
{
  std::string line = pad("formulation", kNameWidth);
  for (const std::string & column : columns)
  {
    line += pad(column, kNumberWidth);
  }
  return without_trailing_blanks(line);
}

/// Name and numbers of a formulation, or why there are none.
std::string line_of(const ComparedFormulation & formulation, const std::string & cells)
{
  return pad(formulation.name, kNameWidth) +
         (formulation.exists()
            ? without_trailing_blanks(cells)
            : "does not exist here: " + std::string(cd::to_string(formulation.status))) +
         "\n";
}

std::string drift_cells(const ComparedRun & run)
{
  const Statistics & statistics = run.statistics;
  const auto violation = [](const Violation & largest)
  { return cell(largest.row >= 0 ? largest.size : std::nan("")); };
  return violation(statistics.position) + violation(statistics.velocity) +
         cell(statistics.energy_change());
}

/// What a line of the table has no room for.
std::string notes_of(const ComparedFormulation & formulation, int samples)
{
  std::ostringstream text;
  if (formulation.exists() && formulation.status != cd::Status::kOk)
  {
    text << formulation.name << ": " << cd::to_string(formulation.status) << " at the start\n";
  }
  if (formulation.status_differences > 0)
  {
    text << formulation.name << ": its status differs from that of the first formulation at "
         << formulation.status_differences << " of " << samples << " states\n";
  }
  const auto add_end = [&](const std::optional<ComparedRun> & run, const char * kind)
  {
    if (run && !run->result.completed)
    {
      text << formulation.name << ": the run" << kind
           << " stopped at t = " << format(run->result.time, 9)
           << " s: " << cd::to_string(run->result.status) << "\n";
    }
  };
  add_end(formulation.run, "");
  add_end(formulation.unstabilised, " without stabilisation");
  return text.str();
}

std::string describe(const cd::Scenario & scenario, const FormulationComparison & comparison)
{
  const ComparedFormulation * const reference = comparison.reference();
  const bool unstabilised = reference != nullptr && reference->unstabilised.has_value();
  std::vector<std::string> columns = {"Δu̇", "Δλ", "µs", "|φ|", "|φ̇|,|ψ|", "ΔE [J]", "Δ end"};
  if (unstabilised)
  {
    columns.insert(columns.end(), {"|φ|", "|φ̇|,|ψ|", "ΔE [J]"});
  }
  const std::string title = scenario.name() + ", " + format(scenario.run().until) + " s, " +
                            cd::to_string(scenario.run().integration.integrator);
  std::ostringstream text;
  text << (unstabilised ? pad(title, kNameWidth + 7 * kNumberWidth) + "without stabilisation"
                        : title)
       << "\n"
       << heading(columns) << "\n";
  std::string notes;
  for (const ComparedFormulation & formulation : comparison.formulations)
  {
    std::string cells;
    if (formulation.run)
    {
      cells = cell(formulation.acceleration) + cell(formulation.multipliers) +
              cell(formulation.times.cycle, 3) + drift_cells(*formulation.run) +
              cell(formulation.run->end_deviation);
    }
    if (formulation.unstabilised)
    {
      cells += drift_cells(*formulation.unstabilised);
    }
    text << line_of(formulation, cells);
    notes += notes_of(formulation, comparison.samples);
  }
  text << notes;
  if (reference != nullptr)
  {
    text << "Δu̇, Δλ: largest deviation from " << reference->name << " at " << comparison.samples
         << " states of its run, relative; µs: a cycle at the start;\n"
            "|φ|, |φ̇|, |ψ|, ΔE: largest violations and change of energy in the run; Δ end: "
            "largest deviation of q, u at the end\n";
  }
  return text.str();
}

void write_run(
  cd::JsonWriter & json, const std::string & name, const std::optional<ComparedRun> & run)
{
  if (!run)
  {
    json.null_entry(name);
    return;
  }
  json.key(name)
    .begin_object()
    .entry("status", cd::to_string(run->result.status))
    .entry("completed", run->result.completed)
    .entry("time", run->result.time)
    .entry("steps", run->result.steps)
    .entry("evaluations", run->result.evaluations)
    .entry("singular_evaluations", run->result.singular_evaluations)
    .entry("inconsistent_evaluations", run->result.inconsistent_evaluations);
  run->statistics.write_violation(json);
  run->statistics.write_energy(json);
  json.entry("end_deviation", run->end_deviation).end_object();
}

void write_times(cd::JsonWriter & json, const ComparedFormulation & formulation)
{
  if (!formulation.exists())
  {
    json.null_entry("microseconds");
    return;
  }
  json.key("microseconds")
    .begin_object()
    .entry("rows", formulation.times.rows)
    .entry("solve", formulation.times.solve)
    .entry("cycle", formulation.times.cycle)
    .end_object();
}

std::string to_json(const cd::Scenario & scenario, const FormulationComparison & comparison)
{
  const ComparedFormulation * const reference = comparison.reference();
  cd::JsonWriter json;
  json.begin_object().entry("scenario", scenario.name());
  json.entry("integrator", cd::to_string(scenario.run().integration.integrator))
    .entry("step", scenario.run().integration.step)
    .entry("until", scenario.run().until)
    .entry("states", comparison.samples);
  reference != nullptr ? json.entry("reference", reference->name) : json.null_entry("reference");
  json.key("formulations").begin_object();
  for (const ComparedFormulation & formulation : comparison.formulations)
  {
    json.key(formulation.name)
      .begin_object()
      .entry("exists", formulation.exists())
      .entry("status", cd::to_string(formulation.status));
    write_times(json, formulation);
    if (formulation.exists())
    {
      json.key("deviation")
        .begin_object()
        .entry("udot", formulation.acceleration)
        .entry("multipliers", formulation.multipliers)
        .entry("constraint_force", formulation.constraint_force)
        .entry("statuses", formulation.status_differences)
        .end_object();
    }
    else
    {
      json.null_entry("deviation");
    }
    write_run(json, "run", formulation.run);
    write_run(json, "run_without_stabilisation", formulation.unstabilised);
    json.end_object();
  }
  json.end_object().end_object();
  return json.text();
}

std::string describe_times(const FormulationComparison & comparison)
{
  std::ostringstream text;
  text << "microseconds of CPU time, least of many rounds at the initial state\n"
       << pad("kinematics alone", kNameWidth) << format(comparison.kinematics, 3) << "\n"
       << pad("inertia and forces alone", kNameWidth) << format(comparison.dynamics, 3) << "\n"
       << heading({"rows", "solve", "cycle"}) << "\n";
  for (const ComparedFormulation & formulation : comparison.formulations)
  {
    const CycleTimes & times = formulation.times;
    text << line_of(formulation, cell(times.rows, 3) + cell(times.solve, 3) + cell(times.cycle, 3));
  }
  return text.str();
}

std::string times_to_json(const cd::Scenario & scenario, const FormulationComparison & comparison)
{
  cd::JsonWriter json;
  json.begin_object()
    .entry("scenario", scenario.name())
    .entry("kinematics", comparison.kinematics)
    .entry("dynamics", comparison.dynamics);
  json.key("formulations").begin_object();
  for (const ComparedFormulation & formulation : comparison.formulations)
  {
    json.key(formulation.name).begin_object().entry("status", cd::to_string(formulation.status));
    write_times(json, formulation);
    json.end_object();
  }
  json.end_object().end_object();
  return json.text();
}

/// Says that nothing could be compared.
int report_none(const cd::Scenario & scenario, const FormulationComparison & comparison)
{
  complain(
    scenario.name() + ": no formulation solves the initial state: status " +
    cd::to_string(comparison.formulations.front().status) +
    " at t = " + format(scenario.initial().time) + " s");
  return kNotCompleted;
}

}  // namespace

int compare(const CompareArguments & arguments)
{
  const std::string path = find_scenario(arguments.scenario);
  const cd::Scenario scenario = cd::Scenario::load(path, arguments.overrides);
  OutputFile file(arguments.json, "--json", path);
  if (!arguments.quiet)
  {
    warn(scenario.warnings());
  }
  FormulationComparison comparison = try_formulations(scenario);
  if (comparison.reference() != nullptr)
  {
    time_formulations(scenario, comparison);
    run_formulations(scenario, arguments.quiet, comparison);
  }
  if (!arguments.quiet && arguments.json != "-")
  {
    write_out(describe(scenario, comparison));
  }
  if (file.is_open())
  {
    file.write(to_json(scenario, comparison));
    file.close();
  }
  if (comparison.reference() == nullptr)
  {
    return report_none(scenario, comparison);
  }
  int code = kSuccess;
  for (const ComparedFormulation & formulation : comparison.formulations)
  {
    // A formulation that declines a state does not fail there: it leaves the state to others.
    if (
      formulation.run && !formulation.run->result.completed &&
      formulation.run->result.status != cd::Status::kDeclined)
    {
      complain(
        scenario.name() + ": the run with " + formulation.name +
        " stopped at t = " + format(formulation.run->result.time, 9) + " s: status " +
        cd::to_string(formulation.run->result.status));
      code = kNotCompleted;
    }
  }
  return code;
}

int bench(const ScenarioArguments & arguments)
{
  const std::string path = find_scenario(arguments.scenario);
  const cd::Scenario scenario = cd::Scenario::load(path, arguments.overrides);
  OutputFile file(arguments.json, "--json", path);
  warn(scenario.warnings());
  FormulationComparison comparison = try_formulations(scenario);
  if (comparison.reference() == nullptr)
  {
    return report_none(scenario, comparison);
  }
  time_formulations(scenario, comparison);
  if (arguments.json != "-")
  {
    write_out(describe_times(comparison));
  }
  if (file.is_open())
  {
    file.write(times_to_json(scenario, comparison));
    file.close();
  }
  return kSuccess;
}

}  // namespace cdyn
