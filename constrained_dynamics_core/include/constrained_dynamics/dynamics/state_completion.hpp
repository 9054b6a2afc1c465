// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

class Evaluation;

/// Finds the coordinates and speeds of joints without sensors, from the measured ones and the
/// constraints. `complete` does not allocate; use one per thread.
///
///     StateCompletion completion(dynamics, measured_coordinates, measured_speeds);
///     completion.start(state, workspace);               // once, from a guess
///     q(crank) = encoder;  u(dcrank) = ...;             // each cycle, the others as they were
///     const Status status = completion.complete(t, q, u, workspace);
class CONSTRAINED_DYNAMICS_EXPORT StateCompletion
{
public:
  /// @param measured_coordinates, measured_speeds one flag each (nq, n): true: given, false: to be
  /// found.
  /// @throw std::invalid_argument for null, wrong numbers of flags, or a joint with several
  /// coordinates of which only some are measured.
  StateCompletion(
    std::shared_ptr<const Dynamics> dynamics, const std::vector<bool> & measured_coordinates,
    const std::vector<bool> & measured_speeds);

  /// Whether there is anything to find.
  bool is_needed() const { return !position_.columns.empty() || !velocity_.columns.empty(); }

  /// Finds the unmeasured part of a state from a guess, which may be far off, and checks that the
  /// active rows of the workspace determine it. Real-time safe: no.
  /// @param tolerance largest |φ|, |φ̇|, |ψ| that may remain, in the row's unit; sensors have
  /// offsets.
  /// @throw std::invalid_argument naming the coordinates and speeds that no row determines, or the
  /// row that is not satisfied.
  void start(State & state, Workspace & workspace, double tolerance = 1e-3) const;

  /// Finds the unmeasured part by the Gauss-Newton method from the values that q and u have (those
  /// of the last cycle), with at most kIterations iterations; q and u are untouched unless the
  /// status is kOk. If measured joints contradict each other (noise), the rows are satisfied in the
  /// least-squares sense. Statuses: kOk, kNotConverged, kSizeMismatch, failures of evaluation.
  /// Real-time safe: yes.
  [[nodiscard]] Status complete(
    double time, VectorRef q, VectorRef u, Workspace & workspace) noexcept CD_NONBLOCKING;

  static constexpr int kIterations = 10;

private:
  /// Which rows and which directions of the speeds take part in one of the two searches.
  struct Search
  {
    std::vector<int> rows;
    std::vector<int> columns;
    Eigen::MatrixXd jacobian;
    Eigen::VectorXd residual;
    Eigen::MatrixXd normal;
    Eigen::LLT<Eigen::MatrixXd> factor;
    Eigen::VectorXd step;

    void resize();
    /// Computes the least-squares step for the active rows; returns its largest element, or −1 if
    /// there is none.
    double solve(
      const Eigen::VectorXd & residuals, const Evaluation & evaluation,
      const std::vector<int> & constraint_of_row) noexcept CD_NONBLOCKING;
  };

  /// Gauss-Newton; `evaluate` fills the rows, `advance` takes the step.
  template <typename Evaluate, typename Advance>
  Status find(
    Search & search, const Eigen::VectorXd & residuals, const Evaluation & evaluation,
    const Evaluate & evaluate, const Advance & advance) const noexcept;

  std::shared_ptr<const Dynamics> dynamics_;
  std::vector<bool> measured_coordinates_;
  std::vector<bool> measured_speeds_;
  std::vector<int> constraint_of_row_;
  Search position_;
  Search velocity_;
  Eigen::VectorXd q_;
  Eigen::VectorXd u_;
};

}  // namespace constrained_dynamics
