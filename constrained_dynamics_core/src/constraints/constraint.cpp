// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/constraint.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "constrained_dynamics/constraints/drawn_part.hpp"
#include "names.hpp"

namespace constrained_dynamics
{

ConstraintScratch::ConstraintScratch(Eigen::Index speed_count, int buffer_size)
: jacobian_a(Matrix6X::Zero(6, speed_count)),
  jacobian_b(Matrix6X::Zero(6, speed_count)),
  buffer(Eigen::VectorXd::Zero(buffer_size))
{
  frame_derivatives.resize(speed_count);
}

const char * to_string(RowLevel level) noexcept CD_NONBLOCKING
{
  switch (level)
  {
    case RowLevel::kPosition:
      return "position";
    case RowLevel::kVelocity:
      return "velocity";
    case RowLevel::kAcceleration:
      return "acceleration";
  }
  return "unknown";
}

const char * to_string(DrawnKind kind) noexcept CD_NONBLOCKING
{
  switch (kind)
  {
    case DrawnKind::kPlane:
      return "plane";
    case DrawnKind::kLine:
      return "line";
    case DrawnKind::kRod:
      return "rod";
    case DrawnKind::kSphere:
      return "sphere";
    case DrawnKind::kDisk:
      return "disk";
    case DrawnKind::kEllipsoid:
      return "ellipsoid";
    case DrawnKind::kBlade:
      return "blade";
  }
  return "unknown";
}

Constraint::Constraint(
  std::string name, std::string type, const System & system, std::vector<RowDescription> rows,
  std::vector<WrenchBodies> wrench_bodies, int scratch_size)
: name_(std::move(name)),
  type_(std::move(type)),
  system_(system),
  rows_(std::move(rows)),
  wrench_bodies_(std::move(wrench_bodies)),
  scratch_size_(scratch_size)
{
  if (name_.empty())
  {
    throw std::invalid_argument("a constraint of type '" + type_ + "' has an empty name");
  }
  if (rows_.empty())
  {
    throw std::invalid_argument("constraint '" + name_ + "' has 0 rows; at least 1 is needed");
  }
  std::vector<std::string> labels;
  for (const RowDescription & row : rows_)
  {
    labels.push_back(row.label);
  }
  check_names("row of constraint '" + name_ + "':", labels);
}

Constraint::~Constraint() = default;

std::vector<DrawnPart> Constraint::drawing() const { return do_drawing(); }

std::vector<DrawnPart> Constraint::do_drawing() const { return {}; }

const FrameConstraint * Constraint::do_as_frame_constraint() const noexcept CD_NONBLOCKING
{
  return nullptr;
}

const CompliantRow * Constraint::do_as_compliant_row() const noexcept CD_NONBLOCKING
{
  return nullptr;
}

Status Constraint::evaluate(const SystemData & data, ConstraintScratch & scratch, RowBlock & rows)
  const noexcept CD_NONBLOCKING
{
  const Status status = do_evaluate(data, scratch, rows);
  if (status != Status::kOk)
  {
    return status;
  }
  const bool finite = rows.position.allFinite() && rows.velocity.allFinite() &&
                      rows.jacobian.allFinite() && rows.bias.allFinite();
  return finite ? Status::kOk : Status::kNonFiniteResult;
}

void Constraint::row_sizes(
  const SystemData & data, ConstraintScratch & scratch, const ConstMatrixRef & jacobian,
  VectorRef out) const noexcept CD_NONBLOCKING
{
  do_row_sizes(data, scratch, jacobian, out);
  for (Eigen::Index i = 0; i < out.size(); ++i)
  {
    const double own = jacobian.row(i).norm();
    out(i) = out(i) > own && std::isfinite(out(i)) ? out(i) : own;
  }
}

void Constraint::do_row_sizes(
  const SystemData &, ConstraintScratch &, const ConstMatrixRef & jacobian,
  VectorRef out) const noexcept CD_NONBLOCKING
{
  out = jacobian.rowwise().norm();
}

void Constraint::do_wrenches(
  const SystemData &, ConstraintScratch &, const ConstVectorRef &,
  WrenchPair * out) const noexcept CD_NONBLOCKING
{
  for (std::size_t i = 0; i < wrench_bodies_.size(); ++i)
  {
    out[i] = WrenchPair{};
  }
}

bool Constraint::do_differentiate(
  const SystemData &, const SystemDerivatives &, const ConstVectorRef &, ConstraintScratch &,
  RowDerivatives &) const
{
  return false;
}

ConstraintSet::ConstraintSet(
  std::shared_ptr<const System> system, std::vector<std::shared_ptr<const Constraint>> constraints)
: system_(std::move(system)), constraints_(std::move(constraints))
{
  if (!system_)
  {
    throw std::invalid_argument("a constraint set needs a system; it got none");
  }
  std::vector<std::string> names;
  for (const auto & constraint : constraints_)
  {
    if (!constraint)
    {
      throw std::invalid_argument("a constraint set got an empty constraint");
    }
    if (&constraint->system() != system_.get())
    {
      throw std::invalid_argument(
        "constraint '" + constraint->name() + "' was built for another system than this set's");
    }
    names.push_back(constraint->name());
    offsets_.push_back(row_count_);
    wrench_offsets_.push_back(wrench_count_);
    row_count_ += constraint->row_count();
    wrench_count_ += static_cast<int>(constraint->wrench_bodies().size());
  }
  check_names("constraint", names);
}

int ConstraintSet::index(const std::string & name) const
{
  std::vector<std::string> names;
  for (const auto & constraint : constraints_)
  {
    names.push_back(constraint->name());
  }
  return index_of_name("constraint", name, names);
}

int ConstraintSet::constraint_of_row(int row) const
{
  const auto after = std::upper_bound(offsets_.begin(), offsets_.end(), row);
  return static_cast<int>(after - offsets_.begin()) - 1;
}

const RowDescription & ConstraintSet::row(int row) const
{
  const int i = constraint_of_row(row);
  return (*this)[i].rows()[static_cast<std::size_t>(row - row_offset(i))];
}

std::string ConstraintSet::row_name(int row) const
{
  return (*this)[constraint_of_row(row)].name() + "/" + this->row(row).label;
}

ConstraintScratch ConstraintSet::make_scratch() const
{
  int buffer_size = 0;
  for (const auto & constraint : constraints_)
  {
    buffer_size = std::max(buffer_size, constraint->scratch_size());
  }
  return {system_->speed_count(), buffer_size};
}

}  // namespace constrained_dynamics
