# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Constrained robot dynamics: tell it what your robot cannot violate, and it gives the accelerations and
every constraint force.

    import constrained_dynamics as cd

    system = cd.RigidBodySystem.from_urdf("four_bar.urdf")
    loop = cd.FrameCoincidence("loop", system, "coupler_tip", "rocker_tip", rows=["x", "z"])
    dynamics = cd.Dynamics(system, [loop])
    workspace = cd.Workspace(dynamics, cd.State(q, u))          # once, at a state
    status = dynamics.solve(q, u, torques, workspace=workspace)  # each cycle
    print(workspace.solution.acceleration, workspace.solution.wrenches[0].on_a.force)

    record = cd.Scenario.load(cd.example("four_bar")).run()   # numpy arrays: record.time, record.q, …

Units are SI, angles rad. The equations with their numbers, (E1) onwards, are in doc/equations.md, the keys
of scenario files in doc/scenario.md. Bad input raises ValueError with the name, the value and what is
allowed; a cycle returns a Status; where nothing can be returned a RuntimeError names the status.
"""

import os as _os
import sysconfig as _sysconfig
from pathlib import Path as _Path

from ._core import *  # noqa: F401,F403
from ._core import __version__  # noqa: F401
from .constraint_types import *  # noqa: F401,F403
from .pinocchio_model import from_pinocchio, to_pinocchio  # noqa: F401

_SCENARIOS = _Path(__file__).parent / "config" / "scenarios"
_ROBOTS = _SCENARIOS.parent / "robots"

# Scenarios name robots of the package example-robot-data; where it is installed beside this package, it is
# found automatically.
if "EXAMPLE_ROBOT_DATA" not in _os.environ:
    _robots = _Path(_sysconfig.get_path("purelib"), "cmeel.prefix/share/example-robot-data/robots")
    if _robots.is_dir():
        _os.environ["EXAMPLE_ROBOT_DATA"] = str(_robots)
    del _robots


def examples() -> "list[str]":
    """Names of the scenarios that come with the package."""
    return sorted(path.stem for path in _SCENARIOS.glob("*.yaml"))


def example(name: str) -> str:
    """Path of a scenario that comes with the package."""
    path = _SCENARIOS / (name + ".yaml")
    if not path.is_file():
        raise ValueError(f"there is no example '{name}'; there are {', '.join(examples())}")
    return str(path)


def robot(name: str) -> str:
    """Path of a robot description that comes with the package, e.g. "four_bar.urdf"."""
    path = _ROBOTS / name
    if not path.is_file():
        there = ", ".join(sorted(found.name for found in _ROBOTS.iterdir()))
        raise ValueError(f"there is no robot '{name}'; there are {there}")
    return str(path)
