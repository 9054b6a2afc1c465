# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""An arm leads a cutter along a curve on a wall and pushes on it with a desired force."""

from constrained_dynamics_bringup import controlled_robot


def generate_launch_description():
    """Describe what is started."""
    return controlled_robot("arm_on_wall")
