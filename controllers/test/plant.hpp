// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <constrained_dynamics/scenario/scenario.hpp>
#include <constrained_dynamics/simulation/simulation.hpp>

namespace constrained_dynamics_controllers::test
{

/// Path of a file of the repository's folder config.
inline std::string config_file(const std::string & name)
{
  return std::string(CONFIG_FOLDER) + "/" + name;
}

/// A robot with its constraints, as the core simulates it, whose inputs are held over a step.
class Plant
{
public:
  explicit Plant(const constrained_dynamics::Scenario & scenario)
  : inputs_(std::make_shared<HeldInputs>(scenario.system().input_count())),
    simulation_(scenario.dynamics(), scenario.run().integration, inputs_)
  {
    scenario.switch_constraints(simulation_.workspace());
    simulation_.start(scenario.initial());
  }

  const constrained_dynamics::State & state() const { return simulation_.state(); }
  constrained_dynamics::Simulation & simulation() { return simulation_; }
  Eigen::VectorXd & inputs() { return inputs_->values; }
  [[nodiscard]] constrained_dynamics::Status step() { return simulation_.step(); }

private:
  class HeldInputs : public constrained_dynamics::InputLaw
  {
  public:
    explicit HeldInputs(int count) : values(Eigen::VectorXd::Zero(count)) {}
    constrained_dynamics::Status evaluate(
      const constrained_dynamics::System &, constrained_dynamics::SystemData &,
      constrained_dynamics::VectorRef inputs) noexcept override
    {
      inputs = values;
      return constrained_dynamics::Status::kOk;
    }
    Eigen::VectorXd values;
  };

  std::shared_ptr<HeldInputs> inputs_;
  constrained_dynamics::Simulation simulation_;
};

}  // namespace constrained_dynamics_controllers::test
