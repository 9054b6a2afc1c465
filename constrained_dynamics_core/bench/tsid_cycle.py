#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
"""Times a control cycle of TSID (computeProblemData and solve) and prints it as JSON.

The humanoid stands on two feet with friction cones and torque limits. The centre of mass is a task of the first level;
trunk, posture and contact forces are weighted tasks of the second.

usage: tsid_cycle.py URDF [SECONDS]
"""

import json
import sys
import time

import numpy as np
import pinocchio
import tsid.tsid_pywrap as tsid

FRICTION = 0.6
CORNERS = np.array([[0.1, 0.1, -0.1, -0.1], [0.06, -0.06, 0.06, -0.06], [0.0] * 4])
# The posture of config/scenarios/talos_balance.yaml.
POSTURE = {
    "arm_left_1_joint": 0.25847, "arm_left_2_joint": 0.173046, "arm_left_3_joint": -0.0002,
    "arm_left_4_joint": -0.525366, "arm_left_7_joint": 0.1, "arm_right_1_joint": -0.25847,
    "arm_right_2_joint": -0.173046, "arm_right_3_joint": 0.0002, "arm_right_4_joint": -0.525366,
    "arm_right_7_joint": 0.1, "leg_left_3_joint": -0.411354, "leg_left_4_joint": 0.859395,
    "leg_left_5_joint": -0.448041, "leg_left_6_joint": -0.001708, "leg_right_3_joint": -0.411354,
    "leg_right_4_joint": 0.859395, "leg_right_5_joint": -0.448041, "leg_right_6_joint": -0.001708,
    "torso_2_joint": 0.006761,
}  # fmt: skip


class Humanoid:
    """The formulation. Everything that TSID holds by reference is kept alive here."""

    def __init__(self, urdf):
        self.kept = []
        self.robot = self.keep(tsid.RobotWrapper(urdf, [], pinocchio.JointModelFreeFlyer(), False))
        model = self.robot.model()
        self.q = pinocchio.neutral(model)
        self.q[2] = 1.01927
        for name, value in POSTURE.items():
            self.q[model.joints[model.getJointId(name)].idx_q] = value
        self.v = np.zeros(self.robot.nv)
        self.formulation = self.keep(tsid.InverseDynamicsFormulationAccForce("tsid", self.robot, False))
        self.formulation.computeProblemData(0.0, self.q, self.v)
        self.data = self.formulation.data()
        for foot in ("left_sole_link", "right_sole_link"):
            self.add_contact(foot)
        self.add_motion(
            tsid.TaskComEquality("balance", self.robot), self.robot.com(self.data), 100.0, weight=1.0, level=0
        )
        trunk = tsid.TaskSE3Equality("trunk", self.robot, "torso_2_link")
        trunk.setMask(np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]))
        placement = self.robot.framePosition(self.data, model.getFrameId("torso_2_link"))
        self.add_motion(trunk, placement, 100.0, weight=1.0, level=1)
        self.add_motion(tsid.TaskJointPosture("posture", self.robot), self.q[7:], 50.0, weight=0.1, level=1)
        bounds = self.keep(tsid.TaskActuationBounds("limits", self.robot))
        effort = model.effortLimit[-self.robot.na :]
        bounds.setBounds(-effort, effort)
        self.formulation.addActuationTask(bounds, 1.0, 0, 0.0)
        self.solver = self.keep(tsid.SolverHQuadProgFast("solver"))
        self.solver.resize(self.formulation.nVar, self.formulation.nEq, self.formulation.nIn)

    def keep(self, what):
        self.kept.append(what)
        return what

    def add_contact(self, frame):
        contact = self.keep(
            tsid.Contact6d("at_" + frame, self.robot, frame, CORNERS, np.array([0.0, 0.0, 1.0]), FRICTION, 8.0, 1e4)
        )
        contact.setKp(np.full(6, 100.0))
        contact.setKd(np.full(6, 20.0))
        contact.setReference(self.robot.framePosition(self.data, self.robot.model().getFrameId(frame)))
        self.formulation.addRigidContact(contact, 1e-5, 1.0, 0)

    def add_motion(self, task, value, stiffness, weight, level):
        """A task that keeps a value (a vector or a placement)."""
        self.keep(task)
        if isinstance(value, pinocchio.SE3):
            reference = self.keep(tsid.TrajectorySE3Constant("reference of " + task.name, value))
            size = 6
        else:
            reference = self.keep(tsid.TrajectoryEuclidianConstant("reference of " + task.name, np.array(value)))
            size = len(value)
        task.setKp(np.full(size, stiffness))
        task.setKd(np.full(size, 2.0 * np.sqrt(stiffness)))
        task.setReference(self.keep(reference.computeNext()))
        self.formulation.addMotionTask(task, weight, level, 0.0)

    def cycle(self):
        problem = self.formulation.computeProblemData(0.0, self.q, self.v)
        solution = self.solver.solve(problem)
        return solution


def smallest(function, seconds, batch=20):
    """The smallest mean of a batch of calls [µs]."""
    best = float("inf")
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(batch):
            function()
        best = min(best, (time.perf_counter() - start) / batch)
    return 1e6 * best


def main():
    humanoid = Humanoid(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    solution = humanoid.cycle()
    if solution.status != 0:
        sys.exit(f"tsid_cycle.py: the solver's status is {solution.status}, not 0")
    formulation = humanoid.formulation
    torques = formulation.getActuatorForces(solution)
    print(
        json.dumps(
            {
                "tsid": smallest(humanoid.cycle, seconds),
                "problem": smallest(lambda: formulation.computeProblemData(0.0, humanoid.q, humanoid.v), 0.3 * seconds),
                "variables": formulation.nVar,
                "equations": formulation.nEq,
                "inequalities": formulation.nIn,
                "largest_torque": float(np.abs(torques).max()),
            }
        )
    )


if __name__ == "__main__":
    main()
