# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Shared by the commands of the package: a scenario by its file or by the name of an example."""

from pathlib import Path

from . import example, examples


def add_scenario_arguments(parser, *, optional=False, until=True):
    parser.add_argument(
        "scenario",
        nargs="?" if optional else None,
        help="a scenario file, or the name of an example: " + ", ".join(examples()),
    )
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="as cdyn run --set")
    if until:
        parser.add_argument("--until", type=float, help="end of the run [s]")


def find_scenario(name):
    """Path of a scenario file. Raises ValueError if there is neither a file nor an example of that name."""
    return name if Path(name).is_file() else example(name)
