// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <algorithm>
#include <cmath>

#include "formulations/tree_joint_reduction.hpp"
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

inline bool TreeSolver::is_inertia(
  std::size_t i, double D, double scale, const TreeSolverData & data) const noexcept
{
  return D > kSmallestInertia * scale * (is_light_[i] ? data.bodies[i].loss : 1.0);
}

inline void TreeSolver::hand_sizes(
  std::size_t i, double ratio, const Eigen::Vector3d & r, TreeSolverData & data) const noexcept
{
  const int body = tree_.bodies[i].parent;
  if (body < 0 || !is_light_[idx(body)])
  {
    return;
  }
  // What joints have taken out of M and J leaves round-off of what was there. A body with inertia
  // of its own hides it; one without has nothing else. Each joint enlarges it by at most `ratio`.
  const TreeSolverData::Body & b = data.bodies[i];
  TreeSolverData::Body & parent = data.bodies[idx(body)];
  const double mass = b.M.trace() + (is_light_[i] ? b.mass_size : 0.0);
  const double moment = b.J.trace() + (is_light_[i] ? b.moment_size : 0.0);
  const double square = r.squaredNorm() * mass;
  parent.mass_size += mass;
  parent.moment_size += moment + square + 2.0 * std::sqrt(std::max(0.0, square * moment));
  parent.loss = std::max(parent.loss, ratio * (is_light_[i] ? b.loss : 1.0));
}

inline bool TreeSolver::reduce_hinge(std::size_t i, TreeSolverData & data) const noexcept
{
  const TreeBody & body = tree_.bodies[i];
  TreeSolverData::Body & b = data.bodies[i];
  const double carried = !is_light_[i]                       ? 0.0
                         : body.kind == JointKind::kRevolute ? b.moment_size
                                                             : b.mass_size;
  if (!is_inertia(i, b.D, b.scale + carried, data))
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
    scale = b.J.trace() + (is_light_[i] ? b.moment_size : 0.0);
    u -= z.dot(b.n);
  }
  else
  {
    b.U_f = b.M * z;
    b.U_n.noalias() = b.H.transpose().lazyProduct(z);
    D = z.dot(b.U_f) + tree_.armature(body.u);
    scale = b.M.trace() + (is_light_[i] ? b.mass_size : 0.0);
    u -= z.dot(b.f);
  }
  if (!is_inertia(i, D, scale, data))
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
  hand_sizes(i, scale * inverse, r, data);
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
