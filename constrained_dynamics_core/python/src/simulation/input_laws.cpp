// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "common.hpp"
#include "constrained_dynamics/simulation/servo_input_law.hpp"
#include "servo/task_key.hpp"

namespace constrained_dynamics::python
{

void bind_input_laws(nb::module_ & module)
{
  // NOLINTNEXTLINE(bugprone-unused-raii): defines the type
  nb::class_<InputLaw>(module, "InputLaw", "Inputs τ as a function of the state.");
  nb::class_<ServoInputLaw::Counts>(
    module, "ServoCounts", "How often a law could not realise its tasks.")
    .def_ro("evaluations", &ServoInputLaw::Counts::evaluations)
    .def_ro("singular", &ServoInputLaw::Counts::singular)
    .def_ro("inconsistent", &ServoInputLaw::Counts::inconsistent)
    .def_ro("limited", &ServoInputLaw::Counts::limited)
    .def_ro(
      "stopped", &ServoInputLaw::Counts::stopped,
      "limits of position or velocity could not be kept");
  nb::class_<ServoInputLaw, InputLaw>(
    module, "ServoInputLaw",
    "A servo law as inputs of one Simulation, with a workspace of its own, as a controller has.")
    .def(
      "__init__",
      [](
        ServoInputLaw * self, std::shared_ptr<const ServoLaw> law,
        const std::vector<ReferencePointer> & references, const std::vector<double> & smooth_start,
        double period)
      {
        new (self) ServoInputLaw(
          std::move(law), ServoDrive{{references, smooth_start}, period, nullptr, {}});
      },
      "law"_a, "references"_a = std::vector<ReferencePointer>(), nb::kw_only(),
      "smooth_start"_a = std::vector<double>(), "period"_a = 0.0,
      "references: a ReferenceTrajectory a task; None: it holds what it finds at the start, or "
      "has\n"
      "the value that its rows say (ServoConstraint.start_reference).\n"
      "smooth_start: time in which each is joined [s]. period: the controls are held that long; "
      "0:\n"
      "continuous.")
    .def_prop_ro(
      "law", [](const ServoInputLaw & l) -> const ServoLaw & { return l.law(); },
      nb::rv_policy::reference_internal)
    .def_prop_ro("status", &ServoInputLaw::last_status, "of the last evaluation of the law")
    .def_prop_ro("counts", [](const ServoInputLaw & l) { return l.counts(); })
    .def_prop_ro(
      "result", [](const ServoInputLaw & l) -> const ServoResult & { return l.servo().result(); },
      nb::rv_policy::reference_internal, "of the last evaluation of the law")
    .def(
      "reference",
      [](const ServoInputLaw & l, const TaskKey & task)
      { return ServoReference(l.servo().reference(task_of(l.law(), task))); },
      "task"_a, "What a task follows (a copy).")
    .def(
      "set_enabled",
      [](ServoInputLaw & l, const TaskKey & task, bool enabled)
      { l.servo().set_enabled(task_of(l.law(), task), enabled); },
      "task"_a, "enabled"_a, "Whether a task counts.")
    .def_prop_rw(
      "external_null_vector",
      [](ServoInputLaw & l) { return Eigen::VectorXd(l.servo().external_null_vector()); },
      [](ServoInputLaw & l, const VectorArgument & y)
      {
        Eigen::VectorXd & held = l.servo().external_null_vector();
        held = checked(y, held.size(), "external_null_vector");
      },
      "Part of y from outside (l); assign a whole vector.");
}

}  // namespace constrained_dynamics::python
