// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <algorithm>
#include <cmath>

#include "formulations/tree_articulation.hpp"
#include "formulations/tree_solver.hpp"

/// @file
/// Stage of TreeSolver::solve: from the tips to the root (E21, E22). See tree_solver.cpp.

namespace constrained_dynamics
{

// Pivots of a row, relative to what they were before elimination (or at a regular state, if that
// was more): the square of the sine of the angle to the rows before it, in the metric of Q⁻¹. Above
// the first the rows are regular with a wide margin, below the second they are redundant up to
// rounding and drift; between them the factorisation of A must decide.
constexpr double kRegular = 1e-6;
constexpr double kRedundant = 1e-10;

inline void TreeSolver::couple(std::size_t body, int speeds, TreeSolverData & data) const noexcept
{
  // L_kj += s_kᵀ D⁻¹ s_j, lower triangle.
  const Eigen::Index stride = data.factor.rows();
  const Eigen::Index next = data.effect.rows();
  for (int later = run_begin_[body]; later < run_begin_[body + 1]; ++later)
  {
    const Run & a = runs_[idx(later)];
    if (data.part[idx(a.constraint)] != a.constraint)
    {
      continue;
    }
    const double * share = data.share.data() + a.place;
    for (int earlier = run_begin_[body]; earlier <= later; ++earlier)
    {
      const Run & b = runs_[idx(earlier)];
      if (data.part[idx(b.constraint)] != b.constraint)
      {
        continue;
      }
      const double * effect = data.effect.data() + b.place;
      double * out = data.factor.data() + a.position + stride * b.position;
      for (int j = 0; j < b.count; ++j, out += stride)
      {
        const int first = earlier == later ? j : 0;
        for (int k = 0; k < speeds; ++k)
        {
          const double s = effect[j + k * next];
          const double * D_s = share + k * next;
          for (int i = first; i < a.count; ++i)
          {
            out[i] += s * D_s[i];
          }
        }
      }
    }
    for (int i = 0; i < a.count; ++i)
    {
      for (int k = 0; k < speeds; ++k)
      {
        data.diagonal(a.position + i) += data.effect(a.place + i, k) * share[i + k * next];
      }
    }
  }
}

inline bool TreeSolver::reduce_hinge(std::size_t i, TreeSolverData & data) const noexcept
{
  const TreeBody & body = tree_.bodies[i];
  TreeSolverData::Body & b = data.bodies[i];
  if (!(b.D > kSmallestInertia * b.scale))
  {
    return false;
  }
  const double inverse = 1.0 / b.D;
  const double free = b.joint_force * inverse;
  b.inverse_D = inverse;
  for (int run = run_begin_[i]; run < run_begin_[i + 1]; ++run)
  {
    const Run & rows = runs_[idx(run)];
    if (data.part[idx(rows.constraint)] != rows.constraint)
    {
      continue;
    }
    double * effect = &data.effect(rows.place, 0);
    double * share = &data.share(rows.place, 0);
    double * left = data.left.data() + rows.position;
    for (int k = 0; k < rows.count; ++k)
    {
      if (rows.dense_row >= 0)
      {
        effect[k] += data.dense_jacobian(rows.dense_row + k, body.u);
      }
      share[k] = effect[k] * inverse;
      left[k] -= effect[k] * free;
    }
  }
  couple(i, 1, data);
  return true;
}

/// The components of the rows along a joint with one degree of freedom that they pass.
inline void TreeSolver::pass_simple(
  const Run & rows, bool turns, const Eigen::Vector3d & z, double inverse, double free, int u,
  TreeSolverData & data) const noexcept
{
  const Eigen::Index stride = data.carry.rows();
  const double * K = data.carry.data() + rows.place;
  const double * along = turns ? K + 3 * stride : K;
  double * effect = &data.effect(rows.place, 0);
  double * share = &data.share(rows.place, 0);
  double * left = data.left.data() + rows.position;
  for (int k = 0; k < rows.count; ++k)
  {
    double s = z(0) * along[k] + z(1) * along[k + stride] + z(2) * along[k + 2 * stride];
    if (rows.dense_row >= 0)
    {
      s += data.dense_jacobian(rows.dense_row + k, u);
    }
    effect[k] = s;
    share[k] = s * inverse;
    left[k] -= s * free;
  }
}

/// Passes rows to the parent of a joint with one degree of freedom, along S if the parent is a
/// hinge.
inline void TreeSolver::hand_to_hinge(
  const Run & rows, const Screw & S, double U_S, TreeSolverData & data) const noexcept
{
  const Eigen::Index stride = data.carry.rows();
  const double * K = data.carry.data() + rows.place;
  const double * share = &data.share(rows.place, 0);
  double * felt = &data.effect(rows.target, 0);
  for (int k = 0; k < rows.count; ++k)
  {
    const Eigen::Vector3d K_f(K[k], K[k + stride], K[k + 2 * stride]);
    const Eigen::Vector3d K_n(K[k + 3 * stride], K[k + 4 * stride], K[k + 5 * stride]);
    felt[k] += S.power(K_f, K_n) - U_S * share[k];
  }
}

/// Rows to any other parent: K ← K − U D⁻¹ s, about the parent's origin.
inline void TreeSolver::hand_up(
  const Run & rows, const TreeSolverData::Body & b, const Eigen::Vector3d & r,
  TreeSolverData & data) const noexcept
{
  const Eigen::Index stride = data.carry.rows();
  const double * K = data.carry.data() + rows.place;
  const double * share = &data.share(rows.place, 0);
  double * up = data.carry.data() + rows.target;
  for (int k = 0; k < rows.count; ++k)
  {
    const double f0 = K[k] - share[k] * b.U_f(0);
    const double f1 = K[k + stride] - share[k] * b.U_f(1);
    const double f2 = K[k + 2 * stride] - share[k] * b.U_f(2);
    up[k] += f0;
    up[k + stride] += f1;
    up[k + 2 * stride] += f2;
    up[k + 3 * stride] += K[k + 3 * stride] - share[k] * b.U_n(0) + r(1) * f2 - r(2) * f1;
    up[k + 4 * stride] += K[k + 4 * stride] - share[k] * b.U_n(1) + r(2) * f0 - r(0) * f2;
    up[k + 5 * stride] += K[k + 5 * stride] - share[k] * b.U_n(2) + r(0) * f1 - r(1) * f0;
  }
}

inline bool TreeSolver::reduce_simple(
  std::size_t i, const TreeData & tree_data, TreeSolverData & data) const noexcept
{
  const TreeBody & body = tree_.bodies[i];
  TreeSolverData::Body & b = data.bodies[i];
  const bool turns = body.kind == JointKind::kRevolute;
  const Eigen::Vector3d z = tree_data.motions[i].rotation.col(2);
  // U = I S, D = Sᵀ U.
  double D = 0.0;
  double scale = 0.0;
  double u = data.joint_force(body.u);
  if (turns)
  {
    b.U_f.noalias() = b.H.lazyProduct(z);
    b.U_n = b.J * z;
    D = z.dot(b.U_n) + tree_.armature(body.u);
    scale = b.J.trace();
    u -= z.dot(b.n);
  }
  else
  {
    b.U_f = b.M * z;
    b.U_n.noalias() = b.H.transpose().lazyProduct(z);
    D = z.dot(b.U_f) + tree_.armature(body.u);
    scale = b.M.trace();
    u -= z.dot(b.f);
  }
  if (!(D > kSmallestInertia * scale))
  {
    return false;
  }
  const double inverse = 1.0 / D;
  const double free = u * inverse;
  b.inverse_D = inverse;
  b.joint_force = u;

  const Eigen::Vector3d & r = tree_data.motions[i].arm;
  const bool on_hinge = body.parent >= 0 && is_hinge_[idx(body.parent)];
  Screw S{Eigen::Vector3d::Zero(), Eigen::Vector3d::Zero()};  // of that hinge
  double U_S = 0.0;
  if (on_hinge)
  {
    S = screw(idx(body.parent), tree_data, r);
    U_S = S.power(b.U_f, b.U_n);
  }
  for (int run = run_begin_[i]; run < run_begin_[i + 1]; ++run)
  {
    const Run & rows = runs_[idx(run)];
    if (data.part[idx(rows.constraint)] != rows.constraint)
    {
      continue;
    }
    pass_simple(rows, turns, z, inverse, free, body.u, data);
    if (rows.target < 0)
    {
      continue;
    }
    if (on_hinge)
    {
      hand_to_hinge(rows, S, U_S, data);
    }
    else
    {
      hand_up(rows, b, r, data);
    }
  }
  couple(i, 1, data);
  if (on_hinge)
  {
    TreeSolverData::Body & hinge = data.bodies[idx(body.parent)];
    add_to_hinge(b, S.linear, S.angular, hinge);
    hinge.D -= U_S * U_S * inverse;
    hinge.joint_force -= S.power(b.f, b.n) + U_S * free;
  }
  else if (body.parent >= 0)
  {
    hand_over_rest(b, inverse, free, r, data.bodies[idx(body.parent)]);
  }
  return true;
}

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
  if (!factor_small(joint.D, nu))
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

inline bool TreeSolver::eliminate(
  int first, int last, int body, bool strict, TreeSolverData & data) const noexcept
{
  for (int k = first; k < last; ++k)
  {
    const std::vector<Below> & below = below_[idx(k)];
    const double pivot = data.factor(k, k);
    const double usual = std::max(data.diagonal(k), data.nominal(k));
    bool out = data.inverse_pivot(k) == 0.0;
    if (!out && !(pivot > (strict ? kRegular : kRedundant) * usual))
    {
      if (!(pivot <= kRedundant * usual))
      {
        return false;
      }
      data.dropped[idx(data.dropped_count++)] = k;
      data.drops_real_rows = data.drops_real_rows || data.diagonal(k) > kRedundant * usual;
      out = true;
    }
    if (out)
    {
      data.inverse_pivot(k) = 0.0;
      for (const Below & b : below)
      {
        data.factor(b.position, k) = 0.0;
      }
      continue;
    }
    const double inverse = 1.0 / pivot;
    data.inverse_pivot(k) = inverse;
    const double left = data.left(k);
    for (std::size_t j = 0; j < below.size(); ++j)
    {
      const int at = below[j].position;
      const double value = data.factor(at, k);
      data.column(static_cast<Eigen::Index>(j)) = value;
      if (value == 0.0)
      {
        continue;  // dropped rows, and directions that do not interact
      }
      const double share = value * inverse;
      data.factor(at, k) = share;
      data.left(at) -= share * left;
      if (below[j].place >= 0)
      {
        data.carry.row(below[j].place) -= share * data.carry.row(elimination_place_[idx(k)]);
      }
      for (std::size_t i = 0; i <= j; ++i)
      {
        data.factor(at, below[i].position) -= share * data.column(static_cast<Eigen::Index>(i));
      }
    }
    if (body >= 0)
    {
      // (E22)
      TreeSolverData::Body & b = data.bodies[idx(body)];
      const auto K = data.carry.row(elimination_place_[idx(k)]);
      const Eigen::Vector3d K_f = K.head<3>();
      const Eigen::Vector3d K_n = K.tail<3>();
      const Eigen::Vector3d V_f = inverse * K_f;
      const Eigen::Vector3d V_n = inverse * K_n;
      b.M.add_square(K_f, V_f);
      b.H.noalias() += K_f.lazyProduct(V_n.transpose());
      b.J.add_square(K_n, V_n);
      b.f -= left * V_f;
      b.n -= left * V_n;
    }
  }
  return true;
}

inline bool TreeSolver::reduce(
  const TreeProblem & problem, bool strict, TreeSolverData & data) const noexcept
{
  const TreeData & tree_data = static_cast<const TreeData &>(problem.system_data);
  for (std::size_t i = tree_.bodies.size(); i-- > 0;)
  {
    const int body = static_cast<int>(i);
    if (!eliminate(elimination_begin_[i + 1], elimination_end_[i + 1], body, strict, data))
    {
      return false;
    }
    const bool regular = is_hinge_[i]              ? reduce_hinge(i, data)
                         : tree_.bodies[i].nu == 1 ? reduce_simple(i, tree_data, data)
                                                   : reduce_joint(i, tree_data, data);
    if (!regular)
    {
      return false;
    }
  }
  return eliminate(elimination_begin_[0], elimination_end_[0], -1, strict, data);
}

}  // namespace constrained_dynamics
