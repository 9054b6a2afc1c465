#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>

#include "commands.hpp"
#include "constrained_dynamics/simulation.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "run_statistics.hpp"
#include "servo_report.hpp"

namespace cdyn
{

namespace cd = constrained_dynamics;

namespace
{

// ---- CSV
// -----------------------------------------------------------------------------------------

std::string csv_name(const std::string & name)
{
  if (name.find_first_of(",\"\n\r") == std::string::npos)
  {
    return name;
  }
  std::string quoted = "\"";
  for (const char c : name)
  {
    quoted += c;
    if (c == '"')
    {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string csv_header(const cd::Scenario & scenario, const ServoReport & servo)
{
  const cd::System & system = scenario.system();
  const cd::ConstraintSet & set = scenario.dynamics()->constraints();
  std::string header = "time";
  const auto add = [&](const std::string & name) { header += "," + csv_name(name); };
  const auto add_all = [&](const std::string & prefix, const std::vector<std::string> & names)
  {
    for (const std::string & name : names)
    {
      add(prefix + name);
    }
  };
  add_all("q.", system.coordinate_names());
  add_all("u.", system.speed_names());
  add_all("udot.", system.speed_names());
  add_all("input.", system.input_names());
  for (int row = 0; row < set.row_count(); ++row)
  {
    add("lambda." + set.row_name(row));
  }
  for (int i = 0; i < set.size(); ++i)
  {
    for (std::size_t k = 0; k < set[i].wrench_bodies().size(); ++k)
    {
      const std::string name = wrench_name(set, i, static_cast<int>(k));
      for (const char * quantity : {"force.", "torque."})
      {
        for (const char * axis : {".x", ".y", ".z"})
        {
          add(quantity + name + axis);
        }
      }
    }
  }
  for (int row = 0; row < set.row_count(); ++row)
  {
    if (set.row(row).level == cd::RowLevel::kPosition)
    {
      add("phi." + set.row_name(row));
    }
  }
  for (int row = 0; row < set.row_count(); ++row)
  {
    if (set.row(row).level != cd::RowLevel::kAcceleration)
    {
      add("psi." + set.row_name(row));
    }
  }
  for (const char * name : {"energy.kinetic", "energy.potential", "energy.total", "rank", "status"})
  {
    add(name);
  }
  add_all("observe.", scenario.observable_names());
  add_all("", servo.column_names());
  return header + "\n";
}

std::string csv_line(
  const cd::Scenario & scenario, const cd::Simulation & simulation, cd::Status status,
  const Eigen::VectorXd & observed, const ServoReport & servo)
{
  const cd::ConstraintSet & set = scenario.dynamics()->constraints();
  const cd::Workspace & workspace = simulation.workspace();
  const cd::Solution & solution = workspace.solution();
  std::string line = format(simulation.state().time, 17);
  const auto add = [&](double value) { line += "," + format(value, 17); };
  const auto add_all = [&](const auto & values)
  {
    for (Eigen::Index i = 0; i < values.size(); ++i)
    {
      add(values(i));
    }
  };
  add_all(simulation.state().q);
  add_all(simulation.state().u);
  add_all(solution.acceleration);
  add_all(simulation.inputs());
  add_all(solution.multipliers);
  for (const cd::WrenchPair & wrench : solution.wrenches)
  {
    add_all(wrench.on_a.force);
    add_all(wrench.on_a.torque);
  }
  for (int row = 0; row < set.row_count(); ++row)
  {
    if (set.row(row).level == cd::RowLevel::kPosition)
    {
      add(workspace.rows().position(row));
    }
  }
  for (int row = 0; row < set.row_count(); ++row)
  {
    if (set.row(row).level != cd::RowLevel::kAcceleration)
    {
      add(workspace.rows().velocity(row));
    }
  }
  add(simulation.kinetic_energy());
  add(simulation.potential_energy());
  add(simulation.kinetic_energy() + simulation.potential_energy());
  line += "," + std::to_string(solution.rank) + "," + cd::to_string(status);
  add_all(observed);
  return line + servo.csv_values() + "\n";
}

// ---- reports
// -------------------------------------------------------------------------------------

struct RunReport
{
  const cd::Scenario & scenario;
  const cd::Simulation & simulation;
  const cd::RankReport & rank;
  const cd::RunResult & result;
  const Statistics & statistics;
  const ServoReport & servo;
  double wall_time;
};

std::string owner_of(const cd::ConstraintSet & set, const cd::ContactEvent & event)
{
  return event.constraint >= 0 ? set[event.constraint].name() : std::string("applied");
}

std::string events_csv(const RunReport & report)
{
  const cd::ConstraintSet & set = report.scenario.dynamics()->constraints();
  std::string text =
    "time,constraint,kind,impulse,friction_impulse,speed_before,speed_after,energy_change,"
    "restitution_scale\n";
  for (const cd::ContactEvent & event : report.simulation.events())
  {
    text += format(event.time, 17) + "," + csv_name(owner_of(set, event)) + "," +
            cd::to_string(event.kind);
    for (const double value :
         {event.impulse, event.friction_impulse, event.speed_before, event.speed_after,
          event.energy_change, event.restitution_scale})
    {
      text += "," + format(value, 17);
    }
    text += "\n";
  }
  return text;
}

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

std::string describe(const RunReport & report)
{
  const Statistics & statistics = report.statistics;
  const cd::ConstraintSet & set = report.scenario.dynamics()->constraints();
  std::ostringstream text;
  std::size_t width = 24;
  const auto row = [&](const std::string & name, const Range & range)
  {
    text << "  " << pad(name, width) << pad(format(range.min, 6), 15)
         << pad(format(range.max, 6), 15) << format(range.rms(), 6) << "\n";
  };
  for (int i = 0; i < set.row_count(); ++i)
  {
    width = std::max(width, set.row_name(i).size() + 4);
  }
  if (set.row_count() > 0)
  {
    text << pad("constraint forces", width + 2) << pad("min", 15) << pad("max", 15) << "rms\n";
  }
  for (int i = 0; i < set.size(); ++i)
  {
    const cd::Constraint & constraint = set[i];
    const bool comes_and_goes = report.scenario.contacts()->manages(i);
    const std::string state = report.scenario.is_active(i) || comes_and_goes ? "" : " (not active)";
    for (int k = 0; k < constraint.row_count(); ++k)
    {
      const int index = set.row_offset(i) + k;
      row(
        "λ " + set.row_name(index) + state,
        statistics.multipliers[static_cast<std::size_t>(index)]);
    }
    for (std::size_t k = 0; k < constraint.wrench_bodies().size(); ++k)
    {
      const std::string name = wrench_name(set, i, static_cast<int>(k));
      const std::size_t index = static_cast<std::size_t>(set.wrench_offset(i)) + k;
      row("|force| " + name, statistics.forces[index]);
      row("|torque| " + name, statistics.torques[index]);
    }
  }
  if (!statistics.observables.empty())
  {
    text << pad("observed", width + 2) << pad("min", 15) << pad("max", 15) << "rms\n";
    for (std::size_t i = 0; i < statistics.observables.size(); ++i)
    {
      row(report.scenario.observable_names()[i], statistics.observables[i]);
    }
  }
  text << report.servo.describe(width);
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
       << "rank              " << report.rank.nominal_rank << " of " << report.rank.row_count
       << " rows, " << report.rank.degrees_of_freedom << " degrees of freedom; "
       << report.result.singular_evaluations << " singular and "
       << report.result.inconsistent_evaluations << " inconsistent evaluations\n"
       << "steps             " << report.result.steps << " ("
       << cd::to_string(report.scenario.run().integration.integrator) << "), "
       << report.result.evaluations << " evaluations, " << format(report.wall_time, 3) << " s\n";
  return text.str();
}

void write_range(cd::JsonWriter & json, const std::string & name, const Range & range, bool ends)
{
  json.key(name).begin_object();
  if (ends)
  {
    json.entry("start", range.first).entry("end", range.last);
  }
  json.entry("min", range.min).entry("max", range.max).entry("rms", range.rms()).end_object();
}

std::string to_json(const RunReport & report, const std::string & initial, cd::Status final_status)
{
  const Statistics & statistics = report.statistics;
  const cd::ConstraintSet & set = report.scenario.dynamics()->constraints();
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
    .entry("wall_time", report.wall_time);
  statistics.write_energy(json);
  statistics.write_violation(json);
  json.key("multipliers").begin_object();
  for (int row = 0; row < set.row_count(); ++row)
  {
    write_range(
      json, set.row_name(row), statistics.multipliers[static_cast<std::size_t>(row)], false);
  }
  json.end_object();
  json.key("wrenches").begin_object();
  for (int i = 0; i < set.size(); ++i)
  {
    for (std::size_t k = 0; k < set[i].wrench_bodies().size(); ++k)
    {
      const std::size_t index = static_cast<std::size_t>(set.wrench_offset(i)) + k;
      json.key(wrench_name(set, i, static_cast<int>(k))).begin_object();
      write_range(json, "force", statistics.forces[index], false);
      write_range(json, "torque", statistics.torques[index], false);
      json.end_object();
    }
  }
  json.end_object();
  json.key("observe").begin_object();
  for (std::size_t i = 0; i < statistics.observables.size(); ++i)
  {
    write_range(json, report.scenario.observable_names()[i], statistics.observables[i], true);
  }
  json.end_object();
  report.servo.write(json);
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

}  // namespace

int run(const RunArguments & arguments)
{
  const std::string path = find_scenario(arguments.scenario);
  const cd::Scenario scenario = cd::Scenario::load(path, arguments.overrides);
  if (!arguments.csv.empty() && arguments.csv == arguments.json)
  {
    throw std::invalid_argument("--csv and --json name the same file " + arguments.csv);
  }
  OutputFile csv(arguments.csv, "--csv", path);
  OutputFile json(arguments.json, "--json", path);
  if (
    !arguments.events.empty() &&
    (arguments.events == arguments.csv || arguments.events == arguments.json))
  {
    throw std::invalid_argument(
      "--events names the same file " + arguments.events + " as another option");
  }
  OutputFile events(arguments.events, "--events", path);
  for (const std::string & warning : scenario.warnings())
  {
    if (!arguments.quiet)
    {
      std::cerr << "cdyn: warning: " << warning << "\n";
    }
  }

  const auto start = Clock::now();
  cd::Simulation simulation(
    scenario.dynamics(), scenario.run().integration, scenario.make_input_law(),
    scenario.contacts());
  scenario.switch_constraints(simulation.workspace());
  simulation.schedule(scenario.scheduled_changes());
  const cd::RankReport rank = simulation.start(scenario.initial());
  Statistics statistics(scenario);
  ServoReport servo(simulation);
  Progress progress(scenario.initial().time, scenario.run().until, arguments.quiet);
  Eigen::VectorXd observed =
    Eigen::VectorXd::Zero(static_cast<Eigen::Index>(scenario.observable_names().size()));
  std::string initial;
  csv.write(csv_header(scenario, servo));
  const auto observer = [&](const cd::Simulation & now)
  {
    if (scenario.observe(now.workspace(), now.inputs(), observed) != cd::Status::kOk)
    {
      observed.setConstant(std::nan(""));
    }
    if (initial.empty() && json.is_open())
    {
      cd::JsonWriter writer;
      writer.begin_object();
      write_state(
        writer, scenario, {now.last_status(), now.state(), now.inputs(), now.workspace(), &rank});
      writer.end_object();
      initial = writer.text();
    }
    statistics.add(now, observed);
    servo.add();
    if (csv.is_open())
    {
      csv.write(csv_line(scenario, now, now.last_status(), observed, servo));
    }
    progress.show(now.state().time);
    return true;
  };
  const cd::RunResult result =
    simulation.run(scenario.run().until, scenario.run().output_interval, observer);
  progress.finish();
  const double wall_time = seconds_since(start);

  const cd::Status final_status = simulation.evaluate();
  const RunReport report{scenario, simulation, rank, result, statistics, servo, wall_time};
  if (
    !arguments.quiet && statistics.outputs > 0 && arguments.json != "-" && arguments.csv != "-" &&
    arguments.events != "-")
  {
    write_out(describe(report));
  }
  if (json.is_open())
  {
    json.write(to_json(report, initial, final_status));
  }
  events.write(events_csv(report));
  if (simulation.lost_event_count() > 0)
  {
    std::cerr << "cdyn: warning: " << simulation.lost_event_count()
              << " events found no memory and are missing\n";
  }
  csv.close();
  events.close();
  json.close();
  if (!result.completed)
  {
    std::cerr << "cdyn: " << scenario.name()
              << ": the run stopped at t = " << format(result.time, 9) << " s: status "
              << cd::to_string(result.status) << advice(result.status)
              << "\ncdyn: last state: " << describe_state(scenario.system(), simulation.state())
              << "\n";
    return kNotCompleted;
  }
  return kSuccess;
}

}  // namespace cdyn
