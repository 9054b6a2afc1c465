// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/analysis/derivatives.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"
#include "constrained_dynamics/status.hpp"

/// @file
/// The linear model of a constrained system about a motion, and the largest Lyapunov exponent of a
/// run. Real-time safe: no; all functions here allocate.

namespace constrained_dynamics
{

/// Small deviations x = (δ, δu) from a motion, δ in the directions of the speeds (E18, E20):
///     ẋ = F x + B δτ,   F = [T 1; ∂u̇/∂δ ∂u̇/∂u],   B = [0; ∂u̇/∂τ]     (nonminimal form, 2n)
///     ẏ = Nᵀ F N y + Nᵀ B δτ,   x = N y,   K x = 0                     (on the manifold)
/// K is the derivative of φ, φ̇ and ψ, and N an orthonormal basis of its kernel. Inputs and
/// external wrenches that are functions of the state are part of F; δτ is added to them.
struct LinearModel
{
  State state;
  Eigen::VectorXd inputs;        ///< τ at the state
  Eigen::VectorXd acceleration;  ///< u̇ at the state
  SolutionDerivatives derivatives;

  Eigen::MatrixXd state_matrix;          ///< F (2n × 2n)
  Eigen::MatrixXd input_matrix;          ///< B (2n × l)
  Eigen::MatrixXd constraint_matrix;     ///< K (2m × 2n): all φ, then all φ̇ and ψ
  Eigen::MatrixXd basis;                 ///< N (2n × s)
  Eigen::MatrixXd reduced_matrix;        ///< Nᵀ F N (s × s)
  Eigen::MatrixXd reduced_input_matrix;  ///< Nᵀ B (s × l)
  Eigen::VectorXcd eigenvalues;          ///< of F, by decreasing real part
  Eigen::VectorXcd reduced_eigenvalues;  ///< of Nᵀ F N

  double largest_speed = 0.0;         ///< max |u|
  double largest_acceleration = 0.0;  ///< max |u̇|
  /// Rate of change of u̇ and of the model on the manifold (NNᵀ and NNᵀFNNᵀ) along the motion,
  /// relative to the sizes of u and F [1/s]. Eigenvalues determine stability only if it is 0: at an
  /// equilibrium, and in a steady motion with constant speeds in co-moving axes.
  double variation = 0.0;
  bool is_equilibrium = false;  ///< u and u̇ vanish (1e-9, 1e-6)
  bool is_steady = false;  ///< u̇ vanishes and the model does not change along the motion (1e-5)
};

/// Linearises about the motion through a state, with the constraints that are active in the
/// workspace. @pre the workspace was analysed (Workspace::reset).
/// @param law null: the inputs are constant at `inputs`.
/// Statuses: as for `differentiate`; `out` is untouched unless has_output(status).
[[nodiscard]] CONSTRAINED_DYNAMICS_EXPORT Status linearise(
  const Dynamics & dynamics, const State & state, const Eigen::VectorXd & inputs, InputLaw * law,
  Workspace & workspace, LinearModel & out);

/// Residuals of the rows after a step of the linear model.
struct LinearStep
{
  double step = 0.0;              ///< h [s]
  double size = 0.0;              ///< ε of the deviation at the start, in the norm of x
  double position = 0.0;          ///< largest |φ| after the step, over all deviations ε N e_i
  double velocity = 0.0;          ///< largest |φ̇|, |ψ|
  double position_of_half = 0.0;  ///< with ε/2 and h/2; at second order, a quarter or less
  double velocity_of_half = 0.0;
};

/// Advances the reference motion by the simulation and deviations from it by exp(F h), and
/// evaluates the rows at their sum. The simulation is set to the model's state.
/// Statuses: those of a step of the simulation and of the rows.
[[nodiscard]] CONSTRAINED_DYNAMICS_EXPORT Status linear_step(
  const LinearModel & model, double step, double size, Simulation & simulation, LinearStep & out);

struct LyapunovOptions
{
  /// Fraction of the run that is ignored, in which the deviation turns into the direction of
  /// fastest growth. At least 0, below 1.
  double transient = 0.1;
  /// Samples of the estimate that are kept.
  int sample_count = 20;
};

/// Growth of deviations along a run.
struct LyapunovResult
{
  Status status = Status::kOk;
  bool completed = false;
  double time = 0.0;                    ///< at which the run ended [s]
  double exponent = 0.0;                ///< mean rate of growth [1/s]
  double first_half = 0.0;              ///< of the first half of the evaluated run
  double second_half = 0.0;             ///< of the second half; far from the first if not converged
  std::vector<double> sample_time;      ///< [s]
  std::vector<double> sample_exponent;  ///< the estimate until then [1/s]
};

/// Largest Lyapunov exponent (Benettin's method): a deviation follows ẋ = F(t) x along the run and
/// is projected to K x = 0 and rescaled to length 1 every two steps. Runs the simulation from its
/// state with its fixed steps.
/// @throw std::invalid_argument for options out of range or fewer than four steps.
[[nodiscard]] CONSTRAINED_DYNAMICS_EXPORT LyapunovResult largest_lyapunov_exponent(
  Simulation & simulation, double until, InputLaw * law, const LyapunovOptions & options = {});

}  // namespace constrained_dynamics
