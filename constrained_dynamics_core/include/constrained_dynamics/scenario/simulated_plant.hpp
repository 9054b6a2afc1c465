// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/scenario/joint_drive.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// Options of a simulated plant.
struct SimulatedPlantOptions
{
  double step = 1e-3;            ///< of the integration [s]
  double largest_period = 0.1;   ///< [s]; longer periods are truncated, and the plant slows down
  double drive_bandwidth = 100;  ///< ω of JointDrive [1/s]
};

/// A simulated robot: a scenario that is integrated with fixed steps and driven by efforts and
/// stiff drives. If the scenario has a robot profile, efforts are commands to the drives of that
/// robot, which add to them what the profile says, and its friction acts.
class CONSTRAINED_DYNAMICS_EXPORT SimulatedPlant
{
public:
  /// @param driven_joints joints that may follow positions or velocities.
  /// @throw std::invalid_argument for unknown joints or options out of range.
  SimulatedPlant(
    const Scenario & scenario, const std::vector<std::string> & driven_joints,
    const SimulatedPlantOptions & options);

  /// Returns to the initial state, with zero efforts and drives off. Real-time safe: no.
  /// @throw std::invalid_argument if rows cannot be evaluated there.
  void reset();

  /// Efforts of the inputs (l), or commands to their drives, set by the caller.
  Eigen::VectorXd & efforts() noexcept;
  /// What sensors of the efforts of the inputs show (l): with the terms that the robot profile
  /// states; without a profile, or if it does not state them, efforts of the model. At the state of
  /// the last step of `advance`. Real-time safe: yes.
  const Eigen::VectorXd & effort_readings() noexcept;
  /// Target of the k-th driven joint, set by the caller.
  DriveTarget & target(std::size_t k) noexcept { return *targets_[k]; }
  /// Switches the k-th drive on or off. Real-time safe: yes.
  void switch_drive(std::size_t k, bool active) noexcept;
  bool is_driven(std::size_t k) const;
  /// Effort of the k-th drive [N m, N].
  double drive_effort(std::size_t k) const;

  /// Advances by a period [s] in whole steps; the remainder is carried over to the next call. Calls
  /// `after_step` after each step, when the solution belongs to the state. Statuses as for
  /// Simulation::step; on failure the state is the last good one. Real-time safe: yes.
  template <typename AfterStep>
  [[nodiscard]] Status advance(
    double period, bool at_each_step, const AfterStep & after_step) noexcept
  {
    Status status = Status::kOk;
    const long count = steps_of(period);
    for (long i = 0; i < count && has_output(status); ++i)
    {
      status = worse(status, simulation_->step());
      if (has_output(status) && (at_each_step || i + 1 == count))
      {
        status = worse(status, simulation_->evaluate());
        if (has_output(status))
        {
          after_step();
        }
      }
    }
    return status;
  }

  const Scenario & scenario() const { return scenario_; }
  const Simulation & simulation() const { return *simulation_; }
  const System & system() const { return scenario_.system(); }
  /// How often a period was truncated.
  long cut_count() const { return cuts_; }

private:
  class CommandLaw;

  long steps_of(double period) noexcept;

  Scenario scenario_;
  SimulatedPlantOptions options_;
  std::shared_ptr<CommandLaw> law_;
  std::vector<std::shared_ptr<DriveTarget>> targets_;
  std::shared_ptr<const Dynamics> dynamics_;
  std::unique_ptr<Simulation> simulation_;
  std::unique_ptr<DriveConversion> sensors_;  // null: no profile
  std::vector<int> input_of_drive_;           // −1: none
  Eigen::VectorXd readings_;
  int first_drive_ = 0;   // index of the constraint
  double pending_ = 0.0;  // time that has passed outside, but not here [s]
  long cuts_ = 0;
};

}  // namespace constrained_dynamics
