// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"
#include "dense_decompositions.hpp"
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
    ConstMatrixRef transposed;  ///< S_kᵀ (l × m)
    ConstVectorRef right;       ///< z_k (m)
    ConstVectorRef size;        ///< (m), above 0: the usual size of each row
    int nominal_rank;           ///< rank that S_k has as a rule within what is open; −1: unknown
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

  const Eigen::VectorXd & solution() noexcept CD_NONBLOCKING;  ///< τ
  /// Rows S, transposed (l × m), and their right sides in the units that errors count in with the
  /// metric M of Rows::error_metric: as many rows, some of them 0 where M is singular.
  void weigh(const Eigen::MatrixXd & metric, MatrixRef transposed, VectorRef right) noexcept
    CD_NONBLOCKING;
  /// Rows S, transposed (l × m), in coordinates in which the metric is 1. For preparation.
  Eigen::MatrixXd in_metric(const Eigen::MatrixXd & transposed) const
  {
    return is_identity_ ? transposed : basis_.leftCols(total_).transpose() * transposed;
  }
  /// Dimension of what is open.
  int open_dimension() const { return static_cast<int>(total_ - used_ + free_); }
  /// Z Zᵀ H y, and what y has in directions without any effect.
  void null_part(const ConstVectorRef & y, VectorRef out) noexcept CD_NONBLOCKING;
  /// Directions T (l × l) in which τ can leave the solution: with τ + T y level k misses ‖y_k‖ more
  /// than it must, given the levels before it, and τᵀ H τ counts ‖y‖² of what is open.
  /// @param transposed rows of all levels (l × m), weighed as errors count, those of level k before
  /// row_ends[k]. @param ranks what `solve` found, and so many columns of T belong to each level;
  /// then come those of what is open, and at last directions without any effect (`free_dimension`).
  void find_directions(
    const Eigen::MatrixXd & transposed, const std::vector<int> & row_ends,
    const std::vector<int> & ranks, Eigen::MatrixXd & directions) noexcept CD_NONBLOCKING;
  /// Dimension of the directions without any effect.
  int free_dimension() const { return static_cast<int>(free_); }

private:
  bool solve_wide(const Rows & rows, double tolerance, Level & level) noexcept;
  bool solve_tall(const Rows & rows, double tolerance, Level & level) noexcept;
  bool solve_deficient(const Rows & rows, double tolerance, Level & level) noexcept;
  void solve_any(const Rows & rows, double tolerance, Level & level) noexcept;
  /// Rows S, transposed, in coordinates x: (S B U)ᵀ, into rows_.
  void transform(const ConstMatrixRef & transposed) noexcept;
  /// The rows in coordinates x, and what is left of z; by_size: in units of the usual sizes.
  void load(const Rows & rows, bool by_size) noexcept;
  /// Wᵀ: what is open of the rows that `load` found.
  Eigen::Block<Eigen::MatrixXd> open_rows(Eigen::Index m)
  {
    return rows_.block(used_, 0, total_ - used_, m);
  }
  /// The rows in the units that errors count in.
  void weigh(const Rows & rows) noexcept;
  /// The norm of along_, how large the rows are along a direction, in units of their usual sizes.
  double size_along(const Rows & rows) noexcept;
  /// Rank of what is open of the rows: directions beyond it are no longer than `shortest`.
  Eigen::Index find_rank(Eigen::Index m, double shortest) noexcept;
  /// Takes the reflections of the first `count` columns of range_ into U.
  void keep_range(Eigen::Index count) noexcept;
  /// x ← U x, x ← Uᵀ x.
  void reflect_back(VectorRef x) const noexcept;
  void reflect_all(MatrixRef x) const noexcept;

  Eigen::Index unknowns_;
  Eigen::VectorXd solution_;
  bool is_solved_ = false;  // solution_ is that of x_
  // τ = B U x: Bᵀ H B = 1, and U is a product of reflections. The first used_ of x are determined.
  Eigen::MatrixXd basis_;       // B, first total_ columns
  bool is_identity_ = true;     // B is the identity, and not filled
  Eigen::MatrixXd free_basis_;  // directions without any effect, first free_ columns
  Eigen::MatrixXd reflections_;
  Eigen::VectorXd reflectors_;
  Eigen::VectorXd x_;
  Eigen::Index total_ = 0;
  Eigen::Index used_ = 0;
  Eigen::Index reflected_ = 0;  // number of reflections
  Eigen::Index free_ = 0;
  const Eigen::MatrixXd * metric_ = nullptr;
  Eigen::MatrixXd root_;
  Eigen::VectorXd diagonal_;
  // Of semidefinite matrices, whose singular values are their eigenvalues: Eigen's solver for these
  // allocates.
  Eigen::JacobiSVD<Eigen::MatrixXd> metric_eigen_;

  Eigen::MatrixXd rows_;   // (S_k B U)ᵀ (total × m)
  Eigen::VectorXd right_;  // what is left of z
  Eigen::VectorXd step_;
  Eigen::VectorXd work_;
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
