# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Systems from pinocchio.Model have Pinocchio's inertia and forces."""

import os
from pathlib import Path

import numpy as np
import pytest

import constrained_dynamics as cd

pinocchio = pytest.importorskip("pinocchio")
ROBOTS = Path(os.environ.get("CD_EXAMPLE_ROBOT_DATA") or os.environ.get("EXAMPLE_ROBOT_DATA") or "missing")
needs_robots = pytest.mark.skipif(not ROBOTS.is_dir(), reason="example-robot-data is not there")


def compare(model, random):
    system = cd.from_pinocchio(model)
    data = model.createData()
    for _ in range(3):
        q = pinocchio.integrate(model, pinocchio.neutral(model), random.normal(size=model.nv))
        v = random.normal(size=model.nv)
        own = cd.from_pinocchio_q(system, q)
        kinematics = cd.Kinematics(system, own, v)
        np.testing.assert_allclose(cd.to_pinocchio_q(system, own), q, atol=1e-12)
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


@pytest.mark.parametrize(
    "joint",
    [
        pinocchio.JointModelSphericalZYX(),
        pinocchio.JointModelUniversal(np.array([1.0, 0, 0]), np.array([0, 1.0, 0])),
        pinocchio.JointModelHX(0.1),
    ],
)
def test_joints_of_other_kinds_expect_refusal_by_name(joint):
    model = pinocchio.Model()
    model.addJoint(0, joint, pinocchio.SE3.Identity(), "hip")
    with pytest.raises(ValueError, match="hip.*" + joint.shortname()):
        cd.from_pinocchio(model)


def test_text_that_is_no_model_expect_refusal():
    with pytest.raises(ValueError, match="cannot be read"):
        cd.RigidBodySystem(model="22 serialization::archive 20 nonsense")


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


def test_model_that_urdf_cannot_state_expect_it_whole(random):
    model = pinocchio.Model()
    pinocchio.seed(2)
    parents = {"ball": 0, "slide": 1, "cart": 2, "drift": 1, "flyer": 0, "wheel": 5}
    joints = [
        pinocchio.JointModelSpherical(),
        pinocchio.JointModelPX(),
        pinocchio.JointModelPlanar(),
        pinocchio.JointModelTranslation(),
        pinocchio.JointModelFreeFlyer(),
        pinocchio.JointModelRUBY(),
    ]
    for joint, (name, parent) in zip(joints, parents.items()):
        index = model.addJoint(parent, joint, pinocchio.SE3.Random(), name)
        model.appendBodyToJoint(index, pinocchio.Inertia.FromEllipsoid(2.0, 0.3, 0.2, 0.1), pinocchio.SE3.Random())
        model.addBodyFrame(name + "_body", index, pinocchio.SE3.Random(), 0)
    model.lowerPositionLimit[4] = -np.inf
    system = compare(model, random)
    assert system.link_names == [name + "_body" for name in parents]
    assert system.speed_names[-7:] == ["flyer_vx", "flyer_vy", "flyer_vz", "flyer_wx", "flyer_wy", "flyer_wz", "dwheel"]


def test_robot_of_a_file_expect_its_model_in_python(random):
    text = """<robot name="r"><link name="world"/><link name="arm"><inertial><origin xyz="0 0.1 0.3"/><mass value="2"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="turn"
        type="continuous"><parent link="world"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""
    system = cd.RigidBodySystem([cd.RobotDescription(text)], armature={"turn": 0.5})
    model = cd.to_pinocchio(system)
    q, v = random.normal(size=1), random.normal(size=1)
    kinematics = cd.Kinematics(system, q, v)
    x = cd.to_pinocchio_q(system, q)
    np.testing.assert_allclose(pinocchio.crba(model, model.createData(), x), kinematics.mass_matrix, atol=1e-13)
    np.testing.assert_allclose(
        pinocchio.nonLinearEffects(model, model.createData(), x, v), -kinematics.force, atol=1e-13
    )


def test_gravity_and_damping_expect_them_on_demand():
    model = pinocchio.Model()
    model.addJoint(0, pinocchio.JointModelRX(), pinocchio.SE3.Identity(), "hip")
    model.appendBodyToJoint(1, pinocchio.Inertia.FromSphere(1.0, 0.1), pinocchio.SE3.Identity())
    model.damping = np.array([0.3])
    assert cd.from_pinocchio(model).damping[0] == 0.0
    system = cd.from_pinocchio(model, use_damping=True, gravity=(0, 0, -1), dampers={"hip": 0.5})
    assert system.damping[0] == pytest.approx(0.8)
    np.testing.assert_allclose(system.gravity, [0, 0, -1])
    np.testing.assert_allclose(model.gravity.linear, [0, 0, -9.81])


def test_armature_along_axes_that_turn_expect_refusal_by_name():
    model = pinocchio.Model()
    flyer = model.addJoint(0, pinocchio.JointModelFreeFlyer(), pinocchio.SE3.Identity(), "flyer")
    model.appendBodyToJoint(flyer, pinocchio.Inertia.FromSphere(2.0, 0.3), pinocchio.SE3.Identity())
    model.addBodyFrame("body", flyer, pinocchio.SE3.Identity(), 0)
    model.armature = np.array([0.0, 0.0, 0.0, 0.4, 0.4, 0.4])
    u = np.array([1.0, -2.0, 0.5, 3.0, 1.0, 4.0])
    system = cd.from_pinocchio(model)
    kinematics = cd.Kinematics(system, cd.from_pinocchio_q(system, pinocchio.neutral(model)), u)
    rates = np.linalg.solve(kinematics.mass_matrix, kinematics.force)
    np.testing.assert_allclose(rates[:3] + np.cross(u[3:], u[:3]), system.gravity, atol=1e-12)
    for armature in ([0.5, 0.0, 0.0, 0.4, 0.4, 0.4], [0.0, 0.0, 0.0, 0.4, 0.4, 0.5]):
        model.armature = np.array(armature)
        with pytest.raises(ValueError, match="joint 'flyer' of the model: its armature"):
            cd.from_pinocchio(model)
