# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Any scenario by its name: no controller, a node integrates it and shows its forces."""

from constrained_dynamics_bringup import played_scenario


def generate_launch_description():
    """Describe what is started."""
    return played_scenario("steady_turn")
