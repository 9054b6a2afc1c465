// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/dynamics/reduction.hpp"
#include "constrained_dynamics/dynamics/stabilisation.hpp"
#include "constrained_dynamics/formulations/formulation.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// Time, coordinates and speeds.
struct State
{
  double time = 0.0;
  Eigen::VectorXd q;
  Eigen::VectorXd u;
};

/// Options of a solve that are not the formulation's own.
struct DynamicsOptions
{
  RankOptions rank;
  /// Length [m] that makes angles comparable with distances: it scales rotational rows in decisions
  /// about rank and in the split of forces over redundant rows.
  double characteristic_length = 1.0;
  Stabilisation stabilisation;
};

/// The rows of all constraints at the last evaluated state, in the order of the set. Rows of
/// inactive constraints are evaluated too.
///
/// Driven speeds (System::driven_speeds) are known to the constraints: A has zeros in their columns
/// and b contains −A_d u̇_d, with the u̇_d of the last solve, 0 before one.
struct Rows
{
  Eigen::VectorXd position;  ///< φ
  Eigen::VectorXd velocity;  ///< φ̇, ψ
  Eigen::MatrixXd jacobian;  ///< A; of the last update_rows, a solve along the tree needs none
  Eigen::VectorXd bias;      ///< b without stabilisation
  Eigen::MatrixXd driven_jacobian;  ///< A_d: the columns of driven speeds, in their order
};

/// ∂φ̇/∂u, ∂ψ/∂u: A with the columns of driven speeds in place. Real-time safe: no.
CONSTRAINED_DYNAMICS_EXPORT Eigen::MatrixXd complete_jacobian(
  const System & system, const Rows & rows);

/// Accelerations and forces of the last successful solve, in the order of the set. Rows of inactive
/// constraints have multiplier 0.
struct Solution
{
  Eigen::VectorXd acceleration;      ///< u̇ (n)
  Eigen::VectorXd constraint_force;  ///< F^c (n) (E7)
  Eigen::VectorXd multipliers;       ///< λ (m) (E8)
  Eigen::VectorXd redundancy;        ///< of each row, 0: nothing can replace it, 1: redundant
  std::vector<WrenchPair> wrenches;  ///< ConstraintSet::wrench_offset says whose
  int active_row_count = 0;
  int rank = 0;
  double condition = 1.0;
  double inconsistency = 0.0;
  bool along_tree = false;  ///< found along the tree of bodies, without Q and A; see Automatic
};

class Dynamics;
class TreeSolver;
struct TreeProblem;
struct TreeSolverData;

/// Every byte that changes: scratch, rows, solution, active flags. Made once, one a thread.
class CONSTRAINED_DYNAMICS_EXPORT Workspace
{
public:
  /// Memory for everything; the nominal rank is the number of rows until Dynamics::analyse tells
  /// better, so that without it redundant rows give Status::kSingular.
  explicit Workspace(const Dynamics & dynamics);
  ~Workspace();
  Workspace(Workspace &&) noexcept;
  Workspace & operator=(Workspace &&) noexcept;

  const SystemData & system_data() const { return *system_data_; }
  /// For System functions that write, e.g. external wrenches.
  SystemData & system_data() { return *system_data_; }
  const SystemTerms & terms() const { return system_data_->terms; }
  const Rows & rows() const { return rows_; }
  const Solution & solution() const { return solution_; }
  /// 1 over the size that each row could have (Constraint::row_sizes): the largest that
  /// Dynamics::analyse saw, or that of the first state whose rows were evaluated.
  const Eigen::VectorXd & row_scale() const { return row_scale_; }
  /// Rank that the active rows have on the manifold.
  int nominal_rank() const { return nominal_rank_[kAllRows]; }
  bool is_active(int constraint) const { return active_[static_cast<std::size_t>(constraint)]; }

  /// Switches a constraint. The rank found by the next solve counts as nominal until the next
  /// Dynamics::analyse. Real-time safe: yes.
  void set_active(int constraint, bool active) noexcept CD_NONBLOCKING;

  /// Multipliers (m) that rows of inactive constraints exert all the same: friction of sliding
  /// contacts, forces of compliant ones. 0 unless set; rows of active constraints ignore theirs.
  /// The next solve applies them and reports them among its own.
  Eigen::VectorXd & given_multipliers() noexcept CD_NONBLOCKING { return given_multipliers_; }
  const Eigen::VectorXd & given_multipliers() const { return given_multipliers_; }

  /// Scratch of the formulation, for reports.
  const FormulationData & formulation_data() const { return *formulation_data_; }

private:
  friend class Dynamics;
  friend class SolutionDifferentiator;

  // Rows up to a level: what position projection, velocity projection and a solve work on.
  enum Subset
  {
    kPositionRows,
    kVelocityRows,
    kAllRows,
    kSubsetCount,
  };
  static constexpr int kUnknownRank = RowFactorisation::kUnknownRank;

  std::unique_ptr<SystemData> system_data_;
  ConstraintScratch scratch_;
  std::unique_ptr<FormulationData> formulation_data_;
  // Of projections of positions and of velocities, each with a partition of its own; none of
  // velocities where they share the partition of the solve.
  std::array<std::unique_ptr<FormulationData>, 2> projection_data_;
  std::unique_ptr<TreeSolverData> tree_data_;  // none where there is no tree
  Rows rows_;
  Solution solution_;
  std::vector<bool> active_;
  Eigen::VectorXd given_multipliers_;
  std::array<int, kSubsetCount> nominal_rank_{};

  // The active rows, compact.
  Eigen::VectorXi active_rows_;
  int active_row_count_ = 0;
  Eigen::MatrixXd active_jacobian_;
  Eigen::VectorXd active_bias_;
  Eigen::VectorXd active_scale_;
  Eigen::VectorXd active_weight_;

  Eigen::VectorXd row_scale_;        // of all rows
  bool is_sized_ = false;            // whether row_scale_ is known
  Eigen::VectorXd stabilised_bias_;  // of all rows
  Eigen::VectorXd gain_work_;
  Eigen::VectorXd force_;                // P + G τ, later 0 for projections
  Eigen::VectorXd resting_bias_;         // b with u̇ = 0 of driven speeds
  Eigen::VectorXd driven_acceleration_;  // u̇ of driven speeds
  RowSolution row_solution_;

  // Projection.
  Eigen::VectorXd zero_speeds_;
  Eigen::VectorXd trial_;
  Eigen::VectorXd best_;
};

/// What Dynamics::analyse found.
struct RankReport
{
  int row_count = 0;           ///< active rows
  int nominal_rank = 0;        ///< largest rank seen on the manifold close to the state
  int rank_here = 0;           ///< at the state
  int degrees_of_freedom = 0;  ///< n − nominal rank
  double condition = 1.0;      ///< σ_max/σ_min of the rank_here directions, by SVD
  /// One for each dependency between rows: row = Σ coefficient · other row.
  struct Dependency
  {
    int row;
    std::vector<int> others;
    std::vector<double> coefficients;
  };
  std::vector<Dependency> dependencies;
};

/// A constrained system: system, constraints, formulation, options. Constant after building; may be
/// shared by threads, each with a Workspace of its own.
class CONSTRAINED_DYNAMICS_EXPORT Dynamics
{
public:
  /// @param formulation none stands for Automatic.
  /// @throw std::invalid_argument for options out of range, gain matrices of the wrong size, or
  /// Stabilisation::keep_independent with a formulation that has no independent speeds.
  explicit Dynamics(
    ConstraintSet constraints, DynamicsOptions options = {},
    std::shared_ptr<const Formulation> formulation = nullptr);

  const System & system() const { return constraints_.system(); }
  const ConstraintSet & constraints() const { return constraints_; }
  const DynamicsOptions & options() const { return options_; }
  const Formulation & formulation() const { return *formulation_; }

  /// Finds the nominal rank and the size of the rows on the manifold around a state, so that
  /// redundant rows are told from singular positions; call it once at configure, and again after
  /// switching constraints if there is time. Real-time safe: no.
  /// @throw std::invalid_argument where the rows cannot be evaluated at the state.
  RankReport analyse(const State & state, Workspace & workspace) const;

  /// Kinematics and rows at a state.
  /// Statuses: those of System::update_kinematics and Constraint::evaluate. Real-time safe: yes.
  [[nodiscard]] Status update_rows(
    double time, const ConstVectorRef & q, const ConstVectorRef & u,
    Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// Kinematics at rest and the rows of those constraints that have position rows; the others need
  /// not exist at rest and are left alone. Statuses as above. Real-time safe: yes.
  [[nodiscard]] Status update_position_rows(
    double time, const ConstVectorRef & q, Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// Accelerations, multipliers, constraint forces and wrenches for the state of the last
  /// update_rows and the inputs τ, from A and Q whatever the formulation is. Real-time safe: yes.
  [[nodiscard]] Status solve_rows(
    const ConstVectorRef & inputs, Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// Solves once more at the state of the last solve_rows, after a change of the inputs, the active
  /// constraints or the given multipliers. Statuses as there. Real-time safe: yes.
  [[nodiscard]] Status solve_again(
    const ConstVectorRef & inputs, Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// Kinematics at a state, e.g. for a control law that needs them before it can tell the inputs;
  /// the first half of `solve`. Statuses: those of System::update_kinematics. Real-time safe: yes.
  [[nodiscard]] Status update_kinematics(
    double time, const ConstVectorRef & q, const ConstVectorRef & u,
    Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// Rows, accelerations and forces for the state of the last update_kinematics (which update_rows
  /// is, too) and the inputs τ: the second half of `solve`, nothing of the first is done again.
  [[nodiscard]] Status solve_updated(
    const ConstVectorRef & inputs, Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// One cycle: terms, rows, accelerations, forces (E1 to E8) into workspace.solution(), which is
  /// untouched unless has_output(status). Where Solution::along_tree is true neither
  /// workspace.rows().jacobian nor the terms Q, P, G were filled: call update_rows and solve_rows
  /// where they are wanted.
  /// @param inputs τ (l). Real-time safe: yes.
  [[nodiscard]] Status solve(
    double time, const ConstVectorRef & q, const ConstVectorRef & u, const ConstVectorRef & inputs,
    Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// Terms, factorisation of the rows and response to the inputs (E24) at the state of the last
  /// update_rows, whatever the formulation is. Statuses: kOk, kSingular; kSingularInertia,
  /// kNonFiniteInput, kNonFiniteResult and those of System::update_dynamics without output.
  /// @param with_effort whether Reduction::effort_metric is wanted. Real-time safe: yes.
  [[nodiscard]] Status reduce(Workspace & workspace, Reduction & reduction, bool with_effort = true)
    const noexcept CD_NONBLOCKING;
  /// The multipliers' part of (E24), after `reduce`. Real-time safe: yes.
  void reduce_forces(Workspace & workspace, Reduction & reduction) const noexcept CD_NONBLOCKING;
  /// Accelerations, multipliers, forces and wrenches for inputs τ, from the last `reduce`, which is
  /// not done again; into workspace.solution(), untouched without output. Statuses as solve_rows.
  /// Real-time safe: yes.
  [[nodiscard]] Status solve_reduced(
    const ConstVectorRef & inputs, Reduction & reduction,
    Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// Row directions below this fraction are left alone by projections: close to a singular position
  /// the correction would be rounding divided by the distance. They are met again a little later.
  static constexpr double kProjectionSingularTolerance = 1e-5;

  /// Moves q to φ(q, t) = 0 by the physically smallest correction (in the norm of Q), or by one
  /// that changes dependent speeds only (Stabilisation::keep_independent) where that converges.
  /// Newton with at most `kProjectionIterations` iterations. q is untouched unless the status is
  /// kOk. Statuses: kOk, kNotConverged, failures of evaluation. Real-time safe: yes.
  [[nodiscard]] Status project_position(
    double time, VectorRef q, Workspace & workspace,
    double singular_tolerance = kProjectionSingularTolerance) const noexcept CD_NONBLOCKING;

  /// Moves u to φ̇ = 0 and ψ = 0. Likewise.
  [[nodiscard]] Status project_velocity(
    double time, const ConstVectorRef & q, VectorRef u, Workspace & workspace,
    double singular_tolerance = kProjectionSingularTolerance) const noexcept CD_NONBLOCKING;

  static constexpr int kProjectionIterations = 12;

private:
  friend class Workspace;
  friend class SolutionDifferentiator;

  Status evaluate_rows(Workspace::Subset subset, Workspace & workspace) const noexcept
    CD_NONBLOCKING;
  /// The size that each row could have at the evaluated state; `out` has a number a row.
  void row_sizes(Workspace & workspace, VectorRef out) const noexcept CD_NONBLOCKING;
  static void set_row_scale(const ConstVectorRef & sizes, Workspace & workspace) noexcept
    CD_NONBLOCKING;
  void gather(const Eigen::VectorXd & bias, Workspace::Subset subset, Workspace & workspace)
    const noexcept CD_NONBLOCKING;
  Status solve_gathered(
    Workspace::Subset subset, const RankOptions & rank, FormulationData & data,
    bool keep_independent, Workspace & workspace) const noexcept CD_NONBLOCKING;
  bool solve_tree(const ConstVectorRef & inputs, Workspace & workspace, Status & status)
    const noexcept CD_NONBLOCKING;
  RowProblem row_problem(int nominal_rank, const Workspace & workspace) const noexcept
    CD_NONBLOCKING;
  TreeProblem tree_problem(const ConstVectorRef & inputs, Workspace & workspace) const noexcept
    CD_NONBLOCKING;
  void measure_tree(Workspace & workspace) const;
  void drive(Workspace & workspace) const noexcept CD_NONBLOCKING;
  void respond_driven(Workspace & workspace, Reduction & reduction) const noexcept CD_NONBLOCKING;
  void stabilise(Workspace & workspace) const noexcept CD_NONBLOCKING;
  void add_given(VectorRef force, const Workspace & workspace) const noexcept CD_NONBLOCKING;
  void scatter(Workspace & workspace) const noexcept CD_NONBLOCKING;
  bool in_subset(int row, Workspace::Subset subset) const noexcept CD_NONBLOCKING;
  double residual(
    const Eigen::VectorXd & values, Workspace::Subset subset,
    const Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// Newton on the rows of `subset`, whose residuals are `values`, with the unknowns x.
  template <typename Evaluate, typename Advance>
  Status project(
    Workspace::Subset subset, const Eigen::VectorXd & values, double singular_tolerance,
    VectorRef x, Workspace & workspace, const Evaluate & evaluate,
    const Advance & advance) const noexcept CD_NONBLOCKING;

  template <typename Evaluate, typename Advance>
  Status project(
    bool keep_independent, Workspace::Subset subset, const Eigen::VectorXd & values,
    double singular_tolerance, VectorRef x, Workspace & workspace, const Evaluate & evaluate,
    const Advance & advance) const noexcept CD_NONBLOCKING;

  ConstraintSet constraints_;
  DynamicsOptions options_;
  std::shared_ptr<const Formulation> formulation_;
  std::shared_ptr<const TreeSolver> tree_;  // none: all solves by the formulation
  std::vector<int> constraint_of_row_;
  std::vector<RowLevel> level_of_row_;
  std::vector<bool> has_position_rows_;  // of each constraint
  std::vector<int> position_rows_;
  std::vector<int> velocity_rows_;
  Eigen::VectorXd multiplier_weight_;
  Eigen::VectorXd multiplier_compliance_;  // 1/weight²
};

}  // namespace constrained_dynamics
