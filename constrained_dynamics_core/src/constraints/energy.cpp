// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/energy.hpp"

#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constrained_dynamics/model/analytic_system.hpp"
#include "constrained_dynamics/model/control_state_system.hpp"
#include "constraints/validation.hpp"
#include "model/kinematic_tree.hpp"

namespace constrained_dynamics
{

namespace
{

constexpr char kLabel[] = "energy";

}  // namespace

const char * to_string(EnergyKind kind) noexcept CD_NONBLOCKING
{
  return kind == EnergyKind::kKinetic ? "kinetic_energy" : "energy";
}

Energy::Energy(std::string name, const System & system, EnergyKind kind, double value)
: Constraint(
    name, to_string(kind), system, {{kLabel, RowLevel::kVelocity, false}}, {},
    system.speed_count()),
  robot_(checked_robot("constraint '" + name + "'", system)),
  is_wrapped_(&system != &robot_),
  kind_(kind),
  value_(checked_finite("constraint '" + name + "'", "value", value))
{
}

Status Energy::do_evaluate(const SystemData & data, ConstraintScratch & scratch, RowBlock & rows)
  const noexcept CD_NONBLOCKING
{
  const TreeData & tree_data =
    static_cast<const TreeData &>(is_wrapped_ ? ControlStateSystem::wrapped_data(data) : data);
  const KinematicTree & tree = robot_.tree();
  Eigen::Map<Eigen::VectorXd> momentum(scratch.buffer.data(), robot_.speed_count());
  tree.momentum(tree_data, momentum);
  double energy = tree.kinetic_energy(tree_data);
  double power = tree.kinetic_power_bias(tree_data);
  if (kind_ == EnergyKind::kTotal)
  {
    energy += tree.potential_energy(tree_data);
    power += tree.potential_power(tree_data);
  }
  if (!std::isfinite(energy) || !std::isfinite(power) || !momentum.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  rows.position(0) = 0.0;
  rows.velocity(0) = energy - value_;
  rows.jacobian.setZero();
  rows.jacobian.row(0).head(momentum.size()) = momentum.transpose();
  rows.bias(0) = -power;
  return Status::kOk;
}

std::shared_ptr<const Constraint> make_energy_constraint(
  const std::string & name, const System & system, EnergyKind kind, double value)
{
  const auto * textbook = dynamic_cast<const AnalyticSystem *>(&system.underlying());
  if (!textbook)
  {
    return std::make_shared<const Energy>(name, system, kind, value);
  }
  const AnalyticDescription * description = textbook->description();
  if (!description)
  {
    throw std::invalid_argument(
      "constraint '" + name +
      "': the system was built from C++ functions, which have no derivatives; allowed: a function "
      "constraint of its energy, or a system given by formulas");
  }
  std::ostringstream formula;
  formula.precision(std::numeric_limits<double>::max_digits10);
  formula << "(" << description->kinetic << ")";
  if (kind == EnergyKind::kTotal && !description->potential.empty())
  {
    formula << " + (" << description->potential << ")";
  }
  formula << " - (" << checked_finite("constraint '" + name + "'", "value", value) << ")";
  FormulaNames names;
  names.parameters = description->parameters;
  for (const NamedFormula & definition : description->definitions)
  {
    names.definitions.emplace_back(definition.name, definition.formula);
  }
  return std::make_shared<const FormulaConstraint>(
    name, system, RowLevel::kVelocity, std::vector<std::string>{formula.str()}, names,
    std::vector<std::string>{kLabel});
}

ConstraintDescription Energy::description(EnergyKind kind)
{
  const bool is_total = kind == EnergyKind::kTotal;
  ConstraintDescription description;
  description.type = to_string(kind);
  description.python_name = is_total ? "Energy" : "KineticEnergy";
  description.text = std::string("The ") + (is_total ? "total" : "kinetic") +
                     " energy has a given value. For robots, and for textbook systems that are "
                     "given by formulas.";
  description.equation = is_total ? "T + V = value" : "T = value";
  description.rows = "`energy` (velocity, nonlinear)";
  description.keys = {
    describe_key("value", KeyKind::kNumber, "of the energy [J]; default: 0").optional()};
  description.make = [kind](const ConstraintArguments & given)
  {
    return make_energy_constraint(
      given.name, given.system, kind, given.keys.has("value") ? given.keys.number("value") : 0.0);
  };
  return description;
}

}  // namespace constrained_dynamics
