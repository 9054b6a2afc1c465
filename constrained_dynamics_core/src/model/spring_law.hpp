// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>

#include "constrained_dynamics/model/spring.hpp"

namespace constrained_dynamics
{

/// The law of the keys `stiffness`, `damping`, `rest` and of a key with a formula.
inline SpringLaw spring_law(const ForceElementArguments & given, const std::string & formula)
{
  return {
    given.keys.number("stiffness"), given.keys.number("damping"), given.keys.number("rest"),
    given.keys.has(formula) ? given.keys.text(formula) : "", given.parameters};
}

}  // namespace constrained_dynamics
