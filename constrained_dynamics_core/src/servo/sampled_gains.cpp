// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/sampled_gains.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "dense_decompositions.hpp"

namespace constrained_dynamics
{

namespace
{

using Eigen::Index;
using Eigen::MatrixXd;

std::vector<Index> rows_of_level(const ServoConstraint & servo, RowLevel level)
{
  std::vector<Index> rows;
  for (int i = 0; i < servo.row_count() && servo.force_rows().empty(); ++i)
  {
    if (servo.rows()[static_cast<std::size_t>(i)].level == level)
    {
      rows.push_back(i);
    }
  }
  return rows;
}

/// −Θ over some of the rows.
MatrixXd gain_matrix(const Gain & gain, const std::vector<Index> & rows)
{
  const Index count = static_cast<Index>(rows.size());
  if (!gain.is_matrix())
  {
    return -gain.scalar() * MatrixXd::Identity(count, count);
  }
  MatrixXd part(count, count);
  for (Index i = 0; i < count; ++i)
  {
    for (Index k = 0; k < count; ++k)
    {
      part(i, k) =
        -gain.matrix()(rows[static_cast<std::size_t>(i)], rows[static_cast<std::size_t>(k)]);
    }
  }
  return part;
}

double spectral_radius(const MatrixXd & matrix)
{
  return matrix.size() == 0
           ? 0.0
           : detail::solve_eigenvalues(matrix, false).eigenvalues().cwiseAbs().maxCoeff();
}

/// Largest factor of the stiffness, at the same damping ratio, that is stable.
double stable_factor(const ServoConstraint & servo, double stiffness, double ratio, double period)
{
  double stable = 0.0;
  double unstable = 1.0;
  for (int i = 0; i < 50; ++i)
  {
    const double middle = 0.5 * (stable + unstable);
    const auto gains = ErrorDynamics::from_stiffness(middle * stiffness, ratio);
    (sampled_spectral_radius(servo, gains, period) < 1.0 ? stable : unstable) = middle;
  }
  return stable;
}

/// Largest period that is stable.
double stable_period(const ServoConstraint & servo, const ErrorDynamics & gains, double period)
{
  double stable = 0.0;
  double unstable = period;
  for (int i = 0; i < 50; ++i)
  {
    const double middle = 0.5 * (stable + unstable);
    (sampled_spectral_radius(servo, gains, middle) < 1.0 ? stable : unstable) = middle;
  }
  return stable;
}

}  // namespace

double sampled_spectral_radius(
  const ServoConstraint & servo, const ErrorDynamics & gains, double period)
{
  const double T = period;
  const std::vector<Index> positions = rows_of_level(servo, RowLevel::kPosition);
  const Index n = static_cast<Index>(positions.size());
  // (E33) x = (e, ė, held acceleration).
  const MatrixXd identity = MatrixXd::Identity(n, n);
  MatrixXd second = MatrixXd::Zero(3 * n, 3 * n);
  second.block(0, 0, n, n) = identity;
  second.block(0, n, n, n) = T * identity;
  second.block(0, 2 * n, n, n) = 0.5 * T * T * identity;
  second.block(n, n, n, n) = identity;
  second.block(n, 2 * n, n, n) = T * identity;
  second.block(2 * n, 0, n, n) = -gain_matrix(gains.position, positions);
  second.block(2 * n, n, n, n) = -gain_matrix(gains.velocity, positions);
  const std::vector<Index> velocities = rows_of_level(servo, RowLevel::kVelocity);
  const Index m = static_cast<Index>(velocities.size());
  MatrixXd first = MatrixXd::Zero(2 * m, 2 * m);
  first.block(0, 0, m, m).setIdentity();
  first.block(0, m, m, m) = T * MatrixXd::Identity(m, m);
  first.block(m, 0, m, m) = -gain_matrix(gains.first_order, velocities);
  return std::max(spectral_radius(second), spectral_radius(first));
}

std::string check_sampled_gains(
  const ServoConstraint & servo, const ErrorDynamics & gains, double period)
{
  if (sampled_spectral_radius(servo, gains, period) < 1.0)
  {
    return "";
  }
  std::ostringstream text;
  text << "servo-constraint '" << servo.name() << "': ";
  const auto pair = gains.stiffness_and_damping_ratio();
  if (pair)
  {
    const auto & [stiffness, ratio] = *pair;
    text << "stiffness " << stiffness << " with damping ratio " << ratio << " diverges at "
         << 1.0 / period << " Hz; allowed: stiffness below "
         << stiffness * stable_factor(servo, stiffness, ratio, period)
         << " at this rate, or a rate above ";
  }
  else
  {
    text << "its gains diverge at " << 1.0 / period
         << " Hz; allowed: smaller ones, or a rate above ";
  }
  text << 1.0 / stable_period(servo, gains, period) << " Hz";
  return text.str();
}

}  // namespace constrained_dynamics
