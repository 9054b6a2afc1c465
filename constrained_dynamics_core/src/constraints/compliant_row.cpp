#include "constrained_dynamics/constraints/compliant_row.hpp"

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

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
  if (row->row_count() != 1 || row->rows()[0].level == RowLevel::kAcceleration)
  {
    throw std::invalid_argument(
      "constraint '" + row->name() + "' has " + std::to_string(row->row_count()) +
      " rows; a law of contact needs one row of position or velocity level");
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
  check("velocity_gain", law.velocity_gain, law.velocity_gain <= 0.0, "0 or below");
  check("position_gain", law.position_gain, law.position_gain <= 0.0, "0 or below");
  check("stiffness", law.stiffness, law.stiffness >= 0.0, "0 or above");
  check("damping", law.damping, law.damping >= 0.0, "0 or above");
  check("exponent", law.exponent, law.exponent > 0.0, "above 0");
  check("side", side, side == 1.0 || side == -1.0, "1 and -1");
  return law;
}

std::vector<RowDescription> describe(const Constraint & row)
{
  std::vector<RowDescription> rows = row.rows();
  rows[0].level = RowLevel::kAcceleration;
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
}

Status CompliantRow::do_evaluate(
  const SystemData & data, ConstraintScratch & scratch,
  RowBlock & rows) const noexcept CD_NONBLOCKING
{
  const Status status = row_->evaluate(data, scratch, rows);
  if (status != Status::kOk)
  {
    return status;
  }
  if (is_velocity_)
  {
    rows.bias(0) += law_.velocity_gain * rows.velocity(0);
    return Status::kOk;
  }
  const double x = side_ * rows.position(0);
  const double x_dot = side_ * rows.velocity(0);
  if (law_.kind == RowLaw::Kind::kLinear)
  {
    rows.bias(0) += side_ * (law_.velocity_gain * x_dot + law_.position_gain * x);
  }
  else if (x > 0.0)
  {
    rows.bias(0) -= side_ * (law_.damping * x_dot + law_.stiffness) * std::pow(x, law_.exponent);
  }
  return Status::kOk;
}

void CompliantRow::do_wrenches(
  const SystemData & data, ConstraintScratch & scratch, const ConstVectorRef & multipliers,
  WrenchPair * out) const noexcept CD_NONBLOCKING
{
  row_->wrenches(data, scratch, multipliers, out);
}

}  // namespace constrained_dynamics
