// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/independent_forces.hpp"

namespace constrained_dynamics
{

IndependentForces::IndependentForces(const Dynamics & dynamics)
: dynamics_(dynamics),
  factorisation_(dynamics.system().speed_count(), dynamics.constraints().row_count()),
  jacobian_(
    Eigen::MatrixXd::Zero(dynamics.constraints().row_count(), dynamics.system().speed_count())),
  scale_(Eigen::VectorXd::Ones(dynamics.constraints().row_count())),
  rows_(Eigen::VectorXi::Zero(dynamics.constraints().row_count()))
{
}

Status IndependentForces::factor(const Workspace & workspace) noexcept CD_NONBLOCKING
{
  const ConstraintSet & set = dynamics_.constraints();
  row_count_ = 0;
  for (int i = 0; i < set.size(); ++i)
  {
    for (int k = 0; k < set[i].row_count() && workspace.is_active(i); ++k)
    {
      const int row = set.row_offset(i) + k;
      jacobian_.row(row_count_) = workspace.rows().jacobian.row(row);
      scale_(row_count_) = workspace.row_scale()(row);
      rows_(row_count_) = row;
      ++row_count_;
    }
  }
  return factorisation_.factor(
    jacobian(), scale(), workspace.nominal_rank(), dynamics_.options().rank);
}

void IndependentForces::project(MatrixRef forces) const noexcept CD_NONBLOCKING
{
  const Eigen::VectorXi & order = factorisation_.order();
  const Eigen::Index r = factorisation_.rank();
  const auto K = factorisation_.dependency();
  for (Eigen::Index j = 0; j < forces.cols(); ++j)
  {
    for (Eigen::Index i = 0; i < K.cols(); ++i)
    {
      double & independent = forces(order(r + i), j);
      for (Eigen::Index k = 0; k < r; ++k)
      {
        independent += K(k, i) * forces(order(k), j);
      }
    }
    for (Eigen::Index k = 0; k < r; ++k)
    {
      forces(order(k), j) = 0.0;
    }
  }
}

}  // namespace constrained_dynamics
