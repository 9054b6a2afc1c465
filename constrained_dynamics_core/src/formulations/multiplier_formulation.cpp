// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formulations/multiplier_formulation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <typeinfo>
#include <utility>

#include "constrained_dynamics/formulations/evaluation.hpp"
#include "constrained_dynamics/formulations/solution.hpp"

namespace constrained_dynamics
{

namespace
{

constexpr int kIterations = 50;
constexpr int kHalvings = 20;
constexpr double kRounding = 16.0 * std::numeric_limits<double>::epsilon();
// Residuals relative to the terms of (E46): a solution; and agreement of the last solve with it.
constexpr double kConverged = 1e-11;
constexpr double kAgreement = 1e-8;
// A pivot of 1 − R y′, relative to the terms of its row, below which the slope is singular.
constexpr double kSingularSlope = 1e-12;
// Up to this many multipliers, all combinations of their signs are examined.
constexpr int kMostSigns = 4;

/// Gaussian elimination with row exchanges; `x` becomes the solution. Returns the sign of the
/// determinant, 0 if a pivot vanishes relative to `size`.
int eliminate(Eigen::MatrixXd & a, Eigen::VectorXd & x, double size) noexcept
{
  const Eigen::Index k = a.rows();
  int sign = 1;
  for (Eigen::Index i = 0; i < k; ++i)
  {
    Eigen::Index best = 0;
    const double pivot = a.col(i).tail(k - i).cwiseAbs().maxCoeff(&best);
    best += i;
    if (!(pivot > kSingularSlope * size))
    {
      return 0;
    }
    if (best != i)
    {
      for (Eigen::Index j = 0; j < k; ++j)
      {
        std::swap(a(i, j), a(best, j));
      }
      std::swap(x(i), x(best));
      sign = -sign;
    }
    sign = a(i, i) < 0.0 ? -sign : sign;
    for (Eigen::Index r = i + 1; r < k; ++r)
    {
      const double factor = a(r, i) / a(i, i);
      a.row(r).tail(k - i) -= factor * a.row(i).tail(k - i);
      x(r) -= factor * x(i);
    }
  }
  for (Eigen::Index i = k - 1; i >= 0; --i)
  {
    x(i) -= a.row(i).tail(k - 1 - i).dot(x.tail(k - 1 - i));
    x(i) /= a(i, i);
  }
  return sign;
}

/// The unknowns of (E46) and everything that their solution changes.
class MultiplierData : public FormulationData
{
public:
  MultiplierData(
    const MultiplierForces & forces, const ConstrainedSystem & system, const RowFormulation & rows);

  Status solve(const RowFormulation & rows, Evaluation & evaluation, Solution & solution) noexcept
    CD_NONBLOCKING;

  const Eigen::VectorXd & values() const noexcept { return applied_; }
  const Eigen::MatrixXd & directions() const noexcept { return directions_; }

private:
  Status solve_together(const RowFormulation & rows, Evaluation & evaluation) noexcept;
  /// The motion with the forces `values`, into evaluation.row_solution.
  Status solve_with(
    const Eigen::VectorXd & values, const RowFormulation & rows, Evaluation & evaluation) noexcept;
  /// R, on the rows that were gathered last.
  Status respond(const RowFormulation & rows, Evaluation & evaluation) noexcept;
  /// F at x, its slope 1 − R y′ and the size of its terms.
  Status residual(const Evaluation & evaluation, const Eigen::VectorXd & x) noexcept;
  Status find(const Evaluation & evaluation) noexcept;
  Status step(const Evaluation & evaluation, double & worst) noexcept;
  bool is_unique(const Evaluation & evaluation) noexcept;
  /// Sign of det (1 − R y′), and the Newton step in `step_`.
  int slope_sign() noexcept;
  double worst_residual() const noexcept;
  /// λ_s of evaluation.row_solution.
  void pick(const Evaluation & evaluation, VectorRef out) const noexcept;
  void add_given(const Evaluation & evaluation, VectorRef out) const noexcept;

  const MultiplierForces & forces_;
  std::unique_ptr<FormulationData> row_data_;
  Eigen::VectorXd given_inputs_;
  Eigen::MatrixXd directions_;   // B (n × p)
  Eigen::MatrixXd response_;     // R (k × p)
  Eigen::MatrixXd derivatives_;  // y′ (p × k)
  Eigen::MatrixXd slope_;        // 1 − R y′ (k × k)
  Eigen::MatrixXd factors_;
  Eigen::VectorXd values_;   // y (p)
  Eigen::VectorXd applied_;  // y of the last solve
  Eigen::VectorXd free_;     // λ_0 (k)
  Eigen::VectorXd x_;
  Eigen::VectorXd trial_;
  Eigen::VectorXd step_;
  Eigen::VectorXd residual_;
  Eigen::VectorXd size_;
  Eigen::VectorXd scratch_;
};

MultiplierData::MultiplierData(
  const MultiplierForces & forces, const ConstrainedSystem & system, const RowFormulation & rows)
: forces_(forces), row_data_(rows.make_data(system))
{
  const Eigen::Index n = system.system().speed_count();
  const Eigen::Index p = static_cast<Eigen::Index>(forces_.targets().size());
  const Eigen::Index k = static_cast<Eigen::Index>(forces_.rows().size());
  given_inputs_.setZero(system.system().input_count());
  directions_.setZero(n, p);
  response_.setZero(k, p);
  derivatives_.setZero(p, k);
  slope_.setZero(k, k);
  factors_.setZero(k, k);
  values_.setZero(p);
  applied_.setZero(p);
  for (Eigen::VectorXd * vector : {&free_, &x_, &trial_, &step_, &residual_, &size_})
  {
    vector->setZero(k);
  }
  scratch_.setZero(forces_.scratch_size());
}

void MultiplierData::pick(const Evaluation & evaluation, VectorRef out) const noexcept
{
  for (std::size_t i = 0; i < forces_.rows().size(); ++i)
  {
    double & multiplier = out(static_cast<Eigen::Index>(i));
    multiplier = 0.0;
    for (int active = 0; active < evaluation.active_row_count; ++active)
    {
      if (evaluation.active_rows(active) == forces_.rows()[i])
      {
        multiplier = evaluation.row_solution.multipliers(active);
      }
    }
  }
}

void MultiplierData::add_given(const Evaluation & evaluation, VectorRef out) const noexcept
{
  for (std::size_t i = 0; i < forces_.rows().size(); ++i)
  {
    out(static_cast<Eigen::Index>(i)) += evaluation.given_multipliers(forces_.rows()[i]);
  }
}

Status MultiplierData::solve(
  const RowFormulation & rows, Evaluation & evaluation, Solution & solution) noexcept CD_NONBLOCKING
{
  given_inputs_ = evaluation.inputs;
  const Status status = solve_together(rows, evaluation);
  if (!has_output(status))
  {
    evaluation.inputs = given_inputs_;
    return status;
  }
  applied_ = values_;
  evaluation.note_rank(RowSubset::kAll, evaluation.row_solution.rank);
  evaluation.scatter(solution);
  return status;
}

Status MultiplierData::solve_together(const RowFormulation & rows, Evaluation & evaluation) noexcept
{
  Status status = evaluation.ask_rows_and_terms();
  status = status == Status::kOk ? rows.prepare(*evaluation.system_data, *row_data_) : status;
  if (status != Status::kOk)
  {
    return status;
  }
  forces_.directions(evaluation.system(), *evaluation.system_data, evaluation.scratch, directions_);
  values_.setZero();
  status = solve_with(values_, rows, evaluation);
  if (!has_output(status))
  {
    return status;
  }
  pick(evaluation, free_);
  add_given(evaluation, free_);
  status = respond(rows, evaluation);
  status = has_output(status) ? find(evaluation) : status;
  if (status != Status::kOk)
  {
    return has_output(status) ? Status::kNotConverged : status;
  }
  status = solve_with(values_, rows, evaluation);
  if (!has_output(status))
  {
    return status;
  }
  pick(evaluation, step_);
  add_given(evaluation, step_);
  const bool agrees = ((step_ - x_).array().abs() <= kAgreement * size_.maxCoeff()).all();
  return agrees ? status : Status::kNotConverged;
}

Status MultiplierData::solve_with(
  const Eigen::VectorXd & values, const RowFormulation & rows, Evaluation & evaluation) noexcept
{
  for (std::size_t j = 0; j < forces_.targets().size(); ++j)
  {
    const MultiplierForceTarget & target = forces_.targets()[j];
    if (target.kind == MultiplierForceTarget::Kind::kInput)
    {
      evaluation.inputs(target.index) = values(static_cast<Eigen::Index>(j));
    }
  }
  const RowProblem problem = evaluation.motion_problem();
  for (std::size_t j = 0; j < forces_.targets().size(); ++j)
  {
    if (forces_.targets()[j].kind != MultiplierForceTarget::Kind::kInput)
    {
      const Eigen::Index k = static_cast<Eigen::Index>(j);
      evaluation.force += values(k) * directions_.col(k);  // which `problem` refers to
    }
  }
  return rows.solve(problem, evaluation.of().options.rank, *row_data_, evaluation.row_solution);
}

Status MultiplierData::respond(const RowFormulation & rows, Evaluation & evaluation) noexcept
{
  Status status = Status::kOk;
  evaluation.active_bias.head(evaluation.active_row_count).setZero();
  for (Eigen::Index j = 0; j < directions_.cols() && has_output(status); ++j)
  {
    evaluation.force = directions_.col(j);
    const RowProblem problem = evaluation.gathered_problem(RowSubset::kAll);
    // Without bias no rows contradict each other; singular ones are told by the motion.
    status = rows.solve(problem, evaluation.of().options.rank, *row_data_, evaluation.row_solution);
    if (has_output(status))
    {
      pick(evaluation, response_.col(j));
    }
  }
  return has_output(status) ? Status::kOk : status;
}

Status MultiplierData::residual(const Evaluation & evaluation, const Eigen::VectorXd & x) noexcept
{
  const Status status =
    forces_.evaluate(*evaluation.system_data, x, scratch_.data(), values_, derivatives_);
  if (status != Status::kOk)
  {
    return status;
  }
  residual_ = free_ - x;
  residual_.noalias() += response_ * values_;
  size_ = free_.cwiseAbs() + x.cwiseAbs();
  for (Eigen::Index j = 0; j < response_.cols(); ++j)
  {
    size_ += std::abs(values_(j)) * response_.col(j).cwiseAbs();
  }
  slope_.setIdentity();
  slope_.noalias() -= response_ * derivatives_;
  return residual_.allFinite() && slope_.allFinite() ? Status::kOk : Status::kNonFiniteResult;
}

double MultiplierData::worst_residual() const noexcept
{
  double worst = 0.0;
  for (Eigen::Index i = 0; i < residual_.size(); ++i)
  {
    worst = residual_(i) == 0.0 ? worst : std::max(worst, std::abs(residual_(i)) / size_(i));
  }
  return worst;
}

int MultiplierData::slope_sign() noexcept
{
  factors_ = slope_;
  step_ = residual_;
  return eliminate(factors_, step_, 1.0 + slope_.cwiseAbs().maxCoeff());
}

Status MultiplierData::step(const Evaluation & evaluation, double & worst) noexcept
{
  // step_ holds the Newton step from x_.
  for (int halving = 0; halving <= kHalvings; ++halving)
  {
    trial_ = x_ + step_;
    const Status status = residual(evaluation, trial_);
    const double next = status == Status::kOk ? worst_residual() : 0.0;
    if (status == Status::kOk && (next < worst || next <= kRounding))
    {
      x_ = trial_;
      worst = next;
      return Status::kOk;
    }
    step_ *= 0.5;
  }
  return Status::kNotConverged;
}

Status MultiplierData::find(const Evaluation & evaluation) noexcept
{
  x_ = free_;
  Status status = residual(evaluation, x_);
  if (status != Status::kOk)
  {
    return status;
  }
  double worst = worst_residual();
  for (int i = 0; i < kIterations && worst > kRounding; ++i)
  {
    if (slope_sign() == 0)
    {
      return Status::kNoUniqueSolution;
    }
    status = step(evaluation, worst);
    if (status != Status::kOk)
    {
      break;
    }
  }
  // As x_ was left, with its values and slope.
  if (worst > kConverged || !is_unique(evaluation))
  {
    return is_unique(evaluation) ? Status::kNotConverged : Status::kNoUniqueSolution;
  }
  return residual(evaluation, x_);
}

bool MultiplierData::is_unique(const Evaluation & evaluation) noexcept
{
  if (residual(evaluation, x_) != Status::kOk)
  {
    return false;
  }
  const int sign = slope_sign();
  if (sign == 0)
  {
    return false;
  }
  // The slopes of all linear pieces of |λ| must have one orientation.
  const int k = static_cast<int>(x_.size());
  const int patterns = k <= kMostSigns ? (1 << k) : k + 2;
  for (int pattern = 0; pattern < patterns; ++pattern)
  {
    for (int i = 0; i < k; ++i)
    {
      const bool flips =
        k <= kMostSigns ? ((pattern >> i) & 1) != 0 : i + 1 == pattern || pattern == k + 1;
      const double here = x_(i) != 0.0 ? x_(i) : 1.0;
      trial_(i) = flips ? -here : here;
    }
    // Where a formula is undefined there is no solution either.
    if (residual(evaluation, trial_) == Status::kOk && slope_sign() != sign)
    {
      return false;
    }
  }
  return true;
}

}  // namespace

MultiplierFormulation::MultiplierFormulation(
  std::shared_ptr<const Formulation> inner, std::shared_ptr<const MultiplierForces> forces)
: inner_(std::move(inner)), forces_(std::move(forces))
{
  if (!inner_ || !forces_)
  {
    throw std::invalid_argument(
      "a formulation with forces that depend on constraint forces needs both of them; one is null");
  }
}

const MultiplierFormulation * MultiplierFormulation::of(const Formulation & formulation) noexcept
{
  return typeid(formulation) == typeid(MultiplierFormulation)
           ? static_cast<const MultiplierFormulation *>(&formulation)
           : nullptr;
}

std::string MultiplierFormulation::do_refusal(const ConstrainedSystem & system) const
{
  if (&inner_->row_form() != inner_.get() && std::string(inner_->name()) == "articulated_body")
  {
    return "forces depend on constraint forces; allowed: auto and formulations over rows";
  }
  forces_->check(system.constraints);
  return inner_->refusal(system);
}

std::unique_ptr<FormulationData> MultiplierFormulation::make_data(
  const ConstrainedSystem & system) const
{
  return std::make_unique<MultiplierData>(*forces_, system, inner_->row_form());
}

Status MultiplierFormulation::do_solve(
  Evaluation & evaluation, FormulationData & data,
  Solution & solution) const noexcept CD_NONBLOCKING
{
  return static_cast<MultiplierData &>(data).solve(inner_->row_form(), evaluation, solution);
}

const Eigen::VectorXd & MultiplierFormulation::values(const FormulationData & data) noexcept
  CD_NONBLOCKING
{
  return static_cast<const MultiplierData &>(data).values();
}

const Eigen::MatrixXd & MultiplierFormulation::directions(const FormulationData & data) noexcept
  CD_NONBLOCKING
{
  return static_cast<const MultiplierData &>(data).directions();
}

}  // namespace constrained_dynamics
