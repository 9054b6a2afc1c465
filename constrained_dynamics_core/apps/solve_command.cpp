// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <memory>
#include <optional>

#include "commands.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"
#include "dynamics/row_trouble.hpp"
#include "output.hpp"
#include "terminal.hpp"

namespace cdyn
{

namespace cd = constrained_dynamics;

namespace
{

struct Solved
{
  std::unique_ptr<cd::Simulation> simulation;
  std::optional<cd::RankReport> rank;
  cd::Status status = cd::Status::kOk;
};

/// The solution at the initial state, with the contacts and frictions that act there.
Solved solve_initial(const cd::Scenario & scenario)
{
  Solved solved;
  solved.simulation = std::make_unique<cd::Simulation>(
    scenario.dynamics(), scenario.run().integration, scenario.make_input_law(),
    scenario.contacts());
  scenario.switch_constraints(solved.simulation->workspace());
  try
  {
    solved.rank = solved.simulation->start(scenario.initial());
    if (solved.simulation->has_contacts())
    {
      // The rank of what acts now, contacts that have closed among it.
      solved.rank = solved.simulation->workspace().reset(solved.simulation->state());
    }
  }
  catch (const std::invalid_argument &)
  {
    // The evaluation says why as a status.
  }
  solved.status = solved.simulation->evaluate();
  return solved;
}

}  // namespace

namespace
{

/// Which rows the status is about; empty where it is about none.
std::string named_rows(const cd::Scenario & scenario, const Solved & solved)
{
  const cd::Dynamics & dynamics = *scenario.dynamics();
  cd::Workspace & workspace = solved.simulation->workspace();
  const cd::State & state = solved.simulation->state();
  const int rank = workspace.solution().rank;
  const bool is_singular = solved.status == cd::Status::kSingular;
  if (
    (!is_singular && solved.status != cd::Status::kInconsistent) ||
    dynamics.evaluate_rows(state.time, state.q, state.u, workspace) != cd::Status::kOk)
  {
    return {};
  }
  const std::vector<int> rows = is_singular ? cd::rows_of_lost_directions(dynamics, workspace, rank)
                                            : cd::contradicting_rows(dynamics, workspace);
  return rows.empty() ? std::string()
                      : ": rows " + list_rows(dynamics.constraints(), rows) +
                          (is_singular ? " have lost directions" : " contradict each other");
}

}  // namespace

int solve(const SolveArguments & arguments)
{
  const std::string path = find_scenario(arguments.scenario);
  cd::ScenarioLoadOptions options;
  options.assemble = !arguments.raw_state;
  const cd::Scenario scenario = cd::Scenario::load(path, arguments.overrides, options);
  OutputFile file(arguments.json.empty() ? "-" : arguments.json, "--json", path);
  warn(scenario.warnings());

  const cd::Dynamics & dynamics = *scenario.dynamics();
  const Solved solved = solve_initial(scenario);

  cd::JsonWriter json;
  json.begin_object()
    .entry("scenario", scenario.name())
    .entry("formulation", dynamics.formulation().name());
  write_state(
    json, scenario,
    {solved.status, solved.simulation->state(), solved.simulation->inputs(),
     solved.simulation->workspace(), solved.rank ? &solved.rank.value() : nullptr});
  json.entry("warnings", scenario.warnings()).end_object();
  file.write(json.text());
  file.close();
  if (solved.status != cd::Status::kOk)
  {
    complain(
      scenario.name() + ": status " + cd::to_string(solved.status) +
      " at t = " + format(solved.simulation->state().time) + " s" + named_rows(scenario, solved) +
      advice(solved.status));
    return kNotCompleted;
  }
  return kSuccess;
}

}  // namespace cdyn
