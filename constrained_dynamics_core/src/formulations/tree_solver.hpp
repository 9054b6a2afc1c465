// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "constrained_dynamics/constraints/frame_constraint.hpp"
#include "constrained_dynamics/formulations/solution.hpp"
#include "formulations/tree_algebra.hpp"
#include "formulations/tree_pattern.hpp"
#include "model/kinematic_tree.hpp"

namespace constrained_dynamics
{

/// Input of one solve of a TreeSolver; all rows are in the order of the set.
struct TreeProblem
{
  const SystemData & system_data;
  const Eigen::VectorXd & inputs;
  const Eigen::MatrixXd & jacobian;  ///< A, for `measure` alone
  const Eigen::VectorXd & bias;      ///< b with stabilisation
  const std::vector<bool> & active;
  const Eigen::VectorXd & row_scale;
  const Eigen::VectorXd & multiplier_compliance;  ///< 1/weight² of the split over redundant rows
  int nominal_rank;
};

/// Scratch of one thread.
struct TreeSolverData
{
  /// Articulated inertia [M H; Hᵀ J] and bias force (f, n) of a body about its origin, before and
  /// after its joint is eliminated, and its acceleration (linear, angular) due to u̇ alone.
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
    // Upper bounds of the contributions of the joints up to here: the reference for round-off.
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
  Eigen::Matrix<double, Eigen::Dynamic, 6> carry;   // Kᵀ, one row per place that is not a hinge
  Eigen::Matrix<double, Eigen::Dynamic, 6> effect;  // sᵀ, one row per place
  Eigen::Matrix<double, Eigen::Dynamic, 6> share;   // (D⁻¹ s)ᵀ, one row per place
  Eigen::MatrixXd factor;                           // L, lower triangle
  Eigen::VectorXd diagonal;                         // of L before elimination
  Eigen::VectorXd nominal;                          // largest diagonal that measure saw
  bool is_measured = false;
  Eigen::VectorXd inverse_pivot;  // 0 for dropped rows
  Eigen::VectorXd left;           // b − d
  Eigen::VectorXd multipliers;    // in the order of elimination
  Eigen::VectorXd joint_force;    // τ of all speeds
  Eigen::VectorXd acceleration;
  Eigen::VectorXd column;
  std::vector<int> dropped;  // redundant rows of this solve
  int dropped_count = 0;
  bool drops_real_rows = false;  // and not only rows that are identically 0
  Eigen::MatrixXd null_space;    // one column per dropped row
  Eigen::MatrixXd gram;
  Eigen::MatrixXd gram_scaled;
  Eigen::VectorXd gram_right;
};

/// Constrained motion of a tree of bodies by one articulated-body recursion that carries the rows.
/// The cost is linear in the number of bodies if loops are local; neither Q nor A is formed.
///
/// Everything is in axes of the world, about the origin of each body. With the accelerations δ_i
/// that u̇ alone gives to body i, δ_i = X_i δ_parent + S_i u̇_i, and multipliers λ_k,
///     I_i δ_i + p_i = Σ_k K_ik λ_k + (forces of the joints),    row k: Σ_i K_ikᵀ δ_i = b_k.
/// From the tips to the root, with U = I S, D = Sᵀ U, s_k = Sᵀ K_k + (entry of A at the joint):
///     (E21) I ← I − U D⁻¹ Uᵀ,  p ← p + U D⁻¹ (τ − Sᵀ p),  K_k ← K_k − U D⁻¹ s_k,
///           L_kj ← L_kj + s_kᵀ D⁻¹ s_j,  d_k ← d_k + s_kᵀ D⁻¹ (τ − Sᵀ p),
/// all passed to the parent. Row k is eliminated at the body above all joints that it involves:
///     (E22) K_k δ + Σ_j L_kj λ_j = b_k − d_k   ⇒   I ← I + K L⁻¹ Kᵀ,  p ← p − K L⁻¹ (b − d),
/// by a sparse LDLᵀ whose pattern is found once. From the root to the tips u̇ and λ follow.
///
/// A hinge is a simple joint between the world and a body on which no row is eliminated. Its body
/// has only the motion δ = S u̇, so that only D, Sᵀ p and s are formed instead of I, p and K; its
/// children pass their contributions along S.
///
/// Redundant rows have pivot 0 and are dropped; forces are then distributed with minimum weighted
/// norm. A repeated constraint is detected before and costs almost nothing. The solver declines
/// problems that are not clearly regular, so that its results need no further check.
///
/// Constant after building; may be shared by threads.
class TreeSolver : private TreePattern
{
public:
  /// Null if the system is not a RigidBodySystem.
  static std::shared_ptr<const TreeSolver> make(const ConstraintSet & constraints);

  std::unique_ptr<TreeSolverData> make_data() const;

  /// φ, φ̇ and b of all rows at the last System::update_kinematics into `rows`, whose A is left
  /// alone. Statuses: those of Constraint::evaluate. Real-time safe: yes.
  [[nodiscard]] Status evaluate(
    const SystemData & system_data, ConstraintScratch & scratch, Rows & rows,
    TreeSolverData & data) const noexcept CD_NONBLOCKING;

  /// Records the norms of all rows in the metric of Q⁻¹, active or not, at a state where they are
  /// regular and A is evaluated. `solve` declines until this has been called. Real-time safe: yes.
  void measure(const TreeProblem & problem, TreeSolverData & data) const noexcept CD_NONBLOCKING;

  /// Computes accelerations and forces. Returns false and leaves `solution` untouched if the rows
  /// or the inertia are not clearly regular or the rows contradict each other; another formulation
  /// must then decide.
  /// Real-time safe: yes.
  [[nodiscard]] bool solve(
    const TreeProblem & problem, ConstraintScratch & scratch, TreeSolverData & data,
    Solution & solution) const noexcept CD_NONBLOCKING;

private:
  TreeSolver(const ConstraintSet & constraints, const KinematicTree & tree);

  struct Screw
  {
    Eigen::Vector3d linear, angular;

    double power(const Eigen::Vector3d & force, const Eigen::Vector3d & torque) const noexcept
    {
      return linear.dot(force) + angular.dot(torque);
    }
  };
  /// Residuals of the rows, relative to their terms.
  struct Misses
  {
    double missed = 0.0;
    double size = 0.0;

    void add(double scale, double bias, double got, double terms) noexcept
    {
      const double miss = scale * (got - bias);
      const double own = scale * (std::abs(bias) + terms);
      missed += miss * miss;
      size += own * own;
    }
    double relative() const noexcept { return size > 0.0 ? std::sqrt(missed / size) : 0.0; }
  };

  /// Motion that unit speed of a simple joint gives to the point at `r` from its body's origin.
  Screw screw(
    std::size_t body, const TreeData & tree_data, const Eigen::Vector3d & r) const noexcept
  {
    const Eigen::Vector3d z = tree_data.motions[body].rotation.col(2);
    if (tree_.bodies[body].kind == JointKind::kRevolute)
    {
      return {z.cross(r), z};
    }
    return {z, Eigen::Vector3d::Zero()};
  }

  // tree_loading.hpp: bodies and rows before the recursion
  /// @param all whether inactive rows are carried as well.
  void load(const TreeProblem & problem, bool all, TreeSolverData & data) const noexcept;
  void begin(const TreeProblem & problem, TreeSolverData & data) const noexcept;
  void find_copies(const TreeProblem & problem, TreeSolverData & data) const noexcept;
  void share_among_copies(
    const TreeProblem & problem, Solution & solution, TreeSolverData & data) const noexcept;
  void load_rows(const TreeProblem & problem, TreeSolverData & data) const noexcept;

  // tree_reduction.hpp: from the tips to the root (E21, E22)
  bool reduce(const TreeProblem & problem, bool strict, TreeSolverData & data) const noexcept;
  bool eliminate(int first, int last, int body, bool strict, TreeSolverData & data) const noexcept;
  void couple(std::size_t body, int speeds, TreeSolverData & data) const noexcept;
  bool reduce_hinge(std::size_t i, TreeSolverData & data) const noexcept;
  bool reduce_simple(
    std::size_t i, const TreeData & tree_data, TreeSolverData & data) const noexcept;
  void pass_simple(
    const Run & rows, bool turns, const Eigen::Vector3d & z, double inverse, double free, int u,
    TreeSolverData & data) const noexcept;
  void hand_to_hinge(
    const Run & rows, const Screw & S, double U_S, TreeSolverData & data) const noexcept;
  void hand_up(
    const Run & rows, const TreeSolverData::Body & b, const Eigen::Vector3d & r,
    TreeSolverData & data) const noexcept;
  bool reduce_joint(
    std::size_t i, const TreeData & tree_data, TreeSolverData & data) const noexcept;
  void pass_joint(
    const Run & rows, const TreeBody & body, const TreeSolverData::Joint & joint,
    const Eigen::Matrix<double, 6, 1> & wanted, const Eigen::Matrix<double, 6, 1> * hinge,
    const Eigen::Vector3d & r, TreeSolverData & data) const noexcept;

  // tree_motion.hpp: from the root to the tips, and what the motion says
  /// Accelerations and multipliers; false if they do not satisfy the rows.
  bool find_motion(
    const TreeProblem & problem, TreeSolverData & data, double & inconsistency) const noexcept;
  void move(const TreeData & tree_data, TreeSolverData & data) const noexcept;
  void move_simple(std::size_t i, const BodyMotion & m, TreeSolverData & data) const noexcept;
  void move_joint(std::size_t i, TreeSolverData & data) const noexcept;
  void substitute(int first, int last, int body, TreeSolverData & data) const noexcept;
  bool judge(
    const TreeProblem & problem, TreeSolverData & data, double & inconsistency) const noexcept;
  void judge_dense(
    const TreeProblem & problem, const TreeSolverData & data, Misses & misses) const noexcept;
  void forces(
    const TreeProblem & problem, ConstraintScratch & scratch, TreeSolverData & data,
    Solution & solution) const noexcept;
  void add_frame_forces(
    const TreeData & tree_data, TreeSolverData & data, Solution & solution) const noexcept;
  void add_dense_forces(
    const TreeProblem & problem, ConstraintScratch & scratch, const TreeSolverData & data,
    Solution & solution) const noexcept;

  bool split(TreeSolverData & data) const noexcept;
};

}  // namespace constrained_dynamics
