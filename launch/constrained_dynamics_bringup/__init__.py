# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""What the launch files of constrained_dynamics share."""

from constrained_dynamics_bringup.bringup import controlled_robot, played_scenario, share

__all__ = ["controlled_robot", "played_scenario", "share"]
