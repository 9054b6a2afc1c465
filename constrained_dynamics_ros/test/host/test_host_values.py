# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""scenario_host (or scenario_player) as others see it: what it says is what the core computes."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from geometry_msgs.msg import Vector3
from tf2_msgs.msg import TFMessage

cd = pytest.importorskip("constrained_dynamics", reason="the Python package constrained_dynamics is missing")

CDYN = os.environ.get("CDYN_PROGRAM", "cdyn")


def multipliers(forces):
    return np.array([row.multiplier for constraint in forces.constraints for row in constraint.rows])


@pytest.mark.parametrize("scenario", ["panda_cutter", "four_bar", "mobile_arm"])
def test_forces_when_running_expect_those_of_the_core_at_that_state(host, scenario):
    peer = host(scenario=scenario, loop=True)
    peer.spin(0.3)
    forces, joints, torques = peer.together()

    loaded = cd.Scenario.load(cd.example(scenario))
    system, dynamics = loaded.system, loaded.dynamics
    assert list(joints.name) == system.coordinate_names
    assert list(torques.name) == system.input_names
    workspace = loaded.make_workspace()
    q = np.array(joints.position)
    u = np.linalg.lstsq(cd.Kinematics(system, q).kinematic_matrix, np.array(joints.velocity), rcond=None)[0]
    workspace.reset(cd.State(q, u))
    status = dynamics.solve(q, u, np.array(torques.effort), workspace=workspace)
    solution = workspace.solution

    assert forces.status == status.name.lower() == "ok"
    assert (forces.rank, forces.active_row_count) == (solution.rank, solution.active_row_count)
    scale = 1.0 + np.abs(solution.multipliers).max()
    np.testing.assert_allclose(multipliers(forces), solution.multipliers, atol=1e-8 * scale)
    np.testing.assert_allclose(forces.generalized_forces, solution.constraint_force, atol=1e-8 * scale)
    wrenches = [wrench for constraint in forces.constraints for wrench in constraint.wrenches]
    assert len(wrenches) == len(solution.wrenches) > 0
    for wrench, pair in zip(wrenches, solution.wrenches):
        on_a, on_b = wrench.on_a, wrench.on_b
        np.testing.assert_allclose([on_a.force.x, on_a.force.y, on_a.force.z], pair.on_a.force, atol=1e-8 * scale)
        # Action and reaction about one point.
        np.testing.assert_allclose(
            [on_b.force.x, on_b.force.y, on_b.force.z, on_b.torque.x, on_b.torque.y, on_b.torque.z],
            [-on_a.force.x, -on_a.force.y, -on_a.force.z, -on_a.torque.x, -on_a.torque.y, -on_a.torque.z],
            atol=1e-8 * scale,
        )


@pytest.mark.skipif(shutil.which(CDYN) is None, reason="the command cdyn is missing")
def test_forces_when_paused_at_start_expect_those_of_cdyn_solve(host):
    peer = host(scenario="panda_cutter", paused=True)
    forces = peer.next(peer.forces)
    answer = subprocess.run([CDYN, "solve", cd.example("panda_cutter")], capture_output=True, text=True, check=True)
    solved = json.loads(answer.stdout)["multipliers"]
    for constraint in forces.constraints:
        for row in constraint.rows:
            expected = solved[f"{constraint.name}/{row.label}"]
            assert row.multiplier == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_transforms_when_running_expect_the_poses_of_the_core(host):
    peer = host(scenario="four_bar", paused=True, publish_clock=False)
    transforms = peer.listen(TFMessage, "/tf")
    message = peer.next(transforms)
    initial = cd.Scenario.load(cd.example("four_bar")).initial
    system = cd.Scenario.load(cd.example("four_bar")).system
    assert {t.child_frame_id for t in message.transforms} == set(system.link_names) - {"world"}
    kinematics = cd.Kinematics(system, initial.q)
    for transform in message.transforms:
        assert transform.header.frame_id == "world"
        frame = kinematics.frame(transform.child_frame_id)
        t, r = transform.transform.translation, transform.transform.rotation
        np.testing.assert_allclose([t.x, t.y, t.z], frame.position, atol=1e-12)
        x, y, z, w = r.x, r.y, r.z, r.w
        rotation = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        )
        np.testing.assert_allclose(rotation, frame.rotation, atol=1e-12)


def test_step_when_paused_expect_the_steps_of_the_core(host):
    peer = host(scenario="four_bar", paused=True)
    answer = peer.ask("step", steps=250)
    assert answer.success, answer.message
    assert answer.time == pytest.approx(0.25, abs=1e-12)
    simulation = cd.Scenario.load(cd.example("four_bar")).make_simulation()
    simulation.step(250)
    peer.until(
        lambda: np.abs(np.array(peer.joints[-1].position) - simulation.state.q).max() < 1e-13, "the state of the core"
    )


def test_step_when_adaptive_expect_the_time_to_go_on(host):
    peer = host(scenario="bouncing_ball", paused=True)
    step = cd.Scenario.load(cd.example("bouncing_ball")).run_settings.step
    answer = peer.ask("step", steps=500)
    assert answer.success, answer.message
    assert answer.time == pytest.approx(500 * step, abs=1e-9)
    # The first impact is at 0.4515 s.
    peer.until(lambda: any(event.kind == "impact" for event in peer.events), "impact")
    impact = next(event for event in peer.events if event.kind == "impact")
    assert impact.constraint == "floor"
    assert impact.speed_after == pytest.approx(-0.8 * impact.speed_before, rel=1e-6)


def test_push_when_along_a_frame_expect_the_momentum_of_the_core(host):
    peer = host(scenario="four_bar", paused=True)
    answer = peer.ask("push", frame="coupler_tip", force=Vector3(x=3.0, z=1.0))
    assert answer.success, answer.message
    scenario = cd.Scenario.load(cd.example("four_bar"))
    simulation = scenario.make_simulation()
    jacobian = cd.Kinematics(scenario.system, simulation.state.q).frame_jacobian("coupler_tip")
    simulation.apply_impulse(jacobian.T @ [3.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    peer.until(
        lambda: np.abs(np.array(peer.joints[-1].velocity) - simulation.state.u).max() < 1e-12, "the speeds of the core"
    )
    assert answer.energy_change == pytest.approx(simulation.events[-1].energy_change)
    assert answer.energy_change > 0.0


def test_push_when_along_speeds_expect_the_momentum_of_the_core(host):
    peer = host(scenario="four_bar", paused=True)
    answer = peer.ask("push", names=["dcrank"], values=[0.5])
    assert answer.success, answer.message
    simulation = cd.Scenario.load(cd.example("four_bar")).make_simulation()
    simulation.apply_impulse([0.5, 0.0, 0.0])
    peer.until(
        lambda: np.abs(np.array(peer.joints[-1].velocity) - simulation.state.u).max() < 1e-12, "the speeds of the core"
    )
