# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""The program check_setup: exit codes and what it prints. What it finds is tested in the core."""

import os
import subprocess
from pathlib import Path

import pytest

CONFIG = Path(os.environ["CD_CONFIG"])
TAG = """
<ros2_control name="four_bar" type="system">
  <hardware><plugin>a_driver/Robot</plugin></hardware>
  <joint name="crank">
    <command_interface name="effort"/>
    <state_interface name="position"/><state_interface name="velocity"/><state_interface name="effort"/>
  </joint>
  <joint name="coupler"><state_interface name="position"/><state_interface name="velocity"/></joint>
  <joint name="rocker"><state_interface name="position"/><state_interface name="velocity"/></joint>
</ros2_control>
</robot>"""


def check(*arguments):
    command = [os.environ["CD_CHECK_SETUP"], *[str(argument) for argument in arguments]]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.fixture
def description(tmp_path):
    """The four-bar under a driver."""
    path = tmp_path / "robot.urdf"
    path.write_text((CONFIG / "robots" / "four_bar.urdf").read_text().replace("</robot>", TAG))
    return path


def test_when_files_fit_together_expect_exit_code_0(description):
    done = check("--description", description, "--controllers", CONFIG / "controllers" / "four_bar.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 errors" in done.stdout


def test_when_an_interface_is_missing_expect_exit_code_1_and_its_name(description):
    description.write_text(description.read_text().replace('<command_interface name="effort"/>', ""))
    done = check("--description", description, "--controllers", CONFIG / "controllers" / "four_bar.yaml")
    assert done.returncode == 1
    assert "joints: crank" in done.stdout and "command_interface" in done.stdout


@pytest.mark.parametrize(
    "arguments, parts",
    [
        (["--description"], ["'--description'", "needs a value"]),
        (["--robot", "x"], ["'--robot'", "no option"]),
        ([], ["--description and --controllers are needed"]),
        (["--description", "/nowhere", "--controllers", "/nowhere"], ["'/nowhere'", "cannot be read"]),
        (["--description", "package://no_such/x", "--controllers", "x"], ["no_such"]),
    ],
)
def test_when_usage_is_wrong_expect_exit_code_2_and_why(arguments, parts):
    done = check(*arguments)
    assert done.returncode == 2
    for part in parts:
        assert part in done.stderr
