// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <stdexcept>

#include "commands.hpp"
#include "constrained_dynamics/scenario/scenario_types.hpp"
#include "output.hpp"

namespace cdyn
{

namespace cd = constrained_dynamics;

int types(const std::string & type)
{
  if (type.empty())
  {
    write_out(cd::constraint_page());
    return kSuccess;
  }
  std::string known;
  for (const cd::ConstraintDescription & description : cd::scenario_constraint_types())
  {
    if (description.type == type)
    {
      write_out(cd::constraint_documentation({description}));
      return kSuccess;
    }
    known += (known.empty() ? "" : ", ") + description.type;
  }
  throw std::invalid_argument(type + ": no such type of constraint; types: " + known);
}

}  // namespace cdyn
