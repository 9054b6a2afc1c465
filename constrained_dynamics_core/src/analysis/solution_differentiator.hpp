// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/analysis/derivatives.hpp"
#include "constrained_dynamics/formulations/row_factorisation.hpp"
#include "dynamics/workspace_impl.hpp"

namespace constrained_dynamics
{

/// One call of `differentiate`: the derivatives of the terms at fixed u̇, λ and τ, then those of the
/// solution.
class SolutionDifferentiator
{
public:
  SolutionDifferentiator(
    const Dynamics & dynamics, Workspace & workspace, const DerivativeOptions & options);

  Status run(
    double time, const ConstVectorRef & q, const ConstVectorRef & u, const ConstVectorRef & inputs,
    SolutionDerivatives & out);

private:
  struct Terms
  {
    SystemDerivatives system;
    Eigen::MatrixXd residual_q;  // m × n, of A u̇ − b before stabilisation
    Eigen::MatrixXd residual_u;
    Eigen::MatrixXd velocity_q;
    Eigen::MatrixXd force_q;  // n × n, of Aᵀ λ
    Eigen::MatrixXd force_u;
    bool system_is_analytic = false;
    std::vector<bool> constraint_is_analytic;
  };

  void gather();
  Eigen::VectorXd row_multipliers(const Eigen::VectorXd & active) const;
  Status differentiate_terms(
    const Eigen::VectorXd & acceleration, const Eigen::VectorXd & multipliers, Terms & out);
  Status take_differences(
    const Eigen::VectorXd & acceleration, const Eigen::VectorXd & multipliers, Terms & out);
  Status evaluate_terms(
    const State & state, const Eigen::VectorXd & acceleration, const Eigen::VectorXd & multipliers,
    const Terms & terms, Eigen::VectorXd & out);
  void take_derivative(Eigen::Index k, const Eigen::VectorXd & derivative, Terms & out) const;
  Status differentiate_transport(
    const Eigen::MatrixXd & C, const Eigen::VectorXd & rates, SystemDerivatives & out);
  void differentiate_rows(const Terms & terms, SolutionDerivatives & out) const;
  Eigen::MatrixXd solve_accelerations(
    const Eigen::MatrixXd & force_side, const Eigen::MatrixXd & row_side);
  void stabilise(
    const SolutionDerivatives & rows, Eigen::MatrixXd & residual_q,
    Eigen::MatrixXd & residual_u) const;
  Status solve_here();
  Status solve(const Terms & terms, SolutionDerivatives & out);
  Status differentiate_multipliers(
    const Terms & terms, const Eigen::MatrixXd & force_change, Eigen::MatrixXd & out);

  const Dynamics & dynamics_;
  Workspace & workspace_;
  Evaluation & evaluation_;
  const ConstrainedSystem & of_;
  DerivativeOptions options_;
  Eigen::Index n_;
  Eigen::Index m_;

  double time_ = 0.0;
  Eigen::VectorXd q_;
  Eigen::VectorXd u_;
  Eigen::VectorXd inputs_;
  Eigen::MatrixXd mass_matrix_;
  Eigen::MatrixXd input_matrix_;

  // The active rows.
  std::vector<int> active_;
  Eigen::MatrixXd jacobian_;  // zeros in the columns of driven speeds
  Eigen::MatrixXd complete_jacobian_;
  Eigen::VectorXd scale_;
  Eigen::VectorXd weight_;
  Eigen::VectorXd multipliers_;
  Eigen::VectorXd range_multipliers_;
  std::unique_ptr<RowFactorisation> factorisation_;
  bool redundant_ = false;
};

}  // namespace constrained_dynamics
