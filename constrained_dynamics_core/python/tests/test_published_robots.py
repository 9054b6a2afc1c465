# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Closed-chain robots of others against Pinocchio and MuJoCo; the tables of doc/closed_chains.md.

The robots are not part of this repository: the environment variables CD_PARALLEL_ROBOTS (folder `robots` of
Gepetto/example-parallel-robots) and CD_MENAGERIE (google-deepmind/mujoco_menagerie) name their folders. Run with -s
to see the figures.
"""

import os
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

import constrained_dynamics as cd

pin = pytest.importorskip("pinocchio")

WORLD = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


def folder_of(variable):
    """The folder that an environment variable names, or the test is skipped."""
    if not os.environ.get(variable):
        pytest.skip(variable + " does not name a folder")
    return Path(os.environ[variable])


# ---- Pinocchio -----------------------------------------------------------------------------------------------------


class Peer:
    """A robot of example-parallel-robots in Pinocchio: tree, loops and replaced joints as its own loader builds them."""

    def __init__(self, urdf, loops):
        stated = yaml.safe_load(loops.read_text())
        replaced = dict(zip(stated.get("joint_name", []), stated.get("joint_type", [])))
        original = pin.buildModelFromUrdf(str(urdf))
        self.model, ids = pin.Model(), [0]
        self.model.gravity = original.gravity
        for j in range(1, original.njoints):
            ids.append(self._add_joint(original, j, ids[original.parents[j]], replaced))
        for frame in original.frames:
            self.model.addFrame(
                pin.Frame(frame.name, ids[frame.parentJoint], 0, frame.placement, pin.FrameType.OP_FRAME), False
            )
        locked = [ids[original.getJointId(name)] for name, kind in replaced.items() if kind == "FIXED"]
        self.model = pin.buildReducedModel(self.model, locked, pin.neutral(self.model))
        self.data = self.model.createData()
        kinds = stated.get("type", ["6d"] * len(stated["closed_loop"]))
        self.loops = [(*pair, 3 if kind[0] == "3" else 6) for pair, kind in zip(stated["closed_loop"], kinds)]
        self.motors = stated["name_mot"]

    def _add_joint(self, original, j, parent, replaced):
        name, place, kind = original.names[j], original.jointPlacements[j], replaced.get(original.names[j], "FIXED")
        if kind.startswith("UJOINT"):
            first, second = (getattr(pin, "JointModelR" + axis)() for axis in kind[-2:])
            parent = self.model.addJoint(parent, first, place, name + "_" + kind[-2])
            joint, place, name = second, pin.SE3.Identity(), name + "_" + kind[-1]
        elif kind == "SPHERICAL":
            joint = pin.JointModelSpherical()
        else:
            joint = self._one_angle(original.joints[j])
        i = self.model.addJoint(parent, joint, place, name)
        self.model.appendBodyToJoint(i, original.inertias[j], pin.SE3.Identity())
        return i

    @staticmethod
    def _one_angle(joint):
        """Continuous joints as one angle, which this library has as well."""
        aligned = re.fullmatch(r"JointModelRUB([XYZ])", joint.shortname())
        if aligned:
            return getattr(pin, "JointModelR" + aligned.group(1))()
        if joint.shortname() == "JointModelRevoluteUnboundedUnaligned":
            return pin.JointModelRevoluteUnaligned(joint.extract().axis)
        return joint

    def configuration(self, system, q):
        """Coordinates of a state of this library: the same joints, by name."""
        out = pin.neutral(self.model)
        names = system.coordinate_names
        for j in range(1, self.model.njoints):
            joint, name = self.model.joints[j], self.model.names[j]
            own = [name] if joint.nq == 1 else [name + part for part in ("_qx", "_qy", "_qz", "_qw")]
            out[joint.idx_q : joint.idx_q + joint.nq] = [q[names.index(one)] for one in own]
        return out

    def speeds(self, system):
        """Index in this library of each speed of the model."""
        order = []
        for j in range(1, self.model.njoints):
            joint, name = self.model.joints[j], self.model.names[j]
            own = ["d" + name] if joint.nv == 1 else [name + part for part in ("_wx", "_wy", "_wz")]
            order += [system.speed_names.index(one) for one in own]
        return np.array(order)

    def equations(self, x, v, torque):
        """M, right-hand side, rows and their drift, so that M a = rhs + Jᵀ λ and J a = drift."""
        model, data = self.model, self.data
        mass = pin.crba(model, data, x)
        mass = np.triu(mass) + np.triu(mass, 1).T
        rhs = torque - pin.nonLinearEffects(model, data, x, v)
        pin.computeJointJacobians(model, data, x)
        pin.forwardKinematics(model, data, x, v, np.zeros(model.nv))
        pin.updateFramePlacements(model, data)
        rows, drift = [], []
        for a, b, size in self.loops:
            a, b = model.getFrameId(a), model.getFrameId(b)
            jacobian = pin.getFrameJacobian(model, data, a, WORLD) - pin.getFrameJacobian(model, data, b, WORLD)
            bias = (
                pin.getFrameClassicalAcceleration(model, data, a, WORLD).vector
                - pin.getFrameClassicalAcceleration(model, data, b, WORLD).vector
            )
            rows.append(jacobian[:size])
            drift.append(-bias[:size])
        return mass, rhs, np.vstack(rows), np.concatenate(drift)

    def proximal(self, x, v, torque):
        """constraintDynamics, at four proximal parameters."""
        models, model = [], self.model
        for a, b, size in self.loops:
            a, b = model.frames[model.getFrameId(a)], model.frames[model.getFrameId(b)]
            kind = pin.ContactType.CONTACT_3D if size == 3 else pin.ContactType.CONTACT_6D
            models.append(
                pin.RigidConstraintModel(
                    kind, model, a.parentJoint, a.placement, b.parentJoint, b.placement, pin.ReferenceFrame.LOCAL
                )
            )
        for mu in (1e-6, 1e-8, 1e-10, 1e-12):
            data = model.createData()
            datas = [one.createData() for one in models]
            pin.initConstraintDynamics(model, data, models)
            yield pin.constraintDynamics(
                model, data, x, v, torque, models, datas, pin.ProximalSettings(1e-14, mu, 100)
            ).copy()


def solve_rigid(mass, rhs, rows, drift):
    """Accelerations and JᵀΛ of rigid rows, redundant ones included, also where M alone is singular."""
    rank = np.linalg.matrix_rank(rows, tol=1e-9 * np.linalg.norm(rows, 2))
    left, sizes, right = np.linalg.svd(rows)
    free = right[rank:].T
    particular = right[:rank].T @ ((left.T @ drift)[:rank] / sizes[:rank])
    reduced = np.linalg.solve(free.T @ mass @ free, free.T @ (rhs - mass @ particular))
    acceleration = particular + free @ reduced
    return acceleration, mass @ acceleration - rhs, rank


# robot, its URDF, keys of `system`, speeds, rows, rank; where the digits of a file let redundant rows contradict each
# other, `initial.tolerance` is what they allow.
PARALLEL = [
    ("5bar_linkage_iso3d", 5, 3, 3),
    ("5bar_linkage", 6, 6, 3),
    ("robot_delta", 14, 18, 9),
]


@pytest.mark.parametrize("robot, speeds, rows, rank", PARALLEL, ids=[one[0] for one in PARALLEL])
def test_parallel_robot_expect_the_motion_and_forces_of_pinocchio(robot, speeds, rows, rank):
    folder = folder_of("CD_PARALLEL_ROBOTS") / robot
