// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "simulation/record.hpp"

#include <limits>

namespace constrained_dynamics::python
{

Record::Record(std::shared_ptr<const Dynamics> recorded, const Scenario * scenario)
: dynamics(std::move(recorded)), scenario_(scenario != nullptr ? new Scenario(*scenario) : nullptr)
{
  const System & system = dynamics->system();
  const ConstraintSet & set = dynamics->constraints();
  const auto width = [](Channel & channel, int count)
  { channel.width = static_cast<std::size_t>(count); };
  width(q, system.coordinate_count());
  width(u, system.speed_count());
  width(acceleration, system.speed_count());
  width(inputs, system.input_count());
  width(multipliers, set.row_count());
  width(constraint_force, system.speed_count());
  width(position, set.row_count());
  width(velocity, set.row_count());
  width(active, set.size());
  for (Channel * channel : {&wrench_point, &wrench_force, &wrench_torque})
  {
    width(*channel, 3 * set.wrench_count());
  }
  if (scenario_)
  {
    observable_names = scenario_->observable_names();
  }
  width(observables, static_cast<int>(observable_names.size()));
  observed_.resize(static_cast<Eigen::Index>(observable_names.size()));
}

void Record::add(const Simulation & simulation)
{
  const Workspace & workspace = simulation.workspace();
  const Solution & solution = workspace.solution();
  time.add(simulation.state().time);
  q.add(simulation.state().q);
  u.add(simulation.state().u);
  acceleration.add(solution.acceleration);
  inputs.add(simulation.inputs());
  multipliers.add(solution.multipliers);
  constraint_force.add(solution.constraint_force);
  for (const WrenchPair & pair : solution.wrenches)
  {
    wrench_point.add(pair.on_a.point);
    wrench_force.add(pair.on_a.force);
    wrench_torque.add(pair.on_a.torque);
  }
  position.add(workspace.rows().position);
  velocity.add(workspace.rows().velocity);
  for (int i = 0; i < dynamics->constraints().size(); ++i)
  {
    active.add(workspace.is_active(i) ? 1.0 : 0.0);
  }
  kinetic_energy.add(simulation.kinetic_energy());
  potential_energy.add(simulation.potential_energy());
  status.push_back(static_cast<std::uint8_t>(simulation.last_status()));
  rank.push_back(solution.rank);
  if (scenario_)
  {
    if (scenario_->observe(workspace, simulation.inputs(), observed_) != Status::kOk)
    {
      observed_.setConstant(std::numeric_limits<double>::quiet_NaN());
    }
    observables.add(observed_);
  }
}

}  // namespace constrained_dynamics::python
