// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/file_constraints.hpp"

#include <stdexcept>

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constrained_dynamics/constraints/joint_coupling.hpp"

namespace constrained_dynamics
{

std::shared_ptr<const Constraint> make_file_constraint(
  const FileConstraint & stated, const System & system)
{
  try
  {
    KeyValues keys;
    for (const KeyDescription & key : constraint_description(stated.type).keys)
    {
      for (const auto & [name, value] : stated.keys)
      {
        if (name == key.name)
        {
          keys.give(key, value);
        }
      }
    }
    return make_constraint(stated.type, stated.name, system, std::move(keys));
  }
  catch (const std::invalid_argument & error)
  {
    throw std::invalid_argument(stated.source + ": " + error.what());
  }
}

std::string mimic_name(const RigidBodySystem::Mimic & mimic)
{
  return mimic.name.empty() ? mimic.joint + "_mimic" : mimic.name;
}

std::shared_ptr<const Constraint> make_mimic(
  const RigidBodySystem::Mimic & mimic, const System & system)
{
  std::vector<CouplingTerm> terms = {{mimic.joint, 1.0}};
  if (mimic.multiplier != 0.0)
  {
    terms.push_back({mimic.source, -mimic.multiplier});
  }
  return std::make_shared<const JointCoupling>(mimic_name(mimic), system, terms, mimic.offset);
}

std::vector<std::shared_ptr<const Constraint>> make_file_constraints(const RigidBodySystem & system)
{
  std::vector<std::shared_ptr<const Constraint>> constraints;
  for (const FileConstraint & stated : system.file_constraints())
  {
    constraints.push_back(make_file_constraint(stated, system));
  }
  for (const RigidBodySystem::Mimic & mimic : system.mimics())
  {
    constraints.push_back(make_mimic(mimic, system));
  }
  return constraints;
}

}  // namespace constrained_dynamics
