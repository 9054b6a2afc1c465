# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Checks of the documents: links, size of the README, commit subjects."""

import re
from functools import cache

from repository import ROOT, base_commit, files, git, read

README_LINES, README_WORDS = 120, 900
SUBJECT_WIDTH, SUBJECT_COUNT = 72, 20
EXTENDING = "constrained_dynamics_core/doc/extending.md"
# The most files that a change may cost: heading of the page → files.
COSTS = {"constraint": 5, "formulation": 4, "servo task": 5, "null-space term": 4, "topic": 4}
NUMBERS = "one two three four five six seven eight nine ten".split()
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def _without_code(text):
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", text)


@cache
def anchors(path):
    """Places of a Markdown file that a link can name, as GitHub makes them from headings."""
    text = re.sub(r"^```.*?^```", "", read(path), flags=re.M | re.S)
    names = set()
    for heading in re.findall(r"^#+ +(.*?)\s*$", text, flags=re.M):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        names.add(name)
    return names | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def links():
    """Links between documents that lead nowhere."""
    problems = []
    for path in files(".md"):
        for target in LINK.findall(_without_code(read(path))):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            place = (ROOT / path).parent / name if name else ROOT / path
            if not place.exists():
                problems.append("%s: link to %s leads nowhere" % (path, target))
            elif anchor and place.suffix == ".md":
                if anchor not in anchors(str(place.resolve().relative_to(ROOT))):
                    problems.append("%s: %s has no such heading" % (path, target))
    return problems


def files_of_changes():
    """{change: files} as the guide to extensions says; `make campaign` makes the changes and counts. {}: no guide."""
    if EXTENDING not in files(".md"):
        return {}
    found = re.findall(r"^## An? (.*)\n\n(\w+) files", read(EXTENDING), flags=re.M)
    return {name.lower(): NUMBERS.index(number.lower()) + 1 for name, number in found}


def readme():
    """The front page stays short."""
    text = read("README.md")
    problems = []
    for count, limit, what in (
        (text.count("\n"), README_LINES, "lines"),
        (len(text.split()), README_WORDS, "words"),
    ):
        if count > limit:
            problems.append("README.md has %d %s; at most %d are allowed" % (count, what, limit))
    return problems


def subjects():
    """The commits of a branch have subjects that fit into a line of `git log`. Merged history stays as it is."""
    base, _ = base_commit()
    span = "%s..HEAD" % base if base else "HEAD~0"
    count = SUBJECT_COUNT if base else 1
    listed = git("log", "--first-parent", "--no-merges", "--format=%h %s", "-%d" % count, span) or ""
    return [
        "commit %s: subject of %d characters" % (line.split()[0], len(line.partition(" ")[2]))
        for line in listed.splitlines()
        if len(line.partition(" ")[2]) > SUBJECT_WIDTH
    ]
