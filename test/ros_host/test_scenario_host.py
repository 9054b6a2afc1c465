"""scenario_host (or scenario_player) as others see it: through topics and services."""
import json
import os
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Vector3
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from conftest import PATIENCE, cd, host_command

CDYN = os.environ.get("CDYN_PROGRAM", "cdyn")


def seconds(stamp):
    return stamp.sec + 1e-9 * stamp.nanosec


def multipliers(forces):
    return np.array([row.multiplier for constraint in forces.constraints for row in constraint.rows])


def speeds(forces, velocity):
    """u of systems whose speeds are the rates of their coordinates."""
    assert list(forces.names) == ["d" + name for name in velocity.name]
    return np.array(velocity.velocity)


# ---- what is published -------------------------------------------------------------------------------


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
    u = np.linalg.lstsq(
        cd.Kinematics(system, q).kinematic_matrix, np.array(joints.velocity), rcond=None)[0]
    dynamics.analyse(cd.State(q, u), workspace)
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
        np.testing.assert_allclose(
            [on_a.force.x, on_a.force.y, on_a.force.z], pair.on_a.force, atol=1e-8 * scale)
        # Action and reaction about one point.
        np.testing.assert_allclose(
            [on_b.force.x, on_b.force.y, on_b.force.z, on_b.torque.x, on_b.torque.y, on_b.torque.z],
            [-on_a.force.x, -on_a.force.y, -on_a.force.z, -on_a.torque.x, -on_a.torque.y, -on_a.torque.z],
            atol=1e-8 * scale)


@pytest.mark.skipif(shutil.which(CDYN) is None, reason="the command cdyn is missing")
def test_forces_when_paused_at_start_expect_those_of_cdyn_solve(host):
    peer = host(scenario="panda_cutter", paused=True)
    forces = peer.next(peer.forces)
    answer = subprocess.run(
        [CDYN, "solve", cd.example("panda_cutter")], capture_output=True, text=True, check=True)
    solved = json.loads(answer.stdout)["multipliers"]
    for constraint in forces.constraints:
        for row in constraint.rows:
            expected = solved[f"{constraint.name}/{row.label}"]
            assert row.multiplier == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_sequence_when_running_expect_no_gap_and_the_rate(host):
    peer = host(scenario="four_bar", rate=200.0, loop=True)
    peer.spin(2.0)
    numbers = [message.sequence for message in peer.forces]
    assert len(numbers) > 50
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    stamps = [seconds(message.header.stamp) for message in peer.forces]
    assert all(a < b for a, b in zip(stamps, stamps[1:]))


def test_clock_when_asked_for_expect_simulated_stamps_at_the_factor(host):
    peer = host(scenario="four_bar", publish_clock=True, real_time_factor=0.5)
    clock = peer.listen(Clock, "/clock")
    begin = time.monotonic()
    first = seconds(peer.next(clock).clock)
    peer.spin(2.0)
    last = seconds(peer.next(clock).clock)
    factor = (last - first) / (time.monotonic() - begin)
    assert 0.2 < factor < 0.55, factor  # slower where the machine is busy, never faster
    assert seconds(peer.next(peer.forces).header.stamp) < 10.0


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
        rotation = np.array([
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])
        np.testing.assert_allclose(rotation, frame.rotation, atol=1e-12)


def test_markers_when_running_expect_arrows_of_the_forces(host):
    peer = host(scenario="four_bar", paused=True, markers__force_scale=0.1)
    markers = peer.listen(MarkerArray, "markers")
    array = peer.next(markers).markers
    forces = peer.next(peer.forces)
    arrows = [m for m in array if m.ns == "force" and m.action == Marker.ADD]
    assert arrows
    wrenches = [wrench for constraint in forces.constraints for wrench in constraint.wrenches]
    for arrow in arrows:
        start, end = arrow.points
        force = wrenches[arrow.id].on_a.force
        np.testing.assert_allclose(
            [end.x - start.x, end.y - start.y, end.z - start.z],
            [0.1 * force.x, 0.1 * force.y, 0.1 * force.z], atol=1e-9)
    legend = [m.text for m in array if m.ns == "legend"]
    assert legend[0] == "force: 1 m = 10 N" and legend[2].startswith("largest force: ")
    assert {m.ns for m in array} == {"force", "torque", "point", "name", "legend"}


def test_diagnostics_when_running_expect_health(host):
    peer = host(scenario="four_bar", loop=True)
    heard = peer.listen(DiagnosticArray, "/diagnostics")

    def mine():
        return [s for m in heard for s in m.status if s.name == peer.name + ": simulation"]

    peer.until(lambda: mine(), "diagnostics")
    status = mine()[-1]
    assert status.level in (DiagnosticStatus.OK, DiagnosticStatus.WARN)
    values = {pair.key: pair.value for pair in status.values}
    assert values["scenario"] == "four_bar" and values["status"] == "ok" and values["rank"] == "2"


# ---- pause, step, reset ------------------------------------------------------------------------------


def test_pause_when_asked_expect_the_state_to_stand_still_and_go_on(host):
    peer = host(scenario="four_bar", loop=True)
    assert peer.ask("pause", data=True).success
    held = peer.stand_still()
    assert peer.ask("pause", data=False).success
    peer.until(lambda: list(peer.joints[-1].position) != held, "motion")


def test_step_when_paused_expect_the_steps_of_the_core(host):
    peer = host(scenario="four_bar", paused=True)
    answer = peer.ask("step", steps=250)
    assert answer.success, answer.message
    assert answer.time == pytest.approx(0.25, abs=1e-12)
    simulation = cd.Scenario.load(cd.example("four_bar")).make_simulation()
    simulation.step(250)
    peer.until(lambda: np.abs(
        np.array(peer.joints[-1].position) - simulation.state.q).max() < 1e-13, "the state of the core")


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


@pytest.mark.parametrize("steps", [0, 1_000_001, 4_000_000_000])
def test_step_when_number_is_out_of_range_expect_a_reason(standing, steps):
    answer = standing.ask("step", steps=steps)
    assert not answer.success and "allowed: 1 to" in answer.message


def test_step_when_running_expect_refusal(host):
    peer = host(scenario="four_bar", loop=True)
    answer = peer.ask("step", steps=1)
    assert not answer.success and "pause" in answer.message


def test_reset_when_moved_expect_the_initial_state(host):
    peer = host(scenario="four_bar", paused=True)
    initial = list(peer.next(peer.joints).position)
    assert peer.ask("step", steps=100).success
    assert peer.ask("set_constraint_active", name="loop", active=False).success
    assert peer.ask("reset").success
    assert peer.stand_still() == initial
    assert peer.fresh(peer.forces).constraints[0].active


def test_end_when_reached_expect_the_last_state_or_a_new_start(host):
    stays = host(scenario="four_bar", until=0.2, publish_clock=True)
    stays.until(lambda: seconds(stays.forces[-1].header.stamp) >= 0.2 - 1e-9, "end")
    stays.spin(0.3)
    assert seconds(stays.next(stays.forces).header.stamp) == pytest.approx(0.2)
    stays.stop()
    loops = host(scenario="four_bar", until=0.2, publish_clock=True, loop=True)
    stamps = lambda: [seconds(message.header.stamp) for message in loops.forces]  # noqa: E731
    loops.until(lambda: any(b < a for a, b in zip(stamps(), stamps()[1:])), "new start")


# ---- constraints and pushes --------------------------------------------------------------------------


def test_switch_when_on_with_violated_velocity_expect_impulse_and_events(host):
    peer = host(scenario="panda_cutter", paused=True)
    assert peer.ask("set_constraint_active", name="wall", active=False).success
    forces = peer.fresh(peer.forces)
    assert not forces.constraints[0].active and forces.constraints[0].rows[0].multiplier == 0.0
    assert forces.active_row_count == 1
    # Towards the wall, so that it strikes.
    assert peer.ask("push", frame="blade", force=Vector3(x=2.0)).success
    answer = peer.ask("set_constraint_active", name="wall", active=True)
    assert answer.success and answer.impulse > 0.0
    peer.until(lambda: {e.kind for e in peer.events} >= {"switch_off", "impulse", "switch_on"}, "events")
    assert abs(peer.fresh(peer.forces).constraints[0].rows[0].velocity_residual) < 1e-9


@pytest.mark.parametrize("name", ["", "loops", "x" * 10000, "loop\n", "\N{SNOWMAN}"])
def test_switch_when_name_is_unknown_expect_those_that_exist(standing, name):
    answer = standing.ask("set_constraint_active", name=name, active=False)
    assert not answer.success and "loop" in answer.message


def test_switch_when_a_contact_manages_it_expect_refusal(host):
    peer = host(scenario="bouncing_ball", paused=True)
    answer = peer.ask("set_constraint_active", name="floor", active=True)
    assert not answer.success and "contact" in answer.message


def test_push_when_along_a_frame_expect_the_momentum_of_the_core(host):
    peer = host(scenario="four_bar", paused=True)
    answer = peer.ask("push", frame="coupler_tip", force=Vector3(x=3.0, z=1.0))
    assert answer.success, answer.message
    scenario = cd.Scenario.load(cd.example("four_bar"))
    simulation = scenario.make_simulation()
    jacobian = cd.Kinematics(scenario.system, simulation.state.q).frame_jacobian("coupler_tip")
    simulation.apply_impulse(jacobian.T @ [3.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    peer.until(lambda: np.abs(
        np.array(peer.joints[-1].velocity) - simulation.state.u).max() < 1e-12, "the speeds of the core")
    assert answer.energy_change == pytest.approx(simulation.events[-1].energy_change)
    assert answer.energy_change > 0.0


def test_push_when_along_speeds_expect_the_momentum_of_the_core(host):
    peer = host(scenario="four_bar", paused=True)
    answer = peer.ask("push", names=["dcrank"], values=[0.5])
    assert answer.success, answer.message
    simulation = cd.Scenario.load(cd.example("four_bar")).make_simulation()
    simulation.apply_impulse([0.5, 0.0, 0.0])
    peer.until(lambda: np.abs(
        np.array(peer.joints[-1].velocity) - simulation.state.u).max() < 1e-12, "the speeds of the core")


@pytest.mark.parametrize("request_, words", [
    (dict(), "nothing to push"),
    (dict(frame="nowhere", force=Vector3(x=1.0)), "'nowhere'"),
    (dict(force=Vector3(x=1.0)), "no frame"),
    (dict(frame="coupler_tip", force=Vector3(x=float("nan"))), "finite"),
    (dict(frame="coupler_tip", torque=Vector3(y=float("inf"))), "finite"),
    (dict(names=["dcrank"], values=[]), "1 names and 0 values"),
    (dict(names=["crank"], values=[1.0]), "dcrank"),
    (dict(names=["dcrank"], values=[float("nan")]), "finite"),
    (dict(names=["dcrank"] * 3, values=[1e308] * 3), "status")])
def test_push_when_request_is_bad_expect_a_reason_and_no_change(standing, request_, words):
    before = list(standing.next(standing.joints).velocity)
    answer = standing.ask("push", **request_)
    assert not answer.success
    assert words in answer.message, answer.message
    standing.stand_still(3)
    assert list(standing.joints[-1].velocity) == before


# ---- rough treatment ---------------------------------------------------------------------------------


def test_spam_when_requests_come_as_fast_as_they_can_expect_it_to_live(host):
    peer = host(scenario="four_bar", loop=True)
    count, futures, begin = 3000, [], time.monotonic()
    while len(futures) < count:
        futures.append(peer.ask_later("push", names=["dcrank"], values=[float("nan")]))
        futures.append(peer.ask_later("set_constraint_active", name="nobody", active=True))
        if len(futures) % 100 == 0:
            rclpy.spin_once(peer.node, timeout_sec=0.0)
    rate = count / (time.monotonic() - begin)
    print(f"{rate:.0f} requests a second")
    assert peer.ask("pause", data=True).success
    before = len(peer.forces)
    peer.until(lambda: len(peer.forces) > before + 10, "messages after the spam")
    assert peer.forces[-1].status == "ok"
    assert peer.stop() == 0


def test_restart_when_killed_expect_the_same_peer_to_go_on(host):
    peer = host(scenario="four_bar", paused=True)
    first = list(peer.next(peer.joints).position)
    assert peer.ask("step", steps=10).success
    assert peer.stop(signal.SIGKILL) == -signal.SIGKILL
    peer.start()
    assert peer.stand_still() == first
    assert peer.ask("step", steps=10).time == pytest.approx(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_when_running_expect_a_clean_end(host, number):
    peer = host(scenario="four_bar")
    assert peer.stop(number) == 0


@pytest.mark.parametrize("parameters, words", [
    (dict(), "scenario"),
    (dict(scenario="no_such_example"), "no_such_example"),
    (dict(scenario="/nowhere/file.yaml"), "/nowhere/file.yaml"),
    (dict(scenario="package://nobody/file.yaml"), "nobody"),
    (dict(scenario="four_bar", rate=-1.0), "rate"),
    (dict(scenario="four_bar", rate=".nan"), "rate"),
    (dict(scenario="four_bar", until=-1.0), "until"),
    (dict(scenario="four_bar", real_time_factor=".nan"), "real_time_factor"),
    (dict(scenario="four_bar", markers__force_scale=0.0), "force_scale: 0"),
    (dict(scenario="four_bar", set="['run.step=-1']"), "run.step"),
    (dict(scenario="four_bar", rate="fast"), "rate")])
def test_start_when_parameters_are_bad_expect_exit_2_and_a_reason(parameters, words):
    answer = subprocess.run(
        host_command("bad", **parameters), capture_output=True, text=True, timeout=PATIENCE)
    assert answer.returncode == 2, answer.stderr
    assert words in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.skipif("CD_HOST" in os.environ, reason="names of examples: of scenario_host alone")
def test_start_when_scenario_is_the_name_of_an_example_expect_it(node):
    process = subprocess.Popen(host_command("named") + ["-p", "scenario:=four_bar"])
    try:
        end = time.monotonic() + PATIENCE
        while ("named", "/") not in node.get_node_names_and_namespaces():
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()


def test_parameters_when_changed_live_expect_only_what_may_change(host):
    peer = host(scenario="four_bar", loop=True)
    client = peer.node.create_client(SetParameters, f"/{peer.name}/set_parameters")
    peer.until(client.service_is_ready, "parameters")

    def change(name, number):
        value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=number)
        future = client.call_async(SetParameters.Request(parameters=[Parameter(name=name, value=value)]))
        peer.until(future.done, "answer")
        return future.result().results[0]

    assert change("real_time_factor", 0.0).successful
    peer.stand_still()
    for number in (float("nan"), -1.0, float("inf")):
        assert not change("real_time_factor", number).successful
    assert not change("rate", 1.0).successful
    peer.node.destroy_client(client)
