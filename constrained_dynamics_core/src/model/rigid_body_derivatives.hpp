// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/types.hpp"
#include "model/kinematic_tree.hpp"
#include "model/spatial_algebra.hpp"

/// @file
/// Analytic derivatives of a tree of rigid bodies (E19), in spatial vectors of the world about its
/// origin: motions (v; ω), forces (f; n). Pinocchio's computeRNEADerivatives would serve the
/// inverse dynamics alone, with scratch memory that grows with n³; the frames need the same
/// subspaces.

namespace constrained_dynamics
{

/// How rows between a frame A and a frame B depend on the motion of A in B, expressed in B, at one
/// state: position p of the origin of A, orientation R, their rates v and ω, and v̇ and ω̇ with u̇.
/// Changes of these are numbered
///     0–2 δp, 3–5 δθ (R turns by δθ, about axes of B), 6–8 δv, 9–11 δω, 12–14 δv̇, 15–17 δω̇.
struct FramePairRows
{
  static constexpr int kMaximum = 6;  ///< rows

  int frame_a = 0;
  int frame_b = 0;
  int count = 0;                                                   ///< of rows
  Eigen::Matrix3d rotation_b = Eigen::Matrix3d::Identity();        ///< R_WB
  Eigen::Vector3d position_b = Eigen::Vector3d::Zero();            ///< p_WB [m]
  Eigen::Vector3d position = Eigen::Vector3d::Zero();              ///< p [m]
  Eigen::Vector3d velocity = Eigen::Vector3d::Zero();              ///< v [m/s]
  Eigen::Vector3d angular_velocity = Eigen::Vector3d::Zero();      ///< ω [rad/s]
  Eigen::Vector3d angular_acceleration = Eigen::Vector3d::Zero();  ///< ω̇ [rad/s²]
  Eigen::Matrix<double, kMaximum, 18> residual;       ///< derivatives of φ̈ or ψ̇ (count × 18)
  Eigen::Matrix<double, kMaximum, 12> velocity_rows;  ///< derivatives of φ̇ or ψ (count × 12)
  /// Σ λ (c_v; c_ω): the force on A, and the torque about the origin of A, in axes of B.
  Eigen::Matrix<double, 6, 1> wrench;
  Eigen::Matrix<double, 6, 12> wrench_change;  ///< derivatives of `wrench`, λ constant
  bool has_constant_wrench = false;            ///< `wrench_change` is zero
};

/// A tree at one state with given accelerations, and its derivatives. All joints have subspaces
/// that are constant in the frame of the body they move. Only the constructor allocates.
class TreeDerivatives
{
public:
  TreeDerivatives(std::size_t body_count, Eigen::Index speed_count);

  /// The tree at the state in `data`, with accelerations u̇. Both must outlive the use of this
  /// object at that state.
  void update(
    const KinematicTree & tree, const TreeData & data,
    const ConstVectorRef & acceleration) noexcept CD_NONBLOCKING;

  /// Derivatives of the inverse dynamics (n × n each) along the speeds' directions and by u, zero
  /// before. Also finds mass_matrix().
  void inverse_dynamics(MatrixRef by_q, MatrixRef by_u) noexcept CD_NONBLOCKING;
  /// Q (n × n) at the state of the last inverse_dynamics.
  const Eigen::MatrixXd & mass_matrix() const noexcept { return mass_matrix_; }

  /// Derivatives of a frame of the tree.
  void frame(int frame, FrameDerivatives & out) const noexcept CD_NONBLOCKING;
  /// Its complete acceleration.
  void frame_acceleration(
    int frame, Eigen::Vector3d & linear, Eigen::Vector3d & angular) const noexcept CD_NONBLOCKING;

  /// Derivatives of rows between two frames (E19a): writes those of φ̈ or ψ̇ and of φ̇ or ψ
  /// (count × n each, zero before), and adds those of Aᵀ λ (n × n), λ constant. Only columns of
  /// speeds that move the frames relative to each other are touched.
  void frame_pair(
    const FramePairRows & rows, MatrixRef residual_q, MatrixRef residual_u, MatrixRef velocity_q,
    MatrixRef force_q, MatrixRef force_u) const noexcept CD_NONBLOCKING;

  /// Adds the derivatives of Jᵀ (force; torque), both constant in the world, of such a frame.
  void add_frame_force(
    int frame, const Eigen::Vector3d & force, const Eigen::Vector3d & torque,
    MatrixRef out) const noexcept CD_NONBLOCKING;

private:
  /// What a joint carries, about the world's origin: I, B and f of (E19).
  struct Carried
  {
    double mass;
    Eigen::Vector3d moment;  // mass · centre of mass
    Eigen::Matrix3d inertia;
    Eigen::Vector3d momentum;  // linear
    Eigen::Matrix3d bias;      // the part of B that maps angular velocities to torques
    Vector6 force;
  };
  /// Of one speed.
  struct Column
  {
    Vector6 subspace;  // S
    Vector6 first;     // Ψ̇
    Vector6 second;    // Ψ̈
    Vector6 speed;     // Ṡ + Ψ̇
  };
  /// A speed that moves frame A relative to frame B.
  struct PathColumn
  {
    Eigen::Index speed;
    int body;
    bool on_b;
    Vector6 subspace;  // S, or −S on the side of B
    Vector6 turned;    // S ×* Ω of the wrench on A
    Vector6 by_q;      // change of Ω
    Vector6 by_u;
  };

  Vector6 velocity_of(int body) const noexcept;
  Vector6 acceleration_of(int body) const noexcept;
  Eigen::Vector3d position_of(const TreeFramePlace & frame) const noexcept;
  int parent_of(int body) const noexcept;
  void load(std::size_t body) noexcept;
  void fill_joint(std::size_t body, MatrixRef by_q, MatrixRef by_u) noexcept;
  std::size_t find_path(int body_a, int body_b) const noexcept;

  const KinematicTree * tree_ = nullptr;
  const TreeData * data_ = nullptr;
  std::vector<Column> columns_;
  std::vector<Vector6> velocity_;      // V
  std::vector<Vector6> acceleration_;  // spatial, gravity left out
  std::vector<Carried> carried_;
  Matrix6X subspace_;
  Eigen::MatrixXd mass_matrix_;
  mutable std::vector<PathColumn> path_;  // scratch of frame_pair
};

/// The derivatives of the last System::differentiate, of a robot or of one whose controls are
/// states; null for other systems. Real-time safe: yes.
const TreeDerivatives * tree_derivatives(const System & system, const SystemData & data) noexcept
  CD_NONBLOCKING;

/// The kinematic part of SystemDerivatives: q̇ = C u, q̈ and the transport of every joint. `out`
/// has its sizes, zeros, and u̇.
void differentiate_joints(
  const KinematicTree & tree, const SystemTerms & terms,
  SystemDerivatives & out) noexcept CD_NONBLOCKING;

/// Adds the derivatives of Cᵀ y, y kept.
void add_joint_force_derivatives(
  const KinematicTree & tree, const SystemTerms & terms, const ConstVectorRef & y,
  MatrixRef out) noexcept CD_NONBLOCKING;

}  // namespace constrained_dynamics
