// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/formula/dual_eigen.hpp"
#include "constrained_dynamics/model/relative_motion.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// One row in terms of the relative motion. The derivative of φ̇ (or ψ) with respect to the speeds
/// is linear · ∂v/∂u + angular · ∂ω/∂u.
template <class S>
struct FrameRowOf
{
  using Vector3 = Eigen::Matrix<S, 3, 1>;

  S position;       ///< φ; 0 for velocity rows
  S velocity;       ///< φ̇ or ψ
  Vector3 linear;   ///< c_v, expressed in B
  Vector3 angular;  ///< c_ω, expressed in B
  S bias;           ///< b = −(φ̈ or ψ̇ at u̇ = 0)
};
using FrameRow = FrameRowOf<double>;

/// The rows of a FrameConstraint. The first row_count() elements of `row` are used and are zero
/// when do_frame_rows is called.
template <class S>
struct FrameRowsOf
{
  static constexpr int kMaximum = 6;
  std::array<FrameRowOf<S>, kMaximum> row;
  /// Point about which the wrenches are reported, in B [m]. Preset to the origin of A.
  Eigen::Matrix<S, 3, 1> wrench_point = Eigen::Matrix<S, 3, 1>::Zero();

  /// Sets the first `count` rows to zero.
  void clear(int count) noexcept
  {
    const Eigen::Matrix<S, 3, 1> zero = Eigen::Matrix<S, 3, 1>::Zero();
    for (int i = 0; i < count; ++i)
    {
      row[static_cast<std::size_t>(i)] = {S(0.0), S(0.0), zero, zero, S(0.0)};
    }
  }
};
using FrameRows = FrameRowsOf<double>;

/// The wrench that a unit multiplier of each row exerts on body A, about the origin of A and in
/// world axes. Body B receives the opposite wrench about the same point. The wrenches define the
/// rows:
///     A u̇ = force · a_A + torque · α_A − force · a_B(origin of A) − torque · α_B
/// with the accelerations that u̇ alone causes at the origin of A and at that point of body B.
struct FrameRowForces
{
  Eigen::Vector3d point = Eigen::Vector3d::Zero();         ///< origin of A [m]
  Eigen::Vector3d wrench_point = Eigen::Vector3d::Zero();  ///< where wrenches are reported [m]
  std::array<Eigen::Vector3d, FrameRows::kMaximum> force;
  std::array<Eigen::Vector3d, FrameRows::kMaximum> torque;
};

/// Motions from which the rows of one FrameConstraint are found, and the rows. The caller of
/// FrameConstraint::evaluate_forces keeps one, so that it is not initialised in every call.
struct FrameWork
{
  FrameKinematics a;
  FrameKinematics b;
  RelativeMotion motion;
  FrameRows rows;
};

class JointCoordinates;

/// Base of all constraints between frame A and frame B (which may be "world"). A derived class
/// gives its rows in terms of the relative motion; this class derives Jacobians and wrenches.
///
/// Rows. Let f = R_B c_v and g = R_B c_ω. From v and ω of RelativeMotion,
///     c_v · v + c_ω · ω = [f; g] · [v_A; ω_A] − [f; g + d × f] · [v_B; ω_B],
/// so that with the 6 × n frame Jacobians J_A and J_B a row of (E3) is
///     A = [f; g]ᵀ J_A − [f; g + d × f]ᵀ J_B,
/// where the second term is absent if B is fixed to the world.
///
/// Forces. By virtual power λ A u, body A receives the force λ f and the torque λ g about the
/// origin of A, and body B the opposite about the same point. Both are reported about
/// FrameRows::wrench_point. This also holds off the manifold, where φ ≠ 0.
class CONSTRAINED_DYNAMICS_EXPORT FrameConstraint : public Constraint
{
public:
  ~FrameConstraint() override;

  int frame_a() const { return frame_a_; }
  int frame_b() const { return frame_b_; }

  /// The relative motion at the state of the last System::update_kinematics. Real-time safe: yes.
  void relative_motion(const SystemData & data, RelativeMotion & out) const noexcept CD_NONBLOCKING;

  /// The coordinates of a joint that is stated as a constraint (joint_constraint.hpp); null for
  /// others. Real-time safe: yes.
  const JointCoordinates * as_joint() const noexcept CD_NONBLOCKING { return do_as_joint(); }

  /// Whether the rows depend only on the motion of the origin of A, so that the rotation of A is
  /// not needed.
  bool is_point_only() const { return point_only_; }

  /// Evaluates the rows as forces instead of a Jacobian: φ, φ̇ and b of `evaluate` (row_count()
  /// numbers each), and the unit wrenches. The caller stores the motions of both frames in `work`;
  /// if is_point_only(), the rotation of A may be omitted. Statuses as for `evaluate`. Real-time
  /// safe: yes.
  [[nodiscard]] Status evaluate_forces(
    double time, ConstraintScratch & scratch, FrameWork & work, double * position,
    double * velocity, double * bias, FrameRowForces & out) const noexcept CD_NONBLOCKING;

protected:
  /// @param point_only the rows use only time, position, velocity and acceleration_bias of
  /// RelativeMotion; its other members are then not filled for do_frame_rows.
  /// @throw std::invalid_argument for unknown frames, frames of the same body, or more than
  /// FrameRows::kMaximum rows.
  FrameConstraint(
    std::string name, std::string type, const System & system, const std::string & frame_a,
    const std::string & frame_b, std::vector<RowDescription> rows, int scratch_size = 0,
    bool point_only = false);

  /// Fills the rows, or returns a failure (kNonFiniteResult if a direction is undefined). Of the
  /// scratch memory it may use only `buffer`.
  virtual Status do_frame_rows(
    const RelativeMotion & motion, ConstraintScratch & scratch,
    FrameRows & out) const noexcept CD_NONBLOCKING = 0;

  /// The same rows over dual numbers, for derivatives along one direction at constant time;
  /// implement both by one template. Returns false, as by default, if there are none;
  /// `differentiate` of derivatives.hpp then uses finite differences.
  virtual bool do_frame_rows_along(
    const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept;

  virtual const JointCoordinates * do_as_joint() const noexcept CD_NONBLOCKING { return nullptr; }

  Status do_evaluate(const SystemData & data, ConstraintScratch & scratch, RowBlock & rows)
    const noexcept CD_NONBLOCKING final;
  /// |f| and |g| times the reach of both frames.
  void do_row_sizes(
    const SystemData & data, ConstraintScratch & scratch, const ConstMatrixRef & jacobian,
    VectorRef out) const noexcept CD_NONBLOCKING final;
  void do_wrenches(
    const SystemData & data, ConstraintScratch & scratch, const ConstVectorRef & multipliers,
    WrenchPair * out) const noexcept CD_NONBLOCKING final;
  bool do_differentiate(
    const SystemData & data, const SystemDerivatives & derivatives,
    const ConstVectorRef & multipliers, ConstraintScratch & scratch,
    RowDerivatives & out) const final;
  const FrameConstraint * do_as_frame_constraint() const noexcept CD_NONBLOCKING final
  {
    return this;
  }

private:
  /// Motions of both frames; the rows from them.
  void find_motions(const SystemData & data, FrameWork & work) const noexcept CD_NONBLOCKING;
  Status find_rows(double time, ConstraintScratch & scratch, FrameWork & work) const noexcept
    CD_NONBLOCKING;

  int frame_a_;
  int frame_b_;
  bool b_is_fixed_;  // to the world
  bool point_only_;
};

}  // namespace constrained_dynamics
