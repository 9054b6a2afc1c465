// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/loop_transmission.hpp"

#include <nanobind/stl/pair.h>

#include "common.hpp"

namespace constrained_dynamics::python
{

namespace
{

using Strings = std::vector<std::string>;
using Conversion = Status (LoopTransmission::*)(const ConstVectorRef &, VectorRef) noexcept;

/// A method that returns (status, values); without output the values are None.
void bind_conversion(
  nb::class_<LoopTransmission> & binding, const char * name, Conversion convert, bool to_joints,
  const char * doc)
{
  binding.def(
    name,
    [convert, to_joints](LoopTransmission & self, const VectorArgument & given)
    {
      Eigen::VectorXd out =
        Eigen::VectorXd::Zero(to_joints ? self.joint_count() : self.actuator_count());
      const int count = to_joints ? self.actuator_count() : self.joint_count();
      const Status status =
        (self.*convert)(checked(given, count, to_joints ? "actuators" : "joints"), out);
      return std::pair(status, has_output(status) ? std::optional(out) : std::nullopt);
    },
    to_joints ? "actuators"_a : "joints"_a, doc);
}

}  // namespace

void bind_loop_transmission(nb::module_ & module)
{
  nb::class_<LoopTransmission> binding(
    module, "LoopTransmission",
    "A closed chain seen as a serial one (E47): positions, velocities and efforts of actuators "
    "and\n"
    "of joints, all coordinates of one system, through its loops. The power is the same on both\n"
    "sides. With more actuators than degrees of freedom, efforts have the least norm. Each\n"
    "conversion returns (status, values); values are None without output.");
  binding
    .def(
      "__init__",
      [](
        LoopTransmission * self, const Dynamics & dynamics, const State & state,
        const Strings & actuators, const Strings & joints, double largest_ratio,
        double largest_step) {
        new (self)
          LoopTransmission(dynamics, state, actuators, joints, {largest_ratio, largest_step});
      },
      "dynamics"_a, "state"_a, "actuators"_a, "joints"_a, nb::kw_only(), "largest_ratio"_a = 1e3,
      "largest_step"_a = 0.1,
      "state: near the branch to be held; actuators, joints: names of coordinates.\n"
      "largest_ratio: of speeds and efforts between the sides; beyond it motions are left out as\n"
      "SINGULAR. largest_step [rad, m]: parts into which changes of positions are divided.")
    .def_prop_ro("degrees_of_freedom", &LoopTransmission::degrees_of_freedom)
    .def_prop_ro(
      "coordinates", [](const LoopTransmission & self) { return self.coordinates(); },
      "q (nq) of the position that is held, a copy")
    .def("start", &LoopTransmission::start, "state"_a, "Holds another position.");
  bind_conversion(
    binding, "actuators_to_joints", &LoopTransmission::actuators_to_joints, true,
    "Positions; NOT_CONVERGED if there is none on the branch that is held.");
  bind_conversion(
    binding, "joints_to_actuators", &LoopTransmission::joints_to_actuators, false,
    "Positions; NOT_CONVERGED if there is none on the branch that is held.");
  bind_conversion(
    binding, "actuator_velocities_to_joints", &LoopTransmission::actuator_velocities_to_joints,
    true, "Velocities at the position that is held.");
  bind_conversion(
    binding, "joint_velocities_to_actuators", &LoopTransmission::joint_velocities_to_actuators,
    false, "Velocities at the position that is held.");
  bind_conversion(
    binding, "actuator_efforts_to_joints", &LoopTransmission::actuator_efforts_to_joints, true,
    "Efforts at the position that is held.");
  bind_conversion(
    binding, "joint_efforts_to_actuators", &LoopTransmission::joint_efforts_to_actuators, false,
    "Efforts at the position that is held.");
}

}  // namespace constrained_dynamics::python
