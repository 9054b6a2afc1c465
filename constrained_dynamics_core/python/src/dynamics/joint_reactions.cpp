// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/joint_reactions.hpp"

#include "common.hpp"
#include "dynamics/owned_workspace.hpp"

namespace constrained_dynamics::python
{

void bind_joint_reactions(nb::module_ & module)
{
  nb::class_<RigidBodySystem::Joint>(module, "Joint", "A joint that moves, with its bodies.")
    .def_ro("name", &RigidBodySystem::Joint::name)
    .def_ro("child", &RigidBodySystem::Joint::child, "the link that the joint moves")
    .def_ro("parent", &RigidBodySystem::Joint::parent, "'world' for the root");
  nb::class_<JointReactions>(
    module, "JointReactions",
    "The wrench that each joint of a robot transmits at a solved state (E43): reaction of the\n"
    "bearing, effort of the drive, spring and damper. Wrenches of constraints are not contained.")
    .def(nb::init<const Dynamics &>(), "dynamics"_a, nb::keep_alive<1, 2>())
    .def_prop_ro("joints", &JointReactions::joints, "In the order of their coordinates.")
    .def(
      "update",
      [](JointReactions & self, const OwnedWorkspace & w) { return self.update(w.workspace); },
      "workspace"_a, "From the last solution of the workspace. NO_STATE: there is none.")
    .def_prop_ro(
      "wrenches", &JointReactions::wrenches,
      "Copies: on the child body, about the origin of the joint, world axes.");
}

}  // namespace constrained_dynamics::python
