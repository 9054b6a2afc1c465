# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""The arm on the wall: tracks a curve and pushes as desired; measured efforts say the same."""

from bringup_testing import BROADCASTER, SERVO, BringupTest, constraint, launched, multiplier
from visualization_msgs.msg import MarkerArray


def generate_test_description():
    """Start both controllers: one drives, the other one measures."""
    return launched("arm_on_wall", controller=f"{SERVO},{BROADCASTER}")


class ArmOnWall(BringupTest):
    """In the order of the alphabet, as unittest runs them."""

    def test_1_tracks_the_curve(self):
        self.wait_until_active("joint_state_broadcaster", SERVO, BROADCASTER)
        self.wait_for_mode("follow")
        self.spin(1.0)
        self.assert_tracks(3.0, {"curve": 0.002, "hand": 0.01, "elbow": 0.01})

    def test_2_pushes_with_the_desired_force(self):
        # 20 N with a wave of 5 N; the efforts that the hardware measures tell the same.
        for controller in (SERVO, BROADCASTER):
            pushes = [multiplier(m, "wall", "normal") for m in self.forces(controller, 3.5)]
            print(f"{controller}: pushes with {min(pushes):.3f} to {max(pushes):.3f} N")
            self.assertAlmostEqual(15.0, min(pushes), delta=0.5, msg=controller)
            self.assertAlmostEqual(25.0, max(pushes), delta=0.5, msg=controller)

    def test_3_shows_arrows(self):
        markers = self.collect(MarkerArray, f"/{SERVO}/markers", 0.5)[-1].markers
        arrows = [m for m in markers if m.ns == "force" and len(m.points) == 2]
        self.assertEqual(1, len(arrows))
        begin, end = arrows[0].points
        # It ends at the tip on the wall and comes out of the wall, away from the arm.
        self.assertGreater(begin.x, 0.72 + 0.1)
        self.assertAlmostEqual(0.72, end.x, delta=0.01)

    def test_4_goes_on_after_the_wall_was_switched_off_and_on(self):
        answer = self.set_constraint_active(SERVO, "wall", False)
        self.assertTrue(answer.success, answer.message)
        message = self.forces(SERVO, 0.2)[-1]
        self.assertFalse(constraint(message, "wall").active)
        answer = self.set_constraint_active(SERVO, "wall", True)
        self.assertTrue(answer.success, answer.message)
        self.spin(2.0)
        push = multiplier(self.forces(BROADCASTER, 0.2)[-1], "wall", "normal")
        self.assertTrue(14.0 < push < 26.0, push)
