# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""What the checks know about the repository: its files and its commits."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = "constrained_dynamics_core/"
# Folders that no check enters where the tree is not a git clone.
LEFT_OUT = {".git", ".venv", "build", "out", "__pycache__"}


def git(*arguments):
    """Standard output of a git command, or None where it fails."""
    # The clone of a continuous integration often belongs to another user.
    trust = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=ROOT,
            env={**os.environ, **trust},
            capture_output=True,
            text=True,
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def _walk():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in LEFT_OUT and not f.startswith(".venv")]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), ROOT)


def all_files():
    """Files of the repository, those that are not committed yet included, relative to its root."""
    listed = git("ls-files", "--cached", "--others", "--exclude-standard")
    paths = listed.splitlines() if listed is not None else list(_walk())
    return sorted(path for path in paths if (ROOT / path).is_file())


def files(*endings):
    """Files whose names end in one of these."""
    return [path for path in all_files() if path.endswith(endings)]


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def is_test(path):
    """Tests, examples of use and fuzz targets: counted by nothing that limits lengths."""
    return "test" in path.split("/")[0:2] or "/test/" in path or "/tests/" in path


def base_commit():
    """The commit that changes are counted from, and how it was found; (None, reason) if unknown."""
    given = os.environ.get("CD_LINT_BASE")
    if given:
        commit = git("rev-parse", "--verify", "--quiet", given + "^{commit}")
        if commit is None:
            return None, "CD_LINT_BASE is '%s', which is no commit here" % given
        return commit.strip(), "CD_LINT_BASE"
    head = git("rev-parse", "--verify", "--quiet", "HEAD")
    if head is None:
        return None, "this is not a git clone"
    for branch in ("origin/HEAD", "origin/main", "main"):
        common = git("merge-base", branch, "HEAD")
        if common is not None and common.strip() != head.strip():
            return common.strip(), branch
    parent = git("rev-parse", "--verify", "--quiet", "HEAD^1")
    if parent is None:
        return None, "the clone is shallow: the commit before HEAD is not in it"
    return parent.strip(), "the commit before HEAD"


def changed_files(base):
    """Files that differ from a commit, those that are not committed yet included."""
    listed = (git("diff", "--name-only", "--diff-filter=d", base) or "").splitlines()
    listed += (git("ls-files", "--others", "--exclude-standard") or "").splitlines()
    return sorted(set(listed))
