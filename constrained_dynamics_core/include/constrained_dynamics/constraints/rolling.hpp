// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/frame_constraint.hpp"

namespace constrained_dynamics
{

/// Geometry of the rolling body and its plane.
struct RollingGeometry
{
  double radius = 1.0;  ///< r [m], positive; not used for an ellipsoid
  /// Normal of the plane through the origin of B, in B, towards the body; any nonzero length.
  Eigen::Vector3d normal = Eigen::Vector3d::UnitZ();
  /// Axis of a thin disk, in A, any nonzero length; none: a sphere or an ellipsoid.
  std::optional<Eigen::Vector3d> axis;
  /// Semi-axes [m] of an ellipsoid along x, y, z of A, positive; none: a sphere or a disk.
  std::optional<Eigen::Vector3d> semi_axes;
  /// Whether the row "normal" keeps the body on the plane.
  bool keep_contact = true;
};

/// A sphere, an ellipsoid or a thin disk, with the origin of frame A at its centre, rolls without
/// slip on a plane of frame B: the material point at the contact is at rest in B. Type id
/// "rolling".
///
/// With ρ from the centre to the contact point and c = p + ρ:
///     row "normal" (position level):  φ = n · c,               c_v = n,  c_ω = ρ × n
///     rows "along", "lateral" (velocity level):  ψ = e · (v + ω × ρ),  c_v = e,  c_ω = ρ × e.
/// Sphere: ρ = −r n; e are two directions fixed in B, as the normals of PointOnLine (n = z: x and
/// y). Ellipsoid, likewise, with its semi-axes S = diag(s) and the downward normal μ = −Rᵀ n in A:
///     ρ = R x,  x = S² μ/ε,  ε = |S μ|,   n · c = n · p − ε,
///     ẋ = S² (μ̇ − μ ε̇/ε)/ε,  ε̇ = μ · S² μ̇/ε,  μ̇ = μ × Rᵀω,  ρ̇ = ω × ρ + R ẋ.
/// Disk, with its axis k = R axis and σ = |k × n|, the sine of the tilt:
///     heading ℓ = (k × n)/σ,   ρ = −r ℓ × k,   "along": e = ℓ,   "lateral": e = n × ℓ,
///     n · c = n · p − r σ.
/// Since ρ stays on the surface, n · ρ̇ = n · (ω × ρ), so φ̇ = n · (v + ω × ρ) as well; all rows have
///     b = −(ė · (v + ω × ρ) + e · (v̇ + ω̇ × ρ + ω × ρ̇)),
///     ℓ̇ = (k̇ × n − σ̇ ℓ)/σ,   σ̇ = ℓ · (k̇ × n),   ρ̇ = −r (ℓ̇ × k + ℓ × k̇),   k̇ = ω × k.
///
/// Force: λ e on A at the contact point c and no torque about it; the opposite on B. Spin about the
/// normal is free. A disk that lies flat (σ ≤ 1e-8) has no unique contact point: kNonFiniteResult.
class CONSTRAINED_DYNAMICS_EXPORT Rolling : public FrameConstraint
{
public:
  /// @throw std::invalid_argument for a radius or semi-axes that are not positive and finite, a
  /// zero or non-finite normal or axis, an axis together with semi-axes, and as FrameConstraint
  /// does.
  Rolling(
    std::string name, const System & system, const std::string & frame_a,
    const std::string & frame_b, const RollingGeometry & geometry);

  const RollingGeometry & geometry() const { return geometry_; }

  /// Its keys and documentation.
  static ConstraintDescription description();

protected:
  std::vector<DrawnPart> do_drawing() const override;
  Status do_frame_rows(const RelativeMotion & motion, ConstraintScratch & scratch, FrameRows & out)
    const noexcept CD_NONBLOCKING override;
  bool do_frame_rows_along(
    const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept override;

private:
  RollingGeometry geometry_;
  std::array<Eigen::Vector3d, 2> tangents_;  // of the sphere
};

}  // namespace constrained_dynamics
