// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <algorithm>

#include "formulations/tree_articulation.hpp"
#include "formulations/tree_solver.hpp"

/// @file
/// Stage of TreeSolver::solve: joints of several degrees of freedom. See tree_solver.cpp.

namespace constrained_dynamics
{

/// Rows past a joint of several degrees of freedom; `wanted` is τ − Sᵀ p, `hinge` the screw of the
/// parent where that is a hinge.
inline void TreeSolver::pass_joint(
  const Run & rows, const TreeBody & body, const TreeSolverData::Joint & joint,
  const Eigen::Matrix<double, 6, 1> & wanted, const Eigen::Matrix<double, 6, 1> * hinge,
  const Eigen::Vector3d & r, TreeSolverData & data) const noexcept
{
  const int nu = body.nu;
  for (int row = 0; row < rows.count; ++row)
  {
    const Eigen::Matrix<double, 6, 1> K = data.carry.row(rows.place + row).transpose();
    Eigen::Matrix<double, 6, 1> share;
    for (int k = 0; k < nu; ++k)
    {
      share(k) = joint.S.col(k).dot(K);
      if (rows.dense_row >= 0)
      {
        share(k) += data.dense_jacobian(rows.dense_row + row, body.u + k);
      }
      data.effect(rows.place + row, k) = share(k);
    }
    solve_small(joint.D, nu, share);
    Eigen::Matrix<double, 6, 1> up = K;
    for (int k = 0; k < nu; ++k)
    {
      data.share(rows.place + row, k) = share(k);
      data.left(rows.position + row) -= share(k) * wanted(k);
      up -= share(k) * joint.U.col(k);
    }
    if (hinge != nullptr)
    {
      data.effect(rows.target + row, 0) += hinge->dot(up);
    }
    else if (rows.target >= 0)
    {
      const Eigen::Vector3d f = up.head<3>();
      up.tail<3>() += r.cross(f);
      data.carry.row(rows.target + row) += up.transpose();
    }
  }
}

/// The root of D of a joint of several degrees of freedom. @param ratio gets the largest ratio of
/// what round-off is relative to and of what is left.
inline bool TreeSolver::factor_joint(
  std::size_t i, TreeSolverData::Joint & joint, const TreeSolverData & data,
  double & ratio) const noexcept
{
  const TreeBody & body = tree_.bodies[i];
  const TreeSolverData::Body & b = data.bodies[i];
  if (!factor_small(joint.D, body.nu))
  {
    return false;
  }
  const double mass = b.M.trace() + (is_light_[i] ? b.mass_size : 0.0);
  const double moment = b.J.trace() + (is_light_[i] ? b.moment_size : 0.0);
  const int linear = linear_speeds_of(body.kind);
  for (int k = 0; k < body.nu; ++k)
  {
    const double inverse = joint.D(k, k) * joint.D(k, k);
    ratio = std::max(ratio, (k < linear ? mass : moment) * inverse);
  }
  return is_inertia(i, 1.0, ratio, data);
}

inline bool TreeSolver::reduce_joint(
  std::size_t i, const TreeData & tree_data, TreeSolverData & data) const noexcept
{
  const TreeBody & body = tree_.bodies[i];
  TreeSolverData::Body & b = data.bodies[i];
  TreeSolverData::Joint & joint = data.joints[idx(joint_of_body_[i])];
  const Eigen::Matrix3d & R = tree_data.motions[i].rotation;
  const int nu = body.nu;
  set_subspace(body.kind, R, joint.S);
  Eigen::Matrix<double, 6, 6> inertia;
  inertia << b.M.full(), b.H, b.H.transpose(), b.J.full();
  Eigen::Matrix<double, 6, 1> force;
  force << b.f, b.n;
  joint.U.noalias() = inertia.lazyProduct(joint.S);
  joint.D.noalias() = joint.S.transpose().lazyProduct(joint.U);
  for (int k = 0; k < nu; ++k)
  {
    joint.D(k, k) += tree_.armature(body.u + k);
    joint.free(k) = data.joint_force(body.u + k) - joint.S.col(k).dot(force);
  }
  double ratio = 0.0;
  if (!factor_joint(i, joint, data, ratio))
  {
    return false;
  }
  const Eigen::Matrix<double, 6, 1> wanted = joint.free;
  solve_small(joint.D, nu, joint.free);

  const Eigen::Vector3d & r = tree_data.motions[i].arm;
  const bool on_hinge = body.parent >= 0 && is_hinge_[idx(body.parent)];
  Eigen::Matrix<double, 6, 1> S = Eigen::Matrix<double, 6, 1>::Zero();  // of that hinge
  if (on_hinge)
  {
    const Screw at_origin = screw(idx(body.parent), tree_data, r);
    S << at_origin.linear, at_origin.angular;
  }
  for (int run = run_begin_[i]; run < run_begin_[i + 1]; ++run)
  {
    const Run & rows = runs_[idx(run)];
    if (data.part[idx(rows.constraint)] != rows.constraint)
    {
      continue;
    }
    pass_joint(rows, body, joint, wanted, on_hinge ? &S : nullptr, r, data);
  }
  couple(i, nu, data);
  hand_sizes(i, ratio, r, data);
  if (body.parent >= 0)
  {
    for (int k = 0; k < nu; ++k)
    {
      force += joint.free(k) * joint.U.col(k);
    }
    // I − U D⁻¹ Uᵀ = I − Y Yᵀ with Y = U G⁻ᵀ, D = G Gᵀ.
    Eigen::Matrix<double, 6, 6> Y = joint.U;
    for (int k = 0; k < nu; ++k)
    {
      for (int j = 0; j < k; ++j)
      {
        Y.col(k) -= joint.D(k, j) * Y.col(j);
      }
      Y.col(k) *= joint.D(k, k);
      inertia.noalias() -= Y.col(k).lazyProduct(Y.col(k).transpose());
    }
    if (on_hinge)
    {
      TreeSolverData::Body & hinge = data.bodies[idx(body.parent)];
      hinge.D += S.dot(inertia.lazyProduct(S));
      hinge.scale +=
        S.head<3>().squaredNorm() * b.M.trace() + S.tail<3>().squaredNorm() * b.J.trace();
      hinge.joint_force -= S.dot(force);
      return true;
    }
    hand_over(
      symmetric(inertia.topLeftCorner<3, 3>()), inertia.topRightCorner<3, 3>(),
      symmetric(inertia.bottomRightCorner<3, 3>()), force.head<3>(), force.tail<3>(), r,
      data.bodies[idx(body.parent)]);
  }
  return true;
}

}  // namespace constrained_dynamics
