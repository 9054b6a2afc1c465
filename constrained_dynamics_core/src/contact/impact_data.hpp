// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/contact/impact.hpp"
#include "constrained_dynamics/formulations/kane_minimal.hpp"
#include "contact/cone_problem.hpp"
#include "contact/sliding_solver.hpp"

namespace constrained_dynamics
{

/// Mode of a unilateral contact in an impact.
struct ImpactMode
{
  enum class Kind : std::uint8_t
  {
    kAbsent,
    kSeparates,
    kSticks,
    kSlides,
    kGiven,  ///< impulses as the cone problem left them
  };
  Kind kind = Kind::kAbsent;
  double direction[2] = {0.0, 0.0};  ///< of the slip
  bool slips = false;                ///< whether a contact of given impulses does
};

/// Everything that ImpactSolver works with. Its functions are in impact.cpp (the problem and its
/// energy), impact_modes.cpp (which contacts push, stick and slide), impact_rows.cpp (the numbers
/// for given modes) and impact_path.cpp (rows nonlinear in u, derivatives).
struct ImpactSolver::Impl
{
  Impl(const Dynamics & the_dynamics, std::size_t contact_limit);

  Status load(
    const ImpactProblem & problem, double time, const ConstVectorRef & q, const ConstVectorRef & u,
    Workspace & workspace) noexcept;
  void set_targets(const ImpactProblem & problem, double scale) noexcept;
  Status choose_modes(const ImpactProblem & problem) noexcept;
  void read_modes(const ImpactProblem & problem, bool include_idle) noexcept;
  Status solve_chosen(const ImpactProblem & problem) noexcept;
  Status solve_loaded(const ImpactProblem & problem) noexcept;
  bool correct_modes(const ImpactProblem & problem) noexcept;
  bool correct_separating(const ImpactContact & contact, ImpactMode & mode) const noexcept;
  bool correct_pushing(
    const ImpactContact & contact, double largest, ImpactMode & mode) const noexcept;
  bool correct_slip(
    const ImpactContact & contact, double largest, ImpactMode & mode) const noexcept;
  void use_cones(const ImpactProblem & problem) noexcept;

  void gather(const ImpactProblem & problem) noexcept;
  Status solve_rows(const Eigen::VectorXd & force, bool with_targets) noexcept;
  Status solve_modes(const ImpactProblem & problem, const Eigen::VectorXd & impulse) noexcept;
  void add_given(const ImpactProblem & problem) noexcept;
  void add_sliding(const ImpactProblem & problem, Eigen::Index i, double normal) noexcept;
  Status solve_sliding(const ImpactProblem & problem) noexcept;
  void write_multipliers(const ImpactProblem & problem) noexcept;
  Status solve_directions(const ImpactProblem & problem) noexcept;
  double slip_after(int row) const noexcept
  {
    return before(row) + jacobian.row(row).dot(row_solution.acceleration);
  }
  double normal_impulse(const ImpactContact & contact) const noexcept
  {
    return -contact.side * multipliers(row_of(contact.constraint));
  }
  int row_of(int constraint) const noexcept
  {
    return dynamics->constraints().row_offset(constraint);
  }
  int slip_rows(const ImpactContact & contact) const noexcept
  {
    return contact.friction_constraint < 0 || !(contact.friction > 0.0) || without_friction
             ? 0
             : dynamics->constraints()[contact.friction_constraint].row_count();
  }
  bool is_in(const ImpactProblem & problem, const ImpactContact & contact) const noexcept
  {
    return problem.roles[static_cast<std::size_t>(contact.constraint)] == ImpactRole::kUnilateral;
  }
  bool bounces(const ImpactProblem & problem) const noexcept;
  double energy_change() const noexcept;
  bool is_scleronomic(const ImpactProblem & problem) const noexcept;
  double scale_for_energy(const ImpactProblem & problem) noexcept;
  bool is_nonlinear(const ImpactProblem & problem, Workspace & workspace) noexcept;
  Status follow_path(const ImpactProblem & problem, Workspace & workspace) noexcept;
  void write(const ImpactProblem & problem, Workspace & workspace, ImpactSolution & out) noexcept;
  void set_turning(const ImpactProblem & problem) noexcept;

  const Dynamics * dynamics;
  KaneMinimal formulation;
  std::unique_ptr<FormulationData> formulation_data;
  RowSolution row_solution;
  ConeProblem cone;
  std::vector<ConeContact> cone_contacts;
  std::vector<ImpactMode> modes;
  std::vector<char> is_equality;  // of each row
  std::vector<int> sliding;       // contacts
  ConstraintScratch scratch;

  double time = 0.0;
  Eigen::VectorXd q, u;
  Eigen::MatrixXd mass;
  Eigen::MatrixXd jacobian;   // of all rows
  Eigen::VectorXd row_scale;  // 1 over the size that each could have
  Eigen::VectorXd before;     // φ̇⁻, ψ⁻
  Eigen::VectorXd factors;    // c = factor · φ̇⁻
  Eigen::VectorXd targets;    // c
  Eigen::VectorXd row_size;   // possible size of a_i u
  double restitution_scale = 1.0;
  bool path_dependent = false;
  bool directions_settled = false;
  bool without_friction = false;

  int active_count = 0;
  Eigen::VectorXi active_rows;
  Eigen::MatrixXd active_jacobian;
  Eigen::VectorXd active_targets;
  Eigen::VectorXd active_scale;
  Eigen::VectorXd active_weight;

  Eigen::VectorXd multipliers;  // of all rows, friction included
  Eigen::VectorXd zero_speeds;
  Eigen::VectorXd force;
  Eigen::VectorXd row_buffer;
  Eigen::VectorXd known_force;  // all but friction of sliding contacts
  SlidingSolver sliding_solver;
  Eigen::VectorXd path_speeds, path_slope, path_stage, path_multipliers, path_rate;
  Eigen::VectorXd moved;
  Eigen::VectorXd moved_speeds;
  Eigen::MatrixXd kinematic;
  Eigen::MatrixXd turning;  // change of friction with the direction of sliding
  Eigen::MatrixXd plain_mass;
  bool has_turning = false;
  Eigen::MatrixXd result_a, result_b;
};

}  // namespace constrained_dynamics
