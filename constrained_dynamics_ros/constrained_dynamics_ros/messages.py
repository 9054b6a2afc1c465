# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Messages of a hosted scenario. Built once and written in place: the names never change."""

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import TransformStamped
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

import constrained_dynamics as cd
from constrained_dynamics_msgs.msg import (
    ConstraintEvent,
    ConstraintForce,
    ConstraintForces,
    ConstraintRow,
    ConstraintWrench,
)


def to_time(seconds):
    """A time [s] as a message; negative ones become 0."""
    nanoseconds = max(round(seconds * 1e9), 0)
    return Time(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


def write_vector(values, message):
    message.x, message.y, message.z = (float(value) for value in values)


class ForceMessage:
    """All constraint forces of one solve."""

    def __init__(self, hosted, world_frame):
        self.message = ConstraintForces()
        self.message.header.frame_id = world_frame
        self.message.names = hosted.scenario.system.speed_names
        constraints = hosted.dynamics.constraints
        for i in range(len(constraints)):
            self.message.constraints.append(self._constraint(constraints[i]))

    @staticmethod
    def _constraint(constraint):
        return ConstraintForce(
            name=constraint.name,
            type=constraint.type,
            rows=[ConstraintRow(label=row.label) for row in constraint.rows],
            wrenches=[
                ConstraintWrench(link_a=pair.body_a, frame_a=pair.frame_a, link_b=pair.body_b, frame_b=pair.frame_b)
                for pair in constraint.wrench_bodies
            ],
        )

    def write(self, hosted, stamp, sequence):
        message, solution, status = self.message, hosted.solution, hosted.status
        message.header.stamp = stamp
        message.sequence = sequence
        message.status = cd.status_name(status if hosted.failure is None else hosted.failure)
        for entry, active in zip(message.constraints, hosted.active):
            entry.active = active
        if cd.has_output(status):
            for entry, record in zip(message.constraints, hosted.constraint_records):
                self._write_constraint(entry, record)
            message.generalized_forces = solution.constraint_force
            message.rank = solution.rank
            message.active_row_count = solution.active_row_count
            message.condition = solution.condition
            message.inconsistency = solution.inconsistency
        return message

    @staticmethod
    def _write_constraint(entry, record):
        entry.redundant = record.redundant
        for row, given in zip(entry.rows, record.rows):
            row.multiplier = given.multiplier
            row.position_residual = given.position_residual
            row.velocity_residual = given.velocity_residual
            row.redundancy = given.redundancy
        for wrench, given in zip(entry.wrenches, record.wrenches):
            write_vector(given.point, wrench.point)
            write_vector(given.force_on_a, wrench.on_a.force)
            write_vector(given.torque_on_a, wrench.on_a.torque)
            write_vector(given.force_on_b, wrench.on_b.force)
            write_vector(given.torque_on_b, wrench.on_b.torque)


class JointMessages:
    """Coordinates with their rates, and the inputs."""

    def __init__(self, hosted):
        system = hosted.scenario.system
        self.state = JointState(name=system.coordinate_names)
        self.torques = JointState(name=system.input_names)
        # Efforts of coordinates that have an input of the same name; 0 for the others.
        inputs = {name: i for i, name in enumerate(system.input_names)}
        self._inputs = [inputs.get(name) for name in system.coordinate_names]

    def write(self, hosted, stamp):
        self.state.header.stamp = stamp
        self.state.position = hosted.state.q
        self.state.velocity = hosted.rates
        inputs = hosted.inputs.tolist()
        self.state.effort = [0.0 if i is None else inputs[i] for i in self._inputs]
        self.torques.header.stamp = stamp
        self.torques.effort = inputs


class TransformMessage:
    """The pose of every link in the world."""

    def __init__(self, hosted, world_frame):
        system = hosted.scenario.system
        links = getattr(system, "link_names", [])
        self.links = [name for name in links if name in system.frame_names and name != world_frame]
        self.message = TFMessage()
        for link in self.links:
            transform = TransformStamped(child_frame_id=link)
            transform.header.frame_id = world_frame
            self.message.transforms.append(transform)

    def write(self, hosted, stamp):
        for transform, pose in zip(self.message.transforms, hosted.transforms(self.links).tolist()):
            transform.header.stamp = stamp
            write_vector(pose[:3], transform.transform.translation)
            rotation = transform.transform.rotation
            rotation.x, rotation.y, rotation.z, rotation.w = pose[3:]
        return self.message


def event_message(event, hosted, stamp, world_frame):
    message = ConstraintEvent(
        kind=event.kind.name.lower(),
        impulse=event.impulse,
        friction_impulse=event.friction_impulse,
        speed_before=event.speed_before,
        speed_after=event.speed_after,
        energy_change=event.energy_change,
    )
    message.header.frame_id = world_frame
    message.header.stamp = stamp
    if event.constraint >= 0:
        message.constraint = hosted.dynamics.constraints[event.constraint].name
    return message


def diagnostic_message(name, stamp, level, text, values):
    """values: pairs of key and value."""
    status = DiagnosticStatus(
        level=level,
        name=name,
        message=text,
        hardware_id="constrained_dynamics",
        values=[KeyValue(key=key, value=str(value)) for key, value in values],
    )
    message = DiagnosticArray(status=[status])
    message.header.stamp = stamp
    return message
