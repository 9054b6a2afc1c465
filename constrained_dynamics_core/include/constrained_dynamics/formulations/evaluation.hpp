// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/formulations/dynamics_options.hpp"
#include "constrained_dynamics/formulations/formulation.hpp"
#include "constrained_dynamics/formulations/solution.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// Rows up to a level: what position projection, velocity projection and a solve work on.
enum class RowSubset : std::uint8_t
{
  kPosition,
  kVelocity,
  kAll,
};
inline constexpr int kRowSubsetCount = 3;

/// The constant part of a constrained system: constraints, options and quantities derived from
/// them.
struct CONSTRAINED_DYNAMICS_EXPORT ConstrainedSystem
{
  /// @throw std::invalid_argument for options out of range or gain matrices of the wrong size.
  ConstrainedSystem(ConstraintSet set, DynamicsOptions given);

  const System & system() const { return constraints.system(); }
  bool contains(RowSubset subset, int row) const noexcept
  {
    const RowLevel level = level_of_row[static_cast<std::size_t>(row)];
    return subset == RowSubset::kAll ||
           (subset == RowSubset::kPosition ? level == RowLevel::kPosition
                                           : level != RowLevel::kAcceleration);
  }

  ConstraintSet constraints;
  DynamicsOptions options;
  std::vector<int> constraint_of_row;
  std::vector<RowLevel> level_of_row;
  std::vector<bool> has_position_rows;  ///< of each constraint
  std::vector<int> position_rows;
  std::vector<int> velocity_rows;
  Eigen::VectorXd multiplier_weight;      ///< of each row
  Eigen::VectorXd multiplier_compliance;  ///< 1/weight²
};

/// A constrained system at one state, on which formulations solve. Each part is evaluated when it
/// is first requested, once per state; `has` tells which parts are available. Only the constructor
/// allocates; everything else is real-time safe.
class CONSTRAINED_DYNAMICS_EXPORT Evaluation
{
public:
  enum Part : unsigned
  {
    kKinematics = 1U,  ///< the state and the motion of frames
    kRowValues = 2U,   ///< φ, φ̇, b
    kJacobian = 4U,    ///< A
    kTerms = 8U,       ///< Q, P, G
    kSolution = 16U,   ///< set by the owner of the solution
  };

  explicit Evaluation(std::shared_ptr<const ConstrainedSystem> of);

  const ConstrainedSystem & of() const noexcept { return *of_; }
  const std::shared_ptr<const ConstrainedSystem> & shared() const noexcept { return of_; }
  const System & system() const noexcept { return of_->system(); }

  /// Whether these parts belong to the present state.
  bool has(unsigned parts) const noexcept { return (parts_ & parts) == parts; }
  /// Marks parts as outdated: they are evaluated again when they are next requested.
  void forget(unsigned parts) noexcept { parts_ &= ~parts; }
  void note_solution() noexcept { parts_ |= kSolution; }
  /// Records that a formulation which does not need A has evaluated φ, φ̇ and b.
  void note_row_values() noexcept;
  /// A number that changes with every state that is set.
  std::uint64_t stamp() const noexcept { return stamp_; }

  /// Sets the state and evaluates the kinematics. If the status is kSizeMismatch or
  /// kNonFiniteInput, the previous state stays; after any other failure (see
  /// System::update_kinematics) there is no state.
  [[nodiscard]] Status set_state(
    double time, const ConstVectorRef & q, const ConstVectorRef & u) noexcept CD_NONBLOCKING;
  /// The same with zero speeds.
  [[nodiscard]] Status set_rest(double time, const ConstVectorRef & q) noexcept CD_NONBLOCKING
  {
    return set_state(time, q, zero_speeds_);
  }

  /// Evaluates φ, φ̇, A, b. Statuses: those of Constraint::evaluate, kNoState.
  [[nodiscard]] Status ask_rows() noexcept CD_NONBLOCKING;
  /// Evaluates the rows of those constraints that have position rows. The others may be undefined
  /// at rest and are skipped, so that no part is complete afterwards.
  [[nodiscard]] Status ask_position_rows() noexcept CD_NONBLOCKING;
  /// Evaluates Q, P, G. Statuses: those of System::update_dynamics, kNoState.
  [[nodiscard]] Status ask_terms() noexcept CD_NONBLOCKING;
  /// Evaluates rows and terms, which `motion_problem` and `passive_problem` need. Statuses: those
  /// of both, kNonFiniteInput for given multipliers that are not finite.
  [[nodiscard]] Status ask_rows_and_terms() noexcept CD_NONBLOCKING;

  /// The active rows and the forces as a row problem: h = P + G τ with the forces of given
  /// multipliers, b with driven speeds and stabilisation. @pre rows and terms are evaluated.
  [[nodiscard]] RowProblem motion_problem() noexcept CD_NONBLOCKING;
  /// The same without the inputs.
  [[nodiscard]] RowProblem passive_problem() noexcept CD_NONBLOCKING;
  /// A δ = −values for the active rows of a subset, with h = 0: the smallest correction in the norm
  /// of Q.
  [[nodiscard]] RowProblem correction_problem(
    const Eigen::VectorXd & values, RowSubset subset) noexcept CD_NONBLOCKING;
  /// The problem of the rows that were gathered last.
  [[nodiscard]] RowProblem gathered_problem(RowSubset subset) const noexcept CD_NONBLOCKING;
  /// Moves the known accelerations of driven speeds to the right-hand side of the rows, b ← b − A_d
  /// u̇_d, then stabilises and gathers the rows. @pre `force` is set.
  void gather_driven() noexcept CD_NONBLOCKING;

  /// Computes `stabilised_bias` from φ, φ̇ and b.
  void stabilise() noexcept CD_NONBLOCKING;
  /// Adds Aᵀ λ of given multipliers of inactive constraints.
  void add_given(VectorRef force) const noexcept CD_NONBLOCKING;
  /// Copies `row_solution` of the rows that were gathered last to all rows.
  void scatter(Solution & to) noexcept CD_NONBLOCKING;
  /// Takes the rank found by a solve as nominal if it was unknown.
  void note_rank(RowSubset subset, int rank) noexcept CD_NONBLOCKING;

  /// The size that each row could have at this state (Constraint::row_sizes); `out` is (m).
  /// @pre kJacobian.
  void row_sizes(VectorRef out) noexcept CD_NONBLOCKING;
  void set_row_scale(const ConstVectorRef & sizes) noexcept CD_NONBLOCKING;
  /// The largest scaled value of the active rows.
  double residual(const Eigen::VectorXd & values, RowSubset subset) const noexcept CD_NONBLOCKING;

  bool is_active(int constraint) const noexcept
  {
    return active[static_cast<std::size_t>(constraint)];
  }
  int & nominal(RowSubset subset) noexcept
  {
    return nominal_rank[static_cast<std::size_t>(subset)];
  }
  int nominal(RowSubset subset) const noexcept
  {
    return nominal_rank[static_cast<std::size_t>(subset)];
  }

  std::unique_ptr<SystemData> system_data;
  ConstraintScratch scratch;
  Rows rows;
  Eigen::VectorXd inputs;             ///< τ (l)
  std::vector<bool> active;           ///< of each constraint
  Eigen::VectorXd given_multipliers;  ///< (m), of rows of inactive constraints
  std::array<int, kRowSubsetCount> nominal_rank{};
  Eigen::VectorXd row_scale;        ///< (m): 1 over the size that each row could have
  Eigen::VectorXd stabilised_bias;  ///< (m)
  Eigen::VectorXd force;            ///< h (n) of the last problem

  /// The rows of the last problem.
  Eigen::VectorXi active_rows;
  int active_row_count = 0;
  Eigen::MatrixXd active_jacobian;
  Eigen::VectorXd active_bias;
  Eigen::VectorXd active_scale;
  Eigen::VectorXd active_weight;
  RowSolution row_solution;

private:
  Status evaluate_rows(bool with_all) noexcept CD_NONBLOCKING;
  void gather(const Eigen::VectorXd & bias, RowSubset subset) noexcept CD_NONBLOCKING;
  /// `values` with 0 for rows that are switched off, in `row_work_`.
  const Eigen::VectorXd & masked(const Eigen::VectorXd & values) noexcept CD_NONBLOCKING;

  std::shared_ptr<const ConstrainedSystem> of_;
  unsigned parts_ = 0;
  std::uint64_t stamp_ = 0;
  bool is_sized_ = false;  // whether row_scale is known
  bool jacobian_is_written_ = false;
  Eigen::VectorXd row_work_;
  Eigen::VectorXd resting_bias_;         // b with u̇ = 0 of driven speeds
  Eigen::VectorXd driven_acceleration_;  // u̇ of driven speeds
  Eigen::VectorXd zero_speeds_;
};

}  // namespace constrained_dynamics
