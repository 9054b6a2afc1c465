// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Derivatives of the multipliers of redundant rows.

#include <Eigen/Cholesky>

#include "analysis/dense_products.hpp"
#include "analysis/solution_differentiator.hpp"

namespace constrained_dynamics
{

// Aᵀ δλ = δF^c − ∂(Aᵀ) λ, with λ the multipliers themselves in place of those in the range. With
// redundant rows the split with the least ‖W (λ − λ_given)‖ also turns with the left null space Z
// of A: from ZᵀW²(λ − λ_given) = 0 and Aᵀ δZ = −∂(Aᵀ) Z follows ZᵀW² δλ = Zᵀ ∂(A) η with
// A η = W²(λ − λ_given).
Status SolutionDifferentiator::turn_multipliers(
  const Call & call, SolutionDerivatives & out) noexcept
{
  RowFactorisation & factorisation = response_.factorisation();
  const Eigen::Index r = factorisation.rank();
  const Eigen::Index null = count_ - r;
  auto weighted = range_multipliers_.head(count_);  // not needed any more
  for (Eigen::Index k = 0; k < count_; ++k)
  {
    weighted(k) = weight_(k) * weight_(k) * (multipliers_(k) - given_(active_(k)));
  }
  auto dependent = eta_dependent_.head(r);
  factorisation.particular(weighted, dependent);
  eta_.setZero();
  for (Eigen::Index i = 0; i < r; ++i)
  {
    eta_(factorisation.order()(i)) = dependent(i);
  }
  eta_ += acceleration_;
  if (moved_)
  {
    const Status status = solve_here(call);
    if (!has_output(status))
    {
      return status;
    }
  }
  spread_multipliers(multipliers_);
  const Status status = differentiate_terms(call, eta_, turned_);
  if (status != Status::kOk)
  {
    return status;
  }
  auto Z = null_space_.topLeftCorner(count_, null);
  auto gram = null_gram_.topLeftCorner(null, null);
  for (Eigen::Index i = 0; i < null; ++i)
  {
    factorisation.multiplier_null_vector(static_cast<int>(i), Z.col(i));
  }
  weighted = weight_.head(count_).cwiseAbs2();
  for (Eigen::Index i = 0; i < null; ++i)
  {
    for (Eigen::Index j = 0; j <= i; ++j)
    {
      gram(i, j) = Z.col(i).cwiseProduct(weighted).dot(Z.col(j));
    }
  }
  const Eigen::LLT<MatrixRef> cholesky(gram);
  if (cholesky.info() != Eigen::Success)
  {
    return Status::kNonFiniteResult;
  }
  add_turn(
    terms_.force_q, turned_.force_q, terms_.residual_q, turned_.residual_q, out.multipliers_q);
  add_turn(
    terms_.force_u, turned_.force_u, terms_.residual_u, turned_.residual_u, out.multipliers_u);
  return Status::kOk;
}

/// Adds what the multipliers change beyond `respond`. @pre Z and the root of Zᵀ W² Z are there.
void SolutionDifferentiator::add_turn(
  const Eigen::MatrixXd & force, const Eigen::MatrixXd & turned_force,
  const Eigen::MatrixXd & residual, const Eigen::MatrixXd & turned_residual,
  Eigen::MatrixXd & multipliers) noexcept
{
  const Eigen::Index r = response_.rank();
  const Eigen::Index null = count_ - r;
  const Eigen::VectorXi & order = response_.factorisation().order();
  auto dependent = dependent_.topLeftCorner(r, n_);
  auto turning = row_change_.topLeftCorner(count_, n_);  // ∂(A) η
  for (Eigen::Index j = 0; j < n_; ++j)
  {
    for (Eigen::Index i = 0; i < r; ++i)
    {
      dependent(i, j) = force(order(i), j) - turned_force(order(i), j);
    }
    for (Eigen::Index k = 0; k < count_; ++k)
    {
      turning(k, j) = turned_residual(active_(k), j) - residual(active_(k), j);
    }
  }
  const auto Z = null_space_.topLeftCorner(count_, null);
  const auto L = null_gram_.topLeftCorner(null, null);
  auto share = null_change_.topLeftCorner(null, n_);
  share.noalias() = Z.transpose().lazyProduct(turning);
  L.triangularView<Eigen::Lower>().solveInPlace(share);
  L.triangularView<Eigen::Lower>().transpose().solveInPlace(share);
  turning.setZero();
  add_product(1.0, Z, share, turning);
  add_product(1.0, response_.multipliers(), dependent, turning);
  for (Eigen::Index j = 0; j < n_; ++j)
  {
    for (Eigen::Index k = 0; k < count_; ++k)
    {
      multipliers(active_(k), j) += turning(k, j);
    }
  }
}

}  // namespace constrained_dynamics
