# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""A disk rolls on a table without a motor."""

from constrained_dynamics_bringup import controlled_robot


def generate_launch_description():
    """Describe what is started."""
    return controlled_robot("rolling_disk", controller="constraint_force_broadcaster")
