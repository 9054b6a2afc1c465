// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/servo_run.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <utility>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "support/reference_data.hpp"

namespace constrained_dynamics::test
{

using Eigen::VectorXd;

const ServoSample & ServoRun::at(double time) const
{
  return *std::min_element(
    samples.begin(), samples.end(),
    [time](const ServoSample & a, const ServoSample & b)
    { return std::abs(a.time - time) < std::abs(b.time - time); });
}

double ServoRun::observe(const ServoSample & sample, const std::string & name) const
{
  const auto found = std::find(observable_names.begin(), observable_names.end(), name);
  EXPECT_NE(found, observable_names.end()) << name;
  return sample.observed(found - observable_names.begin());
}

ServoRun record_servo(
  const Scenario & scenario, double until, double interval,
  const std::function<void(ServoWorkspace &)> & begin,
  const std::function<void(const ServoWorkspace &)> & visit)
{
  const auto law = std::dynamic_pointer_cast<ServoInputLaw>(scenario.make_input_law());
  Simulation simulation(scenario.dynamics(), scenario.run().integration, law, scenario.contacts());
  scenario.switch_constraints(simulation.workspace());
  simulation.start(scenario.initial());
  if (begin)
  {
    begin(law->servo());
  }
  ServoRun run;
  run.observable_names = scenario.observable_names();
  run.result = simulation.run(
    until, interval,
    [&](const Simulation & now)
    {
      const ServoWorkspace & servo = law->servo();
      const Solution & solution = now.workspace().solution();
      const ServoResult & result = servo.result();
      const VectorXd & u = now.state().u;
      const double size = solution.constraint_force.norm() * std::max(1.0, u.norm());
      ServoSample sample{
        now.state().time,
        now.state().q,
        u,
        now.inputs(),
        result.error,
        result.residual,
        solution.multipliers,
        VectorXd::Zero(static_cast<Eigen::Index>(run.observable_names.size())),
        law->last_status(),
        result.limited,
        now.kinetic_energy() + now.potential_energy(),
        (servo.dynamics().terms().input_matrix * now.inputs()).dot(u),
        size > 0.0 ? solution.constraint_force.dot(u) / size : 0.0};
      EXPECT_EQ(scenario.observe(now.workspace(), now.inputs(), sample.observed), Status::kOk);
      EXPECT_TRUE(
        sample.inputs.allFinite() && sample.multipliers.allFinite() &&
        sample.residual.allFinite() && sample.error.allFinite() && sample.q.allFinite());
      // The law's own solution is that of the plant: same state, same inputs.
      expect_close(
        servo.dynamics().solution().acceleration, solution.acceleration,
        1e-9 * (1.0 + solution.acceleration.norm()), "acceleration of law and plant");
      run.samples.push_back(std::move(sample));
      if (visit)
      {
        visit(servo);
      }
      return true;
    });
  run.counts = law->counts();
  EXPECT_TRUE(run.result.completed) << to_string(run.result.status) << " at " << run.result.time;
  return run;
}

void expect_energy_balance(
  const ServoRun & run, const VectorXd & damping, double tolerance, double from, double kink)
{
  const std::vector<ServoSample> & samples = run.samples;
  ASSERT_GT(samples.size(), 10U);
  double worst = 0.0;
  double worst_time = 0.0;
  double power = 0.0;
  double idle = 0.0;
  for (std::size_t i = 2; i + 2 < samples.size(); ++i)
  {
    const double h = samples[i + 1].time - samples[i].time;
    if (std::abs(samples[i + 2].time - samples[i - 2].time - 4.0 * h) > 1e-9 * h)
    {
      continue;  // a shortened last interval
    }
    if (samples[i].time < from || std::abs(samples[i].time - kink) < 2.5 * h)
    {
      continue;
    }
    const double rate = (8.0 * (samples[i + 1].energy - samples[i - 1].energy) -
                         (samples[i + 2].energy - samples[i - 2].energy)) /
                        (12.0 * h);
    const double loss = samples[i].u.cwiseAbs2().dot(damping);
    const double miss = std::abs(rate - samples[i].input_power + loss);
    worst_time = miss > worst ? samples[i].time : worst_time;
    worst = std::max(worst, miss);
    power = std::max(power, std::abs(samples[i].input_power));
    idle = std::max(idle, std::abs(samples[i].constraint_power));
  }
  std::cout << "energy balance within " << worst << " W (at " << worst_time << " s) of " << power
            << " W; relative power of constraints " << idle << std::endl;
  EXPECT_GT(power, 1.0);
  EXPECT_LE(worst, tolerance);
  EXPECT_LE(idle, 1e-13);
}

}  // namespace constrained_dynamics::test
