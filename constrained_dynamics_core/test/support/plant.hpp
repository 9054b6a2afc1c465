// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include <Eigen/Core>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"

namespace constrained_dynamics::test
{

/// A robot with its constraints, as the core simulates it, whose inputs are held over a step.
class Plant
{
public:
  explicit Plant(const Scenario & scenario)
  : inputs_(std::make_shared<HeldInputs>(scenario.system().input_count())),
    simulation_(scenario.dynamics(), scenario.run().integration, inputs_)
  {
    scenario.switch_constraints(simulation_.workspace());
    simulation_.start(scenario.initial());
  }

  const State & state() const { return simulation_.state(); }
  Simulation & simulation() { return simulation_; }
  Eigen::VectorXd & inputs() { return inputs_->values; }
  [[nodiscard]] Status step() { return simulation_.step(); }

private:
  class HeldInputs : public InputLaw
  {
  public:
    explicit HeldInputs(int count) : values(Eigen::VectorXd::Zero(count)) {}
    Status evaluate(const System &, SystemData &, VectorRef inputs) noexcept override
    {
      inputs = values;
      return Status::kOk;
    }
    Eigen::VectorXd values;
  };

  std::shared_ptr<HeldInputs> inputs_;
  Simulation simulation_;
};

}  // namespace constrained_dynamics::test
