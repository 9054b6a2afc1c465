// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors
#include "run_report.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "output.hpp"

namespace cdyn
{

namespace cd = constrained_dynamics;

std::string owner_of(const cd::ConstraintSet & set, const cd::ContactEvent & event)
{
  return event.constraint >= 0 ? set[event.constraint].name() : std::string("applied");
}

namespace
{

/// The events, the first and the last of many.
std::string describe_events(const RunReport & report)
{
  constexpr std::size_t kMost = 40;
  const std::vector<cd::ContactEvent> & events = report.simulation.events();
  const cd::ConstraintSet & set = report.scenario.dynamics()->constraints();
  std::ostringstream text;
  if (events.empty())
  {
    return "";
  }
  text << pad("events", 16) << pad("time", 16) << pad("kind", 12) << pad("impulse", 13)
       << pad("friction", 13) << pad("before", 13) << pad("after", 13) << "constraint\n";
  for (std::size_t i = 0; i < events.size(); ++i)
  {
    if (events.size() > kMost && i == kMost / 2)
    {
      text << "  … " << events.size() - kMost << " more\n";
      i = events.size() - kMost / 2;
    }
    const cd::ContactEvent & event = events[i];
    text << pad("", 16) << pad(format(event.time, 11), 16) << pad(cd::to_string(event.kind), 12)
         << pad(format(event.impulse, 6), 13) << pad(format(event.friction_impulse, 6), 13)
         << pad(format(event.speed_before, 6), 13) << pad(format(event.speed_after, 6), 13)
         << owner_of(set, event) << "\n";
  }
  return text.str();
}

/// Multipliers and wrenches.
std::string describe_forces(const RunReport & report, std::size_t width)
{
  const Statistics & statistics = report.statistics;
  const cd::ConstraintSet & set = report.scenario.dynamics()->constraints();
  std::string text = set.row_count() > 0 ? range_heading("constraint forces", width) : "";
  for (int i = 0; i < set.size(); ++i)
  {
    const cd::Constraint & constraint = set[i];
    const bool comes_and_goes = report.scenario.contacts()->manages(i);
    const std::string state = report.scenario.is_active(i) || comes_and_goes ? "" : " (not active)";
    for (int k = 0; k < constraint.row_count(); ++k)
    {
      const int row = set.row_offset(i) + k;
      text += range_line(
        "λ " + set.row_name(row) + state, statistics.multipliers[static_cast<std::size_t>(row)],
        width);
    }
    for (std::size_t k = 0; k < constraint.wrench_bodies().size(); ++k)
    {
      const std::string name = wrench_name(set, i, static_cast<int>(k));
      const std::size_t index = static_cast<std::size_t>(set.wrench_offset(i)) + k;
      text += range_line("|force| " + name, statistics.forces[index], width);
      text += range_line("|torque| " + name, statistics.torques[index], width);
    }
  }
  return text;
}

/// Inputs and what the scenario observes.
std::string describe_inputs(const RunReport & report, std::size_t width)
{
  const Statistics & statistics = report.statistics;
  const std::vector<std::string> & inputs = report.scenario.system().input_names();
  std::string text = inputs.empty() ? "" : range_heading("inputs", width);
  for (std::size_t i = 0; i < inputs.size(); ++i)
  {
    text += range_line("τ " + inputs[i], statistics.inputs[i], width);
  }
  text += statistics.observables.empty() ? "" : range_heading("observed", width);
  for (std::size_t i = 0; i < statistics.observables.size(); ++i)
  {
    text += range_line(report.scenario.observable_names()[i], statistics.observables[i], width);
  }
  return text;
}

std::string describe_heading(const RunReport & report)
{
  const cd::Scenario & scenario = report.scenario;
  const double start = scenario.initial().time;
  std::ostringstream text;
  text << "scenario          " << scenario.name() << "\n"
       << "time              " << format(start, 9) << " s to " << format(report.result.time, 9)
       << " s";
  if (report.result.time < scenario.run().until)
  {
    text << " of " << format(scenario.run().until, 9) << " s";
  }
  text << "\nunits             SI: s, m, rad, kg, N, N m, J\n";
  return text.str();
}

std::string describe_accuracy(const RunReport & report)
{
  const cd::EnergyBalance & energy = report.result.energy;
  std::ostringstream text;
  text << "energy balance    ";
  if (energy.available)
  {
    text << "error " << format(energy.largest_error, 3) << " J of " << format(energy.scale, 3)
         << " J, relative " << format(energy.relative_error(), 3) << "\n";
    std::string work;
    for (std::size_t k = 0; k < cd::kWorkKinds; ++k)
    {
      // Less is rounding of what does not work.
      if (std::abs(energy.work[k]) > 1e-12 * energy.scale)
      {
        work += (work.empty() ? "" : ", ") + std::string(cd::to_string(static_cast<cd::Work>(k))) +
                " " + format(energy.work[k], 6) + " J";
      }
    }
    text << (work.empty() ? "" : "work              " + work + "\n");
  }
  else
  {
    text << "not available: the system has no energy function\n";
  }
  text << "step error        relative " << format(report.result.step_error, 3) << " (tolerance "
       << format(report.scenario.run().integration.error_tolerance, 3) << ")\n";
  return text.str();
}

std::string describe_limit(const RunReport & report, const cd::ExceededLimit & limit)
{
  const std::string & name =
    report.scenario.system().coordinate_names()[static_cast<std::size_t>(limit.coordinate)];
  return name + " " + cd::to_string(limit.kind) + " " + format(limit.limit, 6) + " reached " +
         format(limit.value, 6) + ", first at " + format(limit.first_time, 6) + " s";
}

std::string describe_limits(const RunReport & report)
{
  if (!report.statistics.has_limits)
  {
    return "";
  }
  const cd::LimitMode mode = report.scenario.run().limits;
  const std::vector<cd::ExceededLimit> & exceeded = report.result.exceeded_limits;
  std::string text = "joint limits      ";
  switch (mode)
  {
    case cd::LimitMode::kIgnore:
      return text + "ignored (run.limits: ignore)\n";
    case cd::LimitMode::kStop:
      text += "stops at position limits";
      break;
    case cd::LimitMode::kReport:
      text += "reported, not enforced";
      break;
  }
  text += exceeded.empty() ? "; none exceeded\n" : "\n";
  for (const cd::ExceededLimit & limit : exceeded)
  {
    text += "  " + describe_limit(report, limit) + "\n";
  }
  return text;
}

/// What makes a run more accurate.
std::string remedy(const RunReport & report)
{
  const cd::RunResult & result = report.result;
  const cd::SimulationOptions & options = report.scenario.run().integration;
  const double error =
    std::max(result.energy.available ? result.energy.relative_error() : 0.0, result.step_error);
  if (cd::is_adaptive(options.integrator))
  {
    return "set run.relative_tolerance and run.absolute_tolerance lower (now " +
           format(options.relative_tolerance, 3) + " and " + format(options.absolute_tolerance, 3) +
           ")";
  }
  // Of order 4; where steps are far too large the order says nothing yet.
  const double factor = std::isfinite(error) && error > 0.0
                          ? std::pow(0.5 * options.error_tolerance / error, 0.25)
                          : 0.1;
  const double longest =
    std::min(options.step, report.scenario.run().until - report.scenario.initial().time);
  const double step = std::clamp(factor, 0.01, 0.9) * longest;
  return "set run.step to " + format(step, 1) + " (now " + format(options.step, 3) +
         ") or run.integrator to dopri5";
}

std::string describe_state(const cd::System & system, const cd::State & state)
{
  std::ostringstream text;
  text << std::setprecision(17) << "t = " << state.time;
  for (Eigen::Index i = 0; i < state.q.size(); ++i)
  {
    text << ", " << system.coordinate_names()[static_cast<std::size_t>(i)] << " = " << state.q(i);
  }
  for (Eigen::Index i = 0; i < state.u.size(); ++i)
  {
    text << ", " << system.speed_names()[static_cast<std::size_t>(i)] << " = " << state.u(i);
  }
  return text.str();
}

/// What is wrong with the accuracy, and what to do about it; empty: nothing.
std::string inaccuracy(const RunReport & report)
{
  const cd::RunResult & result = report.result;
  if (result.is_accurate)
  {
    return "";
  }
  const double tolerance = report.scenario.run().integration.error_tolerance;
  const cd::EnergyBalance & energy = result.energy;
  const bool balances = !energy.available || energy.relative_error() <= tolerance;
  std::string text =
    balances ? "" : "its energy balance is off by " + format(energy.relative_error(), 3);
  if (!(result.step_error <= tolerance))
  {
    text += std::string(balances ? "" : " and ") + "its steps add up to an error of " +
            format(result.step_error, 3);
  }
  return "the run is inaccurate: " + text + " (relative, tolerance " + format(tolerance, 3) +
         "); " + remedy(report);
}

}  // namespace

std::vector<std::string> run_warnings(const RunReport & report)
{
  const cd::RunResult & result = report.result;
  std::vector<std::string> all;
  if (!result.is_accurate)
  {
    all.push_back(inaccuracy(report));
  }
  const auto add_rows = [&](const cd::RowTrouble & trouble, long count, const std::string & what)
  {
    if (!trouble.rows.empty() && count > 0)
    {
      all.push_back(
        "rows " + list_rows(report.scenario.dynamics()->constraints(), trouble.rows) + " " + what +
        ", first at t = " + format(trouble.time, 9) + " s");
    }
  };
  add_rows(result.singular_rows, result.singular_evaluations, "lost rank");
  add_rows(result.inconsistent_rows, result.inconsistent_evaluations, "contradict each other");
  if (result.completed)
  {
    add_rows(result.unmet_rows, 1, "could not be satisfied together");
  }
  if (!result.exceeded_limits.empty())
  {
    std::vector<std::string> names;
    for (const cd::ExceededLimit & limit : result.exceeded_limits)
    {
      const std::string & name =
        report.scenario.system().coordinate_names()[static_cast<std::size_t>(limit.coordinate)];
      if (std::find(names.begin(), names.end(), name) == names.end())
      {
        names.push_back(name);
      }
    }
    all.push_back(
      "limits of " + list(names) + " were exceeded; " +
      (report.scenario.run().limits == cd::LimitMode::kStop
         ? "velocity limits have no effect"
         : "they have no effect (run.limits: stop turns position limits into stops)"));
  }
  if (report.simulation.lost_event_count() > 0)
  {
    all.push_back(
      std::to_string(report.simulation.lost_event_count()) +
      " events did not fit into memory and are missing");
  }
  return all;
}

std::string describe(const RunReport & report)
{
  const Statistics & statistics = report.statistics;
  const cd::ConstraintSet & set = report.scenario.dynamics()->constraints();
  std::size_t width = 24;
  for (int i = 0; i < set.row_count(); ++i)
  {
    width = std::max(width, set.row_name(i).size() + 4);
  }
  std::ostringstream text;
  text << describe_heading(report) << describe_forces(report, width)
       << report.robot.describe_ranges(width) << describe_inputs(report, width)
       << report.servo.describe(width);
  if (statistics.position.row >= 0)
  {
    text << "largest |φ|       " << format(statistics.position.size, 3) << " ("
         << statistics.row_name(statistics.position.row) << ")\n";
  }
  if (statistics.velocity.row >= 0)
  {
    text << "largest |φ̇|, |ψ|  " << format(statistics.velocity.size, 3) << " ("
         << statistics.row_name(statistics.velocity.row) << ")\n";
  }
  text << describe_events(report);
  text << "energy            " << format(statistics.energy.first, 10) << " J to "
       << format(statistics.energy.last, 10) << " J, largest change "
       << format(statistics.energy_change(), 3) << " J\n"
       << describe_accuracy(report) << describe_limits(report) << "rank              "
       << report.rank.nominal_rank << " of " << report.rank.row_count << " rows, "
       << report.rank.degrees_of_freedom << " degrees of freedom; "
       << report.result.singular_evaluations << " singular and "
       << report.result.inconsistent_evaluations << " inconsistent evaluations\n"
       << "steps             " << report.result.steps << " ("
       << cd::to_string(report.scenario.run().integration.integrator) << "), "
       << report.result.evaluations << " evaluations, " << format(report.wall_time, 3) << " s\n"
       << "status            " << cd::to_string(report.result.status) << "\n";
  for (const std::vector<std::string> & warnings :
       {report.scenario.warnings(), run_warnings(report)})
  {
    for (const std::string & warning : warnings)
    {
      text << "warning           " << warning << "\n";
    }
  }
  return text.str();
}

std::string describe_end(const RunReport & report)
{
  const cd::RunResult & result = report.result;
  if (result.completed)
  {
    return result.status == cd::Status::kOk ? ""
                                            : report.scenario.name() + ": " + inaccuracy(report);
  }
  std::string text = report.scenario.name() + ": the run stopped at t = " + format(result.time, 9) +
                     " s: status " + cd::to_string(result.status);
  if (result.unmet_rows.rows.empty())
  {
    text += result.has_stalled
              ? ": adaptive steps or events follow each other with hardly any progress in time; "
                "look at the last events; larger tolerances, fixed steps (run.integrator: rk4) or "
                "contacts with a force law avoid it"
              : advice(result.status);
  }
  else
  {
    text += ": rows " +
            list_rows(report.scenario.dynamics()->constraints(), result.unmet_rows.rows) +
            (result.status == cd::Status::kInconsistent ? " contradict each other"
                                                        : " could not be satisfied") +
            " at t = " + format(result.unmet_rows.time, 9) + " s";
  }
  return text + "\ncdyn: last state: " +
         describe_state(report.scenario.system(), report.simulation.state());
}

}  // namespace cdyn
