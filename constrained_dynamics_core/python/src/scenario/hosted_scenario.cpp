// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/hosted_scenario.hpp"

#include <nanobind/stl/pair.h>

#include <Eigen/Geometry>

#include "common.hpp"
#include "constrained_dynamics/dynamics/constraint_record.hpp"
#include "constrained_dynamics/dynamics/force_drawing.hpp"

namespace constrained_dynamics::python
{

namespace
{

using Strings = std::vector<std::string>;

const Workspace & workspace_of(const HostedScenario & hosted)
{
  return hosted.simulation().workspace();
}

std::vector<bool> active_constraints(const HostedScenario & hosted)
{
  std::vector<bool> active;
  for (int i = 0; i < hosted.dynamics().constraints().size(); ++i)
  {
    active.push_back(workspace_of(hosted).is_active(i));
  }
  return active;
}

std::pair<std::vector<ContactEvent>, long> take_events(HostedScenario & hosted)
{
  std::vector<ContactEvent> events = hosted.simulation().events();
  const long lost = hosted.simulation().lost_event_count();
  hosted.clear_events();
  return {std::move(events), lost};
}

/// Position and unit quaternion x y z w of frames, one row each.
Eigen::MatrixXd transforms(const HostedScenario & hosted, const Strings & frames)
{
  const System & system = hosted.dynamics().system();
  Eigen::MatrixXd out(frames.size(), 7);
  FrameKinematics frame;
  for (std::size_t i = 0; i < frames.size(); ++i)
  {
    system.frame_kinematics(
      workspace_of(hosted).system_data(), system.frame_index(frames[i]), frame);
    const Eigen::Quaterniond rotation = Eigen::Quaterniond(frame.rotation).normalized();
    out.row(static_cast<Eigen::Index>(i)) << frame.position.transpose(),
      rotation.coeffs().transpose();
  }
  return out;
}

void bind_state(nb::class_<HostedScenario> & binding)
{
  binding
    .def_prop_ro(
      "scenario", [](const HostedScenario & h) -> const Scenario & { return h.scenario(); },
      nb::rv_policy::reference_internal)
    .def_prop_ro("dynamics", [](const HostedScenario & h) { return h.scenario().dynamics(); })
    .def_prop_ro("time", &HostedScenario::time, "[s]")
    .def_prop_ro("has_ended", &HostedScenario::has_ended)
    .def_prop_ro(
      "failure",
      [](const HostedScenario & h)
      { return h.has_failed() ? std::optional<Status>(h.failure()) : std::nullopt; },
      "The status that ended the simulation early; None: none did.")
    .def_prop_ro("status", &HostedScenario::status, "Of the solve at the present state.")
    .def_prop_ro("active", &active_constraints, "Whether each constraint is in force now (a list).")
    .def_prop_ro(
      "state", [](const HostedScenario & h) { return State(h.simulation().state()); }, "A copy.")
    .def_prop_ro(
      "rates",
      [](const HostedScenario & h) { return Eigen::VectorXd(workspace_of(h).terms().rates); },
      "q̇ (nq), a copy.")
    .def_prop_ro(
      "inputs", [](const HostedScenario & h) { return Eigen::VectorXd(h.simulation().inputs()); },
      "τ (l), a copy.")
    .def_prop_ro(
      "solution",
      [](const HostedScenario & h) -> const Solution & { return workspace_of(h).solution(); },
      nb::rv_policy::reference_internal, "Read-only views, until the state changes.")
    .def_prop_ro(
      "constraint_records",
      [](const HostedScenario & h)
      { return constraint_records(h.dynamics().constraints(), workspace_of(h)); },
      "What the solve says about each constraint, as messages have it (copies).")
    .def(
      "transforms", &transforms, "frames"_a,
      "Poses of frames in the world (F × 7): position [m] and unit quaternion x y z w.")
    .def(
      "draw",
      [](const HostedScenario & h, ForceDrawing & drawing) { drawing.update(workspace_of(h)); },
      "drawing"_a, "Updates a ForceDrawing of the same dynamics.");
}

}  // namespace

void bind_hosted_scenario(nb::module_ & module)
{
  // NOLINTNEXTLINE(bugprone-throw-keyword-missing,bugprone-unused-raii): defines the type
  nb::exception<RequestError>(module, "RequestError", PyExc_ValueError);
  nb::class_<HostedScenario> binding(
    module, "HostedScenario",
    "A scenario that is advanced, pushed and switched from outside; its simulation is always "
    "solved\n"
    "at its state. Requests that cannot be met raise RequestError.");
  binding
    .def(
      nb::init<const std::string &, const Strings &, double>(), "path"_a, "overrides"_a = Strings(),
      "until"_a = 0.0, "until: end of the simulation [s]; 0: that of the scenario, inf: none.")
    .def("reset", &HostedScenario::reset, "Back to the initial state.")
    .def(
      "advance", &HostedScenario::advance, "duration"_a,
      "Goes on by a time [s], to the next whole step, and not beyond the end.")
    .def(
      "step", &HostedScenario::step, "count"_a,
      "Makes steps of the scenario's step size, beyond its end too.")
    .def(
      "set_active", &HostedScenario::set_active, "name"_a, "active"_a,
      "Switches a constraint; returns the size of the impulse with which it came into force.")
    .def(
      "push",
      [](
        HostedScenario & h, const std::string & frame, const VectorArgument & force,
        const VectorArgument & torque, const Strings & names, const std::vector<double> & values) {
        return h.push({frame, vector3(force, "force"), vector3(torque, "torque"), names, values});
      },
      "frame"_a, "force"_a, "torque"_a, "names"_a = Strings(), "values"_a = std::vector<double>(),
      "An impulse at the origin of a frame (world axes; '': none), along speeds, or both; returns\n"
      "the change of the energy [J].")
    .def(
      "take_events", &take_events,
      "The events since the last call, which are forgotten, and how many there was no room for.");
  bind_state(binding);
}

}  // namespace constrained_dynamics::python
