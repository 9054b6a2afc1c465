// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstddef>

#include <Eigen/Core>

#include <eiquadprog/eiquadprog-fast.hpp>

#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// The point of a polyhedron closest to 0, by the active-set method of Goldfarb and Idnani
/// (eiquadprog). Its tolerances are absolute, and fit normals of length one and offsets up to one.
///
/// Memory is taken in the constructor. `solve` is real-time safe, with bounded iterations.
struct ClosestPoint
{
  enum class Outcome
  {
    kFound,
    kEmpty,
    kFailed
  };

  ClosestPoint(int n, int m)
  : hessian(Eigen::MatrixXd::Identity(n, n)),
    gradient(Eigen::VectorXd::Zero(n)),
    no_rows(0, n),
    no_values(0),
    // eiquadprog looks one element past its active set, so it gets a row more than can be active.
    normals(Eigen::MatrixXd::Zero(m + 1, n)),
    offsets(Eigen::VectorXd::Ones(m + 1)),
    x(Eigen::VectorXd::Zero(n))
  {
    method.reset(static_cast<std::size_t>(n), 0, static_cast<std::size_t>(m) + 1);
    method.setMaxIter(10 * (n + m) + 10);
  }

  /// Finds x for normals x + offsets ≥ 0, the first `rows` of them in the first `variables`.
  Outcome solve(Eigen::Index variables, Eigen::Index rows) noexcept CD_NONBLOCKING
  {
    // Rows and variables that this problem does not have must not count.
    normals.bottomRows(normals.rows() - rows).setZero();
    offsets.tail(offsets.size() - rows).setOnes();
    normals.rightCols(normals.cols() - variables).setZero();
    const double unit = rows > 0 ? -offsets.head(rows).minCoeff() : 0.0;
    if (!(unit > 0.0 && unit <= 1e300) || !offsets.allFinite())
    {
      return Outcome::kFailed;
    }
    offsets.head(rows) /= unit;
    const auto status =
      method.solve_quadprog(hessian, gradient, no_rows, no_values, normals, offsets, x);
    if (status == eiquadprog::solvers::EIQUADPROG_FAST_OPTIMAL)
    {
      x *= unit;
      return Outcome::kFound;
    }
    // Its name for a problem whose dual is unbounded.
    return status == eiquadprog::solvers::EIQUADPROG_FAST_UNBOUNDED ? Outcome::kEmpty
                                                                    : Outcome::kFailed;
  }

  int active_count() const { return static_cast<int>(method.getActiveSetSize()); }
  std::size_t active(int k) const { return static_cast<std::size_t>(method.getActiveSet()(k)); }

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
