// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formulations/projection.hpp"

#include <algorithm>
#include <utility>

#include "row_scratch.hpp"

namespace constrained_dynamics
{

namespace
{

class ProjectionData : public RootScratch
{
public:
  ProjectionData(int n, int m, const Complement * given)
  : RootScratch(n, m),
    given_scratch(given != nullptr ? given->make_scratch() : nullptr),
    given_complement(Eigen::MatrixXd::Zero(given != nullptr ? given->row_count() : 0, n)),
    complement(Eigen::MatrixXd::Zero(n, n)),
    mass_complement(Eigen::MatrixXd::Zero(n, n)),
    reduced(n),
    start(Eigen::VectorXd::Zero(n)),
    force(Eigen::VectorXd::Zero(n)),
    tangent(Eigen::VectorXd::Zero(n)),
    reaction(Eigen::VectorXd::Zero(n))
  {
  }

  /// (E12) for A1: F^c = A1ᵀ μ, which splits into λ as any force does. False without a root of Q.
  bool orthogonal_part(const RowProblem & problem) noexcept
  {
    const Eigen::Index r = rank();
    if (!factor_root(problem))
    {
      return false;
    }
    // A1 Q⁻¹ A1ᵀ = Tᵀ T and A1 Q⁻¹ h = Tᵀ (Uᵀ R⁻ᵀ h)_1, so that nothing is squared:
    // T μ = T⁻ᵀ β − (Uᵀ R⁻ᵀ h)_1.
    force = problem.force;
    inertia.divide_by_transpose(force);
    range.apply_transpose(force);
    auto mu = reaction.head(r);
    mu = beta();
    range.divide_by_transpose(mu);
    mu -= force.head(r);
    range.divide(mu);
    constraint_force.noalias() = basis.leftCols(r) * mu;
    return true;
  }

  /// The motion for the complement in `complement` (as columns, n × p) and the start u̇_0. False
  /// where N Q Nᵀ is singular.
  bool tangent_part(const RowProblem & problem) noexcept
  {
    const Eigen::Index p = speed_count() - rank();
    acceleration.setZero();
    if (p == 0)
    {
      acceleration = start;
      return true;
    }
    const auto N_transposed = complement.leftCols(p);
    auto Q_N = mass_complement.leftCols(p);
    Q_N.noalias() = problem.mass_matrix * N_transposed;
    reduced.matrix(p).noalias() = N_transposed.transpose() * Q_N;
    if (!reduced.factor(p))
    {
      return false;
    }
    add_motion(problem.mass_matrix, problem.force);
    // The start may be far larger than the motion: one step of iterative refinement.
    residual(problem);
    start_at(residual_particular.head(rank()));
    add_motion(problem.mass_matrix, residual_force);
    return true;
  }

  /// u̇_0 = [β; 0] in partition order.
  void start_at(const ConstVectorRef & beta_now) noexcept
  {
    start.setZero();
    for (Eigen::Index k = 0; k < rank(); ++k)
    {
      start(factorisation.order()(k)) = beta_now(k);
    }
  }

  /// Adds u̇_0 + Nᵀ y, (N Q Nᵀ) y = N (f − Q u̇_0).
  void add_motion(const ConstMatrixRef & mass_matrix, const ConstVectorRef & applied) noexcept
  {
    const Eigen::Index p = speed_count() - rank();
    const auto N_transposed = complement.leftCols(p);
    auto y = tangent.head(p);
    force = applied;
    force.noalias() -= mass_matrix * start;
    y.noalias() = N_transposed.transpose() * force;
    reduced.solve(y);
    acceleration += start;
    acceleration.noalias() += N_transposed * y;
  }

  std::unique_ptr<Complement::Scratch> given_scratch;
  Eigen::MatrixXd given_complement;  // N of the user (p × n)
  bool is_prepared = false;
  Eigen::MatrixXd complement;       // Nᵀ (n × p)
  Eigen::MatrixXd mass_complement;  // Q Nᵀ (n × p)
  ReducedInertia reduced;           // N Q Nᵀ (p × p)
  Eigen::VectorXd start;            // u̇_0
  Eigen::VectorXd force;
  Eigen::VectorXd tangent;   // y
  Eigen::VectorXd reaction;  // μ
};

}  // namespace

Complement::Scratch::~Scratch() = default;
Complement::~Complement() = default;

Projection::Projection(std::shared_ptr<const Complement> complement)
: complement_(std::move(complement))
{
}

std::unique_ptr<FormulationData> Projection::make_data(int speed_count, int max_row_count) const
{
  return std::make_unique<ProjectionData>(speed_count, max_row_count, complement_.get());
}

Status Projection::do_prepare(
  const SystemData & system, FormulationData & formulation_data) const noexcept CD_NONBLOCKING
{
  if (!complement_)
  {
    return Status::kOk;
  }
  ProjectionData & data = static_cast<ProjectionData &>(formulation_data);
  const Status status = complement_->evaluate(system, *data.given_scratch, data.given_complement);
  data.is_prepared = status == Status::kOk;
  return status;
}

Status Projection::do_solve_rows(
  const RowProblem & problem, const RankOptions & options, FormulationData & formulation_data,
  RowSolution & solution) const noexcept CD_NONBLOCKING
{
  ProjectionData & data = static_cast<ProjectionData &>(formulation_data);
  if (data.is_prepared)
  {
    return solve_with_complement(problem, data.given_complement, options, data, solution);
  }
  const Status rank_status = data.begin(problem, options);
  if (!has_output(rank_status))
  {
    return rank_status;
  }
  const Eigen::Index n = data.speed_count();
  const Eigen::Index r = data.rank();

  // A1ᵀ = U [T; 0]: u̇_0 = U [T⁻ᵀ β; 0] is the shortest that satisfies the rows, Nᵀ = U [0; I].
  data.row_basis(data.range.matrix(n, r));
  data.range.factor(n, r);
  data.start.head(r) = data.beta();
  data.start.tail(n - r).setZero();
  data.range.divide_by_transpose(data.start.head(r));
  data.range.apply(data.start);
  auto complement = data.complement.leftCols(n - r);
  complement.topRows(r).setZero();
  complement.bottomRows(n - r).setIdentity();
  data.range.apply(complement);

  if (!data.orthogonal_part(problem) || !data.tangent_part(problem))
  {
    return Status::kSingularInertia;
  }
  return data.finish(problem, options, rank_status, solution);
}

Status Projection::solve_with_complement(
  const RowProblem & problem, const ConstMatrixRef & complement, const RankOptions & options,
  FormulationData & formulation_data, RowSolution & solution) const noexcept CD_NONBLOCKING
{
  ProjectionData & data = static_cast<ProjectionData &>(formulation_data);
  const Status rank_status = data.begin(problem, options);
  if (!has_output(rank_status))
  {
    return rank_status;
  }
  const Eigen::Index n = data.speed_count();
  const Eigen::Index r = data.rank();
  if (complement.rows() != n - r || complement.cols() != n)
  {
    return Status::kSizeMismatch;
  }
  if (!complement.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  auto basis = data.basis.leftCols(r);
  data.row_basis(basis);
  data.start_at(data.beta());
  data.complement.leftCols(n - r) = complement.transpose();

  // N A1ᵀ relative to both sizes.
  double leak = 0.0;
  if (r > 0 && r < n)
  {
    auto product = data.mass_complement.topLeftCorner(r, n - r);
    product.noalias() = basis.transpose() * data.complement.leftCols(n - r);
    const double size = basis.norm() * data.complement.leftCols(n - r).norm();
    leak = size > 0.0 ? product.norm() / size : 0.0;
  }
  if (!data.orthogonal_part(problem) || !data.tangent_part(problem))
  {
    return Status::kSingularInertia;
  }
  const Status status = data.finish(problem, options, rank_status, solution);
  if (has_output(status) && !(leak <= options.consistency_tolerance))
  {
    solution.inconsistency = std::max(solution.inconsistency, leak);
    return status == Status::kOk ? Status::kInconsistent : status;
  }
  return status;
}

}  // namespace constrained_dynamics
