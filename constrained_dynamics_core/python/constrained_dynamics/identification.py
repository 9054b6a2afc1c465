# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Identifies payload and joint friction from a recorded motion, and writes them as a robot profile.

python -m constrained_dynamics.identification SCENARIO|EXAMPLE RECORDING.csv [--payload-frame FRAME] [-o profile.yaml]

The recording has the columns of `cdyn run --csv`: time, q.<coordinate>, u.<speed>, input.<input> (efforts of the
motors, with gravity, friction and rotors) and, if known, udot.<speed>. Other columns are ignored.
"""

import argparse
import csv
import math
import sys

import numpy as np

from . import ProfileJoint, RobotProfile, Scenario, identify
from .commands import add_scenario_arguments, find_scenario


def read_csv(path, system):
    """Arrays time, position, velocity, effort and acceleration (None if not recorded) of a recording."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        raise ValueError("%s: no samples" % path)

    def column(name):
        if name not in rows[0]:
            raise ValueError("%s: the column '%s' is missing" % (path, name))
        try:
            return [float(row[name]) for row in rows]
        except (TypeError, ValueError) as error:
            raise ValueError("%s: column '%s': %s; allowed: numbers" % (path, name, error)) from error

    def columns(prefix, names):
        return np.array([column(prefix + name) for name in names]).T.reshape(len(rows), len(names))

    has_acceleration = all("udot." + name in rows[0] for name in system.speed_names)
    return (
        np.array(column("time")),
        columns("q.", system.coordinate_names),
        columns("u.", system.speed_names),
        columns("input.", system.input_names),
        columns("udot.", system.speed_names) if has_acceleration else None,
    )


def describe(found):
    """One line per parameter: its value with its standard deviation, or that the motion does not identify it."""
    lines = []
    for i, name in enumerate(found.names):
        if found.identifiable[i]:
            lines.append("%-24s %12.6g ± %.2g" % (name, found.estimate[i], math.sqrt(found.covariance[i, i])))
        else:
            lines.append("%-24s not identifiable by this motion" % name)
    lines.append("noise of the efforts: %.3g" % found.effort_deviation)
    return "\n".join(lines)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m constrained_dynamics.identification", description=__doc__.splitlines()[0]
    )
    add_scenario_arguments(parser, until=False)
    parser.add_argument("recording", help="CSV file")
    parser.add_argument("--payload-frame", default="", help="frame that carries an unknown payload")
    parser.add_argument("--no-friction", action="store_true", help="identify the payload alone")
    parser.add_argument("--offset", action="store_true", help="identify offsets of the efforts as well")
    parser.add_argument("--profile", help="profile to start from (default: the inputs of the scenario)")
    parser.add_argument("-o", "--output", help="profile to write")
    given = parser.parse_args(arguments)
    try:
        scenario = Scenario.load(find_scenario(given.scenario), given.set)
        system = scenario.dynamics.system
        time, position, velocity, effort, acceleration = read_csv(given.recording, system)
        found = identify(
            scenario.dynamics,
            time,
            position,
            velocity,
            effort,
            acceleration=acceleration,
            payload_frame=given.payload_frame,
            friction=not given.no_friction,
            offset=given.offset,
        )
        print(describe(found))
        if given.output:
            if given.profile:
                profile = RobotProfile.load(given.profile)
            else:
                profile = RobotProfile()
                profile.name = scenario.name
                profile.joints = [_joint(name) for name in system.input_names]
            found.store(profile, given.payload_frame)
            with open(given.output, "w", encoding="utf-8") as file:
                file.write(profile.to_yaml())
    except (OSError, ValueError, RuntimeError) as error:
        print("error: %s" % error, file=sys.stderr)
        return 2
    return 0


def _joint(name):
    joint = ProfileJoint()
    joint.name = name
    return joint


if __name__ == "__main__":
    sys.exit(main())
