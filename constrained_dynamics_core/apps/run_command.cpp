// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <signal.h>

#include <atomic>
#include <cmath>
#include <iostream>
#include <string>

#include "commands.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "run_report.hpp"
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
  std::string line = csv_number(simulation.state().time);
  const auto add = [&](double value) { line += "," + csv_number(value); };
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

// ---- events
// -------------------------------------------------------------------------------------------

std::string events_csv(const cd::Simulation & simulation)
{
  const cd::ConstraintSet & set = simulation.dynamics().constraints();
  std::string text =
    "time,constraint,kind,impulse,friction_impulse,speed_before,speed_after,energy_change,"
    "restitution_scale\n";
  for (const cd::ContactEvent & event : simulation.events())
  {
    text += csv_number(event.time) + "," + csv_name(owner_of(set, event)) + "," +
            cd::to_string(event.kind);
    for (const double value :
         {event.impulse, event.friction_impulse, event.speed_before, event.speed_after,
          event.energy_change, event.restitution_scale})
    {
      text += "," + csv_number(value);
    }
    text += "\n";
  }
  return text;
}

// ---- signals
// ------------------------------------------------------------------------------------------

std::atomic<cd::Simulation *> running{nullptr};
std::atomic<int> caught{0};

extern "C" void stop_run(int signal)
{
  caught.store(signal);
  if (cd::Simulation * simulation = running.load())
  {
    simulation->request_stop();
  }
}

/// SIGINT and SIGTERM end the run like its end; a second one ends the process.
class Interruption
{
public:
  explicit Interruption(cd::Simulation & simulation)
  {
    running.store(&simulation);
    struct sigaction action
    {
    };
    action.sa_handler = stop_run;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int signal : {SIGINT, SIGTERM})
    {
      struct sigaction old
      {
      };
      // What whoever started this process wants ignored stays so.
      if (::sigaction(signal, nullptr, &old) == 0 && old.sa_handler != SIG_IGN)
      {
        ::sigaction(signal, &action, nullptr);
      }
    }
  }
  ~Interruption() { running.store(nullptr); }
  Interruption(const Interruption &) = delete;
  Interruption & operator=(const Interruption &) = delete;

  /// 0: none.
  static int signal() { return caught.load(); }
};

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
  csv.check_differs(json);
  events.check_differs(csv);
  events.check_differs(json);
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
  const Interruption interruption(simulation);
  for (OutputFile * file : {&csv, &json, &events})
  {
    file->begin();
  }
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
  const bool has_table = !arguments.quiet && statistics.outputs > 0 && arguments.json != "-" &&
                         arguments.csv != "-" && arguments.events != "-";
  if (has_table)
  {
    write_out(describe(report));
  }
  if (json.is_open())
  {
    json.write(to_json(report, initial, final_status));
  }
  events.write(events_csv(simulation));
  csv.close();
  events.close();
  json.close();
  for (const std::string & warning : run_warnings(report))
  {
    if (!arguments.quiet && !has_table)
    {
      std::cerr << "cdyn: warning: " << warning << "\n";
    }
  }
  const std::string end = describe_end(report);
  if (!end.empty())
  {
    std::cerr << "cdyn: " << end << "\n";
  }
  if (Interruption::signal() != 0)
  {
    return kSignalled + Interruption::signal();
  }
  return result.completed && result.status == cd::Status::kOk ? kSuccess : kNotCompleted;
}

}  // namespace cdyn
