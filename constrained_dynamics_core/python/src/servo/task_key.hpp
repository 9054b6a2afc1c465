// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <nanobind/stl/variant.h>

#include <stdexcept>
#include <string>
#include <variant>

#include "common.hpp"
#include "constrained_dynamics/servo/servo_law.hpp"

namespace constrained_dynamics::python
{

/// A task as Python names it: by its index or by its name.
using TaskKey = std::variant<int, std::string>;

/// The index of a task that exists. @throw std::invalid_argument.
inline int task_of(const ServoLaw & law, const TaskKey & key)
{
  if (const std::string * name = std::get_if<std::string>(&key))
  {
    return law.task_index(*name);
  }
  const int i = std::get<int>(key);
  const int count = static_cast<int>(law.tasks().size());
  if (!(i >= 0 && i < count))
  {
    throw std::invalid_argument(
      "task " + std::to_string(i) + " does not exist; there are " + std::to_string(count));
  }
  return i;
}

}  // namespace constrained_dynamics::python
