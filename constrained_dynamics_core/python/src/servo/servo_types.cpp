// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "common.hpp"
#include "constrained_dynamics/servo/servo_description.hpp"
#include "constraints/key_arguments.hpp"

namespace constrained_dynamics::python
{

void bind_servo_types(nb::module_ & module)
{
  module.def(
    "servo_task",
    [](
      const std::string & type, const std::string & name, const ConstraintSet & constraints,
      const nb::kwargs & keys)
    {
      return make_servo_task(
        type, name, constraints,
        checked_keys("servo task '" + name + "'", keys, servo_task_description(type).keys));
    },
    "type"_a, "name"_a, "constraints"_a, "keys"_a, nb::keep_alive<0, 3>(),
    "A servo task of a type, e.g. 'pose', with the keys of doc/types.md.");
  module.def(
    "null_space_term",
    [](const std::string & kind, const System & system, const nb::kwargs & keys)
    {
      return make_null_space_term(
        kind, system,
        checked_keys("null-space term '" + kind + "'", keys, null_space_description(kind).keys));
    },
    "kind"_a, "system"_a, "keys"_a, nb::keep_alive<0, 2>(),
    "A null-space term of a kind, e.g. 'posture', with the keys of doc/types.md.");
}

}  // namespace constrained_dynamics::python
