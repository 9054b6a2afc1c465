# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""The base with an arm: the hand follows its curve and the wheels roll without slip."""

from bringup_testing import SERVO, BringupTest, constraint, launched


def generate_test_description():
    """Start the controller."""
    return launched("mobile_arm")


class MobileArm(BringupTest):
    """In the order of the alphabet, as unittest runs them."""

    def test_1_tracks_the_curve_while_the_base_drives(self):
        self.wait_until_active("joint_state_broadcaster", SERVO)
        self.wait_for_mode("follow")
        before = self.joint_positions()
        self.assert_tracks(4.0, {"hand": 0.01})
        after = self.joint_positions()
        self.assertGreater(after["base_x"] - before["base_x"], 0.05)

    def test_2_wheels_roll_without_slip(self):
        for message in self.forces(SERVO, 1.0):
            for name in ("left", "right"):
                for row in constraint(message, name).rows:
                    self.assertLess(abs(row.velocity_residual), 1e-3)
            self.assertEqual(3, message.rank)
