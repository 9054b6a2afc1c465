# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""What the tests of the launch files share: start one of them without RViz, look at its topics."""

import math
import os
import time
import unittest

import launch_testing.actions
import rclpy
from ament_index_python.packages import get_package_share_directory
from controller_manager_msgs.srv import ListControllers, SwitchController
from launch.actions import IncludeLaunchDescription, TimerAction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from sensor_msgs.msg import JointState

import launch
from constrained_dynamics_msgs.msg import ConstraintForces, ServoReference, ServoReferences, ServoState
from constrained_dynamics_msgs.srv import SetConstraintActive

# A machine under load starts processes slowly; nothing waits for so long where all is well.
START = 60.0
SERVO = "servo_constraint_controller"
BROADCASTER = "constraint_force_broadcaster"


def isolate():
    """Choose a ROS domain of this test's own on this machine alone, before anything is started."""
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["ROS_DOMAIN_ID"] = str(20 + os.getpid() % 80)


def launched(name, **arguments):
    """Describe a test of launch/<name>.launch.py without RViz."""
    isolate()
    folder = get_package_share_directory("constrained_dynamics_bringup")
    file = os.path.join(folder, "launch", f"{name}.launch.py")
    arguments = {"rviz": "false", **{key: str(value) for key, value in arguments.items()}}
    return launch.LaunchDescription(
        [
            IncludeLaunchDescription(PythonLaunchDescriptionSource(file), launch_arguments=arguments.items()),
            TimerAction(period=1.0, actions=[launch_testing.actions.ReadyToTest()]),
        ]
    )


def constraint(message, name):
    """Give one constraint of a message of forces."""
    for item in message.constraints:
        if item.name == name:
            return item
    raise AssertionError(f"{name} is not among {[item.name for item in message.constraints]}")


def multiplier(message, name, row):
    """Give the multiplier of a row in a message of forces."""
    rows = {item.label: item.multiplier for item in constraint(message, name).rows}
    return rows[row]


def force_on_a(message, name):
    """Give the force of a constraint on its body A, in axes of the world."""
    force = constraint(message, name).wrenches[0].on_a.force
    return force.x, force.y, force.z


def task(message, name):
    """Give one servo-constraint of a message of a servo law."""
    for item in message.tasks:
        if item.name == name:
            return item
    raise AssertionError(f"{name} is not among {[item.name for item in message.tasks]}")


def largest_error(message, name):
    """Give the largest error of the rows of a servo-constraint."""
    return max(abs(error) for error in task(message, name).error)


class BringupTest(unittest.TestCase):
    """A test case with a node."""

    @classmethod
    def setUpClass(cls):
        """Start the node."""
        rclpy.init()
        cls.node = rclpy.create_node("bringup_test")

    @classmethod
    def tearDownClass(cls):
        """Stop the node."""
        cls.node.destroy_node()
        rclpy.shutdown()

    def spin(self, seconds):
        """Let the node work for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            rclpy.spin_once(self.node, timeout_sec=0.05)

    def wait_for(self, what, condition, timeout=START):
        """Let the node work until a condition holds."""
        end = time.monotonic() + timeout
        while not condition():
            self.assertLess(time.monotonic(), end, f"no {what} within {timeout} s")
            rclpy.spin_once(self.node, timeout_sec=0.05)

    def collect(self, message_type, topic, seconds, timeout=START):
        """Give all messages of a topic over a time that begins with the first one."""
        messages = []
        subscription = self.node.create_subscription(message_type, topic, messages.append, 100)
        try:
            self.wait_for(f"message on {topic}", lambda: messages, timeout)
            self.spin(seconds)
        finally:
            self.node.destroy_subscription(subscription)
        return messages

    def wait_for_message(self, message_type, topic, what, condition, timeout=START):
        """Give the first message of a topic that meets a condition."""
        found = []
        subscription = self.node.create_subscription(
            message_type, topic, lambda m: found.append(m) if condition(m) else None, 100
        )
        try:
            self.wait_for(f"message on {topic} with {what}", lambda: found, timeout)
        finally:
            self.node.destroy_subscription(subscription)
        return found[0]

    def call(self, service_type, name, request, timeout=START):
        """Call a service and give its answer."""
        client = self.node.create_client(service_type, name)
        try:
            self.assertTrue(client.wait_for_service(timeout), f"no service {name}")
            future = client.call_async(request)
            self.wait_for(f"answer of {name}", future.done, timeout)
            return future.result()
        finally:
            self.node.destroy_client(client)

    def wait_until_active(self, *names):
        """Wait for controllers."""
        end = time.monotonic() + START
        while True:
            answer = self.call(ListControllers, "/controller_manager/list_controllers", ListControllers.Request())
            states = {item.name: item.state for item in answer.controller}
            if all(states.get(name) == "active" for name in names):
                return
            self.assertLess(time.monotonic(), end, f"{names} are not active: {states}")
            self.spin(0.2)

    def switch(self, activate=(), deactivate=()):
        """Activate and deactivate controllers, strictly."""
        request = SwitchController.Request(
            activate_controllers=list(activate),
            deactivate_controllers=list(deactivate),
            strictness=SwitchController.Request.STRICT,
        )
        request.timeout.sec = 10
        answer = self.call(SwitchController, "/controller_manager/switch_controller", request)
        self.assertTrue(answer.ok, answer.message)

    def set_constraint_active(self, controller, name, active):
        """Switch a constraint of a controller and give the answer."""
        return self.call(
            SetConstraintActive,
            f"/{controller}/set_constraint_active",
            SetConstraintActive.Request(name=name, active=active),
        )

    def joint_positions(self):
        """Give the positions of all joints now."""
        message = self.collect(JointState, "/joint_states", 0.1)[-1]
        return dict(zip(message.name, message.position))

    def assert_tracks(self, seconds, bounds):
        """Check and print the largest errors of servo-constraints over a while."""
        states = self.collect(ServoState, f"/{SERVO}/servo_state", seconds)
        for name, bound in bounds.items():
            error = max(largest_error(state, name) for state in states)
            print(f"{name}: largest error {error:.2e} (bound {bound:g}), {len(states)} messages")
            self.assertLess(error, bound, name)
        self.assertTrue(all(math.isfinite(x) for state in states for x in state.commanded))

    def assert_all_finite(self, message):
        """Check that no number of a message of forces is NaN or infinite."""
        for item in message.constraints:
            for row in item.rows:
                self.assertTrue(math.isfinite(row.multiplier), f"{item.name}/{row.label}")
        for value in message.generalized_forces:
            self.assertTrue(math.isfinite(value))

    def follow(self, name, position, seconds, rate=50.0):
        """Publish a reference at a rate for a while, as a planner would, and then stop."""
        publisher = self.node.create_publisher(ServoReferences, f"/{SERVO}/references", 1)
        self.wait_for("subscriber of references", lambda: publisher.get_subscription_count() > 0)
        message = ServoReferences(references=[ServoReference(name=name, position=position)])
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            message.header.stamp = self.node.get_clock().now().to_msg()
            publisher.publish(message)
            self.spin(1.0 / rate)
        self.node.destroy_publisher(publisher)

    def wait_for_mode(self, *modes):
        """Give the first message of the servo law in one of these modes."""
        return self.wait_for_message(ServoState, f"/{SERVO}/servo_state", f"mode {modes}", lambda m: m.mode in modes)

    def wait_for_task_mode(self, task, mode):
        """Wait until a task of the servo law is in a mode."""
        return self.wait_for_message(
            ServoState,
            f"/{SERVO}/servo_state",
            f"mode {mode} of {task}",
            lambda m: any(item.name == task and item.mode == mode for item in m.tasks),
        )

    def forces(self, controller, seconds):
        """Give the messages of forces of a controller over a while."""
        messages = self.collect(ConstraintForces, f"/{controller}/constraint_forces", seconds)
        for message in messages:
            self.assert_all_finite(message)
        return messages
