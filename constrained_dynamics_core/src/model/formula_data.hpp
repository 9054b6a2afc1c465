// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstddef>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/formula/dual.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "model/formula_model.hpp"

namespace constrained_dynamics::detail
{

/// W counts as singular if its reciprocal condition number (1-norm) is below this.
inline constexpr double kSingularReciprocalCondition = 1e-12;

/// Scratch memory of the derivatives of a FormulaSystem.
struct FormulaDerivativeScratch
{
  FormulaDerivativeScratch(
    std::size_t speeds, std::size_t variables, std::size_t tape_size, std::size_t outputs);

  std::vector<HyperDual> hyper_x, hyper_tape, hyper_adjoint, hyper_gradient, hyper_output;
  std::vector<Dual> x, tape, adjoint, gradient, output;

  /// A direction in which the state is moved, u̇ and τ kept: changes of q, q̇ and q̈.
  Eigen::VectorXd acceleration;        // q̈ itself
  Eigen::VectorXd q;                   // δq
  Eigen::VectorXd u;                   // δu
  Eigen::VectorXd rates;               // δq̇
  Eigen::VectorXd accelerations;       // δq̈
  Eigen::VectorXd force;               // r, the equations of motion before Cᵀ
  Eigen::VectorXd force_change;        // δr
  Eigen::VectorXd speed_force_change;  // of forces conjugate to speeds

  Eigen::MatrixXd speed_matrix;         // W
  Eigen::MatrixXd speed_matrix_change;  // δW
  Eigen::VectorXd still;                // 0
  Eigen::VectorXd work;
  Eigen::VectorXd turned;
};

/// Scratch memory of a FormulaSystem: one set of tapes, shared by all programs.
class FormulaData final : public SystemData
{
public:
  FormulaData(const FormulaModel & model, int input_count);

  /// Copies the state and the given q̈ into the variables of the programs.
  void load(const FormulaModel & model, const Eigen::VectorXd & accelerations) noexcept;
  /// ∇T and its derivative along the motion (q̇, q̈, 1), into dual_gradient. @pre variables in x.
  void differentiate_kinetic_along_motion(const FormulaModel & model) noexcept;
  /// ∇T and its derivative along dual_x, into dual_gradient.
  void differentiate_kinetic(const FormulaModel & model) noexcept;

  std::vector<double> x, tape, adjoint, gradient, output;
  std::vector<Dual> dual_x, dual_tape, dual_adjoint, dual_gradient, dual_output;
  Eigen::MatrixXd speed_matrix;  // W, destroyed by its inversion
  Eigen::MatrixXd mass_times_c;  // M C
  Eigen::VectorXd rate_force;    // P_q − M q̈0
  Eigen::VectorXd speed_offset;  // w0
  Eigen::VectorXd row;           // ∂F/∂q̈ of one force, d/dt of the speeds, u − w0 or q̈
  Eigen::VectorXd row_times_c;
  double kinetic_energy = 0.0;
  double potential_energy = 0.0;
  double potential_rate = 0.0;                  // ∂V/∂t
  mutable FormulaDerivativeScratch derivative;  // data belong to one thread
};

/// W and w0 at zero rates, C = W⁻¹ and D = −C w0 at the q and t in data.x, whose rates become 0.
/// Returns the reciprocal condition number of W in the 1-norm: 0 where W is singular, NaN where it
/// is not finite.
double update_speed_matrix(const FormulaModel & model, FormulaData & data) noexcept;

}  // namespace constrained_dynamics::detail
