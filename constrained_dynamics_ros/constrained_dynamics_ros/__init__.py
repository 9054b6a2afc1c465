# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""ROS 2 over the Python package constrained_dynamics: the node scenario_host."""
