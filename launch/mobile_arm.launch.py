# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""A base on two driven wheels with an arm, whose hand follows a curve."""

from constrained_dynamics_bringup import controlled_robot


def generate_launch_description():
    """Describe what is started."""
    return controlled_robot("mobile_arm")
