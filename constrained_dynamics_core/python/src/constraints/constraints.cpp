// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <nanobind/stl/pair.h>
#include <nanobind/stl/variant.h>

#include <stdexcept>

#include "common.hpp"
#include "constrained_dynamics/constraints/compliant_row.hpp"
#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/constraints/drawn_part.hpp"
#include "constraints/gain_argument.hpp"

namespace constrained_dynamics::python
{

namespace
{

/// The index of a constraint that exists. @throw IndexError.
int existing(const ConstraintSet & set, int i)
{
  if (!(i >= 0 && i < set.size()))
  {
    throw nb::index_error("there is no such constraint");
  }
  return i;
}

void bind_base(nb::module_ & module)
{
  nb::class_<RowDescription>(module, "Row", "What is constant about one row.")
    .def_ro("label", &RowDescription::label)
    .def_ro("level", &RowDescription::level)
    .def_ro("rotational", &RowDescription::rotational, "φ is an angle [rad].")
    .def(
      "__repr__", [](const RowDescription & row)
      { return "Row(" + row.label + ", " + to_string(row.level) + ")"; });
  nb::class_<WrenchBodies>(
    module, "WrenchBodies", "The two bodies that a wrench of a constraint acts on.")
    .def_ro("body_a", &WrenchBodies::body_a)
    .def_ro("frame_a", &WrenchBodies::frame_a)
    .def_ro("body_b", &WrenchBodies::body_b)
    .def_ro("frame_b", &WrenchBodies::frame_b);
  nb::class_<Constraint>(
    module, "Constraint",
    "Something that the motion cannot violate: rows A u̇ = b (E3). Bound to its system; constant.")
    .def_prop_ro("name", &Constraint::name)
    .def_prop_ro("type", &Constraint::type, "Stable id of the kind, e.g. 'knife_edge'.")
    .def_prop_ro("row_count", &Constraint::row_count)
    .def_prop_ro("rows", &Constraint::rows)
    .def_prop_ro("wrench_bodies", &Constraint::wrench_bodies)
    .def_prop_ro(
      "drawing", &Constraint::drawing, "How it is drawn beside its forces: a list of DrawnPart.")
    .def(
      "__repr__",
      [](const Constraint & c) {
        return "<" + c.type() + " '" + c.name() + "', " + std::to_string(c.row_count()) + " rows>";
      });

  using List = std::vector<std::shared_ptr<const Constraint>>;
  nb::class_<ConstraintSet>(
    module, "ConstraintSet", "Ordered, immutable list of constraints of one system.")
    .def(nb::init<std::shared_ptr<const System>, List>(), "system"_a, "constraints"_a = List())
    .def_prop_ro("system", &ConstraintSet::shared_system)
    .def("__len__", &ConstraintSet::size)
    .def(
      "__getitem__",
      [](
        const ConstraintSet & set, const std::variant<int, std::string> & key) -> const Constraint &
      {
        if (const std::string * name = std::get_if<std::string>(&key))
        {
          return set[set.index(*name)];
        }
        const int i = std::get<int>(key);
        return set[existing(set, i < 0 ? i + set.size() : i)];
      },
      "key"_a, nb::rv_policy::reference_internal, "By name or index.")
    .def("index", &ConstraintSet::index, "name"_a, "Index of a constraint by its name.")
    .def_prop_ro("row_count", &ConstraintSet::row_count)
    .def_prop_ro(
      "row_names",
      [](const ConstraintSet & set)
      {
        std::vector<std::string> names;
        for (int row = 0; row < set.row_count(); ++row)
        {
          names.push_back(set.row_name(row));
        }
        return names;
      },
      "'constraint/label' of each row.")
    .def(
      "row_offset",
      [](const ConstraintSet & set, int i) { return set.row_offset(existing(set, i)); },
      "constraint"_a, "First row of a constraint.")
    .def_prop_ro("wrench_count", &ConstraintSet::wrench_count)
    .def(
      "wrench_offset",
      [](const ConstraintSet & set, int i) { return set.wrench_offset(existing(set, i)); },
      "constraint"_a, "First wrench pair of a constraint.");
}

void bind_compliant_row(nb::module_ & module)
{
  nb::enum_<RowLaw::Kind>(module, "RowLawKind", "Law of a compliant row.")
    .value("LINEAR", RowLaw::Kind::kLinear, "ẍ = Δ1 ẋ + Δ2 x")
    .value("HUNT_CROSSLEY", RowLaw::Kind::kHuntCrossley, "ẍ = −(c ẋ + k) xⁿ for x > 0");
  nb::class_<CompliantRow, Constraint>(
    module, "CompliantRow",
    "The rows of another constraint with a law of their own motion; penetration is side · φ > 0.")
    .def(
      "__init__",
      [](
        CompliantRow * self, std::shared_ptr<const Constraint> row, RowLaw::Kind kind,
        const GainArgument & velocity_gain, const GainArgument & position_gain, double stiffness,
        double damping, double exponent, double side)
      {
        const RowLaw law{kind,    gain(velocity_gain), gain(position_gain), stiffness, damping,
                         exponent};
        new (self) CompliantRow(std::move(row), law, side);
      },
      "row"_a, "kind"_a = RowLaw::Kind::kLinear, nb::kw_only(), "velocity_gain"_a = 0.0,
      "position_gain"_a = 0.0, "stiffness"_a = 0.0, "damping"_a = 0.0, "exponent"_a = 1.5,
      "side"_a = 1.0)
    .def_prop_ro(
      "row", [](const CompliantRow & c) -> const Constraint & { return c.row(); },
      nb::rv_policy::reference_internal, "the constraint whose rows these are")
    .def_prop_ro("side", &CompliantRow::side);
}

}  // namespace

void bind_constraints(nb::module_ & module)
{
  bind_base(module);
  bind_constraint_types(module);
  bind_compliant_row(module);
}

}  // namespace constrained_dynamics::python
