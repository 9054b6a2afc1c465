// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "common.hpp"
#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constrained_dynamics/constraints/drawn_part.hpp"
#include "constrained_dynamics/constraints/file_constraints.hpp"
#include "constrained_dynamics/model/force_element.hpp"
#include "constraints/key_arguments.hpp"
#include "python_function.hpp"

/// @file
/// Types of constraints as they describe themselves. The functions that make them, one for each
/// type, are written around make_constraint by constraint_types.py.

namespace constrained_dynamics::python
{

void bind_constraint_types(nb::module_ & module)
{
  nb::class_<KeyDescription>(module, "KeyDescription", "One key of a type: what is allowed.")
    .def_ro("name", &KeyDescription::name)
    .def_ro("text", &KeyDescription::text, "Its meaning, with the unit.")
    .def_ro("required", &KeyDescription::required)
    .def_prop_ro("type", &key_type_text, "What its value is, e.g. 'number > 0'.")
    .def_prop_ro("python_type", &python_type, "The same as an annotation, e.g. 'float'.")
    .def_prop_ro("default", &default_of, "None without one.");
  nb::class_<ConstraintDescription>(
    module, "ConstraintDescription", "A type of constraint, as doc/types.md has it.")
    .def_ro("type", &ConstraintDescription::type, "Stable id, e.g. 'knife_edge'.")
    .def_ro(
      "python_name", &ConstraintDescription::python_name,
      "The function that makes one; empty for what scenario files alone have.")
    .def_ro("text", &ConstraintDescription::text)
    .def_ro("equation", &ConstraintDescription::equation, "What its rows say, on one line.")
    .def_ro("rows", &ConstraintDescription::rows, "Labels and levels of its rows.")
    .def_ro("keys", &ConstraintDescription::keys);
  module.def(
    "make_constraint",
    [](
      const std::string & type, const std::string & name, const System & system,
      const nb::dict & keys, const nb::dict & parameters, const nb::dict & definitions)
    {
      const KeyValues values =
        checked_keys("constraint '" + name + "'", keys, constraint_description(type).keys);
      return make_constraint(type, name, system, values, formula_names(parameters, definitions));
    },
    "type"_a, "name"_a, "system"_a, "keys"_a = nb::dict(), "parameters"_a = nb::dict(),
    "definitions"_a = nb::dict(), nb::keep_alive<0, 3>(),
    "Makes a constraint of a type with the keys of scenario files.");
  nb::class_<FileConstraint>(
    module, "FileConstraint", "A loop or coupling that a robot description states.")
    .def_ro("name", &FileConstraint::name)
    .def_ro("type", &FileConstraint::type, "As doc/types.md has it.")
    .def_prop_ro(
      "keys",
      [](const FileConstraint & self)
      {
        nb::dict keys;
        for (const auto & [name, value] : self.keys)
        {
          keys[name.c_str()] = python_value(value);
        }
        return keys;
      },
      "Its keys, as constraint() takes them.")
    .def_ro("active", &FileConstraint::active, "Whether it holds from the start.")
    .def_ro("source", &FileConstraint::source, "What states it.");
  module.def(
    "file_constraints", [](const RigidBodySystem & system) { return system.file_constraints(); },
    "system"_a, "Loops and couplings that the descriptions of a system state, besides mimics.");
  module.def(
    "make_file_constraints", &make_file_constraints, "system"_a,
    "Builds all constraints that the descriptions of a system state, with those of mimic joints.");
  nb::class_<ForceElementDescription>(
    module, "ForceElementDescription", "A type of force element, as doc/types.md has it.")
    .def_ro("type", &ForceElementDescription::type, "Stable id, e.g. 'spring'.")
    .def_ro("python_name", &ForceElementDescription::python_name, "The function that makes one.")
    .def_ro("text", &ForceElementDescription::text)
    .def_ro("equation", &ForceElementDescription::equation, "Its force, on one line.")
    .def_ro("keys", &ForceElementDescription::keys);
  module.def(
    "force_element_descriptions", &force_element_descriptions, nb::rv_policy::reference,
    "All types of force elements.");
  module.def(
    "make_force_element",
    [](
      const std::string & type, const std::string & name, const nb::dict & keys,
      const nb::dict & parameters)
    {
      const KeyValues values =
        checked_keys(force_element_title(name), keys, force_element_description(type).keys);
      return make_force_element(type, name, values, formula_names(parameters, {}).parameters);
    },
    "type"_a, "name"_a, "keys"_a = nb::dict(), "parameters"_a = nb::dict(),
    "Makes a force element of a type with the keys of scenario files.");
  nb::class_<DrawnPart>(module, "DrawnPart", "One part of how a constraint is drawn.")
    .def_prop_ro(
      "kind", [](const DrawnPart & part) { return to_string(part.kind); },
      "plane, line, rod, sphere, disk, ellipsoid or blade")
    .def_ro("direction", &DrawnPart::direction, "of length 1: of planes and lines in B, else in A")
    .def_ro("offset", &DrawnPart::offset, "of a plane [m]")
    .def_ro("size", &DrawnPart::size, "radius or semi-axes [m]");
}

}  // namespace constrained_dynamics::python
