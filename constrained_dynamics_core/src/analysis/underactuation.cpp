// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/analysis/underactuation.hpp"

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "analysis/virtual_motions.hpp"
#include "constrained_dynamics/model/control_state_system.hpp"
#include "dense_decompositions.hpp"

namespace constrained_dynamics
{

namespace
{

/// Reduced echelon form with the largest pivots, so that few elements are left; rows scaled to a
/// largest element of 1.
void reduce(Eigen::MatrixXd & rows)
{
  for (Eigen::Index k = 0; k < rows.rows(); ++k)
  {
    Eigen::Index i = 0;
    Eigen::Index j = 0;
    rows.bottomRows(rows.rows() - k).cwiseAbs().maxCoeff(&i, &j);
    rows.row(k).swap(rows.row(k + i));
    rows.row(k) /= rows(k, j);
    for (Eigen::Index other = 0; other < rows.rows(); ++other)
    {
      if (other != k)
      {
        rows.row(other) -= rows(other, j) * Eigen::RowVectorXd(rows.row(k));
        rows(other, j) = 0.0;
      }
    }
  }
  for (Eigen::Index k = 0; k < rows.rows(); ++k)
  {
    Eigen::Index j = 0;
    rows.row(k).cwiseAbs().maxCoeff(&j);
    rows.row(k) /= rows(k, j);
    rows.row(k) = (rows.row(k).array().abs() < kNegligible).select(0.0, rows.row(k));
  }
}

/// The motions that the active rows permit (n × d), as many as the rank analysis of the workspace
/// found. Rows that are zero up to round-off count for what they could be, not for what they are.
Eigen::MatrixXd permitted_motions(const Dynamics & dynamics, const Workspace & workspace)
{
  if (workspace.rank_report().row_count == 0)
  {
    return null_space(active_rows(dynamics, workspace));
  }
  const ConstraintSet & set = dynamics.constraints();
  Eigen::MatrixXd rows = workspace.row_scale().asDiagonal() * workspace.rows().jacobian;
  for (int row = 0; row < set.row_count(); ++row)
  {
    if (!workspace.is_active(set.constraint_of_row(row)))
    {
      rows.row(row).setZero();
    }
  }
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(rows.transpose());
  const Eigen::MatrixXd complete = qr.householderQ();
  return complete.rightCols(rows.cols() - workspace.nominal_rank());
}

/// The effect of the controls: G and, for controls that are states, G of the wrapped system.
Eigen::MatrixXd control_matrix(const System & system, const Workspace & workspace)
{
  const Eigen::MatrixXd & G = workspace.terms().input_matrix;
  if (&system.underlying() == &system)
  {
    return G;
  }
  const Eigen::MatrixXd & wrapped =
    ControlStateSystem::wrapped_data(workspace.system_data()).terms.input_matrix;
  Eigen::MatrixXd all = Eigen::MatrixXd::Zero(G.rows(), G.cols() + wrapped.cols());
  all.leftCols(G.cols()) = G;
  all.topRightCorner(wrapped.rows(), wrapped.cols()) = wrapped;
  for (const int driven : system.driven_speeds())
  {
    all.row(driven).tail(wrapped.cols()).setZero();
  }
  return all;
}

}  // namespace

UnderactuationReport analyse_underactuation(
  const Dynamics & dynamics, const State & state, Workspace & workspace)
{
  Status status = dynamics.evaluate_rows(state.time, state.q, state.u, workspace);
  status = status == Status::kOk ? dynamics.evaluate_terms(workspace) : status;
  if (status != Status::kOk)
  {
    throw std::invalid_argument(
      std::string("the system cannot be evaluated at the given state: status ") +
      to_string(status));
  }
  const Terms terms = workspace.terms();
  const Eigen::MatrixXd basis = permitted_motions(dynamics, workspace);  // A2ᵀ
  UnderactuationReport report;
  report.degrees_of_freedom = static_cast<int>(basis.cols());
  report.motions.resize(0, basis.rows());
  if (dynamics.system().input_count() > 0 && basis.cols() > 0)
  {
    // Inputs have different units, so only their directions count.
    const Eigen::MatrixXd G = control_matrix(dynamics.system(), workspace);
    Eigen::MatrixXd effect = G.transpose() * basis;  // (A2 G)ᵀ
    const double largest = G.cwiseAbs().maxCoeff();
    for (Eigen::Index i = 0; i < effect.rows(); ++i)
    {
      const double size = G.col(i).norm();
      // Effects that the rows absorb leave round-off, which is not a direction.
      if (effect.row(i).norm() <= kNegligible * size || size <= kNegligible * largest)
      {
        effect.row(i).setZero();
      }
    }
    const Eigen::MatrixXd unactuated = null_space(effect);  // N
    report.input_rank = static_cast<int>(basis.cols() - unactuated.cols());
    report.motions = (basis * unactuated).transpose();
    reduce(report.motions);
  }
  report.inertia = report.motions * terms.mass_matrix;
  report.force = report.motions * terms.force;
  return report;
}

}  // namespace constrained_dynamics
