// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "output.hpp"
#include "run_report.hpp"

namespace cdyn
{

namespace cd = constrained_dynamics;

namespace
{

void write_accuracy(cd::JsonWriter & json, const RunReport & report)
{
  const cd::EnergyBalance & energy = report.result.energy;
  json.key("balance");
  if (energy.available)
  {
    json.begin_object().entry("start", energy.start).entry("end", energy.end);
    json.key("work").begin_object();
    for (std::size_t k = 0; k < cd::kWorkKinds; ++k)
    {
      json.entry(cd::to_string(static_cast<cd::Work>(k)), energy.work[k]);
    }
    json.end_object()
      .entry("error", energy.error)
      .entry("largest_error", energy.largest_error)
      .entry("time_of_largest_error", energy.time_of_largest_error)
      .entry("scale", energy.scale)
      .entry("relative_error", energy.relative_error())
      .end_object();
  }
  else
  {
    json.null();
  }
  json.entry("step_error", report.result.step_error)
    .entry("error_tolerance", report.scenario.run().integration.error_tolerance)
    .entry("accurate", report.result.is_accurate)
    .entry("stalled", report.result.has_stalled);
  json.key("rows").begin_object();
  const cd::ConstraintSet & set = report.scenario.dynamics()->constraints();
  const auto write = [&](const char * name, const cd::RowTrouble & trouble)
  {
    json.key(name).begin_array();
    for (const int row : trouble.rows)
    {
      json.value(set.row_name(row));
    }
    json.end_array();
  };
  write("singular", report.result.singular_rows);
  write("inconsistent", report.result.inconsistent_rows);
  write("unmet", report.result.unmet_rows);
  json.end_object();
}

void write_limits(cd::JsonWriter & json, const RunReport & report)
{
  json.key("limits")
    .begin_object()
    .entry("mode", cd::to_string(report.scenario.run().limits))
    .key("exceeded")
    .begin_array();
  for (const cd::ExceededLimit & limit : report.result.exceeded_limits)
  {
    json.begin_object()
      .entry(
        "coordinate",
        report.scenario.system().coordinate_names()[static_cast<std::size_t>(limit.coordinate)])
      .entry("kind", cd::to_string(limit.kind))
      .entry("limit", limit.limit)
      .entry("value", limit.value)
      .entry("first_time", limit.first_time)
      .end_object();
  }
  json.end_array().end_object();
}

void write_forces(cd::JsonWriter & json, const RunReport & report)
{
  const Statistics & statistics = report.statistics;
  const cd::ConstraintSet & set = report.scenario.dynamics()->constraints();
  json.key("multipliers").begin_object();
  for (int row = 0; row < set.row_count(); ++row)
  {
    statistics.multipliers[static_cast<std::size_t>(row)].write(json, set.row_name(row), false);
  }
  json.end_object();
  json.key("inputs").begin_object();
  for (std::size_t i = 0; i < statistics.inputs.size(); ++i)
  {
    statistics.inputs[i].write(json, report.scenario.system().input_names()[i], false);
  }
  json.end_object();
  json.key("wrenches").begin_object();
  for (int i = 0; i < set.size(); ++i)
  {
    for (std::size_t k = 0; k < set[i].wrench_bodies().size(); ++k)
    {
      const std::size_t index = static_cast<std::size_t>(set.wrench_offset(i)) + k;
      json.key(wrench_name(set, i, static_cast<int>(k))).begin_object();
      statistics.forces[index].write(json, "force", false);
      statistics.torques[index].write(json, "torque", false);
      json.end_object();
    }
  }
  json.end_object();
}

void write_events(cd::JsonWriter & json, const RunReport & report)
{
  const cd::ConstraintSet & set = report.scenario.dynamics()->constraints();
  json.key("events").begin_array();
  for (const cd::ContactEvent & event : report.simulation.events())
  {
    json.begin_object()
      .entry("time", event.time)
      .entry("constraint", owner_of(set, event))
      .entry("kind", cd::to_string(event.kind))
      .entry("impulse", event.impulse)
      .entry("friction_impulse", event.friction_impulse)
      .entry("speed_before", event.speed_before)
      .entry("speed_after", event.speed_after)
      .entry("energy_change", event.energy_change)
      .entry("restitution_scale", event.restitution_scale)
      .end_object();
  }
  json.end_array();
}

}  // namespace

std::string to_json(const RunReport & report, const std::string & initial, cd::Status final_status)
{
  const Statistics & statistics = report.statistics;
  cd::JsonWriter json;
  json.begin_object()
    .entry("scenario", report.scenario.name())
    .entry("formulation", report.scenario.dynamics()->formulation().name())
    .entry("integrator", cd::to_string(report.scenario.run().integration.integrator))
    .entry("step", report.scenario.run().integration.step)
    .entry("status", cd::to_string(report.result.status))
    .entry("completed", report.result.completed)
    .entry("time", report.result.time)
    .entry("steps", report.result.steps)
    .entry("evaluations", report.result.evaluations)
    .entry("singular_evaluations", report.result.singular_evaluations)
    .entry("inconsistent_evaluations", report.result.inconsistent_evaluations)
    .entry("outputs", statistics.outputs)
    .entry("wall_time", report.wall_time)
    .entry("start_time", report.scenario.initial().time)
    .entry("until", report.scenario.run().until);
  write_accuracy(json, report);
  write_limits(json, report);
  std::vector<std::string> warnings = report.scenario.warnings();
  const std::vector<std::string> of_run = run_warnings(report);
  warnings.insert(warnings.end(), of_run.begin(), of_run.end());
  json.entry("warnings", warnings);
  statistics.write_energy(json);
  statistics.write_violation(json);
  write_forces(json, report);
  report.robot.write_ranges(json);
  json.key("observe").begin_object();
  for (std::size_t i = 0; i < statistics.observables.size(); ++i)
  {
    statistics.observables[i].write(json, report.scenario.observable_names()[i], true);
  }
  json.end_object();
  report.servo.write(json);
  write_events(json, report);
  // The initial state was written when it was known.
  json.key("initial").value_as_is(initial);
  json.key("final").begin_object();
  write_state(
    json, report.scenario,
    {final_status, report.simulation.state(), report.simulation.inputs(),
     report.simulation.workspace(), &report.rank});
  json.end_object();
  json.end_object();
  return json.text();
}

}  // namespace cdyn
