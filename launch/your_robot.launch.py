# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Any robot: its description, a scenario with its constraints and tasks, and the parameters of its controllers."""

from constrained_dynamics_bringup import your_robot


def generate_launch_description():
    """Describe what is started."""
    return your_robot()
