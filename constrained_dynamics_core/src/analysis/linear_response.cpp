// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "analysis/linear_response.hpp"

#include <algorithm>

#include "analysis/dense_products.hpp"

namespace constrained_dynamics
{

LinearResponse::LinearResponse(int speed_count, int max_row_count, int max_columns)
: factorisation_(speed_count, std::max(max_row_count, 1)),
  reduced_(speed_count),
  inverse_(Eigen::MatrixXd::Zero(speed_count, speed_count))
{
  const Eigen::Index n = speed_count;
  const Eigen::Index m = max_row_count;
  const Eigen::Index r = std::min(n, m);
  by_force_.setZero(n + r, n);
  by_rows_.setZero(n + r, m);
  dependency_.setZero(r, n);
  transposed_.setZero(n, r);
  dependent_rows_.setZero(r, n);
  reduced_rows_.setZero(n, n);
  solved_.setZero(n, n + r);
  particular_.setZero(r, m);
  ordered_rows_.setZero(n, m);
  scratch_.setZero(n, std::max(speed_count, max_columns));
  multipliers_.setZero(m, r);
  unit_.setZero(std::max(n, m));
}

void LinearResponse::factor(
  const ConstMatrixRef & rows, const ConstVectorRef & row_scale, int nominal_rank,
  const RankOptions & options) noexcept CD_NONBLOCKING
{
  // Sizes fit and numbers are finite, because they come from a solution.
  static_cast<void>(factorisation_.factor(rows, row_scale, nominal_rank, options));
}

Status LinearResponse::update(const ConstMatrixRef & mass_matrix) noexcept CD_NONBLOCKING
{
  const ConstMatrixRef & Q = mass_matrix;
  const Eigen::Index n = Q.rows();
  const Eigen::Index r = rank();
  const Eigen::Index p = n - r;
  const Eigen::VectorXi & order = factorisation_.order();
  auto K = dependency_.topLeftCorner(r, p);
  auto K_transposed = transposed_.topLeftCorner(p, r);
  K = factorisation_.dependency();
  K_transposed = K.transpose();

  // Nᵀ Q and Nᵀ Q N.
  auto Q_D = dependent_rows_.topLeftCorner(r, n);
  auto NQ = reduced_rows_.topLeftCorner(p, n);
  for (Eigen::Index j = 0; j < n; ++j)
  {
    const auto column = Q.col(order(j));
    for (Eigen::Index i = 0; i < r; ++i)
    {
      Q_D(i, j) = column(order(i));
    }
    for (Eigen::Index i = 0; i < p; ++i)
    {
      NQ(i, j) = column(order(r + i));
    }
  }
  add_product(1.0, K_transposed, Q_D, NQ);
  auto reduced = reduced_.matrix(p);
  reduced = NQ.rightCols(p);
  add_product(1.0, NQ.leftCols(r), K, reduced);
  if (!reduced_.factor(p))
  {
    return Status::kSingularInertia;
  }
  // The inverse first: products with it cost less than solving for all columns.
  auto solved = solved_.topLeftCorner(p, n + r);
  auto inverse = solved.middleCols(r, p);
  inverse.setIdentity();
  reduced_.solve_columns(inverse);
  solved.leftCols(r).setZero();
  solved.rightCols(r).setZero();
  add_product(1.0, inverse, K_transposed, solved.leftCols(r));
  add_product(1.0, inverse, NQ.leftCols(r), solved.rightCols(r));
  fill_inverse();
  if (r > 0)
  {
    fill_row_response();
  }
  return Status::kOk;
}

void LinearResponse::fill_inverse() noexcept
{
  const Eigen::Index n = inverse_.rows();
  const Eigen::Index r = rank();
  const Eigen::Index p = n - r;
  const Eigen::VectorXi & order = factorisation_.order();
  const auto H_I = solved_.topLeftCorner(p, n);
  auto H_D = scratch_.topLeftCorner(r, n);
  H_D.setZero();
  add_product(1.0, dependency_.topLeftCorner(r, p), H_I, H_D);
  for (Eigen::Index j = 0; j < n; ++j)
  {
    auto column = inverse_.col(order(j));
    for (Eigen::Index i = 0; i < r; ++i)
    {
      column(order(i)) = H_D(i, j);
    }
    for (Eigen::Index i = 0; i < p; ++i)
    {
      column(order(r + i)) = H_I(i, j);
    }
  }
  by_force_.topRows(n) = -inverse_;
}

/// B, F and Λ.
void LinearResponse::fill_row_response() noexcept
{
  const Eigen::Index n = inverse_.rows();
  const Eigen::Index m = row_count();
  const Eigen::Index r = rank();
  const Eigen::Index p = n - r;
  const Eigen::VectorXi & order = factorisation_.order();
  const auto K = dependency_.topLeftCorner(r, p);
  const auto Q_D = dependent_rows_.topLeftCorner(r, n);
  auto particular = particular_.topLeftCorner(r, m);
  for (Eigen::Index k = 0; k < m; ++k)
  {
    unit_.head(m).setZero();
    unit_(k) = 1.0;
    factorisation_.particular(unit_.head(m), particular.col(k));
  }
  // B = [T − K U T; −U T], T = R11⁻¹ H1ᵀ S, U = (Nᵀ Q N)⁻¹ Nᵀ Q_D.
  auto B = ordered_rows_.topLeftCorner(n, m);
  B.topRows(r) = particular;
  B.bottomRows(p).setZero();
  add_product(-1.0, solved_.block(0, n, p, r), particular, B.bottomRows(p));
  add_product(1.0, K, B.bottomRows(p), B.topRows(r));
  for (Eigen::Index k = 0; k < m; ++k)
  {
    for (Eigen::Index i = 0; i < n; ++i)
    {
      by_rows_(order(i), k) = -B(i, k);
    }
  }
  auto minus_Lambda = by_rows_.block(n, 0, r, m);
  minus_Lambda.setZero();
  add_product(-1.0, Q_D, B, minus_Lambda);
  // F = [1 0] − Q_D N (Nᵀ Q N)⁻¹ Nᵀ.
  auto QN = scratch_.topLeftCorner(r, p);
  QN = Q_D.rightCols(p);
  add_product(1.0, Q_D.leftCols(r), K, QN);
  auto F = reduced_rows_.topLeftCorner(r, n);  // Nᵀ Q is not needed any more
  F.setZero();
  F.leftCols(r).setIdentity();
  add_product(-1.0, QN, solved_.topLeftCorner(p, n), F);
  for (Eigen::Index j = 0; j < n; ++j)
  {
    by_force_.col(order(j)).segment(n, r) = F.col(j);
  }
}

void LinearResponse::respond(
  const ConstMatrixRef & E, const ConstMatrixRef & C, MatrixRef out) const noexcept CD_NONBLOCKING
{
  out.setZero();
  add_product(1.0, by_force_.topRows(out.rows()), E, out);
  add_product(1.0, by_rows_.topLeftCorner(out.rows(), C.rows()), C, out);
}

void LinearResponse::find_multipliers(const ConstVectorRef & weight) noexcept CD_NONBLOCKING
{
  const Eigen::Index m = row_count();
  const Eigen::Index r = rank();
  if (m == r)
  {
    multipliers_.topLeftCorner(m, r) = particular_.topLeftCorner(r, m).transpose();
  }
  for (Eigen::Index i = 0; i < r && m > r; ++i)
  {
    auto force = unit_.head(inverse_.rows());
    force.setZero();
    force(factorisation_.order()(i)) = 1.0;
    factorisation_.multipliers(force, weight, multipliers_.col(i).head(m));
  }
}

void LinearResponse::forces(const ConstMatrixRef & dependent, MatrixRef out) const noexcept
  CD_NONBLOCKING
{
  const Eigen::Index r = rank();
  const Eigen::Index p = out.rows() - r;
  const Eigen::VectorXi & order = factorisation_.order();
  auto independent = scratch_.topLeftCorner(p, dependent.cols());
  independent.setZero();
  add_product(-1.0, transposed_.topLeftCorner(p, r), dependent, independent);
  for (Eigen::Index j = 0; j < dependent.cols(); ++j)
  {
    for (Eigen::Index i = 0; i < r; ++i)
    {
      out(order(i), j) = dependent(i, j);
    }
    for (Eigen::Index i = 0; i < p; ++i)
    {
      out(order(r + i), j) = independent(i, j);
    }
  }
}

}  // namespace constrained_dynamics
