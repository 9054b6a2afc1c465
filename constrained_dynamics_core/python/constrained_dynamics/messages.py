# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Messages of ROS 2 as bytes, for recordings: their definitions, and templates of their CDR form.

Within a run almost no field of a message changes its length: names, links and labels stay the same. A template is
laid out once, and each message is a copy of it with new numbers.
"""

import struct
from pathlib import Path

import numpy as np

_OWN = Path(__file__).parent / "msg"
_STANDARD = {
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec",
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id",
    "geometry_msgs/Point": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Quaternion": "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1",
    "geometry_msgs/Wrench": "geometry_msgs/Vector3 force\ngeometry_msgs/Vector3 torque",
    "geometry_msgs/Transform": "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation",
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform"
    ),
    "tf2_msgs/TFMessage": "geometry_msgs/TransformStamped[] transforms",
    "sensor_msgs/JointState": (
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort"
    ),
}


def _text(kind):
    if kind in _STANDARD:
        return _STANDARD[kind] + "\n"
    return (_OWN / (kind.split("/")[1] + ".msg")).read_text(encoding="utf-8")


def _parts(kind):
    """Message types that a definition refers to."""
    package = kind.split("/")[0]
    for line in _text(kind).splitlines():
        words = line.split("#")[0].split()
        if len(words) < 2:
            continue
        name = words[0].split("[")[0]
        if "/" in name:
            yield name
        elif name[0].isupper():
            yield package + "/" + name


def definition(kind):
    """The definition of a message type, "package/Name", with all types in it (encoding ros2msg)."""
    order, waiting = [], [kind]
    while waiting:
        name = waiting.pop(0)
        if name not in order:
            order.append(name)
            waiting += _parts(name)
    text = _text(kind)
    for name in order[1:]:
        text += "=" * 80 + "\nMSG: " + name + "\n" + _text(name)
    return text


class Template:
    """The CDR form of one message (little endian, plain CDR), laid out field by field."""

    HEADER = b"\x00\x01\x00\x00"

    def __init__(self):
        self._body = bytearray()
        self._doubles, self._words, self._longs, self._bytes = [], [], [], []

    def _align(self, size):
        self._body += b"\0" * (-len(self._body) % size)

    # ---- fields, in the order of the definition; `encode` fills those that get no value here

    def doubles(self, count):
        self._align(8)
        self._doubles += range(len(self._body) // 8, len(self._body) // 8 + count)
        self._body += bytes(8 * count)
        return self

    def words(self, count):
        """int32 or uint32."""
        self._align(4)
        self._words += range(len(self._body) // 4, len(self._body) // 4 + count)
        self._body += bytes(4 * count)
        return self

    def long(self):
        """uint64"""
        self._align(8)
        self._longs.append(len(self._body) // 8)
        self._body += bytes(8)
        return self

    def boolean(self):
        self._bytes.append(len(self._body))
        self._body += b"\0"
        return self

    def length(self, count):
        """Of a sequence whose elements follow."""
        self._align(4)
        self._body += struct.pack("<I", count)
        return self

    def double_sequence(self, count):
        self.length(count)
        return self.doubles(count) if count else self

    def string(self, text):
        data = text.encode("utf-8") + b"\0"
        self.length(len(data))
        self._body += data
        return self

    def strings(self, texts):
        self.length(len(texts))
        for text in texts:
            self.string(text)
        return self

    def header(self, frame):
        return self.words(2).string(frame)

    # ---- messages

    def finish(self):
        self._size = len(self._body)
        self._align(8)
        self._places = [
            np.array(places, dtype=np.intp) for places in (self._doubles, self._words, self._longs, self._bytes)
        ]
        return self

    def encode(self, doubles=(), words=(), longs=(), booleans=()):
        """Bytes of a message; values of each kind in the order of their fields."""
        body = bytearray(self._body)
        for places, kind, values in zip(self._places, ("<f8", "<u4", "<u8", "u1"), (doubles, words, longs, booleans)):
            if len(places):
                np.frombuffer(body, kind)[places] = values
        return self.HEADER + bytes(body[: self._size])


def stamp(time):
    """Seconds and nanoseconds of a time [s] that is not negative."""
    nanoseconds = int(round(time * 1e9))
    return nanoseconds // 10**9, nanoseconds % 10**9
