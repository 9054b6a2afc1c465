// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "commands.hpp"
#include "constrained_dynamics/scenario/scenario_types.hpp"
#include "output.hpp"

namespace cdyn
{

int types(const std::string & type)
{
  namespace cd = constrained_dynamics;
  write_out(type.empty() ? cd::types_page() : cd::type_section(type));
  return kSuccess;
}

}  // namespace cdyn
