#pragma once

#include <memory>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "constrained_dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// Joints without a sensor: the coordinates and speeds that are not measured, from those that are
/// and the rows of the constraints. One a thread; memory is taken once.
///
///     StateCompletion completion(dynamics, measured_coordinates, measured_speeds);
///     completion.start(state);                          // once, from a guess
///     q(crank) = encoder;  u(dcrank) = ...;             // each cycle, the others as they were
///     const Status status = completion.complete(t, q, u, workspace);
class CONSTRAINED_DYNAMICS_EXPORT StateCompletion
{
public:
  /// @param measured_coordinates, measured_speeds one flag each: true: given, false: to be found.
  /// @throw std::invalid_argument for null, or wrong numbers of flags.
  StateCompletion(
    std::shared_ptr<const Dynamics> dynamics, std::vector<bool> measured_coordinates,
    std::vector<bool> measured_speeds);

  /// Whether anything is to be found.
  bool is_needed() const { return !free_speeds_q_.empty() || !free_speeds_u_.empty(); }

  /// Finds the unmeasured part of a state from a guess, from far away too, and checks that the
  /// active rows of the workspace determine it. Real-time safe: no.
  /// @throw std::invalid_argument naming the coordinates that no row determines, or the row that is
  /// not met.
  void start(State & state, Workspace & workspace) const;

  /// Finds the unmeasured part by Newton's method from the values that q and u have (those of the
  /// last cycle), at most kIterations times; q and u are untouched unless the status is kOk.
  /// Statuses: kOk; kNotConverged; kSizeMismatch, kNonFiniteInput and failures of evaluation.
  /// Real-time safe: yes.
  [[nodiscard]] Status complete(
    double time, VectorRef q, VectorRef u, Workspace & workspace) noexcept CD_NONBLOCKING;

  static constexpr int kIterations = 8;
  /// Largest |φ|, |φ̇|, |ψ| that counts as met. Measured joints make rows contradict by the noise of
  /// their sensors: then the closest state in the sense of least squares is found, and the change
  /// of an iteration is what counts.
  static constexpr double kTolerance = 1e-10;

private:
  Status solve_step(
    const Eigen::VectorXd & residuals, const std::vector<int> & rows,
    const std::vector<int> & columns, const Workspace & workspace) noexcept CD_NONBLOCKING;

  std::shared_ptr<const Dynamics> dynamics_;
  std::vector<bool> measured_coordinates_;
  std::vector<bool> measured_speeds_;
  std::vector<int> free_speeds_q_;  // directions in which coordinates are to be found
  std::vector<int> free_speeds_u_;
  std::vector<int> position_rows_;
  std::vector<int> velocity_rows_;
  Eigen::MatrixXd jacobian_;
  Eigen::MatrixXd normal_;
  Eigen::LLT<Eigen::MatrixXd> factor_;
  Eigen::VectorXd step_;
  Eigen::VectorXd change_;
  Eigen::VectorXd q_;
  Eigen::VectorXd u_;
};

}  // namespace constrained_dynamics
