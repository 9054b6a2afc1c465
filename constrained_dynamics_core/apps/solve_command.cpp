#include <iostream>
#include <memory>
#include <optional>

#include "commands.hpp"
#include "constrained_dynamics/simulation.hpp"
#include "output.hpp"

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
      solved.rank =
        scenario.dynamics()->analyse(solved.simulation->state(), solved.simulation->workspace());
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

int solve(const SolveArguments & arguments)
{
  const std::string path = find_scenario(arguments.scenario);
  cd::ScenarioLoadOptions options;
  options.assemble = !arguments.raw_state;
  const cd::Scenario scenario = cd::Scenario::load(path, arguments.overrides, options);
  OutputFile file(arguments.json.empty() ? "-" : arguments.json, "--json", path);

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
  json.end_object();
  file.write(json.text());
  file.close();
  if (solved.status != cd::Status::kOk)
  {
    std::cerr << "cdyn: " << scenario.name() << ": status " << cd::to_string(solved.status)
              << " at t = " << format(solved.simulation->state().time) << " s"
              << advice(solved.status) << "\n";
    return kNotCompleted;
  }
  return kSuccess;
}

}  // namespace cdyn
