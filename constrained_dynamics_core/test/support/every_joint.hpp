// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>

namespace constrained_dynamics::test
{

/// A scenario: a tree with floating, ball, planar and simple joints, springs, dampers, armature,
/// force elements and wrenches.
inline std::string every_joint(const std::string & constraints)
{
  return "name: everything\n"
         "system:\n"
         "  robots: [{name: tree, prefix: '', mjcf: " CD_TEST_ROBOTS
         "/tree.xml, file_constraints: ignore}]\n"
         "  bodies: [{name: cart, base: planar, mass: 1.7, com: [0.1, -0.2, 0.05], inertia: "
         "[0.2, 0.3, 0.4]}]\n"
         "  frames:\n"
         "    - {name: tip, parent: shoe, pose: {xyz: [0.1, 0.2, -0.1], rpy: [0.3, -0.2, 0.5]}}\n"
         "    - {name: seat, parent: cart, pose: {xyz: [0.2, 0.1, -0.6], rpy: [-0.2, 0.4, 0.1]}}\n"
         "  dampers: {yaw: 0.3}\n"
         "  armature: {flap: 0.05}\n"
         "  external:\n"
         "    - {name: wind, frame: tip, force: [1, -2, 0.5], torque: [0.3, 0.1, -0.2]}\n"
         "    - {name: jet, frame: seat, expressed_in: frame, force: [2, 1, 0.5], torque: [0.1, "
         "-0.3, 0.2]}\n"
         "  force_elements:\n"
         "    - {name: strut, type: spring, frame_a: tip, frame_b: seat, stiffness: 40, damping: "
         "3, "
         "rest: 0.2}\n"
         "    - {name: winch, type: spring, frame_a: seat, force: '2*length^2 + rate^3 + sin(t)'}\n"
         "    - {name: bush, type: torsion_spring, frame_a: tip, frame_b: seat, stiffness: 4, "
         "damping: 2}\n"
         "    - {name: coil, type: torsion_spring, frame_a: tip, axis: [1, 2, -1], stiffness: 3, "
         "damping: 0.5, rest: 0.4}\n"
         "initial: {time: 0.3}\n"
         "constraints: [" +
         constraints + "]\n";
}

}  // namespace constrained_dynamics::test
