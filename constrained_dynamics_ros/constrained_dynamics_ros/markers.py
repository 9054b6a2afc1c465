# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Force and torque arrows as markers. The core's ForceDrawing decides what is drawn, as for the C++ nodes."""

import math

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

import constrained_dynamics as cd

# Parameters below `markers`: those of the core's ForceStyle.
STYLE_NAMES = [name for name in dir(cd.ForceStyle) if not name.startswith("_")]
KINDS = {"arrow": Marker.ARROW, "sphere": Marker.SPHERE, "text": Marker.TEXT_VIEW_FACING}


def style_default(name):
    """The default of a parameter. Colours have single precision in the core and are rounded to six digits."""
    value = getattr(cd.ForceStyle(), name)
    return [round(part, 6) for part in value] if isinstance(value, list) else value


def make_style(values):
    """A ForceStyle from values by name. Raises ValueError naming one of the wrong size."""
    style = cd.ForceStyle()
    for name, value in values.items():
        default = getattr(style, name)
        if isinstance(default, list) and len(value) != len(default):
            raise ValueError(f"markers.{name}: {list(value)}; allowed: {len(default)} numbers")
        setattr(style, name, list(value) if isinstance(default, list) else value)
    return style


class Markers:
    """The shapes of a ForceDrawing, copied field by field: group as namespace, id as id."""

    def __init__(self, dynamics, style, world_frame, lifetime):
        if not (math.isfinite(lifetime) and lifetime >= 0.0):
            raise ValueError(f"markers.lifetime: {lifetime}; allowed: a number above 0, or 0")
        self._drawing = cd.ForceDrawing(dynamics, style)
        self._lifetime = Duration(sec=int(lifetime), nanosec=int((lifetime - int(lifetime)) * 1e9))
        self._frame = world_frame
        self.message = MarkerArray(markers=[self._marker(shape) for shape in self._drawing.shapes])

    def _marker(self, shape):
        marker = Marker(ns=shape.group, id=shape.id, type=KINDS[shape.kind], lifetime=self._lifetime)
        marker.header.frame_id = self._frame
        marker.pose.orientation.w = 1.0
        return marker

    def write(self, hosted, stamp):
        hosted.draw(self._drawing)
        for shape, marker in zip(self._drawing.shapes, self.message.markers):
            marker.header.stamp = stamp
            _write_shape(shape, marker)
        return self.message


def _write_shape(shape, marker):
    marker.action = Marker.ADD if shape.is_visible else Marker.DELETE
    if shape.kind == "arrow":
        marker.points = [_vector(Point, shape.position), _vector(Point, shape.tip)]
    else:
        marker.pose.position = _vector(Point, shape.position)
    marker.scale = _vector(Vector3, shape.size)
    r, g, b, a = shape.colour
    marker.color = ColorRGBA(r=r, g=g, b=b, a=a)
    marker.text = shape.text


def _vector(message, values):
    x, y, z = values.tolist()
    return message(x=x, y=y, z=z)
