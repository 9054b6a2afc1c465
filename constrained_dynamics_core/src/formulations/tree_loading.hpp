// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <algorithm>
#include <cmath>

#include <Eigen/Geometry>

#include "formulations/tree_solver.hpp"

/// @file
/// Stage of TreeSolver::solve: bodies and rows before the recursion. See tree_solver.cpp.

namespace constrained_dynamics
{

inline void TreeSolver::begin(const TreeProblem & problem, TreeSolverData & data) const noexcept
{
  const TreeData & tree_data = static_cast<const TreeData &>(problem.system_data);
  tree_.joint_force(tree_data, data.joint_force);
  for (std::size_t i = 0; i < tree_.actuated.size(); ++i)
  {
    data.joint_force(tree_.actuated[i]) += problem.inputs(static_cast<Eigen::Index>(i));
  }
  for (std::size_t i = 0; i < tree_.bodies.size(); ++i)
  {
    const TreeBody & body = tree_.bodies[i];
    const BodyMotion & m = tree_data.motions[i];
    TreeSolverData::Body & b = data.bodies[i];
    const Eigen::Vector3d c = m.rotation.lazyProduct(body.moment);
    if (is_hinge_[i])
    {
      const bool turns = body.kind == JointKind::kRevolute;
      const Eigen::Vector3d z = m.rotation.col(2);
      b.D = (turns ? body.inertia(2, 2) : body.mass) + tree_.armature(body.u);
      b.scale = turns ? body.inertia.trace() : 3.0 * body.mass;
      b.joint_force = data.joint_force(body.u) +
                      (turns ? z.dot(c.cross(tree_.gravity)) : body.mass * z.dot(tree_.gravity));
      continue;
    }
    b.J = turned(m.rotation, body.inertia);
    b.M = {body.mass, body.mass, body.mass, 0.0, 0.0, 0.0};
    b.H << 0.0, c(2), -c(1), -c(2), 0.0, c(0), c(1), -c(0), 0.0;
    const Eigen::Vector3d & w = m.angular_velocity;
    const Eigen::Vector3d a = m.acceleration_bias - tree_.gravity;
    const Eigen::Vector3d & alpha = m.angular_acceleration_bias;
    const Eigen::Vector3d momentum = b.J * w;
    b.f = body.mass * a + alpha.cross(c) + w.cross(w.cross(c));
    b.n = b.J * alpha + w.cross(momentum) + c.cross(a);
  }
  const auto act = [&](
                     int body, const Eigen::Vector3d & point, const Eigen::Vector3d & force,
                     const Eigen::Vector3d & torque)
  {
    if (body < 0)
    {
      return;
    }
    TreeSolverData::Body & b = data.bodies[idx(body)];
    const Eigen::Vector3d r = point - tree_data.motions[idx(body)].position;
    if (is_hinge_[idx(body)])
    {
      b.joint_force += screw(idx(body), tree_data, r).power(force, torque);
      return;
    }
    b.f -= force;
    b.n -= torque + r.cross(force);
  };
  for (const TreeWrench & wrench : tree_data.wrenches)
  {
    Wrench world;
    tree_.world_wrench(tree_data, wrench, world);
    act(tree_.frames[idx(wrench.frame)].body, world.point, world.force, world.torque);
  }
  tree_.visit_element_wrenches(tree_data, act);
}

inline void TreeSolver::find_copies(
  const TreeProblem & problem, TreeSolverData & data) const noexcept
{
  for (int c = 0; c < set_.size(); ++c)
  {
    data.part[idx(c)] = problem.active[idx(c)] ? c : -1;
  }
  data.has_copies = false;
  for (std::size_t i = 0; i < frame_terms_.size(); ++i)
  {
    const FrameTerms & terms = frame_terms_[i];
    int & part = data.part[idx(terms.constraint)];
    for (std::size_t t = 0; t < terms.twins.size() && part == terms.constraint; ++t)
    {
      const FrameTerms & other = frame_terms_[idx(terms.twins[t])];
      const FrameRowForces & a = data.forces[i];
      const FrameRowForces & b = data.forces[idx(terms.twins[t])];
      bool same = data.part[idx(other.constraint)] == other.constraint && a.point == b.point;
      for (std::size_t k = 0; same && k < terms.places_a.size(); ++k)
      {
        same = a.force[k] == b.force[k] && a.torque[k] == b.torque[k];
      }
      if (same)
      {
        part = other.constraint;
        data.has_copies = true;
      }
    }
  }
  // Copies that share a force by the least weighted norm act as one row with 1/weight² = Σ
  // 1/weight²; likewise for sizes.
  for (std::size_t k = 0; k < row_at_.size(); ++k)
  {
    const Eigen::Index row = row_at_[k];
    const double scale = problem.row_scale(row);
    data.compliance(static_cast<Eigen::Index>(k)) = problem.multiplier_compliance(row);
    data.strength(static_cast<Eigen::Index>(k)) = scale * scale;
  }
  for (int c = 0; data.has_copies && c < set_.size(); ++c)
  {
    const int part = data.part[idx(c)];
    for (int i = 0; part >= 0 && part != c && i < set_[c].row_count(); ++i)
    {
      const Eigen::Index own = position_of_[idx(set_.row_offset(c) + i)];
      const Eigen::Index first = position_of_[idx(set_.row_offset(part) + i)];
      data.compliance(first) += data.compliance(own);
      data.strength(first) += data.strength(own);
    }
  }
}

inline void TreeSolver::share_among_copies(
  const TreeProblem & problem, Solution & solution, TreeSolverData & data) const noexcept
{
  // λ_i ∝ 1/weight_i², and what of row i others can replace follows from what they can replace of
  // all copies together.
  for (int c = set_.size() - 1; c >= 0; --c)  // copies come after the one they copy
  {
    const int part = data.part[idx(c)];
    for (int i = 0; part >= 0 && i < set_[c].row_count(); ++i)
    {
      const Eigen::Index row = set_.row_offset(c) + i;
      const Eigen::Index from = set_.row_offset(part) + i;
      const Eigen::Index first = position_of_[idx(static_cast<int>(from))];
      const double scale = problem.row_scale(row);
      const double together = solution.redundancy(from) * solution.redundancy(from);
      const double lone = scale * scale * (1.0 - together) / data.strength(first);
      solution.multipliers(row) =
        solution.multipliers(from) * problem.multiplier_compliance(row) / data.compliance(first);
      solution.redundancy(row) = std::sqrt(std::max(0.0, 1.0 - lone));
    }
  }
}

inline void TreeSolver::load_rows(const TreeProblem & problem, TreeSolverData & data) const noexcept
{
  const TreeData & tree_data = static_cast<const TreeData &>(problem.system_data);
  data.carry.bottomRows(place_count_ - hinge_place_count_).setZero();
  data.effect.col(0).head(hinge_place_count_).setZero();
  data.dropped_count = 0;
  data.drops_real_rows = false;
  for (std::size_t k = 0; k < row_at_.size(); ++k)
  {
    const Eigen::Index row = row_at_[k];
    const Eigen::Index at = static_cast<Eigen::Index>(k);
    data.left(at) = problem.bias(row);
    data.diagonal(at) = 0.0;
    data.factor(at, at) = 0.0;
    // Rows that are switched off, and copies, stay out.
    const int c = constraint_at_[k];
    const bool takes_part = data.part[idx(c)] == c && problem.active[idx(c)];
    data.inverse_pivot(at) = takes_part ? 1.0 : 0.0;
    for (const Below & b : below_[k])
    {
      data.factor(b.position, at) = 0.0;
    }
  }
  for (std::size_t i = 0; i < frame_terms_.size(); ++i)
  {
    const FrameTerms & terms = frame_terms_[i];
    if (data.part[idx(terms.constraint)] != terms.constraint)
    {
      continue;
    }
    const FrameRowForces & forces = data.forces[i];
    const auto add = [&](int body, const std::vector<int> & places, double sign)
    {
      if (body < 0)
      {
        return;
      }
      const Eigen::Vector3d r = forces.point - tree_data.motions[idx(body)].position;
      if (is_hinge_[idx(body)])
      {
        const Screw S = screw(idx(body), tree_data, r);
        for (std::size_t k = 0; k < places.size(); ++k)
        {
          data.effect(places[k], 0) += sign * S.power(forces.force[k], forces.torque[k]);
        }
        return;
      }
      for (std::size_t k = 0; k < places.size(); ++k)
      {
        auto K = data.carry.row(places[k]);
        K.head<3>() += sign * forces.force[k];
        K.tail<3>() += sign * (forces.torque[k] + r.cross(forces.force[k]));
      }
    };
    add(terms.body_a, terms.places_a, 1.0);
    add(terms.body_b, terms.places_b, -1.0);
  }
}

inline void TreeSolver::load(
  const TreeProblem & problem, bool all, TreeSolverData & data) const noexcept
{
  begin(problem, data);
  if (all)
  {
    for (int c = 0; c < set_.size(); ++c)
    {
      data.part[idx(c)] = c;
    }
  }
  else
  {
    find_copies(problem, data);
  }
  load_rows(problem, data);
}

}  // namespace constrained_dynamics
