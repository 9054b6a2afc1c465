// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "contact/cone_problem.hpp"
#include "contact/contact_view.hpp"
#include "contact/controlled_dynamics.hpp"
#include "model/turning_axes.hpp"

namespace constrained_dynamics
{

/// Percussions of the contacts in a step of Moreau (E56), at the state at its begin: with u° the
/// speeds that the forces and the bilateral rows would lead to,
///     Q (u⁺ − u°) = AᵀΛ + (reactions of the bilateral rows),
///     0 ≤ Λ_n ⟂ v_n⁺ − β ≥ 0,   |Λ_t| ≤ μ Λ_n against v_t⁺.
/// β = e · (approach) for a contact that strikes and has no gap left; −gap/h for one that closes in
/// this step without rebound, so that it touches at its end; 0 for one that touches.
///
/// The percussion takes kinetic energy, ½ Λᵀ(v⁺ + v°) ≤ 0: without rebound always; otherwise all e
/// are multiplied by the largest factor found with which it does.
///
/// Only the constructor allocates. Everything else is real-time safe.
class Percussion
{
public:
  /// @throw std::invalid_argument for contacts with a law, viscous friction and Dahl's law.
  explicit Percussion(const ContactModel & model);

  /// Forgets the last step.
  void reset() noexcept;

  /// The percussions and the speeds u⁺ at the end of a step of length h. @pre the state is updated.
  /// Statuses: kOk; kInconsistent (contacts cannot all be met, or friction satisfies its law only
  /// approximately); kSingularInertia, kNonFiniteResult, failures of evaluation, without output.
  /// The speeds are in the axes of the begin of the step: TurningAxes::carry.
  Status solve(double h, ControlledDynamics & dynamics, VectorRef speeds) noexcept CD_NONBLOCKING;

  /// Change of the coordinates' speeds times h, that lifts contacts which push out of the depth to
  /// which they have drifted, as far as the energy that percussions have taken since `reset`
  /// allows. Returns whether there is one. @pre solve, at the same state.
  bool drift_correction(VectorRef change) noexcept CD_NONBLOCKING;

  /// Keeps the last percussions as those of a step that was made, and counts their work.
  void commit() noexcept CD_NONBLOCKING;

  /// Forces Λ/h (m) of the last `solve`, in the order of all rows.
  const Eigen::VectorXd & forces() const { return forces_; }
  /// Work of the percussions between u⁻ and u⁺, ½ Λᵀ(v⁻ + v⁺), of normals and of frictions [J].
  double normal_work() const { return normal_work_; }
  double friction_work() const { return friction_work_; }
  /// Factor of all restitutions; below 1 so that no energy is given.
  double restitution_scale() const { return scale_; }

  /// What became of contact i.
  struct Outcome
  {
    bool pushes = false;
    bool strikes = false;  ///< approaches faster than a contact at rest
    bool slides = false;
    double impulse = 0.0;
    double friction_impulse = 0.0;
    double rate_before = 0.0;  ///< of the gap [m/s, rad/s]
    double rate_after = 0.0;
  };
  const Outcome & outcome(int contact) const { return at(now_, contact); }
  /// The same of the step before.
  const Outcome & last_outcome(int contact) const { return at(last_, contact); }

private:
  struct Row
  {
    double before = 0.0;    // v⁻
    double rebound = 0.0;   // e · approach
    double approach = 0.0;  // target without rebound: −gap/h, or 0
  };
  static const Outcome & at(const std::vector<Outcome> & outcomes, int contact)
  {
    return outcomes[static_cast<std::size_t>(contact)];
  }
  Status begin(double h, ControlledDynamics & dynamics) noexcept;
  void gather(double h, const Workspace & workspace) noexcept;
  bool takes_part(int contact, double h, const ContactView & view, Row & row) noexcept;
  void add_friction(
    int friction, double bound, const ContactView & view, ConeContact & to) noexcept;
  int add(const ConstVectorRef & row, const Row & values) noexcept;
  Status solve_cones() noexcept;
  Status solve_with(double scale) noexcept;
  double energy_change() const noexcept;
  double energy_rounding() const noexcept;
  bool rebounds() const noexcept;
  void read(double h) noexcept;

  const ContactModel & model_;
  ConeProblem cone_;
  std::vector<ConeContact> cones_;  // those of this step
  std::vector<int> contact_of_;     // of each cone; −1: a friction alone
  std::vector<int> friction_of_;    // of each cone; −1: none
  std::vector<char> holds_;
  std::vector<Row> rows_;  // of the cone problem
  int count_ = 0;
  double step_ = 0.0;  // [s]
  double scale_ = 1.0;
  double normal_work_ = 0.0;
  double friction_work_ = 0.0;
  double taken_ = 0.0;  // energy that percussions have taken [J]

  Eigen::VectorXd impulse_;  // h (P + G τ)
  Eigen::VectorXd free_;     // u°
  Eigen::VectorXd change_;   // u° − u⁻
  Eigen::VectorXd row_;
  Eigen::VectorXd turning_;  // c of (E56)
  Eigen::VectorXd turned_;   // u⁻ + h c
  Eigen::VectorXd near_;     // of each row of the cone problem
  Eigen::VectorXd forces_;
  Eigen::VectorXd kept_;  // Λ of the last step, of all rows
  Eigen::VectorXd now_impulse_;
  std::vector<double> depth_;  // of each cone
  std::vector<int> deep_rows_;
  std::vector<double> lengths_;
  std::vector<Outcome> now_;
  std::vector<Outcome> last_;
  TurningAxes axes_;
  std::vector<char> friction_slides_;  // frictions without a contact
  bool has_last_ = false;
};

}  // namespace constrained_dynamics
