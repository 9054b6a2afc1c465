// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formulations/kane_nonminimal.hpp"

#include <cmath>
#include <limits>

#include <Eigen/LU>

#include "row_scratch.hpp"

namespace constrained_dynamics
{

namespace
{

/// T u̇ = V (E6) in the order of the problem.
class NonminimalData : public RowScratch
{
public:
  NonminimalData(int n, int m)
  : RowScratch(n, m),
    T(Eigen::MatrixXd::Zero(n, n)),
    V(Eigen::VectorXd::Zero(n)),
    scaled(Eigen::MatrixXd::Identity(n, n)),
    row_factor(Eigen::VectorXd::Ones(n)),
    column_factor(Eigen::VectorXd::Ones(n)),
    work(Eigen::VectorXd::Zero(n)),
    permuted(Eigen::VectorXd::Zero(n)),
    lu(n)
  {
  }

  void form(const RowProblem & problem) noexcept
  {
    const ConstMatrixRef & Q = problem.mass_matrix;
    const Eigen::Index r = rank();
    const Eigen::Index p = speed_count() - r;
    const Eigen::VectorXi & order = factorisation.order();
    const auto K = factorisation.dependency();
    auto A1 = T.topRows(r);
    auto A2_Q = T.bottomRows(p);
    A1.setZero();
    for (Eigen::Index k = 0; k < r; ++k)
    {
      A1(k, order(k)) = 1.0;
      V(k) = particular(k);
    }
    for (Eigen::Index i = 0; i < p; ++i)
    {
      A1.col(order(r + i)) = -K.col(i);
      A2_Q.row(i) = Q.row(order(r + i));
      double h = problem.force(order(r + i));
      for (Eigen::Index k = 0; k < r; ++k)
      {
        A2_Q.row(i) += K(k, i) * Q.row(order(k));
        h += K(k, i) * problem.force(order(k));
      }
      V(r + i) = h;
    }
  }

  /// False where T is singular to rounding.
  bool factor(const ConstMatrixRef & mass_matrix) noexcept
  {
    const Eigen::Index n = speed_count();
    // Columns by the inertia of their speed, then rows by their largest element: neither units nor
    // light bodies beside heavy ones may decide about pivots.
    for (Eigen::Index j = 0; j < n; ++j)
    {
      const double inertia = std::abs(mass_matrix(j, j));
      column_factor(j) = inertia > 0.0 ? 1.0 / std::sqrt(inertia) : 1.0;
      scaled.col(j) = column_factor(j) * T.col(j);
    }
    for (Eigen::Index i = 0; i < n; ++i)
    {
      const double largest = scaled.row(i).cwiseAbs().maxCoeff();
      if (!(largest > 0.0) || !std::isfinite(largest))
      {
        return false;
      }
      row_factor(i) = 1.0 / largest;
      scaled.row(i) *= row_factor(i);
    }
    lu.compute(scaled);
    const double smallest = static_cast<double>(n) * std::numeric_limits<double>::epsilon();
    for (Eigen::Index i = 0; i < n; ++i)
    {
      if (!(std::abs(lu.matrixLU()(i, i)) > smallest))
      {
        return false;
      }
    }
    return true;
  }

  /// Adds T⁻¹ right to the acceleration; `right` is destroyed.
  void add_motion(VectorRef right) noexcept
  {
    right.array() *= row_factor.array();
    permuted = lu.permutationP() * right;
    lu.matrixLU().triangularView<Eigen::UnitLower>().solveInPlace(permuted);
    lu.matrixLU().triangularView<Eigen::Upper>().solveInPlace(permuted);
    acceleration.array() += column_factor.array() * permuted.array();
  }

  void move() noexcept
  {
    acceleration.setZero();
    work = V;
    add_motion(work);
    // Terms of V may be far larger than their sum: one step of iterative refinement.
    work = V;
    work.noalias() -= T * acceleration;
    add_motion(work);
  }

  Eigen::MatrixXd T;
  Eigen::VectorXd V;
  Eigen::MatrixXd scaled;
  Eigen::VectorXd row_factor;
  Eigen::VectorXd column_factor;
  Eigen::VectorXd work;
  Eigen::VectorXd permuted;
  Eigen::PartialPivLU<Eigen::MatrixXd> lu;
};

}  // namespace

std::unique_ptr<FormulationData> KaneNonminimal::make_data(int speed_count, int max_row_count) const
{
  return std::make_unique<NonminimalData>(speed_count, max_row_count);
}

const RowFactorisation & KaneNonminimal::factorisation(const FormulationData & data)
{
  return static_cast<const NonminimalData &>(data).factorisation;
}

void KaneNonminimal::equations(
  const FormulationData & data, MatrixRef matrix, VectorRef right) noexcept CD_NONBLOCKING
{
  matrix = static_cast<const NonminimalData &>(data).T;
  right = static_cast<const NonminimalData &>(data).V;
}

Status KaneNonminimal::do_solve_rows(
  const RowProblem & problem, const RankOptions & options, FormulationData & formulation_data,
  RowSolution & solution) const noexcept CD_NONBLOCKING
{
  NonminimalData & data = static_cast<NonminimalData &>(formulation_data);
  const Status rank_status = data.begin(problem, options);
  if (!has_output(rank_status))
  {
    return rank_status;
  }
  data.form(problem);
  if (!data.factor(problem.mass_matrix))
  {
    return Status::kSingularInertia;
  }
  data.move();
  data.force_from_motion(problem);
  return data.finish(problem, options, rank_status, solution);
}

}  // namespace constrained_dynamics
