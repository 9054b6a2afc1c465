// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <algorithm>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "constrained_dynamics/analysis/derivatives.hpp"
#include "support/dense_algebra.hpp"

/// @file
/// Derivatives of the constrained system against central differences of the whole solution.

namespace constrained_dynamics::test
{

class Random
{
public:
  explicit Random(unsigned seed) : generator_(seed) { std::cout << "seed " << seed << "\n"; }
  Eigen::VectorXd vector(Eigen::Index size, double width)
  {
    std::uniform_real_distribution<double> draw(-width, width);
    return Eigen::VectorXd::NullaryExpr(size, [&]() { return draw(generator_); });
  }

private:
  std::mt19937 generator_;
};

/// A state of a constrained system with everything that acts on it.
struct Case
{
  std::shared_ptr<const Dynamics> dynamics;
  std::unique_ptr<Workspace> workspace;
  State state;
  Eigen::VectorXd inputs;
};

inline Case make_case(std::shared_ptr<const Dynamics> dynamics, const State & state)
{
  Case result;
  result.dynamics = std::move(dynamics);
  result.workspace = std::make_unique<Workspace>(Workspace::unanalysed(*result.dynamics));
  result.state = state;
  result.inputs.setZero(result.dynamics->system().input_count());
  return result;
}

/// Moves coordinates, speeds and inputs at random and back to the manifold.
inline bool shake(Random & random, double width, double speed_width, Case & at)
{
  const Dynamics & dynamics = *at.dynamics;
  const System & system = dynamics.system();
  Workspace & workspace = *at.workspace;
  State state = at.state;
  if (dynamics.evaluate_rows(state.time, state.q, state.u, workspace) != Status::kOk)
  {
    return false;
  }
  state.q += workspace.terms().kinematic_matrix * random.vector(system.speed_count(), width);
  system.normalise(state.q);
  state.u += random.vector(system.speed_count(), speed_width);
  if (
    dynamics.project_position(state.time, state.q, workspace) != Status::kOk ||
    dynamics.project_velocity(state.time, state.q, state.u, workspace) != Status::kOk)
  {
    return false;
  }
  at.state = state;
  at.inputs = random.vector(system.input_count(), 3.0);
  return true;
}

/// u̇, λ and F^c, one below the other.
inline Eigen::VectorXd solution_at(
  const Case & at, const Eigen::VectorXd & q, const Eigen::VectorXd & u,
  const Eigen::VectorXd & tau)
{
  Workspace & workspace = *at.workspace;
  const Status status = at.dynamics->solve(at.state.time, q, u, tau, workspace);
  EXPECT_TRUE(has_output(status)) << to_string(status);
  const Solution & solution = workspace.solution();
  Eigen::VectorXd result(
    solution.acceleration.size() + solution.multipliers.size() + solution.constraint_force.size());
  result << solution.acceleration, solution.multipliers, solution.constraint_force;
  return result;
}

/// Central difference of fourth order of the solution along a direction of (δ, u, τ).
inline Eigen::VectorXd difference(
  const Case & at, const Eigen::MatrixXd & C, const Eigen::VectorXd & direction)
{
  const System & system = at.dynamics->system();
  const Eigen::Index n = system.speed_count();
  // Small against the curvature of rows that are not far from singular; rounding is 1e-12 then.
  const double step = 2e-4 / std::max(1.0, direction.norm());
  const auto value = [&](double length)
  {
    Eigen::VectorXd q = at.state.q + length * C * direction.head(n);
    system.normalise(q);
    return solution_at(
      at, q, at.state.u + length * direction.segment(n, n),
      at.inputs + length * direction.tail(system.input_count()));
  };
  const Eigen::VectorXd near = value(step) - value(-step);
  const Eigen::VectorXd far = value(2.0 * step) - value(-2.0 * step);
  return (8.0 * near - far) / (12.0 * step);
}

inline Eigen::MatrixXd stacked(const SolutionDerivatives & d)
{
  const Eigen::Index n = d.acceleration_q.rows();
  const Eigen::Index m = d.multipliers_q.rows();
  Eigen::MatrixXd result(2 * n + m, 2 * n + d.acceleration_input.cols());
  result << d.acceleration_q, d.acceleration_u, d.acceleration_input, d.multipliers_q,
    d.multipliers_u, d.multipliers_input, d.constraint_force_q, d.constraint_force_u,
    d.constraint_force_input;
  return result;
}

/// Directions of (δ, u, τ) that keep φ, φ̇ and ψ to first order.
inline Eigen::MatrixXd tangent_directions(const SolutionDerivatives & d)
{
  const Eigen::Index m = d.position_q.rows();
  const Eigen::Index n = d.position_q.cols();
  const Eigen::Index l = d.acceleration_input.cols();
  Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(2 * m, 2 * n);
  rows << d.position_q, Eigen::MatrixXd::Zero(m, n), d.velocity_q, d.velocity_u;
  const Eigen::MatrixXd kernel =
    rows.rows() == 0 ? Eigen::MatrixXd::Identity(2 * n, 2 * n) : kernel_of(rows, 1e-9);
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(2 * n + l, kernel.cols() + l);
  result.topLeftCorner(2 * n, kernel.cols()) = kernel;
  result.bottomRightCorner(l, l).setIdentity();
  return result;
}

/// Compares with differences: in all directions, or only in those that keep the rows. Numbers of
/// one kind (u̇, λ, F^c) are relative to the largest of their kind in the whole derivative; F^c is a
/// difference of forces, so these count, too.
inline void expect_differences(const Case & at, bool tangent_only, const std::string & what)
{
  SolutionDerivatives d;
  const Status status =
    differentiate(*at.dynamics, at.state.time, at.state.q, at.state.u, at.inputs, *at.workspace, d);
  ASSERT_EQ(status, Status::kOk) << what;
  const Eigen::MatrixXd C = at.workspace->terms().kinematic_matrix;
  const Eigen::MatrixXd analytic = stacked(d);
  const Eigen::MatrixXd directions =
    tangent_only ? tangent_directions(d)
                 : Eigen::MatrixXd(Eigen::MatrixXd::Identity(analytic.cols(), analytic.cols()));
  const Eigen::Index n = d.acceleration_q.rows();
  const Eigen::Index m = d.multipliers_q.rows();
  const Eigen::MatrixXd expected = analytic * directions;
  Eigen::MatrixXd found(expected.rows(), expected.cols());
  for (Eigen::Index k = 0; k < directions.cols(); ++k)
  {
    found.col(k) = difference(at, C, directions.col(k));
  }
  const std::vector<std::pair<Eigen::Index, Eigen::Index>> parts{{0, n}, {n, m}, {n + m, n}};
  const char * names[] = {"acceleration", "multipliers", "constraint force"};
  for (std::size_t i = 0; i < parts.size(); ++i)
  {
    const Eigen::MatrixXd a = expected.middleRows(parts[i].first, parts[i].second);
    const Eigen::MatrixXd b = found.middleRows(parts[i].first, parts[i].second);
    if (a.size() == 0)
    {
      continue;
    }
    double size = std::max(1e-3, a.cwiseAbs().maxCoeff());
    if (i == 2)
    {
      const Eigen::MatrixXd inertial = at.workspace->terms().mass_matrix * expected.topRows(n);
      size = std::max(size, inertial.cwiseAbs().maxCoeff());
    }
    EXPECT_LE((a - b).cwiseAbs().maxCoeff(), 1e-6 * size)
      << what << ", " << names[i] << ", size " << size;
  }
}

}  // namespace constrained_dynamics::test
