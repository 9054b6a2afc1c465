# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Shared by the launch files of constrained_dynamics."""

from constrained_dynamics_bringup.any_robot import your_robot
from constrained_dynamics_bringup.bringup import controlled_robot, played_scenario, share

__all__ = ["controlled_robot", "played_scenario", "share", "your_robot"]
