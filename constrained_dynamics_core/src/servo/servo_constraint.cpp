// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/servo_constraint.hpp"

#include <cmath>
#include <sstream>
#include <stdexcept>

#include "names.hpp"

namespace constrained_dynamics
{

namespace
{

[[noreturn]] void refuse(const std::string & name, const std::string & what)
{
  throw std::invalid_argument("servo-constraint '" + name + "': " + what);
}

const Constraint & not_null(const std::shared_ptr<const Constraint> & constraint)
{
  if (!constraint)
  {
    throw std::invalid_argument("a servo-constraint has no constraint; allowed: one of the system");
  }
  return *constraint;
}

/// Rows of a passive constraint by label.
std::pair<std::vector<RowDescription>, std::vector<int>> find_rows(
  const ConstraintSet & set, const std::string & constraint,
  const std::vector<std::string> & labels)
{
  const int index = set.index(constraint);
  const std::vector<RowDescription> & all = set[index].rows();
  std::pair<std::vector<RowDescription>, std::vector<int>> found;
  for (std::size_t k = 0; k < all.size() && labels.empty(); ++k)
  {
    found.first.push_back(all[k]);
    found.second.push_back(set.row_offset(index) + static_cast<int>(k));
  }
  std::vector<std::string> known;
  for (const RowDescription & row : all)
  {
    known.push_back(row.label);
  }
  for (const std::string & label : labels)
  {
    const int row = index_of_name("row of constraint '" + constraint + "'", label, known);
    found.first.push_back(all[static_cast<std::size_t>(row)]);
    found.second.push_back(set.row_offset(index) + row);
  }
  for (RowDescription & row : found.first)
  {
    row.level = RowLevel::kAcceleration;
  }
  return found;
}

}  // namespace

// ---- ErrorDynamics -----------------------------------------------------------------------------

ErrorDynamics ErrorDynamics::from_stiffness(double stiffness, double damping_ratio)
{
  const auto check = [](const char * name, double value)
  {
    if (!(value > 0.0 && std::isfinite(value)))
    {
      std::ostringstream message;
      message << name << " of error dynamics is " << value << "; allowed: finite and above 0";
      throw std::invalid_argument(message.str());
    }
  };
  check("stiffness", stiffness);
  check("damping ratio", damping_ratio);
  const double rate = std::sqrt(stiffness);
  return {-2.0 * damping_ratio * rate, -stiffness, -rate};
}

ErrorDynamics ErrorDynamics::from_gains(Gain velocity, Gain position, Gain first_order)
{
  // The rules are those of drift elimination.
  const Stabilisation checked =
    Stabilisation::baumgarte(std::move(velocity), std::move(position), std::move(first_order));
  return {checked.velocity_gain, checked.position_gain, checked.nonholonomic_gain};
}

void ErrorDynamics::set_stiffness(double stiffness, double damping_ratio) noexcept CD_NONBLOCKING
{
  const double rate = std::sqrt(stiffness);
  velocity = -2.0 * damping_ratio * rate;
  position = -stiffness;
  first_order = -rate;
}

std::optional<std::pair<double, double>> ErrorDynamics::stiffness_and_damping_ratio() const
{
  constexpr double kRounding = 1e-12;
  if (position.is_matrix() || velocity.is_matrix() || first_order.is_matrix())
  {
    return std::nullopt;
  }
  const double stiffness = -position.scalar();
  const double rate = std::sqrt(stiffness);
  if (!(std::abs(first_order.scalar() + rate) <= kRounding * rate))
  {
    return std::nullopt;
  }
  return std::pair(stiffness, -0.5 * velocity.scalar() / rate);
}

// ---- ServoConstraint ---------------------------------------------------------------------------

ServoConstraint::ServoConstraint(
  std::string name, std::string type, const System & system, std::vector<RowDescription> rows,
  int position_size, int velocity_size, int scratch_size, StartReference start_reference,
  std::vector<int> force_rows)
: name_(std::move(name)),
  type_(std::move(type)),
  system_(system),
  rows_(std::move(rows)),
  position_size_(position_size),
  velocity_size_(velocity_size),
  scratch_size_(scratch_size),
  start_reference_(start_reference),
  force_rows_(std::move(force_rows))
{
  if (name_.empty())
  {
    throw std::invalid_argument("a servo-constraint has an empty name; allowed: any other");
  }
  if (rows_.empty())
  {
    refuse(name_, "it has no rows; allowed: at least one");
  }
  if (!force_rows_.empty() && force_rows_.size() != rows_.size())
  {
    refuse(
      name_, "it has " + std::to_string(force_rows_.size()) + " force rows; allowed: none, or " +
               std::to_string(rows_.size()));
  }
  std::vector<std::string> labels;
  for (const RowDescription & row : rows_)
  {
    labels.push_back(row.label);
  }
  check_names("row of servo-constraint '" + name_ + "'", labels);
}

ServoConstraint::~ServoConstraint() = default;

std::vector<std::string> ServoConstraint::value_names() const
{
  if (has_pose_reference())
  {
    return {"x", "y", "z", "qx", "qy", "qz", "qw"};
  }
  std::vector<std::string> names;
  for (const RowDescription & row : rows_)
  {
    names.push_back(row.label);
  }
  return names;
}

std::vector<std::string> ServoConstraint::rate_names() const
{
  return has_pose_reference() ? std::vector<std::string>{"x", "y", "z", "rx", "ry", "rz"}
                              : value_names();
}

ServoReference ServoConstraint::make_reference() const
{
  ServoReference reference;
  reference.position.setZero(position_size_);
  reference.velocity.setZero(velocity_size_);
  reference.acceleration.setZero(velocity_size_);
  do_reset(reference);
  return reference;
}

void ServoConstraint::do_reset(ServoReference & /*reference*/) const {}

Status ServoConstraint::evaluate(
  const SystemData & data, ConstraintScratch & scratch, const ServoReference & reference,
  RowBlock & rows) const noexcept CD_NONBLOCKING
{
  if (
    reference.position.size() != position_size_ || reference.velocity.size() != velocity_size_ ||
    reference.acceleration.size() != velocity_size_)
  {
    return Status::kSizeMismatch;
  }
  if (
    !reference.position.allFinite() || !reference.velocity.allFinite() ||
    !reference.acceleration.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  const Status status = do_evaluate(data, scratch, reference, rows);
  if (status != Status::kOk)
  {
    return status;
  }
  const bool finite = rows.position.allFinite() && rows.velocity.allFinite() &&
                      rows.jacobian.allFinite() && rows.bias.allFinite();
  return finite ? Status::kOk : Status::kNonFiniteResult;
}

Status ServoConstraint::measure(
  const SystemData & data, ConstraintScratch & scratch, RowBlock & rows,
  ServoReference & out) const noexcept CD_NONBLOCKING
{
  if (
    out.position.size() != position_size_ || out.velocity.size() != velocity_size_ ||
    out.acceleration.size() != velocity_size_)
  {
    return Status::kSizeMismatch;
  }
  return do_measure(data, scratch, rows, out);
}

// ---- RowServo ----------------------------------------------------------------------------------

RowServo::RowServo(std::shared_ptr<const Constraint> constraint, StartReference start)
: ServoConstraint(
    not_null(constraint).name(), constraint->type(), constraint->system(), constraint->rows(),
    constraint->row_count(), constraint->row_count(), constraint->scratch_size(), start),
  constraint_(std::move(constraint))
{
  for (const RowDescription & row : rows())
  {
    if (row.level == RowLevel::kAcceleration)
    {
      refuse(
        name(), "row '" + row.label + "' is of level acceleration; allowed: position, velocity");
    }
  }
}

Status RowServo::do_evaluate(
  const SystemData & data, ConstraintScratch & scratch, const ServoReference & reference,
  RowBlock & out) const noexcept CD_NONBLOCKING
{
  const Status status = constraint_->evaluate(data, scratch, out);
  if (status != Status::kOk)
  {
    return status;
  }
  for (Eigen::Index i = 0; i < out.bias.size(); ++i)
  {
    if (rows()[static_cast<std::size_t>(i)].level == RowLevel::kPosition)
    {
      out.position(i) -= reference.position(i);
    }
    out.velocity(i) -= reference.velocity(i);
    out.bias(i) += reference.acceleration(i);
  }
  return Status::kOk;
}

Status RowServo::do_measure(
  const SystemData & data, ConstraintScratch & scratch, RowBlock & work,
  ServoReference & out) const noexcept CD_NONBLOCKING
{
  const Status status = constraint_->evaluate(data, scratch, work);
  if (status == Status::kOk)
  {
    out.position = work.position;
    out.velocity = work.velocity;
    out.acceleration.setZero();
  }
  return status;
}

// ---- ForceServo --------------------------------------------------------------------------------

ForceServo::ForceServo(
  std::string name, const ConstraintSet & passive, const std::string & constraint,
  const std::vector<std::string> & labels)
: ForceServo(std::move(name), passive, find_rows(passive, constraint, labels))
{
}

ForceServo::ForceServo(
  std::string name, const ConstraintSet & passive,
  std::pair<std::vector<RowDescription>, std::vector<int>> rows)
: ServoConstraint(
    std::move(name), "force", passive.system(), rows.first, static_cast<int>(rows.first.size()), 0,
    0, StartReference::kMeasured, std::move(rows.second))
{
}

Status ForceServo::do_evaluate(
  const SystemData & /*data*/, ConstraintScratch & /*scratch*/,
  const ServoReference & /*reference*/, RowBlock & out) const noexcept CD_NONBLOCKING
{
  out.position.setZero();
  out.velocity.setZero();
  out.jacobian.setZero();
  out.bias.setZero();
  return Status::kOk;
}

Status ForceServo::do_measure(
  const SystemData & /*data*/, ConstraintScratch & /*scratch*/, RowBlock & /*work*/,
  ServoReference & /*out*/) const noexcept CD_NONBLOCKING
{
  // A force has no value before the controls are known: the reference stays as it is.
  return Status::kOk;
}

}  // namespace constrained_dynamics
