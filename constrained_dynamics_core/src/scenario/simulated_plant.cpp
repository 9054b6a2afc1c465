// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/simulated_plant.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "checked_values.hpp"
#include "constrained_dynamics/formulations/multiplier_forces.hpp"
#include "names.hpp"

namespace constrained_dynamics
{

/// Commanded efforts as inputs, besides whatever else acts on the scenario's system.
class SimulatedPlant::CommandLaw : public InputLaw
{
public:
  explicit CommandLaw(const Scenario & scenario)
  : efforts_(Eigen::VectorXd::Zero(scenario.system().input_count())),
    outside_(scenario.make_input_law()),
    acceleration_(Eigen::VectorXd::Zero(scenario.system().speed_count()))
  {
    if (scenario.profile() && scenario.profile()->command_adds)
    {
      drives_ = std::make_unique<DriveConversion>(*scenario.profile(), scenario.system());
    }
  }

  Eigen::VectorXd & efforts() noexcept { return efforts_; }

  void start(const State & state) override
  {
    acceleration_.setZero();
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
    // Drives that accelerate their rotors know the acceleration of the step before.
    if (drives_ && workspace.solution().acceleration.allFinite())
    {
      acceleration_ = workspace.solution().acceleration;
    }
  }
  Status evaluate(const System & system, SystemData & data, VectorRef inputs) noexcept
    CD_NONBLOCKING override
  {
    const Status status = outside_ ? outside_->evaluate(system, data, inputs) : Status::kOk;
    if (drives_ && status == Status::kOk)
    {
      return drives_->exerted_effort(data, efforts_, acceleration_, inputs);
    }
    inputs = efforts_;
    return status;
  }

private:
  Eigen::VectorXd efforts_;
  std::shared_ptr<InputLaw> outside_;        // external wrenches
  std::unique_ptr<DriveConversion> drives_;  // null: efforts are those of the model
  Eigen::VectorXd acceleration_;
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

}  // namespace

SimulatedPlant::SimulatedPlant(
  const Scenario & scenario, const std::vector<std::string> & driven_joints,
  const SimulatedPlantOptions & options)
: scenario_(scenario),
  options_(options),
  law_(std::make_shared<CommandLaw>(scenario)),
  readings_(Eigen::VectorXd::Zero(scenario.system().input_count()))
{
  const auto forces = scenario.dynamics()->formulation().multiplier_forces();
  if (forces && forces->has_target(MultiplierForceTarget::Kind::kInput))
  {
    throw std::invalid_argument(
      "commands replace 'inputs', but one of them depends on constraint forces ('lambda'); "
      "allowed: 'lambda' in 'force' and 'external'");
  }
  checked_positive("simulated plant", "step", options.step);
  checked_positive("simulated plant", "largest_period", options.largest_period);
  checked_positive("simulated plant", "drive_bandwidth", options.drive_bandwidth);
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
  for (const std::string & joint : driven_joints)
  {
    input_of_drive_.push_back(find_name(scenario_.system().input_names(), joint));
  }
  if (scenario_.profile() && scenario_.profile()->effort_contains)
  {
    sensors_ = std::make_unique<DriveConversion>(*scenario_.profile(), scenario_.system());
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

const Eigen::VectorXd & SimulatedPlant::effort_readings() noexcept
{
  readings_ = simulation_->inputs();
  for (std::size_t k = 0; k < input_of_drive_.size(); ++k)
  {
    if (input_of_drive_[k] >= 0 && is_driven(k))
    {
      readings_(input_of_drive_[k]) += drive_effort(k);
    }
  }
  const Workspace & workspace = simulation_->workspace();
  if (sensors_)
  {
    // Without output they stay those of the model, which is finite at every state of a simulation.
    (void)sensors_->measured_effort(
      workspace.system_data(), readings_, workspace.solution().acceleration, readings_);
  }
  return readings_;
}

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
