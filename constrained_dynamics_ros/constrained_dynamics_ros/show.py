# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Starts scenario_host for a few seconds and shows what it publishes: topics with types and rates, services,
and one message of constraint forces.

    python -m constrained_dynamics_ros.show [scenario]
"""

import collections
import importlib
import os
import signal
import subprocess
import sys
import time

# Set before rclpy is imported: see only this machine, and no other nodes on it.
os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
os.environ.setdefault("ROS_DOMAIN_ID", "87")

import rclpy  # noqa: E402
from rclpy.qos import QoSProfile  # noqa: E402

NODE = "/scenario_host"
FIRST_WAIT = 20.0  # [s]
SETTLED = 0.5  # [s]
WATCHED = 3.0  # [s]


def message_class(name):
    """The class of a type such as std_msgs/msg/Header."""
    package, kind, message = name.split("/")
    return getattr(importlib.import_module(f"{package}.{kind}"), message)


def topics_of_host(node):
    """Pairs of topic and type; empty until the host is up."""
    try:
        found = node.get_publisher_names_and_types_by_node("scenario_host", "/")
    except rclpy._rclpy_pybind11.NodeNameNonExistentError:
        return []
    return sorted((name, types[0]) for name, types in found if name not in ("/rosout", "/parameter_events"))


def wait_for_host(node, host):
    """Its topics, once no more of them appear."""
    begin = changed = time.monotonic()
    topics = []
    while time.monotonic() < begin + FIRST_WAIT and host.poll() is None:
        before, topics = topics, topics_of_host(node)
        changed = time.monotonic() if topics != before else changed
        if topics and time.monotonic() > changed + SETTLED:
            return topics
        rclpy.spin_once(node, timeout_sec=0.1)
    raise SystemExit("show: scenario_host did not appear" + ("" if host.poll() is None else ": it ended"))


def watch(node, topics):
    """Messages of each topic: number, the last one."""
    counts, last = collections.Counter(), {}

    def listen(topic, type_name):
        def heard(message):
            counts[topic] += 1
            last[topic] = message

        node.create_subscription(message_class(type_name), topic, heard, QoSProfile(depth=100))

    for topic, type_name in topics:
        listen(topic, type_name)
    end = time.monotonic() + FIRST_WAIT  # until the first message, then count
    while not last and time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    counts.clear()
    start = time.monotonic()
    while time.monotonic() < start + WATCHED:
        rclpy.spin_once(node, timeout_sec=0.1)
    return counts, last, time.monotonic() - start


def print_forces(message):
    print(
        f"one message of {NODE}/constraint_forces, sequence {message.sequence}: status {message.status}, "
        f"rank {message.rank} of {message.active_row_count} rows, condition {message.condition:.3g}"
    )
    for constraint in message.constraints:
        rows = ", ".join(f"{row.label} {row.multiplier:.4g}" for row in constraint.rows)
        print(f"  {constraint.name} ({constraint.type}{'' if constraint.active else ', not active'}): {rows}")
        for wrench in constraint.wrenches:
            force, torque = wrench.on_a.force, wrench.on_a.torque
            print(
                f"    on {wrench.link_a}: force [{force.x:.4g} {force.y:.4g} {force.z:.4g}] N, "
                f"torque [{torque.x:.4g} {torque.y:.4g} {torque.z:.4g}] N m, from {wrench.link_b}"
            )


def main():
    scenario = sys.argv[1] if len(sys.argv) > 1 else "four_bar"
    host = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "constrained_dynamics_ros.scenario_host",
            "--ros-args",
            "--log-level",
            "warn",
            "-p",
            "scenario:=" + scenario,
            "-p",
            "loop:=true",
        ]
    )
    try:
        rclpy.init()
        node = rclpy.create_node("show")
        topics = wait_for_host(node, host)
        counts, last, elapsed = watch(node, topics)
        print(f"topics of {NODE} while it runs {scenario}:")
        for topic, type_name in topics:
            print(f"  {topic:36} {type_name:44} {counts[topic] / elapsed:6.1f} Hz")
        print(
            "services: "
            + ", ".join(
                sorted(
                    name
                    for name, _ in node.get_service_names_and_types_by_node("scenario_host", "/")
                    if "param" not in name and "type_description" not in name
                )
            )
        )
        forces = last.get(NODE + "/constraint_forces")
        if forces is None:
            raise SystemExit("show: no message of constraint forces came")
        print_forces(forces)
    finally:
        host.send_signal(signal.SIGINT)
        try:
            host.wait(10.0)
        except subprocess.TimeoutExpired:
            host.kill()
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
