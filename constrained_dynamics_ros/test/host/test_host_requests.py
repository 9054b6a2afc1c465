# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""scenario_host (or scenario_player) as others see it: topics, services, parameters, rough treatment."""

import os
import signal
import subprocess
import time

import numpy as np
import pytest
import rclpy
from conftest import PATIENCE, host_command
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Vector3
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rosgraph_msgs.msg import Clock
from visualization_msgs.msg import Marker, MarkerArray


def seconds(stamp):
    return stamp.sec + 1e-9 * stamp.nanosec


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
            [0.1 * force.x, 0.1 * force.y, 0.1 * force.z],
            atol=1e-9,
        )
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


def test_pause_when_asked_expect_the_state_to_stand_still_and_go_on(host):
    peer = host(scenario="four_bar", loop=True)
    assert peer.ask("pause", data=True).success
    held = peer.stand_still()
    assert peer.ask("pause", data=False).success
    peer.until(lambda: list(peer.joints[-1].position) != held, "motion")


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


@pytest.mark.parametrize(
    "request_, words",
    [
        (dict(), "nothing to push"),
        (dict(frame="nowhere", force=Vector3(x=1.0)), "'nowhere'"),
        (dict(force=Vector3(x=1.0)), "no frame"),
        (dict(frame="coupler_tip", force=Vector3(x=float("nan"))), "finite"),
        (dict(frame="coupler_tip", torque=Vector3(y=float("inf"))), "finite"),
        (dict(names=["dcrank"], values=[]), "1 names and 0 values"),
        (dict(names=["crank"], values=[1.0]), "dcrank"),
        (dict(names=["dcrank"], values=[float("nan")]), "finite"),
        (dict(names=["dcrank"] * 100_000, values=[1.0] * 100_000), "allowed: up to 3"),
        (dict(names=["dcrank"] * 3, values=[1e308] * 3), "status"),
    ],
)
def test_push_when_request_is_bad_expect_a_reason_and_no_change(standing, request_, words):
    before = list(standing.next(standing.joints).velocity)
    answer = standing.ask("push", **request_)
    assert not answer.success
    assert words in answer.message, answer.message
    standing.stand_still(3)
    assert list(standing.joints[-1].velocity) == before


def test_motion_when_it_is_not_determined_expect_its_status_and_life(host):
    peer = host(scenario="painleve_rod", set="['mu=2']")
    peer.until(lambda: peer.forces[-1].status == "no_unique_solution", "status")
    peer.stand_still()
    assert peer.ask("pause", data=True).success
    answer = peer.ask("step", steps=1)
    assert not answer.success and "no_unique_solution" in answer.message
    assert peer.ask("reset").success


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


@pytest.mark.parametrize(
    "parameters, words",
    [
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
        (dict(scenario="four_bar", rate="fast"), "rate"),
    ],
)
def test_start_when_parameters_are_bad_expect_exit_2_and_a_reason(parameters, words):
    answer = subprocess.run(host_command("bad", **parameters), capture_output=True, text=True, timeout=PATIENCE)
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
