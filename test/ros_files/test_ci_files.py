# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Workflows, Dockerfile and changelogs, checked as far as a machine without GitHub, Docker and bloom can."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from catkin_pkg.changelog import get_changelog_from_path
from catkin_pkg.package import parse_package

TOP = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((TOP / ".github" / "workflows").glob("*.yml"))
MANIFESTS = sorted(path for path in TOP.glob("*/package.xml"))
KEYS = {"name", "runs-on", "container", "timeout-minutes", "continue-on-error", "strategy", "env", "steps"}
STEP_KEYS = {"name", "uses", "with", "env", "run"}


def check_shell(text):
    # GitHub replaces ${{ … }} before the shell sees the text.
    text = re.sub(r"\$\{\{.*?\}\}", "value", text)
    done = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_when_read_expect_known_keys_and_scripts_that_exist(path):
    text = path.read_text()
    workflow = yaml.safe_load(text)
    # YAML 1.1 reads `on` as a boolean.
    assert {"name", True, "jobs"} == set(workflow)
    assert {"push", "pull_request"} <= set(workflow[True])
    for job in workflow["jobs"].values():
        assert set(job) <= KEYS and job["runs-on"] and job["steps"]
        for step in job["steps"]:
            assert set(step) <= STEP_KEYS and ("uses" in step) != ("run" in step), step
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w-]+@[\w.]+", step["uses"]), step["uses"]
            else:
                check_shell(step["run"])
                for script in re.findall(r"^\.\S+/\S+", step["run"], re.MULTILINE):
                    assert (TOP / script).is_file(), script
                for target in re.findall(r"^make (\w+)$", step["run"], re.MULTILINE):
                    assert re.search(rf"^{target}:", (TOP / "Makefile").read_text(), re.MULTILINE), target
    matrix = set(re.findall(r"matrix\.(\w+)", text))
    known = {name for job in workflow["jobs"].values() for name in job.get("strategy", {}).get("matrix", {})}
    assert matrix <= known


def test_dockerfile_when_read_expect_every_package_and_good_shell():
    text = (TOP / "setup" / "Dockerfile").read_text()
    lines = re.sub(r"\\\n", " ", text).splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    assert {word for word, _ in steps} <= {"ARG", "FROM", "SHELL", "WORKDIR", "COPY", "RUN", "ENTRYPOINT", "CMD"}
    for word, rest in steps:
        if word == "RUN":
            check_shell(rest)
        elif word == "COPY":
            assert (TOP / rest.split()[0]).exists(), rest
        elif word in ("SHELL", "ENTRYPOINT", "CMD"):
            assert all(isinstance(item, str) for item in yaml.safe_load(rest))
    copied = {rest.split()[0] for word, rest in steps if word == "COPY"}
    assert {str(path.parent.relative_to(TOP)) for path in MANIFESTS} <= copied


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.parent.name)
def test_changelog_when_read_by_the_release_tools_expect_the_version_of_the_manifest(path):
    package = parse_package(str(path))
    log = path.with_name("CHANGELOG.rst")
    assert log.read_text().splitlines()[1] == f"Changelog for package {package.name}"
    versions = [version for version, _, _ in get_changelog_from_path(str(log)).foreach_version()]
    assert versions[-1] == package.version
    assert {url.type for url in package.urls} == {"website", "repository", "bugtracker"}
