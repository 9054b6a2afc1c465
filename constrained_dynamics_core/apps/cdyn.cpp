// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <csignal>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "completion_command.hpp"
#include "constrained_dynamics/formulations/registry.hpp"
#include "constrained_dynamics/scenario/suggestion.hpp"
#include "constrained_dynamics/version.hpp"
#include "output.hpp"
#include "terminal.hpp"

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
  for (const std::string & name : constrained_dynamics::all_formulation_names())
  {
    names += (names.empty() ? "" : ", ") + name;
  }
  command.add_option("--formulation", overrides.formulation, names);
}

/// A command that reads a scenario; what it is called with lives as long as the command.
template <class Arguments>
struct ScenarioCommand
{
  CLI::App & command;
  Arguments & arguments;
  Overrides & overrides;
};

template <class Arguments>
ScenarioCommand<Arguments> add_command(
  CLI::App & app, const char * name, const char * description,
  int (*execute)(const Arguments & arguments), std::optional<int> & exit_code)
{
  struct Values
  {
    Arguments arguments;
    Overrides overrides;
  };
  const auto values = std::make_shared<Values>();
  CLI::App & command = *app.add_subcommand(name, description);
  command.add_option("scenario", values->arguments.scenario)
    ->description("Scenario file, or the name of an example")
    ->required()
    ->type_name("SCENARIO|EXAMPLE");
  command.add_option("--set", values->overrides.set)
    ->description("Change a value of the file, e.g. initial.q.x=0.3")
    ->type_name("PATH=VALUE")
    ->expected(1)
    ->take_all();
  command.callback(
    [values, execute, &exit_code]
    {
      values->arguments.overrides = values->overrides.all();
      exit_code = execute(values->arguments);
    });
  return {command, values->arguments, values->overrides};
}

void add_json(CLI::App & command, std::string & json, const char * description)
{
  command.add_option("--json", json, description)->type_name("FILE");
}

void add_run_options(CLI::App & command, Overrides & overrides)
{
  command.add_option("--until", overrides.until, "End of the run [s]");
  command.add_option("--step", overrides.step, "Step of the integrator [s]");
}

void add_run(CLI::App & app, std::optional<int> & exit_code)
{
  auto [command, run, overrides] =
    add_command(app, "run", "Simulate a scenario", cdyn::run, exit_code);
  add_formulation(command, overrides);
  add_run_options(command, overrides);
  command.add_option("--csv", run.csv, "Write all outputs as CSV")->type_name("FILE");
  command.add_option("--events", run.events, "Write all events as CSV")->type_name("FILE");
  command.add_flag(
    "--reactions", run.reactions, "Reaction wrench of each joint in CSV, JSON and summary");
  add_json(command, run.json, "Write the report as JSON; - is the standard output");
  command.add_flag("--quiet", run.quiet, "No table, no progress, no warnings");
}

void add_solve(CLI::App & app, std::optional<int> & exit_code)
{
  auto [command, solve, overrides] = add_command(
    app, "solve", "Accelerations and forces at the initial state, as JSON", cdyn::solve, exit_code);
  add_formulation(command, overrides);
  command.add_flag(
    "--raw-state", solve.raw_state, "Take q and u as they are given, without assembling");
  add_json(command, solve.json, "File instead of the standard output");
}

void add_check(CLI::App & app, std::optional<int> & exit_code)
{
  auto [command, check, overrides] = add_command(
    app, "check", "Validate a scenario; degrees of freedom, rank, redundant rows", cdyn::check,
    exit_code);
  add_json(command, check.json, "Write the report as JSON; - instead of text");
}

void add_compare(CLI::App & app, std::optional<int> & exit_code)
{
  auto [command, compare, overrides] = add_command(
    app, "compare", "All formulations side by side: agreement, time, drift and energy",
    cdyn::compare, exit_code);
  add_run_options(command, overrides);
  add_json(command, compare.json, "Write the report as JSON; - instead of the table");
  command.add_flag("--quiet", compare.quiet, "No table, no progress, no warnings");
}

void add_bench(CLI::App & app, std::optional<int> & exit_code)
{
  auto [command, bench, overrides] = add_command(
    app, "bench", "Microseconds of a cycle at the initial state, stage by stage", cdyn::bench,
    exit_code);
  add_json(command, bench.json, "Write the times as JSON; - instead of the table");
}

void add_linearize(CLI::App & app, std::optional<int> & exit_code)
{
  auto [command, linearize, overrides] = add_command(
    app, "linearize", "Linear model about the motion, eigenvalues, largest Lyapunov exponent",
    cdyn::linearize, exit_code);
  add_formulation(command, overrides);
  command.add_option(
    "--at", linearize.at, "Run until this time first [s]; default: the initial state");
  command.add_option("--step", overrides.step, "Step of the run and of the linear step [s]");
  command.add_option("--size", linearize.size, "Size of the deviations of the linear step");
  command.add_flag(
    "--lyapunov", linearize.lyapunov, "Largest Lyapunov exponent of the run as well");
  command.add_option("--until", overrides.until, "End of the run of --lyapunov [s]");
  add_json(command, linearize.json, "Write the report as JSON; - instead of text");
}

void add_examples(CLI::App & app, std::optional<int> & exit_code)
{
  const auto arguments = std::make_shared<cdyn::ExamplesArguments>();
  CLI::App & command = *app.add_subcommand("examples", "List the examples");
  command.add_option("name", arguments->name, "Example")->type_name("NAME");
  command.add_flag("--show", arguments->show, "Print the file");
  command.callback([arguments, &exit_code] { exit_code = cdyn::examples(*arguments); });
}

void add_types(CLI::App & app, std::optional<int> & exit_code)
{
  const auto type = std::make_shared<std::string>();
  CLI::App & command = *app.add_subcommand(
    "types",
    "Types of constraints, force elements, servo tasks and null-space terms with their keys, as "
    "Markdown");
  command.add_option("type", *type, "One of them")->type_name("TYPE");
  command.callback([type, &exit_code] { exit_code = cdyn::types(*type); });
}

void add_completion(CLI::App & app, std::optional<int> & exit_code)
{
  CLI::App & command = *app.add_subcommand(
    "completion", "Script that completes words of cdyn in bash: source <(cdyn completion)");
  command.callback(
    [&app, &exit_code]
    {
      cdyn::write_out(cdyn::completion_script(app));
      exit_code = cdyn::kSuccess;
    });
}

std::vector<std::string> command_names(const CLI::App & app)
{
  std::vector<std::string> names;
  for (const CLI::App * command : app.get_subcommands({}))
  {
    names.push_back(command->get_name());
  }
  return names;
}

/// @throw std::invalid_argument for a first word that is neither a command nor an option.
void check_command_name(const CLI::App & app, const std::string & word)
{
  const std::vector<std::string> names = command_names(app);
  const bool is_known = std::find(names.begin(), names.end(), word) != names.end();
  if (!word.empty() && word[0] != '-' && !is_known)
  {
    throw std::invalid_argument(
      word + ": no such command" + constrained_dynamics::suggest(word, names));
  }
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): outside of the try block only mistakes here throw
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
  std::optional<int> exit_code;
  for (const auto add :
       {add_run, add_solve, add_check, add_compare, add_bench, add_linearize, add_examples,
        add_types, add_completion})
  {
    add(app, exit_code);
  }
  try
  {
    check_command_name(app, argc > 1 ? argv[1] : "");
    app.parse(argc, argv);
    if (exit_code)
    {
      return *exit_code;
    }
    cdyn::complain(
      "a subcommand is missing; allowed: " + cdyn::list(command_names(app)) +
      "\nRun with --help for more information.");
    return cdyn::kBadInput;
  }
  catch (const CLI::ParseError & error)
  {
    return app.exit(error) == 0 ? cdyn::kSuccess : cdyn::kBadInput;
  }
  catch (const std::invalid_argument & error)
  {
    cdyn::complain(error.what());
    return cdyn::kBadInput;
  }
  catch (const std::exception & error)
  {
    cdyn::complain(error.what());
    return cdyn::kNotCompleted;
  }
}
