#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Adds one of each as doc/extending.md says, in a copy of the sources, builds it and runs cdyn with it.

The code is taken from the page itself, so that the page stays true, and the files that it touches are counted against
the bars. Only the sources that change are compiled; the other objects are those of the build.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BARS = {"A constraint": 5, "A formulation": 4, "A servo task": 5, "A null-space term": 4, "A topic": 4}
# `path` (new), `path` (after `line`), `path` (printed by `cdyn types`), `path` (anything else: a file that is edited)
PLACE = re.compile(r"^`(?P<path>[^`]+)` \((?P<how>.*?)\)[:.]")
SCENARIO = """
system:
  bodies:
    - {name: fork, mass: 1, inertia: [0.1, 0.2, 0.3], pose: {xyz: [0, 0, 1]}}
    - {name: yoke, mass: 2, inertia: [0.2, 0.2, 0.1]}
  actuated: [yoke_vx, yoke_vy, yoke_vz, yoke_wx, yoke_wy, yoke_wz]
constraints:
  - {name: joint, type: frame_coincidence, frame_a: fork, frame_b: yoke, rows: [x, y]}
  - {name: cross, type: perpendicular, frame_a: fork, frame_b: yoke, axis: [1, 0, 0], direction: [0, 1, 0]}
servo:
  - {name: spin, type: speed, speeds: [yoke_wz], reference: {kind: constant, value: 0.5}}
servo_law: {null_space: [{kind: constant_force, forces: {yoke_x: 0.5}}]}
formulation: one_system
run: {until: 0.02, step: 0.001}
"""


class Addition:
    """A piece of code of the page: a new file, or lines behind a line of a file that exists."""

    def __init__(self, path, how, code):
        self.path, self.how, self.code = path, how, code

    def apply(self, root):
        file = root / self.path
        if self.how == "new":
            assert not file.exists(), f"{self.path} exists"
            file.write_text(self.code)
            return
        anchor = re.fullmatch(r"after `(.*)`", self.how)[1]
        lines = file.read_text().splitlines()
        assert lines.count(anchor) == 1, f"{self.path}: the line '{anchor}' is there {lines.count(anchor)} times"
        lines.insert(lines.index(anchor) + 1, self.code.rstrip("\n"))
        file.write_text("\n".join(lines) + "\n")


def read_page(page):
    """Section → (paths that it touches, additions)."""
    sections, lines = {}, page.read_text().splitlines()
    title = None
    for i, line in enumerate(lines):
        if line.startswith("## "):
            title = line[3:]
            sections[title] = (set(), [])
        found = PLACE.match(line)
        if not title or not found:
            continue
        paths, additions = sections[title]
        paths.add(found["path"])
        if found["how"] == "new" or found["how"].startswith("after"):
            begin = next(k for k in range(i, len(lines)) if lines[k].startswith("```")) + 1
            end = next(k for k in range(begin, len(lines)) if lines[k].startswith("```"))
            additions.append(Addition(found["path"], found["how"], "\n".join(lines[begin:end]) + "\n"))
    return sections


def check_bars(sections):
    for title, bar in BARS.items():
        assert title in sections, f"the page has no section '{title}'"
        count = len(sections[title][0])
        print(f"{title}: {count} files, at most {bar} are allowed")
        assert 0 < count <= bar, sorted(sections[title][0])


class Library:
    """The library of a build tree, with some sources replaced by those of a copy."""

    def __init__(self, core, build, scratch):
        self.core, self.build, self.scratch = core, build, scratch
        commands = json.loads((build / "compile_commands.json").read_text())
        target = "/constrained_dynamics_core.dir/"
        self.commands = {entry["file"]: entry for entry in commands if target in entry["command"]}

    def compile(self, path):
        """The object of a source of the copy, by the command of that source or of its neighbour."""
        entry = self.commands.get(str(self.core / path)) or next(
            entry for file, entry in self.commands.items() if Path(file).parent == (self.core / path).parent
        )
        words = shlex.split(entry["command"])
        out = self.scratch / "objects" / (path.replace("/", "_") + ".o")
        out.parent.mkdir(exist_ok=True)
        words[words.index("-o") + 1] = str(out)
        words[words.index("-c") + 1] = str(self.scratch / path)
        words = [f"-I{self.scratch / 'include'}" if w == f"-I{self.core / 'include'}" else w for w in words]
        words = [f"-I{self.scratch / 'src'}" if w == f"-I{self.core / 'src'}" else w for w in words]
        for option in ("-MF", "-MT"):
            if option in words:
                words[words.index(option) + 1] = str(out) + ".d"
        subprocess.run(words, cwd=entry["directory"], check=True)
        return out

    def link(self, objects):
        """The library with the objects of {path: object} in place of its own, or beside them."""
        out = self.scratch / "libconstrained_dynamics_core.so"
        replaced = {
            entry["output"] if "output" in entry else self._output(entry)
            for entry in (self.commands.get(str(self.core / path)) for path in objects)
            if entry
        }
        line = next(part for command in self._link_commands() for part in command.split("&&") if "-shared" in part)
        words = [w for w in shlex.split(line) if w not in replaced and w != ":"]
        words[words.index("-o") + 1] = str(out)
        subprocess.run(words + [str(o) for o in objects.values()], cwd=self.build, check=True)
        return out

    def _output(self, entry):
        words = shlex.split(entry["command"])
        return words[words.index("-o") + 1]

    def _link_commands(self):
        targets = subprocess.run(
            ["ninja", "-t", "targets", "all"], cwd=self.build, capture_output=True, text=True, check=True
        ).stdout
        rule = "CXX_SHARED_LIBRARY_LINKER__constrained_dynamics_core"
        library = next(line.split(":")[0] for line in targets.splitlines() if rule in line)
        return subprocess.run(
            ["ninja", "-t", "commands", "-s", library], cwd=self.build, capture_output=True, text=True, check=True
        ).stdout.splitlines()


def run(cdyn, library, *arguments):
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    done = subprocess.run([str(cdyn), *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"cdyn {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--core", type=Path, required=True, help="the folder constrained_dynamics_core")
    parser.add_argument("--build", type=Path, required=True, help="a build tree made with Ninja")
    parser.add_argument("--cdyn", type=Path, required=True)
    parser.add_argument("--page", type=Path, help="default: doc/extending.md of the core")
    parser.add_argument("--count-only", action="store_true", help="count the files and build nothing")
    arguments = parser.parse_args()
    core = arguments.core.resolve()
    sections = read_page(arguments.page or core / "doc" / "extending.md")
    check_bars(sections)
    if arguments.count_only:
        return 0
    with tempfile.TemporaryDirectory(prefix="extending_") as folder:
        scratch = Path(folder)
        for part in ("include", "src", "test/constraints", "test/servo"):
            shutil.copytree(core / part, scratch / part)
        shutil.copy(core / "CMakeLists.txt", scratch)
        additions = [a for title in BARS if title != "A topic" for a in sections[title][1]]
        for addition in additions:
            addition.apply(scratch)
        sources = dict.fromkeys(a.path for a in additions if a.path.startswith("src/") and a.path.endswith(".cpp"))
        library = Library(core, arguments.build.resolve(), scratch)
        built = library.link({path: library.compile(path) for path in sources})
        for type_name in ("perpendicular", "speed", "constant_force"):
            assert f"### `{type_name}`" in run(arguments.cdyn, built, "types", type_name)
        scenario = scratch / "scenario.yaml"
        scenario.write_text(SCENARIO)
        run(arguments.cdyn, built, "check", str(scenario))
        solved = json.loads(run(arguments.cdyn, built, "solve", str(scenario)))
        others = json.loads(run(arguments.cdyn, built, "solve", str(scenario), "--formulation", "kane_minimal"))
        assert solved["status"] == others["status"] == "ok", (solved["status"], others["status"])
        run(arguments.cdyn, built, "run", str(scenario), "--quiet")
    print("one of each was added, built and run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
