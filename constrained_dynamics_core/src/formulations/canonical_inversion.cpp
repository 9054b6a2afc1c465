// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formulations/canonical_inversion.hpp"

#include "row_scratch.hpp"

namespace constrained_dynamics
{

namespace
{

class CanonicalData : public RootScratch
{
public:
  CanonicalData(int n, int m)
  : RootScratch(n, m),
    constraint_part(Eigen::VectorXd::Zero(n)),
    momentum_part(Eigen::VectorXd::Zero(n)),
    next_constraint_part(Eigen::VectorXd::Zero(n)),
    next_momentum_part(Eigen::VectorXd::Zero(n)),
    part(Eigen::VectorXd::Zero(n)),
    root(Eigen::MatrixXd::Identity(n, n))
  {
  }

  /// Adds both parts of (E9) for the rows A1 u̇ = beta and the force h: the projector keeps what of
  /// U is not the range of R⁻ᵀ A1ᵀ.
  void add_parts(const ConstVectorRef & beta_now, const ConstVectorRef & force) noexcept
  {
    const Eigen::Index n = speed_count();
    const Eigen::Index r = rank();
    part.head(r) = beta_now;
    part.tail(n - r).setZero();
    range.divide_by_transpose(part.head(r));
    range.apply(part);
    next_constraint_part += part;
    part = force;
    inertia.divide_by_transpose(part);
    range.apply_transpose(part);
    part.head(r).setZero();
    range.apply(part);
    next_momentum_part += part;
    acceleration = next_constraint_part + next_momentum_part;
    inertia.divide(acceleration);
  }

  // Of the last solve with output; the others are of a solve under way.
  Eigen::VectorXd constraint_part;
  Eigen::VectorXd momentum_part;
  Eigen::VectorXd next_constraint_part;
  Eigen::VectorXd next_momentum_part;
  Eigen::VectorXd part;
  Eigen::MatrixXd root;
};

const CanonicalData & canonical(const FormulationData & data)
{
  return static_cast<const CanonicalData &>(data);
}

}  // namespace

std::unique_ptr<FormulationData> CanonicalInversion::make_data(
  int speed_count, int max_row_count) const
{
  return std::make_unique<CanonicalData>(speed_count, max_row_count);
}

const Eigen::VectorXd & CanonicalInversion::constraint_part(const FormulationData & data)
{
  return canonical(data).constraint_part;
}

const Eigen::VectorXd & CanonicalInversion::momentum_part(const FormulationData & data)
{
  return canonical(data).momentum_part;
}

void CanonicalInversion::root(const FormulationData & data, MatrixRef root) noexcept CD_NONBLOCKING
{
  root = canonical(data).root;
}

void CanonicalInversion::canonical_acceleration(
  const FormulationData & data, const ConstMatrixRef & root_rate, const ConstVectorRef & u,
  VectorRef canonical_acceleration) noexcept CD_NONBLOCKING
{
  canonical_acceleration = canonical(data).constraint_part + canonical(data).momentum_part;
  canonical_acceleration.noalias() += root_rate * u;
}

Status CanonicalInversion::do_solve_rows(
  const RowProblem & problem, const RankOptions & options, FormulationData & formulation_data,
  RowSolution & solution) const noexcept CD_NONBLOCKING
{
  CanonicalData & data = static_cast<CanonicalData &>(formulation_data);
  const Status rank_status = data.begin(problem, options);
  if (!has_output(rank_status))
  {
    return rank_status;
  }
  if (!data.factor_root(problem))
  {
    return Status::kSingularInertia;
  }
  data.next_constraint_part.setZero();
  data.next_momentum_part.setZero();
  data.add_parts(data.beta(), problem.force);  // (E9)
  data.residual(problem);
  data.add_parts(data.residual_particular.head(data.rank()), data.residual_force);
  data.force_from_motion(problem);
  const Status status = data.finish(problem, options, rank_status, solution);
  if (has_output(status))
  {
    data.constraint_part.swap(data.next_constraint_part);
    data.momentum_part.swap(data.next_momentum_part);
    data.root.triangularView<Eigen::Upper>() = data.inertia.transposed().transpose();
    data.root.triangularView<Eigen::StrictlyLower>().setZero();
  }
  return status;
}

void cholesky_root_rate(
  const ConstMatrixRef & root, const ConstMatrixRef & mass_matrix_rate,
  MatrixRef root_rate) noexcept CD_NONBLOCKING
{
  root_rate = mass_matrix_rate;
  root.triangularView<Eigen::Upper>().transpose().solveInPlace(root_rate);
  root.triangularView<Eigen::Upper>().solveInPlace<Eigen::OnTheRight>(root_rate);
  // Φ, then the product by R column by column from the right, in place: both are upper triangular.
  const Eigen::Index n = root.rows();
  root_rate.diagonal() *= 0.5;
  root_rate.triangularView<Eigen::StrictlyLower>().setZero();
  for (Eigen::Index j = n - 1; j >= 0; --j)
  {
    for (Eigen::Index i = 0; i <= j; ++i)
    {
      double sum = 0.0;
      for (Eigen::Index k = i; k <= j; ++k)
      {
        sum += root_rate(i, k) * root(k, j);
      }
      root_rate(i, j) = sum;
    }
  }
}

}  // namespace constrained_dynamics
