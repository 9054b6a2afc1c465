// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>

namespace constrained_dynamics::bench
{

Reference reference_of(const Workload & workload)
{
  using Matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  using Vector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;
  const Dynamics dynamics(workload.constraint_set());
  Workspace workspace = Workspace::unanalysed(dynamics);
  const State & state = workload.state;
  Status status = dynamics.evaluate_rows(state.time, state.q, state.u, workspace);
  status = worse(status, dynamics.evaluate_terms(workspace));
  if (status != Status::kOk)
  {
    throw std::logic_error("bench: the terms of " + workload.name + ": " + to_string(status));
  }
  const Terms terms = workspace.terms();
  const Eigen::MatrixXd & Q = terms.mass_matrix;
  const Eigen::MatrixXd & A = workspace.rows().jacobian;

  // With Q = L Lᵀ and z = Lᵀ u̇: the z that is closest to L⁻¹ h and obeys (A L⁻ᵀ) z = b.
  const Eigen::LLT<Matrix> llt(Q.cast<long double>());
  const Matrix Y = llt.matrixL().solve(Matrix(A.transpose().cast<long double>())).transpose();
  const Vector h = (terms.force + workload.force).cast<long double>();
  const Vector free = llt.matrixL().solve(h);
  Eigen::CompleteOrthogonalDecomposition<Matrix> rows(Y.rows(), Y.cols());
  rows.setThreshold(1e-12L);
  rows.compute(Y);
  if (rows.rank() != workload.rank)
  {
    throw std::logic_error(
      "bench: the rows of " + workload.name + " have another rank than thought");
  }
  const Vector z = free + rows.solve(workspace.rows().bias.cast<long double>() - Y * free);

  Reference reference;
  reference.acceleration = llt.matrixU().solve(z).cast<double>();
  const Eigen::BDCSVD<Eigen::MatrixXd> svd(Y.cast<double>());
  const Eigen::VectorXd sigma = svd.singularValues();
  const Eigen::VectorXd inertia =
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(Q, Eigen::EigenvaluesOnly).eigenvalues();
  const double row_condition = sigma(0) / sigma(workload.rank - 1);
  const double inertia_condition = inertia.maxCoeff() / inertia.minCoeff();
  reference.error_limit = std::max(
    1e-11,
    100.0 * std::numeric_limits<double>::epsilon() * row_condition * std::sqrt(inertia_condition));
  return reference;
}

double relative_error(const Eigen::VectorXd & a, const Eigen::VectorXd & b)
{
  return (a - b).lpNorm<Eigen::Infinity>() / b.lpNorm<Eigen::Infinity>();
}

}  // namespace constrained_dynamics::bench
