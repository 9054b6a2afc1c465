// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/formulations/formulation.hpp"
#include "constrained_dynamics/formulations/solution.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

class Dynamics;

/// Time t [s], coordinates q (nq) and speeds u (n).
struct State
{
  double time = 0.0;
  Eigen::VectorXd q;
  Eigen::VectorXd u;
};

/// Terms of the system at the state of a workspace (see SystemTerms). C, D, q̇ and q̈ are valid
/// after set_state; Q, P and G after evaluate_terms or a solve that needs them. Values that were
/// not evaluated are NaN.
struct Terms
{
  double time;                                ///< t [s]
  const Eigen::VectorXd & coordinates;        ///< q (nq)
  const Eigen::VectorXd & speeds;             ///< u (n)
  const Eigen::MatrixXd & kinematic_matrix;   ///< C (nq × n)
  const Eigen::VectorXd & kinematic_drift;    ///< D (nq)
  const Eigen::VectorXd & rates;              ///< q̇ (nq)
  const Eigen::VectorXd & acceleration_bias;  ///< q̈ at u̇ = 0 (nq)
  const Eigen::MatrixXd & mass_matrix;        ///< Q (n × n)
  const Eigen::VectorXd & force;              ///< P (n)
  const Eigen::MatrixXd & input_matrix;       ///< G (n × l)
};

/// Result of a rank analysis of the rows around a state.
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

/// The variable part of a Dynamics: state, terms, rows, solution, active flags and scratch memory.
/// Created once, at a state; use one Workspace per thread.
///
/// Terms, rows and solution belong to the state that was set last (Dynamics::set_state, or a solve
/// at a state). A part that was not evaluated at this state is NaN; values of another state are
/// never returned. Accessors compute nothing; Dynamics::evaluate_rows and evaluate_terms do, once
/// per state. References to parts are valid until the next state is set.
class CONSTRAINED_DYNAMICS_EXPORT Workspace
{
public:
  /// Allocates the memory and analyses the rows around a state as `reset` does. The state need not
  /// satisfy the constraints. Real-time safe: no.
  /// @throw std::invalid_argument where the rows cannot be evaluated at the state.
  Workspace(const Dynamics & dynamics, const State & state);
  /// Makes a workspace without a rank analysis, sufficient for assembling an initial state or
  /// evaluating rows. Until `reset`, the nominal rank is the number of rows: redundant rows give
  /// Status::kSingular, and solves are slower.
  static Workspace unanalysed(const Dynamics & dynamics);
  ~Workspace();
  Workspace(Workspace &&) noexcept;
  Workspace & operator=(Workspace &&) noexcept;

  /// Finds the nominal rank and the size of the active rows on the manifold around a state, so that
  /// redundant rows can be distinguished from singular positions. Call it again after switching
  /// constraints if time permits. The workspace is then at that state. Real-time safe: no.
  /// @throw std::invalid_argument where the rows cannot be evaluated at the state.
  const RankReport & reset(const State & state);
  /// Result of the last analysis; empty if there was none.
  const RankReport & rank_report() const noexcept;

  /// Kinematics and terms at the state.
  Terms terms() const noexcept CD_NONBLOCKING;
  /// Rows at the state. After a solve along the tree of bodies A is NaN until
  /// Dynamics::evaluate_rows is called.
  const Rows & rows() const noexcept CD_NONBLOCKING;
  /// The last solution at the state.
  const Solution & solution() const noexcept CD_NONBLOCKING;

  /// Data for functions of the System.
  const SystemData & system_data() const noexcept CD_NONBLOCKING;
  /// Data for System functions that write, e.g. external wrenches. Terms are evaluated again when
  /// they are next requested. The state must not be changed through it.
  SystemData & change_system_data() noexcept CD_NONBLOCKING;

  /// 1 over the size that each row could have (Constraint::row_sizes): the largest found by the
  /// analysis, or that of the first state at which rows were evaluated.
  const Eigen::VectorXd & row_scale() const noexcept CD_NONBLOCKING;
  /// Rank of the active rows on the manifold.
  int nominal_rank() const noexcept CD_NONBLOCKING;

  bool is_active(int constraint) const noexcept CD_NONBLOCKING;
  /// Switches a constraint on or off. The rank found by the next solve counts as nominal until
  /// `reset`. Real-time safe: yes.
  void set_active(int constraint, bool active) noexcept CD_NONBLOCKING;

  /// Given multipliers (m) of the rows of inactive constraints, e.g. friction of sliding contacts
  /// and forces of compliant ones; the next solve applies and reports them. 0 unless set. Active
  /// rows that are redundant share their load as close to these as possible; others ignore them.
  Eigen::VectorXd & given_multipliers() noexcept CD_NONBLOCKING;
  const Eigen::VectorXd & given_multipliers() const noexcept CD_NONBLOCKING;

  /// Scratch of the formulation, for reports.
  const FormulationData & formulation_data() const noexcept;

private:
  struct Impl;
  explicit Workspace(const Dynamics & dynamics);

  friend class Dynamics;
  friend struct WorkspaceAccess;

  std::unique_ptr<Impl> impl_;
};

}  // namespace constrained_dynamics
