// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/servo/force_certificate.hpp"
#include "servo/independent_forces.hpp"
#include "servo/linear_estimate.hpp"

namespace constrained_dynamics
{

/// A sensor with what acts on its link.
struct CertificateSensor
{
  int frame;
  double force_noise;
  double torque_noise;
  struct Load
  {
    int constraint;
    int pair;
    bool on_a;
  };
  std::vector<Load> loads;
  std::vector<int> frames;  // indices of declared frames
};

/// Numbers of unknowns, measurements and sources of noise.
struct CertificateSizes
{
  int rows, frames, inputs, speeds, sensors, unmeasured;
  int unknowns() const { return rows + 6 * frames + unmeasured; }
  int measurements() const { return 2 * speeds + 6 * sensors; }
  // Efforts, model, observer (speeds, efforts, model), sensors.
  int observer_sources() const { return 2 * speeds + inputs; }
  int sources() const { return inputs + speeds + observer_sources() + 6 * sensors; }
};

/// The equations y = H x + N ε of a ForceCertificate at a state (E53), and their solution.
struct ForceCertificate::Impl
{
  Impl(std::shared_ptr<const Dynamics> of, const ForceCertificateOptions & options);

  void add_sensor(const WrenchSensor & sensor, const std::vector<std::string> & frame_names);
  /// H, N and y at the state of the workspace.
  Status fill(
    const ConstVectorRef & effort, const ConstVectorRef & readings,
    const MomentumObserver * observer, bool has_observer,
    Workspace & workspace) noexcept CD_NONBLOCKING;
  void fill_columns(const Workspace & workspace) noexcept CD_NONBLOCKING;
  void fill_sensors(const ConstVectorRef & readings, const Workspace & workspace) noexcept
    CD_NONBLOCKING;
  /// Adds a wrench to six rows of column `unknown`, in axes of a sensor.
  void add_wrench(
    const FrameKinematics & sensor, const Wrench & wrench, Eigen::Index first,
    Eigen::Index unknown) noexcept CD_NONBLOCKING;
  /// forces ← Π forces.
  void remove_motion(MatrixRef forces, const Terms & terms) noexcept CD_NONBLOCKING;
  void store() noexcept CD_NONBLOCKING;

  std::shared_ptr<const Dynamics> dynamics;
  CertificateSizes size;
  Eigen::VectorXd effort_noise, model_noise;
  std::vector<bool> is_measured;  // of each input
  std::vector<int> unmeasured;    // inputs
  std::vector<int> frames;
  std::vector<CertificateSensor> sensors;
  std::vector<std::string> names;

  IndependentForces independent;
  Reduction reduction;
  LinearEstimate solver;
  Eigen::MatrixXd columns, responses, sources;  // generalized forces, as columns
  Matrix6X jacobian, reach;
  ConstraintScratch scratch;
  std::vector<WrenchPair> pairs;
  Eigen::VectorXd unit;

  Eigen::VectorXi observable;
  Eigen::VectorXd estimate;
  Eigen::MatrixXd covariance;
  int rank = 0;
  int nominal = RowFactorisation::kUnknownRank;
};

}  // namespace constrained_dynamics
