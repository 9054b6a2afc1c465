// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/simulated_plant.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "constrained_dynamics/formulations/multiplier_formulation.hpp"

namespace constrained_dynamics
{

namespace
{

/// Commands would not reach inputs that depend on constraint forces.
void refuse_multiplier_inputs(const Scenario & scenario)
{
  const auto * multipliers = MultiplierFormulation::of(scenario.dynamics()->formulation());
  if (multipliers && multipliers->forces().has_target(MultiplierForceTarget::Kind::kInput))
  {
    throw std::invalid_argument(
      "commands replace 'inputs', but one of them depends on constraint forces ('lambda'); "
      "allowed: 'lambda' in 'force' and 'external'");
  }
}

}  // namespace

/// Commanded efforts as inputs, besides whatever else acts on the scenario's system.
class SimulatedPlant::CommandLaw : public InputLaw
{
public:
  CommandLaw(int input_count, std::shared_ptr<InputLaw> outside)
  : efforts_(Eigen::VectorXd::Zero(input_count)), outside_(std::move(outside))
  {
  }

  Eigen::VectorXd & efforts() noexcept { return efforts_; }

  void start(const State & state) override
  {
    if (outside_)
    {
      outside_->start(state);
    }
  }
  void begin_step(double time) noexcept CD_NONBLOCKING override
  {
    if (outside_)
    {
      outside_->begin_step(time);
    }
  }
  void observe(const Workspace & workspace) noexcept CD_NONBLOCKING override
  {
    if (outside_)
    {
      outside_->observe(workspace);
    }
  }
  Status evaluate(const System & system, SystemData & data, VectorRef inputs) noexcept
    CD_NONBLOCKING override
  {
    const Status status = outside_ ? outside_->evaluate(system, data, inputs) : Status::kOk;
    inputs = efforts_;
    return status;
  }

private:
  Eigen::VectorXd efforts_;
  std::shared_ptr<InputLaw> outside_;  // external wrenches
};

namespace
{

/// The scenario's dynamics with drives added behind its constraints, whose indices stay the same.
std::shared_ptr<const Dynamics> add_drives(
  const std::shared_ptr<const Dynamics> & dynamics,
  const std::vector<std::shared_ptr<const Constraint>> & drives)
{
  const ConstraintSet & constraints = dynamics->constraints();
  std::vector<std::shared_ptr<const Constraint>> all;
  for (int i = 0; i < constraints.size(); ++i)
  {
    all.emplace_back(dynamics, &constraints[i]);  // kept alive by the dynamics
  }
  all.insert(all.end(), drives.begin(), drives.end());
  return std::make_shared<const Dynamics>(
    ConstraintSet(constraints.shared_system(), std::move(all)), dynamics->options(),
    std::shared_ptr<const Formulation>(dynamics, &dynamics->formulation()));
}

void demand_positive(const char * name, double value)
{
  if (!std::isfinite(value) || value <= 0.0)
  {
    throw std::invalid_argument(
      std::string(name) + ": " + std::to_string(value) + "; allowed: a number above 0");
  }
}

}  // namespace

SimulatedPlant::SimulatedPlant(
  const Scenario & scenario, const std::vector<std::string> & driven_joints,
  const SimulatedPlantOptions & options)
: scenario_(scenario),
  options_(options),
  law_(std::make_shared<CommandLaw>(scenario.system().input_count(), scenario.make_input_law()))
{
  refuse_multiplier_inputs(scenario);
  demand_positive("step", options.step);
  demand_positive("largest_period", options.largest_period);
  demand_positive("drive_bandwidth", options.drive_bandwidth);
  if (!driven_joints.empty() && options.drive_bandwidth * options.step > 0.5)
  {
    throw std::invalid_argument(
      "drive_bandwidth: " + std::to_string(options.drive_bandwidth) +
      "; allowed: at most 0.5/step = " + std::to_string(0.5 / options.step));
  }
  std::vector<std::shared_ptr<const Constraint>> drives;
  for (const std::string & joint : driven_joints)
  {
    targets_.push_back(std::make_shared<DriveTarget>());
    drives.push_back(std::make_shared<JointDrive>(
      scenario_.system(), joint, options.drive_bandwidth, targets_.back()));
  }
  dynamics_ = drives.empty() ? scenario_.dynamics() : add_drives(scenario_.dynamics(), drives);
  first_drive_ = scenario_.dynamics()->constraints().size();
  const ContactSet & contacts = *scenario_.contacts();
  SimulationOptions integration = scenario_.run().integration;
  integration.step = options.step;
  if (is_adaptive(integration.integrator))
  {
    integration.integrator = Integrator::kRk4;  // steps are fixed
  }
  simulation_ = std::make_unique<Simulation>(
    dynamics_, integration, law_,
    std::make_shared<const ContactSet>(
      dynamics_->constraints(), contacts.contacts(), contacts.frictions()));
  reset();
}

void SimulatedPlant::reset()
{
  law_->efforts().setZero();
  pending_ = 0.0;
  cuts_ = 0;
  scenario_.switch_constraints(simulation_->workspace());
  for (std::size_t k = 0; k < targets_.size(); ++k)
  {
    simulation_->workspace().set_active(first_drive_ + static_cast<int>(k), false);
  }
  simulation_->schedule(scenario_.scheduled_changes());
  simulation_->start(scenario_.initial());
  const Status status = simulation_->evaluate();
  if (!has_output(status))
  {
    throw std::invalid_argument(
      std::string("the initial state has no solution: ") + to_string(status));
  }
}

Eigen::VectorXd & SimulatedPlant::efforts() noexcept { return law_->efforts(); }

void SimulatedPlant::switch_drive(std::size_t k, bool active) noexcept
{
  // A row on acceleration level: there is no impulse that could fail.
  (void)simulation_->switch_constraint(first_drive_ + static_cast<int>(k), active);
}

bool SimulatedPlant::is_driven(std::size_t k) const
{
  return simulation_->workspace().is_active(first_drive_ + static_cast<int>(k));
}

double SimulatedPlant::drive_effort(std::size_t k) const
{
  return simulation_->workspace().solution().multipliers(
    dynamics_->constraints().row_offset(first_drive_) + static_cast<Eigen::Index>(k));
}

long SimulatedPlant::steps_of(double period) noexcept
{
  if (!(period > 0.0))
  {
    return 0;
  }
  if (period > options_.largest_period)
  {
    ++cuts_;
  }
  pending_ += std::min(period, options_.largest_period);
  // Most periods are a whole number of steps, up to round-off.
  const long count = std::lround(std::floor(pending_ / options_.step + 1e-6));
  pending_ -= static_cast<double>(count) * options_.step;
  return count;
}

}  // namespace constrained_dynamics
