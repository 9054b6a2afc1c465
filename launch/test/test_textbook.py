# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""A scenario by its name: forces, and the services of the node that plays it."""

import math

from bringup_testing import START, BringupTest, constraint, force_on_a, launched
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from constrained_dynamics_msgs.msg import ConstraintForces
from constrained_dynamics_msgs.srv import SetConstraintActive, StepSimulation

PLAYER = "scenario_player"
MASS, RADIUS, GRAVITY, LEAN, YAW = 1.0, 0.3, 9.81, math.radians(20.0), 3.0


def generate_test_description():
    """Start the disk of the steady turn."""
    return launched("textbook", system="steady_turn")


class Textbook(BringupTest):
    """In the order of the alphabet, as unittest runs them."""

    def test_1_forces_of_a_steady_turn(self):
        u3 = YAW * math.cos(LEAN)
        u2 = (u3**2 * RADIUS * math.tan(LEAN) - 4 * GRAVITY * math.sin(LEAN)) / (6 * u3 * RADIUS)
        messages = self.forces(PLAYER, 2.0)
        self.assertGreater(len(messages), 20)
        for message in messages:
            self.assertEqual("ok", message.status)
            x, y, z = force_on_a(message, "contact")
            self.assertAlmostEqual(MASS * GRAVITY, z, delta=1e-4)
            self.assertAlmostEqual(MASS * abs(u2) * RADIUS * YAW, math.hypot(x, y), delta=1e-4)

    def test_2_shows_frames_and_arrows(self):
        transforms = self.collect(TFMessage, "/tf", 0.3)
        frames = {t.child_frame_id for message in transforms for t in message.transforms}
        self.assertIn("disk", frames)
        markers = self.collect(MarkerArray, f"/{PLAYER}/markers", 0.3)[-1].markers
        self.assertIn("force", {marker.ns for marker in markers})

    def test_3_pauses_steps_and_goes_on(self):
        self.assertTrue(self.call(SetBool, f"/{PLAYER}/pause", SetBool.Request(data=True)).success)
        before = self.call(StepSimulation, f"/{PLAYER}/step", StepSimulation.Request(steps=1))
        self.assertTrue(before.success, before.message)
        after = self.call(StepSimulation, f"/{PLAYER}/step", StepSimulation.Request(steps=10))
        self.assertAlmostEqual(0.010, after.time - before.time, places=9)
        self.assertTrue(self.call(SetBool, f"/{PLAYER}/pause", SetBool.Request(data=False)).success)
        running = self.call(StepSimulation, f"/{PLAYER}/step", StepSimulation.Request(steps=1))
        self.assertFalse(running.success)

    def test_4_switches_the_contact_off_and_starts_anew(self):
        request = SetConstraintActive.Request(name="contact", active=False)
        answer = self.call(SetConstraintActive, f"/{PLAYER}/set_constraint_active", request)
        self.assertTrue(answer.success, answer.message)
        message = self.wait_for_message(
            ConstraintForces,
            f"/{PLAYER}/constraint_forces",
            "contact off",
            lambda m: not constraint(m, "contact").active,
            START,
        )
        self.assertEqual((0.0, 0.0, 0.0), force_on_a(message, "contact"))
        self.assertTrue(self.call(Trigger, f"/{PLAYER}/reset", Trigger.Request()).success)
        message = self.wait_for_message(
            ConstraintForces,
            f"/{PLAYER}/constraint_forces",
            "contact on",
            lambda m: constraint(m, "contact").active,
            START,
        )
        self.assertAlmostEqual(MASS * GRAVITY, force_on_a(message, "contact")[2], delta=1e-4)
