// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/state_completion.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/scenario/joint_readings.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/servo/inverse_dynamics.hpp"

namespace constrained_dynamics
{

/// Source of the inputs for which forces are solved if the joint states have no efforts.
enum class InputSource
{
  kStatic,           ///< those that keep the position at rest; speeds count as 0
  kInverseDynamics,  ///< those that give the measured accelerations (filtered differences of
                     ///< speeds)
  kZero,             ///< none act
};

/// A constrained robot observed through joint states: finds the complete state, with passive joints
/// from the constraints, and the constraint forces. If the scenario has a robot profile, that says
/// what measured efforts contain. It does not use ROS. Real-time safe: no.
class CONSTRAINED_DYNAMICS_EXPORT MonitoredSystem
{
public:
  struct Options
  {
    double timeout = 0.5;  ///< age [s] from which messages and values are too old
    InputSource without_effort = InputSource::kStatic;
    bool use_effort = true;             ///< efforts of joint states are used where all are there
    double acceleration_filter = 0.02;  ///< time constant [s] of kInverseDynamics; 0: none
  };

  /// @throw std::invalid_argument as DriveConversion, and for a profile that does not state what
  /// measured efforts contain if they are used.
  MonitoredSystem(Scenario scenario, const Options & options);

  JointReadings & readings() { return readings_; }
  const JointReadings & readings() const { return readings_; }

  /// Finds state and forces from the stored joint states.
  /// @return empty, or why there are none; then nothing has changed.
  std::string update(JointReadings::Time now);

  /// Switches a constraint. @return empty, or why that is not possible; then nothing has changed.
  std::string set_active(const std::string & name, bool active);

  const Scenario & scenario() const { return scenario_; }
  const Dynamics & dynamics() const { return *scenario_.dynamics(); }
  const Workspace & workspace() const { return workspace_; }
  /// Of the last update.
  Status status() const { return status_; }
  const State & state() const { return state_; }
  Eigen::VectorXd rates() const;  ///< q̇
  const Eigen::VectorXd & inputs() const { return inputs_; }
  bool has_measured_effort() const { return has_measured_effort_; }
  /// Names of the coordinates that are computed from the constraints.
  std::vector<std::string> completed_names() const;
  /// "constraint/row" of the active position or velocity row with the largest residual relative to
  /// its tolerance, and the residual; empty: all rows are within tolerance.
  std::string worst_violation(double position_tolerance, double velocity_tolerance) const;

private:
  /// Where what is measured changed.
  void prepare_completion();
  std::string complete(State & state);
  Status find_inputs(JointReadings::Time now, const State & state);
  void filter_acceleration(const State & state);

  Scenario scenario_;
  Options options_;
  Workspace workspace_;
  JointReadings readings_;
  InverseDynamics inverse_dynamics_;
  std::unique_ptr<DriveConversion> drives_;  // null: efforts are those of the model
  // For the measured coordinates and speeds of now; none before.
  std::unique_ptr<StateCompletion> completion_;
  std::vector<bool> measured_coordinates_;
  std::vector<bool> measured_speeds_;
  State state_;
  bool has_state_ = false;
  Eigen::VectorXd acceleration_;
  Eigen::VectorXd inputs_;
  Eigen::VectorXd solved_speeds_;
  bool has_measured_effort_ = false;
  JointReadings::Time start_time_ = 0;
  Status status_ = Status::kOk;
};

}  // namespace constrained_dynamics
