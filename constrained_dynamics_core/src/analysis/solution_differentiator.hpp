// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "analysis/linear_response.hpp"
#include "constrained_dynamics/analysis/derivatives.hpp"
#include "dynamics/workspace_impl.hpp"
#include "formulations/dense_factors.hpp"

namespace constrained_dynamics
{

/// Derivatives of the terms of the equations at fixed u̇, λ and τ.
struct TermDerivatives
{
  SystemDerivatives system;
  Eigen::MatrixXd residual_q;  // m × n, of A u̇ − b before stabilisation
  Eigen::MatrixXd residual_u;
  Eigen::MatrixXd velocity_q;
  Eigen::MatrixXd force_q;  // n × n, of Aᵀ λ
  Eigen::MatrixXd force_u;
  bool system_is_analytic = false;
  std::vector<bool> constraint_is_analytic;

  void resize(const Dynamics & dynamics);
};

/// What `differentiate` does, with its memory: the derivatives of the terms at fixed u̇, λ and τ,
/// then those of the solution. Only the constructor allocates.
class SolutionDifferentiator
{
public:
  SolutionDifferentiator(const Dynamics & dynamics, const DerivativeOptions & options);

  Status run(
    const Dynamics & dynamics, double time, const ConstVectorRef & q, const ConstVectorRef & u,
    const ConstVectorRef & inputs, Workspace & workspace) noexcept CD_NONBLOCKING;

  SolutionDerivatives & result() noexcept { return result_; }

private:
  /// The problem of one call.
  struct Call
  {
    const Dynamics & dynamics;
    Workspace & workspace;
    Evaluation & evaluation;
    const ConstrainedSystem & of;
  };

  /// Right sides of (E17).
  struct Side
  {
    Eigen::MatrixXd forces;  // E
    Eigen::MatrixXd rows;    // C (m × columns)
  };

  bool fits(const Dynamics & dynamics) const noexcept;
  bool finds_inertia(const Call & call) const noexcept;
  Status solve_here(const Call & call) noexcept;
  void gather(const Call & call) noexcept;
  void spread_multipliers(const Eigen::VectorXd & active) noexcept;
  bool acts(const Call & call, int constraint) const noexcept;

  // term_derivatives.cpp
  Status differentiate_terms(
    const Call & call, const Eigen::VectorXd & acceleration, TermDerivatives & out) noexcept;
  void differentiate_analytic(
    const Call & call, const Eigen::VectorXd & acceleration, TermDerivatives & out) noexcept;
  Status take_differences(
    const Call & call, const Eigen::VectorXd & acceleration, TermDerivatives & out) noexcept;
  void displace(const System & system, Eigen::Index k, double distance) noexcept;
  Status evaluate_terms(
    const Call & call, const Eigen::VectorXd & acceleration,
    const TermDerivatives & terms) noexcept;
  void take_derivative(const Call & call, Eigen::Index k, TermDerivatives & out) const noexcept;
  Status differentiate_transport(const Call & call, SystemDerivatives & out) noexcept;

  // derivatives.cpp
  void differentiate_rows(const Call & call, SolutionDerivatives & out) const noexcept;
  void fill_sides(const Call & call, const SolutionDerivatives & rows) noexcept;
  void subtract_gain(
    const Gain & gain, const std::vector<int> & rows, const Eigen::MatrixXd & values,
    MatrixRef target) const noexcept;
  void respond() noexcept;
  void spread(const ConstMatrixRef & changes, Eigen::MatrixXd & multipliers) const noexcept;
  void solve(const Call & call, SolutionDerivatives & out) noexcept;
  Status turn_multipliers(const Call & call, SolutionDerivatives & out) noexcept;
  void add_turn(
    const Eigen::MatrixXd & force, const Eigen::MatrixXd & turned_force,
    const Eigen::MatrixXd & residual, const Eigen::MatrixXd & turned_residual,
    Eigen::MatrixXd & multipliers) noexcept;

  DerivativeOptions options_;
  Eigen::Index n_;
  Eigen::Index nq_;
  Eigen::Index m_;
  Eigen::Index l_;

  double time_ = 0.0;
  Eigen::VectorXd q_;
  Eigen::VectorXd u_;
  Eigen::VectorXd inputs_;
  Eigen::VectorXd acceleration_;
  Eigen::MatrixXd mass_matrix_;

  // The active rows.
  Eigen::VectorXi active_;
  Eigen::VectorXi place_;  // of each row among the active ones; −1: inactive
  Eigen::Index count_ = 0;
  Eigen::MatrixXd jacobian_;  // zeros in the columns of driven speeds
  Eigen::MatrixXd complete_jacobian_;
  Eigen::VectorXd scale_;
  Eigen::VectorXd size_;  // 1/scale
  Eigen::VectorXd weight_;
  Eigen::VectorXd multipliers_;
  Eigen::VectorXd range_multipliers_;
  Eigen::VectorXd row_multipliers_;  // of all rows
  Eigen::VectorXd given_;            // multipliers of all rows, see Workspace::given_multipliers
  bool redundant_ = false;

  TermDerivatives terms_;
  TermDerivatives turned_;  // of redundant rows
  LinearResponse response_;
  Side by_state_;                // by q, by u, by the inputs
  Side by_force_;                // where there are driven speeds
  Eigen::MatrixXd response_of_;  // δu̇ and f_D
  Eigen::MatrixXd force_change_;
  Eigen::MatrixXd row_change_;   // of the multipliers of active rows
  Eigen::MatrixXd dependent_;    // f_D of turning multipliers
  Eigen::MatrixXd null_space_;   // Z
  Eigen::MatrixXd null_gram_;    // Zᵀ W² Z
  Eigen::MatrixXd null_change_;  // of the share of Z
  Eigen::VectorXd eta_;          // with u̇ added
  Eigen::VectorXd eta_dependent_;

  // Of differences.
  bool moved_ = false;  // whether the workspace was moved to other states
  Eigen::VectorXd moved_q_;
  Eigen::VectorXd moved_u_;
  Eigen::VectorXd values_;
  Eigen::VectorXd derivative_;
  Eigen::MatrixXd kinematic_matrix_;
  Eigen::MatrixXd kinematic_change_;
  Eigen::VectorXd rates_;
  Eigen::VectorXi moving_;  // speeds that move coordinates
  RangeFactorisation kinematic_factors_;

  SolutionDerivatives next_;
  SolutionDerivatives result_;
};

}  // namespace constrained_dynamics
