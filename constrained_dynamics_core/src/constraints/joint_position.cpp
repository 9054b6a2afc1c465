// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/joint_position.hpp"

#include <utility>

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constraints/joint_pairs.hpp"
#include "constraints/validation.hpp"

namespace constrained_dynamics
{

namespace
{

std::vector<int> indices_of(const System & system, const std::vector<CoordinateValue> & coordinates)
{
  std::vector<int> result;
  for (const CoordinateValue & one : coordinates)
  {
    result.push_back(system.coordinate_index(one.coordinate));
  }
  return result;
}

std::vector<RowDescription> describe(
  const System & system, const std::vector<CoordinateValue> & coordinates)
{
  std::vector<RowDescription> result;
  for (const CoordinateValue & one : coordinates)
  {
    const bool angle = are_angles(system, {system.coordinate_index(one.coordinate)});
    result.push_back({one.coordinate, RowLevel::kPosition, angle});
  }
  return result;
}

}  // namespace

JointPosition::JointPosition(
  std::string name, const System & system, const std::vector<CoordinateValue> & coordinates)
: Constraint(
    name, "joint", system, describe(system, coordinates),
    joint_pairs(system, indices_of(system, coordinates)), system.coordinate_count())
{
  for (const CoordinateValue & one : coordinates)
  {
    checked_finite("constraint '" + name + "'", "value of '" + one.coordinate + "'", one.value);
    const int index = system.coordinate_index(one.coordinate);
    coordinates_.push_back({index, one.value, system.has_joint(index)});
  }
  set_speed_support(speeds_of_coordinates(system, indices_of(system, coordinates)));
}

Status JointPosition::do_evaluate(
  const SystemData & data, ConstraintScratch &, RowBlock & rows) const noexcept CD_NONBLOCKING
{
  const SystemTerms & terms = data.terms;
  for (std::size_t k = 0; k < coordinates_.size(); ++k)
  {
    const Eigen::Index i = static_cast<Eigen::Index>(k);
    const int q = coordinates_[k].coordinate;
    rows.position(i) = terms.coordinates(q) - coordinates_[k].value;
    rows.velocity(i) = terms.rates(q);
    rows.jacobian.row(i) = terms.kinematic_matrix.row(q);
    rows.bias(i) = -terms.acceleration_bias(q);
  }
  return Status::kOk;
}

void JointPosition::do_wrenches(
  const SystemData & data, ConstraintScratch &, const ConstVectorRef & multipliers,
  WrenchPair * out) const noexcept CD_NONBLOCKING
{
  for (std::size_t k = 0; k < coordinates_.size(); ++k)
  {
    if (coordinates_[k].has_joint)
    {
      const double force = multipliers(static_cast<Eigen::Index>(k));
      fill_joint_pair(system(), data, coordinates_[k].coordinate, force, *out++);
    }
  }
}

bool JointPosition::do_differentiate(
  const SystemData & data, const SystemDerivatives & derivatives,
  const ConstVectorRef & multipliers, ConstraintScratch & scratch, RowDerivatives & out) const
{
  auto force = scratch.buffer.head(system().coordinate_count());
  force.setZero();
  for (std::size_t k = 0; k < coordinates_.size(); ++k)
  {
    const Eigen::Index i = static_cast<Eigen::Index>(k);
    differentiate_coordinate_term(
      derivatives, coordinates_[k].coordinate, 1.0, multipliers(i), i, out, force);
  }
  system().add_coordinate_force_derivatives(data, force, out.force_q);
  return true;
}

ConstraintDescription JointPosition::description()
{
  ConstraintDescription description;
  description.type = "joint";
  description.python_name = "JointPosition";
  description.text =
    "Coordinates have given values: locked joints or, as a servo task, joints that follow a "
    "reference. Give either `joints` or `joint`.";
  description.equation = "q = value";
  description.rows = "the names of the coordinates (position)";
  description.keys = {
    describe_key("joints", KeyKind::kNumbersOrNames, "coordinates and their values").optional(),
    describe_key("joint", KeyKind::kCoordinate, "one coordinate").optional(),
    describe_key("value", KeyKind::kNumber, "of `joint` [m or rad]; default: 0").optional()};
  description.make = [](const ConstraintArguments & given)
  {
    const KeyValues & keys = given.keys;
    if (keys.has("joint") == keys.has("joints"))
    {
      throw KeyError("", "allowed: either 'joint' or 'joints'");
    }
    std::vector<CoordinateValue> coordinates;
    if (keys.has("joint"))
    {
      coordinates.push_back({keys.text("joint"), keys.has("value") ? keys.number("value") : 0.0});
      return std::make_shared<const JointPosition>(given.name, given.system, coordinates);
    }
    if (keys.has("value"))
    {
      throw KeyError("value", "belongs to 'joint'; write joints: {name: value, …}");
    }
    for (const auto & [coordinate, value] : keys.numbers("joints"))
    {
      coordinates.push_back({coordinate, value});
    }
    return std::make_shared<const JointPosition>(given.name, given.system, coordinates);
  };
  return description;
}

}  // namespace constrained_dynamics
