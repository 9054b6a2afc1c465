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
  const ConstraintSet & passive, const ServoOptions & options, int row_count, int motion_count)
: lower_(bounds("lower", options.limits.lower, passive.system(), -kInfinity)),
  upper_(bounds("upper", options.limits.upper, passive.system(), kInfinity)),
  rate_(bounds("rate", options.limits.rate, passive.system(), kInfinity)),
  cones_(cone_rows(passive, options.cones)),
  inputs_(passive.system().input_count()),
  program_(
    static_cast<int>(inputs_) + (options.cones.empty() ? 0 : passive.row_count()), row_count,
    static_cast<int>(inputs_) + cone_row_count(options.cones) + motion_count),
  motion_(Eigen::MatrixXd::Zero(motion_count, inputs_)),
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
  hessian_.setZero(most, most);
  gradient_.setZero(most);
  equalities_.setZero(row_count, most);
  equality_values_.setZero(row_count);
  rows_.setZero(rows, most);
  row_lower_.setConstant(rows, -kInfinity);
  row_upper_.setConstant(rows, kInfinity);
  solution_.setZero(most);
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
  const double largest = rows.cwiseAbs().maxCoeff();
  bool met = true;
  motion_ = rows;
  for (Eigen::Index i = 0; i < rows.rows(); ++i)
  {
    const bool acts = rows.row(i).cwiseAbs().maxCoeff() > kNoEffect * largest;
    met = met && (acts || (lower(i) <= 0.0 && upper(i) >= 0.0));
    motion_lower_(i) = acts ? lower(i) : -kInfinity;
    motion_upper_(i) = acts ? upper(i) : kInfinity;
  }
  return met;
}

bool LimitedControls::relax_motion(Eigen::VectorXd & tau) noexcept CD_NONBLOCKING
{
  // min Σ s² with a negligible weight on τ, subject to lower ≤ R τ + s ≤ upper. Controls are scaled
  // by their effect on the rows.
  constexpr double kWeight = 1e-9;
  const Eigen::Index count = motion_.rows();
  for (Eigen::Index i = 0; i < inputs_; ++i)
  {
    const double effect = motion_.col(i).squaredNorm();
    widening_hessian_(i, i) = kWeight * (effect > 0.0 ? effect : 1.0);
  }
  widening_rows_.bottomLeftCorner(count, inputs_) = motion_;
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
    const double value = motion_.row(i).dot(tau);
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

void LimitedControls::load_rows(const Reduction & reduction, const Workspace & workspace) noexcept
  CD_NONBLOCKING
{
  const auto Z = reduction.multiplier_null_space();
  open_ = cones_.empty() ? 0 : Z.cols();
  rows_.setZero();
  rows_.topLeftCorner(inputs_, inputs_).setIdentity();
  row_lower_.head(inputs_) = now_lower_;
  row_upper_.head(inputs_) = now_upper_;
  for (std::size_t i = 0; i < cones_.size(); ++i)
  {
    const ConeRow & cone = cones_[i];
    const Eigen::Index k = inputs_ + static_cast<Eigen::Index>(i);
    double constant = 0.0;
    for (const auto & [row, coefficient] : cone.terms)
    {
      rows_.row(k).head(inputs_) += coefficient * reduction.multiplier_response().row(row);
      rows_.row(k).segment(inputs_, open_) += coefficient * Z.row(row);
      constant += coefficient * reduction.free_multipliers()(row);
    }
    row_lower_(k) = workspace.is_active(cone.constraint) ? cone.lower - constant : -kInfinity;
  }
  rows_.bottomLeftCorner(motion_.rows(), inputs_) = motion_;
  row_lower_.tail(motion_.rows()) = motion_lower_;
  row_upper_.tail(motion_.rows()) = motion_upper_;
}

Status LimitedControls::minimise(int equalities) noexcept CD_NONBLOCKING
{
  const Eigen::Index n = inputs_ + open_;
  const Status status = program_.solve(
    {hessian_.topLeftCorner(n, n), gradient_.head(n), equalities_.topLeftCorner(equalities, n),
     equality_values_.head(equalities), rows_.leftCols(n), row_lower_, row_upper_});
  if (status == Status::kOk)
  {
    solution_.head(n) = program_.solution();
  }
  return status;
}

Status LimitedControls::solve(
  const Levels & desired, const Reduction & reduction, const Workspace & workspace,
  Eigen::VectorXd & tau) noexcept CD_NONBLOCKING
{
  load_rows(reduction, workspace);
  equalities_.setZero();
  Status status = Status::kOk;
  int begin = 0;
  bool found = false;
  for (int level = 0; level < desired.level_count && status == Status::kOk; ++level)
  {
    const int end = desired.level_ends[static_cast<std::size_t>(level)];
    hessian_.setZero();
    gradient_.setZero();
    auto H = hessian_.topLeftCorner(inputs_, inputs_);
    for (int row = begin; row < end; ++row)
    {
      H.noalias() += desired.rows.row(row).transpose() * desired.rows.row(row);
      gradient_.head(inputs_) -= desired.right(row) * desired.rows.row(row).transpose();
    }
    status = minimise(begin);
    if (status == Status::kOk)
    {
      found = true;
      for (int row = begin; row < end; ++row)
      {
        equalities_.row(row).head(inputs_) = desired.rows.row(row);
        equality_values_(row) = desired.rows.row(row).dot(solution_.head(inputs_));
      }
      begin = end;
    }
  }
  if (status == Status::kOk)
  {
    // The smallest distribution of the forces, with negligible weight relative to the controls.
    constexpr double kSplitWeight = 1e-6;
    hessian_.setZero();
    auto H = hessian_.topLeftCorner(inputs_, inputs_);
    if (desired.metric)
    {
      H = *desired.metric;
    }
    else
    {
      H.setIdentity();
    }
    hessian_.diagonal().segment(inputs_, open_).setConstant(kSplitWeight * H.diagonal().maxCoeff());
    gradient_.setZero();
    gradient_.head(inputs_).noalias() -= H * desired.null_vector;
    found = minimise(begin) == Status::kOk || found;
  }
  if (found)
  {
    // If a later level cannot be solved, the result of the earlier ones is kept.
    tau = solution_.head(inputs_);
    status = Status::kOk;
  }
  else
  {
    status = Status::kInfeasible;
  }
  tau = tau.cwiseMax(now_lower_).cwiseMin(now_upper_);
  for (Eigen::Index i = 0; i < inputs_; ++i)
  {
    const double near = 1e-9 * (1.0 + std::abs(tau(i)));
    at_bound_[static_cast<std::size_t>(i)] =
      tau(i) - now_lower_(i) <= near || now_upper_(i) - tau(i) <= near;
  }
  return status;
}

}  // namespace constrained_dynamics
