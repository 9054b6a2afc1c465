// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/formula_constraint.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <utility>

#include "constrained_dynamics/constraints/constraint_description.hpp"

namespace constrained_dynamics
{

namespace
{

FormulaLevel to_formula_level(RowLevel level) noexcept
{
  return level == RowLevel::kPosition   ? FormulaLevel::kPosition
         : level == RowLevel::kVelocity ? FormulaLevel::kVelocity
                                        : FormulaLevel::kAcceleration;
}

std::vector<RowDescription> describe(
  const std::string & name, RowLevel level, int row_count, const std::vector<std::string> & labels)
{
  const std::size_t count = static_cast<std::size_t>(row_count);
  if (!labels.empty() && labels.size() != count)
  {
    throw std::invalid_argument(
      "constraint '" + name + "': " + std::to_string(labels.size()) + " labels for " +
      std::to_string(count) + " rows");
  }
  std::vector<RowDescription> result;
  for (std::size_t i = 0; i < count; ++i)
  {
    result.push_back({labels.empty() ? "row_" + std::to_string(i + 1) : labels[i], level, false});
  }
  return result;
}

/// Second derivatives in random directions of the accelerations, at random points, must vanish.
void check_linear_in_accelerations(const std::string & name, const FormulaBinding & binding)
{
  constexpr int kPoints = 8;
  // Second derivatives of a linear formula are zero up to rounding of cancelling terms.
  constexpr double kTolerance = 1e-9;
  std::mt19937 generator(1);
  std::uniform_real_distribution<double> draw(-2.0, 2.0);
  const std::size_t variable_count = static_cast<std::size_t>(binding.variable_count());
  const std::size_t output_count = static_cast<std::size_t>(binding.output_count());
  std::vector<Jet2> variables(variable_count);
  std::vector<Jet2> tape(static_cast<std::size_t>(binding.program().tape_size()));
  std::vector<Jet2> outputs(output_count);
  for (int point = 0; point < kPoints; ++point)
  {
    for (std::size_t i = 0; i < variable_count; ++i)
    {
      const bool moves = binding.variable_level(static_cast<int>(i)) == FormulaLevel::kAcceleration;
      variables[i] = Jet2(draw(generator), moves ? draw(generator) : 0.0, 0.0);
    }
    binding.program().evaluate(variables.data(), tape.data(), outputs.data());
    for (std::size_t i = 0; i < output_count; ++i)
    {
      const Jet2 & f = outputs[i];
      if (
        std::isfinite(f.second) &&
        std::abs(f.second) > kTolerance * (1.0 + std::abs(f.value) + std::abs(f.first)))
      {
        throw std::invalid_argument(
          "constraint '" + name + "': row '" + binding.formulas()[i] +
          "' is not linear in the accelerations");
      }
    }
  }
}

}  // namespace

FormulaConstraint::FormulaConstraint(
  std::string name, const System & system, RowLevel level, const std::vector<std::string> & rows,
  const FormulaNames & names, const std::vector<std::string> & labels)
: FormulaConstraint(
    name, system, level,
    FormulaBinding(system, names, to_formula_level(level), rows, "constraint '" + name + "'"),
    labels)
{
}

FormulaConstraint::FormulaConstraint(
  std::string name, const System & system, RowLevel level, FormulaBinding binding,
  const std::vector<std::string> & labels)
: Constraint(
    name, "formula", system, describe(name, level, binding.output_count(), labels), {},
    std::max(
      binding.jet_scratch_size() + binding.gradient_scratch_size(),
      binding.derivative_scratch_size())),
  binding_(std::move(binding)),
  level_(level)
{
  for (int i = 0; i < row_count(); ++i)
  {
    if (!binding_.uses(i, to_formula_level(level)))
    {
      throw std::invalid_argument(
        "constraint '" + name + "': row '" + binding_.formulas()[static_cast<std::size_t>(i)] +
        "' is on level " + to_string(level) + " but uses no variable of that level");
    }
  }
  if (level_ == RowLevel::kAcceleration)
  {
    check_linear_in_accelerations(name, binding_);
  }
}

Status FormulaConstraint::do_evaluate(
  const SystemData & data, ConstraintScratch & scratch,
  RowBlock & rows) const noexcept CD_NONBLOCKING
{
  double * const values = scratch.buffer.data();
  const double * gradients = binding_.gradients(data, values + binding_.jet_scratch_size());
  if (!gradients)
  {
    return Status::kNonFiniteResult;
  }
  if (level_ == RowLevel::kPosition)
  {
    const Jet2 * phi = binding_.evaluate_jets(data, values);
    if (!phi)
    {
      return Status::kNonFiniteResult;
    }
    for (int i = 0; i < row_count(); ++i)
    {
      rows.position(i) = phi[i].value;
      rows.velocity(i) = phi[i].first;
      rows.bias(i) = -phi[i].second;
    }
  }
  else if (level_ == RowLevel::kVelocity)
  {
    const Dual * psi = binding_.evaluate_rates(data, values);
    if (!psi)
    {
      return Status::kNonFiniteResult;
    }
    for (int i = 0; i < row_count(); ++i)
    {
      rows.position(i) = 0.0;
      rows.velocity(i) = psi[i].value;
      rows.bias(i) = -psi[i].derivative;
    }
  }
  else
  {
    double * const c0 = values + binding_.value_scratch_size();
    const Status status = binding_.evaluate(data, values, c0);
    if (status != Status::kOk)
    {
      return status;
    }
    for (int i = 0; i < row_count(); ++i)
    {
      rows.position(i) = 0.0;
      rows.velocity(i) = 0.0;
      rows.bias(i) = -c0[i];
    }
  }
  binding_.speed_jacobian(data, to_formula_level(level_), gradients, scratch, rows.jacobian);
  return Status::kOk;
}

void FormulaConstraint::do_row_sizes(
  const SystemData & data, ConstraintScratch & scratch, const ConstMatrixRef &,
  VectorRef out) const noexcept CD_NONBLOCKING
{
  binding_.row_sizes(data, to_formula_level(level_), scratch, out);
}

bool FormulaConstraint::do_differentiate(
  const SystemData & data, const SystemDerivatives & derivatives,
  const ConstVectorRef & multipliers, ConstraintScratch & scratch, RowDerivatives & out) const
{
  binding_.differentiate_rows(
    data, derivatives, to_formula_level(level_), multipliers, scratch, out);
  return true;
}

ConstraintDescription FormulaConstraint::description()
{
  ConstraintDescription description;
  description.type = "formula";
  description.python_name = "FormulaConstraint";
  description.text =
    "Rows given as formulas that the constraint keeps at 0. Derivatives are exact.";
  description.equation = "formulas = 0";
  description.rows = "`row_1`, `row_2`, … or the labels";
  description.keys = {
    describe_key(
      "level", KeyKind::kChoice, "on which the formulas are given",
      {"position", "velocity", "acceleration"}),
    describe_key("rows", KeyKind::kFormulas, "one for each row")};
  description.make = [](const ConstraintArguments & given)
  {
    RowLevel level = RowLevel::kPosition;
    for (const RowLevel candidate : {RowLevel::kVelocity, RowLevel::kAcceleration})
    {
      level = given.keys.text("level") == to_string(candidate) ? candidate : level;
    }
    std::vector<std::string> rows;
    std::vector<std::string> labels;
    for (const auto & [label, formula] : given.keys.formulas("rows"))
    {
      rows.push_back(formula);
      if (!label.empty())
      {
        labels.push_back(label);
      }
    }
    return std::make_shared<const FormulaConstraint>(
      given.name, given.system, level, rows, given.formula_names, labels);
  };
  return description;
}

}  // namespace constrained_dynamics
