// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <limits>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// A row direction below this fraction of the size that rows could have (Constraint::row_sizes) is
/// round-off and cannot be distinguished from 0.
inline constexpr double kRowRounding = 1e3 * std::numeric_limits<double>::epsilon();

/// Tolerances of rank and partition decisions. All are ratios without a unit. Row directions are
/// compared with the size that the rows could have, never with the rows themselves, so that
/// decisions do not depend on axes, units or repeated rows.
struct RankOptions
{
  /// A row direction below this fraction is dropped: at 1e-8 half of the digits of a double remain,
  /// and below that accelerations would be noise. Between kRowRounding and this value the rows are
  /// singular; below kRowRounding they are redundant.
  double singular_tolerance = 1e-8;
  /// Rows that are redundant on the constraint manifold become slightly independent off the
  /// manifold (stages of an integrator, measured states). Below this fraction they still count as
  /// redundant.
  double redundancy_tolerance = 1e-2;
  /// Largest |A u̇ − b| of a row, relative to its own terms |b| + Σ|A_j u̇_j|, that is consistent;
  /// relative to all rows if redundant rows that drifted apart explain it. Round-off and drift stay
  /// below it; rows that contradict each other exceed it.
  double consistency_tolerance = 1e-6;
  /// Largest |K| (E4) for which a partition is kept; above it, a new partition is chosen.
  double partition_limit = 10.0;
};

/// Orthogonal factorisation of the rows with a partition of the speeds,
///     S A Π = H [R11 R12; 0 0],   S = diag(row scale),  H orthogonal,  R11 (r × r) triangular,
/// so that the first r speeds of the order Π are the dependent ones (E4):
///     K = −R11⁻¹ R12,   β = R11⁻¹ (Hᵀ S b)_1.
/// Redundant rows need not be removed: H combines them, and (Hᵀ S b)_2 is the inconsistent part of
/// b.
///
/// The order of the speeds is kept from call to call while |K| stays below the limit (hysteresis);
/// otherwise it is found again by column pivoting.
///
/// Only the constructor allocates. Everything else is real-time safe.
class CONSTRAINED_DYNAMICS_EXPORT RowFactorisation
{
public:
  /// @param speed_count n. @param max_row_count largest number of rows passed to `factor`.
  RowFactorisation(int speed_count, int max_row_count);

  /// Factors the rows.
  /// @param rows A (m × n), m at most max_row_count. @param row_scale S (m), positive: 1 over the
  /// size that each row could have, so that the rows of S A have norm 1 at most.
  /// @param nominal_rank the rank of the rows on the manifold; the status is kSingular if it is not
  /// reached. If it is unknown, pass kUnknownRank: then all directions above the singular tolerance
  /// are used, and the status is kSingular if one lies between that and kRowRounding.
  /// Statuses: kOk, kSingular, kSizeMismatch, kNonFiniteInput.
  [[nodiscard]] Status factor(
    const ConstMatrixRef & rows, const ConstVectorRef & row_scale, int nominal_rank,
    const RankOptions & options) noexcept CD_NONBLOCKING;

  static constexpr int kUnknownRank = -1;

  /// Discards the partition; the next `factor` finds one by pivoting.
  void reset_partition() noexcept CD_NONBLOCKING { partition_rank_ = -1; }

  /// Proposes independent speeds. The next `factor` keeps them if their number is n − nominal rank
  /// and |K| stays below the limit. @pre distinct indices of speeds.
  void select_partition(const std::vector<int> & independent_speeds);

  int rank() const { return rank_; }            ///< r
  int row_count() const { return row_count_; }  ///< m
  /// Speeds in partition order: the first rank() are dependent, the others independent.
  const Eigen::VectorXi & order() const { return order_; }
  /// How often a new partition was chosen since construction.
  int repartition_count() const { return repartition_count_; }
  /// K (r × p), views into this object.
  Eigen::Block<const Eigen::MatrixXd> dependency() const
  {
    return dependency_.block(0, 0, rank_, order_.size() - rank_);
  }
  /// σ_max/σ_min of the scaled rows without the dropped directions, estimated within a small
  /// factor; 1 if there are no rows.
  double condition() const { return condition_; }
  /// Norm of the largest column of the scaled rows that was dropped as redundant: 0 or round-off on
  /// the manifold, more off it.
  double dropped() const { return left_ * (largest_pivot_ > 1.0 ? largest_pivot_ : 1.0); }

  /// β = R11⁻¹ (Hᵀ S b)_1; `beta` has r elements. The part of b outside the range of A is ignored.
  void particular(const ConstVectorRef & bias, VectorRef beta) noexcept CD_NONBLOCKING;

  /// Multipliers (E8): solves Aᵀ λ = f for a generalized force f in the range of Aᵀ, with minimal
  /// ‖diag(weight) λ‖ if rows are redundant. `multipliers` has m elements.
  void multipliers(
    const ConstVectorRef & force, const ConstVectorRef & weight,
    VectorRef multipliers) noexcept CD_NONBLOCKING;

  /// Multipliers that produce no generalized force: column i < row_count() − rank() of Z, with Aᵀ
  /// Z = 0; `out` has m elements.
  void multiplier_null_vector(int i, VectorRef out) const noexcept CD_NONBLOCKING
  {
    out = scale_.head(row_count_).cwiseProduct(null_space_.col(i).head(row_count_));
  }

  /// Norm of the part of row i in the left null space of A: 0 for a row that no other rows can
  /// replace, up to 1 for a redundant one.
  double redundancy(int row) const { return redundancy_(row); }

private:
  bool try_order(int nominal_rank, const RankOptions & options) noexcept;
  void pivot(int nominal_rank, const RankOptions & options) noexcept;
  void load(const ConstMatrixRef & rows, Eigen::MatrixXd & target) const noexcept;
  void eliminate(Eigen::Index k) noexcept;
  void finish(const RankOptions & options) noexcept;
  void apply_transpose(VectorRef x) noexcept;
  void apply(VectorRef x) noexcept;
  double largest_dependency() const noexcept;

  Eigen::MatrixXd factor_;      // Householder vectors, R
  Eigen::MatrixXd scaled_;      // S A Π, where rows are refined
  Eigen::VectorXd reflectors_;  // coefficients of the Householder vectors
  Eigen::VectorXd scale_;
  Eigen::VectorXi order_;
  Eigen::MatrixXd dependency_;
  Eigen::MatrixXd null_space_;  // m × (m − r), left null space of S A
  Eigen::MatrixXd gram_;
  Eigen::VectorXd redundancy_;
  Eigen::VectorXd work_rows_;
  Eigen::VectorXd work_speeds_;
  Eigen::VectorXd work_null_;
  int row_count_ = 0;
  int rank_ = 0;
  int partition_rank_ = -1;
  static constexpr int kAnyRowCount = -1;
  int partition_rows_ = kAnyRowCount;
  int repartition_count_ = 0;
  double largest_pivot_ = 0.0;
  double left_ = 0.0;  // see dropped(); relative to the largest pivot if that is above 1
  double condition_ = 1.0;
  bool near_singular_ = false;
};

}  // namespace constrained_dynamics
