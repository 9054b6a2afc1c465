// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

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

  /// What is recorded besides the simulation itself; nothing by default.
  struct Extras
  {
    std::vector<std::string> names;  ///< of the observables
    /// Evaluates the observables at an output time.
    std::function<Status(const Workspace &, const Eigen::VectorXd & inputs, Eigen::VectorXd & out)>
      observe;
    std::shared_ptr<const ContactSet> contacts;  ///< null: none
  };

  Record(std::shared_ptr<const Dynamics> recorded, Extras extras);

  /// Takes the values of the current output time.
  void add(const Simulation & simulation);

  std::size_t size() const { return time.values.size(); }
  /// Observables and contacts.
  const Extras & extras() const { return extras_; }

  std::shared_ptr<const Dynamics> dynamics;
  Channel time, q, u, acceleration, inputs, multipliers, constraint_force;
  Channel wrench_point, wrench_force, wrench_torque;  // on body a
  Channel position, velocity, kinetic_energy, potential_energy, observables;
  Channel active;  // 1: the constraint is in force
  std::vector<std::uint8_t> status;
  std::vector<int> rank;
  std::vector<ContactEvent> events;
  RunResult result;

private:
  Extras extras_;
  Eigen::VectorXd observed_;
};

}  // namespace constrained_dynamics::python
