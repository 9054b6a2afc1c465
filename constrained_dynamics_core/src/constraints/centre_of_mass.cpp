// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/centre_of_mass.hpp"

#include <stdexcept>
#include <utility>

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constrained_dynamics/model/control_state_system.hpp"
#include "constraints/validation.hpp"
#include "model/kinematic_tree.hpp"
#include "names.hpp"

namespace constrained_dynamics
{

namespace
{

std::vector<RowDescription> describe(
  const std::string & name, const std::vector<std::string> & rows)
{
  std::vector<RowDescription> result;
  for (const std::string & row : rows)
  {
    index_of_name("constraint '" + name + "': row", row, CentreOfMass::all_rows());
    result.push_back({row, RowLevel::kPosition, false});
  }
  return result;
}

}  // namespace

std::vector<std::string> CentreOfMass::all_rows() { return {"x", "y", "z"}; }

CentreOfMass::CentreOfMass(
  std::string name, const System & system, const std::vector<std::string> & rows,
  const Eigen::Vector3d & position)
: Constraint(name, "centre_of_mass", system, describe(name, rows)),
  robot_(checked_robot("constraint '" + name + "'", system)),
  is_wrapped_(&system != &robot_),
  position_(position)
{
  for (const std::string & row : rows)
  {
    axes_.push_back(index_of_name("row", row, all_rows()));
    checked_finite("constraint '" + name + "'", row + " of position", position(axes_.back()));
  }
  if (!(robot_.total_mass() > 0.0))
  {
    throw std::invalid_argument(
      "constraint '" + name + "': nothing that moves has mass; allowed: a system with mass");
  }
}

Status CentreOfMass::do_evaluate(
  const SystemData & data, ConstraintScratch & scratch,
  RowBlock & rows) const noexcept CD_NONBLOCKING
{
  const TreeData & tree_data =
    static_cast<const TreeData &>(is_wrapped_ ? ControlStateSystem::wrapped_data(data) : data);
  const KinematicTree & tree = robot_.tree();
  const double per_mass = 1.0 / tree.total_mass;
  const Eigen::Vector3d moment = tree.mass_moment(tree_data);
  Eigen::Vector3d first;
  Eigen::Vector3d second;
  tree.mass_moment_rates(tree_data, first, second);
  Eigen::Map<Eigen::Matrix<double, 3, Eigen::Dynamic>> jacobian(
    scratch.jacobian_a.data(), 3, robot_.speed_count());
  tree.mass_jacobian(tree_data, jacobian);
  if (!moment.allFinite() || !first.allFinite() || !second.allFinite() || !jacobian.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  rows.jacobian.setZero();
  for (std::size_t k = 0; k < axes_.size(); ++k)
  {
    const Eigen::Index i = static_cast<Eigen::Index>(k);
    const int axis = axes_[k];
    rows.position(i) = per_mass * moment(axis) - position_(axis);
    rows.velocity(i) = per_mass * first(axis);
    rows.jacobian.row(i).head(jacobian.cols()) = per_mass * jacobian.row(axis);
    rows.bias(i) = -per_mass * second(axis);
  }
  return Status::kOk;
}

void CentreOfMass::do_row_sizes(
  const SystemData & data, ConstraintScratch & scratch, const ConstMatrixRef &,
  VectorRef out) const noexcept CD_NONBLOCKING
{
  // A row may point in any direction in which the centre of mass can move.
  const KinematicTree & tree = robot_.tree();
  Eigen::Map<Eigen::Matrix<double, 3, Eigen::Dynamic>> jacobian(
    scratch.jacobian_a.data(), 3, robot_.speed_count());
  tree.mass_jacobian(
    static_cast<const TreeData &>(is_wrapped_ ? ControlStateSystem::wrapped_data(data) : data),
    jacobian);
  out.setConstant(jacobian.norm() / tree.total_mass);
}

ConstraintDescription CentreOfMass::description()
{
  ConstraintDescription description;
  description.type = "centre_of_mass";
  description.python_name = "CentreOfMass";
  description.text =
    "The centre of mass of everything that moves stays at a position in the world. Only for "
    "robots.";
  description.equation = "centre of mass = position";
  description.rows = "the chosen ones (position)";
  description.keys = {
    describe_key("rows", KeyKind::kNames, "along the axes of the world", all_rows())
      .with_default(all_rows()),
    describe_key("position", KeyKind::kVector, "in the world [m]; default: 0").optional()};
  description.make = [](const ConstraintArguments & given)
  {
    return std::make_shared<const CentreOfMass>(
      given.name, given.system, given.keys.names("rows"),
      given.keys.has("position") ? given.keys.vector("position") : Eigen::Vector3d::Zero());
  };
  return description;
}

}  // namespace constrained_dynamics
