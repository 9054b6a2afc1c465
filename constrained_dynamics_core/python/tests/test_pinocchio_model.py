# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Systems from pinocchio.Model have Pinocchio's inertia and forces."""

import os
from pathlib import Path

import numpy as np
import pytest

import constrained_dynamics as cd
from constrained_dynamics.pinocchio_model import coordinates_from_pinocchio, speeds_from_pinocchio

pinocchio = pytest.importorskip("pinocchio")
ROBOTS = Path(os.environ.get("CD_EXAMPLE_ROBOT_DATA") or os.environ.get("EXAMPLE_ROBOT_DATA") or "missing")
needs_robots = pytest.mark.skipif(not ROBOTS.is_dir(), reason="example-robot-data is not there")


def compare(model, random):
    system = cd.from_pinocchio(model)
    data = model.createData()
    for _ in range(3):
        q = pinocchio.integrate(model, pinocchio.neutral(model), random.normal(size=model.nv))
        v = random.normal(size=model.nv)
        kinematics = cd.Kinematics(
            system, coordinates_from_pinocchio(model, system, q), speeds_from_pinocchio(model, system, v)
        )
        upper = np.triu(pinocchio.crba(model, data, q))
        inertia = upper + np.triu(upper, 1).T
        scale = np.abs(inertia).max()
        np.testing.assert_allclose(kinematics.mass_matrix, inertia, atol=1e-13 * scale, rtol=0)
        bias = pinocchio.nonLinearEffects(model, data, q, v)
        np.testing.assert_allclose(-kinematics.force, bias, atol=1e-12 * np.abs(bias).max(), rtol=0)
        pinocchio.framesForwardKinematics(model, data, q)
        for name in system.frame_names[1:]:
            placement = data.oMf[model.getFrameId(name)]
            np.testing.assert_allclose(kinematics.frame(name).position, placement.translation, atol=1e-12)
            np.testing.assert_allclose(kinematics.frame(name).rotation, placement.rotation, atol=1e-12)
    return system


@needs_robots
@pytest.mark.parametrize(
    "path, floating",
    [
        ("panda_description/urdf/panda.urdf", False),
        ("solo_description/robots/solo12.urdf", True),
        ("talos_data/robots/talos_reduced.urdf", True),
    ],
)
def test_robots_expect_inertia_forces_and_frames_of_pinocchio(path, floating, random):
    path = str(ROBOTS / path)
    model = (
        pinocchio.buildModelFromUrdf(path, pinocchio.JointModelFreeFlyer())
        if floating
        else pinocchio.buildModelFromUrdf(path)
    )
    compare(model, random)


def test_ball_joint_expect_refusal_by_name():
    model = pinocchio.Model()
    model.addJoint(0, pinocchio.JointModelSpherical(), pinocchio.SE3.Identity(), "hip")
    with pytest.raises(ValueError, match="hip.*Spherical"):
        cd.from_pinocchio(model)


def test_built_model_expect_axes_placements_and_gravity_kept(random):
    model = pinocchio.Model()
    model.gravity.linear = np.array([0.5, 0.0, -3.0])
    parent = 0
    axis = np.array([1.0, 2.0, -0.5]) / np.linalg.norm([1.0, 2.0, -0.5])
    pinocchio.seed(1)
    for i, joint in enumerate(
        [
            pinocchio.JointModelRX(),
            pinocchio.JointModelPY(),
            pinocchio.JointModelRevoluteUnaligned(axis),
            pinocchio.JointModelPrismaticUnaligned(axis),
            pinocchio.JointModelRUBZ(),
        ]
    ):
        parent = model.addJoint(parent, joint, pinocchio.SE3.Random(), "joint%d" % i)
        body = pinocchio.Inertia.FromEllipsoid(1.5 + i, 0.3, 0.2, 0.1)
        model.appendBodyToJoint(parent, body, pinocchio.SE3.Random())
        model.addBodyFrame("body%d" % i, parent, pinocchio.SE3.Identity(), 0)
    model.armature = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    system = compare(model, random)
    np.testing.assert_allclose(system.gravity, [0.5, 0.0, -3.0])
    assert system.coordinate_names == ["joint%d" % i for i in range(5)]
