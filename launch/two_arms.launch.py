# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Two arms carry one box along a curve and squeeze it."""

from constrained_dynamics_bringup import controlled_robot


def generate_launch_description():
    """Describe what is started."""
    return controlled_robot("two_arms")
