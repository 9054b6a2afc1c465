# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""One self-contained HTML page of a run: the robot moving with its constraint forces, and plots beside it.

    python -m constrained_dynamics.page SCENARIO|EXAMPLE [--set PATH=VALUE]… [-o page.html]

The page needs no server and no network: the viewer (meshcat), the plots (plotly) and all numbers are inside.
"""

import argparse
import base64
import html
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np

from . import Scenario
from .commands import add_scenario_arguments, find_scenario
from .drawing import COLOURS, FIELD_OF_VIEW, Drawing
from .residuals import largest_violation
from .rotations import quaternions
from .shapes import scenario_robots, urdf_shapes

MOST_FRAMES = 500
MOST_SAMPLES = 1000
MOST_LINES = 8
# Below this, values cannot be told from zero in double precision; zeros are drawn here.
FLOOR = 1e-17


class Blob:
    """Binary arrays of a page, one after the other."""

    def __init__(self):
        self._parts, self._size = [], 0

    def add(self, array, kind):
        data = np.ascontiguousarray(array, dtype=kind).tobytes()
        reference = {"offset": self._size, "length": int(np.size(array)), "type": kind}
        data += b"\0" * (-len(data) % 4)
        self._parts.append(data)
        self._size += len(data)
        return reference

    def text(self):
        return base64.b64encode(b"".join(self._parts)).decode("ascii")


def write_page(record, path, *, title="run", description="", shapes=(), notes=(), libraries=None):
    """Writes the page of a Record; returns its size in bytes.

    shapes: e.g. from shapes.urdf_shapes; links without shapes are drawn as sticks between joints.
    libraries: where the page finds what write_libraries wrote, as seen from the page; None puts them into the page.
    """
    if len(record) < 2:
        raise ValueError("the record has %d output times; a page needs two or more" % len(record))
    step = -(-len(record) // MOST_FRAMES)
    index = np.unique(np.append(np.arange(0, len(record), step), len(record) - 1))
    drawing = Drawing(record, index, shapes)
    blob = Blob()
    data = {
        "title": title,
        "time": blob.add(drawing.time, "float32"),
        "scene": scene_data(drawing, blob),
        "plots": _plots(record),
        "notes": list(notes),
    }
    if drawing.is_empty():
        data["notes"].append("This system has no bodies and no points x, y, z to draw: plots only.")
    page = fill_template("page", title, description, data, blob, libraries)
    Path(path).write_text(page, encoding="utf-8")
    return len(page.encode("utf-8"))


def fill_template(name, title, description, data, blob, libraries=None):
    """The text of a page from the template name.html and the program name.js; libraries as in write_page."""
    folder = Path(__file__).parent

    def own(file):
        return (folder / file).read_text(encoding="utf-8")

    page = own(name + ".html")
    summary, _, details = description.strip().partition("\n")
    for key, value in {
        "TITLE": lambda: html.escape(title.replace("_", " ")),
        "SUMMARY": lambda: html.escape(summary),
        "DETAILS": lambda: (
            "<details><summary>more</summary><p>%s</p></details>" % html.escape(details) if details.strip() else ""
        ),
        "STYLE": lambda: own("page.css"),
        "MESHCAT": lambda: _element("meshcat", libraries),
        "PLOTLY": lambda: _element("plotly", libraries),
        "LICENCES": lambda: _script(_licences()),
        "DATA": lambda: json.dumps(data, allow_nan=False).replace("</", "<\\/"),
        "BLOB": blob.text,
        "SCENE": lambda: own("scene.js"),
        "PROGRAM": lambda: own(name + ".js"),
    }.items():
        if "{{" + key + "}}" in page:
            page = page.replace("{{" + key + "}}", value())
    return page


def scenario_shapes(path, notes):
    """Shapes of the robots of a scenario file; what cannot be read goes into `notes`."""
    shapes = []
    for text, folder, prefix in scenario_robots(path, notes):
        shapes += urdf_shapes(text, folder, prefix, notes)
    return shapes


def write_libraries(folder):
    """Writes what several pages may share: meshcat.js and plotly.js."""
    for name, text in LIBRARIES.items():
        (Path(folder) / (name + ".js")).write_text(text(), encoding="utf-8")


def write_scenario_page(scenario, path, overrides=(), *, until=None, output_interval=None, libraries=None):
    """Runs a scenario file and writes its page; returns the Record and the size of the page."""
    loaded = Scenario.load(str(scenario), list(overrides))
    record = loaded.run(until=until, output_interval=output_interval)
    return record, write_record_page(scenario, loaded, record, path, libraries=libraries)


def write_record_page(scenario, loaded, record, path, *, libraries=None):
    """The page of a record of a loaded scenario, with the shapes of its robots; returns its size."""
    notes = []
    shapes = scenario_shapes(scenario, notes)
    if not record.result.completed:
        notes.append(
            "The run ended early, at t = %.6g s: %s." % (record.result.time, record.result.status.name.lower())
        )
    return write_page(
        record, path, title=loaded.name, description=loaded.description, shapes=shapes, notes=notes, libraries=libraries
    )


# ---- libraries -----------------------------------------------------------------------------------


def _library(package, file):
    """The text of a file of an installed package, which is not imported: only its JavaScript is needed."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("a page needs the Python package %s: pip install %s" % (package, package))
    return (Path(spec.submodule_search_locations[0]) / file).read_text(encoding="utf-8")


def _meshcat():
    return _library("meshcat", "viewer/dist/main.min.js")


def _licences():
    """Licences of meshcat and its contents; that of plotly is in its own first lines."""
    return _library("meshcat", "viewer/LICENSE") + _library("meshcat", "viewer/dist/main.min.js.LICENSE.txt")


def _plotly():
    return _library("plotly", "package_data/plotly.min.js")


LIBRARIES = {"meshcat": _meshcat, "plotly": _plotly}


def _element(name, folder):
    """The element that loads a library: with its text, or from a folder."""
    if folder is not None:
        return '<script src="%s/%s.js"></script>' % (folder, name)
    return "<script>%s</script>" % _script(LIBRARIES[name]())


def _script(text):
    """JavaScript that can stand inside an HTML element."""
    return text.replace("</script", "<\\/script")


# ---- the scene -----------------------------------------------------------------------------------


def _shape(shape, blob, frames):
    out = {
        "kind": shape.kind,
        "frame": frames.index(shape.frame),
        "size": shape.size,
        "colour": shape.colour,
        "opacity": shape.opacity,
        "pose": shape.pose.T.reshape(-1).tolist(),
    }
    if shape.kind == "mesh":
        vertices, normals, triangles = shape.mesh
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        span = np.maximum(high - low, 1e-9)
        out["low"], out["span"] = low.tolist(), span.tolist()
        out["vertices"] = blob.add(np.round((vertices - low) / span * 65535), "uint16")
        out["normals"] = blob.add(np.clip(np.round(normals * 127), -127, 127), "int8")
        out["triangles"] = blob.add(triangles, "uint16" if len(vertices) < 65536 else "uint32")
    return out


def scene_data(drawing, blob):
    """A drawing as data of scene.js; arrays go into `blob`."""
    frames = list(drawing.frames)
    position, target = drawing.camera()

    def stack(arrays):
        return np.stack(arrays, axis=1) if arrays else np.zeros((len(drawing.time), 0, 3))

    return {
        "frames": frames,
        "positions": blob.add(drawing.poses[..., :3, 3], "float32"),
        "quaternions": blob.add(quaternions(drawing.poses[..., :3, :3]), "float32"),
        "shapes": [_shape(shape, blob, frames) for shape in drawing.shapes],
        "points": blob.add(stack(drawing.points), "float32"),
        "pointCount": len(drawing.points),
        "sticks": drawing.sticks,
        "particles": getattr(drawing, "particles", []),
        "thickness": getattr(drawing, "thickness", 0.01),
        "trails": [blob.add(trail, "float32") for trail in _distinct(drawing.trails)],
        "arrows": [
            {
                "name": arrow.name,
                "kind": arrow.kind,
                "colour": arrow.colour,
                "body": arrow.body,
                "point": blob.add(arrow.point, "float32"),
                "vector": blob.add(arrow.vector, "float32"),
            }
            for arrow in drawing.arrows
        ],
        "scales": drawing.scales,
        "radius": drawing.radius,
        "floor": drawing.floor,
        "camera": {"position": position.tolist(), "target": target.tolist(), "fieldOfView": FIELD_OF_VIEW},
        "empty": drawing.is_empty(),
    }


def _distinct(trails):
    """Trails that move, each once."""
    out = []
    for trail in trails:
        if np.ptp(trail, axis=0).max() > 1e-6 and not any(np.array_equal(trail, other) for other in out):
            out.append(trail)
    return out


# ---- the plots -----------------------------------------------------------------------------------


def _line(time, values, name, colour, dash="solid", floor=None, width=1.8):
    values = np.asarray(values, dtype=float)
    if floor is not None:
        values = np.maximum(values, floor)
    numbers = [float("%.6g" % value) if np.isfinite(value) else None for value in values]
    return {
        "x": [float("%.7g" % value) for value in time],
        "y": numbers,
        "name": name,
        "mode": "lines",
        "line": {"color": colour, "width": width, "dash": dash},
        "hovertemplate": "%{y:.5g}",
    }


def _force_lines(record, index, time):
    """The largest forces and torques, one line each."""
    constraints = record.dynamics.constraints
    force, torque = (
        np.linalg.norm(np.asarray(values)[index], axis=2) for values in (record.wrench_force, record.wrench_torque)
    )
    multipliers = np.asarray(record.multipliers)[index]
    lines = []
    for i in range(len(constraints)):
        constraint = constraints[i]
        colour = COLOURS[i % len(COLOURS)]
        first, count = constraints.wrench_offset(i), len(constraint.wrench_bodies)
        for k in range(count):
            name = constraint.name if count == 1 else "%s[%d]" % (constraint.name, k)
            lines.append((force[:, first + k], name + " |force| [N]", colour, "solid"))
            lines.append((torque[:, first + k], name + " |torque| [N m]", colour, "dot"))
        if count == 0:
            for row in range(constraint.row_count):
                label = constraint.name + "/" + constraint.rows[row].label
                lines.append(
                    (
                        multipliers[:, constraints.row_offset(i) + row],
                        "λ " + label,
                        COLOURS[(i + row) % len(COLOURS)],
                        "solid",
                    )
                )
    lines = [line for line in lines if np.nanmax(np.abs(line[0]), initial=0.0) > 1e-9]
    lines.sort(key=lambda line: -np.nanmax(np.abs(line[0])))
    return [_line(time, values, name, colour, dash) for values, name, colour, dash in lines[:MOST_LINES]], len(lines)


def _input_lines(record, index, time):
    """The largest inputs (torques and forces of the motors), one line each, and how many act."""
    inputs = np.asarray(record.inputs)[index]
    acting = [i for i in range(inputs.shape[1]) if np.nanmax(np.abs(inputs[:, i]), initial=0.0) > 1e-12]
    acting.sort(key=lambda i: -np.nanmax(np.abs(inputs[:, i])))
    lines = [
        _line(time, inputs[:, i], record.input_names[i], COLOURS[k % len(COLOURS)])
        for k, i in enumerate(acting[:MOST_LINES])
    ]
    return lines, len(acting)


def _impulse_marks(record):
    """The impulses of impacts, one mark each."""
    constraints = record.dynamics.constraints
    marks = []
    for i in range(len(constraints)):
        hits = [
            (event.time, abs(event.impulse))
            for event in record.events
            if event.constraint == i and abs(event.impulse) > 0.0
        ]
        if hits:
            times, sizes = zip(*hits[:MOST_SAMPLES])
            mark = _line(times, sizes, constraints[i].name + " impulse [N s]", COLOURS[i % len(COLOURS)])
            mark.update(mode="markers", marker={"color": mark.pop("line")["color"], "size": 6, "symbol": "diamond"})
            marks.append(mark)
    return marks[:MOST_LINES]


def _work_of_inputs(record):
    """Integral of τ q̇ over the output times; None if an input does not belong to a joint."""
    speeds = record.speed_names
    if not record.input_names or any("d" + name not in speeds for name in record.input_names):
        return None
    columns = [speeds.index("d" + name) for name in record.input_names]
    power = np.sum(np.asarray(record.inputs) * np.asarray(record.u)[:, columns], axis=1)
    if not np.any(power):
        return None
    steps = 0.5 * (power[1:] + power[:-1]) * np.diff(record.time)
    return np.concatenate([[0.0], np.cumsum(steps)])


def _violation_lines(record, index, time):
    if not record.position.shape[1]:
        return []
    position, velocity = largest_violation(
        np.asarray(record.position)[index],
        np.asarray(record.velocity)[index],
        np.asarray(record.active)[index],
        record.dynamics.constraints,
        record.contacts,
    )
    return [
        _line(time, position, "|φ|, position", COLOURS[0], floor=FLOOR, width=1),
        _line(time, velocity, "|φ̇|, |ψ|, velocity", COLOURS[1], floor=FLOOR, width=1),
    ]


def _energy_lines(record, index, time):
    kinetic, potential = np.asarray(record.kinetic_energy), np.asarray(record.potential_energy)
    lines = [
        _line(time, kinetic[index], "kinetic", COLOURS[0]),
        _line(time, (potential - potential[0])[index], "potential, change", COLOURS[2]),
        _line(time, (record.energy - record.energy[0])[index], "total, change", COLOURS[1]),
    ]
    work = _work_of_inputs(record)
    if work is not None:
        lines.append(_line(time, work[index], "work of the motors", "#000000", "dash"))
    return lines


def _plots(record):
    step = -(-len(record) // MOST_SAMPLES)
    index = np.arange(0, len(record), step)
    time = np.asarray(record.time)[index]
    forces, count = _force_lines(record, index, time)
    title = "Constraint forces" + (" (%d largest of %d)" % (len(forces), count) if count > len(forces) else "")
    impulses = _impulse_marks(record)
    if not forces:
        title = "Impulses of impacts; no constraint force acts for any time" if impulses else "No constraint force acts"
    plots = [
        {
            "id": "forces",
            "title": title,
            "lines": forces + impulses,
            "axis": "N, N m" + (", N s" if impulses else ""),
            "log": False,
        }
    ]
    inputs, acting = _input_lines(record, index, time)
    if inputs:
        plots.append(
            {
                "id": "inputs",
                "title": "Inputs" + (" (%d largest of %d)" % (len(inputs), acting) if acting > len(inputs) else ""),
                "lines": inputs,
                "axis": "N m, N" if record.dynamics.system.frame_names else "",
                "log": False,
            }
        )
    violations = _violation_lines(record, index, time)
    if violations:
        plots.append(
            {
                "id": "violation",
                "title": "Largest violation of the constraints",
                "lines": violations,
                "axis": "m, rad; per s",
                "log": True,
            }
        )
    plots.append(
        {"id": "energy", "title": "Energy", "lines": _energy_lines(record, index, time), "axis": "J", "log": False}
    )
    events = sorted({float("%.7g" % event.time) for event in record.events})
    return {"plots": plots, "events": events[:200]}


# ---- command -------------------------------------------------------------------------------------


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m constrained_dynamics.page", description=__doc__.splitlines()[0])
    add_scenario_arguments(parser)
    parser.add_argument("-o", "--output", help="page to write (default: <name>.html)")
    options = parser.parse_args(arguments)
    try:
        scenario = find_scenario(options.scenario)
        output = options.output or Path(scenario).stem + ".html"
        record, size = write_scenario_page(scenario, output, options.set, until=options.until)
    except (ValueError, OSError, ImportError) as error:
        print("page: %s" % error, file=sys.stderr)
        return 2
    print("%s: %.1f MB, %d output times, %.6g s" % (output, size / 1e6, len(record), record.time[-1]))
    return 0 if record.result.completed else 3


if __name__ == "__main__":
    sys.exit(main())
