// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <nanobind/stl/pair.h>
#include <nanobind/stl/variant.h>

#include <stdexcept>

#include "common.hpp"
#include "constrained_dynamics/constraints/centre_of_mass.hpp"
#include "constrained_dynamics/constraints/compliant_row.hpp"
#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/constraints/contact_tangents.hpp"
#include "constrained_dynamics/constraints/distance.hpp"
#include "constrained_dynamics/constraints/energy.hpp"
#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/constraints/joint_coupling.hpp"
#include "constrained_dynamics/constraints/joint_position.hpp"
#include "constrained_dynamics/constraints/joint_slip.hpp"
#include "constrained_dynamics/constraints/knife_edge.hpp"
#include "constrained_dynamics/constraints/point_on_line.hpp"
#include "constrained_dynamics/constraints/point_on_plane.hpp"
#include "constrained_dynamics/constraints/prescribed_motion.hpp"
#include "constrained_dynamics/constraints/rolling.hpp"
#include "python_function.hpp"
#include "servo/gain_argument.hpp"

namespace constrained_dynamics::python
{

namespace
{

// A constraint refers to its system: the Python object of the system (argument 3) outlives it.
using KeepsSystem = nb::keep_alive<1, 3>;
using Vector = VectorArgument;

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

void bind_between_frames(nb::module_ & module)
{
  nb::class_<FrameConstraint, Constraint>(
    module, "FrameConstraint", "A constraint between frame A and frame B.");
  nb::class_<FrameCoincidence, FrameConstraint>(
    module, "FrameCoincidence",
    "Frame A coincides with frame B in chosen rows out of x y z rx ry rz, along and about the "
    "axes\n"
    "of B. Weld: all; ball: x y z; hinge about z: x y z rx ry; planar loop: two of x y z.")
    .def(
      "__init__",
      [](
        FrameCoincidence * self, const std::string & name, const System & system,
        const std::string & frame_a, const std::string & frame_b,
        const std::vector<std::string> & rows)
      { new (self) FrameCoincidence(name, system, frame_a, frame_b, rows); },
      "name"_a, "system"_a, "frame_a"_a, "frame_b"_a = "world",
      "rows"_a = FrameCoincidence::all_rows(), KeepsSystem());
  nb::class_<PointOnPlane, FrameConstraint>(
    module, "PointOnPlane", "The origin of frame A stays on a plane n · p = offset of frame B.")
    .def(
      "__init__",
      [](
        PointOnPlane * self, const std::string & name, const System & system,
        const std::string & frame_a, const std::string & frame_b, const Vector & normal,
        double offset) {
        new (self) PointOnPlane(name, system, frame_a, frame_b, vector3(normal, "normal"), offset);
      },
      "name"_a, "system"_a, "frame_a"_a, "frame_b"_a = "world", nb::kw_only(), "normal"_a,
      "offset"_a = 0.0, KeepsSystem())
    .def_prop_ro("normal", &PointOnPlane::normal, "of length 1, in B")
    .def_prop_ro("offset", &PointOnPlane::offset, "[m]");
  nb::class_<PointOnLine, FrameConstraint>(
    module, "PointOnLine",
    "The origin of frame A stays on a line through the origin of frame B, fixed in B.")
    .def(
      "__init__",
      [](
        PointOnLine * self, const std::string & name, const System & system,
        const std::string & frame_a, const std::string & frame_b, const Vector & direction)
      { new (self) PointOnLine(name, system, frame_a, frame_b, vector3(direction, "direction")); },
      "name"_a, "system"_a, "frame_a"_a, "frame_b"_a = "world", nb::kw_only(), "direction"_a,
      KeepsSystem())
    .def_prop_ro("direction", &PointOnLine::direction, "of length 1, in B");
  nb::class_<Distance, FrameConstraint>(
    module, "Distance", "A massless rod: the origins of frames A and B keep their distance.")
    .def(
      "__init__",
      [](
        Distance * self, const std::string & name, const System & system,
        const std::string & frame_a, const std::string & frame_b, double length)
      { new (self) Distance(name, system, frame_a, frame_b, length); },
      "name"_a, "system"_a, "frame_a"_a, "frame_b"_a = "world", nb::kw_only(), "length"_a,
      KeepsSystem())
    .def_prop_ro("length", &Distance::length, "[m]");
  nb::class_<KnifeEdge, FrameConstraint>(
    module, "KnifeEdge",
    "A blade, skate or thin wheel: the origin of A cannot move along `axis`, fixed in A.")
    .def(
      "__init__",
      [](
        KnifeEdge * self, const std::string & name, const System & system,
        const std::string & frame_a, const std::string & frame_b, const Vector & axis)
      { new (self) KnifeEdge(name, system, frame_a, frame_b, vector3(axis, "axis")); },
      "name"_a, "system"_a, "frame_a"_a, "frame_b"_a = "world", nb::kw_only(), "axis"_a,
      KeepsSystem())
    .def_prop_ro("axis", &KnifeEdge::axis, "of length 1, in A");
  nb::class_<Rolling, FrameConstraint>(
    module, "Rolling",
    "A sphere, an ellipsoid (semi_axes) or a thin disk (axis), with its centre at the origin of "
    "A,\n"
    "rolls without slip on the plane of B through its origin with the given normal.")
    .def(
      "__init__",
      [](
        Rolling * self, const std::string & name, const System & system,
        const std::string & frame_a, const std::string & frame_b, double radius,
        const Vector & normal, const std::optional<Vector> & axis,
        const std::optional<Vector> & semi_axes, bool keep_contact)
      {
        RollingGeometry geometry;
        geometry.radius = radius;
        geometry.normal = vector3(normal, "normal");
        if (axis)
        {
          geometry.axis = vector3(*axis, "axis");
        }
        if (semi_axes)
        {
          geometry.semi_axes = vector3(*semi_axes, "semi_axes");
        }
        geometry.keep_contact = keep_contact;
        new (self) Rolling(name, system, frame_a, frame_b, geometry);
      },
      "name"_a, "system"_a, "frame_a"_a, "frame_b"_a = "world", nb::kw_only(), "radius"_a = 1.0,
      "normal"_a = nb::make_tuple(0.0, 0.0, 1.0), "axis"_a = nb::none(), "semi_axes"_a = nb::none(),
      "keep_contact"_a = true, KeepsSystem())
    .def_prop_ro(
      "radius", [](const Rolling & r) { return r.geometry().radius; }, "[m]")
    .def_prop_ro(
      "normal", [](const Rolling & r) { return r.geometry().normal; }, "in B")
    .def_prop_ro(
      "axis", [](const Rolling & r) { return r.geometry().axis; }, "of a disk, in A")
    .def_prop_ro(
      "semi_axes", [](const Rolling & r) { return r.geometry().semi_axes; }, "of an ellipsoid");
  nb::class_<ContactTangents, FrameConstraint>(
    module, "ContactTangents",
    "The slip of a point or a sphere on a plane of B along one or two directions: what friction\n"
    "acts on; in force it is stiction.")
    .def(
      "__init__",
      [](
        ContactTangents * self, const std::string & name, const System & system,
        const std::string & frame_a, const std::string & frame_b, const Vector & normal,
        double radius, const std::vector<Vector> & directions)
      {
        std::vector<Eigen::Vector3d> given;
        for (const Vector & direction : directions)
        {
          given.push_back(vector3(direction, "direction"));
        }
        new (self)
          ContactTangents(name, system, frame_a, frame_b, vector3(normal, "normal"), radius, given);
      },
      "name"_a, "system"_a, "frame_a"_a, "frame_b"_a = "world", nb::kw_only(), "normal"_a,
      "radius"_a = 0.0, "directions"_a = nb::list(), KeepsSystem());
  nb::class_<PrescribedPosition, FrameConstraint>(
    module, "PrescribedPosition",
    "The origin of frame A follows functions of time in frame B: axes 'x', 'y', 'z' → formula.")
    .def(
      "__init__",
      [](
        PrescribedPosition * self, const std::string & name, const System & system,
        const std::string & frame_a, const std::string & frame_b, const nb::dict & position,
        const nb::dict & parameters, const nb::dict & definitions)
      {
        std::vector<PrescribedComponent> components;
        for (const auto & [axis, formula] : position)
        {
          components.push_back(
            {nb::cast<std::string>(axis), nb::cast<std::string>(nb::str(formula))});
        }
        new (self) PrescribedPosition(
          name, system, frame_a, frame_b, components, formula_names(parameters, definitions));
      },
      "name"_a, "system"_a, "frame_a"_a, "frame_b"_a = "world", nb::kw_only(), "position"_a,
      "parameters"_a = nb::dict(), "definitions"_a = nb::dict(), KeepsSystem());
}

void bind_of_coordinates(nb::module_ & module)
{
  nb::class_<JointCoupling, Constraint>(
    module, "JointCoupling",
    "Σ c_i q_i = offset: gear, mimic joint, rack and pinion, differential.")
    .def(
      "__init__",
      [](
        JointCoupling * self, const std::string & name, const System & system,
        const nb::dict & coefficients, double offset)
      {
        std::vector<CouplingTerm> terms;
        for (const auto & [coordinate, coefficient] : coefficients)
        {
          terms.push_back(
            {nb::cast<std::string>(coordinate), nb::cast<double>(nb::float_(coefficient))});
        }
        new (self) JointCoupling(name, system, terms, offset);
      },
      "name"_a, "system"_a, "coefficients"_a, "offset"_a = 0.0, KeepsSystem(),
      "coefficients: coordinate → c.");
  nb::class_<PrescribedCoordinate, Constraint>(
    module, "PrescribedCoordinate", "A coordinate follows a function of time (rheonomic).")
    .def(
      "__init__",
      [](
        PrescribedCoordinate * self, const std::string & name, const System & system,
        const std::string & coordinate, const std::string & formula, const nb::dict & parameters,
        const nb::dict & definitions)
      {
        new (self) PrescribedCoordinate(
          name, system, coordinate, formula, formula_names(parameters, definitions));
      },
      "name"_a, "system"_a, "coordinate"_a, "formula"_a, nb::kw_only(), "parameters"_a = nb::dict(),
      "definitions"_a = nb::dict(), KeepsSystem());
  nb::class_<JointPosition, Constraint>(
    module, "JointPosition", "Coordinates have given values: locked joints.")
    .def(
      "__init__",
      [](
        JointPosition * self, const std::string & name, const System & system,
        const nb::dict & values)
      {
        std::vector<CoordinateValue> coordinates;
        for (const auto & [coordinate, value] : values)
        {
          coordinates.push_back(
            {nb::cast<std::string>(coordinate), nb::cast<double>(nb::float_(value))});
        }
        new (self) JointPosition(name, system, coordinates);
      },
      "name"_a, "system"_a, "values"_a, KeepsSystem(), "values: coordinate → value.");
  nb::class_<CentreOfMass, Constraint>(
    module, "CentreOfMass",
    "The centre of mass of a RigidBodySystem stays at a position of the world, in rows out of x y "
    "z.")
    .def(
      "__init__",
      [](
        CentreOfMass * self, const std::string & name, const System & system,
        const std::vector<std::string> & rows, const Vector & position)
      { new (self) CentreOfMass(name, system, rows, vector3(position, "position")); },
      "name"_a, "system"_a, "rows"_a = CentreOfMass::all_rows(), nb::kw_only(),
      "position"_a = nb::make_tuple(0.0, 0.0, 0.0), KeepsSystem());
  nb::enum_<EnergyKind>(module, "EnergyKind")
    .value("KINETIC", EnergyKind::kKinetic)
    .value("TOTAL", EnergyKind::kTotal);
  nb::class_<Energy, Constraint>(
    module, "Energy",
    "The energy of a RigidBodySystem has a given value: a nonlinear velocity row.")
    .def(
      "__init__",
      [](
        Energy * self, const std::string & name, const System & system, EnergyKind kind,
        double value) { new (self) Energy(name, system, kind, value); },
      "name"_a, "system"_a, "kind"_a = EnergyKind::kTotal, "value"_a = 0.0, KeepsSystem());
  nb::class_<JointSlip, Constraint>(
    module, "JointSlip",
    "The speed of a joint of one degree of freedom: what friction in it acts on; in force the "
    "joint\n"
    "is locked.")
    .def(
      "__init__",
      [](
        JointSlip * self, const std::string & name, const System & system,
        const std::string & joint) { new (self) JointSlip(name, system, joint); },
      "name"_a, "system"_a, "joint"_a, KeepsSystem());
  nb::class_<FormulaConstraint, Constraint>(
    module, "FormulaConstraint",
    "Rows given as formulas, all on one level; derivatives by automatic differentiation. Names:\n"
    "coordinates x, rates dx, speeds, t, px(frame), vx(frame), …; doc/scenario.md.")
    .def(
      "__init__",
      [](
        FormulaConstraint * self, const std::string & name, const System & system, RowLevel level,
        const std::vector<std::string> & rows, const nb::dict & parameters,
        const nb::dict & definitions, const std::vector<std::string> & labels)
      {
        new (self) FormulaConstraint(
          name, system, level, rows, formula_names(parameters, definitions), labels);
      },
      "name"_a, "system"_a, "level"_a, "rows"_a, nb::kw_only(), "parameters"_a = nb::dict(),
      "definitions"_a = nb::dict(), "labels"_a = std::vector<std::string>(), KeepsSystem());

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
  bind_between_frames(module);
  bind_of_coordinates(module);
}

}  // namespace constrained_dynamics::python
