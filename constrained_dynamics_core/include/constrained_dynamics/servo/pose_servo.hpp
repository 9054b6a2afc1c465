// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/servo/servo_constraint.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// Frame A follows a pose that moves in frame B: "world", or a frame of another body (two arms).
/// Rows x y z control the position, rx ry rz the orientation; any subset may be chosen. Type id
/// "pose".
///
/// The reference is the motion of a target frame T in B, everything in axes of B:
///     position      x y z of its origin [m], quaternion qx qy qz qw of its axes (nonzero length)
///     velocity      of its origin [m/s], angular velocity ω_T [rad/s]
///     acceleration  of its origin [m/s²], angular acceleration ω̇_T [rad/s²].
/// The rows are those of FrameCoincidence of A with T, along and about the axes of T (not of B):
/// with p, R, v, ω of A in B, and p_T, R_T, v_T, ω_T those of T in B,
///     d = p − p_T,   e = R_Tᵀ d,   ė = R_Tᵀ (v − v_T − ω_T × d),   R_error = R_Tᵀ R,
/// and rotation rows as there (2ε of R_error for three rows). b contains all velocity terms,
/// including those of a rotating target. Without rotation rows, the orientation of T only defines
/// the axes of the rows, and `measure` returns the orientation of B rather than A. The remarks on
/// half turns of FrameCoincidence apply to the error here.
class CONSTRAINED_DYNAMICS_EXPORT PoseServo : public ServoConstraint
{
public:
  /// @param rows names out of x y z rx ry rz, each once, in any order.
  /// @throw std::invalid_argument for no, unknown or repeated rows, unknown frames, or frames of
  /// the same body.
  PoseServo(
    std::string name, const System & system, const std::string & frame_a,
    const std::string & frame_b = "world",
    const std::vector<std::string> & rows = FrameCoincidence::all_rows());
  ~PoseServo() override;

  int frame_a() const;
  int frame_b() const;

protected:
  /// Statuses: kNonFiniteInput for a quaternion of length 0; those of FrameCoincidence.
  Status do_evaluate(
    const SystemData & data, ConstraintScratch & scratch, const ServoReference & reference,
    RowBlock & rows) const noexcept CD_NONBLOCKING override;
  Status do_measure(
    const SystemData & data, ConstraintScratch & scratch, RowBlock & rows,
    ServoReference & out) const noexcept CD_NONBLOCKING override;
  void do_reset(ServoReference & reference) const override;
  std::pair<int, int> do_frames() const override { return {frame_a(), frame_b()}; }

private:
  class Target;

  PoseServo(std::string name, const System & system, std::unique_ptr<const Target> target);

  std::unique_ptr<const Target> target_;
  bool has_rotation_rows_;
};

}  // namespace constrained_dynamics
