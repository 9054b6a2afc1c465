// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <algorithm>
#include <cmath>

#include <Eigen/Geometry>

#include "formulations/tree_solver.hpp"

/// @file
/// Stage of TreeSolver::solve: from the root to the tips, and what the motion says. See
/// tree_solver.cpp.

namespace constrained_dynamics
{

// If a relative residual exceeds this, some tens of round-off errors, another formulation solves:
// the recursion loses digits where rows lock the joints that they pass, and the order of redundant
// rows matters.
constexpr double kLargestMiss = 1e-14;

inline void TreeSolver::substitute(
  int first, int last, int body, TreeSolverData & data) const noexcept
{
  for (int k = last - 1; k >= first; --k)
  {
    double value = data.left(k);
    if (body >= 0)
    {
      const TreeSolverData::Body & b = data.bodies[idx(body)];
      const auto K = data.carry.row(elimination_place_[idx(k)]);
      value -= K.head<3>().dot(b.linear) + K.tail<3>().dot(b.angular);
    }
    value *= data.inverse_pivot(k);
    if (data.inverse_pivot(k) != 0.0)
    {
      for (const Below & b : below_[idx(k)])
      {
        value -= data.factor(b.position, k) * data.multipliers(b.position);
      }
    }
    data.multipliers(k) = value;
  }
}

inline void TreeSolver::move_simple(
  std::size_t i, const BodyMotion & m, TreeSolverData & data) const noexcept
{
  const TreeBody & body = tree_.bodies[i];
  TreeSolverData::Body & b = data.bodies[i];
  double force = b.joint_force;
  if (!is_hinge_[i])
  {
    force -= b.U_f.dot(b.linear) + b.U_n.dot(b.angular);
  }
  for (int run = run_begin_[i]; run < run_begin_[i + 1]; ++run)
  {
    const Run & rows = runs_[idx(run)];
    if (data.part[idx(rows.constraint)] != rows.constraint)
    {
      continue;
    }
    for (int k = 0; k < rows.count; ++k)
    {
      force += data.effect(rows.place + k, 0) * data.multipliers(rows.position + k);
    }
  }
  const double acceleration = force * b.inverse_D;
  data.acceleration(body.u) = acceleration;
  const bool turns = body.kind == JointKind::kRevolute;
  (turns ? b.angular : b.linear) += acceleration * m.rotation.col(2);
  (turns ? b.angular_reach : b.linear_reach) += std::abs(acceleration);
}

inline void TreeSolver::move_joint(std::size_t i, TreeSolverData & data) const noexcept
{
  const TreeBody & body = tree_.bodies[i];
  TreeSolverData::Body & b = data.bodies[i];
  const TreeSolverData::Joint & joint = data.joints[idx(joint_of_body_[i])];
  Eigen::Matrix<double, 6, 1> x;
  for (int k = 0; k < body.nu; ++k)
  {
    x(k) = -joint.U.col(k).head<3>().dot(b.linear) - joint.U.col(k).tail<3>().dot(b.angular);
  }
  solve_small(joint.D, body.nu, x);
  for (int k = 0; k < body.nu; ++k)
  {
    double acceleration = joint.free(k) + x(k);
    for (int run = run_begin_[i]; run < run_begin_[i + 1]; ++run)
    {
      const Run & rows = runs_[idx(run)];
      if (data.part[idx(rows.constraint)] != rows.constraint)
      {
        continue;
      }
      acceleration += data.share.col(k)
                        .segment(rows.place, rows.count)
                        .dot(data.multipliers.segment(rows.position, rows.count));
    }
    data.acceleration(body.u + k) = acceleration;
    b.linear += acceleration * joint.S.col(k).head<3>();
    b.angular += acceleration * joint.S.col(k).tail<3>();
    b.linear_reach += std::abs(acceleration);
    b.angular_reach += std::abs(acceleration);
  }
}

inline void TreeSolver::move(const TreeData & tree_data, TreeSolverData & data) const noexcept
{
  substitute(elimination_begin_[0], elimination_end_[0], -1, data);
  for (std::size_t i = 0; i < tree_.bodies.size(); ++i)
  {
    const TreeBody & body = tree_.bodies[i];
    TreeSolverData::Body & b = data.bodies[i];
    const BodyMotion & m = tree_data.motions[i];
    if (body.parent >= 0)
    {
      const TreeSolverData::Body & p = data.bodies[idx(body.parent)];
      b.angular = p.angular;
      b.linear = p.linear + p.angular.cross(m.arm);
      b.angular_reach = p.angular_reach;
      b.linear_reach = p.linear_reach + p.angular_reach * m.arm.lpNorm<1>();
    }
    else
    {
      b.angular.setZero();
      b.linear.setZero();
      b.angular_reach = 0.0;
      b.linear_reach = 0.0;
    }
    if (body.nu == 1)
    {
      move_simple(i, m, data);
    }
    else
    {
      move_joint(i, data);
    }
    substitute(elimination_begin_[i + 1], elimination_end_[i + 1], static_cast<int>(i), data);
  }
}

inline void TreeSolver::judge_dense(
  const TreeProblem & problem, const TreeSolverData & data, Misses & misses) const noexcept
{
  for (const int c : dense_constraints_)
  {
    if (!problem.active[idx(c)])
    {
      continue;
    }
    for (Eigen::Index row = set_.row_offset(c); row < set_.row_offset(c) + set_[c].row_count();
         ++row)
    {
      double got = 0.0;
      double terms = 0.0;
      const auto element = [&](Eigen::Index u)
      {
        const double term = data.dense_jacobian(row, u) * data.acceleration(u);
        got += term;
        terms += std::abs(term);
      };
      const std::vector<int> & support = set_[c].speed_support();
      for (const int u : support)
      {
        element(u);
      }
      for (Eigen::Index u = 0; support.empty() && u < data.acceleration.size(); ++u)
      {
        element(u);
      }
      misses.add(problem.row_scale(row), problem.bias(row), got, terms);
    }
  }
}

inline bool TreeSolver::judge(
  const TreeProblem & problem, TreeSolverData & data, double & inconsistency) const noexcept
{
  const TreeData & tree_data = static_cast<const TreeData &>(problem.system_data);
  Misses misses;
  const auto add = [&](Eigen::Index row, double got, double terms)
  { misses.add(problem.row_scale(row), problem.bias(row), got, terms); };
  for (std::size_t i = 0; i < frame_terms_.size(); ++i)
  {
    const FrameTerms & terms = frame_terms_[i];
    if (!problem.active[idx(terms.constraint)])
    {
      continue;
    }
    const FrameRowForces & forces = data.forces[i];
    Eigen::Vector3d linear = Eigen::Vector3d::Zero();
    Eigen::Vector3d angular = Eigen::Vector3d::Zero();
    double linear_reach = 0.0;
    double angular_reach = 0.0;
    const auto side = [&](int body, double sign)
    {
      if (body >= 0)
      {
        const TreeSolverData::Body & b = data.bodies[idx(body)];
        const Eigen::Vector3d r = forces.point - tree_data.motions[idx(body)].position;
        linear += sign * (b.linear + b.angular.cross(r));
        angular += sign * b.angular;
        linear_reach += b.linear_reach + b.angular_reach * r.lpNorm<1>();
        angular_reach += b.angular_reach;
      }
    };
    side(terms.body_a, 1.0);
    side(terms.body_b, -1.0);
    const Eigen::Index first = set_.row_offset(terms.constraint);
    for (std::size_t k = 0; k < terms.places_a.size(); ++k)
    {
      add(
        first + static_cast<Eigen::Index>(k),
        forces.force[k].dot(linear) + forces.torque[k].dot(angular),
        forces.force[k].lpNorm<1>() * linear_reach + forces.torque[k].lpNorm<1>() * angular_reach);
    }
  }
  judge_dense(problem, data, misses);
  inconsistency = misses.relative();
  return inconsistency <= kLargestMiss;
}

inline bool TreeSolver::find_motion(
  const TreeProblem & problem, TreeSolverData & data, double & inconsistency) const noexcept
{
  move(static_cast<const TreeData &>(problem.system_data), data);
  return judge(problem, data, inconsistency);
}

/// Forces and wrenches of rows between frames, on their bodies.
inline void TreeSolver::add_frame_forces(
  const TreeData & tree_data, TreeSolverData & data, Solution & solution) const noexcept
{
  for (std::size_t i = 0; i < frame_terms_.size(); ++i)
  {
    const FrameTerms & terms = frame_terms_[i];
    const FrameRowForces & forces = data.forces[i];
    const Eigen::Index first = set_.row_offset(terms.constraint);
    Eigen::Vector3d force = Eigen::Vector3d::Zero();
    Eigen::Vector3d torque = Eigen::Vector3d::Zero();
    for (std::size_t k = 0; k < terms.places_a.size(); ++k)
    {
      const double lambda = solution.multipliers(first + static_cast<Eigen::Index>(k));
      force += lambda * forces.force[k];
      torque += lambda * forces.torque[k];
    }
    if (terms.body_a >= 0)
    {
      TreeSolverData::Body & b = data.bodies[idx(terms.body_a)];
      b.f += force;
      b.n += torque + (forces.point - tree_data.motions[idx(terms.body_a)].position).cross(force);
    }
    if (terms.body_b >= 0)
    {
      TreeSolverData::Body & b = data.bodies[idx(terms.body_b)];
      b.f -= force;
      b.n -= torque + (forces.point - tree_data.motions[idx(terms.body_b)].position).cross(force);
    }
    WrenchPair & pair = solution.wrenches[idx(set_.wrench_offset(terms.constraint))];
    pair.on_a.point = forces.wrench_point;
    pair.on_a.force = force;
    pair.on_a.torque = torque + (forces.point - forces.wrench_point).cross(force);
    pair.on_b.point = pair.on_a.point;
    pair.on_b.force = -pair.on_a.force;
    pair.on_b.torque = -pair.on_a.torque;
  }
}

/// The others add to the generalized force itself.
inline void TreeSolver::add_dense_forces(
  const TreeProblem & problem, ConstraintScratch & scratch, const TreeSolverData & data,
  Solution & solution) const noexcept
{
  Eigen::VectorXd & out = solution.constraint_force;
  for (const int c : dense_constraints_)
  {
    const Eigen::Index first = set_.row_offset(c);
    const Eigen::Index count = set_[c].row_count();
    if (problem.active[idx(c)])
    {
      for (Eigen::Index row = first; row < first + count; ++row)
      {
        const std::vector<int> & support = set_[c].speed_support();
        for (const int u : support)
        {
          out(u) += solution.multipliers(row) * data.dense_jacobian(row, u);
        }
        for (Eigen::Index u = 0; support.empty() && u < out.size(); ++u)
        {
          out(u) += solution.multipliers(row) * data.dense_jacobian(row, u);
        }
      }
    }
    if (!set_[c].wrench_bodies().empty())
    {
      set_[c].wrenches(
        problem.system_data, scratch, solution.multipliers.segment(first, count),
        solution.wrenches.data() + set_.wrench_offset(c));
    }
  }
}

inline void TreeSolver::forces(
  const TreeProblem & problem, ConstraintScratch & scratch, TreeSolverData & data,
  Solution & solution) const noexcept
{
  const TreeData & tree_data = static_cast<const TreeData &>(problem.system_data);
  for (std::size_t i = 0; i < tree_.bodies.size(); ++i)
  {
    data.bodies[i].f.setZero();
    data.bodies[i].n.setZero();
  }
  add_frame_forces(tree_data, data, solution);
  Eigen::VectorXd & out = solution.constraint_force;
  for (std::size_t i = tree_.bodies.size(); i-- > 0;)
  {
    const TreeSolverData::Body & b = data.bodies[i];
    tree_.project(i, tree_data.motions[i], b.f, b.n, [&](int u, double value) { out(u) = value; });
    const int parent = tree_.bodies[i].parent;
    if (parent >= 0)
    {
      TreeSolverData::Body & p = data.bodies[idx(parent)];
      p.f += b.f;
      p.n += b.n + tree_data.motions[i].arm.cross(b.f);
    }
  }
  add_dense_forces(problem, scratch, data, solution);
}

}  // namespace constrained_dynamics
