// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/limited_controls.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>

#include "constants.hpp"
#include "names.hpp"

namespace constrained_dynamics
{

namespace
{

[[noreturn]] void refuse(const std::string & what) { throw std::invalid_argument("servo " + what); }

/// One bound per input, or the same for all if none is given.
Eigen::VectorXd bounds(
  const char * name, const Eigen::VectorXd & given, const System & system, double fallback)
{
  const Eigen::Index l = system.input_count();
  if (given.size() == 0)
  {
    return Eigen::VectorXd::Constant(l, fallback);
  }
  if (given.size() != l)
  {
    std::ostringstream message;
    message << "limit " << name << " has " << given.size() << " values; allowed: one an input, "
            << l;
    refuse(message.str());
  }
  for (Eigen::Index i = 0; i < l; ++i)
  {
    if (std::isnan(given(i)))
    {
      refuse(
        std::string("limit ") + name + " of input '" +
        system.input_names()[static_cast<std::size_t>(i)] + "' is NaN; allowed: a number or ±∞");
    }
  }
  return given;
}

int find_row(const ConstraintSet & set, int constraint, const std::string & label)
{
  std::vector<std::string> labels;
  for (const RowDescription & row : set[constraint].rows())
  {
    labels.push_back(row.label);
  }
  return set.row_offset(constraint) +
         index_of_name("row of constraint '" + set[constraint].name() + "'", label, labels);
}

std::vector<LimitedControls::ConeRow> cone_rows(
  const ConstraintSet & set, const std::vector<FrictionCone> & cones)
{
  std::vector<LimitedControls::ConeRow> rows;
  for (const FrictionCone & cone : cones)
  {
    const int constraint = set.index(cone.constraint);
    const auto check = [&](const char * name, double value)
    {
      if (!(value >= 0.0 && value <= 1e6))
      {
        std::ostringstream message;
        message << "cone of '" << cone.constraint << "': " << name << " is " << value
                << "; allowed: 0 to 1e6";
        refuse(message.str());
      }
    };
    check("coefficient", cone.coefficient);
    check("least_push", cone.least_push);
    if (cone.tangents.size() > 2)
    {
      refuse(
        "cone of '" + cone.constraint + "': " + std::to_string(cone.tangents.size()) +
        " tangents; allowed: at most 2");
    }
    if (cone.side != 1.0 && cone.side != -1.0)
    {
      std::ostringstream message;
      message << "cone of '" << cone.constraint << "': side is " << cone.side
              << "; allowed: 1 or -1";
      refuse(message.str());
    }
    const int normal = find_row(set, constraint, cone.normal);
    rows.push_back({{{normal, -cone.side}}, cone.least_push, constraint});
    // Pyramid inside the cone: |λ_t| ≤ μ/√(number of tangents) · push.
    const double slope = cone.coefficient / std::sqrt(std::max<double>(
                                              1.0, static_cast<double>(cone.tangents.size())));
    for (const std::string & tangent : cone.tangents)
    {
      const int row = find_row(set, constraint, tangent);
      for (const double sign : {-1.0, 1.0})
      {
        rows.push_back({{{normal, -cone.side * slope}, {row, sign}}, 0.0, constraint});
      }
    }
  }
  return rows;
}

int cone_row_count(const std::vector<FrictionCone> & cones)
{
  std::size_t count = 0;
  for (const FrictionCone & cone : cones)
  {
    count += 1 + 2 * cone.tangents.size();
  }
  return static_cast<int>(count);
}

}  // namespace

LimitedControls::LimitedControls(
  const ConstraintSet & passive, const ServoOptions & options, int level_count, int motion_count)
: lower_(bounds("lower", options.limits.lower, passive.system(), -kInfinity)),
  upper_(bounds("upper", options.limits.upper, passive.system(), kInfinity)),
  rate_(bounds("rate", options.limits.rate, passive.system(), kInfinity)),
  cones_(cone_rows(passive, options.cones)),
  inputs_(passive.system().input_count()),
  program_(
    static_cast<int>(inputs_) + (options.cones.empty() ? 0 : passive.row_count()), level_count + 1,
    static_cast<int>(inputs_) + cone_row_count(options.cones) + motion_count),
  motion_(Eigen::MatrixXd::Zero(inputs_, motion_count)),
  motion_lower_(Eigen::VectorXd::Constant(motion_count, -kInfinity)),
  motion_upper_(Eigen::VectorXd::Constant(motion_count, kInfinity)),
  widening_(static_cast<int>(inputs_) + motion_count, 0, static_cast<int>(inputs_) + motion_count)
{
  const auto name = [&](Eigen::Index i)
  { return "'" + passive.system().input_names()[static_cast<std::size_t>(i)] + "'"; };
  for (Eigen::Index i = 0; i < inputs_; ++i)
  {
    std::ostringstream message;
    if (!(lower_(i) <= upper_(i)))
    {
      message << "limits of input " << name(i) << ": lower " << lower_(i) << " is above upper "
              << upper_(i) << "; allowed: lower ≤ upper";
      refuse(message.str());
    }
    if (!(rate_(i) > 0.0))
    {
      message << "limit rate of input " << name(i) << " is " << rate_(i) << "; allowed: above 0";
      refuse(message.str());
    }
  }
  if ((rate_.array() < kInfinity).any() && !(options.period > 0.0))
  {
    refuse("limit rate needs the period of evaluations; allowed: option period above 0");
  }
  rate_ *= options.period > 0.0 ? options.period : 1.0;
  const Eigen::Index most = inputs_ + (cones_.empty() ? 0 : passive.row_count());
  const Eigen::Index rows = inputs_ + static_cast<Eigen::Index>(cones_.size()) + motion_count;
  now_lower_ = lower_;
  now_upper_ = upper_;
  input_rows_.setZero(inputs_, rows);
  rows_.setZero(most, rows);
  row_lower_.setConstant(rows, -kInfinity);
  row_upper_.setConstant(rows, kInfinity);
  block_ends_.assign(static_cast<std::size_t>(level_count) + 1, 0);
  at_bound_.assign(static_cast<std::size_t>(inputs_), false);
  const Eigen::Index all = inputs_ + motion_count;
  widening_hessian_.setIdentity(all, all);
  widening_gradient_.setZero(all);
  widening_rows_.setIdentity(all, all);
  widening_lower_.setConstant(all, -kInfinity);
  widening_upper_.setConstant(all, kInfinity);
}

void LimitedControls::begin(const Eigen::VectorXd * last) noexcept CD_NONBLOCKING
{
  now_lower_ = lower_;
  now_upper_ = upper_;
  if (last)
  {
    // If rate limit and bounds conflict, the rate limit applies; it leads back to the bounds.
    for (Eigen::Index i = 0; i < inputs_; ++i)
    {
      const double from = (*last)(i)-rate_(i);
      const double to = (*last)(i) + rate_(i);
      now_lower_(i) = std::min(std::max(lower_(i), from), to);
      now_upper_(i) = std::max(std::min(upper_(i), to), from);
    }
  }
}

bool LimitedControls::set_motion(
  const Eigen::MatrixXd & rows, const Eigen::VectorXd & lower,
  const Eigen::VectorXd & upper) noexcept CD_NONBLOCKING
{
  constexpr double kNoEffect = 1e-9;  // of the largest
  const double largest = rows.size() > 0 ? rows.cwiseAbs().maxCoeff() : 0.0;
  bool met = true;
  motion_ = rows;
  for (Eigen::Index i = 0; i < rows.cols(); ++i)
  {
    const bool acts = rows.col(i).cwiseAbs().maxCoeff() > kNoEffect * largest;
    met = met && (acts || (lower(i) <= 0.0 && upper(i) >= 0.0));
    motion_lower_(i) = acts ? lower(i) : -kInfinity;
    motion_upper_(i) = acts ? upper(i) : kInfinity;
  }
  return met;
}

void LimitedControls::forget_motion() noexcept CD_NONBLOCKING
{
  motion_lower_.setConstant(-kInfinity);
  motion_upper_.setConstant(kInfinity);
}

bool LimitedControls::relax_motion(Eigen::VectorXd & tau) noexcept CD_NONBLOCKING
{
  // min Σ s² with a negligible weight on τ, subject to lower ≤ R τ + s ≤ upper. Controls are scaled
  // by their effect on the rows.
  constexpr double kWeight = 1e-9;
  const Eigen::Index count = motion_.cols();
  for (Eigen::Index i = 0; i < inputs_; ++i)
  {
    const double effect = motion_.row(i).squaredNorm();
    widening_hessian_(i, i) = kWeight * (effect > 0.0 ? effect : 1.0);
  }
  widening_rows_.bottomLeftCorner(count, inputs_) = motion_.transpose();
  widening_lower_ << now_lower_, motion_lower_;
  widening_upper_ << now_upper_, motion_upper_;
  const Status status = widening_.solve(
    {widening_hessian_, widening_gradient_, widening_rows_.topRows(0), widening_gradient_.head(0),
     widening_rows_, widening_lower_, widening_upper_});
  if (status != Status::kOk)
  {
    return false;
  }
  tau = widening_.solution().head(inputs_).cwiseMax(now_lower_).cwiseMin(now_upper_);
  for (Eigen::Index i = 0; i < count; ++i)
  {
    const double value = motion_.col(i).dot(tau);
    motion_lower_(i) = std::min(motion_lower_(i), value);
    motion_upper_(i) = std::max(motion_upper_(i), value);
  }
  return true;
}

bool LimitedControls::admits(const Eigen::VectorXd & tau) const noexcept CD_NONBLOCKING
{
  return !(tau.array() < now_lower_.array()).any() && !(tau.array() > now_upper_.array()).any();
}

bool LimitedControls::admits_forces(
  const Eigen::VectorXd & multipliers, const Workspace & workspace) const noexcept CD_NONBLOCKING
{
  for (const ConeRow & cone : cones_)
  {
    if (!workspace.is_active(cone.constraint))
    {
      continue;
    }
    double value = 0.0;
    for (const auto & [row, coefficient] : cone.terms)
    {
      value += coefficient * multipliers(row);
    }
    if (!(value >= cone.lower))
    {
      return false;
    }
  }
  return true;
}

void LimitedControls::load_cones(const Reduction & reduction, const Workspace & workspace) noexcept
  CD_NONBLOCKING
{
  const auto Z = reduction.multiplier_null_space();
  for (std::size_t i = 0; i < cones_.size(); ++i)
  {
    const ConeRow & cone = cones_[i];
    const Eigen::Index k = inputs_ + static_cast<Eigen::Index>(i);
    input_rows_.col(k).setZero();
    rows_.col(k).setZero();
    double constant = 0.0;
    for (const auto & [row, coefficient] : cone.terms)
    {
      input_rows_.col(k) += coefficient * reduction.multiplier_response().row(row).transpose();
      rows_.col(k).segment(inputs_, open_) += coefficient * Z.row(row).transpose();
      constant += coefficient * reduction.free_multipliers()(row);
    }
    row_lower_(k) = workspace.is_active(cone.constraint) ? cone.lower - constant : -kInfinity;
  }
}

void LimitedControls::load_rows(
  const Unlimited & unlimited, const Reduction & reduction,
  const Workspace & workspace) noexcept CD_NONBLOCKING
{
  open_ = cones_.empty() ? 0 : reduction.multiplier_null_space().cols();
  row_lower_.head(inputs_) = now_lower_ - unlimited.controls;
  row_upper_.head(inputs_) = now_upper_ - unlimited.controls;
  load_cones(reduction, workspace);
  const Eigen::Index motion = motion_.cols();
  input_rows_.rightCols(motion) = motion_;
  row_lower_.tail(motion) = motion_lower_;
  row_upper_.tail(motion) = motion_upper_;
  const Eigen::Index others = rows_.cols() - inputs_;
  rows_.topLeftCorner(inputs_, inputs_) = unlimited.directions.transpose();
  rows_.topRightCorner(inputs_, others).noalias() =
    unlimited.directions.transpose() * input_rows_.rightCols(others);
  for (Eigen::Index k = inputs_; k < rows_.cols(); ++k)
  {
    const double value = input_rows_.col(k).dot(unlimited.controls);
    row_lower_(k) -= value;
    row_upper_(k) -= value;
  }
  clean_rows(unlimited);
  std::copy(unlimited.level_ends.begin(), unlimited.level_ends.end(), block_ends_.begin());
  block_ends_.back() = static_cast<int>(inputs_ + open_);
}

void LimitedControls::clean_rows(const Unlimited & unlimited) noexcept CD_NONBLOCKING
{
  constexpr double kNothing = 1e-13;  // of the largest that the part could be
  Eigen::Index begin = 0;
  for (const int end : unlimited.level_ends)
  {
    const Eigen::Index count = end - begin;
    const double size = unlimited.directions.middleCols(begin, count).norm();
    for (Eigen::Index k = 0; k < rows_.cols(); ++k)
    {
      const double length = k < inputs_ ? 1.0 : input_rows_.col(k).norm();
      auto part = rows_.col(k).segment(begin, count);
      if (!(part.norm() > kNothing * size * length))
      {
        part.setZero();
      }
    }
    begin = end;
  }
}

Status LimitedControls::solve(
  const Unlimited & unlimited, const Reduction & reduction, const Workspace & workspace,
  Eigen::VectorXd & tau) noexcept CD_NONBLOCKING
{
  load_rows(unlimited, reduction, workspace);
  const Status status =
    program_.solve({rows_.topRows(inputs_ + open_), row_lower_, row_upper_, block_ends_, true});
  // A point that need not be the best is within the limits all the same.
  const bool is_found = status == Status::kOk || status == Status::kNotConverged;
  if (is_found)
  {
    tau = unlimited.controls;
    tau.noalias() += unlimited.directions * program_.solution().head(inputs_);
  }
  tau = tau.cwiseMax(now_lower_).cwiseMin(now_upper_);
  for (Eigen::Index i = 0; i < inputs_; ++i)
  {
    const double near = 1e-9 * (1.0 + std::abs(tau(i)));
    at_bound_[static_cast<std::size_t>(i)] =
      tau(i) - now_lower_(i) <= near || now_upper_(i) - tau(i) <= near;
  }
  return is_found ? Status::kOk : Status::kInfeasible;
}

}  // namespace constrained_dynamics
