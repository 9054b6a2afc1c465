// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "analysis/virtual_motions.hpp"

#include "dense_decompositions.hpp"

namespace constrained_dynamics
{

Eigen::MatrixXd unit_rows(Eigen::MatrixXd rows)
{
  for (Eigen::Index i = 0; i < rows.rows(); ++i)
  {
    rows.row(i).normalize();  // leaves zeros alone
  }
  return rows;
}

Eigen::MatrixXd null_space(const Eigen::MatrixXd & rows, double threshold)
{
  const Eigen::Index n = rows.cols();
  if (rows.rows() == 0)
  {
    return Eigen::MatrixXd::Identity(n, n);
  }
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr;
  qr.setThreshold(threshold);
  qr.compute(unit_rows(rows).transpose());
  const Eigen::MatrixXd complete = qr.householderQ();
  return complete.rightCols(n - qr.rank());
}

Eigen::MatrixXd active_rows(const Dynamics & dynamics, const Workspace & workspace)
{
  const ConstraintSet & set = dynamics.constraints();
  Eigen::MatrixXd rows(0, dynamics.system().speed_count());
  for (int row = 0; row < set.row_count(); ++row)
  {
    if (workspace.is_active(set.constraint_of_row(row)))
    {
      rows.conservativeResize(rows.rows() + 1, Eigen::NoChange);
      rows.bottomRows<1>() = workspace.rows().jacobian.row(row);
    }
  }
  return rows;
}

}  // namespace constrained_dynamics
