# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Checks of source files that no ready-made tool does: licence lines, rooms, lengths, casts."""

import re
import unicodedata

import lizard
from repository import CORE, ROOT, files, is_test, read

CXX = (".cpp", ".hpp")
# A room of the core uses only rooms before it in this list, and the files outside of rooms.
ROOMS = [
    "formula",
    "model",
    "constraints",
    "formulations",
    "dynamics",
    "contact",
    "servo",
    "simulation",
    "analysis",
    "scenario",
]
WITH_LICENCE = CXX + (".py", ".sh", ".cmake", "CMakeLists.txt", ".js", ".css", ".msg", ".srv")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<](?:constrained_dynamics/)?([a-z_]+)/', re.M)
# Words that gave way to those of the field (desired, relaxed), in CONTRIBUTING.md.
REPLACED_WORDS = re.compile(r"\b(wish(ed|es|ing)?|gave[ _]way)\b", re.I)
# Lists of bindings are long by nature.
BINDINGS = CORE + "python/src/"


def licence_lines():
    """Every source file names licence and copyright in its first lines."""
    problems = []
    # What a tool reads as a message definition or as data begins as that tool wants it.
    for path in files(*WITH_LICENCE) + [".ci/run", "Makefile"]:
        head = "\n".join(read(path).splitlines()[:5])
        for wanted in (
            "SPDX-License-Identifier: Apache-2.0",
            "The constrained_dynamics contributors",
        ):
            if wanted not in head:
                problems.append("%s: '%s' is not in its first lines" % (path, wanted))
    return problems


def arrows():
    """Includes of the core that lead from a room to a later one."""
    found = []
    for path in files(*CXX):
        parts = path.removeprefix(CORE).split("/")
        if not path.startswith(CORE) or parts[0] not in ("src", "include", "python"):
            continue
        room = parts[1] if parts[0] == "src" else parts[2]
        if room not in ROOMS:
            continue
        for other in INCLUDE.findall(read(path)):
            if other in ROOMS and ROOMS.index(other) > ROOMS.index(room):
                found.append("%s: room %s includes room %s" % (path, room, other))
    return found


def function_lengths():
    """(lines, place) of the functions outside of tests and lists of bindings, the longest first."""
    paths = [p for p in files(*CXX, ".py") if not is_test(p) and not p.startswith(BINDINGS)]
    lengths = []
    for result in lizard.analyze_files([str(ROOT / p) for p in paths], threads=2):
        path = result.filename.removeprefix(str(ROOT) + "/")
        for function in result.function_list:
            place = "%s:%d %s" % (path, function.start_line, function.name)
            lengths.append((function.end_line - function.start_line + 1, place))
    return sorted(lengths, reverse=True)


def file_lengths():
    """(lines, path) of the source files outside of tests, the longest first."""
    paths = [p for p in files(*CXX, ".py", ".js", ".sh") if not is_test(p)]
    return sorted(((read(p).count("\n"), p) for p in paths), reverse=True)


def dynamic_casts():
    """Places of dynamic_cast outside of tests."""
    return [
        "%s:%d" % (path, number)
        for path in files(*CXX)
        if not is_test(path)
        for number, line in enumerate(read(path).splitlines(), 1)
        if re.search(r"dynamic_(pointer_)?cast\s*<", line.partition("//")[0])
    ]


def replaced_words():
    """Places that use a word for which the project has another."""
    return [
        "%s:%d: %s" % (path, number, found[0])
        for path in files(*CXX, ".py", ".md", ".rst", ".yaml", ".msg", ".srv")
        if not path.startswith("setup/lint/") and "CHANGELOG" not in path
        for number, line in enumerate(read(path).splitlines(), 1)
        if (found := REPLACED_WORDS.search(line))
    ]


def columns(line):
    """Columns that a line takes: accents take none, and addresses are not counted."""
    line = re.sub(r"https?://[^\s)>\"]+", "", line)
    return sum(not unicodedata.combining(letter) for letter in line)


def wide_lines(width, *endings):
    """Lines wider than that, as path:line. Tests in C++ hold scenarios, whose lines are as wide as they are."""
    found = []
    for path in files(*endings):
        if path.endswith(CXX) and is_test(path):
            continue
        for number, line in enumerate(read(path).splitlines(), 1):
            if columns(line) > width:
                found.append("%s:%d" % (path, number))
    return found
