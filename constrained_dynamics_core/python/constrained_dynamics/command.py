# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""The command `cdyn` of the installed wheel: the C++ program beside this file, with the examples of the package."""

import os
import sys
from pathlib import Path

# Importing the package sets the environment variable that locates example-robot-data, if installed.
import constrained_dynamics  # noqa: F401


def main():
    """Replace this process by the program."""
    package = Path(__file__).parent
    program = package / "bin" / "cdyn"
    if not program.is_file():
        sys.exit(f"cdyn: {program} is missing; it is part of the wheel, and of no build folder")
    os.environ.setdefault("CDYN_EXAMPLES", str(package / "config" / "scenarios"))
    os.execv(program, ["cdyn", *sys.argv[1:]])


if __name__ == "__main__":
    main()
