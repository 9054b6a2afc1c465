// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Geometry>

#include "formulations/tree_algebra.hpp"
#include "formulations/tree_solver.hpp"

/// @file
/// What a joint passes on of its body's articulated inertia and force (E21).

namespace constrained_dynamics
{

/// Adds inertia and force of a child, given about the child's origin, to its parent; `r` leads from
/// the parent's origin to the child's.
inline void hand_over(
  const Symmetric3 & M, const Eigen::Matrix3d & H, const Symmetric3 & J, const Eigen::Vector3d & f,
  const Eigen::Vector3d & n, const Eigen::Vector3d & r, TreeSolverData::Body & parent) noexcept
{
  // G = H − M [r]×,  J ← J − Hᵀ [r]× + [r]× G.
  const double x = r(0);
  const double y = r(1);
  const double z = r(2);
  Eigen::Matrix3d G;
  G(0, 0) = H(0, 0) - (M.yx * z - M.zx * y);
  G(0, 1) = H(0, 1) - (M.zx * x - M.xx * z);
  G(0, 2) = H(0, 2) - (M.xx * y - M.yx * x);
  G(1, 0) = H(1, 0) - (M.yy * z - M.zy * y);
  G(1, 1) = H(1, 1) - (M.zy * x - M.yx * z);
  G(1, 2) = H(1, 2) - (M.yx * y - M.yy * x);
  G(2, 0) = H(2, 0) - (M.zy * z - M.zz * y);
  G(2, 1) = H(2, 1) - (M.zz * x - M.zx * z);
  G(2, 2) = H(2, 2) - (M.zx * y - M.zy * x);
  parent.J.add(J);
  parent.J.xx += y * (H(2, 0) + G(2, 0)) - z * (H(1, 0) + G(1, 0));
  parent.J.yy += z * (H(0, 1) + G(0, 1)) - x * (H(2, 1) + G(2, 1));
  parent.J.zz += x * (H(1, 2) + G(1, 2)) - y * (H(0, 2) + G(0, 2));
  parent.J.yx += y * H(2, 1) - z * H(1, 1) + z * G(0, 0) - x * G(2, 0);
  parent.J.zx += y * H(2, 2) - z * H(1, 2) + x * G(1, 0) - y * G(0, 0);
  parent.J.zy += z * H(0, 2) - x * H(2, 2) + x * G(1, 1) - y * G(0, 1);
  parent.M.add(M);
  parent.H += G;
  parent.f += f;
  parent.n += n + r.cross(f);
}

/// Passes the inertia and force of a body, reduced by its joint with one degree of freedom, to the
/// parent.
inline void hand_over_rest(
  const TreeSolverData::Body & b, double inverse, double free, const Eigen::Vector3d & r,
  TreeSolverData::Body & parent) noexcept
{
  const Eigen::Vector3d V_f = inverse * b.U_f;
  const Eigen::Vector3d V_n = inverse * b.U_n;
  Symmetric3 M = b.M;
  Symmetric3 J = b.J;
  M.add_square(b.U_f, -V_f);
  J.add_square(b.U_n, -V_n);
  const Eigen::Matrix3d H = b.H - b.U_f.lazyProduct(V_n.transpose());
  hand_over(M, H, J, b.f + free * b.U_f, b.n + free * b.U_n, r, parent);
}

/// The inertia of a body along the motion (v, w) of a hinge.
inline void add_to_hinge(
  const TreeSolverData::Body & b, const Eigen::Vector3d & v, const Eigen::Vector3d & w,
  TreeSolverData::Body & hinge) noexcept
{
  hinge.D += v.dot(b.M * v + 2.0 * b.H.lazyProduct(w)) + w.dot(b.J * w);
  hinge.scale += v.squaredNorm() * b.M.trace() + w.squaredNorm() * b.J.trace();
}

/// S of a joint of several degrees of freedom.
inline void set_subspace(
  JointKind kind, const Eigen::Matrix3d & R, Eigen::Matrix<double, 6, 6> & S) noexcept
{
  S.setZero();
  if (kind == JointKind::kPlanar)
  {
    S.col(0).head<3>() = R.col(0);
    S.col(1).head<3>() = R.col(1);
    S.col(2).tail<3>() = R.col(2);
  }
  else if (kind == JointKind::kBall)
  {
    S.bottomLeftCorner<3, 3>() = R;
  }
  else if (kind == JointKind::kTranslation)
  {
    S.topLeftCorner<3, 3>() = R;
  }
  else
  {
    S.topLeftCorner<3, 3>() = R;
    S.bottomRightCorner<3, 3>() = R;
  }
}

}  // namespace constrained_dynamics
