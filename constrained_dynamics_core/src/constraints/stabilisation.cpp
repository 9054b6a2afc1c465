// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/stabilisation.hpp"

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "dense_decompositions.hpp"

namespace constrained_dynamics
{

namespace
{

void check_gain(const std::string & name, const Gain & gain)
{
  std::ostringstream message;
  if (!gain.is_matrix())
  {
    if (!(std::isfinite(gain.scalar()) && gain.scalar() <= 0.0))
    {
      message << "stabilisation gain " << name << " is " << gain.scalar()
              << "; allowed: finite and at most 0 (rows obey φ̈ = Γ1 φ̇ + Γ2 φ)";
      throw std::invalid_argument(message.str());
    }
    return;
  }
  const Eigen::MatrixXd & matrix = gain.matrix();
  if (matrix.rows() != matrix.cols() || !matrix.allFinite())
  {
    message << "stabilisation gain " << name << " is a " << matrix.rows() << " × " << matrix.cols()
            << " matrix; allowed: square and finite";
    throw std::invalid_argument(message.str());
  }
  const Eigen::VectorXcd eigenvalues = detail::solve_eigenvalues(matrix, false).eigenvalues();
  if (!(eigenvalues.real().maxCoeff() <= 1e-12 * matrix.norm()))
  {
    message << "stabilisation gain " << name << " has an eigenvalue with real part "
            << eigenvalues.real().maxCoeff() << "; allowed: none above 0";
    throw std::invalid_argument(message.str());
  }
}

}  // namespace

Stabilisation Stabilisation::projection()
{
  Stabilisation result;
  result.kind = Kind::kProjection;
  return result;
}

Stabilisation Stabilisation::projection_of_dependent()
{
  Stabilisation result = projection();
  result.keep_independent = true;
  return result;
}

Stabilisation Stabilisation::baumgarte(Gain velocity, Gain position, Gain nonholonomic)
{
  check_gain("velocity_gain (Γ1)", velocity);
  check_gain("position_gain (Γ2)", position);
  check_gain("nonholonomic_gain (Γ)", nonholonomic);
  Stabilisation result;
  result.kind = Kind::kBaumgarte;
  result.velocity_gain = std::move(velocity);
  result.position_gain = std::move(position);
  result.nonholonomic_gain = std::move(nonholonomic);
  return result;
}

Stabilisation Stabilisation::baumgarte_for_step(double step, double rate_per_step)
{
  std::ostringstream message;
  if (!(step > 0.0 && std::isfinite(step)))
  {
    message << "step is " << step << " s; allowed: finite and above 0";
    throw std::invalid_argument(message.str());
  }
  if (!(rate_per_step > 0.0 && rate_per_step <= 0.05))
  {
    message << "rate_per_step is " << rate_per_step << "; allowed: above 0, at most 0.05";
    throw std::invalid_argument(message.str());
  }
  const double rate = rate_per_step / step;
  return baumgarte(Gain(-2.0 * rate), Gain(-rate * rate), Gain(-rate));
}

}  // namespace constrained_dynamics
