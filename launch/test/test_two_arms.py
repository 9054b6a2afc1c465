# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Two arms with a box: the forces of both hands carry it; the left one squeezes as desired."""

from bringup_testing import SERVO, BringupTest, force_on_a, launched, multiplier

BOX_WEIGHT = 2.0 * 9.81


def generate_test_description():
    """Start the controller."""
    return launched("two_arms")


class TwoArms(BringupTest):
    """In the order of the alphabet, as unittest runs them."""

    def test_1_carries_the_box_along_its_curve(self):
        self.wait_until_active("joint_state_broadcaster", SERVO)
        self.wait_for_mode("follow")
        self.spin(1.0)
        self.assert_tracks(2.0, {"box": 0.005, "elbows": 0.01})
        squeezes = [multiplier(m, "left_hold", "z") for m in self.forces(SERVO, 1.0)]
        self.assertAlmostEqual(-15.0, min(squeezes), delta=0.5)
        self.assertAlmostEqual(-15.0, max(squeezes), delta=0.5)

    def test_2_both_hands_carry_the_weight_at_rest(self):
        # The box comes to rest where the planner falls silent.
        self.follow("box", [0.0, 0.0, 0.45, 0.0, 0.0, 0.0, 1.0], 3.0)
        self.wait_for_task_mode("box", "hold")
        self.spin(2.0)
        message = self.forces(SERVO, 0.2)[-1]
        # On body A, the hands; the box is B.
        carried = -sum(force_on_a(message, name)[2] for name in ("left_hold", "right_hold"))
        print(f"the hands carry {carried:.4f} N, the box weighs {BOX_WEIGHT:.4f} N")
        self.assertAlmostEqual(BOX_WEIGHT, carried, delta=0.1)
        positions = self.joint_positions()
        self.assertAlmostEqual(0.45, positions["box_z"], delta=0.005)
        self.assertAlmostEqual(0.0, positions["box_x"], delta=0.005)
