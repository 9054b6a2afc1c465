# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""What saves typing: pickling, workspaces and intervals that need not be given, columns with a message, colours."""

import os
import pickle
import pty
import subprocess

import numpy as np
import pytest

import constrained_dynamics as cd


def test_pickled_scenario_expect_the_same_motion():
    scenario = cd.Scenario.load(cd.example("four_bar"), ["initial.q.crank=0.4"])
    copy = pickle.loads(pickle.dumps(scenario))
    assert copy.name == scenario.name and np.array_equal(copy.initial.q, scenario.initial.q)
    ends = [one.run(until=0.2).q[-1] for one in (scenario, copy)]
    np.testing.assert_array_equal(*ends)
    text = cd.Scenario.from_text("name: x\nsystem: {coordinates: [x], kinetic: dx^2/2}")
    assert pickle.loads(pickle.dumps(text)).name == "x"


def test_pickled_values_expect_the_same():
    state = pickle.loads(pickle.dumps(cd.State([1.0, 2.0], [3.0], 0.5)))
    assert state.time == 0.5 and list(state.q) == [1.0, 2.0] and list(state.u) == [3.0]
    assert pickle.loads(pickle.dumps(cd.Status.SINGULAR)) == cd.Status.SINGULAR
    pose = pickle.loads(pickle.dumps(cd.Pose([1, 2, 3], [0.1, 0.2, 0.3])))
    assert list(pose.rpy) == [0.1, 0.2, 0.3]


def test_solve_without_workspace_expect_the_solution_of_one(four_bar):
    _, dynamics, workspace, q = four_bar
    assert dynamics.solve(q, np.zeros(3), workspace=workspace) == cd.Status.OK
    made = dynamics.solve(q, np.zeros(3))
    np.testing.assert_allclose(made.solution.acceleration, workspace.solution.acceleration, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="non_finite_input"):
        dynamics.solve([np.nan, 0.0, 0.0], np.zeros(3))
    moved = q + [0.0, 1e-3, 0.0]
    np.testing.assert_allclose(
        dynamics.project_position(moved), dynamics.project_position(moved, workspace=workspace), atol=1e-12
    )
    u = dynamics.project_velocity(q, [1.0, 0.0, 0.0])
    np.testing.assert_allclose(u, dynamics.project_velocity(q, [1.0, 0.0, 0.0], workspace=workspace), atol=1e-12)


def test_run_without_interval_expect_a_thousand_outputs(four_bar):
    _, dynamics, _, q = four_bar
    run = cd.Simulation(dynamics, cd.State(q, np.zeros(3)), step=1e-3).run(0.5)
    assert run.result.completed and 500 <= len(run) <= 1001


def test_column_expect_message_with_both_shapes(four_bar):
    _, dynamics, _, q = four_bar
    with pytest.raises(ValueError, match=r"u has the shape \(3, 1\); allowed: one dimension, \(3,\)"):
        dynamics.solve(q, np.zeros((3, 1)))
    with pytest.raises(ValueError, match=r"shape \(2, 1\)"):
        cd.State([[1.0], [2.0]], [0.0])


def test_constant_null_space_force_expect_it_where_tasks_leave_freedom():
    text = """
    system: {coordinates: [x, y], kinetic: (dx^2 + dy^2)/2, inputs: {fx: {x: 1}, fy: {y: 1}}}
    servo: [{name: hold, type: joint, joint: x, stiffness: 1}]
    servo_law: {null_space: [{kind: force, forces: {x: 5, y: 3}}]}
    """
    scenario = cd.Scenario.from_text(text)
    run = scenario.run(until=1.0)
    # x is held by its task; y is free and moves with the constant force.
    assert abs(run.q[-1, 0]) < 1e-12
    assert run.q[-1, 1] == pytest.approx(0.5 * 3.0 * 1.0**2, abs=1e-9)


def test_light_links_expect_allowed_on_request():
    body = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
    joint = "<joint name='%s' type='continuous'><parent link='%s'/><child link='%s'/><axis xyz='%s'/></joint>"
    urdf = (
        "<robot name='r'><link name='base'/><link name='cross'/><link name='arm'>%s</link>" % body
        + joint % ("first", "base", "cross", "1 0 0")
        + joint % ("second", "cross", "arm", "0 1 0")
        + "</robot>"
    )
    robot = cd.RobotDescription(urdf)
    with pytest.raises(ValueError, match="link 'cross': its mass is 0 kg.*light_links: allow"):
        cd.RigidBodySystem([robot])
    robot.allow_light_links = True
    system = cd.RigidBodySystem([robot])
    # A cross without mass between two axes: the arm turns about both as a body of 1 kg m².
    made = cd.Dynamics(system).solve([0.0, 0.0], [0.0, 0.0], [2.0, 3.0])
    np.testing.assert_allclose(made.solution.acceleration, [2.0, 3.0], atol=1e-12)


def test_file_constraints_expect_loops_with_forces():
    system = cd.RigidBodySystem.from_mjcf(cd.robot("five_bar.xml"))
    stated = cd.file_constraints(system)
    assert stated and {one.type for one in stated} == {"frame_coincidence"}
    dynamics = cd.Dynamics(system, cd.make_file_constraints(system))
    assert [dynamics.constraints[i].name for i in range(len(dynamics.constraints))] == [one.name for one in stated]


@pytest.mark.skipif("CDYN_PROGRAM" not in os.environ, reason="CDYN_PROGRAM does not name cdyn")
def test_cdyn_on_a_terminal_expect_colours_unless_unwanted():
    def output(**variables):
        ours, theirs = pty.openpty()
        arguments = [os.environ["CDYN_PROGRAM"], "run", cd.example("four_bar"), "--until", "0.01"]
        environment = {**os.environ, "TERM": "xterm", **variables}
        environment.pop("NO_COLOR", None) if "NO_COLOR" not in variables else None
        process = subprocess.Popen(arguments, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        text = b""
        try:
            while chunk := os.read(ours, 65536):
                text += chunk
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        assert process.wait() == 0
        return text.decode()

    assert "\x1b[32mstatus            ok\x1b[0m" in output()
    assert "\x1b[" not in output(NO_COLOR="1")
    assert "\x1b[" not in output(TERM="dumb")
