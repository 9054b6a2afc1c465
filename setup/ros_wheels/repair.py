# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Repairs what the ROS wheels of PyPI leave wrong in the virtual environment that runs this.

- A .pth file makes every Python start itself again with another library path: removed.
- Libraries that wheels bundle lie where the others do not look for them: linked beside those.
- Exported CMake files name folders of the machine that built the wheels: replaced by ours.
"""

import os
import re
import sys
import sysconfig
from pathlib import Path

import numpy

root = Path(sys.prefix)
packages = Path(sysconfig.get_path("purelib"))
(packages / "ros_wheels_bootstrapper.pth").unlink(missing_ok=True)

for library in packages.glob("ros_*.libs/*.so*"):
    link = root / "lib" / library.name
    if not link.exists():
        link.symlink_to(os.path.relpath(library, link.parent))

REPLACEMENTS = [
    (r"/opt/python/[^/;\"]*/include/python[0-9.]*", sysconfig.get_path("include")),
    (r"/opt/python/[^/;\"]*/lib/python[0-9.]*/site-packages/numpy/_core/include", numpy.get_include()),
    (r"/usr/lib64/libtinyxml2\.so;", ""),
    (r"lttng-ust;", ""),
]
for exported in (root / "share").glob("*/cmake/*.cmake"):
    text = exported.read_text()
    repaired = text
    for old, new in REPLACEMENTS:
        repaired = re.sub(old, new, repaired)
    if repaired != text:
        exported.write_text(repaired)
