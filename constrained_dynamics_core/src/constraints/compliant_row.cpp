// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/compliant_row.hpp"

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "constrained_dynamics/constraints/drawn_part.hpp"

namespace constrained_dynamics
{

namespace
{

const Constraint & checked_row(const std::shared_ptr<const Constraint> & row)
{
  if (!row)
  {
    throw std::invalid_argument("a compliant row needs a constraint; it got none");
  }
  for (const RowDescription & description : row->rows())
  {
    if (description.level == RowLevel::kAcceleration || description.level != row->rows()[0].level)
    {
      throw std::invalid_argument(
        "constraint '" + row->name() + "': row '" + description.label + "' is on level " +
        to_string(description.level) +
        "; allowed with a law: rows that are all on position or all on velocity level");
    }
  }
  return *row;
}

RowLaw checked_law(const Constraint & row, const RowLaw & law, double side)
{
  const auto check = [&](const char * name, double value, bool good, const char * allowed)
  {
    if (!good || !std::isfinite(value))
    {
      std::ostringstream message;
      message << "constraint '" << row.name() << "': " << name << " is " << value
              << "; allowed: " << allowed;
      throw std::invalid_argument(message.str());
    }
  };
  const auto check_gain = [&](const char * name, const Gain & gain)
  {
    check(name, gain.scalar(), gain.scalar() <= 0.0, "0 or below");
    if (
      gain.is_matrix() && (gain.matrix().rows() != row.row_count() ||
                           gain.matrix().cols() != row.row_count() || !gain.matrix().allFinite()))
    {
      std::ostringstream message;
      message << "constraint '" << row.name() << "': " << name << " is a " << gain.matrix().rows()
              << " × " << gain.matrix().cols()
              << " matrix; allowed: a number or a finite matrix of size " << row.row_count();
      throw std::invalid_argument(message.str());
    }
  };
  check_gain("velocity_gain", law.velocity_gain);
  check_gain("position_gain", law.position_gain);
  check("stiffness", law.stiffness, law.stiffness >= 0.0, "0 or above");
  check("damping", law.damping, law.damping >= 0.0, "0 or above");
  check("exponent", law.exponent, law.exponent > 0.0, "above 0");
  check("side", side, side == 1.0 || side == -1.0, "1 and -1");
  if (law.kind == RowLaw::Kind::kHuntCrossley && row.rows()[0].level != RowLevel::kPosition)
  {
    throw std::invalid_argument(
      "constraint '" + row.name() +
      "' has velocity rows; allowed with Hunt-Crossley: position rows");
  }
  return law;
}

/// out += Γ values, row by row.
void add_gain(const Gain & gain, const VectorRef & values, VectorRef out) noexcept
{
  for (Eigen::Index i = 0; i < values.size(); ++i)
  {
    if (!gain.is_matrix())
    {
      out(i) += gain.scalar() * values(i);
      continue;
    }
    for (Eigen::Index j = 0; j < values.size(); ++j)
    {
      out(i) += gain.matrix()(i, j) * values(j);
    }
  }
}

std::vector<RowDescription> describe(const Constraint & row)
{
  std::vector<RowDescription> rows = row.rows();
  for (RowDescription & description : rows)
  {
    description.level = RowLevel::kAcceleration;
  }
  return rows;
}

}  // namespace

CompliantRow::CompliantRow(std::shared_ptr<const Constraint> row, const RowLaw & law, double side)
: Constraint(
    checked_row(row).name(), "compliant_row", row->system(), describe(*row), row->wrench_bodies(),
    row->scratch_size()),
  row_(std::move(row)),
  law_(checked_law(*row_, law, side)),
  side_(side),
  is_velocity_(row_->rows()[0].level == RowLevel::kVelocity)
{
  set_speed_support(row_->speed_support());
}

std::vector<DrawnPart> CompliantRow::do_drawing() const { return row_->drawing(); }

Status CompliantRow::do_evaluate(
  const SystemData & data, ConstraintScratch & scratch,
  RowBlock & rows) const noexcept CD_NONBLOCKING
{
  const Status status = row_->evaluate(data, scratch, rows);
  if (status != Status::kOk)
  {
    return status;
  }
  if (is_velocity_ || law_.kind == RowLaw::Kind::kLinear)
  {
    // side · (Δ1 side φ̇ + Δ2 side φ): the law is the same on both sides
    add_gain(law_.velocity_gain, rows.velocity, rows.bias);
    add_gain(law_.position_gain, rows.position, rows.bias);
    return Status::kOk;
  }
  for (int i = 0; i < row_count(); ++i)
  {
    const double x = side_ * rows.position(i);
    if (x > 0.0)
    {
      rows.bias(i) -= side_ * (law_.damping * side_ * rows.velocity(i) + law_.stiffness) *
                      std::pow(x, law_.exponent);
    }
  }
  return Status::kOk;
}

void CompliantRow::do_row_sizes(
  const SystemData & data, ConstraintScratch & scratch, const ConstMatrixRef & jacobian,
  VectorRef out) const noexcept CD_NONBLOCKING
{
  row_->row_sizes(data, scratch, jacobian, out);
}

void CompliantRow::do_wrenches(
  const SystemData & data, ConstraintScratch & scratch, const ConstVectorRef & multipliers,
  WrenchPair * out) const noexcept CD_NONBLOCKING
{
  row_->wrenches(data, scratch, multipliers, out);
}

}  // namespace constrained_dynamics
