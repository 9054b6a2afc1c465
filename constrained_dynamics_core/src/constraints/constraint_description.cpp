// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/constraint_description.hpp"

#include "names.hpp"

namespace constrained_dynamics
{

const ConstraintDescription & constraint_description(const std::string & type)
{
  const std::vector<ConstraintDescription> & all = constraint_descriptions();
  std::vector<std::string> types;
  for (const ConstraintDescription & description : all)
  {
    types.push_back(description.type);
  }
  return all[static_cast<std::size_t>(index_of_name("type of constraint", type, types))];
}

std::shared_ptr<const Constraint> make_constraint(
  const std::string & type, const std::string & name, const System & system, KeyValues keys,
  const FormulaNames & formula_names)
{
  const ConstraintDescription & description = constraint_description(type);
  try
  {
    keys.complete(description.keys);
    return description.make({name, system, keys, formula_names});
  }
  catch (const KeyError & error)
  {
    throw std::invalid_argument(
      "constraint '" + name + "': " + (error.key().empty() ? "" : error.key() + ": ") +
      error.what());
  }
}

}  // namespace constrained_dynamics
