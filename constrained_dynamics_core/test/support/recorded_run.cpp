// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "support/recorded_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <stdexcept>

namespace constrained_dynamics::test
{

const Sample & RecordedRun::at(double time) const
{
  if (samples.empty())
  {
    throw std::runtime_error("the run has no samples");
  }
  return *std::min_element(
    samples.begin(), samples.end(),
    [time](const Sample & a, const Sample & b)
    { return std::abs(a.time - time) < std::abs(b.time - time); });
}

double RecordedRun::observe(const Sample & sample, const std::string & name) const
{
  const auto found = std::find(observable_names.begin(), observable_names.end(), name);
  if (found == observable_names.end())
  {
    throw std::runtime_error("no observable " + name);
  }
  return sample.observed(found - observable_names.begin());
}

std::string scenario_path(const std::string & name)
{
  return std::string(CD_CONFIG) + "/scenarios/" + name + ".yaml";
}

Scenario repository_scenario(const std::string & name, const std::vector<std::string> & overrides)
{
  return Scenario::load(scenario_path(name), overrides);
}

RecordedRun record(const Scenario & scenario, double until, double output_interval)
{
  RecordedRun run;
  run.observable_names = scenario.observable_names();
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  const std::clock_t start = std::clock();
  run.result = simulation->run(
    until, output_interval,
    [&](const Simulation & now)
    {
      const Workspace & workspace = now.workspace();
      const Solution & solution = workspace.solution();
      Sample sample;
      sample.time = now.state().time;
      sample.q = now.state().q;
      sample.u = now.state().u;
      sample.acceleration = solution.acceleration;
      sample.constraint_force = solution.constraint_force;
      sample.multipliers = solution.multipliers;
      sample.inputs = now.inputs();
      sample.observed.setZero(static_cast<Eigen::Index>(run.observable_names.size()));
      if (scenario.observe(workspace, now.inputs(), sample.observed) != Status::kOk)
      {
        throw std::runtime_error("observables cannot be evaluated");
      }
      sample.energy = now.kinetic_energy() + now.potential_energy();
      sample.rank = solution.rank;
      const auto largest = [](const Eigen::VectorXd & values)
      { return values.size() > 0 ? values.cwiseAbs().maxCoeff() : 0.0; };
      run.position_violation = std::max(run.position_violation, largest(workspace.rows().position));
      run.velocity_violation = std::max(run.velocity_violation, largest(workspace.rows().velocity));
      if (!run.samples.empty())
      {
        run.energy_change =
          std::max(run.energy_change, std::abs(sample.energy - run.samples.front().energy));
      }
      const double size = solution.constraint_force.norm() * std::max(1.0, sample.u.norm());
      if (size > 0.0 && solution.multipliers.size() > 0)
      {
        run.constraint_power =
          std::max(run.constraint_power, std::abs(solution.constraint_force.dot(sample.u)) / size);
      }
      run.samples.push_back(std::move(sample));
      return true;
    });
  run.seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::cout << scenario.name() << ": until " << run.result.time << " s, " << run.result.steps
            << " steps in " << run.seconds << " s; |phi| " << run.position_violation << ", |psi| "
            << run.velocity_violation << ", energy " << run.energy_change << " J, power "
            << run.constraint_power << ", singular evaluations " << run.result.singular_evaluations
            << std::endl;
  return run;
}

bool is_campaign()
{
  const char * value = std::getenv("CD_CAMPAIGN");
  return value != nullptr && std::string(value) == "1";
}

}  // namespace constrained_dynamics::test
