// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/force_drawing.hpp"

#include <nanobind/stl/array.h>

#include "common.hpp"
#include "dynamics/owned_workspace.hpp"

namespace constrained_dynamics::python
{

void bind_force_drawing(nb::module_ & module)
{
  nb::class_<ForceStyle>(module, "ForceStyle", "How the forces of constraints look in a picture.")
    .def(nb::init<>())
    .def_rw("force_scale", &ForceStyle::force_scale, "arrow length [m] per newton")
    .def_rw("torque_scale", &ForceStyle::torque_scale, "arrow length [m] per newton metre")
    .def_rw("shaft_diameter", &ForceStyle::shaft_diameter, "[m]")
    .def_rw("smallest_length", &ForceStyle::smallest_length, "[m]; shorter arrows are not shown")
    .def_rw(
      "largest_length", &ForceStyle::largest_length,
      "[m]; longer arrows are cut, with a text that says so")
    .def_rw("force_colour", &ForceStyle::force_colour, "red, green, blue, opacity: 0 to 1")
    .def_rw("torque_colour", &ForceStyle::torque_colour)
    .def_rw("inactive_colour", &ForceStyle::inactive_colour)
    .def_rw("legend", &ForceStyle::legend, "scales, colours and the largest force")
    .def_rw("text_height", &ForceStyle::text_height, "[m]")
    .def_rw("legend_position", &ForceStyle::legend_position, "in the world [m]");
  nb::class_<DrawnShape> shape(module, "DrawnShape", "One shape of a picture, in the world.");
  shape.def_ro("group", &DrawnShape::group, "force, torque, point, name or legend")
    .def_ro("id", &DrawnShape::id)
    .def_prop_ro(
      "kind", [](const DrawnShape & s) { return to_string(s.kind); }, "arrow, sphere or text")
    .def_ro("is_visible", &DrawnShape::is_visible)
    .def_ro("colour", &DrawnShape::colour)
    .def_ro("text", &DrawnShape::text);
  def_view(shape, "position", &DrawnShape::position, "[m]; the start of an arrow");
  def_view(shape, "tip", &DrawnShape::tip, "of an arrow [m]");
  def_view(
    shape, "size", &DrawnShape::size,
    "[m]; arrow: shaft, head, 0; sphere: diameters; text: space, 0, letter");
  nb::class_<ForceDrawing>(
    module, "ForceDrawing",
    "The forces of all constraints as shapes, which viewers copy. Ids of force, torque, point and\n"
    "name are indices of wrenches; the legend has three texts.")
    .def(nb::init<const Dynamics &, const ForceStyle &>(), "dynamics"_a, "style"_a = ForceStyle())
    .def(
      "update",
      [](ForceDrawing & drawing, const OwnedWorkspace & workspace)
      { drawing.update(workspace.workspace); },
      "workspace"_a, "Draws the last solution of a workspace.")
    .def_prop_ro(
      "shapes", &ForceDrawing::shapes, nb::rv_policy::reference_internal,
      "Their number and order never change.")
    .def_prop_ro("style", [](const ForceDrawing & drawing) { return drawing.style(); });
}

}  // namespace constrained_dynamics::python
