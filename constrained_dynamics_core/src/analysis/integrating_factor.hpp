// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

namespace constrained_dynamics
{

/// A one-form and its derivative at one point, in a frame of N vector fields X_i.
struct FactorSample
{
  Eigen::VectorXd x;         ///< the point, in coordinates
  Eigen::VectorXd form;      ///< ω(X_i)
  Eigen::MatrixXd exterior;  ///< dω(X_i, X_j)
  Eigen::MatrixXd frame;     ///< components of X_i, a column each
  double scale = 1.0;        ///< size that residuals of dω are compared with
};

/// Seeks μ with d(μ ω) = 0, that is d(ln μ) ∧ ω + dω = 0, as a product of up to three simple
/// functions of the coordinates: the fewest factors first, exponents rounded to simple fractions
/// where those do.
/// @param names of the coordinates
/// @param samples where the exponents are fitted
/// @param fresh where the result must hold as well
/// @param tolerance largest residual, relative to FactorSample::scale
/// @return a formula such as "1/x^2" or "exp(y)"; nullopt where none is found
std::optional<std::string> find_integrating_factor(
  const std::vector<std::string> & names, const std::vector<FactorSample> & samples,
  const std::vector<FactorSample> & fresh, double tolerance);

}  // namespace constrained_dynamics
