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

/// The smallest point of a polyhedron in strict priorities: with the blocks y_1, y_2, … of y,
///     minimise ‖y_1‖, then ‖y_2‖, …   subject to   lower ≤ V y ≤ upper.                (E34)
///
/// Way of the solution. For rows that bind, V_A y = d, combinations that vanish in all blocks after
/// block k restrict y_k, given the blocks before it. They are found by orthogonalising the rows in
/// the last block first; rows that become dependent there go on to the block before (`factor`).
/// Multipliers follow block by block, μ_k with V_Aᵀ μ_k = (…, y_k, 0, …, 0): rows with μ_k > 0 bind
/// for all later blocks, and none of the others may have μ_k < 0.
///
/// The primal active-set method: each of its points is in the polyhedron, and none is worse than
/// the last. It begins with the rows that bound in the last solve and a few more; if their point is
/// not in the polyhedron, with the one that is closest to 0 where earlier blocks count more.
///
/// Memory is taken in the constructor. Everything else is real-time safe, with bounded iterations.
/// Exported for its tests.
class CONSTRAINED_DYNAMICS_EXPORT PriorityProgram
{
public:
  PriorityProgram(int max_variables, int max_blocks, int max_rows);
  ~PriorityProgram();
  PriorityProgram(PriorityProgram &&) noexcept;
  PriorityProgram & operator=(PriorityProgram &&) noexcept;

  /// One problem, by reference. Infinite bounds are allowed.
  struct Problem
  {
    ConstMatrixRef rows;                  ///< Vᵀ (n × m)
    ConstVectorRef lower;                 ///< (m), may be −∞
    ConstVectorRef upper;                 ///< (m), may be ∞
    const std::vector<int> & block_ends;  ///< y_k ends before this element; the last one is n
    bool is_last_free = false;            ///< any last block will do
  };

  /// Statuses: kOk; kNotConverged: the solution is in the polyhedron, but need not be the smallest
  /// point. Without output: kSizeMismatch, kNonFiniteInput, kInfeasible (no y meets all rows),
  /// kNonFiniteResult.
  [[nodiscard]] Status solve(const Problem & problem) noexcept CD_NONBLOCKING;

  /// Forgets which rows bound.
  void forget() noexcept CD_NONBLOCKING { active_count_ = 0; }

  /// y of the last solve with output.
  Eigen::VectorBlock<const Eigen::VectorXd> solution() const { return y_.head(variable_count_); }
  /// Sets of binding rows that the last solve tried.
  int iteration_count() const { return iterations_; }

private:
  /// A row that is taken to bind: side · V_i y = side · bound, with side 1 at the lower bound.
  struct Active
  {
    int row;
    int side;
    bool is_fixed;  // by an earlier block, or because its bounds are equal
    bool is_kept;   // although its multiplier may look negative
    int block;      // that the row restricts; −1: it depends on others
  };

  Status check(const Problem & problem) const noexcept CD_NONBLOCKING;
  void begin_active(const Problem & problem) noexcept CD_NONBLOCKING;
  void add_active(int row, int side, bool is_fixed) noexcept CD_NONBLOCKING;
  void remove_active(int place) noexcept CD_NONBLOCKING;
  void remove_free(int wrong, int block) noexcept CD_NONBLOCKING;
  bool leaves_behind(int block) const noexcept CD_NONBLOCKING;
  bool is_active(int row) const noexcept CD_NONBLOCKING;
  bool begin_last(const Problem & problem) noexcept CD_NONBLOCKING;
  Status descend(const Problem & problem) noexcept CD_NONBLOCKING;
  /// A point of the polyhedron, into y_, and the rows that bind there. @param grade how much less
  /// each block counts than the one before. False: none was found.
  bool find_start(const Problem & problem, double grade) noexcept CD_NONBLOCKING;
  /// Goes from y_ towards target_ as far as all rows allow; the row that ends it, or −1.
  int advance(const Problem & problem) noexcept CD_NONBLOCKING;
  /// Orthogonalises the active rows and leaves out those that depend on others.
  void factor(const Problem & problem) noexcept CD_NONBLOCKING;
  bool orthogonalise(const Problem & problem) noexcept CD_NONBLOCKING;
  int longest(bool is_fixed, int block, int begin, int end) const noexcept CD_NONBLOCKING;
  void take(int place, const Problem & problem, int block, int first) noexcept CD_NONBLOCKING;
  /// The smallest point on the active rows, into target_.
  void find_target(const Problem & problem) noexcept CD_NONBLOCKING;
  void add_solution(const Problem & problem, bool is_first) noexcept CD_NONBLOCKING;
  /// The active row with the most negative multiplier of a block, or −1; then rows with a positive
  /// one are fixed.
  int settle(int block) noexcept CD_NONBLOCKING;
  int worst_violation(const Problem & problem, const Eigen::VectorXd & y) noexcept CD_NONBLOCKING;
  double bound_of(const Problem & problem, const Active & active) const noexcept CD_NONBLOCKING;

  std::unique_ptr<ClosestPoint> closest_;
  std::vector<int> closest_row_;   // of its rows
  std::vector<int> closest_side_;  // likewise
  int variable_count_ = 0;
  int row_count_ = 0;
  int iterations_ = 0;
  std::vector<Active> active_;
  int active_count_ = 0;
  std::vector<bool> is_left_out_;  // rows that cannot be told from combinations of active ones
  // V_A = W G in the order of the pivots: W has 0 after the block that a column restricts, and
  // columns of a block are orthogonal there; G is an upper triangle with ones.
  Eigen::MatrixXd columns_;       // W (n × active)
  Eigen::MatrixXd coefficients_;  // G, by places in active_
  std::vector<int> order_;        // places in active_
  int pivot_count_ = 0;
  Eigen::VectorXd square_;  // ‖W_i‖² in the block of i
  Eigen::MatrixXd terms_;   // norms of what each block of W_i is the sum of
  Eigen::VectorXd length_;  // ‖V_i‖
  Eigen::VectorXd right_;
  Eigen::VectorXd size_;   // of the terms of right_
  Eigen::VectorXd share_;  // of W_i in y
  Eigen::VectorXd multiplier_;
  Eigen::VectorXd target_;
  Eigen::VectorXd step_;
  Eigen::VectorXd scale_;   // of y, for closest_
  Eigen::VectorXd values_;  // V y
  Eigen::VectorXd rates_;
  Eigen::VectorXd y_;
};

}  // namespace constrained_dynamics
