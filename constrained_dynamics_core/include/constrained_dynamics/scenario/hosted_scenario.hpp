// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"

namespace constrained_dynamics
{

/// A request that cannot be carried out; the message says what was requested and what is allowed.
class CONSTRAINED_DYNAMICS_EXPORT RequestError : public std::invalid_argument
{
public:
  using std::invalid_argument::invalid_argument;
};

/// An impulse at the origin of a frame (world axes), along speeds, or both.
struct Push
{
  std::string frame;                                 ///< empty: none
  Eigen::Vector3d force = Eigen::Vector3d::Zero();   ///< impulse [N s]
  Eigen::Vector3d torque = Eigen::Vector3d::Zero();  ///< angular impulse [N m s]
  std::vector<std::string> names;                    ///< of speeds
  std::vector<double> values;                        ///< generalized impulses along them
};

/// A simulated scenario that a caller advances, pushes and switches. Its solution always belongs to
/// its state. It does not use ROS. Real-time safe: no.
class CONSTRAINED_DYNAMICS_EXPORT HostedScenario
{
public:
  /// @param until end of the simulation [s]; 0: that of the scenario, infinite: none.
  /// @throw std::invalid_argument as Scenario::load.
  HostedScenario(
    const std::string & path, const std::vector<std::string> & overrides, double until);

  /// Returns to the initial state, with the constraints active as in the file.
  void reset();

  /// Advances by a duration [s], to the next whole step, but not beyond the end.
  void advance(double duration);
  /// Makes steps of the scenario's step size, even beyond its end.
  /// @throw RequestError for 0 or more than kMostSteps steps, and if the simulation cannot
  /// continue.
  void step(std::uint32_t count);
  /// Switches a constraint on or off. @return magnitude of the impulse at the switch.
  /// @throw RequestError
  double set_active(const std::string & name, bool active);
  /// @return change of the energy [J]. @throw RequestError
  double push(const Push & push);

  const Scenario & scenario() const { return scenario_; }
  const Dynamics & dynamics() const { return *scenario_.dynamics(); }
  const Simulation & simulation() const { return *simulation_; }
  Status status() const { return simulation_->last_status(); }
  double time() const { return simulation_->state().time; }
  bool has_ended() const;
  /// Whether the simulation had to stop, and the status that stopped it.
  bool has_failed() const { return !has_output(failure_); }
  Status failure() const { return failure_; }
  void clear_events() { simulation_->clear_events(); }

  /// Most steps of one request: more would block the caller for too long.
  static constexpr std::uint32_t kMostSteps = 1000000;

private:
  void make_steps(std::int64_t count);
  void run(double until);
  void solve();
  Eigen::VectorXd frame_impulse(const Push & push) const;
  Eigen::VectorXd speed_impulse(const Push & push) const;
  /// Makes a change and returns the event that it caused. @throw RequestError naming `what`.
  template <typename Change>
  ContactEvent make_change(const Change & change, const std::string & what);

  Scenario scenario_;
  double until_;
  double step_size_;
  bool is_adaptive_;
  std::unique_ptr<Simulation> simulation_;
  Status failure_ = Status::kOk;
  double remainder_ = 0.0;  // of the last advance [s]
};

}  // namespace constrained_dynamics
