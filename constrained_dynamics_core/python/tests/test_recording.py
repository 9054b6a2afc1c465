# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Recordings: what a reader that is not ours finds in them, and what is left when something goes wrong."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import constrained_dynamics as cd

mcap_reader = pytest.importorskip("mcap.reader")
mcap_ros2_decoder = pytest.importorskip("mcap_ros2.decoder")

from test_simulation import swinging  # noqa: E402

from constrained_dynamics import record as command  # noqa: E402
from constrained_dynamics import recording  # noqa: E402
from constrained_dynamics.recording import EVENTS, FORCES, JOINT_STATES, TF, TORQUES, Recorder  # noqa: E402


def foreign(path):
    """All messages by the reader of the mcap package, which uses index and summary: {topic: [message]}."""
    with open(path, "rb") as file:
        reader = mcap_reader.make_reader(
            file, validate_crcs=True, decoder_factories=[mcap_ros2_decoder.DecoderFactory()]
        )
        assert reader.get_header().profile == "ros2"
        found = {}
        for schema, channel, message, decoded in reader.iter_decoded_messages():
            assert schema.encoding == "ros2msg" and channel.message_encoding == "cdr"
            found.setdefault(channel.topic, []).append((message, decoded))
        return found, reader.get_summary()


def seconds(header):
    return header.stamp.sec + 1e-9 * header.stamp.nanosec


# ---- what is in a file -----------------------------------------------------------------------------


def test_four_bar_expect_the_numbers_of_the_run(tmp_path):
    path = str(tmp_path / "run.mcap")
    scenario = cd.Scenario.load(cd.example("four_bar"), ["run.until=0.5"])
    report, status = command.record_scenario(scenario, path)
    record = scenario.run()
    assert cd.has_output(status) and report == (len(record), len(record), 0)
    found, summary = foreign(path)
    assert summary.statistics.message_count == 4 * len(record)
    states = [message for _, message in found[JOINT_STATES]]
    assert states[0].name == record.coordinate_names
    np.testing.assert_allclose([state.position for state in states], record.q, atol=1e-12)
    np.testing.assert_allclose([state.velocity for state in states], record.u, atol=1e-11)  # rates of joints
    np.testing.assert_allclose([seconds(state.header) for state in states], record.time, atol=1e-9)
    forces = [message for _, message in found[FORCES]]
    assert [message.sequence for message in forces] == list(range(len(record)))
    assert [raw.sequence for raw, _ in found[FORCES]] == list(range(len(record)))
    loop = [message.constraints[0] for message in forces]
    assert loop[0].name == "loop" and loop[0].type == "frame_coincidence" and loop[0].active
    assert [row.label for row in loop[0].rows] == ["x", "z"] and forces[0].status == "ok"
    np.testing.assert_allclose(
        [[row.multiplier for row in one.rows] for one in loop], record.multipliers, rtol=1e-8, atol=1e-8
    )
    pair = loop[7].wrenches[0]
    assert (pair.frame_a, pair.frame_b) == ("coupler_tip", "rocker_tip")
    on_a = [pair.on_a.force.x, pair.on_a.force.y, pair.on_a.force.z]
    np.testing.assert_allclose(on_a, record.wrench_force[7, 0], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose([pair.on_b.force.x, pair.on_b.force.z], [-on_a[0], -on_a[2]])
    np.testing.assert_allclose(
        [message.generalized_forces for message in forces], record.constraint_force, rtol=1e-8, atol=1e-8
    )
    assert forces[0].rank == 2 and forces[0].active_row_count == 2 and forces[0].condition >= 1.0
    tip = next(one for one in found[TF][7][1].transforms if one.child_frame_id == "coupler_tip")
    pose = scenario.system.frame_poses(record.q[7:8], ["coupler_tip"])[0, 0]
    moved = tip.transform.translation
    np.testing.assert_allclose([moved.x, moved.y, moved.z], pose[:3, 3], atol=1e-12)
    turn = tip.transform.rotation
    np.testing.assert_allclose(
        [1 - 2 * (turn.y**2 + turn.z**2), 2 * (turn.x * turn.z + turn.y * turn.w)], pose[0, [0, 2]], atol=1e-12
    )


@pytest.mark.parametrize("name", ["four_bar", "bouncing_ball", "thesis_7_1", "rolling_coin", "panda_cutter"])
def test_bytes_expect_those_of_an_encoder_that_is_not_ours(name, tmp_path):
    from mcap_ros2._dynamic import serialize_dynamic

    path = tmp_path / "run.mcap"
    try:
        scenario = cd.Scenario.load(cd.example(name))
    except ValueError as error:
        pytest.skip(str(error))
    until = scenario.initial.time + (1.5 if name == "bouncing_ball" else 0.05)
    command.record_scenario(scenario, str(path), until=until, output_interval=0.01)
    encoders, topics = {}, set()
    with open(path, "rb") as file:
        reader = mcap_reader.make_reader(file, decoder_factories=[mcap_ros2_decoder.DecoderFactory()])
        for schema, channel, message, decoded in reader.iter_decoded_messages():
            if schema.name not in encoders:
                encoders[schema.name] = serialize_dynamic(schema.name, schema.data.decode())[schema.name]
            assert encoders[schema.name](decoded) == message.data
            topics.add(channel.topic)
    assert {JOINT_STATES, FORCES} <= topics
    assert (EVENTS in topics) == (name == "bouncing_ball")


def test_inputs_expect_efforts_of_their_joints(tmp_path):
    path = str(tmp_path / "run.mcap")
    for name, topic in (("planar_wall", TORQUES), ("four_bar_driven", TORQUES), ("four_bar_driven", JOINT_STATES)):
        scenario = cd.Scenario.load(cd.example(name))
        until = scenario.initial.time + 0.1
        command.record_scenario(scenario, path, until=until, output_interval=0.01)
        record = scenario.run(until, 0.01)
        messages = [entry.message for entry in recording.read(path, [topic])]
        assert list(messages[0].name) == record.input_names
        np.testing.assert_allclose([one.effort for one in messages], record.inputs, rtol=1e-6, atol=1e-8)


def test_switched_constraint_expect_inactive_and_no_force(tmp_path, pendulum):
    path = str(tmp_path / "run.mcap")
    simulation = swinging(pendulum)
    with Recorder(path, simulation.dynamics, epoch=1.7e9) as recorder:
        recorder.record(simulation)
        simulation.switch_constraint("rod", False)
        recorder.record(simulation)
    entries = list(recording.read(path, [FORCES, EVENTS]))
    first, event, second = (entry.message for entry in entries)
    assert first.constraints[0].active and not second.constraints[0].active
    assert second.constraints[0].rows[0].multiplier == 0.0 and second.active_row_count == 0
    assert event.kind == "switch_off" and event.constraint == "rod"
    assert first.header.stamp.sec == 1_700_000_000 and not first.constraints[0].wrenches
    assert [entry.sequence for entry in entries if entry.topic == FORCES] == [0, 1]


def test_solution_without_simulation_expect_the_same_record(tmp_path, four_bar):
    _, dynamics, workspace, q = four_bar
    path = str(tmp_path / "run.mcap")
    with Recorder(path, dynamics) as recorder:
        status = dynamics.solve(q, [0.1, 0.2, 0.3], workspace=workspace, time=0.25)
        recorder.record_solution(dynamics, workspace, status)
        recorder.record(cd.Simulation(dynamics, cd.State(q, [0.1, 0.2, 0.3], 0.25)))
    one, two = (entry.message for entry in recording.read(path, [FORCES]))
    assert seconds(one.header) == 0.25
    np.testing.assert_allclose(one.generalized_forces, two.generalized_forces, rtol=1e-12)


# ---- load ------------------------------------------------------------------------------------------


class Slow(Recorder):
    """A disk that takes its time, and may become full."""

    delay, room = 0.01, None

    def _open(self, path):
        file = super()._open(path)
        write = file.write

        def slow(data):
            time.sleep(self.delay)
            if self.room is not None and file.tell() > self.room:
                raise OSError(errno.ENOSPC, "no space left")
            return write(data)

        file.write = slow
        return file


def test_thousand_records_a_second_expect_none_lost(tmp_path):
    path = str(tmp_path / "run.mcap")
    simulation = cd.Scenario.load(cd.example("four_bar")).make_simulation()
    count, begin = 1500, time.perf_counter()
    with Recorder(path, simulation.dynamics) as recorder:
        for k in range(count):
            simulation.step()
            assert recorder.record(simulation)
            ahead = begin + (k + 1) * 1e-3 - time.perf_counter()
            if ahead > 0:
                time.sleep(ahead)
    assert recorder.report == (count, count, 0)
    found = recording.check(path)
    assert found.complete and found.missing == 0 and (found.first, found.last) == (0, count - 1)
    assert found.counts == {JOINT_STATES: count, TORQUES: count, TF: count, FORCES: count}
    assert found.metadata == {"recorded": str(count), "written": str(count), "lost": "0"}


def test_overload_expect_losses_counted_and_seen_as_gaps(tmp_path):
    path = str(tmp_path / "run.mcap")
    simulation = cd.Scenario.load(cd.example("four_bar")).make_simulation()
    sample = simulation.sample()
    recorder = Slow(path, simulation.dynamics, capacity=20, chunk_size=2048)
    kept = longest = 0
    for _ in range(600):
        begin = time.thread_time()
        kept += recorder.record_sample(sample)
        longest = max(longest, time.thread_time() - begin)
        time.sleep(0.001)
    assert longest < Slow.delay  # the caller never waits for the disk
    recorder.record_sample(sample)
    report = recorder.close()
    assert 0 < report.lost and report.recorded == 601 and report.written + report.lost == 601
    assert kept <= report.written <= kept + 1 and report.written > 40
    found = recording.check(path)
    assert found.complete and found.counts[FORCES] == report.written
    numbers = [entry.message.sequence for entry in recording.read(path, [FORCES])]
    assert numbers == sorted(set(numbers)) and len(numbers) == report.written
    assert found.missing == found.last - found.first + 1 - len(numbers) > 0
    assert found.metadata["lost"] == str(report.lost)


def test_run_faster_than_the_disk_expect_the_command_to_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "Recorder", Slow)
    monkeypatch.setattr(Slow, "delay", 0.005)
    scenario = cd.Scenario.load(cd.example("four_bar"), ["run.until=0.08"])
    report, _ = command.record_scenario(scenario, str(tmp_path / "run.mcap"), capacity=5, chunk_size=1024)
    assert report.lost == 0 and report.written == report.recorded > 15


def test_disk_full_expect_error_and_losses(tmp_path, monkeypatch):
    monkeypatch.setattr(Slow, "room", 20_000)
    path = str(tmp_path / "run.mcap")
    simulation = cd.Scenario.load(cd.example("four_bar")).make_simulation()
    recorder = Slow(path, simulation.dynamics, chunk_size=1024)
    for _ in range(200):
        recorder.record(simulation)
        simulation.step()
    with pytest.raises(OSError, match="no space"):
        recorder.close()
    report = recorder.report
    assert report.recorded == 200 and report.lost == 200 - report.written > 0
    found = recording.check(path)
    assert not found.complete and found.missing == 0 and found.last >= 3
    with pytest.raises(OSError):
        Recorder("/dev/full", simulation.dynamics)


# ---- kill -9 -----------------------------------------------------------------------------------------

CHILD = """
import sys, time
import constrained_dynamics as cd
from constrained_dynamics.recording import Recorder
simulation = cd.Scenario.load(cd.example("four_bar")).make_simulation()
recorder = Recorder(sys.argv[1], simulation.dynamics)
while True:
    simulation.step()
    recorder.record(simulation)
    if recorder.report.recorded % 100 == 0:
        print(recorder.report.written, flush=True)
    time.sleep(0.0005)
"""


def test_kill_expect_all_but_the_last_chunk(tmp_path):
    path, whole = tmp_path / "run.mcap", tmp_path / "whole.mcap"
    child = subprocess.Popen([sys.executable, "-c", CHILD, path], stdout=subprocess.PIPE, text=True)
    written = 0
    try:
        while written < 250:
            written = int(child.stdout.readline())
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
    assert child.returncode == -signal.SIGKILL
    found = recording.check(path)
    assert not found.complete and found.missing == 0 and found.first == 0
    # A chunk of 32 kB holds some twenty records.
    assert found.last > written - 40
    numbers = [entry.message.sequence for entry in recording.read(path, [FORCES])]
    assert numbers == list(range(found.last + 1))
    count = recording.recover(path, whole)
    messages, summary = foreign(whole)
    assert summary.statistics.message_count == count and recording.check(whole).complete
    assert [message.sequence for _, message in messages[FORCES]] == numbers


def test_file_cut_anywhere_expect_what_is_whole(tmp_path, random):
    path, cut = tmp_path / "run.mcap", tmp_path / "cut.mcap"
    scenario = cd.Scenario.load(cd.example("four_bar"), ["run.until=0.3"])
    command.record_scenario(scenario, str(path), chunk_size=2048, output_interval=0.01)
    data = path.read_bytes()
    for size in random.integers(8, len(data), size=25):
        cut.write_bytes(data[:size])
        found = recording.check(cut)
        assert not found.complete and found.missing == 0
        assert found.first in (0, None) and sum(found.counts.values()) <= 4 * 31


# ---- bad input and the command -----------------------------------------------------------------------


def test_bad_input_expect_messages(tmp_path, pendulum):
    dynamics = swinging(pendulum).dynamics
    path = str(tmp_path / "run.mcap")
    with Recorder(path, dynamics) as recorder:
        for call, what in [
            (lambda: Recorder(path, dynamics, capacity=0), "capacity is 0"),
            (lambda: Recorder(path, dynamics, chunk_size=1), "chunk_size is 1"),
            (lambda: Recorder(path, dynamics, epoch=float("nan")), "epoch is nan"),
            (lambda: recorder.record_sample([1.0]), "numbers are needed"),
            (lambda: recorder.record(swinging_at(pendulum, -1.0)), "-1.0 s"),
            (lambda: recording.check(__file__), "no MCAP file"),
        ]:
            with pytest.raises(ValueError) as error:
                call()
            assert what in str(error.value)
    assert recorder.close() == (0, 0, 0)
    with pytest.raises(ValueError, match="closed"):
        recorder.record(swinging(pendulum))
    with pytest.raises(OSError):
        Recorder(str(tmp_path / "nowhere" / "run.mcap"), dynamics)


def swinging_at(pendulum, time):
    dynamics = swinging(pendulum).dynamics
    return cd.Simulation(dynamics, cd.State([1.5, 0.0], [0.0, 0.0], time))


def test_command_expect_file_exit_codes_and_messages(tmp_path, capsys):
    path = str(tmp_path / "run.mcap")
    assert command.main(["four_bar", "--until", "0.1", "-o", path]) == 0
    assert "0 lost" in capsys.readouterr().out
    assert command.main(["--check", path]) == 0
    out = capsys.readouterr().out
    assert "complete" in out and "0 missing" in out
    broken = tmp_path / "broken.mcap"
    broken.write_bytes(Path(path).read_bytes()[:-300])
    assert command.main(["--check", str(broken)]) == 3
    assert command.main(["--recover", str(broken), "-o", str(tmp_path / "whole.mcap")]) == 0
    assert command.main(["missing"]) == 2 and command.main([]) == 2
    assert "missing" in capsys.readouterr().err
    assert command.main(["four_bar", "--interval", "-1", "-o", path]) == 2
    assert command.main(["four_bar", "-o", str(tmp_path / "no" / "run.mcap")]) == 2
