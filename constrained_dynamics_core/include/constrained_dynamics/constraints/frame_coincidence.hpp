// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "constrained_dynamics/constraints/frame_constraint.hpp"
#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// Selection of rows out of x y z rx ry rz.
struct CONSTRAINED_DYNAMICS_EXPORT CoincidenceAxes
{
  std::vector<int> axis;   ///< of each row; 0 to 2: x y z, 3 to 5: rx ry rz
  int rotation_count = 0;  ///< of rows
  int free_axis = -1;      ///< 0 to 2 where there are two rotation rows

  CoincidenceAxes() = default;
  /// @throw std::invalid_argument for unknown rows.
  explicit CoincidenceAxes(const std::vector<std::string> & rows);
  /// @param owner for the message, e.g. "constraint 'weld'".
  /// @throw std::invalid_argument for unknown rows.
  static std::vector<RowDescription> describe(
    const std::string & owner, const std::vector<std::string> & rows);
};

/// Frame A coincides with frame B in chosen rows out of six: x y z rx ry rz, along and about the
/// axes of B. Weld: all six; ball: x y z; hinge about z: x y z rx ry; planar loop: two of x y z.
/// Type id "frame_coincidence".
///
/// Position rows:  φ = p_i,  φ̇ = v_i,  c_v = e_i.
///
/// Rotation rows are exact for φ ≠ 0 too. To first order they equal the rotation vector of R, and
/// they are chosen so that free rotations may be arbitrarily large:
/// - three rows: φ = 2 ε, with (η, ε) the unit quaternion of R, η ≥ 0:
///       φ̇ = η ω + ω × ε,   φ̈ = η̇ ω + ω × ε̇ + η ω̇ + ω̇ × ε,   η̇ = −ω·ε/2,  ε̇ = φ̇/2;
/// - two rows, free axis k: the axis a = R e_k stays along e_k. With s = e_k × a, w = 1 + e_k·a:
/// φ = s √(2/w), of length 2 sin(angle/2) between the axes; it is smooth for any rotation about k;
/// - one row k: φ = 2 ε_k (on the manifold this is a constant-velocity joint).
///
/// Half turns: three rows lose rank at an error of 180°. Two rows are undefined if the axes are
/// opposite: kNonFiniteResult. One row changes its sign when the rotation about the free axes
/// passes 180°, and so does its multiplier; the force stays continuous.
///
/// Force: λ of row i along (torque: about) e_i of B while φ = 0 and, for the torques of two rows,
/// whatever the angle about k.
class CONSTRAINED_DYNAMICS_EXPORT FrameCoincidence : public FrameConstraint
{
public:
  /// @param rows names out of x y z rx ry rz, each once, in any order.
  /// @throw std::invalid_argument for no, unknown or repeated rows, and as FrameConstraint does.
  FrameCoincidence(
    std::string name, const System & system, const std::string & frame_a,
    const std::string & frame_b, const std::vector<std::string> & rows = all_rows());

  /// x y z rx ry rz.
  static std::vector<std::string> all_rows();

  /// Its keys and documentation.
  static ConstraintDescription description();

protected:
  Status do_frame_rows(const RelativeMotion & motion, ConstraintScratch & scratch, FrameRows & out)
    const noexcept CD_NONBLOCKING override;
  bool do_frame_rows_along(
    const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept override;

private:
  CoincidenceAxes axes_;
};

}  // namespace constrained_dynamics
