// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <atomic>
#include <memory>
#include <stdexcept>

#include "common.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"
#include "simulation/record.hpp"

namespace constrained_dynamics::python
{

/// A simulation that one thread at a time may use. Other Python threads continue during a run.
struct SimulationHandle
{
  SimulationHandle(
    std::shared_ptr<const Dynamics> of, std::unique_ptr<Simulation> held,
    std::shared_ptr<InputLaw> inputs)
  : dynamics(std::move(of)), simulation(std::move(held)), law(std::move(inputs))
  {
  }

  /// Claims the simulation while it exists.
  class Use
  {
  public:
    /// @throw std::runtime_error if it is in use.
    explicit Use(SimulationHandle & handle) : busy_(handle.busy)
    {
      if (busy_.exchange(true))
      {
        throw std::runtime_error(
          "the simulation is running in another thread or in its own observer");
      }
    }
    ~Use() { busy_ = false; }
    Use(const Use &) = delete;
    Use & operator=(const Use &) = delete;

  private:
    std::atomic<bool> & busy_;
  };

  std::shared_ptr<const Dynamics> dynamics;
  std::unique_ptr<Simulation> simulation;
  std::shared_ptr<InputLaw> law;  // null: no inputs
  std::atomic<bool> busy{false};
};

/// Runs without the interpreter's lock and records.
/// @param extras observables that are recorded besides.
std::shared_ptr<Record> run_recorded(
  SimulationHandle & handle, double until, double output_interval,
  const std::optional<nb::callable> & observer, Record::Extras extras = {});

/// Batches of runs.
void bind_rollout(nb::module_ & module);

}  // namespace constrained_dynamics::python
