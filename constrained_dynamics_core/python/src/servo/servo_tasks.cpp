// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/variant.h>

#include "common.hpp"
#include "constrained_dynamics/servo/null_space.hpp"
#include "constrained_dynamics/servo/pose_servo.hpp"
#include "constrained_dynamics/servo/servo_constraint.hpp"
#include "constrained_dynamics/servo/servo_law.hpp"
#include "constraints/gain_argument.hpp"

/// @file
/// Desired motions and forces: servo-constraints, tasks, null-space terms.

namespace constrained_dynamics::python
{

namespace
{

using Strings = std::vector<std::string>;

void bind_servo_constraints(nb::module_ & module)
{
  nb::enum_<StartReference>(
    module, "StartReference", "What ServoLaw.reset makes of the reference of a servo-constraint.")
    .value("OWN", StartReference::kOwn, "it stays as it is: the rows say the desired value")
    .value("MEASURED", StartReference::kMeasured, "what the servo-constraint has at the state");
  nb::class_<ServoConstraint>(
    module, "ServoConstraint",
    "Something that the controls shall achieve: rows whose error they drive to zero. Constant.")
    .def_prop_ro("name", &ServoConstraint::name)
    .def_prop_ro("type", &ServoConstraint::type, "Stable id of the kind.")
    .def_prop_ro("row_count", &ServoConstraint::row_count)
    .def_prop_ro("rows", &ServoConstraint::rows)
    .def_prop_ro("position_size", &ServoConstraint::position_size, "of its reference")
    .def_prop_ro("velocity_size", &ServoConstraint::velocity_size, "of its reference")
    .def_prop_ro(
      "start_reference", &ServoConstraint::start_reference,
      "what ServoLaw.reset makes of its reference")
    .def(
      "make_reference", &ServoConstraint::make_reference,
      "A reference of zeros, of a pose the identity.")
    .def(
      "__repr__", [](const ServoConstraint & s)
      { return "<ServoConstraint '" + s.name() + "', " + s.type() + ">"; });
  nb::class_<RowServo, ServoConstraint>(
    module, "RowServo",
    "Any constraint of position or velocity rows as a servo-constraint: what would be zero follows "
    "the\n"
    "reference. A coordinate, a distance, a formula, an energy; also rows written in Python.")
    .def(
      nb::init<std::shared_ptr<const Constraint>, StartReference>(), "constraint"_a,
      "start"_a = StartReference::kOwn,
      "start: MEASURED for rows that are a quantity to be led by the reference, such as the "
      "position\n"
      "of a tip; OWN for rows that say the desired value themselves.");
  nb::class_<PoseServo, ServoConstraint>(
    module, "PoseServo",
    "Frame A follows a pose that moves in frame B, in rows out of x y z rx ry rz.")
    .def(
      nb::init<
        std::string, const System &, const std::string &, const std::string &, const Strings &>(),
      "name"_a, "system"_a, "frame_a"_a, "frame_b"_a = "world",
      "rows"_a = FrameCoincidence::all_rows(), nb::keep_alive<1, 3>());
  nb::class_<ForceServo, ServoConstraint>(
    module, "ForceServo",
    "Multipliers of a passive constraint with desired values: the force on a wall, the internal\n"
    "force of a loop.")
    .def(
      nb::init<std::string, const ConstraintSet &, const std::string &, const Strings &>(),
      "name"_a, "passive"_a, "constraint"_a, "labels"_a = Strings(), nb::keep_alive<1, 3>(),
      "labels: of rows; none: all of the constraint.");

  const ErrorDynamics error;
  nb::class_<ErrorDynamics>(
    module, "ErrorDynamics",
    "The motion of errors (E23): ë = Θ1 ė + Θ2 e of position rows, ė = Θ e of velocity rows.")
    .def(
      "__init__",
      [](
        ErrorDynamics * self, const GainArgument & velocity, const GainArgument & position,
        const GainArgument & first_order)
      {
        new (self) ErrorDynamics(
          ErrorDynamics::from_gains(gain(velocity), gain(position), gain(first_order)));
      },
      "velocity"_a = -20.0, "position"_a = -100.0, "first_order"_a = -10.0,
      "Θ1 [1/s], Θ2 [1/s²], Θ [1/s]: negative numbers, or stable matrices over the rows.")
    .def_static(
      "from_stiffness", &ErrorDynamics::from_stiffness, "stiffness"_a, "damping_ratio"_a = 1.0,
      "Θ2 = −stiffness, Θ1 = −2 ratio √stiffness, Θ = −√stiffness.");
  nb::class_<ServoTask>(module, "ServoTask", "One thing to be done, with its error dynamics.")
    .def(
      "__init__",
      [](
        ServoTask * self, std::shared_ptr<const ServoConstraint> constraint,
        const ErrorDynamics & dynamics, int priority, double weight) {
        new (self) ServoTask{std::move(constraint), dynamics, priority, weight};
      },
      "constraint"_a, "error_dynamics"_a = error, nb::kw_only(), "priority"_a = 0, "weight"_a = 1.0,
      "priority: 0 goes first; later levels leave those before them alone. weight: how much errors "
      "count beside those of other tasks of the same priority, 1e-6 to 1e6.")
    .def_ro("priority", &ServoTask::priority)
    .def_ro("weight", &ServoTask::weight);
}

void bind_null_space(nb::module_ & module)
{
  // NOLINTNEXTLINE(bugprone-unused-raii): defines the type
  nb::class_<NullSpaceTerm>(
    module, "NullSpaceTerm",
    "A part of y, what to do with the controls that are left open (E15): y = Gᵀ f.");
  nb::class_<JointDamping, NullSpaceTerm>(module, "JointDamping", "f = −damping · u.")
    .def(
      nb::init<const System &, double, const Strings &>(), "system"_a, "damping"_a,
      "speeds"_a = Strings(), "speeds: names; none: all.");
  nb::class_<Posture, NullSpaceTerm>(
    module, "Posture", "f = Cᵀ stiffness (desired − q) − damping u, over the given coordinates.")
    .def(
      "__init__",
      [](
        Posture * self, const System & system, const std::map<std::string, double> & desired,
        double stiffness, double damping) {
        new (self) Posture(system, {desired.begin(), desired.end()}, stiffness, damping);
      },
      "system"_a, "desired"_a, "stiffness"_a, "damping"_a, "desired: coordinate → value.");
  nb::class_<AwayFromLimits, NullSpaceTerm>(
    module, "AwayFromLimits", "Pushes coordinates away from the bounds that the robot states.")
    .def(
      nb::init<const RigidBodySystem &, double, double>(), "system"_a, "margin"_a, "force"_a,
      "margin: fraction of the range, at most 0.5. force: at the bound.");
}

// ---- the law
// -------------------------------------------------------------------------------------

}  // namespace

void bind_servo_tasks(nb::module_ & module)
{
  bind_servo_constraints(module);
  bind_null_space(module);
}

}  // namespace constrained_dynamics::python
