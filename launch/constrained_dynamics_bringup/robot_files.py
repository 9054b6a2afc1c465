# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""What your_robot.launch.py makes of a robot description and parameters. Nothing here needs ROS."""

import re
from xml.etree import ElementTree

SIMULATION = "constrained_dynamics_ros/ConstrainedSystem"
SERVO = "ServoConstraintController"
BROADCASTER = "ConstraintForceBroadcaster"


def _robot(description):
    try:
        robot = ElementTree.fromstring(description)
    except ElementTree.ParseError as error:
        raise ValueError(f"launch argument description: the text is no XML ({error})") from error
    if robot.tag != "robot":
        raise ValueError(f"launch argument description: its root is <{robot.tag}>; allowed is a URDF with <robot>")
    return robot


def motors(description):
    """Give the joints that can be driven: those that move and do not mimic another, in the order of the file."""
    return [
        joint.get("name")
        for joint in _robot(description).findall("joint")
        if joint.get("type") in ("revolute", "continuous", "prismatic") and joint.find("mimic") is None
    ]


def root_link(description):
    """Give the link that is no child of any joint."""
    robot = _robot(description)
    children = {joint.find("child").get("link") for joint in robot.findall("joint") if joint.find("child") is not None}
    roots = [link.get("name") for link in robot.findall("link") if link.get("name") not in children]
    if len(roots) != 1:
        raise ValueError(
            f"launch argument description: links without a parent are {', '.join(roots) or 'none'}; allowed is one"
        )
    return roots[0]


def has_hardware(description):
    """Whether the description has a <ros2_control> tag."""
    return _robot(description).find("ros2_control") is not None


def with_simulation(description, scenario, waits):
    """
    Give the description with the simulated hardware and an effort interface for each motor.

    <ros2_control> tags that it has are replaced. scenario: its path; empty: the robot alone.
    waits: whether the robot stands still until it is commanded.
    """
    joints = "".join(
        f'    <joint name="{name}">\n'
        '      <command_interface name="effort"/>\n'
        '      <state_interface name="position"/>\n'
        '      <state_interface name="velocity"/>\n'
        '      <state_interface name="effort"/>\n'
        "    </joint>\n"
        for name in motors(description)
    )
    given = f'      <param name="scenario">{scenario}</param>\n' if scenario else ""
    tag = (
        '  <ros2_control name="simulated_robot" type="system">\n'
        "    <hardware>\n"
        f"      <plugin>{SIMULATION}</plugin>\n{given}"
        f'      <param name="wait_for_controller">{"true" if waits else "false"}</param>\n'
        "    </hardware>\n"
        f"{joints}  </ros2_control>\n"
    )
    description = re.sub(r"<ros2_control\b.*?</ros2_control\s*>", "", description, flags=re.DOTALL)
    end = description.rindex("</robot>")
    return description[:end] + tag + description[end:]


def default_parameters(description, scenario):
    """Give parameters for a robot without any: joint states, a servo controller and a broadcaster for all motors."""
    joints = motors(description)
    if not joints:
        raise ValueError("launch argument description: no joint can be driven; allowed is a robot with at least one")

    # Separate lists: YAML would write a repeated list as an alias, which rcl refuses.
    def model():
        return {"scenario": scenario, "joints": list(joints)}

    types = {
        "joint_state_broadcaster": "joint_state_broadcaster/JointStateBroadcaster",
        "servo_constraint_controller": f"constrained_dynamics_controllers/{SERVO}",
        "constraint_force_broadcaster": f"constrained_dynamics_controllers/{BROADCASTER}",
    }
    return {
        "controller_manager": {
            "ros__parameters": {"update_rate": 500, **{name: {"type": kind} for name, kind in types.items()}}
        },
        # Without names it would also publish the forces that controllers export as state interfaces.
        "joint_state_broadcaster": {
            "ros__parameters": {"joints": list(joints), "interfaces": ["position", "velocity", "effort"]}
        },
        "servo_constraint_controller": {"ros__parameters": model()},
        "constraint_force_broadcaster": {"ros__parameters": model()},
    }


def controllers_of(parameters):
    """Give the names of the first controller of this project in parameters: a servo controller, else a broadcaster."""
    managed = (parameters.get("controller_manager") or {}).get("ros__parameters") or {}
    kinds = {name: str(value.get("type")) for name, value in managed.items() if isinstance(value, dict)}
    for kind in (SERVO, BROADCASTER):
        for name, of in kinds.items():
            if of.endswith("/" + kind):
                return [name]
    raise ValueError(
        f"launch argument controllers: section controller_manager names no controller whose type is {SERVO} or "
        f"{BROADCASTER}; it has {', '.join(f'{n} ({k})' for n, k in kinds.items()) or 'none'}"
    )
