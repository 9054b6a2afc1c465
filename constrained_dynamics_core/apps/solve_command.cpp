#include <iostream>
#include <memory>
#include <optional>

#include "commands.hpp"
#include "constrained_dynamics/simulation.hpp"
#include "output.hpp"

namespace cdyn
{

namespace cd = constrained_dynamics;

int solve(const SolveArguments & arguments)
{
  const std::string path = find_scenario(arguments.scenario);
  cd::ScenarioLoadOptions options;
  options.assemble = !arguments.raw_state;
  const cd::Scenario scenario = cd::Scenario::load(path, arguments.overrides, options);
  OutputFile file(arguments.json.empty() ? "-" : arguments.json, "--json", path);

  const cd::Dynamics & dynamics = *scenario.dynamics();
  const cd::State & state = scenario.initial();
  cd::Workspace workspace(dynamics);
  scenario.switch_constraints(workspace);
  std::optional<cd::RankReport> rank;
  try
  {
    rank = dynamics.analyse(state, workspace);
  }
  catch (const std::invalid_argument &)
  {
    // The solve below says why as a status.
  }
  Eigen::VectorXd inputs = Eigen::VectorXd::Zero(scenario.system().input_count());
  cd::Status status = dynamics.update_kinematics(state.time, state.q, state.u, workspace);
  const std::shared_ptr<cd::InputLaw> law = scenario.make_input_law();
  if (status == cd::Status::kOk && law != nullptr)
  {
    status = law->evaluate(scenario.system(), workspace.system_data(), inputs);
  }
  if (status == cd::Status::kOk)
  {
    status = dynamics.solve_updated(inputs, workspace);
  }

  cd::JsonWriter json;
  json.begin_object()
    .entry("scenario", scenario.name())
    .entry("formulation", dynamics.formulation().name());
  write_state(json, scenario, {status, state, inputs, workspace, rank ? &rank.value() : nullptr});
  json.end_object();
  file.write(json.text());
  file.close();
  if (status != cd::Status::kOk)
  {
    std::cerr << "cdyn: " << scenario.name() << ": status " << cd::to_string(status)
              << " at t = " << format(state.time) << " s\n";
    return kNotCompleted;
  }
  return kSuccess;
}

}  // namespace cdyn
