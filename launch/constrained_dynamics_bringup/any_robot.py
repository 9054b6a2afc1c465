# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""The launch description of any robot, given by its files."""

import os
import tempfile

import xacro
import yaml
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from constrained_dynamics_bringup import robot_files
from constrained_dynamics_bringup.bringup import (
    boolean,
    common_arguments,
    existing_file,
    robot_nodes,
    rviz_node,
    split_names,
    whole_number,
)
from launch import LaunchDescription


def _read_description(path):
    # xacro would evaluate ${…} in the comments of a plain URDF.
    if path.endswith(".xacro"):
        return xacro.process_file(path).toxml()
    with open(path, encoding="utf-8") as file:
        return file.read()


def _read_parameters(path):
    with open(path, encoding="utf-8") as file:
        parameters = yaml.safe_load(file)
    if not isinstance(parameters, dict):
        raise ValueError(f"launch argument controllers: {path} is no map of sections")
    return parameters


def _written(parameters):
    """Write the parameters to a file and give its path."""
    folder = tempfile.mkdtemp(prefix="constrained_dynamics_")
    path = os.path.join(folder, "controllers.yaml")
    with open(path, "w", encoding="utf-8") as file:
        yaml.safe_dump(parameters, file, default_flow_style=None, sort_keys=False)
    return path


def _start(context):
    def argument(key):
        return LaunchConfiguration(key).perform(context)

    boolean("rviz", argument("rviz"))
    clock = {"use_sim_time": boolean("use_sim_time", argument("use_sim_time"))}
    description = _read_description(existing_file("description", argument("description")))
    scenario = argument("scenario")
    if scenario and not scenario.startswith("package://"):
        scenario = os.path.abspath(existing_file("scenario", scenario))
    if argument("controllers"):
        path = existing_file("controllers", argument("controllers"))
        parameters = _read_parameters(path)
    elif scenario:
        parameters = robot_files.default_parameters(description, scenario)
        path = _written(parameters)
        print(f"your_robot: parameters of the controllers were written to {path}")
    else:
        raise ValueError("launch arguments scenario and controllers are both empty; allowed is at least one of them")
    names = split_names(argument("controller")) if argument("controller") else robot_files.controllers_of(parameters)
    if boolean("simulate", argument("simulate")):
        is_driven = any(not name.endswith("broadcaster") for name in names)
        description = robot_files.with_simulation(description, scenario, is_driven)
    elif not robot_files.has_hardware(description):
        raise ValueError(
            "launch argument description: it has no <ros2_control> tag, so that there is no hardware; allowed are "
            "simulate:=true, or a description with a tag"
        )
    cycles = {"update_rate": whole_number("rate", argument("rate"))} if argument("rate") else {}
    nodes = robot_nodes(description, path, cycles, clock, names, scenario)
    root = robot_files.root_link(description)
    if root != "world":
        nodes.append(
            Node(
                package="tf2_ros",
                executable="static_transform_publisher",
                arguments=["--frame-id", "world", "--child-frame-id", root],
            )
        )
    return [*nodes, rviz_node(clock)]


def your_robot():
    """Describe a robot under controller_manager with its controllers, its state and RViz; the files are arguments."""
    return LaunchDescription(
        [
            DeclareLaunchArgument("description", description="robot description: a URDF, or a xacro (*.xacro)"),
            DeclareLaunchArgument(
                "scenario",
                default_value="",
                description="constraints and tasks: a path or package://…; empty: those that the parameters name",
            ),
            DeclareLaunchArgument(
                "controllers",
                default_value="",
                description="parameters of controller_manager and the controllers; empty: a servo controller and a "
                "broadcaster of all joints that can be driven",
            ),
            DeclareLaunchArgument(
                "controller",
                default_value="",
                description="controllers to start, separated by commas; empty: the first servo controller of the "
                "parameters, else the first broadcaster; none: the robot moves freely",
            ),
            DeclareLaunchArgument(
                "simulate",
                default_value="false",
                description="simulate the robot instead of the hardware that its description names, if any",
            ),
            DeclareLaunchArgument(
                "rate", default_value="", description="controller cycles per second; empty: that of the parameters"
            ),
            *common_arguments("your_robot.rviz"),
            OpaqueFunction(function=_start),
        ]
    )
