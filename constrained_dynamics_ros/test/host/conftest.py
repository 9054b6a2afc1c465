# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""A scenario_host in a process of its own, and a peer that talks to it through DDS.

The environment variable CD_HOST names another program that shall do the same, such as the scenario_player.
"""

import itertools
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

# Before rclpy: this machine only, and a domain that no other test run has.
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ["ROS_DOMAIN_ID"] = str(1 + os.getpid() % 80)

import pytest  # noqa: E402
import rclpy  # noqa: E402
from rclpy.qos import QoSProfile  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402

from constrained_dynamics_msgs.msg import ConstraintEvent, ConstraintForces  # noqa: E402
from constrained_dynamics_msgs.srv import ApplyImpulse, SetConstraintActive, StepSimulation  # noqa: E402

SCENARIOS = Path(os.environ["CD_CONFIG"]) / "scenarios"

PATIENCE = 30.0  # [s]; the machine may be busy
SERVICES = {
    "pause": SetBool,
    "step": StepSimulation,
    "reset": Trigger,
    "set_constraint_active": SetConstraintActive,
    "push": ApplyImpulse,
}
_names = itertools.count()


def scenario_file(name):
    return SCENARIOS / (name + ".yaml")


def host_command(name, **parameters):
    """Scenarios of this repository are given as files."""
    command = shlex.split(os.environ.get("CD_HOST", sys.executable + " -m constrained_dynamics_ros.scenario_host"))
    command += ["--ros-args", "-r", "__node:=" + name, "-r", f"joint_states:={name}/joint_states"]
    if "scenario" in parameters and scenario_file(parameters["scenario"]).is_file():
        parameters["scenario"] = str(scenario_file(parameters["scenario"]))
    for key, value in parameters.items():
        command += ["-p", f"{key.replace('__', '.')}:={value}"]
    return command


class Peer:
    """A host, and a node of this process that hears and asks it."""

    def __init__(self, node, **parameters):
        self.node, self.parameters = node, parameters
        self.name = f"host_{os.getpid()}_{next(_names)}"
        self.process = None
        self.heard = {}
        self._subscriptions = []
        self._clients = {
            service: node.create_client(kind, f"/{self.name}/{service}") for service, kind in SERVICES.items()
        }
        self.forces = self.listen(ConstraintForces, "constraint_forces")
        self.joints = self.listen(JointState, "joint_states")
        self.torques = self.listen(JointState, "torques")
        self.events = self.listen(ConstraintEvent, "events")
        self.start()

    def listen(self, kind, topic):
        messages = []
        name = topic if topic.startswith("/") else f"/{self.name}/{topic}"
        self._subscriptions.append(self.node.create_subscription(kind, name, messages.append, QoSProfile(depth=1000)))
        return messages

    def start(self):
        self.process = subprocess.Popen(host_command(self.name, **self.parameters), stderr=subprocess.PIPE, text=True)
        count = len(self.forces)
        self.until(lambda: len(self.forces) > count, "a first message")
        for client in self._clients.values():
            self.until(client.service_is_ready, client.srv_name)

    def stop(self, how=signal.SIGINT):
        """Returns the exit code."""
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        self.process.stderr.close()
        self.spin(0.2)  # what it said last
        return code

    def destroy(self):
        if self.process.poll() is None:
            self.stop(signal.SIGKILL)
        for subscription in self._subscriptions:
            self.node.destroy_subscription(subscription)
        for client in self._clients.values():
            self.node.destroy_client(client)

    def until(self, condition, what, patience=PATIENCE):
        end = time.monotonic() + patience
        while not condition():
            assert self.process.poll() is None, f"the host ended while waiting for {what}"
            assert time.monotonic() < end, f"no {what} after {patience} s"
            rclpy.spin_once(self.node, timeout_sec=0.05)

    def spin(self, duration):
        end = time.monotonic() + duration
        while time.monotonic() < end:
            rclpy.spin_once(self.node, timeout_sec=0.01)

    def ask(self, service, **fields):
        future = self._clients[service].call_async(SERVICES[service].Request(**fields))
        self.until(future.done, f"answer of {service}")
        return future.result()

    def ask_later(self, service, **fields):
        return self._clients[service].call_async(SERVICES[service].Request(**fields))

    def next(self, messages):
        """The next message that comes."""
        count = len(messages)
        self.until(lambda: len(messages) > count, "message")
        return messages[-1]

    def fresh(self, messages):
        """A message that was sent after now; for hosts that stamp with the clock of the wall."""
        now = self.node.get_clock().now().nanoseconds

        def is_there():
            stamp = messages[-1].header.stamp if messages else None
            return stamp is not None and stamp.sec * 1_000_000_000 + stamp.nanosec > now

        self.until(is_there, "fresh message")
        return messages[-1]

    def stand_still(self, count=15):
        """Waits until that many messages in a row have the same positions, and returns these."""

        def stands():
            last = [list(message.position) for message in self.joints[-count:]]
            return len(last) == count and all(positions == last[0] for positions in last)

        del self.joints[:]
        self.until(stands, "standing still")
        return list(self.joints[-1].position)

    def together(self):
        """Forces, joint states and torques of one cycle that begins after now."""
        first = self.next(self.forces).sequence + 1
        found = {}

        def complete():
            for forces in self.forces:
                if forces.sequence >= first:
                    stamp = (forces.header.stamp.sec, forces.header.stamp.nanosec)
                    same = [
                        next(
                            (m for m in reversed(messages) if (m.header.stamp.sec, m.header.stamp.nanosec) == stamp),
                            None,
                        )
                        for messages in (self.joints, self.torques)
                    ]
                    if None not in same:
                        found["cycle"] = (forces, *same)
                        return True
            return False

        self.until(complete, "cycle with all messages")
        return found["cycle"]


@pytest.fixture(scope="session")
def node():
    rclpy.init()
    yield rclpy.create_node(f"peer_{os.getpid()}")
    rclpy.try_shutdown()


@pytest.fixture(scope="module")
def standing(node):
    """A four-bar that is paused, for requests that change nothing."""
    peer = Peer(node, scenario="four_bar", paused=True)
    yield peer
    peer.destroy()


@pytest.fixture
def host(node):
    """host(scenario="four_bar", …) starts one; all are stopped at the end."""
    started = []

    def start(**parameters):
        text = scenario_file(parameters["scenario"]).read_text()
        if "example-robot-data" in text and "EXAMPLE_ROBOT_DATA" not in os.environ:
            pytest.skip("the package example-robot-data is missing")
        started.append(Peer(node, **parameters))
        return started[-1]

    yield start
    for peer in started:
        peer.destroy()
