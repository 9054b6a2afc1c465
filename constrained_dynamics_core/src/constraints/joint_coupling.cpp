// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/joint_coupling.hpp"

#include <cmath>
#include <utility>

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constraints/joint_pairs.hpp"
#include "constraints/validation.hpp"

namespace constrained_dynamics
{

JointCoupling::JointCoupling(
  std::string name, const System & system, const std::vector<CouplingTerm> & terms, double offset)
: Constraint(
    name, "joint_coupling", system,
    {{"coupling", RowLevel::kPosition,
      are_angles(system, coupled_coordinates(name, system, terms))}},
    joint_pairs(system, coupled_coordinates(name, system, terms)), system.coordinate_count()),
  offset_(checked_finite("constraint '" + name + "'", "offset", offset))
{
  for (const CouplingTerm & term : terms)
  {
    const int coordinate = system.coordinate_index(term.coordinate);
    terms_.push_back(
      {coordinate, checked_coupling_coefficient(name, term), system.has_joint(coordinate)});
  }
  set_speed_support(speeds_of_coordinates(system, coupled_coordinates(name, system, terms)));
}

Status JointCoupling::do_evaluate(
  const SystemData & data, ConstraintScratch &, RowBlock & rows) const noexcept CD_NONBLOCKING
{
  const SystemTerms & terms = data.terms;
  double position = -offset_;
  double velocity = 0.0;
  double acceleration = 0.0;
  rows.jacobian.setZero();
  for (const Term & term : terms_)
  {
    position += term.coefficient * terms.coordinates(term.coordinate);
    velocity += term.coefficient * terms.rates(term.coordinate);
    acceleration += term.coefficient * terms.acceleration_bias(term.coordinate);
    rows.jacobian.row(0) += term.coefficient * terms.kinematic_matrix.row(term.coordinate);
  }
  rows.position(0) = position;
  rows.velocity(0) = velocity;
  rows.bias(0) = -acceleration;
  return Status::kOk;
}

void JointCoupling::do_row_sizes(
  const SystemData & data, ConstraintScratch &, const ConstMatrixRef & jacobian,
  VectorRef out) const noexcept CD_NONBLOCKING
{
  double squares = 0.0;
  for (Eigen::Index j = 0; j < jacobian.cols(); ++j)
  {
    double size = 0.0;
    for (const Term & term : terms_)
    {
      size += std::abs(term.coefficient * data.terms.kinematic_matrix(term.coordinate, j));
    }
    squares += size * size;
  }
  out(0) = std::sqrt(squares);
}

void JointCoupling::do_wrenches(
  const SystemData & data, ConstraintScratch &, const ConstVectorRef & multipliers,
  WrenchPair * out) const noexcept CD_NONBLOCKING
{
  for (const Term & term : terms_)
  {
    if (term.has_joint)
    {
      fill_joint_pair(system(), data, term.coordinate, multipliers(0) * term.coefficient, *out++);
    }
  }
}

bool JointCoupling::do_differentiate(
  const SystemData & data, const SystemDerivatives & derivatives,
  const ConstVectorRef & multipliers, ConstraintScratch & scratch, RowDerivatives & out) const
{
  auto force = scratch.buffer.head(system().coordinate_count());
  force.setZero();
  for (const Term & term : terms_)
  {
    differentiate_coordinate_term(
      derivatives, term.coordinate, term.coefficient, multipliers(0), 0, out, force);
  }
  system().add_coordinate_force_derivatives(data, force, out.force_q);
  return true;
}

ConstraintDescription JointCoupling::description()
{
  ConstraintDescription description;
  description.type = "joint_coupling";
  description.python_name = "JointCoupling";
  description.text =
    "A linear relation between coordinates: a gear, a mimic joint, rack and pinion, a "
    "differential.";
  description.equation = "Σ c q = offset";
  description.rows = "`coupling` (position)";
  description.keys = {
    describe_key("terms", KeyKind::kNumbers, "the coefficients c, none of them 0"),
    describe_key("offset", KeyKind::kNumber, "of the sum [m or rad]").with_default(0.0)};
  description.make = [](const ConstraintArguments & given)
  {
    return std::make_shared<const JointCoupling>(
      given.name, given.system, coupling_terms(given.keys.numbers("terms")),
      given.keys.number("offset"));
  };
  return description;
}

}  // namespace constrained_dynamics
