# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""
Say which ROS packages can be built here.

Prints a line `build NAME` or `skip NAME: why` for each, in an order in which they can be built.
"""

import os
import sys
import xml.etree.ElementTree as xml

# What setup/setup.sh or rosdep installs: not looked for among the ament packages.
SYSTEM = {
    "cli11",
    "cmake",
    "eigen",
    "eiquadprog",
    "google-mock",
    "gtest",
    "libboost-dev",
    "pinocchio",
    "python3-yaml",
    "tinyxml2",
    "yaml-cpp",
}
# Only people who look on need these.
OPTIONAL = {"rviz2"}


def installed(name):
    """Whether the environment has an ament package of that name."""
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    return any(os.path.isfile(f"{prefix}/share/{name}/package.xml") for prefix in prefixes if prefix)


def main(folders):
    """Print the verdicts."""
    needs = {}
    for folder in folders:
        package = xml.parse(os.path.join(folder, "package.xml")).getroot()
        needs[package.findtext("name")] = {
            item.text for item in package if item.tag.endswith("depend") and item.tag != "group_depend"
        }
    reasons = {}
    while len(reasons) < len(needs):
        pending = needs.keys() - reasons.keys()
        ready = [name for name in needs if name in pending and not needs[name] & pending]
        if not ready:
            sys.exit("packages depend on each other: " + ", ".join(pending))
        for name in ready:
            own = needs[name] & needs.keys()
            reasons[name] = sorted(n for n in own if reasons[n]) + sorted(
                n for n in needs[name] - needs.keys() - SYSTEM - OPTIONAL if not installed(n)
            )
            missing = ", ".join(reasons[name])
            print(f"skip {name}: {missing} cannot be had" if missing else f"build {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
