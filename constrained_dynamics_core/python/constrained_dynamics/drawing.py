# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""The drawing of a run: bodies, points, sticks, planes, arrows and a camera, as plain arrays."""

import re

import numpy as np

from .shapes import Shape, frame_along

# Colour-blind safe (Okabe and Ito).
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6a3d9a", "#999933"]
MOST_ARROWS = 60
FIELD_OF_VIEW = 45.0  # of the camera, from the lower to the upper edge [degrees]
STICK_COLOUR = (0.35, 0.4, 0.47)


class Arrow:
    """A force or torque of a constraint over the frames: point, vector (F, 3 each)."""

    def __init__(self, name, kind, point, vector, colour, body=""):
        self.name, self.kind, self.colour, self.body = name, kind, colour, body
        self.point, self.vector = np.asarray(point), np.asarray(vector)

    @property
    def largest(self):
        return float(np.linalg.norm(self.vector, axis=1).max(initial=0.0))


class Drawing:
    """Everything in the scene, moving or fixed, at the chosen output times `index` of a record."""

    def __init__(self, record, index, shapes=()):
        self.system = record.dynamics.system
        self.constraints = record.dynamics.constraints
        self.time = np.asarray(record.time)[index]
        self.q = np.ascontiguousarray(np.asarray(record.q)[index])
        self.shapes, self.sticks, self.points, self.arrows, self.trails = [], [], [], [], []
        self.frames, self.poses = [], np.zeros((len(index), 0, 4, 4))
        self.normals = []
        # Where points come from: frames, or the coordinates of particles ({axis: coordinate}).
        self.point_frames, self.point_coordinates = [], []
        if self.system.frame_names:
            self._draw_bodies(list(shapes))
            self._draw_constraints()
            self._draw_wrenches(record, index)
        else:
            self._draw_particles(record, index)
        self._measure()
        self._scale()

    # ---- bodies ------------------------------------------------------------------------------------

    def _draw_bodies(self, shapes):
        names = self.system.frame_names
        known = set(names)
        self.shapes = [shape for shape in shapes if shape.frame in known]
        drawn = {shape.frame for shape in self.shapes}
        everything = self.system.frame_poses(self.q, names)
        place = {name: everything[:, i, :3, 3] for i, name in enumerate(names)}
        extent = max((float(np.ptp(p, axis=0).max(initial=0.0)) for p in place.values()), default=0.0)
        positions = np.stack(list(place.values()), axis=1).reshape(-1, 3)
        extent = max(extent, float(np.ptp(positions, axis=0).max(initial=0.0)), 0.05)
        self.thickness = 0.005 * extent
        sticks = [(parent, child) for child, parent in self._joints() if child not in drawn or parent not in drawn]
        for a, b in dict.fromkeys(sticks + self._tool_sticks()):
            if np.linalg.norm(place[a] - place[b], axis=1).max() > 1e-6:
                self._stick(a, b, place)
        self._draw_free_bodies(place, drawn, extent)
        self.frames = list(
            dict.fromkeys(["world"] + [shape.frame for shape in self.shapes] + self._ends() + self._constraint_frames())
        )
        self.poses = self.system.frame_poses(self.q, self.frames)
        self.place = place

    def _joints(self):
        pairs = []
        for coordinate in self.system.coordinate_names:
            bodies = self.system.joint_bodies(coordinate)
            if bodies and all(name in self.system.frame_names for name in bodies):
                pairs.append(bodies)
        return pairs

    def _ends(self):
        return [child for child, _ in self._joints()]

    def _constraint_frames(self):
        frames = []
        for i in range(len(self.constraints)):
            for pair in self.constraints[i].wrench_bodies:
                frames += [frame for frame in (pair.frame_a, pair.frame_b) if frame in self.system.frame_names]
        return list(dict.fromkeys(frames))

    def _tool_sticks(self):
        """Sticks from moving links to the frames of constraints at a distance from them."""
        moving = set(self._ends())
        out = []
        for frame in self._constraint_frames():
            body = self.system.body_of_frame(frame)
            carrier = self._carrier(frame) if body == frame else body
            if frame not in moving and carrier not in (None, "world", frame) and carrier in self.system.frame_names:
                out.append((carrier, frame))
        return out

    def _carrier(self, frame):
        """The moving link that a frame is fixed to, in which its pose never changes; None if there is none."""
        names = [child for child, _ in self._joints()]
        if not names:
            return None
        poses = self.system.frame_poses(self.q, names + [frame])
        for i, name in enumerate(names):
            relative = np.linalg.inv(poses[:, i]) @ poses[:, -1]
            if np.ptp(relative, axis=0).max() < 1e-9:
                return name
        return None

    def _draw_free_bodies(self, place, drawn, extent):
        """Makes a body without shape and joint visible as a ball."""
        jointed = {name for pair in self._joints() for name in pair}
        rolls = {a for part, a, _ in self._parts() if part.kind in ("sphere", "disk", "ellipsoid")}
        for name in getattr(self.system, "link_names", []):
            free = name in place and name not in drawn and name not in jointed and name not in rolls
            if free and np.ptp(place[name], axis=0).max(initial=0.0) > 1e-9 and self._carrier(name) is None:
                self.shapes.append(Shape("box", name, np.eye(4), (0.06 * extent,) * 3, (0.45, 0.55, 0.7)))

    def _stick(self, a, b, place):
        self.points += [place[a], place[b]]
        self.point_frames += [a, b]
        self.sticks.append((len(self.points) - 2, len(self.points) - 1))

    # ---- constraints -------------------------------------------------------------------------------

    def _parts(self):
        """How constraints are drawn: part, frame A, frame B."""
        for i in range(len(self.constraints)):
            bodies = self.constraints[i].wrench_bodies
            if bodies:
                for part in self.constraints[i].drawing:
                    yield part, bodies[0].frame_a, bodies[0].frame_b

    def _draw_constraints(self):
        planes = set()
        for part, a, b in self._parts():
            if part.kind == "plane":
                self._plane(a, b, part.direction, part.offset, planes)
            elif part.kind == "line":
                self._line(part, a, b)
            elif part.kind == "rod":
                self._stick(a, b, self.place)
            elif part.kind == "blade":
                self._blade(part, a)
            else:
                self._rolling_body(part, a)

    def _in_frame(self, a, b):
        """The origin of A as B sees it, over the frames."""
        pose = self.system.frame_poses(self.q, [b])[:, 0]
        return np.einsum("tji,tj->ti", pose[:, :3, :3], self.place[a] - pose[:, :3, 3])

    def _line(self, part, a, b):
        """The part of a line of frame B that A moves along."""
        along = self._in_frame(a, b) @ part.direction
        extent = self._extent()
        pose = np.eye(4)
        pose[:3, :3] = frame_along(part.direction)
        pose[:3, 3] = part.direction * (along.min() + along.max()) / 2
        width = 0.006 * extent
        self.shapes.append(
            Shape("box", b, pose, (width, width, np.ptp(along) + 0.35 * extent), (0.93, 0.9, 0.82), 0.75)
        )
        self.trails.append(self.place[a])
        self._add_frame(b)

    def _plane(self, a, b, normal, offset, seen):
        """The part of a plane of frame B that A comes close to."""
        key = (b,) + tuple(np.round(np.append(normal, offset), 9))
        normal = np.asarray(normal) / np.linalg.norm(normal)
        points = self._in_frame(a, b)
        self.trails.append(self.place[a])
        if key in seen:
            return
        seen.add(key)
        rotation = frame_along(normal)
        flat = points @ rotation[:, :2]
        middle = (flat.min(axis=0) + flat.max(axis=0)) / 2
        size = np.ptp(flat, axis=0) + max(0.35 * self._extent(), 0.3 * float(np.ptp(flat, axis=0).max()))
        pose = np.eye(4)
        pose[:3, :3] = rotation
        # Slightly behind the plane, so that what touches it stays visible.
        pose[:3, 3] = rotation[:, :2] @ middle + normal * (offset - 0.002 * self._extent())
        self.shapes.append(Shape("box", b, pose, (*size, 1e-3 * self._extent()), (0.93, 0.9, 0.82), 0.75))
        if b == "world":
            self.normals.append(normal)
        if b not in self.frames:
            self._add_frame(b)

    def _rolling_body(self, part, a):
        if part.kind == "ellipsoid":
            self.shapes.append(Shape("ellipsoid", a, np.eye(4), part.size, (0.45, 0.6, 0.75), 0.8))
        else:
            radius, pose = part.size[0], np.eye(4)
            if part.kind == "disk":
                pose[:3, :3] = frame_along(part.direction)
                self.shapes.append(Shape("cylinder", a, pose, (radius, 0.06 * radius), (0.3, 0.34, 0.4), 0.55))
            else:
                self.shapes.append(Shape("sphere", a, pose, (radius,), (0.45, 0.6, 0.75), 0.55))
            mark = (1.9 * radius, 0.08 * radius, 0.08 * radius)  # shows how it turns
            self.shapes.append(Shape("box", a, pose.copy(), mark, (0.9, 0.6, 0.1)))
        self._add_frame(a)

    def _blade(self, part, a):
        """A thin plate at the origin of A, across the direction in which it cannot move."""
        extent = self._extent()
        pose = np.eye(4)
        axis = np.asarray(part.direction)
        rotation = frame_along(axis)
        pose[:3, :3] = rotation
        size = 0.05 * extent
        carrier = self._carrier(a) or self.system.body_of_frame(a)
        if carrier in self.place and carrier != a:  # behind the tip, towards what carries it
            relative = self.system.frame_poses(self.q[:1], [a, carrier])[0]
            back = relative[0][:3, :3].T @ (relative[1][:3, 3] - relative[0][:3, 3])
            back -= axis * (axis @ back)
            if np.linalg.norm(back) > 1e-6:
                back = back / np.linalg.norm(back)
                pose[:3, :3] = np.column_stack([back, np.cross(axis, back), axis])
                pose[:3, 3] = back * size
        self.shapes.append(Shape("box", a, pose, (2 * size, 0.5 * size, 0.05 * size), (0.2, 0.22, 0.25)))
        self.trails.append(self.place[a])
        self._add_frame(a)

    def _add_frame(self, name):
        if name not in self.frames:
            self.frames.append(name)
            self.poses = self.system.frame_poses(self.q, self.frames)

    def _extent(self):
        positions = np.stack(list(self.place.values()), axis=1).reshape(-1, 3)
        return max(float(np.ptp(positions, axis=0).max(initial=0.0)), 0.05)

    # ---- forces ------------------------------------------------------------------------------------

    def _draw_wrenches(self, record, index):
        point, force, torque = (
            np.asarray(values)[index] for values in (record.wrench_point, record.wrench_force, record.wrench_torque)
        )
        for i in range(len(self.constraints)):
            constraint = self.constraints[i]
            first, count = self.constraints.wrench_offset(i), len(constraint.wrench_bodies)
            for k in range(count):
                name = constraint.name if count == 1 else "%s[%d]" % (constraint.name, k)
                colour = COLOURS[i % len(COLOURS)]
                for kind, values in (("force", force), ("torque", torque)):
                    arrow = Arrow(
                        name,
                        kind,
                        point[:, first + k],
                        values[:, first + k],
                        colour,
                        constraint.wrench_bodies[k].frame_a,
                    )
                    if arrow.largest > 1e-9:
                        self.arrows.append(arrow)
        self.arrows.sort(key=lambda arrow: (arrow.kind, -arrow.largest))
        self.arrows = self.arrows[:MOST_ARROWS]

    # ---- textbook systems --------------------------------------------------------------------------

    def _draw_particles(self, record, index):
        """Coordinates called x, y, z (x1, y1, …) are points; a plane of x and y stands upright."""
        names = self.system.coordinate_names
        groups = {}
        for i, name in enumerate(names):
            match = re.fullmatch(r"([xyz])(\w*)", name)
            if match:
                groups.setdefault(match.group(2), {})[match.group(1)] = i
        speeds = self.system.speed_names
        generalized = np.asarray(record.constraint_force)[index]
        self.place = {}
        for number, (suffix, axes) in enumerate(groups.items()):
            if not {"x", "y"} <= set(axes) and not {"x", "z"} <= set(axes):
                continue
            order = {"x": 0, "y": 1 if "z" in axes else 2, "z": 2}
            position, force = np.zeros((len(index), 3)), np.zeros((len(index), 3))
            for axis, i in axes.items():
                position[:, order[axis]] = self.q[:, i]
                if "d" + names[i] in speeds:
                    force[:, order[axis]] = generalized[:, speeds.index("d" + names[i])]
            label = "point " + suffix.strip("_") if suffix else "point"
            self.place[label] = position
            self.points.append(position)
            self.point_coordinates.append({order[axis]: i for axis, i in axes.items()})
            self.trails.append(position)
            arrow = Arrow("constraint force on " + label, "force", position, force, COLOURS[number % len(COLOURS)])
            if arrow.largest > 1e-9:
                self.arrows.append(arrow)
        self.particles = list(range(len(self.points)))
        if self.place:
            self.thickness = 0.012 * self._extent()

    # ---- sizes and camera --------------------------------------------------------------------------

    def is_empty(self):
        return not (self.shapes or self.sticks or self.points)

    def _measure(self):
        clouds = [self.poses[:, i, :3, 3] for i in range(self.poses.shape[1])] + self.points
        clouds += [arrow.point for arrow in self.arrows]
        if not clouds:
            self.centre, self.radius, self.floor, self.flat = np.zeros(3), 1.0, 0.0, False
            self.cloud = np.zeros((1, 3))
            return
        self.cloud = np.concatenate(clouds)
        low = np.min([cloud.min(axis=0) for cloud in clouds], axis=0)
        high = np.max([cloud.max(axis=0) for cloud in clouds], axis=0)
        for shape in self.shapes:
            if shape.kind == "box" and shape.frame == "world":  # most of a plane
                corners = np.array([[x, y, 0.0] for x in (-0.4, 0.4) for y in (-0.4, 0.4)]) * shape.size
                corners = corners @ shape.pose[:3, :3].T + shape.pose[:3, 3]
                low, high = np.minimum(low, corners.min(axis=0)), np.maximum(high, corners.max(axis=0))
            if shape.kind in ("sphere", "cylinder", "ellipsoid") and shape.frame in self.frames:
                reach = max(shape.size)
                cloud = self.poses[:, self.frames.index(shape.frame), :3, 3]
                low = np.minimum(low, cloud.min(axis=0) - reach)
                high = np.maximum(high, cloud.max(axis=0) + reach)
        self.centre = (low + high) / 2
        self.radius = max(float(np.linalg.norm(high - low)) / 2, 0.05)
        self.floor = min(float(low[2]), 0.0) if low[2] > -0.02 * self.radius else float(low[2]) - 0.05 * self.radius
        self.flat = (high - low)[1] < 0.05 * self.radius

    def camera(self):
        """The viewpoint: in front of planes and from above; at a right angle for motion in x and z only. It is far
        enough away that everything is inside a square picture."""
        if self.flat and not self.normals:
            direction = np.array([0.12, -1.0, 0.12])
        else:
            candidates = [np.array([x, y, 0.55]) for x in (-1.0, -0.5, 0.5, 1.0) for y in (-1.0, -0.6, 0.6, 1.0)]
            wanted = np.array([1.0, -1.0, 0.5])
            direction = max(
                (c / np.linalg.norm(c) for c in candidates),
                key=lambda c: sum(min(float(n @ c), 0.25) for n in self.normals) + 0.05 * float(c @ wanted),
            )
        direction = direction / np.linalg.norm(direction)
        across = np.cross([0.0, 0.0, 1.0], direction)
        across /= np.linalg.norm(across)
        places = self.cloud - self.centre
        aside = np.abs(np.stack([places @ across, places @ np.cross(direction, across)]))
        needed = places @ direction + aside / (0.85 * np.tan(np.radians(FIELD_OF_VIEW / 2)))
        distance = max(2.1 * self.radius, float(needed.max()))
        return self.centre + distance * direction, self.centre

    def _scale(self):
        """Metres of arrow per newton (newton metre), a round number; the largest arrow is prominent in the scene."""
        self.scales = {}
        for kind in ("force", "torque"):
            sizes = [arrow.largest for arrow in self.arrows if arrow.kind == kind]
            if sizes:
                self.scales[kind] = 1.0 / _round_125(max(sizes) / (0.8 * self.radius))


def _round_125(value):
    """The next 1, 2 or 5 times a power of ten above a value."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-12)))
