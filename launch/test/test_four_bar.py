# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""The four-bar linkage: one motor, a loop; references from outside that stop; a restart."""

import math
import subprocess
import unittest

import launch_testing.asserts
from bringup_testing import BROADCASTER, SERVO, BringupTest, constraint, force_on_a, largest_error, launched
from sensor_msgs.msg import JointState

from constrained_dynamics_msgs.msg import ServoState

GRAVITY = 9.81
ROCKER_MASS = 4.0
ROCKER_LENGTH = math.sqrt(13.0)


def generate_test_description():
    """Start both controllers: one drives, the other one measures."""
    return launched("four_bar", controller=f"{SERVO},{BROADCASTER}")


class FourBar(BringupTest):
    """In the order of the alphabet, as unittest runs them."""

    def test_1_tracks_the_trajectory_of_the_scenario(self):
        self.wait_until_active("joint_state_broadcaster", SERVO, BROADCASTER)
        self.wait_for_mode("follow")
        self.assert_tracks(2.0, {"crank": 0.01})
        positions = self.joint_positions()
        # The loop is closed: both tips are at the same place.
        a, b, r = positions["crank"], positions["coupler"], positions["rocker"]
        self.assertAlmostEqual(math.cos(a) + 2 * math.cos(a + b), 4 + ROCKER_LENGTH * math.cos(r), places=6)
        self.assertAlmostEqual(math.sin(a) + 2 * math.sin(a + b), ROCKER_LENGTH * math.sin(r), places=6)

    def test_2_holds_where_the_planner_is_killed_and_forces_balance_weights(self):
        planner = subprocess.Popen(
            [
                "ros2",
                "topic",
                "pub",
                "--rate",
                "50",
                f"/{SERVO}/references",
                "constrained_dynamics_msgs/msg/ServoReferences",
                "{references: [{name: crank, position: [1.0]}]}",
            ],
            stdout=subprocess.DEVNULL,
        )
        try:
            # Given and reached.
            self.wait_for_message(
                JointState,
                "/joint_states",
                "crank at 1.0",
                lambda m: (
                    abs(dict(zip(m.name, m.position))["crank"] - 1.0) < 1e-3
                    and abs(dict(zip(m.name, m.velocity))["crank"]) < 1e-3
                ),
            )
        finally:
            planner.kill()
            planner.wait()
        self.wait_for_mode("hold")
        states = self.collect(JointState, "/joint_states", 2.0)
        for state in states:
            self.assertAlmostEqual(1.0, dict(zip(state.name, state.position))["crank"], delta=0.01)
        positions = dict(zip(states[-1].name, states[-1].position))
        # At rest the loop carries half of the rocker's weight, in moments about its pivot. The
        # force on body A, the coupler, is minus that on the rocker.
        r = positions["rocker"]
        for controller in (SERVO, BROADCASTER):
            x, _, z = force_on_a(self.forces(controller, 0.2)[-1], "loop")
            moment = ROCKER_LENGTH * (-z * math.cos(r) + x * math.sin(r))
            weight = ROCKER_MASS * GRAVITY * ROCKER_LENGTH / 2 * math.cos(r)
            print(f"{controller}: moments of loop {moment:.4f} N m, weight {weight:.4f} N m")
            self.assertAlmostEqual(weight, moment, delta=0.01, msg=controller)

    def test_3_switches_a_constraint_of_a_controller(self):
        answer = self.set_constraint_active(BROADCASTER, "loop", False)
        self.assertTrue(answer.success, answer.message)
        message = self.forces(BROADCASTER, 0.3)[-1]
        self.assertFalse(constraint(message, "loop").active)
        self.assertEqual((0.0, 0.0, 0.0), force_on_a(message, "loop"))
        answer = self.set_constraint_active(BROADCASTER, "loop", True)
        self.assertTrue(answer.success, answer.message)
        message = self.forces(BROADCASTER, 0.3)[-1]
        self.assertTrue(constraint(message, "loop").active)
        self.assertGreater(abs(force_on_a(message, "loop")[2]), 1.0)
        answer = self.set_constraint_active(BROADCASTER, "wheel", True)
        self.assertFalse(answer.success)
        self.assertIn("wheel", answer.message)
        self.assertIn("loop", answer.message)

    def test_4_restarts_without_a_jump(self):
        self.switch(deactivate=[SERVO])
        self.spin(0.2)
        self.switch(activate=[SERVO])
        self.wait_for_mode("follow")
        states = self.collect(ServoState, f"/{SERVO}/servo_state", 1.0)
        self.assertLess(largest_error(states[-1], "crank"), 0.02)
        for state in states:
            self.assertLess(abs(state.commanded[0]), 200.0)


@launch_testing.post_shutdown_test()
class AfterShutdown(unittest.TestCase):
    """What the processes left."""

    def test_all_ended_well(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info, allowable_exit_codes=[0, -2, -15])
