// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Cholesky>

#include "servo/quadratic_program.hpp"
#include "servo/quadratic_program_tolerances.hpp"

// The problem as a distance, without the rows of equality.

namespace constrained_dynamics
{

namespace
{

/// A diagonal element below this fraction of the largest is 0: it is the square of a rounding
/// error, while units of variables that differ by 1e12 still count.
constexpr double kFlat = 1e-24;
/// The most negative diagonal element that counts as 0, as a fraction of the largest.
constexpr double kNegative = 1e-12;

}  // namespace

/// x = transformᵀ w with the metric 1 in w. False where H is not definite.
bool QuadraticProgram::factor(
  const Problem & problem, double enlargement, double least_pivot) noexcept CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  const double largest = problem.hessian.diagonal().maxCoeff();
  if (!(problem.hessian.diagonal().minCoeff() >= -kNegative * std::abs(largest)))
  {
    return false;
  }
  for (Eigen::Index j = 0; j < n; ++j)
  {
    const double diagonal = problem.hessian(j, j);
    const bool is_flat = !(diagonal > kFlat * largest);
    scale_(j) = 1.0 / std::sqrt(!is_flat ? diagonal : (largest > 0.0 ? largest : 1.0));
  }
  Eigen::Ref<Eigen::MatrixXd> L = cholesky_.topLeftCorner(n, n);
  for (Eigen::Index j = 0; j < n; ++j)
  {
    for (Eigen::Index i = j; i < n; ++i)
    {
      L(i, j) = problem.hessian(i, j) * scale_(i) * scale_(j);
    }
    L(j, j) += enlargement;
  }
  // ½ ‖E x − e‖² changes nothing where E x = e, and makes H definite where only the rows do.
  Eigen::Ref<Eigen::VectorXd> a = work_.head(n);
  equality_pull_.head(n).setZero();
  for (Eigen::Index k = 0; k < problem.equality_values.size(); ++k)
  {
    a = problem.equalities.row(k).transpose().cwiseProduct(scale_.head(n));
    const double length = a.norm();
    if (length > 0.0)
    {
      a /= length;
      for (Eigen::Index j = 0; j < n; ++j)
      {
        if (a(j) != 0.0)
        {
          L.col(j).tail(n - j) += a(j) * a.tail(n - j);
        }
      }
      equality_pull_.head(n) += (problem.equality_values(k) / length) * a;
    }
  }
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> cholesky(L);
  if (cholesky.info() != Eigen::Success || !(L.diagonal().minCoeff() > least_pivot))
  {
    return false;
  }
  Eigen::Ref<Eigen::MatrixXd> T = transform_.topLeftCorner(n, n);
  T.setIdentity();
  L.triangularView<Eigen::Lower>().solveInPlace(T);
  for (Eigen::Index j = 0; j < n; ++j)
  {
    T.col(j) *= scale_(j);
  }
  return true;
}

/// Makes column `count` of the basis orthogonal to those before, coefficients to the triangle.
/// False where it depends on them.
bool QuadraticProgram::orthogonalise(
  Eigen::MatrixXd & basis, Eigen::MatrixXd & triangle, int count) noexcept CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  Eigen::Ref<Eigen::VectorXd> a = basis.col(count).head(n);
  const double length = a.norm();
  triangle.col(count).head(count).setZero();
  for (int pass = 0; pass < 2; ++pass)  // twice is enough
  {
    for (int k = 0; k < count; ++k)
    {
      const double part = basis.col(k).head(n).dot(a);
      triangle(k, count) += part;
      a -= part * basis.col(k).head(n);
    }
  }
  const double rest = a.norm();
  triangle(count, count) = rest;
  if (count >= n || !(rest > kDependent * length))
  {
    return false;
  }
  a /= rest;
  return true;
}

/// Takes the rows of equality out. False where they contradict each other.
bool QuadraticProgram::eliminate(const Problem & problem) noexcept CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  Eigen::Ref<Eigen::MatrixXd> T = transform_.topLeftCorner(n, n);
  rank_ = 0;
  for (Eigen::Index i = 0; i < problem.equality_values.size(); ++i)
  {
    Eigen::Ref<Eigen::VectorXd> a = basis_.col(rank_).head(n);
    a.setZero();
    for (Eigen::Index j = 0; j < n; ++j)
    {
      a.tail(n - j) += problem.equalities(i, j) * T.col(j).tail(n - j);
    }
    const bool is_independent = orthogonalise(basis_, triangle_, rank_);
    double rest = problem.equality_values(i);
    double size = std::abs(rest);
    for (int k = 0; k < rank_; ++k)
    {
      rest -= triangle_(k, rank_) * equality_part_(k);
      size += std::abs(triangle_(k, rank_) * equality_part_(k));
    }
    if (is_independent)
    {
      equality_part_(rank_) = rest / triangle_(rank_, rank_);
      basis_row_(rank_) = static_cast<int>(i);
      ++rank_;
    }
    else if (!(std::abs(rest) <= kFeasibility * size))
    {
      return false;
    }
  }
  Eigen::Ref<Eigen::MatrixXd> S = coupling_.topLeftCorner(rank_, n);
  S.noalias() = basis_.topLeftCorner(n, rank_).transpose() * T;
  T.noalias() -= basis_.topLeftCorner(n, rank_) * S;
  return true;
}

/// The minimum with the rows of equality alone.
void QuadraticProgram::find_unlimited(const Problem & problem, double enlargement) noexcept
  CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  Eigen::Ref<Eigen::VectorXd> w = w_.head(n);
  Eigen::Ref<Eigen::VectorXd> x = x_unlimited_.head(n);
  for (Eigen::Index j = 0; j < n; ++j)
  {
    w(j) =
      equality_pull_(j) + enlargement * centre_(j) / scale_(j) - problem.gradient(j) * scale_(j);
  }
  cholesky_.topLeftCorner(n, n).triangularView<Eigen::Lower>().solveInPlace(w);
  x.noalias() = transform_.topLeftCorner(n, n).transpose() * w;
  x.noalias() += coupling_.topLeftCorner(rank_, n).transpose() * equality_part_.head(rank_);
  // Once more with what rounding left of the rows.
  for (int k = 0; k < rank_; ++k)
  {
    double rest = problem.equality_values(basis_row_(k));
    for (Eigen::Index j = 0; j < n; ++j)
    {
      rest -= problem.equalities(basis_row_(k), j) * x(j);
    }
    y_(k) = (rest - triangle_.col(k).head(k).dot(y_.head(k))) / triangle_(k, k);
  }
  x.noalias() += coupling_.topLeftCorner(rank_, n).transpose() * y_.head(rank_);
}

}  // namespace constrained_dynamics
