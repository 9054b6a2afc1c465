// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <signal.h>

#include <atomic>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "commands.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "robot_report.hpp"
#include "run_csv.hpp"
#include "run_report.hpp"
#include "run_statistics.hpp"
#include "servo_report.hpp"
#include "terminal.hpp"

namespace cdyn
{

namespace cd = constrained_dynamics;

namespace
{

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

/// The files that a run writes, opened before it starts.
struct RunFiles
{
  RunFiles(const RunArguments & arguments, const std::string & scenario)
  : csv(arguments.csv, "--csv", scenario),
    json(arguments.json, "--json", scenario),
    events(arguments.events, "--events", scenario)
  {
    csv.check_differs(json);
    events.check_differs(csv);
    events.check_differs(json);
  }

  OutputFile csv;
  OutputFile json;
  OutputFile events;
};

void check_names(const RunArguments & arguments)
{
  if (!arguments.csv.empty() && arguments.csv == arguments.json)
  {
    throw std::invalid_argument("--csv and --json name the same file " + arguments.csv);
  }
  if (
    !arguments.events.empty() &&
    (arguments.events == arguments.csv || arguments.events == arguments.json))
  {
    throw std::invalid_argument(
      "--events names the same file " + arguments.events + " as another option");
  }
}

std::string state_json(
  const cd::Scenario & scenario, const cd::Simulation & now, const cd::RankReport & rank)
{
  cd::JsonWriter writer;
  writer.begin_object();
  write_state(
    writer, scenario, {now.last_status(), now.state(), now.inputs(), now.workspace(), &rank});
  writer.end_object();
  return writer.text();
}

/// Writes the report; returns the exit code.
int finish(
  const RunArguments & arguments, const RunReport & report, cd::Simulation & simulation,
  const std::string & initial, RunFiles & files)
{
  const cd::Status final_status = simulation.evaluate();
  const bool has_table = !arguments.quiet && report.statistics.outputs > 0 &&
                         arguments.json != "-" && arguments.csv != "-" && arguments.events != "-";
  if (has_table)
  {
    write_report(describe(report));
  }
  if (files.json.is_open())
  {
    files.json.write(to_json(report, initial, final_status));
  }
  files.events.write(events_csv(simulation));
  files.csv.close();
  files.events.close();
  files.json.close();
  if (!arguments.quiet && !has_table)
  {
    warn(run_warnings(report));
  }
  const std::string end = describe_end(report);
  if (!end.empty())
  {
    complain(end);
  }
  if (Interruption::signal() != 0)
  {
    return kSignalled + Interruption::signal();
  }
  const bool is_done = report.result.completed && report.result.status == cd::Status::kOk;
  return is_done ? kSuccess : kNotCompleted;
}

}  // namespace

int run(const RunArguments & arguments)
{
  const std::string path = find_scenario(arguments.scenario);
  const cd::Scenario scenario = cd::Scenario::load(path, arguments.overrides);
  check_names(arguments);
  RunFiles files(arguments, path);
  if (!arguments.quiet)
  {
    warn(scenario.warnings());
  }

  const auto start = Clock::now();
  cd::Simulation simulation(
    scenario.dynamics(), scenario.run().integration, scenario.make_input_law(),
    scenario.contacts());
  scenario.switch_constraints(simulation.workspace());
  simulation.schedule(scenario.scheduled_changes());
  const cd::RankReport rank = simulation.start(scenario.initial());
  Statistics statistics(scenario);
  RobotReport robot(scenario, arguments.reactions);
  ServoReport servo(simulation);
  Progress progress(scenario.initial().time, scenario.run().until, arguments.quiet);
  Eigen::VectorXd observed =
    Eigen::VectorXd::Zero(static_cast<Eigen::Index>(scenario.observable_names().size()));
  std::string initial;
  const Interruption interruption(simulation);
  for (OutputFile * file : {&files.csv, &files.json, &files.events})
  {
    file->begin();
  }
  files.csv.write(csv_header(scenario, robot, servo));
  const auto observer = [&](const cd::Simulation & now)
  {
    if (scenario.observe(now.workspace(), now.inputs(), observed) != cd::Status::kOk)
    {
      observed.setConstant(std::nan(""));
    }
    if (initial.empty() && files.json.is_open())
    {
      initial = state_json(scenario, now, rank);
    }
    statistics.add(now, observed);
    servo.add();
    robot.add(now.workspace());
    if (files.csv.is_open())
    {
      files.csv.write(csv_line(scenario, now, observed, robot, servo));
    }
    progress.show(now.state().time);
    return true;
  };
  const cd::RunResult result =
    simulation.run(scenario.run().until, scenario.run().output_interval, observer);
  progress.finish();
  const double wall_time = seconds_since(start);
  const RunReport report{scenario, simulation, rank, result, statistics, servo, robot, wall_time};
  return finish(arguments, report, simulation, initial, files);
}

}  // namespace cdyn
