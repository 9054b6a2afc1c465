// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// One contact of a ConeProblem: a normal row that pushes, x_n ≥ 0 ⟂ w_n ≥ 0, with up to two
/// tangential rows, |x_t| ≤ μ x_n against w_t; or friction of a constant bound without a normal.
struct ConeContact
{
  int normal = -1;  ///< its row; −1: the bound is constant
  int tangent_count = 0;
  int tangent[2] = {-1, -1};
  double friction = 0.0;  ///< μ, or the bound where there is no normal row
  bool sliding = false;   ///< x_t = −μ x_n direction, whatever w_t
  double direction[2] = {0.0, 0.0};
};

/// Simultaneous contacts with Coulomb friction on the Delassus matrix: with Q = L Lᵀ, y_i = L⁻¹ a_i
/// (with the equality rows eliminated) and W = YᵀY,
///     w = W x + r,   0 ≤ x_n ⟂ w_n ≥ 0,   |x_t| ≤ μ x_n,   x_t = −μ x_n w_t/|w_t| where w_t ≠ 0.
/// The same problem appears with velocities and impulses and with accelerations and forces.
///
/// Without friction it is a convex quadratic program, solved by an active set in finitely many
/// steps, redundant rows included. With friction: projected Gauss-Seidel over the contacts, with a
/// bounded number of sweeps, from the solution without friction, and a regularised Newton's method
/// on the equations of Alart and Curnier (cone_newton.cpp) where the sweeps are slow, as they are
/// with redundant contacts. The result determines which contacts push, stick and slide; exact
/// values come from the equations of those modes.
///
/// Only the constructor allocates. Everything else is real-time safe.
class CONSTRAINED_DYNAMICS_EXPORT ConeProblem
{
public:
  /// @param speed_count n. @param max_rows largest number of contact rows, without equality rows.
  ConeProblem(int speed_count, int max_rows);

  /// Starts a problem whose motion without rows is u + Q⁻¹ f. kSingularInertia unless Q > 0.
  [[nodiscard]] Status begin(
    const ConstMatrixRef & mass_matrix, const ConstVectorRef & speeds,
    const ConstVectorRef & force) noexcept CD_NONBLOCKING;
  /// a u = target, before the first row of a contact. Redundant rows are left out.
  /// @param size ‖a‖ as it could be (Constraint::row_sizes): a row that is round-off of it says
  /// nothing. 0: as it is.
  void add_equality(const ConstVectorRef & row, double target, double size = 0.0) noexcept
    CD_NONBLOCKING;
  /// w = a u − target. Returns the index of the row. @pre fewer than max_rows so far.
  int add_row(const ConstVectorRef & row, double target, double size = 0.0) noexcept CD_NONBLOCKING;

  /// Finds x. Statuses: kOk, with a residual below tolerance::kSolved of the largest force;
  /// kInconsistent if not all w_n ≥ 0 can be satisfied (x is the nearest found); kNotConverged (x
  /// is the last that was found); kNoUniqueSolution for a sliding
  /// contact whose normal force does not push apart (Painlevé; x is 0).
  [[nodiscard]] Status solve(const ConeContact * contacts, int count) noexcept CD_NONBLOCKING;
  /// The same where forces `near` (of all rows) are a good guess, as those of the last step are:
  /// first the solution in which contacts with `holds` push and stick and the others have no force;
  /// then Newton's method from the guess.
  [[nodiscard]] Status solve_near(
    const ConeContact * contacts, int count, const char * holds,
    const Eigen::VectorXd & near) noexcept CD_NONBLOCKING;
  /// Changes the target of a row that was added, w ← w − change.
  void move_target(int row, double change) noexcept { r_(row) -= change; }
  /// Speeds u with the forces of the last `solve`, or without rows of contacts before the first.
  void speeds(VectorRef out) const noexcept CD_NONBLOCKING;
  /// Smallest change of speeds in the norm of Q with a δ ≥ lengths for chosen rows, redundant ones
  /// approximately. False, and `out` untouched, where it is not found.
  bool smallest_change(const int * rows, const double * lengths, int count, VectorRef out) noexcept
    CD_NONBLOCKING;

  double force(int row) const { return x_(row); }        ///< x
  double motion(int row) const { return w_(row); }       ///< w
  double free_motion(int row) const { return r_(row); }  ///< r
  double size(int row) const { return scale_(row); }     ///< possible size of w, for tolerances
  int row_count() const { return row_count_; }
  /// Effort of the last `solve`: sweeps over the contacts, and steps of Newton's method.
  int sweep_count() const { return sweep_count_; }
  int newton_count() const { return newton_count_; }
  /// Residual of the equations for x, in forces, as a fraction of the largest force.
  double error() const { return error_; }

private:
  // cone_normals.cpp
  bool solve_normals(const ConeContact * contacts, int count) noexcept;
  int most_violated() const noexcept;
  enum class Room : char
  {
    kMade,
    kNone,
    kFailed,
  };
  Room make_room(int next) noexcept;
  bool meet_active() noexcept;
  double orthogonalise(int count, VectorRef coefficients) noexcept;
  bool factor_active() noexcept;
  void remove_active(int position) noexcept;
  double rounding_size(int row) const noexcept;
  void update_motion() noexcept;
  Status sweep(const ConeContact & contact, double relaxation, double & change) noexcept;
  void sweep_tangents(const ConeContact & contact, double limit) noexcept;
  double motion_now(int row) const noexcept;
  // cone_problem.cpp and cone_newton.cpp
  Status solve_friction(const ConeContact * contacts, int count) noexcept;
  void put_in_cone(const ConeContact & contact) noexcept;
  double relative_to_forces(double error) const noexcept;
  bool is_solved(double error) const noexcept;
  double equations(const ConeContact * contacts, int count, bool with_jacobian) noexcept;
  void tangent_equations(
    const ConeContact & contact, double push, double normal_gain, bool with_jacobian) noexcept;
  bool newton_step(double relative) noexcept;
  double newton(const ConeContact * contacts, int count) noexcept;
  bool follow(const ConeContact * contacts, int count, double factor) noexcept;
  bool follow_friction(const ConeContact * contacts, int count, int steps) noexcept;
  bool attempt(const ConeContact * contacts, int count, int number) noexcept;
  bool refine(const ConeContact * contacts, int count) noexcept;
  // cone_start.cpp
  bool factor_chosen(double least, double shift) noexcept;
  bool solve_holding(const ConeContact * contacts, int count, const char * holds) noexcept;

  enum RowState : char
  {
    kFree,
    kActive,
    kImpossible,
    kNotNormal,
  };

  Eigen::MatrixXd cholesky_;  // L of Q
  Eigen::MatrixXd basis_;     // orthonormal columns of the rows of equality
  Eigen::VectorXd motion_;    // Lᵀ u of the motion with the rows of equality
  Eigen::VectorXd column_;
  Eigen::MatrixXd columns_;        // Y
  Eigen::MatrixXd delassus_;       // W
  Eigen::MatrixXd active_matrix_;  // Cholesky factor of the active block of W
  Eigen::MatrixXd active_basis_;   // orthonormal columns of the active rows
  Eigen::VectorXd work_;
  Eigen::VectorXd trial_;
  Eigen::MatrixXd newton_jacobian_;
  Eigen::MatrixXd newton_matrix_;
  Eigen::VectorXd residual_;
  Eigen::VectorXd newton_step_;
  Eigen::VectorXd start_;
  Eigen::VectorXd kept_;
  Eigen::VectorXd followed_;
  Eigen::VectorXd diagonal_;
  double friction_scale_ = 1.0;
  double error_ = 0.0;
  Eigen::VectorXd r_;
  Eigen::VectorXd x_;
  Eigen::VectorXd w_;
  Eigen::VectorXd scale_;
  Eigen::VectorXd raw_size_;  // ‖L⁻¹ a‖, with the part that the rows of equality take
  std::vector<int> active_;
  std::vector<char> state_;  // RowState of each row
  int sweep_count_ = 0;
  int newton_count_ = 0;
  int active_count_ = 0;
  int basis_count_ = 0;
  int row_count_ = 0;
};

}  // namespace constrained_dynamics
