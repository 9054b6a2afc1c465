# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""What the tests share."""

import os
from pathlib import Path

import numpy as np
import pytest

import constrained_dynamics as cd

CONFIG = Path(os.environ.get("CD_CONFIG", Path(cd.__file__).parent / "config"))
# Those that need no robot data of another package.
SMALL_EXAMPLES = [name for name in cd.examples() if "example-robot-data" not in Path(cd.example(name)).read_text()]


@pytest.fixture
def four_bar():
    """The planar four-bar of config/robots, its loop closed; assembled at crank 0.3."""
    system = cd.RigidBodySystem.from_urdf(str(CONFIG / "robots" / "four_bar.urdf"))
    loop = cd.FrameCoincidence("loop", system, "coupler_tip", "rocker_tip", rows=["x", "z"])
    dynamics = cd.Dynamics(system, [loop], stabilisation=cd.Stabilisation.projection())
    q = cd.assemble_position(dynamics, [0.3, 1.2, 2.2], ["crank"])
    return system, dynamics, cd.Workspace(dynamics, cd.State(q, [0.0, 0.0, 0.0])), q


PENDULUM = dict(
    coordinates=["x", "y"], kinetic="m/2*(dx^2 + dy^2)", potential="m*g*y", parameters={"m": 2.0, "g": 9.81}
)


@pytest.fixture
def pendulum():
    """A point mass in the plane, without its rod."""
    return cd.AnalyticSystem(**PENDULUM)


@pytest.fixture
def random():
    seed = 20261116
    print("seed", seed)
    return np.random.default_rng(seed)
