# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
"""Robot profiles, the momentum observer and the certificate of forces."""

import numpy as np
import pytest

import constrained_dynamics as cd
from constrained_dynamics import identification


@pytest.fixture
def four_bar():
    """A four-bar whose loop is a spatial hinge, at rest, with its workspace."""
    system = cd.RigidBodySystem.from_urdf(cd.robot("four_bar.urdf"))
    loop = cd.FrameCoincidence("loop", system, "coupler_tip", "rocker_tip", rows=["x", "y", "z", "rx", "rz"])
    dynamics = cd.Dynamics(system, [loop])
    state = cd.State([0.0, np.pi / 2, np.pi - np.arctan(2 / 3)], [0.0, 0.0, 0.0])
    return system, dynamics, state, cd.Workspace(dynamics, state)


PROFILE = """
profile: four_bar
joints: [{name: crank, effort_limit: 100}, {name: coupler}, {name: rocker, friction: {viscous: 2.0}}]
command: {adds: [gravity]}
state: {effort_contains: [gravity, friction]}
"""


def test_profile_converts_efforts_of_the_drive(four_bar):
    system, dynamics, state, workspace = four_bar
    profile = cd.RobotProfile.from_text(PROFILE)
    assert profile.command_adds.gravity and not profile.command_adds.friction
    assert cd.RobotProfile.from_text(profile.to_yaml()).to_yaml() == profile.to_yaml()
    drives = cd.DriveConversion(profile, system)
    holding = -cd.Kinematics(system, state.q).force.copy()  # P at rest is the weight
    status, command = drives.command(workspace, np.zeros(3))
    assert status == cd.Status.OK
    np.testing.assert_allclose(command, -holding, atol=1e-12)
    np.testing.assert_allclose(drives.net_effort(workspace, holding), holding, atol=1e-12)
    status, command = drives.command(workspace, [1e3, 0, 0])
    assert status == cd.Status.LIMITED and command[0] == 100.0 and drives.requested[0] > 900.0
    profile.gravity = [0, 0, -1.62]
    assert profile.gravity[2] == -1.62
    profile.gravity = None
    profile.command_adds = None
    with pytest.raises(RuntimeError, match="declined"):
        cd.DriveConversion(profile, system).command(workspace, np.zeros(3))
    with pytest.raises(ValueError, match="efforts"):
        cd.RobotProfile.from_text("profile: a\njoints: [{name: j, efforts: 1}]")


def test_observer_tells_an_external_force(four_bar):
    system, dynamics, state, workspace = four_bar
    observer = cd.MomentumObserver(dynamics, gain=100, speed_noise=[1e-4] * 3)
    # Efforts that hold the mechanism, plus one that the observer is not told of: it stays at rest
    # because somebody pushes against it.
    dynamics.solve(state.q, state.u, workspace=workspace)
    pushed = np.array([3.0, 0.0, 0.0]) - cd.Kinematics(system, state.q).force
    for _ in range(200):
        assert observer.update(1e-3, pushed, workspace) == cd.Status.OK
    # The crank is balanced by −3 N m, seen at the independent speed.
    speeds = dynamics.project_velocity(state.q, np.ones(3), workspace=workspace)
    assert observer.force @ speeds == pytest.approx(-3.0 * speeds[0], rel=1e-6)
    assert observer.has_contact
    assert not observer.has_wrenches


def test_certificate_needs_a_sensor_for_forces_out_of_the_plane(four_bar):
    system, dynamics, state, workspace = four_bar
    blind = cd.ForceCertificate(dynamics, effort_noise=[0.5] * 3)
    blind.start(state, workspace)
    assert blind.update(np.zeros(3), workspace) == cd.Status.OK
    assert blind.names == ["loop/x", "loop/y", "loop/z", "loop/rx", "loop/rz"]
    assert list(blind.observable) == [1, 0, 1, 0, 0]
    assert list(np.isinf(blind.covariance.diagonal())) == [False, True, False, True, True]
    sensor = cd.WrenchSensor("wrist", "coupler_tip", 0.2, 0.01)
    seeing = cd.ForceCertificate(dynamics, effort_noise=[0.5] * 3, sensors=[sensor])
    seeing.start(state, workspace)
    assert seeing.update(np.zeros(3), workspace, np.zeros(6)) == cd.Status.OK
    assert seeing.observable.all() and seeing.rank == 5
    assert seeing.covariance[1, 1] == pytest.approx(0.04)


def test_sensor_without_the_weight_of_its_tool(four_bar):
    system, dynamics, state, workspace = four_bar
    tool = cd.Payload()
    tool.name, tool.frame, tool.mass, tool.com = "tool", "coupler_tip", 2.0, [0.0, 0.0, 0.1]
    sensor = cd.WrenchCompensation(system, tool)
    carried = sensor.compensate(workspace, np.zeros(6))
    rotation = cd.Kinematics(system, state.q).frame("coupler_tip").rotation
    np.testing.assert_allclose(rotation @ carried[:3], [0, 0, 2.0 * 9.81], atol=1e-9)
    assert sensor.tare(workspace, np.arange(6.0) - carried) == cd.Status.OK
    np.testing.assert_allclose(sensor.offset, np.arange(6.0), atol=1e-12)


def test_commands_stay_on_the_loop(four_bar):
    system, dynamics, state, workspace = four_bar
    commands = cd.CommandIntegrator(dynamics, join_time=0.2)
    commands.start(state)
    assert dynamics.solve(state.q, state.u, [80.0, 0.0, 0.0], workspace=workspace) == cd.Status.OK
    acceleration = workspace.solution.acceleration.copy()
    for i in range(100):
        assert cd.has_output(commands.update(1e-3 * i, 1e-3, state.q, state.u, acceleration))
    assert abs(commands.position[0]) > 1e-4
    assert dynamics.solve(commands.position, commands.velocity, workspace=workspace) == cd.Status.OK
    assert abs(workspace.rows.position).max() < 1e-9


def test_friction_of_a_recording_becomes_a_profile(tmp_path, capsys):
    scenario = cd.Scenario.load(cd.example("four_bar_inverse"))
    run = scenario.run(until=2.0, output_interval=0.01)
    joints = ["crank", "coupler", "rocker"]
    names = [prefix + joint for prefix in ("q.", "u.d", "udot.d") for joint in joints]
    rows = [",".join(["time", *names, "input.crank"])]
    for i in range(len(run.time)):
        # What the motor needs on a robot with friction.
        effort = run.inputs[i, 0] + 2.5 * run.u[i, 0] + 1.5 * np.tanh(run.u[i, 0] / 1e-2)
        values = [run.time[i], *run.q[i], *run.u[i], *run.acceleration[i], effort]
        rows.append(",".join("%.17g" % value for value in values))
    recording = tmp_path / "motion.csv"
    recording.write_text("\n".join(rows) + "\n", encoding="utf-8")
    output = tmp_path / "profile.yaml"
    assert identification.main(["four_bar_inverse", str(recording), "-o", str(output)]) == 0
    assert "viscous/crank" in capsys.readouterr().out
    friction = cd.RobotProfile.load(str(output)).joints[0].friction
    assert friction.viscous == pytest.approx(2.5, rel=1e-6)
    assert friction.coulomb == pytest.approx(1.5, rel=1e-6)
    recording.write_text("time,q.crank\n0,1\n", encoding="utf-8")
    assert identification.main(["four_bar_inverse", str(recording)]) == 2
    assert "q.coupler" in capsys.readouterr().err
