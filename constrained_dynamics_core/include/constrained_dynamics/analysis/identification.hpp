// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/servo/robot_profile.hpp"

namespace constrained_dynamics
{

/// A recorded motion, one row per sample.
struct MotionRecording
{
  Eigen::VectorXd time;          ///< [s]
  Eigen::MatrixXd position;      ///< q (samples × nq), complete
  Eigen::MatrixXd velocity;      ///< u (samples × n), complete
  Eigen::MatrixXd acceleration;  ///< u̇ (samples × n); see differentiate_speeds
  Eigen::MatrixXd effort;  ///< of the motors (samples × l): with gravity, friction and rotors
};

/// What is identified.
struct IdentificationOptions
{
  /// Frame that carries an unknown payload, in addition to the masses of the model; empty: none.
  std::string payload_frame;
  bool friction = true;           ///< viscous and Coulomb friction of each input
  bool offset = false;            ///< a constant offset of each measured effort
  double smoothing_speed = 1e-2;  ///< of Coulomb friction (JointFriction::smoothing), > 0
};

/// Parameters from a recording, by least squares (E55).
struct Identification
{
  /// "mass", "moment/x" … (mass · centre), "inertia/xx", "xy", "xz", "yy", "yz", "zz" (about the
  /// origin of the frame, in its axes), "viscous/<input>", "coulomb/<input>", "offset/<input>".
  std::vector<std::string> names;
  Eigen::VectorXd estimate;  ///< what the motion cannot identify has the least norm
  /// From the residuals, which count as independent noise of the efforts of equal variance;
  /// infinite variances where the motion does not identify a parameter.
  Eigen::MatrixXd covariance;
  std::vector<bool> identifiable;  ///< by this motion
  int rank = 0;
  double effort_deviation = 0.0;  ///< standard deviation of the efforts' noise [N m, N]

  /// Index of a parameter. @throw std::invalid_argument for an unknown name.
  CONSTRAINED_DYNAMICS_EXPORT int index(const std::string & name) const;
};

/// Central differences of recorded speeds (samples × n), one-sided at both ends.
/// @throw std::invalid_argument for fewer than 3 samples, or times that do not increase.
CONSTRAINED_DYNAMICS_EXPORT Eigen::MatrixXd differentiate_speeds(
  const Eigen::VectorXd & time, const Eigen::MatrixXd & velocity);

/// Identifies payload and friction from a motion with all constraints active. Real-time safe: no.
/// @throw std::invalid_argument for a system that is not a robot, sizes that do not agree, numbers
/// that are not finite, fewer equations than parameters, or nothing to identify.
CONSTRAINED_DYNAMICS_EXPORT Identification identify(
  const Dynamics & dynamics, const MotionRecording & recording,
  const IdentificationOptions & options);

/// Writes what was identified into a profile: friction of its joints, and a payload `name` if mass
/// and moment are identifiable. Its inertia about the centre is 0 unless all of it is identifiable.
/// @throw std::invalid_argument if a joint is not in the profile, or the mass is not positive.
CONSTRAINED_DYNAMICS_EXPORT void store_identification(
  const Identification & identification, const IdentificationOptions & options,
  const std::string & payload_name, RobotProfile & profile);

}  // namespace constrained_dynamics
