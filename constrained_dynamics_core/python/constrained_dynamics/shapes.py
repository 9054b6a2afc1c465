# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Shapes of robots for pictures: the visuals of a URDF, with the meshes that it names.

The library itself never reads meshes; this module does, for pages, and needs trimesh and pycollada for them.
A shape that cannot be read is left out with a note: a picture never stops a run.
"""

import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np

DEFAULT_COLOUR = (0.78, 0.8, 0.83)
# Limits on vertices and triangles of one page; meshes beyond them are replaced by boxes.
MOST_TRIANGLES = 600_000


class Shape:
    """Something drawn in a frame: a primitive or triangles."""

    def __init__(self, kind, frame, pose, size=(), colour=DEFAULT_COLOUR, opacity=1.0, mesh=None):
        self.kind = kind  # box, cylinder, sphere, ellipsoid, mesh
        self.frame = frame  # name of the frame that it moves with
        self.pose = np.asarray(pose, dtype=float)  # 4 × 4 in that frame
        self.size = tuple(float(value) for value in size)
        self.colour = tuple(float(value) for value in colour[:3])
        self.opacity = float(opacity)
        self.mesh = mesh  # vertices (V, 3), normals (V, 3), triangles (T, 3)


def pose_matrix(xyz=(0, 0, 0), rpy=(0, 0, 0)):
    """4 × 4 of R = Rz(yaw) Ry(pitch) Rx(roll), as in URDF."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(rpy), np.cos(rpy)
    out = np.eye(4)
    out[:3, :3] = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    out[:3, 3] = xyz
    return out


def frame_along(direction):
    """Rotation (3 × 3) whose third column is a direction."""
    z = np.asarray(direction, dtype=float)
    z = z / np.linalg.norm(z)
    x = np.cross([0.0, 1.0, 0.0] if abs(z[1]) < 0.9 else [1.0, 0.0, 0.0], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _numbers(text, default):
    return tuple(float(word) for word in text.split()) if text else default


def find_mesh(name, folder):
    """The file that a URDF calls `name`, or None."""
    if name.startswith("package://"):
        package, _, rest = name[len("package://") :].partition("/")
        places = []
        robots = os.environ.get("EXAMPLE_ROBOT_DATA")
        if robots:
            places.append(Path(robots).parent.parent / package)
        places += [
            Path(prefix) / "share" / package
            for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
            if prefix
        ]
        places += [parent / package for parent in Path(folder).resolve().parents]
        candidates = [place / rest for place in places]
    else:
        candidates = [Path(folder) / name.replace("file://", "", 1)]
    return next((path for path in candidates if path.is_file()), None)


def load_mesh(path, scale=(1.0, 1.0, 1.0)):
    """Parts of a mesh file: [(vertices, normals, triangles, colour)], with the normals of the file."""
    import trimesh  # heavy, and only pages with meshes need it

    scene = trimesh.load(path, force="scene")
    parts = []
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        geometry = scene.geometry[name]
        if not hasattr(geometry, "faces") or len(geometry.faces) == 0:
            continue
        vertices = trimesh.transformations.transform_points(geometry.vertices, transform) * scale
        normals = np.asarray(geometry.vertex_normals) @ np.asarray(transform)[:3, :3].T
        colour = getattr(getattr(geometry, "visual", None), "material", None)
        colour = getattr(colour, "main_color", None) if colour is not None else None
        colour = DEFAULT_COLOUR if colour is None else tuple(np.asarray(colour[:3], dtype=float) / 255.0)
        parts.append((*_weld(vertices, normals, np.asarray(geometry.faces)), colour))
    return parts


def _weld(vertices, normals, triangles):
    """Merges vertices that are equal at the precision of a page."""
    size = max(np.ptp(vertices, axis=0).max(), 1e-9)
    key = np.column_stack([np.round(vertices / size * 30000), np.round(normals * 60)]).astype(np.int32)
    _, first, inverse = np.unique(key, axis=0, return_index=True, return_inverse=True)
    joined = inverse.reshape(-1)[triangles]
    keep = (joined[:, 0] != joined[:, 1]) & (joined[:, 1] != joined[:, 2]) & (joined[:, 2] != joined[:, 0])
    return vertices[first], normals[first], joined[keep]


def _material(visual, materials):
    element = visual.find("material")
    if element is None:
        return None
    colour = element.find("color")
    if colour is not None:
        return _numbers(colour.get("rgba"), None)
    return materials.get(element.get("name"))


def urdf_shapes(text, folder=".", prefix="", notes=None):
    """Shapes of the visuals of a URDF; what cannot be read goes into `notes`."""
    notes = [] if notes is None else notes
    root = ElementTree.fromstring(text)
    materials = {}
    for material in root.findall("material"):
        colour = material.find("color")
        if colour is not None:
            materials[material.get("name")] = _numbers(colour.get("rgba"), None)
    shapes, triangles, cache = [], 0, {}
    for link in root.findall("link"):
        frame = prefix + link.get("name", "")
        for visual in link.findall("visual"):
            origin = visual.find("origin")
            geometry = visual.find("geometry")
            if geometry is None or len(geometry) == 0:
                continue
            pose = (
                np.eye(4)
                if origin is None
                else pose_matrix(_numbers(origin.get("xyz"), (0, 0, 0)), _numbers(origin.get("rpy"), (0, 0, 0)))
            )
            rgba = _material(visual, materials)
            colour = DEFAULT_COLOUR if rgba is None else rgba
            what = geometry[0]
            if what.tag == "box":
                shapes.append(Shape("box", frame, pose, _numbers(what.get("size"), (0.1,) * 3), colour))
            elif what.tag == "cylinder":
                size = (float(what.get("radius", 0.05)), float(what.get("length", 0.1)))
                shapes.append(Shape("cylinder", frame, pose, size, colour))
            elif what.tag == "sphere":
                shapes.append(Shape("sphere", frame, pose, (float(what.get("radius", 0.05)),), colour))
            elif what.tag == "mesh":
                path = find_mesh(what.get("filename", ""), folder)
                if path is None:
                    notes.append("mesh not found: " + what.get("filename", ""))
                    continue
                scale = _numbers(what.get("scale"), (1.0, 1.0, 1.0))
                try:
                    if (path, scale) not in cache:
                        cache[path, scale] = load_mesh(path, scale)
                except Exception as error:  # a mesh file may make its reader raise anything
                    notes.append("mesh %s cannot be read: %s" % (path.name, error))
                    continue
                for *mesh, own in cache[path, scale]:
                    triangles += len(mesh[2])
                    if triangles > MOST_TRIANGLES:
                        notes.append("meshes after %s left out: too many triangles" % path.name)
                        return shapes
                    shapes.append(
                        Shape("mesh", frame, pose, colour=rgba if rgba is not None else own, mesh=tuple(mesh))
                    )
    return shapes


def scenario_robots(path, notes=None):
    """URDF texts of a scenario file: [(text, folder, prefix)]. Other formats have no shapes here."""
    import yaml

    notes = [] if notes is None else notes
    path = Path(path)
    with open(path, encoding="utf-8") as file:
        system = (yaml.safe_load(file) or {}).get("system") or {}
    robots = []
    for robot in system.get("robots") or [system]:
        if not isinstance(robot, dict) or "urdf" not in robot:
            continue
        source = str(robot["urdf"])
        name = str(robot.get("name", ""))
        prefix = str(robot.get("prefix", name + "_" if robot is not system else ""))
        if "${" in source or "${" in prefix:
            notes.append("robot %s: a description with ${…} has no shapes here" % (name or source[:40]))
            continue
        if source.lstrip().startswith("<"):
            robots.append((source, str(path.parent), prefix))
            continue
        if source.startswith("example-robot-data:"):
            file = Path(os.environ.get("EXAMPLE_ROBOT_DATA", "")) / source.split(":", 1)[1]
        elif source.startswith("package://"):
            file = find_mesh(source, path.parent) or Path(source)
        else:
            file = path.parent / source
        if file.is_file():
            robots.append((file.read_text(encoding="utf-8"), str(file.parent), prefix))
        else:
            notes.append("robot description not found: " + source)
    return robots
