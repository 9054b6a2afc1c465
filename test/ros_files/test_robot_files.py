# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""What your_robot.launch.py makes of robot descriptions and parameters: published robots and bad input."""

import importlib.util
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

TOP = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location(
    "robot_files", TOP / "launch" / "constrained_dynamics_bringup" / "robot_files.py"
)
robot_files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(robot_files)

PUBLISHED = sorted(Path(os.environ.get("EXAMPLE_ROBOT_DATA", "missing")).rglob("*.urdf"))
ROBOT = """<?xml version="1.0"?>
<robot name="r">
  <!-- ${left alone} -->
  <link name="base"/><link name="a"/><link name="b"/><link name="c"/><link name="tool"/>
  <joint name="j1" type="revolute"><parent link="base"/><child link="a"/></joint>
  <joint name="j2" type="prismatic"><parent link="a"/><child link="b"/></joint>
  <joint name="j3" type="revolute"><parent link="b"/><child link="c"/><mimic joint="j1"/></joint>
  <joint name="j4" type="fixed"><parent link="c"/><child link="tool"/></joint>
</robot>
"""


def test_motors_when_joints_mimic_or_are_fixed_expect_the_others():
    assert robot_files.motors(ROBOT) == ["j1", "j2"]
    assert robot_files.root_link(ROBOT) == "base"


def test_simulation_when_added_expect_a_tag_for_each_motor_and_the_rest_unchanged():
    text = robot_files.with_simulation(ROBOT, "/robot/wall.yaml", True)
    assert "<!-- ${left alone} -->" in text and not robot_files.has_hardware(ROBOT)
    tag = ElementTree.fromstring(text).find("ros2_control")
    assert tag.findtext("hardware/plugin") == "constrained_dynamics_ros/ConstrainedSystem"
    assert tag.findtext("hardware/param[@name='scenario']") == "/robot/wall.yaml"
    assert [joint.get("name") for joint in tag.findall("joint")] == ["j1", "j2"]
    assert all(joint.find("command_interface").get("name") == "effort" for joint in tag.findall("joint"))


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_published_robots_when_simulated_expect_a_tag_and_one_root(path):
    text = path.read_text(encoding="utf-8")
    if not robot_files.motors(text):
        pytest.skip("no joint of it can be driven")
    text = robot_files.with_simulation(text, "", False)
    tags = ElementTree.fromstring(text).findall("ros2_control")
    assert [tag.findtext("hardware/plugin") for tag in tags] == [robot_files.SIMULATION]
    assert robot_files.root_link(text)


def test_default_parameters_expect_a_controller_that_is_found_again():
    parameters = robot_files.default_parameters(ROBOT, "/robot/wall.yaml")
    assert robot_files.controllers_of(parameters) == ["servo_constraint_controller"]
    assert parameters["servo_constraint_controller"]["ros__parameters"]["joints"] == ["j1", "j2"]
    text = yaml.safe_dump(parameters)
    assert "&" not in text and "*" not in text  # rcl refuses aliases


@pytest.mark.parametrize(
    "call, parts",
    [
        (lambda: robot_files.motors("robot"), ["description", "no XML"]),
        (lambda: robot_files.motors("<sdf/>"), ["<sdf>", "<robot>"]),
        (lambda: robot_files.root_link(ROBOT.replace('<link name="tool"/>', '<link name="x"/>')), ["base, x"]),
        (lambda: robot_files.default_parameters("<robot/>", ""), ["no joint"]),
        (lambda: robot_files.controllers_of({}), ["controller_manager", "none"]),
        (
            lambda: robot_files.controllers_of({"controller_manager": {"ros__parameters": {"a": {"type": "b/C"}}}}),
            ["a (b/C)", "ServoConstraintController"],
        ),
    ],
)
def test_bad_input_expect_a_message_that_names_it(call, parts):
    with pytest.raises(ValueError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)
