// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/scenario_types.hpp"

#include "scenario/scenario_contacts.hpp"

namespace constrained_dynamics
{

const std::vector<ConstraintDescription> & scenario_constraint_types()
{
  static const std::vector<ConstraintDescription> all = []
  {
    std::vector<ConstraintDescription> types = constraint_descriptions();
    types.push_back(describe_contact());
    return types;
  }();
  return all;
}

std::string constraint_page()
{
  return "# Types of constraints\n\n"
         "Printed by `cdyn types` from the descriptions in `src/constraints/`; do not edit.\n\n"
         "Every item of `constraints` also has `name`, `type`, `active` and `repeat`\n"
         "([scenario.md](scenario.md), section 5). A vector is a list of three numbers. In Python "
         "each\n"
         "type is a function with the same keys: `cd.KnifeEdge(name, system, …)` or\n"
         "`cd.constraint(\"knife_edge\", name, system, …)`.\n\n" +
         constraint_documentation(scenario_constraint_types());
}

}  // namespace constrained_dynamics
