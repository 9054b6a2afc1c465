// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <csignal>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "constrained_dynamics/formulations/registry.hpp"
#include "constrained_dynamics/version.hpp"

namespace
{

struct Overrides
{
  std::vector<std::string> set;
  std::string formulation;
  std::string until;
  std::string step;

  /// In the order in which they are applied: options of their own come last.
  std::vector<std::string> all() const
  {
    std::vector<std::string> result = set;
    const auto add = [&](const char * path, const std::string & value)
    {
      if (!value.empty())
      {
        result.push_back(std::string(path) + "=" + value);
      }
    };
    add("formulation", formulation);
    add("run.until", until);
    add("run.step", step);
    return result;
  }
};

void add_formulation(CLI::App & command, Overrides & overrides)
{
  std::string names;
  for (const std::string & name : constrained_dynamics::formulation_names())
  {
    names += (names.empty() ? "" : ", ") + name;
  }
  command.add_option("--formulation", overrides.formulation, names);
}

void add_scenario(CLI::App & command, std::string & scenario, Overrides & overrides)
{
  command.add_option("scenario", scenario, "Scenario file, or the name of an example")
    ->required()
    ->type_name("SCENARIO|EXAMPLE");
  command.add_option("--set", overrides.set, "Change a value of the file, e.g. initial.q.x=0.3")
    ->type_name("PATH=VALUE")
    ->expected(1)
    ->take_all();
}

void add_run(CLI::App & command, Overrides & overrides)
{
  command.add_option("--until", overrides.until, "End of the run [s]");
  command.add_option("--step", overrides.step, "Step of the integrator [s]");
}

}  // namespace

int main(int argc, char ** argv)
{
  // A reader that goes away shows as an error of write(), not as the end of this process.
  std::signal(SIGPIPE, SIG_IGN);

  CLI::App app{"Dynamics of constrained multibody systems: accelerations and constraint forces"};
  app.set_version_flag("--version", std::string("cdyn ") + constrained_dynamics::version());
  app.require_subcommand(0, 1);  // whether there is one is checked below, after unknown words
  app.footer(
    "Exit codes: 0 done; 2 bad usage, file, key or value; 3 the run or solve could not be "
    "completed or the run is inaccurate; 130, 143 ended by SIGINT, SIGTERM.\nScenario files are "
    "described in doc/scenario.md.");

  cdyn::RunArguments run;
  Overrides run_overrides;
  CLI::App * run_command = app.add_subcommand("run", "Simulate a scenario");
  add_scenario(*run_command, run.scenario, run_overrides);
  add_formulation(*run_command, run_overrides);
  add_run(*run_command, run_overrides);
  run_command->add_option("--csv", run.csv, "Write all outputs as CSV")->type_name("FILE");
  run_command->add_option("--events", run.events, "Write all events as CSV")->type_name("FILE");
  run_command->add_option("--json", run.json, "Write the report as JSON; - is the standard output")
    ->type_name("FILE");
  run_command->add_flag("--quiet", run.quiet, "No table, no progress, no warnings");

  cdyn::SolveArguments solve;
  Overrides solve_overrides;
  CLI::App * solve_command =
    app.add_subcommand("solve", "Accelerations and forces at the initial state, as JSON");
  add_scenario(*solve_command, solve.scenario, solve_overrides);
  add_formulation(*solve_command, solve_overrides);
  solve_command->add_flag(
    "--raw-state", solve.raw_state, "Take q and u as they are given, without assembling");
  solve_command->add_option("--json", solve.json, "File instead of the standard output")
    ->type_name("FILE");

  cdyn::ScenarioArguments check;
  Overrides check_overrides;
  CLI::App * check_command =
    app.add_subcommand("check", "Validate a scenario; degrees of freedom, rank, redundant rows");
  add_scenario(*check_command, check.scenario, check_overrides);
  check_command->add_option("--json", check.json, "Write the report as JSON; - instead of text")
    ->type_name("FILE");

  cdyn::CompareArguments compare;
  Overrides compare_overrides;
  CLI::App * compare_command = app.add_subcommand(
    "compare", "All formulations side by side: agreement, time, drift and energy");
  add_scenario(*compare_command, compare.scenario, compare_overrides);
  add_run(*compare_command, compare_overrides);
  compare_command
    ->add_option("--json", compare.json, "Write the report as JSON; - instead of the table")
    ->type_name("FILE");
  compare_command->add_flag("--quiet", compare.quiet, "No table, no progress, no warnings");

  cdyn::ScenarioArguments bench;
  Overrides bench_overrides;
  CLI::App * bench_command =
    app.add_subcommand("bench", "Microseconds of a cycle at the initial state, stage by stage");
  add_scenario(*bench_command, bench.scenario, bench_overrides);
  bench_command->add_option("--json", bench.json, "Write the times as JSON; - instead of the table")
    ->type_name("FILE");

  cdyn::LinearizeArguments linearize;
  Overrides linearize_overrides;
  CLI::App * linearize_command = app.add_subcommand(
    "linearize", "Linear model about the motion, eigenvalues, largest Lyapunov exponent");
  add_scenario(*linearize_command, linearize.scenario, linearize_overrides);
  add_formulation(*linearize_command, linearize_overrides);
  linearize_command->add_option(
    "--at", linearize.at, "Run until this time first [s]; default: the initial state");
  linearize_command->add_option(
    "--step", linearize_overrides.step, "Step of the run and of the linear step [s]");
  linearize_command->add_option(
    "--size", linearize.size, "Size of the deviations of the linear step");
  linearize_command->add_flag(
    "--lyapunov", linearize.lyapunov, "Largest Lyapunov exponent of the run as well");
  linearize_command->add_option(
    "--until", linearize_overrides.until, "End of the run of --lyapunov [s]");
  linearize_command
    ->add_option("--json", linearize.json, "Write the report as JSON; - instead of text")
    ->type_name("FILE");

  cdyn::ExamplesArguments examples;
  CLI::App * examples_command = app.add_subcommand("examples", "List the examples");
  examples_command->add_option("name", examples.name, "Example")->type_name("NAME");
  examples_command->add_flag("--show", examples.show, "Print the file");

  std::string type;
  CLI::App * types_command = app.add_subcommand(
    "types", "Types of constraints, servo tasks and null-space terms with their keys, as Markdown");
  types_command->add_option("type", type, "One of them")->type_name("TYPE");

  try
  {
    app.parse(argc, argv);
    if (*run_command)
    {
      run.overrides = run_overrides.all();
      return cdyn::run(run);
    }
    if (*solve_command)
    {
      solve.overrides = solve_overrides.all();
      return cdyn::solve(solve);
    }
    if (*check_command)
    {
      check.overrides = check_overrides.all();
      return cdyn::check(check);
    }
    if (*compare_command)
    {
      compare.overrides = compare_overrides.all();
      return cdyn::compare(compare);
    }
    if (*bench_command)
    {
      bench.overrides = bench_overrides.all();
      return cdyn::bench(bench);
    }
    if (*linearize_command)
    {
      linearize.overrides = linearize_overrides.all();
      return cdyn::linearize(linearize);
    }
    if (*examples_command)
    {
      return cdyn::examples(examples);
    }
    if (*types_command)
    {
      return cdyn::types(type);
    }
    std::cerr << "cdyn: a subcommand is missing; allowed: run, solve, check, compare, bench, "
                 "linearize, examples, types\n"
                 "Run with --help for more information.\n";
    return cdyn::kBadInput;
  }
  catch (const CLI::ParseError & error)
  {
    return app.exit(error) == 0 ? cdyn::kSuccess : cdyn::kBadInput;
  }
  catch (const std::invalid_argument & error)
  {
    std::cerr << "cdyn: " << error.what() << "\n";
    return cdyn::kBadInput;
  }
  catch (const std::exception & error)
  {
    std::cerr << "cdyn: " << error.what() << "\n";
    return cdyn::kNotCompleted;
  }
}
