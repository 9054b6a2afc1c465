# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Force and torque arrows as markers: the same as those of the C++ nodes (markers.hpp)."""

import math
from dataclasses import dataclass, fields

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

TEXT_ASPECT = 0.3  # RViz makes spaces very wide where scale.x of a text is not set


@dataclass
class MarkerStyle:
    """The appearance of forces."""

    force_scale: float = 0.01  # arrow length [m] a newton
    torque_scale: float = 0.05  # arrow length [m] a newton metre
    shaft_diameter: float = 0.01  # [m]
    smallest_length: float = 1e-3  # [m]; shorter arrows are not shown
    largest_length: float = 1.0  # [m]; longer arrows are cut, with a text that says so
    force_colour: tuple = (0.85, 0.2, 0.15, 1.0)
    torque_colour: tuple = (0.1, 0.45, 0.85, 1.0)
    inactive_colour: tuple = (0.6, 0.6, 0.6, 0.4)
    legend: bool = True  # scale, colours, the largest force
    text_height: float = 0.05  # [m]
    legend_position: tuple = (0.0, 0.0, 1.5)  # in the world [m]
    lifetime: float = 1.0  # [s] after which what is not renewed vanishes; 0: never

    def check(self):
        """Raises ValueError naming what is not allowed."""
        for field in fields(self):
            value = getattr(self, field.name)
            zero = field.name in ("smallest_length", "lifetime")
            if field.type is float and not (math.isfinite(value) and (value > 0.0 or zero and value == 0.0)):
                raise ValueError(f"markers: {field.name}: {value}; allowed: a number above 0{', or 0' if zero else ''}")
            if field.name.endswith("_colour") and not (len(value) == 4 and all(0.0 <= part <= 1.0 for part in value)):
                raise ValueError(f"markers: {field.name}: {list(value)}; allowed: 4 numbers from 0 to 1")
        if not (len(self.legend_position) == 3 and all(map(math.isfinite, self.legend_position))):
            raise ValueError(f"markers: legend_position: {list(self.legend_position)}; allowed: 3 finite numbers")


class Markers:
    """The markers of a hosted scenario. Namespaces: force, torque, point, name (ids: index of the wrench),
    legend (0: scale of forces, 1: of torques, 2: the largest force)."""

    def __init__(self, hosted, style, world_frame):
        style.check()
        self.style, self._frame = style, world_frame
        self._wrenches = []  # index of the constraint, markers
        for i in range(len(hosted.constraints)):
            for k in range(len(hosted.constraints[i].wrench_bodies)):
                self._wrenches.append((i, self._wrench(hosted.constraints.wrench_offset(i) + k)))
        self._legend = self._make_legend() if style.legend else []
        self._names = [hosted.constraints[i].name for i in range(len(hosted.constraints))]
        self.message = MarkerArray(
            markers=[marker for _, markers in self._wrenches for marker in markers] + self._legend
        )

    def _marker(self, namespace, index, kind, colour):
        marker = Marker(ns=namespace, id=index, type=kind, action=Marker.DELETE, color=_colour(colour))
        marker.header.frame_id = self._frame
        marker.pose.orientation.w = 1.0
        seconds = int(self.style.lifetime)
        marker.lifetime = Duration(sec=seconds, nanosec=int((self.style.lifetime - seconds) * 1e9))
        return marker

    def _arrow(self, namespace, index, colour):
        marker = self._marker(namespace, index, Marker.ARROW, colour)
        marker.points = [Point(), Point()]
        marker.scale.x, marker.scale.y = self.style.shaft_diameter, 2.0 * self.style.shaft_diameter
        return marker

    def _text(self, namespace, index, colour, text=""):
        marker = self._marker(namespace, index, Marker.TEXT_VIEW_FACING, colour)
        marker.scale.x, marker.scale.z = TEXT_ASPECT * self.style.text_height, self.style.text_height
        marker.text = text
        return marker

    def _wrench(self, index):
        style = self.style
        point = self._marker("point", index, Marker.SPHERE, style.force_colour)
        point.scale.x = point.scale.y = point.scale.z = 2.0 * style.shaft_diameter
        return (
            self._arrow("force", index, style.force_colour),
            self._arrow("torque", index, style.torque_colour),
            point,
            self._text("name", index, style.force_colour),
        )

    def _make_legend(self):
        style = self.style
        lines = [
            (f"force: 1 m = {1.0 / style.force_scale:.4g} N", style.force_colour),
            (f"torque: 1 m = {1.0 / style.torque_scale:.4g} N m", style.torque_colour),
            ("", style.force_colour),
        ]
        markers = []
        for i, (text, colour) in enumerate(lines):
            marker = self._text("legend", i, colour, text)
            marker.action = Marker.ADD if text else Marker.DELETE  # RViz ends on an empty text
            x, y, z = (float(part) for part in style.legend_position)
            marker.pose.position = Point(x=x, y=y, z=z - 1.2 * style.text_height * i)
            markers.append(marker)
        return markers

    def write(self, hosted, stamp):
        style = self.style
        largest, largest_name = 0.0, None
        for (constraint, markers), pair in zip(self._wrenches, hosted.solution.wrenches):
            wrench = pair.on_a
            point, force, torque = wrench.point.tolist(), wrench.force.tolist(), wrench.torque.tolist()
            force_size, torque_size = math.hypot(*force), math.hypot(*torque)
            # Sliding and compliant contacts push without being active.
            acts = hosted.active[constraint] or force_size > 0.0 or torque_size > 0.0
            colour = _colour(style.force_colour if acts else style.inactive_colour)
            force_arrow, torque_arrow, sphere, name = markers
            self._write_arrow(force_arrow, point, force, force_size, style.force_scale)
            self._write_arrow(torque_arrow, point, torque, torque_size, style.torque_scale)
            sphere.action = name.action = Marker.ADD
            sphere.color = name.color = colour
            sphere.pose.position = Point(x=point[0], y=point[1], z=point[2])
            name.pose.position = Point(x=point[0], y=point[1], z=point[2] + style.text_height)
            name.text = self._names[constraint] + self._cut(force_size, torque_size)
            if force_size > largest:
                largest, largest_name = force_size, self._names[constraint]
        if self._legend:
            self._legend[2].action = Marker.ADD
            self._legend[2].text = "largest force: " + (f"{largest:.4g} N, {largest_name}" if largest_name else "none")
        for marker in self.message.markers:
            marker.header.stamp = stamp
        return self.message

    def _write_arrow(self, marker, point, vector, size, scale):
        length = scale * size
        if not length >= self.style.smallest_length:
            marker.action = Marker.DELETE
            return
        factor = scale * min(1.0, self.style.largest_length / length)
        marker.action = Marker.ADD
        marker.points = [
            Point(x=point[0], y=point[1], z=point[2]),
            Point(x=point[0] + factor * vector[0], y=point[1] + factor * vector[1], z=point[2] + factor * vector[2]),
        ]

    def _cut(self, force, torque):
        """What the arrows of a wrench do not show in full."""
        cut = []
        if self.style.force_scale * force > self.style.largest_length:
            cut.append(f"{force:.3g} N")
        if self.style.torque_scale * torque > self.style.largest_length:
            cut.append(f"{torque:.3g} N m")
        return f" (cut: {', '.join(cut)})" if cut else ""


def _colour(rgba):
    r, g, b, a = (float(part) for part in rgba)
    return ColorRGBA(r=r, g=g, b=b, a=a)
