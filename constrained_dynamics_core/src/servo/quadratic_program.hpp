// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

struct ClosestPoint;

/// The convex quadratic program
///     minimise ½ xᵀ H x + gᵀ x   subject to   E x = e,   lower ≤ C x ≤ upper,
/// with multipliers λ and μ of   H x + g = Eᵀ λ + Cᵀ μ,   μ_i ≥ 0 where the lower bound binds, ≤ 0
/// where the upper one does.
///
/// Way of the solution. With H = L Lᵀ (variables scaled to a diagonal of ones) and w = Lᵀ x the
/// objective is a distance, the rows of equality are taken out by orthogonal projection, redundant
/// ones included, and what is left is the least distance from the unlimited solution to a
/// polyhedron whose normals have length one. If the unlimited solution or that of the last active
/// set is optimal, one linear solve has found it; else the active-set method of Goldfarb and Idnani
/// (eiquadprog) finds the active set, and the linear solve of that set gives the numbers. What is
/// returned has been checked against the conditions of optimality.
///
/// H need only be semidefinite. Where it is not definite beyond rounding, its diagonal is enlarged
/// by 1e-10 of itself around the last solution until that is of no account (Moreau's proximal
/// method), so of many solutions one near the smallest is found. Where H leaves a direction to g
/// alone and a bound ends it, as in a linear program, the same with larger enlargements.
///
/// Why eiquadprog, and why in this form. On problems as servo laws pose them, drifting from cycle
/// to cycle, with 7 variables and 7 bounds; 38 with 12 equalities and 38 bounds; 44 with 6
/// equalities, 40 friction rows and 64 bounds, ProxQP 0.8 (1e-9, warm start) took 16, 75 and 208
/// µs, eiquadprog 1.3.2 alone 2, 40 and 107, this class 3, 44 and 61 (means over 500 cycles, the
/// best of many runs). But eiquadprog's tolerances are absolute, and its treatment of a row that
/// depends on the active ones writes outside its arrays where there are rows of equality, and can
/// repeat for ever. Neither can happen for a matrix H = 1, unit normals and no rows of equality,
/// the only problem that it is given here.
///
/// Memory is taken in the constructor. Everything else is real-time safe; its time is bounded by
/// the bound of iterations. Exported for its tests.
class CONSTRAINED_DYNAMICS_EXPORT QuadraticProgram
{
public:
  /// Numbers of variables and rows that solve will be called with at most.
  QuadraticProgram(int max_variables, int max_equalities, int max_rows);
  ~QuadraticProgram();
  QuadraticProgram(QuadraticProgram &&) noexcept;
  QuadraticProgram & operator=(QuadraticProgram &&) noexcept;

  /// One problem, by reference. Infinite bounds are allowed; of H the lower triangle is read.
  struct Problem
  {
    ConstMatrixRef hessian;          ///< H (n × n), symmetric, positive semidefinite
    ConstVectorRef gradient;         ///< g (n)
    ConstMatrixRef equalities;       ///< E (p × n)
    ConstVectorRef equality_values;  ///< e (p)
    ConstMatrixRef rows;             ///< C (m × n)
    ConstVectorRef lower;            ///< (m), may be −∞
    ConstVectorRef upper;            ///< (m), may be ∞
  };

  /// Statuses: kOk; without output: kSizeMismatch, kNonFiniteInput (a number, or NaN as a bound),
  /// kInfeasible (no x meets all rows), kSingularInertia (H is not semidefinite), kNotConverged,
  /// kNonFiniteResult.
  [[nodiscard]] Status solve(const Problem & problem) noexcept CD_NONBLOCKING;

  /// Forgets the last active set.
  void forget() noexcept CD_NONBLOCKING { active_count_ = 0; }

  /// x of the last solve with output.
  Eigen::VectorBlock<const Eigen::VectorXd> solution() const
  {
    return solution_.head(solution_size_);
  }
  /// λ; of redundant rows some are 0.
  Eigen::VectorBlock<const Eigen::VectorXd> equality_multipliers() const
  {
    return equality_multipliers_.head(equality_size_);
  }
  /// μ
  Eigen::VectorBlock<const Eigen::VectorXd> multipliers() const
  {
    return multipliers_.head(row_size_);
  }
  /// −1: the lower bound of row i binds, 1: the upper one, 0: none.
  int binding(int row) const { return binding_(row); }
  /// How many rows bind.
  int binding_count() const { return binding_count_; }
  /// Steps of the active-set method in the last solve; 0: one linear solve was enough.
  int iteration_count() const { return iterations_; }

private:
  enum class Outcome
  {
    kOptimal,
    kContradiction,  // of the rows of equality
    kInfeasible,
    kIndefinite,
    kFailed
  };

  Status check(const Problem & problem) const noexcept CD_NONBLOCKING;
  Outcome attempt(
    const Problem & problem, double enlargement, double least_pivot,
    int steps) noexcept CD_NONBLOCKING;
  bool has_settled(const Problem & problem, double enlargement) noexcept CD_NONBLOCKING;
  bool factor(const Problem & problem, double enlargement, double least_pivot) noexcept
    CD_NONBLOCKING;
  bool eliminate(const Problem & problem) noexcept CD_NONBLOCKING;
  void find_unlimited(const Problem & problem, double enlargement) noexcept CD_NONBLOCKING;
  Outcome find_limited(const Problem & problem) noexcept CD_NONBLOCKING;
  bool orthogonalise(Eigen::MatrixXd & basis, Eigen::MatrixXd & triangle, int count) noexcept
    CD_NONBLOCKING;
  void evaluate_rows(const Problem & problem, const Eigen::VectorXd & x) noexcept CD_NONBLOCKING;
  double violation(const Problem & problem, int row) const noexcept CD_NONBLOCKING;
  int worst_violation(const Problem & problem) const noexcept CD_NONBLOCKING;
  bool improve_active(const Problem & problem) noexcept CD_NONBLOCKING;
  double fixed_length(const Problem & problem, int row) noexcept CD_NONBLOCKING;
  void normal_of(const Problem & problem, int row, Eigen::Ref<Eigen::VectorXd> normal)
    const noexcept CD_NONBLOCKING;
  /// Solves for the rows of the active set; false where it is not the one of the solution.
  bool solve_active(const Problem & problem) noexcept CD_NONBLOCKING;
  /// Orthogonalises the active rows. The number of independent ones; −1: a row cannot be active.
  int load_active(const Problem & problem) noexcept CD_NONBLOCKING;
  /// Their multipliers; false: one has the wrong sign.
  bool weigh_active(int count) noexcept CD_NONBLOCKING;
  Outcome find_active(const Problem & problem) noexcept CD_NONBLOCKING;
  bool find_multipliers(const Problem & problem) noexcept CD_NONBLOCKING;
  Status hand_out(const Problem & problem) noexcept CD_NONBLOCKING;

  std::unique_ptr<ClosestPoint> solver_;
  // Sizes of the problem at hand.
  int variable_count_ = 0;
  int row_count_ = 0;
  int rank_ = 0;  // of the rows of equality
  int iterations_ = 0;

  Eigen::VectorXd scale_;      // of the variables
  Eigen::VectorXd centre_;     // of the enlargement: 0, or the proximal method's last x
  Eigen::MatrixXd cholesky_;   // L of the scaled H
  Eigen::MatrixXd transform_;  // L⁻¹ D: x = transformᵀ w, later without the equalities' part
  Eigen::MatrixXd basis_;      // orthonormal, of the rows of equality in w
  Eigen::MatrixXd triangle_;   // coefficients of these rows in the basis
  Eigen::MatrixXd coupling_;   // basisᵀ transform
  Eigen::VectorXi basis_row_;  // row of each basis vector
  Eigen::MatrixXd active_basis_;  // the same of the active rows
  Eigen::MatrixXd active_triangle_;
  Eigen::VectorXd y_;
  Eigen::VectorXd w_;
  Eigen::VectorXd equality_pull_;  // gradient of ½ ‖E x − e‖² at 0
  Eigen::VectorXd equality_part_;  // of w in the basis
  Eigen::VectorXd work_;
  Eigen::VectorXd x_unlimited_;
  Eigen::VectorXd x_;
  Eigen::VectorXd values_;     // C x
  Eigen::VectorXd magnitude_;  // |C| |x|
  Eigen::VectorXd unlimited_values_;
  Eigen::VectorXd unlimited_magnitude_;
  Eigen::VectorXd weights_;  // multipliers of the active set, ≥ 0
  Eigen::VectorXd active_length_;
  std::vector<int> active_;       // row of each
  std::vector<int> active_side_;  // −1 lower, 1 upper
  std::vector<int> independent_;  // places in active_ of the active basis
  std::vector<int> side_row_;     // of eiquadprog's rows
  std::vector<int> side_;
  int active_count_ = 0;
  int worst_active_ = -1;
  int worst_row_ = -1;
  int side_count_ = 0;

  Eigen::VectorXd solution_;
  Eigen::VectorXd equality_multipliers_;
  Eigen::VectorXd multipliers_;
  Eigen::VectorXi binding_;
  int solution_size_ = 0;
  int equality_size_ = 0;
  int row_size_ = 0;
  int binding_count_ = 0;
};

}  // namespace constrained_dynamics
