// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>
#include <Eigen/SVD>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"
#include "formulations/row_scratch.hpp"

namespace constrained_dynamics
{

/// Linear equations S_k τ = z_k in strict levels: each level is solved in the least-squares sense
/// among what the levels before it leave open, with the smallest τᵀ H τ. What is left in the end is
/// Z: all τ + Z x solve the levels as well.
///
/// Memory is taken in the constructor. Everything else is real-time safe. Exported for its tests.
class CONSTRAINED_DYNAMICS_EXPORT LevelSolver
{
public:
  /// One level.
  struct Rows
  {
    ConstMatrixRef matrix;  ///< S_k (m × l)
    ConstVectorRef right;   ///< z_k (m)
    ConstVectorRef size;    ///< (m), above 0: the usual size of each row
    int nominal_rank;       ///< rank that S_k has as a rule within what is open; −1: unknown
    /// Its leading m × m block M, positive semidefinite: where S_k τ = z_k has no solution, errors
    /// count in the norm of M⁺. Null: the rows as they are.
    const Eigen::MatrixXd * error_metric = nullptr;
  };

  /// What was found.
  struct Level
  {
    int rank = 0;
    double condition = 1.0;
    bool damped = false;
  };

  LevelSolver(int unknown_count, int max_row_count);

  /// Starts with τ = 0. @param metric H (l × l), positive semidefinite; null: the identity.
  void begin(const Eigen::MatrixXd * metric) noexcept CD_NONBLOCKING;

  /// Solves the next level. @param tolerance directions below this fraction of the usual size are
  /// damped.
  Level solve(const Rows & rows, double tolerance) noexcept CD_NONBLOCKING;

  const Eigen::VectorXd & solution() const { return solution_; }  ///< τ
  /// Rows S (m × l) and their right sides in the units that errors count in with the metric M of
  /// Rows::error_metric: as many rows, some of them 0 where M is singular.
  void weigh(const Eigen::MatrixXd & metric, MatrixRef rows, VectorRef right) noexcept
    CD_NONBLOCKING;
  /// Rows S (m × l) within what is open: S Z. For preparation.
  Eigen::MatrixXd open_rows(const Eigen::MatrixXd & rows)
  {
    catch_up();
    return rows * basis_.leftCols(open_);
  }
  /// Dimension of what is open.
  int open_dimension() const { return static_cast<int>(open_ - used_ + free_); }
  /// The part of y that changes nothing of the levels: its projection along H.
  void null_part(const ConstVectorRef & y, VectorRef out) noexcept CD_NONBLOCKING;

private:
  bool solve_wide(const Rows & rows, double tolerance, Level & level) noexcept;
  bool solve_tall(const Rows & rows, double tolerance, Level & level) noexcept;
  bool solve_deficient(const Rows & rows, double tolerance, Level & level) noexcept;
  void solve_any(const Rows & rows, double tolerance, Level & level) noexcept;
  /// The rows W within what is open and what is left of z; by_size: in units of the usual sizes.
  void load(const Rows & rows, bool by_size) noexcept;
  /// The rows in the units that errors count in.
  void weigh(const Rows & rows) noexcept;
  /// How large the rows are along a direction of what is open, in units of their usual sizes.
  double size_along(const Rows & rows, const ConstVectorRef & direction) noexcept;
  /// τ ← τ + Z x.
  void advance(const ConstVectorRef & x) noexcept;
  /// Z ← Z U, U the complement of the first used_ columns of the factored range: done only when it
  /// is needed.
  void catch_up() noexcept;

  Eigen::Index unknowns_;
  Eigen::VectorXd solution_;
  Eigen::MatrixXd basis_;       // Z, first open_ columns
  Eigen::MatrixXd free_basis_;  // directions without any effect, first free_ columns
  bool is_identity_ = true;     // Z is the identity, and not filled
  Eigen::Index open_ = 0;
  Eigen::Index used_ = 0;  // directions that Z still has to lose
  Eigen::Index free_ = 0;
  const Eigen::MatrixXd * metric_ = nullptr;
  Eigen::MatrixXd root_;
  Eigen::VectorXd diagonal_;
  // Of semidefinite matrices, whose singular values are their eigenvalues: Eigen's solver for these
  // allocates.
  Eigen::JacobiSVD<Eigen::MatrixXd> metric_eigen_;

  Eigen::MatrixXd rows_;   // W (m × open)
  Eigen::VectorXd right_;  // what is left of z
  Eigen::VectorXd step_;
  Eigen::VectorXd work_;
  Eigen::MatrixXd next_;
  RangeFactorisation range_;
  RangeFactorisation tall_;
  Eigen::VectorXi order_;
  Eigen::MatrixXd padded_;
  Eigen::JacobiSVD<Eigen::MatrixXd> svd_;
  Eigen::MatrixXd row_metric_;
  Eigen::MatrixXd row_work_;
  Eigen::VectorXd along_;
  Eigen::JacobiSVD<Eigen::MatrixXd> row_eigen_;
};

}  // namespace constrained_dynamics
