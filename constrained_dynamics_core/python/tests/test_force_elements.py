# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Force elements, joints as constraints, and reactions of joints."""

import numpy as np
import pytest

import constrained_dynamics as cd


def test_spring_expect_weight_at_rest():
    rope = cd.Spring("rope", "load", stiffness=500.0, rest=0.8, cable=True)
    system = cd.RigidBodySystem(bodies=[cd.FreeBody("load", 2.0, [0.1, 0.1, 0.1])], force_elements=[rope])
    assert [element.name for element in system.force_elements] == ["rope"]
    dynamics = cd.Dynamics(system)
    q = np.array([0.0, 0.0, -0.8 - 2.0 * 9.81 / 500.0, 0.0, 0.0, 0.0, 1.0])
    workspace = cd.Workspace(dynamics, cd.State(q, np.zeros(6)))
    assert dynamics.solve(q, np.zeros(6), workspace=workspace) == cd.Status.OK
    np.testing.assert_allclose(workspace.solution.acceleration, 0.0, atol=1e-12)
    state = workspace.force_elements[0]
    assert state.effort == pytest.approx(2.0 * 9.81, abs=1e-11)
    np.testing.assert_allclose(state.on_a.force, [0.0, 0.0, 2.0 * 9.81], atol=1e-11)


def test_formula_with_parameters_expect_its_value():
    element = cd.Spring("muscle", "load", force="k*length^2", parameters={"k": 3.0})
    system = cd.RigidBodySystem(bodies=[cd.FreeBody("load", 2.0, [0.1, 0.1, 0.1])], force_elements=[element])
    dynamics = cd.Dynamics(system)
    q = np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    workspace = cd.Workspace(dynamics, cd.State(q, np.zeros(6)))
    assert workspace.force_elements[0].effort == pytest.approx(0.75)


def test_wrong_keys_expect_messages():
    with pytest.raises(ValueError, match="stiffness"):
        cd.Spring("rope", "load", stiffness=-1.0)
    with pytest.raises(ValueError, match="without axis"):
        cd.TorsionSpring("bush", "load", stiffness=1.0, rest=0.3)


def test_hinge_expect_angle_and_the_reaction_of_the_joint():
    """A pendulum on a joint, and on a hinge that is a constraint: one force."""
    inertia, mass, com = [0.03, 0.04, 0.05], 2.0, [0.1, 0.05, -0.4]
    free = cd.RigidBodySystem(bodies=[cd.FreeBody("rod", mass, inertia, com=com)])
    hinge = cd.Hinge("hinge", free, "rod", axis=[0, 1, 0])
    dynamics = cd.Dynamics(free, [hinge])
    angle, rate = 0.7, 1.3
    q = np.array([0.0, 0.0, 0.0, 0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2)])
    u = np.array([0.0, 0.0, 0.0, 0.0, rate, 0.0])
    workspace = cd.Workspace(dynamics, cd.State(q, u))
    assert dynamics.solve(q, u, workspace=workspace) == cd.Status.OK
    assert workspace.joint_coordinates == {"hinge/angle": pytest.approx(angle)}

    text = (
        "<robot name='p'><link name='world'/><link name='rod'><inertial><origin xyz='0.1 0.05 -0.4'/>"
        "<mass value='2'/><inertia ixx='0.03' iyy='0.04' izz='0.05' ixy='0' ixz='0' iyz='0'/></inertial></link>"
        "<joint name='j' type='continuous'><parent link='world'/><child link='rod'/><axis xyz='0 1 0'/></joint></robot>"
    )
    tree = cd.RigidBodySystem.from_urdf_text(text)
    on_joint = cd.Dynamics(tree)
    reactions = cd.JointReactions(on_joint)
    own = cd.Workspace(on_joint, cd.State([angle], [rate]))
    assert on_joint.solve([angle], [rate], workspace=own) == cd.Status.OK
    assert reactions.update(own) == cd.Status.OK
    assert [(joint.name, joint.child, joint.parent) for joint in reactions.joints] == [("j", "rod", "world")]
    on_a = workspace.solution.wrenches[0].on_a
    np.testing.assert_allclose(reactions.wrenches[0].force, on_a.force, atol=1e-11)
    np.testing.assert_allclose(reactions.wrenches[0].torque, on_a.torque, atol=1e-11)


def test_rodas_expect_few_steps_on_a_stiff_system():
    run = cd.Scenario.load(cd.example("flyball_governor")).run()
    assert run.result.status == cd.Status.OK
    assert run.result.steps < 2000
