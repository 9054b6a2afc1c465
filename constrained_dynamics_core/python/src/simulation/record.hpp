// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"

namespace constrained_dynamics::python
{

/// A run as arrays over its output times. Filled without Python, then handed out without copies.
class Record
{
public:
  /// Values of one kind, `width` per time.
  struct Channel
  {
    std::size_t width = 1;
    std::vector<double> values;

    template <class Vector>
    void add(const Vector & vector)
    {
      values.insert(values.end(), vector.data(), vector.data() + vector.size());
    }
    void add(double value) { values.push_back(value); }
  };

  /// @param observables names of what `scenario` observes; none where there is no scenario.
  Record(std::shared_ptr<const Dynamics> recorded, const Scenario * scenario);

  /// Takes the values of the current output time.
  void add(const Simulation & simulation);

  std::size_t size() const { return time.values.size(); }
  /// Null where there is no scenario.
  std::shared_ptr<const ContactSet> contacts() const
  {
    return scenario_ ? scenario_->contacts() : nullptr;
  }

  std::shared_ptr<const Dynamics> dynamics;
  std::vector<std::string> observable_names;
  Channel time, q, u, acceleration, inputs, multipliers, constraint_force;
  Channel wrench_point, wrench_force, wrench_torque;  // on body a
  Channel position, velocity, kinetic_energy, potential_energy, observables;
  Channel active;  // 1: the constraint is in force
  std::vector<std::uint8_t> status;
  std::vector<int> rank;
  std::vector<ContactEvent> events;
  RunResult result;

private:
  std::unique_ptr<const Scenario> scenario_;
  Eigen::VectorXd observed_;
};

}  // namespace constrained_dynamics::python
