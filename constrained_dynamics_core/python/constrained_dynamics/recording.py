# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Recordings: states and numbered constraint forces in an MCAP file that Foxglove and rosbag2 read.

    with Recorder("run.mcap", simulation.dynamics) as recorder:
        while …:
            simulation.step()
            recorder.record(simulation)
    print(recorder.report)

| topic | type | what |
|---|---|---|
| /joint_states | sensor_msgs/JointState | all coordinates, their rates, the inputs that act on them |
| /torques | sensor_msgs/JointState | all inputs, as efforts |
| /tf | tf2_msgs/TFMessage | all frames, in the world |
| /constraint_forces | constrained_dynamics_msgs/ConstraintForces | every constraint; `sequence` numbers the records |
| /constraint_events | constrained_dynamics_msgs/ConstraintEvent | impacts, contacts, switches |

A separate thread writes. Records that the disk does not take in time are lost; they are counted and leave a gap in
the numbers. Nothing is lost silently, and the caller never waits. Chunks go to the operating system as they fill: if
the writer is killed, the file is readable up to the last chunk (at most `chunk_size` bytes are missing).
"""

import os
import threading
from collections import Counter, namedtuple
from queue import Empty, Full, Queue

import numpy as np

from ._core import Status, sample_layout, status_name, take_sample
from .messages import Template, definition, stamp
from .rotations import quaternions

JOINT_STATES, TORQUES, TF, FORCES, EVENTS = (
    "/joint_states",
    "/torques",
    "/tf",
    "/constraint_forces",
    "/constraint_events",
)
TYPES = {
    JOINT_STATES: "sensor_msgs/JointState",
    TORQUES: "sensor_msgs/JointState",
    TF: "tf2_msgs/TFMessage",
    FORCES: "constrained_dynamics_msgs/ConstraintForces",
    EVENTS: "constrained_dynamics_msgs/ConstraintEvent",
}
WORLD = "world"
REDUNDANT = 1e-6  # of Solution.redundancy, above which a row counts as redundant

Report = namedtuple("Report", "recorded written lost")
Report.__doc__ = "Records that were given, written and lost; given = written + lost once the file is closed."

_STATUSES = {int(status.value): status_name(status) for status in Status}


class Encoder:
    """Samples of one Dynamics as messages."""

    def __init__(self, dynamics, frame=WORLD):
        self._frame, self._system, self._constraints = frame, dynamics.system, dynamics.constraints
        self.slices, at = {}, 0
        for name, size in sample_layout(dynamics):
            self.slices[name] = slice(at, at + size)
            at += size
        self.size = at
        self._frames = [name for name in self._system.frame_names if name != WORLD]
        self._templates = {}
        self._lay_out_joints()
        self._lay_out_transforms()
        self._lay_out_forces()

    def _indices(self, name):
        return np.arange(self.slices[name].start, self.slices[name].stop)

    def _numbers(self, sample):
        """Source of the numbers in messages: the sample, its negative (what acts on B) and a zero."""
        return np.concatenate([sample, -sample, [0.0]])

    # ---- joint states and frames -----------------------------------------------------------------

    def _lay_out_joints(self):
        names, speeds, inputs = self._system.coordinate_names, self._system.speed_names, self._system.input_names
        count = len(names)
        # An input acts on the coordinate of the same name; other inputs are not efforts of joints.
        first = self.slices["inputs"].start
        efforts = [
            first + inputs.index(name) if name in inputs and "d" + name in speeds else 2 * self.size for name in names
        ]
        efforts = efforts if min(efforts) < 2 * self.size else []
        self._joints = (
            Template()
            .header(self._frame)
            .strings(names)
            .double_sequence(count)
            .double_sequence(count)
            .double_sequence(len(efforts))
            .finish()
        )
        self._joint_order = np.concatenate([self._indices("q"), self._indices("rates"), np.array(efforts, dtype=int)])
        self._torques = (
            Template()
            .header(self._frame)
            .strings(inputs)
            .double_sequence(0)
            .double_sequence(0)
            .double_sequence(len(inputs))
            .finish()
            if inputs
            else None
        )

    def joint_state(self, sample, time):
        return self._joints.encode(self._numbers(sample)[self._joint_order], stamp(time))

    def torques(self, sample, time):
        """None where there are no inputs."""
        return self._torques and self._torques.encode(sample[self.slices["inputs"]], stamp(time))

    def _lay_out_transforms(self):
        self._tf = Template().length(len(self._frames))
        for name in self._frames:
            self._tf.header(self._frame).string(name).doubles(7)
        self._tf.finish()

    def transforms(self, samples, times):
        """Of many samples at once: one call computes the frames of many configurations."""
        if not self._frames:
            return [None] * len(samples)
        poses = self._system.frame_poses(np.ascontiguousarray(samples[:, self.slices["q"]]), self._frames)
        numbers = np.concatenate([poses[..., :3, 3], quaternions(poses[..., :3, :3])], axis=-1)
        return [
            self._tf.encode(numbers[k].reshape(-1), np.tile(stamp(times[k]), len(self._frames)))
            for k in range(len(samples))
        ]

    # ---- forces ----------------------------------------------------------------------------------

    def _lay_out_forces(self):
        rows = np.stack([self._indices(name) for name in ("multipliers", "position", "velocity", "redundancy")], -1)
        wrenches = self._indices("wrenches").reshape(-1, 9)
        order = []
        for i in range(len(self._constraints)):
            constraint = self._constraints[i]
            first, begin = self._constraints.wrench_offset(i), self._constraints.row_offset(i)
            on_a = wrenches[first : first + len(constraint.wrench_bodies)]
            order += [
                rows[begin : begin + constraint.row_count].reshape(-1),
                np.concatenate([on_a, on_a[:, 3:] + self.size], axis=1).reshape(-1),
            ]
        order += [self._indices(name) for name in ("constraint_force", "condition", "inconsistency")]
        self._force_order = np.concatenate(order)
        self._offsets = np.array([self._constraints.row_offset(i) for i in range(len(self._constraints))], dtype=int)

    def _force_template(self, status):
        """The layout for a status, whose name is part of it."""
        if status not in self._templates:
            out = Template().header(self._frame).long().string(_STATUSES[status]).length(len(self._constraints))
            for i in range(len(self._constraints)):
                constraint = self._constraints[i]
                out.string(constraint.name).string(constraint.type).boolean().boolean().length(constraint.row_count)
                for row in constraint.rows:
                    out.string(row.label).doubles(4)
                out.length(len(constraint.wrench_bodies))
                for pair in constraint.wrench_bodies:
                    out.string(pair.body_a).string(pair.frame_a).string(pair.body_b).string(pair.frame_b).doubles(15)
            speeds = self._system.speed_names
            self._templates[status] = out.strings(speeds).double_sequence(len(speeds)).words(2).doubles(2).finish()
        return self._templates[status]

    def forces(self, sample, time, sequence):
        def whole(name):
            return int(sample[self.slices[name]][0])

        active = sample[self.slices["active"]] != 0.0
        booleans = np.zeros((len(active), 2), dtype=np.uint8)
        if len(active):
            redundancy = np.maximum.reduceat(sample[self.slices["redundancy"]], self._offsets)
            booleans[:, 0], booleans[:, 1] = active, active & (redundancy > REDUNDANT)
        return self._force_template(whole("status")).encode(
            self._numbers(sample)[self._force_order],
            [*stamp(time), whole("rank"), whole("active_row_count")],
            [sequence],
            booleans.reshape(-1),
        )

    def event(self, event, time):
        name = self._constraints[event.constraint].name if event.constraint >= 0 else ""
        template = Template().header(self._frame).string(name).string(event.kind.name.lower()).doubles(5).finish()
        return template.encode(
            [event.impulse, event.friction_impulse, event.speed_before, event.speed_after, event.energy_change],
            stamp(time),
        )


class Recorder:
    """Writes a file in a separate thread; only one thread may add records."""

    def __init__(self, path, dynamics, *, capacity=2000, chunk_size=32768, epoch=0.0, frame=WORLD):
        """capacity: records that may wait for the disk. epoch: added to the times of the run [s], so that stamps
        are those of a clock; 0: the time of the run itself. Raises OSError where the file cannot be made."""
        if not (isinstance(capacity, int) and capacity >= 1):
            raise ValueError("capacity is %r; allowed: whole numbers from 1 on" % (capacity,))
        if not 256 <= chunk_size <= 2**30:
            raise ValueError("chunk_size is %r; allowed: 256 to 2**30 bytes" % (chunk_size,))
        if not 0.0 <= epoch < 4e9:
            raise ValueError("epoch is %r; allowed: 0 to 4e9 s" % (epoch,))
        try:
            from mcap.writer import Writer
        except ImportError:
            raise ImportError("a recording needs the Python package mcap: pip install mcap mcap-ros2-support") from None
        self._epoch, self._dynamics = epoch, dynamics
        self._encoder = Encoder(dynamics, frame)
        self._waiting = Queue(capacity)
        self._recorded = self._written = self._events = 0
        self._refused, self._dropped = 0, 0  # used by the threads of the caller and of the writer
        self._error, self._closed = None, False
        # Not buffered: a written chunk is with the operating system at once.
        self._file = self._open(path)
        self._writer = Writer(self._file, chunk_size=chunk_size)
        try:
            self._writer.start(profile="ros2", library="constrained_dynamics")
        except OSError:
            self._file.close()
            raise
        self._channels = {}
        schemas = {}
        for topic, kind in TYPES.items():
            package, name = kind.split("/")
            if kind not in schemas:
                schemas[kind] = self._writer.register_schema(
                    package + "/msg/" + name, "ros2msg", definition(kind).encode("utf-8")
                )
            self._channels[topic] = self._writer.register_channel(topic, "cdr", schemas[kind])
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
        self._thread.start()

    def _open(self, path):
        return _Unbuffered(path)

    # ---- for the caller ------------------------------------------------------------------------------

    def record(self, simulation):
        """Records the current state of a Simulation; False if the record is lost."""
        sample = simulation.sample()
        events = simulation.events_since(self._events)
        self._events += len(events)
        return self.record_sample(sample, events)

    def record_solution(self, dynamics, workspace, status, inputs=None):
        """Records the last solve in a Workspace, which returned `status`: for loops without a Simulation."""
        return self.record_sample(take_sample(dynamics, workspace, status, inputs))

    def record_sample(self, sample, events=()):
        """Records a sample (Simulation.sample, take_sample); False if it is lost."""
        if self._closed:
            raise ValueError("the recording is closed")
        if np.shape(sample) != (self._encoder.size,):
            raise ValueError("the sample has shape %s; %d numbers are needed" % (np.shape(sample), self._encoder.size))
        time = self._epoch + float(sample[0])
        if not 0.0 <= time < 4e9:
            raise ValueError("the time of the sample is %r s with the epoch; allowed: 0 to 4e9" % time)
        sequence = self._recorded
        self._recorded += 1
        if self._error is None:
            try:
                self._waiting.put_nowait((sequence, np.array(sample, dtype=float), list(events)))
                return True
            except Full:
                pass
        self._refused += 1
        return False

    def is_full(self):
        """Whether the next record would be lost: a caller that can wait may do so."""
        return self._error is None and self._waiting.full()

    @property
    def report(self):
        """Records given, written and lost so far."""
        return Report(self._recorded, self._written, self._refused + self._dropped)

    def close(self):
        """Waits for the queue, ends the file and returns the report. Raises OSError if writing failed."""
        if not self._closed:
            self._closed = True
            self._waiting.put(None)
            self._thread.join()
            self._finish()
        if self._error is not None:
            raise self._error
        return self.report

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            self.close()
        except Exception:
            if kind is None:
                raise

    # ---- the thread ----------------------------------------------------------------------------------

    def _work(self):
        done = False
        while not done:
            batch = [self._waiting.get()]
            try:
                while len(batch) < 64:
                    batch.append(self._waiting.get_nowait())
            except Empty:
                pass
            done = batch[-1] is None
            records = [record for record in batch if record is not None]
            if self._error is not None:
                self._dropped += len(records)
                continue
            written = self._written
            try:
                self._write(records)
            except Exception as error:  # disk full, a value that is no time: the caller gets it in `close`
                self._error = error
                self._dropped += len(records) - (self._written - written)

    def _write(self, records):
        if not records:
            return
        samples = np.stack([sample for _, sample, _ in records])
        times = self._epoch + samples[:, self._encoder.slices["time"]][:, 0]
        transforms = self._encoder.transforms(samples, times)
        for (sequence, sample, events), time, transform in zip(records, times, transforms):
            for event in events:
                at = self._epoch + event.time
                self._add(EVENTS, at, self._encoder.event(event, at), sequence)
            self._add(JOINT_STATES, time, self._encoder.joint_state(sample, time), sequence)
            for topic, data in ((TORQUES, self._encoder.torques(sample, time)), (TF, transform)):
                if data is not None:
                    self._add(topic, time, data, sequence)
            self._add(FORCES, time, self._encoder.forces(sample, time, sequence), sequence)
            self._written += 1

    def _add(self, topic, time, data, sequence):
        at = int(round(time * 1e9))
        self._writer.add_message(
            self._channels[topic], log_time=at, publish_time=at, data=data, sequence=sequence % 2**32
        )

    def _finish(self):
        try:
            if self._error is None:
                self._writer.add_metadata(
                    "constrained_dynamics", {name: str(value) for name, value in self.report._asdict().items()}
                )
                self._writer.finish()
        except Exception as error:
            self._error = error
        finally:
            self._file.close()


class _Unbuffered:
    """A file whose writes are complete, and with the operating system, when they return."""

    def __init__(self, path):
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0), 0o644)
        self._at = 0

    def write(self, data):
        left = memoryview(data)
        while len(left):
            left = left[os.write(self._descriptor, left) :]
        self._at += len(data)
        return len(data)

    def tell(self):
        return self._at

    def flush(self):
        pass

    def close(self):
        os.close(self._descriptor)


# ---- reading -----------------------------------------------------------------------------------------

Entry = namedtuple("Entry", "topic time sequence message")
Check = namedtuple("Check", "complete counts first last missing metadata")
Check.__doc__ = """What a file holds. complete: it was ended, not cut off; counts: messages of each topic; first, last:
numbers of its force records; missing: how many numbers between them are not there; metadata: what was said at the
end."""


def _records(path):
    """Records of a file, also of a truncated one; the last item says whether it was ended."""
    import struct

    from mcap.exceptions import InvalidMagic, McapError
    from mcap.stream_reader import StreamReader

    with open(path, "rb") as file:
        records = StreamReader(file, validate_crcs=True).records
        while True:
            try:
                record = next(records)
            except StopIteration:
                yield True
                return
            except InvalidMagic:
                raise ValueError("%s is no MCAP file" % path) from None
            except (McapError, EOFError, struct.error, ValueError):
                yield False
                return
            yield record


def read(path, topics=None):
    """Decoded messages of a file in the order in which they were written; of a truncated file those
    that are whole."""
    from mcap.records import Channel, Message, Schema
    from mcap_ros2.decoder import DecoderFactory

    decoders, schemas, channels = DecoderFactory(), {}, {}
    for record in _records(path):
        if isinstance(record, Schema):
            schemas[record.id] = record
        elif isinstance(record, Channel):
            channels[record.id] = record
        elif isinstance(record, Message):
            channel = channels[record.channel_id]
            if topics is None or channel.topic in topics:
                decode = decoders.decoder_for(channel.message_encoding, schemas[channel.schema_id])
                yield Entry(channel.topic, record.log_time * 1e-9, record.sequence, decode(record.data))


def check(path):
    """What is in a file, and whether it is complete."""
    from mcap.records import Channel, Message, Metadata

    counts, numbers, channels, metadata, complete = Counter(), [], {}, {}, False
    for record in _records(path):
        if isinstance(record, Channel):
            channels[record.id] = record.topic
        elif isinstance(record, Message):
            topic = channels[record.channel_id]
            counts[topic] += 1
            if topic == FORCES:
                numbers.append(record.sequence)
        elif isinstance(record, Metadata):
            metadata.update(record.metadata)
        elif isinstance(record, bool):
            complete = record
    first, last = (numbers[0], numbers[-1]) if numbers else (None, None)
    missing = last - first + 1 - len(set(numbers)) if numbers else 0
    return Check(complete, dict(counts), first, last, missing, metadata)


def recover(path, output):
    """Writes the intact part of a truncated file as a complete one; returns the number of messages."""
    from mcap.records import Channel, Message, Schema
    from mcap.writer import Writer

    count, schemas, channels = 0, {}, {}
    with open(output, "wb") as file:
        writer = Writer(file)
        writer.start(profile="ros2", library="constrained_dynamics")
        for record in _records(path):
            if isinstance(record, Schema) and record.id not in schemas:
                schemas[record.id] = writer.register_schema(record.name, record.encoding, record.data)
            elif isinstance(record, Channel) and record.id not in channels:
                channels[record.id] = writer.register_channel(
                    record.topic, record.message_encoding, schemas[record.schema_id], record.metadata
                )
            elif isinstance(record, Message):
                writer.add_message(
                    channels[record.channel_id], record.log_time, record.data, record.publish_time, record.sequence
                )
                count += 1
        writer.finish()
    return count
