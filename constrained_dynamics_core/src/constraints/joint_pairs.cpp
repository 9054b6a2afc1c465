// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constraints/joint_pairs.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "constraints/validation.hpp"

namespace constrained_dynamics
{

std::vector<int> coupled_coordinates(
  const std::string & name, const System & system, const std::vector<CouplingTerm> & terms)
{
  std::vector<int> result;
  for (const CouplingTerm & term : terms)
  {
    const int coordinate = system.coordinate_index(term.coordinate);
    if (std::find(result.begin(), result.end(), coordinate) != result.end())
    {
      throw std::invalid_argument(
        "constraint '" + name + "': coordinate '" + term.coordinate +
        "' occurs twice; once is allowed");
    }
    result.push_back(coordinate);
  }
  if (result.empty())
  {
    throw std::invalid_argument(
      "constraint '" + name + "' couples 0 coordinates; at least 1 is needed");
  }
  return result;
}

double checked_coupling_coefficient(const std::string & name, const CouplingTerm & term)
{
  const std::string what = "coefficient of '" + term.coordinate + "'";
  checked_finite("constraint '" + name + "'", what, term.coefficient);
  if (term.coefficient == 0.0)
  {
    throw std::invalid_argument("constraint '" + name + "': " + what + " is 0; leave it out");
  }
  return term.coefficient;
}

std::vector<CouplingTerm> coupling_terms(const NamedNumbers & numbers)
{
  std::vector<CouplingTerm> terms;
  for (const auto & [coordinate, coefficient] : numbers)
  {
    terms.push_back({coordinate, coefficient});
  }
  return terms;
}

std::vector<WrenchBodies> joint_pairs(const System & system, const std::vector<int> & coordinates)
{
  std::vector<WrenchBodies> result;
  for (const int coordinate : coordinates)
  {
    if (system.has_joint(coordinate))
    {
      const std::pair<std::string, std::string> bodies = system.joint_bodies(coordinate);
      result.push_back({bodies.first, bodies.first, bodies.second, bodies.second});
    }
  }
  return result;
}

bool are_angles(const System & system, const std::vector<int> & coordinates)
{
  const std::unique_ptr<SystemData> data = system.make_data();
  const Eigen::VectorXd rest = Eigen::VectorXd::Zero(system.speed_count());
  if (system.update_kinematics(0.0, system.neutral_coordinates(), rest, *data) != Status::kOk)
  {
    return false;
  }
  for (const int coordinate : coordinates)
  {
    if (!system.has_joint(coordinate))
    {
      return false;
    }
    Wrench wrench;
    system.joint_wrench(*data, coordinate, wrench);
    if (!(wrench.force.norm() == 0.0 && wrench.torque.norm() > 0.0))
    {
      return false;
    }
  }
  return true;
}

std::vector<int> speeds_of_coordinates(const System & system, const std::vector<int> & coordinates)
{
  std::set<int> speeds;
  for (const int coordinate : coordinates)
  {
    const std::vector<int> own = system.speeds_of_coordinate(coordinate);
    speeds.insert(own.begin(), own.end());
  }
  return {speeds.begin(), speeds.end()};
}

void fill_joint_pair(
  const System & system, const SystemData & data, int coordinate, double generalized_force,
  WrenchPair & out) noexcept CD_NONBLOCKING
{
  system.joint_wrench(data, coordinate, out.on_a);
  out.on_a.force *= generalized_force;
  out.on_a.torque *= generalized_force;
  out.on_b.point = out.on_a.point;
  out.on_b.force = -out.on_a.force;
  out.on_b.torque = -out.on_a.torque;
}

void differentiate_coordinate_term(
  const SystemDerivatives & derivatives, int coordinate, double weight, double multiplier,
  Eigen::Index row, RowDerivatives & out, VectorRef force) noexcept CD_NONBLOCKING
{
  out.residual_q.row(row) += weight * derivatives.coordinate_acceleration_q.row(coordinate);
  out.residual_u.row(row) += weight * derivatives.coordinate_acceleration_u.row(coordinate);
  out.velocity_q.row(row) += weight * derivatives.rate_q.row(coordinate);
  force(coordinate) += multiplier * weight;
}

}  // namespace constrained_dynamics
