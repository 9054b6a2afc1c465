// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Newton's method for simultaneous contacts with friction, where sweeps are slow.
#include <algorithm>
#include <cmath>

#include "contact/cone_problem.hpp"
#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

namespace
{

double inverse(double x) { return x > 0.0 ? 1.0 / x : 0.0; }

}  // namespace

/// The equations F(x) = 0 of Alart and Curnier, whose zeros are the solutions,
///     F_n = x_n − p,  p = max(0, x_n − w_n/W_nn),
///     F_t = x_t − (x_t − w_t/W_tt projected on the disc of radius μ p),
/// and, where asked for, their (generalized) Jacobian J. Returns the largest |F|.
double ConeProblem::equations(const ConeContact * contacts, int count, bool with_jacobian) noexcept
{
  update_motion();
  const int m = row_count_;
  residual_.head(m) = x_.head(m);  // rows that belong to nothing have no force
  if (with_jacobian)
  {
    newton_jacobian_.topLeftCorner(m, m).setIdentity();
  }
  for (int i = 0; i < count; ++i)
  {
    const ConeContact & contact = contacts[i];
    const int n = contact.normal;
    double push = 0.0;
    double normal_gain = 0.0;
    if (n >= 0)
    {
      normal_gain = inverse(delassus_(n, n));
      push = normal_gain > 0.0 ? std::max(0.0, x_(n) - normal_gain * w_(n)) : 0.0;
      residual_(n) = x_(n) - push;
      if (with_jacobian && push > 0.0)
      {
        newton_jacobian_.row(n).head(m) = normal_gain * delassus_.row(n).head(m);
      }
    }
    if (contact.tangent_count > 0)
    {
      tangent_equations(contact, push, normal_gain, with_jacobian);
    }
  }
  return m > 0 ? residual_.head(m).cwiseAbs().maxCoeff() : 0.0;
}

void ConeProblem::tangent_equations(
  const ConeContact & contact, double push, double normal_gain, bool with_jacobian) noexcept
{
  const int m = row_count_;
  const int n = contact.normal;
  const double limit =
    n >= 0 ? friction_scale_ * contact.friction * push : friction_scale_ * contact.friction;
  double gain = 0.0;
  double pull[2] = {0.0, 0.0};  // x_t − w_t/W_tt
  for (int k = 0; k < contact.tangent_count; ++k)
  {
    gain = std::max(gain, delassus_(contact.tangent[k], contact.tangent[k]));
  }
  gain = inverse(gain);
  for (int k = 0; k < contact.tangent_count; ++k)
  {
    pull[k] = contact.sliding ? -contact.direction[k]
                              : x_(contact.tangent[k]) - gain * w_(contact.tangent[k]);
  }
  const double length = std::hypot(pull[0], pull[1]);
  const bool sticks = !contact.sliding && length <= limit;
  for (int k = 0; k < contact.tangent_count; ++k)
  {
    const int row = contact.tangent[k];
    residual_(row) = sticks ? x_(row) - pull[k] : x_(row) - limit * (pull[k] / length);
    if (!with_jacobian)
    {
      continue;
    }
    if (sticks)
    {
      newton_jacobian_.row(row).head(m) = gain * delassus_.row(row).head(m);
      newton_jacobian_(row, row) += gain > 0.0 ? 0.0 : 1.0;
      continue;
    }
    if (push > 0.0)
    {
      const double along = friction_scale_ * contact.friction * pull[k] / length;
      newton_jacobian_.row(row).head(m) += along * normal_gain * delassus_.row(n).head(m);
      newton_jacobian_(row, n) -= along;
    }
    // The direction turns with x_t − w_t/W_tt.
    for (int j = 0; !contact.sliding && j < contact.tangent_count; ++j)
    {
      const double turn =
        limit / length * ((j == k ? 1.0 : 0.0) - pull[k] * pull[j] / (length * length));
      const int other = contact.tangent[j];
      newton_jacobian_.row(row).head(m) += turn * gain * delassus_.row(other).head(m);
      newton_jacobian_(row, other) -= turn;
    }
  }
}

/// d = −(JᵀJ + σ)⁻¹ JᵀF: σ keeps it short where J is singular, as it is with redundant contacts,
/// and vanishes with F², which keeps convergence quadratic (Yamashita and Fukushima).
bool ConeProblem::newton_step(double relative) noexcept
{
  const int m = row_count_;
  const auto jacobian = newton_jacobian_.topLeftCorner(m, m);
  auto normal = newton_matrix_.topLeftCorner(m, m);
  auto step = newton_step_.head(m);
  step.noalias() = jacobian.transpose() * residual_.head(m);
  step = -step;
  for (int k = 0; k < m; ++k)  // the lower triangle of JᵀJ
  {
    normal.col(k).tail(m - k).noalias() = jacobian.rightCols(m - k).transpose() * jacobian.col(k);
  }
  const double size = normal.diagonal().maxCoeff();
  const double shift = size * std::clamp(relative * relative, tolerance::kLeastShift, 1.0);
  normal.diagonal().array() += shift;
  for (int j = 0; j < m; ++j)  // Cholesky in place, by columns as they lie in memory
  {
    auto column = normal.col(j).tail(m - j);
    column.noalias() -= normal.block(j, 0, m - j, j) * normal.row(j).head(j).transpose();
    const double pivot = column(0);
    if (!(pivot > 0.0))
    {
      return false;
    }
    column /= std::sqrt(pivot);
  }
  normal.triangularView<Eigen::Lower>().solveInPlace(step);
  normal.triangularView<Eigen::Lower>().transpose().solveInPlace(step);
  return step.allFinite();
}

/// Steps of Newton from the present x; returns what is left of the equations.
double ConeProblem::newton(const ConeContact * contacts, int count) noexcept
{
  const int m = row_count_;
  double error = equations(contacts, count, true);
  for (int k = 0; k < bound::kNewtonSteps; ++k)
  {
    const double largest = x_.head(m).cwiseAbs().maxCoeff();
    const double relative = error / (largest > 0.0 ? largest : error);
    if (!(relative > tolerance::kResidualRounding) || !newton_step(relative))
    {
      break;
    }
    ++newton_count_;
    const double merit = residual_.head(m).squaredNorm();
    start_.head(m) = x_.head(m);
    double fraction = 1.0;
    bool better = false;
    for (int halving = 0; halving < bound::kNewtonHalvings && !better; ++halving, fraction *= 0.5)
    {
      x_.head(m) = start_.head(m) + fraction * newton_step_.head(m);
      equations(contacts, count, false);
      better = residual_.head(m).squaredNorm() < merit * (1.0 - tolerance::kDecrease * fraction);
    }
    if (!better)
    {
      x_.head(m) = start_.head(m);
      break;
    }
    error = equations(contacts, count, true);
  }
  for (int i = 0; i < count; ++i)
  {
    put_in_cone(contacts[i]);
  }
  return relative_to_forces(equations(contacts, count, false));
}

/// From the present x to a solution nearby; x is left as it was where none is found.
bool ConeProblem::refine(const ConeContact * contacts, int count) noexcept
{
  kept_.head(row_count_) = x_.head(row_count_);
  if (newton(contacts, count) <= tolerance::kCone)
  {
    return true;
  }
  x_.head(row_count_) = kept_.head(row_count_);
  return false;
}

/// From the one solution of contacts that hardly act on each other, W + δ diag W with a large δ, to
/// one of W. Where there is a motion that separates all contacts the solutions for all δ are
/// bounded, and a path leads from the first to a last one. x is left as it was where it is lost.
bool ConeProblem::follow(const ConeContact * contacts, int count, double factor) noexcept
{
  const int m = row_count_;
  followed_.head(m) = x_.head(m);
  diagonal_.head(m) = delassus_.diagonal().head(m);
  x_.head(m).setZero();
  for (double delta = tolerance::kFirstShift; delta > tolerance::kLastShift; delta *= factor)
  {
    delassus_.diagonal().head(m) = (1.0 + delta) * diagonal_.head(m);
    newton(contacts, count);
  }
  delassus_.diagonal().head(m) = diagonal_.head(m);
  if (x_.head(m).allFinite() && newton(contacts, count) <= tolerance::kCone)
  {
    return true;
  }
  x_.head(m) = followed_.head(m);
  return false;
}

/// From the solution without friction, in steps of the coefficients. Likewise.
bool ConeProblem::follow_friction(const ConeContact * contacts, int count, int steps) noexcept
{
  const int m = row_count_;
  followed_.head(m) = x_.head(m);
  solve_normals(contacts, count);
  double left = 1.0;
  for (int k = 1; k <= steps; ++k)
  {
    friction_scale_ = static_cast<double>(k) / steps;
    left = newton(contacts, count);
  }
  friction_scale_ = 1.0;
  if (left <= tolerance::kCone)
  {
    return true;
  }
  x_.head(m) = followed_.head(m);
  return false;
}

/// From where the sweeps are, and if that fails along a path, another one each time.
bool ConeProblem::attempt(const ConeContact * contacts, int count, int number) noexcept
{
  if (refine(contacts, count))
  {
    return true;
  }
  switch (number)
  {
    case 0:
      return follow(contacts, count, 0.3) || follow_friction(contacts, count, 12);
    case 1:
      return follow(contacts, count, 0.6) || follow_friction(contacts, count, 40);
    case 2:
      return follow(contacts, count, 0.8);
    default:
      return false;
  }
}

}  // namespace constrained_dynamics
