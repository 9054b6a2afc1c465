# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Launch descriptions: a robot under ros2_control, and a scenario that a node plays."""

import os

import xacro
from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription

CONFIG = "constrained_dynamics_config"


def share(*parts):
    """Give the path of an installed file of package constrained_dynamics_config; raise where it does not exist."""
    path = os.path.join(get_package_share_directory(CONFIG), *parts)
    if not os.path.exists(path):
        folder = os.path.dirname(path)
        there = ", ".join(sorted(os.listdir(folder))) if os.path.isdir(folder) else "nothing"
        raise ValueError(f"{os.path.join(*parts)} is not in package {CONFIG}; there is: {there}")
    return path


def boolean(name, value):
    if value.lower() not in ("true", "false"):
        raise ValueError(f"launch argument {name} is '{value}'; allowed are true and false")
    return value.lower() == "true"


def _positive(name, value):
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not 0.0 < number < 1e6:
        raise ValueError(f"launch argument {name} is '{value}'; allowed is a number above 0")
    return number


def common_arguments(layout):
    return [
        DeclareLaunchArgument("rviz", default_value="true", description="start RViz (true or false)"),
        DeclareLaunchArgument("layout", default_value=share("rviz", layout), description="RViz layout"),
        DeclareLaunchArgument("use_sim_time", default_value="false", description="follow the topic /clock"),
    ]


def rviz_node(clock):
    return Node(
        package="rviz2",
        executable="rviz2",
        arguments=["-d", LaunchConfiguration("layout")],
        parameters=[clock],
        condition=IfCondition(LaunchConfiguration("rviz")),
    )


def whole_number(name, value):
    number = _positive(name, value)
    if number != round(number):
        raise ValueError(f"launch argument {name} is '{value}'; allowed is a whole number above 0")
    return int(number)


def existing_file(name, value):
    if not os.path.isfile(value):
        raise ValueError(f"launch argument {name} is '{value}', which is not a file")
    return value


def split_names(value):
    names = [name.strip() for name in value.split(",") if name.strip()]
    return [] if names == ["none"] else names


def _description(name, plugin, scenario, controllers):
    # Broadcasters command nothing, so the simulated robot moves by itself.
    is_driven = any(not controller.endswith("broadcaster") for controller in controllers)
    mappings = {"plugin": plugin, "wait_for_controller": "true" if is_driven else "false"}
    if scenario:
        mappings["scenario"] = scenario
    file = share("robots", f"{name}.urdf.xacro")
    return xacro.process_file(file, mappings=mappings).toxml()


def _end_on_failure(event, _):
    if event.returncode != 0:
        return [Shutdown(reason=f"{event.process_name} failed")]
    return []


def robot_nodes(description, parameters, cycles, clock, controllers, scenario=""):
    """
    Give the nodes of a robot under ros2_control: its state, controller_manager and a spawner.

    description: URDF text. parameters: file of controller_manager and controllers.
    cycles, clock: parameters that override those of the file. controllers: names to start.
    scenario: of the controllers; empty: the one that their parameters name.
    """
    # A scenario given on the command line applies to the controllers and to the hardware.
    given = [f"--controller-ros-args=-p scenario:={scenario}"] if scenario else []
    return [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            # Faster than the force markers (30 Hz), which would otherwise run ahead of the robot in RViz.
            parameters=[{"robot_description": description, "publish_frequency": 100.0}, clock],
            # Nothing works without it.
            on_exit=Shutdown(reason="robot_state_publisher ended"),
        ),
        Node(
            package="controller_manager",
            executable="ros2_control_node",
            parameters=[parameters, cycles, clock],
            remappings=[("~/robot_description", "/robot_description")],
            on_exit=Shutdown(reason="ros2_control_node ended"),
        ),
        Node(
            package="controller_manager",
            executable="spawner",
            arguments=["joint_state_broadcaster", *controllers, "--param-file", parameters, *given],
            on_exit=_end_on_failure,
        ),
    ]


def controlled_robot(name, controller="servo_constraint_controller", rate=500):
    """
    Describe a robot under controller_manager with its controller, its state and RViz.

    name: of robots/<name>.urdf.xacro, controllers/<name>.yaml and the layout
          rviz/<name>.rviz.
    controller, rate: defaults of the launch arguments.
    """

    def start(context):
        def argument(key):
            return LaunchConfiguration(key).perform(context)

        boolean("rviz", argument("rviz"))
        clock = {"use_sim_time": boolean("use_sim_time", argument("use_sim_time"))}
        controllers = split_names(argument("controller"))
        scenario = argument("scenario")
        description = _description(name, argument("hardware"), scenario, controllers)
        parameters = existing_file("parameters", argument("parameters"))
        cycles = {"update_rate": whole_number("rate", argument("rate"))}
        return [*robot_nodes(description, parameters, cycles, clock, controllers, scenario), rviz_node(clock)]

    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "controller",
                default_value=controller,
                description="controllers to start, separated by commas; none: the robot moves freely",
            ),
            DeclareLaunchArgument("rate", default_value=str(rate), description="controller cycles per second"),
            DeclareLaunchArgument(
                "hardware",
                default_value="constrained_dynamics_ros/ConstrainedSystem",
                description="hardware_interface plugin of the robot",
            ),
            DeclareLaunchArgument(
                "scenario",
                default_value="",
                description="constraints and servo-constraints: a path or package://…; "
                "empty: those of the description and the parameters",
            ),
            DeclareLaunchArgument(
                "parameters",
                default_value=share("controllers", f"{name}.yaml"),
                description="parameters of the controllers",
            ),
            *common_arguments(f"{name}.rviz"),
            OpaqueFunction(function=start),
        ]
    )


def scenario_names():
    """Give the names of the scenarios that are installed with this package."""
    return sorted(os.path.splitext(file)[0] for file in os.listdir(share("scenarios")) if file.endswith(".yaml"))


def played_scenario(system):
    """Describe a node that plays a scenario; system: default of the launch argument."""

    def start(context):
        def argument(key):
            return LaunchConfiguration(key).perform(context)

        boolean("rviz", argument("rviz"))
        clock = {"use_sim_time": boolean("use_sim_time", argument("use_sim_time"))}
        chosen = argument("system")
        if chosen in scenario_names():
            scenario = share("scenarios", f"{chosen}.yaml")
        elif os.path.isfile(chosen) or chosen.startswith("package://"):
            scenario = chosen
        else:
            raise ValueError(
                f"launch argument system is '{chosen}'; allowed are a file and " + ", ".join(scenario_names())
            )
        return [
            Node(
                package="constrained_dynamics_ros",
                executable="scenario_player",
                name="scenario_player",
                parameters=[
                    {
                        "scenario": scenario,
                        "rate": _positive("rate", argument("rate")),
                        "real_time_factor": _positive("real_time_factor", argument("real_time_factor")),
                        "markers.force_scale": _positive("force_scale", argument("force_scale")),
                        "markers.shaft_diameter": 0.02,
                        "markers.legend_position": [0.0, 0.0, 0.9],
                        "loop": True,
                        "view_frame": "view",
                    },
                    clock,
                ],
                on_exit=Shutdown(reason="scenario_player ended"),
            ),
            rviz_node(clock),
        ]

    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "system",
                default_value=system,
                description="a scenario: one of " + ", ".join(scenario_names()) + ", or a file",
            ),
            DeclareLaunchArgument("rate", default_value="100", description="messages per second"),
            DeclareLaunchArgument("real_time_factor", default_value="1", description="simulated seconds per second"),
            DeclareLaunchArgument("force_scale", default_value="0.03", description="length of arrows per newton [m/N]"),
            *common_arguments("textbook.rviz"),
            OpaqueFunction(function=start),
        ]
    )
