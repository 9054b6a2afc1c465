# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""What the launch files make of their arguments, good and bad; nothing is started."""

import os
import unittest
import xml.etree.ElementTree as xml

import xacro
import yaml
from launch_ros.actions import Node

from constrained_dynamics_bringup import controlled_robot, played_scenario, share, your_robot
from constrained_dynamics_bringup.bringup import scenario_names
from launch import LaunchContext

ROBOTS = ("arm_on_wall", "four_bar", "two_arms", "mobile_arm", "rolling_disk")


def visit(description, **arguments):
    """Give what a launch description starts."""
    context = LaunchContext()
    context.launch_configurations.update(arguments)
    entities = []
    for entity in description.entities:
        entities += entity.visit(context) or []
    return context, [entity for entity in entities if isinstance(entity, Node)]


def spawned(nodes):
    """Give the arguments of the spawner as texts."""
    for node in nodes:
        if node.node_executable == "spawner":
            return ["".join(part.text for part in word) for word in node.cmd[1:-1]]
    return []


class LaunchArguments(unittest.TestCase):
    """The arguments of all launch files."""

    def assert_refused(self, parts, description, **arguments):
        with self.assertRaises(ValueError) as caught:
            visit(description, **arguments)
        for part in parts:
            self.assertIn(part, str(caught.exception))

    def test_when_all_is_default_expect_robot_manager_spawner_rviz(self):
        for name in ROBOTS:
            with self.subTest(name):
                _, nodes = visit(controlled_robot(name))
                self.assertEqual(
                    ["robot_state_publisher", "ros2_control_node", "spawner", "rviz2"],
                    [node.node_executable for node in nodes],
                )

    def test_when_controller_is_none_expect_joint_states_only(self):
        _, nodes = visit(controlled_robot("four_bar"), controller="none")
        names = [word for word in spawned(nodes) if word.endswith(("er", "or"))]
        self.assertEqual(["joint_state_broadcaster"], names)

    def test_when_controllers_are_several_expect_all(self):
        _, nodes = visit(controlled_robot("four_bar"), controller="a_controller, b_broadcaster")
        self.assertEqual(["joint_state_broadcaster", "a_controller", "b_broadcaster"], spawned(nodes)[:3])

    def test_when_rate_is_bad_expect_error_that_names_it(self):
        for rate in ("0", "-5", "fast", "nan", "inf", "99.5", ""):
            with self.subTest(rate):
                self.assert_refused(("rate", f"'{rate}'", "above 0"), controlled_robot("four_bar"), rate=rate)

    def test_when_a_switch_is_bad_expect_error_that_names_it(self):
        for key in ("rviz", "use_sim_time"):
            self.assert_refused((key, "'maybe'", "true and false"), controlled_robot("four_bar"), **{key: "maybe"})

    def test_when_parameters_are_no_file_expect_error_that_names_them(self):
        self.assert_refused(("parameters", "/nowhere.yaml"), controlled_robot("four_bar"), parameters="/nowhere.yaml")

    def test_when_robot_is_unknown_expect_error_that_names_those_that_exist(self):
        with self.assertRaises(ValueError) as caught:
            controlled_robot("five_bar")
        self.assertIn("five_bar", str(caught.exception))
        self.assertIn("four_bar", str(caught.exception))

    def test_when_system_is_unknown_expect_error_that_names_those_that_exist(self):
        self.assert_refused(("system", "'perpetuum_mobile'", "rolling_coin"), played_scenario("perpetuum_mobile"))

    def test_when_system_is_any_scenario_expect_a_player(self):
        for name in scenario_names():
            _, nodes = visit(played_scenario("rolling_coin"), system=name)
            self.assertEqual("scenario_player", nodes[0].node_executable)


class YourRobot(unittest.TestCase):
    """The launch file of any robot."""

    FOUR_BAR = {
        "description": share("robots", "four_bar.urdf"),
        "scenario": share("systems", "four_bar.yaml"),
        "simulate": "true",
    }

    def test_when_description_and_scenario_are_given_expect_a_simulated_robot(self):
        _, nodes = visit(your_robot(), **self.FOUR_BAR)
        self.assertEqual(
            ["robot_state_publisher", "ros2_control_node", "spawner", "static_transform_publisher", "rviz2"],
            [node.node_executable for node in nodes],
        )
        self.assertEqual(["joint_state_broadcaster", "servo_constraint_controller"], spawned(nodes)[:2])

    def test_when_controllers_are_given_expect_those(self):
        _, nodes = visit(
            your_robot(),
            description=share("robots", "four_bar.urdf.xacro"),
            controllers=share("controllers", "four_bar.yaml"),
        )
        self.assertEqual(["joint_state_broadcaster", "servo_constraint_controller"], spawned(nodes)[:2])

    def test_when_files_are_missing_expect_errors_that_name_them(self):
        for key in ("description", "scenario", "controllers"):
            with self.subTest(key), self.assertRaises(ValueError) as caught:
                visit(your_robot(), **{**self.FOUR_BAR, key: "/nowhere"})
            self.assertIn(key, str(caught.exception))
            self.assertIn("/nowhere", str(caught.exception))
        with self.assertRaises(ValueError) as caught:
            visit(your_robot(), **{**self.FOUR_BAR, "scenario": ""})
        self.assertIn("scenario and controllers", str(caught.exception))
        with self.assertRaises(ValueError) as caught:
            visit(your_robot(), **{**self.FOUR_BAR, "simulate": "false"})
        self.assertIn("<ros2_control>", str(caught.exception))


class Files(unittest.TestCase):
    """The files that belong to a launch file fit together."""

    def test_descriptions_have_the_hardware_and_its_scenario(self):
        for name in ROBOTS:
            with self.subTest(name):
                file = share("robots", f"{name}.urdf.xacro")
                for plugin in ("constrained_dynamics_ros/ConstrainedSystem", "driver/Robot"):
                    text = xacro.process_file(file, mappings={"plugin": plugin}).toxml()
                    robot = xml.fromstring(text)
                    self.assertEqual(plugin, robot.findtext("ros2_control/hardware/plugin"))
                    scenario = robot.findtext("ros2_control/hardware/param[@name='scenario']")
                    if plugin == "driver/Robot":
                        self.assertIsNone(scenario)
                    else:
                        prefix = "package://constrained_dynamics_config/"
                        self.assertTrue(scenario.startswith(prefix))
                        share(*scenario[len(prefix) :].split("/"))

    def test_names_in_descriptions_are_unique(self):
        for name in ROBOTS:
            robot = xml.fromstring(xacro.process_file(share("robots", f"{name}.urdf.xacro")).toxml())
            for kind in ("link", "joint", "material"):
                names = [item.get("name") for item in robot.findall(kind)]
                self.assertEqual(sorted(set(names)), sorted(names), f"{name}: {kind}")

    def test_joints_of_controllers_are_joints_with_interfaces(self):
        for name in ROBOTS:
            robot = xml.fromstring(xacro.process_file(share("robots", f"{name}.urdf.xacro")).toxml())
            commands = {
                joint.get("name"): bool(joint.findall("command_interface"))
                for joint in robot.find("ros2_control").findall("joint")
            }
            with open(share("controllers", f"{name}.yaml"), encoding="utf-8") as file:
                sections = yaml.safe_load(file)
            for controller, section in sections.items():
                parameters = section["ros__parameters"]
                if controller == "controller_manager":
                    continue
                if controller == "joint_state_broadcaster":
                    self.assertEqual(set(commands), set(parameters["joints"]))
                    continue
                with self.subTest(f"{name} {controller}"):
                    self.assertEqual(
                        commands,
                        {
                            **{joint: True for joint in parameters.get("joints", [])},
                            **{joint: False for joint in parameters.get("passive_joints", [])},
                        },
                    )

    def test_layouts_show_robot_frames_and_forces(self):
        for file in sorted(os.listdir(share("rviz"))):
            with self.subTest(file), open(share("rviz", file), encoding="utf-8") as text:
                displays = yaml.safe_load(text)["Visualization Manager"]["Displays"]
                kinds = {display["Class"].split("/")[1] for display in displays}
                self.assertLessEqual({"RobotModel", "TF", "MarkerArray"}, kinds)
                for display in displays:
                    if display["Class"].endswith("/MarkerArray"):
                        self.assertEqual(1, display["Topic"]["Depth"])


if __name__ == "__main__":
    unittest.main()
