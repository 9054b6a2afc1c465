// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/constraints/frame_constraint.hpp"
#include "constrained_dynamics/formulations/solution.hpp"
#include "model/kinematic_tree.hpp"

namespace constrained_dynamics
{

/// What one solve of a TreeSolver needs besides the rows; all rows in the order of the set.
struct TreeProblem
{
  const SystemData & system_data;
  const Eigen::VectorXd & inputs;
  const Eigen::MatrixXd & jacobian;  ///< A, for `measure` alone
  const Eigen::VectorXd & bias;  ///< b with stabilisation
  const std::vector<bool> & active;
  const Eigen::VectorXd & row_scale;
  const Eigen::VectorXd & multiplier_compliance;  ///< 1/weight² of the split over redundant rows
  int nominal_rank;
};

/// A symmetric matrix of size 3 by its six elements xx yy zz yx zx zy.
struct Symmetric3
{
  double xx, yy, zz, yx, zx, zy;

  Eigen::Vector3d operator*(const Eigen::Vector3d & v) const noexcept
  {
    return {
      xx * v(0) + yx * v(1) + zx * v(2), yx * v(0) + yy * v(1) + zy * v(2),
      zx * v(0) + zy * v(1) + zz * v(2)};
  }
  /// Adds u wᵀ, where w is a multiple of u.
  void add_square(const Eigen::Vector3d & u, const Eigen::Vector3d & w) noexcept
  {
    xx += u(0) * w(0);
    yy += u(1) * w(1);
    zz += u(2) * w(2);
    yx += u(1) * w(0);
    zx += u(2) * w(0);
    zy += u(2) * w(1);
  }
  void add(const Symmetric3 & other) noexcept
  {
    xx += other.xx;
    yy += other.yy;
    zz += other.zz;
    yx += other.yx;
    zx += other.zx;
    zy += other.zy;
  }
  double trace() const noexcept { return xx + yy + zz; }
  Eigen::Matrix3d full() const noexcept
  {
    Eigen::Matrix3d matrix;
    matrix << xx, yx, zx, yx, yy, zy, zx, zy, zz;
    return matrix;
  }
};

/// Scratch of one thread.
struct TreeSolverData
{
  /// Articulated inertia [M H; Hᵀ J] and bias force (f, n) of a body about its origin, what its
  /// joint leaves of them, and its acceleration (linear, angular) by u̇ alone.
  struct Body
  {
    Symmetric3 M, J;
    Eigen::Matrix3d H;
    Eigen::Vector3d f, n;
    Eigen::Vector3d U_f, U_n;
    double inverse_D = 0.0;
    double joint_force = 0.0;
    double D = 0.0;      // of a hinge: its inertia
    double scale = 0.0;  // and the size that its rounding is relative to
    Eigen::Vector3d linear, angular;
    // What the joints up to here add to these at most: the size that rounding is relative to.
    double linear_reach = 0.0;
    double angular_reach = 0.0;
  };
  /// The same of a joint with several degrees of freedom: S, U = I S, the Cholesky root of
  /// D = Sᵀ U and D⁻¹ (τ − Sᵀ p).
  struct Joint
  {
    Eigen::Matrix<double, 6, 6> S, U, D;
    Eigen::Matrix<double, 6, 1> free;
  };

  std::vector<Body> bodies;
  std::vector<Joint> joints;  // of several degrees of freedom
  FrameWork work;
  std::vector<FrameRowForces> forces;
  Eigen::MatrixXd dense_jacobian;  // A of rows that are not between frames, in the order of the set
  std::vector<int> part;  // of each constraint: itself, the one it copies, or −1: switched off
  bool has_copies = false;
  Eigen::VectorXd compliance;                       // Σ 1/weight² over a row and its copies
  Eigen::VectorXd strength;                         // Σ scale², likewise
  Eigen::Matrix<double, Eigen::Dynamic, 6> carry;   // Kᵀ, a row a place that is no hinge's
  Eigen::Matrix<double, Eigen::Dynamic, 6> effect;  // sᵀ, a row a place
  Eigen::Matrix<double, Eigen::Dynamic, 6> share;   // (D⁻¹ s)ᵀ, a row a place
  Eigen::MatrixXd factor;                           // L, lower triangle
  Eigen::VectorXd diagonal;                         // of L before elimination
  Eigen::VectorXd nominal;                          // largest diagonal that measure saw
  bool is_measured = false;
  Eigen::VectorXd inverse_pivot;  // 0 for rows that are out
  Eigen::VectorXd left;           // b − d
  Eigen::VectorXd multipliers;    // in the order of elimination
  Eigen::VectorXd joint_force;    // τ of all speeds
  Eigen::VectorXd acceleration;
  Eigen::VectorXd column;
  std::vector<int> dropped;  // redundant rows of this solve
  int dropped_count = 0;
  bool drops_real_rows = false;  // and not only rows that say nothing
  Eigen::MatrixXd null_space;    // a column a dropped row
  Eigen::MatrixXd gram;
  Eigen::MatrixXd gram_scaled;
  Eigen::VectorXd gram_right;
};

/// Constrained motion of a tree of bodies by one articulated-body recursion that carries the rows:
/// cost linear in the number of bodies where loops are local, without Q or A.
///
/// Everything is in axes of the world, about the origin of each body. With the accelerations δ_i
/// that u̇ alone gives to body i, δ_i = X_i δ_parent + S_i u̇_i, and multipliers λ_k,
///     I_i δ_i + p_i = Σ_k K_ik λ_k + (forces of the joints),    row k: Σ_i K_ikᵀ δ_i = b_k.
/// From the tips to the root, with U = I S, D = Sᵀ U, s_k = Sᵀ K_k + (entry of A at the joint):
///     (E21) I ← I − U D⁻¹ Uᵀ,  p ← p + U D⁻¹ (τ − Sᵀ p),  K_k ← K_k − U D⁻¹ s_k,
///           L_kj ← L_kj + s_kᵀ D⁻¹ s_j,  d_k ← d_k + s_kᵀ D⁻¹ (τ − Sᵀ p),
/// all handed to the parent. On the body above all joints that row k touches nothing below depends
/// on it any more, and it is eliminated there:
///     (E22) K_k δ + Σ_j L_kj λ_j = b_k − d_k   ⇒   I ← I + K L⁻¹ Kᵀ,  p ← p − K L⁻¹ (b − d),
/// by a sparse LDLᵀ whose pattern is found once. From the root to the tips u̇ and λ follow.
///
/// A hinge is a simple joint between the world and a body on which no row is eliminated. Its body
/// moves in one way alone, δ = S u̇, so that of I, p and K only D, Sᵀ p and s are ever formed there;
/// what hangs on it hands these over as seen along S.
///
/// Rows that are redundant have pivot 0 and are left out; forces are then split by the least
/// weighted norm. A constraint that is given again is found before and costs next to nothing. The
/// solver declines whatever is not clearly regular, so that its answers need no further judgement.
///
/// Constant after building; may be shared by threads.
class TreeSolver
{
public:
  /// None where the system is no RigidBodySystem.
  static std::shared_ptr<const TreeSolver> make(const ConstraintSet & constraints);

  std::unique_ptr<TreeSolverData> make_data() const;

  /// φ, φ̇ and b of all rows at the last System::update_kinematics into `rows`, whose A is left
  /// alone. Statuses: those of Constraint::evaluate. Real-time safe: yes.
  [[nodiscard]] Status evaluate(
    const SystemData & system_data, ConstraintScratch & scratch, Rows & rows,
    TreeSolverData & data) const noexcept CD_NONBLOCKING;

  /// Notes what the rows weigh in the metric of Q⁻¹, switched on or not, at a state where they are
  /// regular and A is there; `solve` declines before this was called. Real-time safe: yes.
  void measure(const TreeProblem & problem, TreeSolverData & data) const noexcept CD_NONBLOCKING;

  /// Accelerations and forces. False, with `solution` untouched, where the rows or the inertia are
  /// not clearly regular or contradict each other: then another form must judge.
  /// Real-time safe: yes.
  [[nodiscard]] bool solve(
    const TreeProblem & problem, ConstraintScratch & scratch, TreeSolverData & data,
    Solution & solution) const noexcept CD_NONBLOCKING;

private:
  explicit TreeSolver(const ConstraintSet & constraints, const KinematicTree & tree);

  /// The rows of a constraint that passes a joint: places, positions in the order of elimination,
  /// and places at the parent are consecutive.
  struct Run
  {
    int constraint;
    int place;
    int count;
    int position;
    int target;     // at the parent; −1: the world
    int dense_row;  // of the set, where rows have entries of A instead of forces; −1: none
  };
  /// A row below the pivot, and its place on the body where the pivot is eliminated (−1: world).
  struct Below
  {
    int position;
    int place;
  };
  struct Screw
  {
    Eigen::Vector3d linear, angular;

    double power(const Eigen::Vector3d & force, const Eigen::Vector3d & torque) const noexcept
    {
      return linear.dot(force) + angular.dot(torque);
    }
  };
  struct FrameTerms
  {
    int constraint;
    const FrameConstraint * frames;
    int body_a;
    int body_b;
    std::vector<int> places_a;  // of each row; −1 where the body is the world
    std::vector<int> places_b;
    std::vector<int> twins;  // earlier ones between the same bodies with as many rows
  };

  void order_rows(const std::vector<int> & top, const std::vector<std::vector<int>> & paths);
  void find_places(const std::vector<int> & top, const std::vector<std::vector<int>> & paths);

  /// Motion that unit speed of a simple joint gives to the point at `r` from its body's origin.
  Screw screw(
    std::size_t body, const TreeData & tree_data, const Eigen::Vector3d & r) const noexcept;
  void begin(const TreeProblem & problem, TreeSolverData & data) const noexcept;
  void find_copies(const TreeProblem & problem, TreeSolverData & data) const noexcept;
  void share_among_copies(
    const TreeProblem & problem, Solution & solution, TreeSolverData & data) const noexcept;
  void load_rows(const TreeProblem & problem, TreeSolverData & data) const noexcept;
  void couple(std::size_t body, int speeds, TreeSolverData & data) const noexcept;
  bool reduce_hinge(std::size_t i, TreeSolverData & data) const noexcept;
  bool reduce_simple(
    std::size_t i, const TreeData & tree_data, TreeSolverData & data) const noexcept;
  bool reduce_joint(
    std::size_t i, const TreeData & tree_data, TreeSolverData & data) const noexcept;
  bool reduce(const TreeProblem & problem, bool strict, TreeSolverData & data) const noexcept;
  bool eliminate(int first, int last, int body, bool strict, TreeSolverData & data) const noexcept;
  void substitute(int first, int last, int body, TreeSolverData & data) const noexcept;
  void move(const TreeData & tree_data, TreeSolverData & data) const noexcept;
  bool split(TreeSolverData & data) const noexcept;
  bool judge(
    const TreeProblem & problem, TreeSolverData & data, double & inconsistency) const noexcept;
  void forces(
    const TreeProblem & problem, ConstraintScratch & scratch, TreeSolverData & data,
    Solution & solution) const noexcept;

  ConstraintSet set_;  // keeps system and constraints alive
  const KinematicTree & tree_;
  std::vector<FrameTerms> frame_terms_;
  std::vector<int> dense_constraints_;
  std::vector<int> row_at_;         // row of the set at a position
  std::vector<int> position_of_;    // and the other way round
  std::vector<int> constraint_at_;  // constraint at a position
  std::vector<int> joint_of_body_;  // place in TreeSolverData::joints, −1: simple
  int joint_count_ = 0;
  std::vector<char> is_hinge_;  // of each body
  std::vector<Run> runs_;
  std::vector<int> run_begin_;          // of each body; its end is the next one's begin
  std::vector<int> elimination_begin_;  // positions eliminated on a body; [0] is the world's
  std::vector<int> elimination_end_;
  std::vector<int> elimination_place_;  // of each position; −1: the world
  std::vector<std::vector<Below>> below_;
  int hinge_place_count_ = 0;  // places on hinges, which come first
  int passing_count_ = 0;      // on all joints
  int place_count_ = 0;        // and where rows are eliminated
};

}  // namespace constrained_dynamics
