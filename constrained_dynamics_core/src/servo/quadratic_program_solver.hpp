// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cmath>
#include <cstddef>

#include <Eigen/Core>

#include <eiquadprog/eiquadprog-fast.hpp>

#include "servo/quadratic_program.hpp"

namespace constrained_dynamics
{

/// A row whose part beside other rows is below this fraction of it depends on them.
inline constexpr double kDependent = 1e-9;
/// Largest violation of a row as a fraction of the terms that it sums.
inline constexpr double kFeasibility = 1e-9;

inline bool is_bound(double value) { return std::isfinite(value); }

/// eiquadprog with its problem: the least distance to a polyhedron.
struct QuadraticProgram::Solver
{
  Solver(int n, int m)
  : hessian(Eigen::MatrixXd::Identity(n, n)),
    gradient(Eigen::VectorXd::Zero(n)),
    no_rows(0, n),
    no_values(0),
    normals(Eigen::MatrixXd::Zero(m, n)),
    offsets(Eigen::VectorXd::Ones(m)),
    x(Eigen::VectorXd::Zero(n))
  {
    method.reset(static_cast<std::size_t>(n), 0, static_cast<std::size_t>(m));
    method.setMaxIter(10 * (n + m) + 10);
  }

  eiquadprog::solvers::EiquadprogFast method;
  Eigen::MatrixXd hessian;
  Eigen::VectorXd gradient;
  Eigen::MatrixXd no_rows;
  Eigen::VectorXd no_values;
  Eigen::MatrixXd normals;
  Eigen::VectorXd offsets;
  Eigen::VectorXd x;
};

}  // namespace constrained_dynamics
