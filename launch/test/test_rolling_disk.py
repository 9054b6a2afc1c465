# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""The disk: a steady turn has a constant force at the contact, known from mechanics."""

import math

from bringup_testing import BROADCASTER, BringupTest, constraint, force_on_a, launched, multiplier

MASS, RADIUS, GRAVITY, LEAN, YAW = 1.0, 0.3, 9.81, math.radians(20.0), 3.0


def generate_test_description():
    """Start the broadcaster: nothing drives the disk."""
    return launched("rolling_disk")


class RollingDisk(BringupTest):
    """In the order of the alphabet, as unittest runs them."""

    def test_1_force_of_a_steady_turn(self):
        self.wait_until_active("joint_state_broadcaster", BROADCASTER)
        # Angular velocity along the axis, and at right angles to it in the plane of the disk: u2
        # and u3 of the steady turn. The centre goes round at the speed u2 r and the rate YAW.
        u3 = YAW * math.cos(LEAN)
        u2 = (u3**2 * RADIUS * math.tan(LEAN) - 4 * GRAVITY * math.sin(LEAN)) / (6 * u3 * RADIUS)
        inwards = MASS * abs(u2) * RADIUS * YAW
        for message in self.forces(BROADCASTER, 2.0):
            self.assertEqual("ok", message.status)
            push = multiplier(message, "contact", "normal")
            self.assertAlmostEqual(MASS * GRAVITY, push, delta=1e-3)
            x, y, z = force_on_a(message, "contact")
            self.assertAlmostEqual(MASS * GRAVITY, z, delta=1e-3)
            self.assertAlmostEqual(inwards, math.hypot(x, y), delta=1e-3)

    def test_2_keeps_rolling(self):
        message = self.forces(BROADCASTER, 0.2)[-1]
        for row in constraint(message, "contact").rows:
            self.assertLess(abs(row.position_residual), 1e-6)
            self.assertLess(abs(row.velocity_residual), 1e-6)
        self.assertAlmostEqual(LEAN, self.joint_positions()["disk_lean"], delta=1e-3)
