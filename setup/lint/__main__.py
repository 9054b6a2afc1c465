# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Checks of style and structure: `make lint`.

    python setup/lint [--tidy changed|all|none] [--build FOLDER] [--jobs N] [--tidy-seconds S]

Counts that have not reached their goal are ratchets: limits.json holds the most that is allowed, and may
only fall. Exit codes: 0; 1 where a check fails, each finding named.
"""

import argparse
import json
import sys
from pathlib import Path

import documents
import sources
import tools
from repository import read

LIMITS = json.loads((Path(__file__).parent / "limits.json").read_text(encoding="utf-8"))
SHOWN = 40


class Report:
    """Prints as it goes, and knows in the end whether everything was in order."""

    def __init__(self):
        self.failed = []

    def line(self, verdict, name, sentence=""):
        print("%-7s %s%s" % (verdict, name, ": " + sentence if sentence else ""), flush=True)

    def check(self, name, find, sentence=""):
        """Runs a check: a function that gives a list of findings, or a list and a sentence."""
        try:
            found = find()
        except tools.Skipped as reason:
            self.line("skipped", name, str(reason))
            return
        if isinstance(found, tuple):
            found, sentence = found
        if found:
            self.failed.append(name)
            print("\n".join("  " + text for text in found[:SHOWN]))
            if len(found) > SHOWN:
                print("  ... and %d more" % (len(found) - SHOWN))
            self.line("FAILED", name, "%d lines above" % min(len(found), SHOWN))
        else:
            self.line("ok", name, sentence)

    def count(self, name, number, limit, places=()):
        """Compares a count with the most that is allowed."""
        if number > limit:
            self.failed.append(name)
            print("\n".join("  " + str(place) for place in places[:SHOWN]))
            self.line("FAILED", name, "%d, at most %d are allowed" % (number, limit))
        else:
            self.line("ok", name, "%d of at most %d" % (number, limit))


def check_tools(report, options):
    report.check("clang-format", tools.clang_format)
    report.check("ruff format", tools.ruff_format)
    report.check("ruff check", tools.ruff_check)
    report.check("codespell", tools.codespell)
    report.check("shellcheck", tools.shellcheck, "%d scripts" % len(tools.shell_scripts()))
    try:
        found, sentence = tools.clang_tidy(options.tidy, options.build, options.jobs, options.tidy_seconds)
    except tools.Skipped as reason:
        report.line("skipped", "clang-tidy", str(reason))
        return
    for finding in found[:SHOWN]:
        print("  " + finding)
    report.count("clang-tidy findings (%s)" % sentence, len(found), LIMITS["clang-tidy findings"])


def check_text(report):
    report.check("licence lines", sources.licence_lines)
    report.check("links", documents.links)
    report.check("words that were replaced", sources.replaced_words)
    report.check("README", documents.readme, "%d words" % len(read("README.md").split()))
    report.check("commit subjects", documents.subjects, "those of the branch, at most %d" % documents.SUBJECT_COUNT)
    for name, width, endings in (
        ("wide lines of text", 120, (".md", ".rst")),
        ("wide lines of C++", 100, (".cpp", ".hpp")),
        ("wide lines of scripts and settings", 120, (".sh", "Makefile", ".yaml", "CMakeLists.txt")),
    ):
        found = sources.wide_lines(width, *endings)
        report.count("%s (%d columns)" % (name, width), len(found), LIMITS[name], found)


def check_structure(report):
    def above(lengths, limit):
        return [entry for entry in lengths if entry[0] > limit]

    for name, lengths, limit in (
        ("functions", sources.function_lengths(), LIMITS["lines of a function"]),
        ("files", sources.file_lengths(), LIMITS["lines of a file"]),
    ):
        print("        longest %s outside of tests:" % name)
        for lines, place in lengths[:8]:
            print("          %5d  %s" % (lines, place))
        found = ["%d lines: %s" % entry for entry in above(lengths, limit)]
        report.count("%s longer than %d lines" % (name, limit), len(found), LIMITS["long " + name], found)
        longest = lengths[0][0] if lengths else 0
        report.count("lines of the longest of the " + name, longest, LIMITS["longest of the " + name])
    costs = documents.files_of_changes()
    for name, limit in documents.COSTS.items():
        if name in costs:
            report.count("files that a new %s costs" % name, costs[name], limit)
        else:
            report.line("skipped", "files that a new %s costs" % name, "doc/extending.md does not say")
    casts = sources.dynamic_casts()
    report.count("dynamic casts", len(casts), LIMITS["dynamic casts"], casts)
    arrows = sources.arrows()
    report.count("includes against the order of rooms", len(arrows), LIMITS["arrows"], arrows)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="lint", description=__doc__.splitlines()[0])
    parser.add_argument("--tidy", choices=["changed", "all", "none"], default="changed")
    parser.add_argument("--tidy-seconds", type=int, default=0, help="at most this long; 0: no limit")
    parser.add_argument("--build", default="build/release", help="folder with compile_commands.json")
    parser.add_argument("--jobs", type=int, default=1, help="clang-tidy processes at a time")
    options = parser.parse_args(arguments)
    report = Report()
    check_tools(report, options)
    check_text(report)
    check_structure(report)
    if report.failed:
        print("lint failed: " + ", ".join(report.failed))
        return 1
    print("lint: everything is in order")
    return 0


if __name__ == "__main__":
    sys.exit(main())
