// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "contact/cone_problem.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

ConeProblem::ConeProblem(int speed_count, int max_rows)
: cholesky_(Eigen::MatrixXd::Zero(speed_count, speed_count)),
  basis_(Eigen::MatrixXd::Zero(speed_count, speed_count)),
  motion_(Eigen::VectorXd::Zero(speed_count)),
  column_(Eigen::VectorXd::Zero(speed_count)),
  columns_(Eigen::MatrixXd::Zero(speed_count, max_rows)),
  delassus_(Eigen::MatrixXd::Zero(max_rows, max_rows)),
  active_matrix_(Eigen::MatrixXd::Zero(max_rows, max_rows)),
  active_basis_(Eigen::MatrixXd::Zero(speed_count, speed_count)),
  work_(Eigen::VectorXd::Zero(max_rows)),
  trial_(Eigen::VectorXd::Zero(max_rows)),
  newton_jacobian_(Eigen::MatrixXd::Zero(max_rows, max_rows)),
  newton_matrix_(Eigen::MatrixXd::Zero(max_rows, max_rows)),
  residual_(Eigen::VectorXd::Zero(max_rows)),
  newton_step_(Eigen::VectorXd::Zero(max_rows)),
  start_(Eigen::VectorXd::Zero(max_rows)),
  kept_(Eigen::VectorXd::Zero(max_rows)),
  followed_(Eigen::VectorXd::Zero(max_rows)),
  diagonal_(Eigen::VectorXd::Zero(max_rows)),
  r_(Eigen::VectorXd::Zero(max_rows)),
  x_(Eigen::VectorXd::Zero(max_rows)),
  w_(Eigen::VectorXd::Zero(max_rows)),
  scale_(Eigen::VectorXd::Ones(max_rows)),
  raw_size_(Eigen::VectorXd::Zero(max_rows)),
  active_(static_cast<std::size_t>(max_rows), 0),
  state_(static_cast<std::size_t>(max_rows), kFree)
{
}

Status ConeProblem::begin(
  const ConstMatrixRef & mass_matrix, const ConstVectorRef & speeds,
  const ConstVectorRef & force) noexcept CD_NONBLOCKING
{
  basis_count_ = 0;
  row_count_ = 0;
  active_count_ = 0;
  cholesky_ = mass_matrix;
  Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(cholesky_);
  if (factor.info() != Eigen::Success)
  {
    return Status::kSingularInertia;
  }
  motion_ = force;
  cholesky_.triangularView<Eigen::Lower>().solveInPlace(motion_);
  motion_.noalias() += cholesky_.triangularView<Eigen::Lower>().transpose() * speeds;
  return motion_.allFinite() ? Status::kOk : Status::kNonFiniteResult;
}

namespace
{

/// Square of the part of L⁻¹ a that may be round-off or dependence on other rows.
/// @param squared ‖L⁻¹ a‖². @param size ‖a‖ as it could be.
double negligible(double squared, const ConstVectorRef & row, double size) noexcept
{
  const double own = row.squaredNorm();
  const double could_be = own > 0.0 ? std::max(1.0, size * size / own) : 1.0;
  return squared * std::max(tolerance::kDependent, tolerance::kRoundingOfRow * could_be);
}

}  // namespace

void ConeProblem::add_equality(const ConstVectorRef & row, double target, double size) noexcept
  CD_NONBLOCKING
{
  column_ = row;
  cholesky_.triangularView<Eigen::Lower>().solveInPlace(column_);
  const double missing = target - column_.dot(motion_);
  const double least = negligible(column_.squaredNorm(), row, size);
  const auto basis = basis_.leftCols(basis_count_);
  for (int pass = 0; pass < 2; ++pass)  // twice is enough
  {
    for (int k = 0; k < basis_count_; ++k)
    {
      column_ -= basis.col(k).dot(column_) * basis.col(k);
    }
  }
  const double left = column_.squaredNorm();
  if (!(left > least) || basis_count_ == basis_.cols())
  {
    return;
  }
  column_ /= std::sqrt(left);
  basis_.col(basis_count_++) = column_;
  motion_ += missing / std::sqrt(left) * column_;
}

int ConeProblem::add_row(const ConstVectorRef & row, double target, double size) noexcept
  CD_NONBLOCKING
{
  const int index = row_count_++;
  auto y = columns_.col(index);
  y = row;
  cholesky_.triangularView<Eigen::Lower>().solveInPlace(y);
  r_(index) = y.dot(motion_) - target;
  scale_(index) = std::abs(target) + y.norm() * motion_.norm();
  const double least = negligible(y.squaredNorm(), row, size);
  raw_size_(index) = y.norm();
  for (int pass = 0; pass < 2; ++pass)
  {
    for (int k = 0; k < basis_count_; ++k)
    {
      y -= basis_.col(k).dot(y) * basis_.col(k);
    }
  }
  if (!(y.squaredNorm() > least))
  {
    y.setZero();  // the rows of equality leave it no motion
  }
  for (int k = 0; k <= index; ++k)
  {
    delassus_(index, k) = y.dot(columns_.col(k));
    delassus_(k, index) = delassus_(index, k);
  }
  return index;
}

double ConeProblem::motion_now(int row) const noexcept
{
  return r_(row) + delassus_.col(row).head(row_count_).dot(x_.head(row_count_));
}

void ConeProblem::update_motion() noexcept
{
  for (int row = 0; row < row_count_; ++row)
  {
    w_(row) = motion_now(row);
  }
}

void ConeProblem::sweep_tangents(const ConeContact & contact, double limit) noexcept
{
  double next[2] = {0.0, 0.0};
  double old[2] = {0.0, 0.0};
  double w[2] = {0.0, 0.0};
  for (int k = 0; k < contact.tangent_count; ++k)
  {
    old[k] = x_(contact.tangent[k]);
    w[k] = motion_now(contact.tangent[k]);
  }
  if (contact.tangent_count == 1)
  {
    const double d = delassus_(contact.tangent[0], contact.tangent[0]);
    next[0] = d > 0.0 ? std::clamp(old[0] - w[0] / d, -limit, limit) : 0.0;
  }
  else
  {
    const double a = delassus_(contact.tangent[0], contact.tangent[0]);
    const double b = delassus_(contact.tangent[0], contact.tangent[1]);
    const double c = delassus_(contact.tangent[1], contact.tangent[1]);
    const double determinant = a * c - b * b;
    next[0] = old[0];
    next[1] = old[1];
    if (determinant > tolerance::kParallel * a * c)
    {
      next[0] -= (c * w[0] - b * w[1]) / determinant;
      next[1] -= (a * w[1] - b * w[0]) / determinant;
    }
    if (!(determinant > tolerance::kParallel * a * c) || std::hypot(next[0], next[1]) > limit)
    {
      // On the rim of the disc: projected steps of the safe size.
      const double safe = a + c;
      next[0] = old[0];
      next[1] = old[1];
      for (int step = 0; step < bound::kRimSteps && safe > 0.0; ++step)
      {
        const double here[2] = {
          w[0] + a * (next[0] - old[0]) + b * (next[1] - old[1]),
          w[1] + b * (next[0] - old[0]) + c * (next[1] - old[1])};
        next[0] -= here[0] / safe;
        next[1] -= here[1] / safe;
        const double length = std::hypot(next[0], next[1]);
        if (length > limit)
        {
          next[0] *= limit / length;
          next[1] *= limit / length;
        }
      }
    }
  }
  for (int k = 0; k < contact.tangent_count; ++k)
  {
    x_(contact.tangent[k]) = next[k];
  }
}

/// One contact's equations for the forces of the others, and a step of that part towards them.
Status ConeProblem::sweep(const ConeContact & contact, double relaxation, double & change) noexcept
{
  double old[3] = {0.0, 0.0, 0.0};
  double limit = contact.friction;
  if (contact.normal >= 0)
  {
    double d = delassus_(contact.normal, contact.normal);
    if (contact.sliding)
    {
      for (int k = 0; k < contact.tangent_count; ++k)
      {
        d -=
          contact.friction * contact.direction[k] * delassus_(contact.normal, contact.tangent[k]);
      }
    }
    const bool is_free = delassus_(contact.normal, contact.normal) > 0.0;
    if (is_free && !(d > 0.0))
    {
      return Status::kNoUniqueSolution;
    }
    double & x = x_(contact.normal);
    old[2] = x;
    x = is_free ? std::max(0.0, x - motion_now(contact.normal) / d) : 0.0;
    limit = contact.friction * x;
  }
  for (int k = 0; k < contact.tangent_count; ++k)
  {
    old[k] = x_(contact.tangent[k]);
  }
  if (contact.sliding)
  {
    for (int k = 0; k < contact.tangent_count; ++k)
    {
      x_(contact.tangent[k]) = -limit * contact.direction[k];
    }
  }
  else if (contact.tangent_count > 0)
  {
    sweep_tangents(contact, limit);
  }
  // Between two points of the cone: inside it.
  const auto relax = [&](int row, double before)
  {
    change = std::max(change, std::abs(x_(row) - before));
    x_(row) = before + relaxation * (x_(row) - before);
  };
  if (contact.normal >= 0)
  {
    relax(contact.normal, old[2]);
  }
  for (int k = 0; k < contact.tangent_count; ++k)
  {
    relax(contact.tangent[k], old[k]);
  }
  return Status::kOk;
}

/// Removes what rounding left of forces outside their cones.
void ConeProblem::put_in_cone(const ConeContact & contact) noexcept
{
  double limit = friction_scale_ * contact.friction;
  if (contact.normal >= 0)
  {
    const double least = tolerance::kSweep * x_.head(row_count_).cwiseAbs().maxCoeff();
    x_(contact.normal) = x_(contact.normal) > least ? x_(contact.normal) : 0.0;
    limit *= x_(contact.normal);
  }
  double length = 0.0;
  for (int k = 0; k < contact.tangent_count; ++k)
  {
    length = std::hypot(length, x_(contact.tangent[k]));
  }
  for (int k = 0; k < contact.tangent_count && length > limit; ++k)
  {
    x_(contact.tangent[k]) *= limit / length;
  }
}

double ConeProblem::relative_to_forces(double error) const noexcept
{
  const double largest = row_count_ > 0 ? x_.head(row_count_).cwiseAbs().maxCoeff() : 0.0;
  return error == 0.0 ? 0.0 : error / largest;
}

/// Whether what x leaves of its equations, `error`, is within what `kOk` promises.
bool ConeProblem::is_solved(double error) const noexcept
{
  double largest = 0.0;   // force
  double possible = 0.0;  // force that could be, where none acts
  for (int row = 0; row < row_count_; ++row)
  {
    const double own = delassus_(row, row);
    largest = std::max(largest, std::abs(x_(row)));
    possible = own > 0.0 ? std::max(possible, scale_(row) / own) : possible;
  }
  return error <= tolerance::kSolved * largest + tolerance::kConeRounding * possible;
}

/// Friction: sweeps, with an attempt of Newton's method whenever their number has doubled.
/// Statuses: kOk where nothing speaks against x but perhaps its residual; kNoUniqueSolution.
Status ConeProblem::solve_friction(const ConeContact * contacts, int count) noexcept
{
  int next_attempt = bound::kSweepsToNewton;
  int attempts = 0;
  for (int k = 0; k < bound::kSweeps; ++k)
  {
    ++sweep_count_;
    double change = 0.0;
    // Where sweeps swing between two answers, shorter steps settle.
    const double relaxation = k < bound::kSweeps / 4 ? 1.0 : k < bound::kSweeps / 2 ? 0.5 : 0.2;
    for (int i = 0; i < count; ++i)
    {
      const Status status = sweep(contacts[i], relaxation, change);
      if (status != Status::kOk)
      {
        return status;
      }
    }
    const double largest = x_.head(row_count_).cwiseAbs().maxCoeff();
    if (!(largest <= tolerance::kLargestForce))
    {
      // Rows that act on each other more than on themselves throw sweeps apart.
      x_.head(row_count_).setZero();
      static_cast<void>(attempt(contacts, count, 0) || attempt(contacts, count, 1));
      return Status::kOk;
    }
    // Sweeps that change nothing may still be far from a solution, where they are slow.
    const bool has_settled = change <= tolerance::kSweep * largest;
    if (has_settled && is_solved(equations(contacts, count, false)))
    {
      return Status::kOk;
    }
    if (has_settled || k + 1 == next_attempt)
    {
      next_attempt *= 2;
      if (attempt(contacts, count, attempts++) || has_settled)
      {
        return Status::kOk;
      }
    }
  }
  return Status::kOk;
}

Status ConeProblem::solve(const ConeContact * contacts, int count) noexcept CD_NONBLOCKING
{
  sweep_count_ = 0;
  newton_count_ = 0;
  const bool met = solve_normals(contacts, count);
  bool has_friction = false;
  for (int i = 0; i < count; ++i)
  {
    has_friction = has_friction || contacts[i].tangent_count > 0;
  }
  Status result = Status::kOk;
  if (has_friction)
  {
    result = solve_friction(contacts, count);
    if (result == Status::kNoUniqueSolution)
    {
      x_.head(row_count_).setZero();
    }
  }
  const double left = equations(contacts, count, false);
  error_ = relative_to_forces(left);
  if (result != Status::kOk || !met)
  {
    return result != Status::kOk ? result : Status::kInconsistent;
  }
  return is_solved(left) ? Status::kOk : Status::kNotConverged;
}

}  // namespace constrained_dynamics
