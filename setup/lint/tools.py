# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""The ready-made tools: clang-format, clang-tidy, ruff, codespell, shellcheck."""

import json
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from repository import ROOT, base_commit, changed_files, files, read

CXX = (".cpp", ".hpp")


class Skipped(Exception):
    """A check that cannot be made here; the reason is its text."""


def program(name):
    """A tool of the environment that runs this, else of the machine."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if found is None:
        raise Skipped("%s is not installed; `make lint` installs it where it may" % name)
    return found


def run(command, paths):
    """What a command says about files, by line; nothing if it has no objections."""
    done = subprocess.run([*command, *paths], cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0:
        return []
    return (done.stdout + done.stderr).splitlines() or ["%s: exit %d" % (command[0], done.returncode)]


def clang_format():
    return run([program("clang-format"), "--dry-run", "--Werror"], files(*CXX))


def ruff_format():
    return run([program("ruff"), "format", "--check", "--quiet", "--diff"], ["."])


def ruff_check():
    return run([program("ruff"), "check", "--quiet", "--output-format=concise"], ["."])


def codespell():
    endings = (".md", ".rst", ".yaml", ".py", ".sh", ".cmake", "CMakeLists.txt", ".msg", ".srv")
    # Names of constants (kNo, kOwn) are no words.
    command = [program("codespell"), "--ignore-words=setup/lint/words.txt", r"--ignore-regex=\bk[A-Z]\w*"]
    return run(command, files(*CXX, *endings) + ["Makefile", ".ci/run"])


def shell_scripts():
    """Scripts by their ending or by their first line."""
    return files(".sh") + [
        path for path in files("run", "scenario_host") if read(path).startswith(("#!/usr/bin/env bash", "#!/bin/sh"))
    ]


def shellcheck():
    return run([program("shellcheck"), "--format=gcc"], shell_scripts())


def tidy_targets(what, commands):
    """Sources for clang-tidy: all that are compiled, or those of the files that have changed."""
    if what == "all":
        return sorted(commands), "all compiled sources"
    base, how = base_commit()
    if base is None:
        raise Skipped("no base to compare with: " + how)
    changed = set(changed_files(base))
    # A header is looked at through the source of the same name.
    stems = {Path(path).stem for path in changed if path.endswith(".hpp")}
    targets = [path for path in commands if path in changed or Path(path).stem in stems]
    return sorted(targets), "changed since %s (%s)" % (base[:10], how)


def clang_commands(database):
    """Writes the compile commands without what is for g++ alone. Returns their folder and our sources."""
    entries = json.loads(database.read_text(encoding="utf-8"))
    for entry in entries:
        entry["command"] = entry["command"].replace(" -fno-tree-loop-vectorize", "")
    folder = database.parent / "clang-tidy"
    folder.mkdir(exist_ok=True)
    (folder / database.name).write_text(json.dumps(entries), encoding="utf-8")
    compiled = {entry["file"] for entry in entries}
    return folder, {path for path in files(".cpp") if str(ROOT / path) in compiled}


def clang_tidy(what, build, jobs, seconds):
    """Findings, and a sentence that says what was looked at."""
    if what == "none":
        raise Skipped("TIDY=none")
    database = ROOT / build / "compile_commands.json"
    if not database.is_file():
        raise Skipped("%s/compile_commands.json is missing; `make lint` makes it" % build)
    folder, commands = clang_commands(database)
    targets, sentence = tidy_targets(what, commands)
    command = [program("clang-tidy"), "-p", str(folder), "--quiet"]
    end = time.monotonic() + seconds if seconds else None

    def look(path):
        if end is not None and time.monotonic() > end:
            return None
        done = subprocess.run([*command, path], cwd=ROOT, capture_output=True, text=True)
        lines = (done.stdout + done.stderr).splitlines()
        # Findings inside of Eigen are its own; a source that cannot be read is a finding.
        own = [line for line in lines if line.startswith(str(ROOT)) and "/.venv" not in line]
        own = [line for line in own if ": warning:" in line or ": error:" in line]
        return own or [line for line in lines if line.startswith("Error while processing")]

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        results = list(pool.map(look, targets))
    left = sum(result is None for result in results)
    sentence = "%d of %d files, %s" % (len(targets) - left, len(targets), sentence)
    if left:
        sentence += "; %d not looked at within %d s" % (left, seconds)
    return sorted({line for result in results if result for line in result}), sentence
