// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <stdexcept>
#include <string>

#include "constrained_dynamics/analysis/derivatives.hpp"
#include "dense_decompositions.hpp"

namespace constrained_dynamics
{

Eigen::MatrixXd by_coordinates(const Eigen::MatrixXd & directional, const Workspace & workspace)
{
  const Eigen::MatrixXd & C = workspace.terms().kinematic_matrix;
  if (C.rows() != C.cols())
  {
    throw std::invalid_argument(
      "derivatives by coordinates are asked for a system with " + std::to_string(C.rows()) +
      " coordinates and " + std::to_string(C.cols()) + " speeds; allowed: as many of both");
  }
  if (directional.rows() == 0)
  {
    return Eigen::MatrixXd(0, C.cols());  // Eigen's solvers refer to the first element
  }
  return Eigen::PartialPivLU<Eigen::MatrixXd>(C.transpose())
    .solve(directional.transpose())
    .transpose();
}

}  // namespace constrained_dynamics
