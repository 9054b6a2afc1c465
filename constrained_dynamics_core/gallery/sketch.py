# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Drawings of textbook systems from systems.yaml: lines, balls, discs and force arrows that follow a run."""

import json
from pathlib import Path

import formulas
import numpy as np

from constrained_dynamics.drawing import COLOURS

MOST_FRAMES = 160
MOST_TRAIL = 600
ELEMENTS = ("line", "ball", "trail", "disc", "ring", "box", "spring", "arrow", "curve")
KEYS = {"colour", "repeat", "radius", "angle", "axis", "size", "force", "s"}
AZIMUTH, ELEVATION = np.radians(-62.0), np.radians(20.0)
FORCE_COLOUR = "#c1121f"
PROGRAM = Path(__file__).with_name("sketch.js")


def project(points):
    """(…, 3) seen from the side and above; (…, 2) as they are."""
    points = np.asarray(points, dtype=float)
    if points.shape[-1] == 2:
        return points
    x, y, z = np.moveaxis(points, -1, 0)
    across = -np.sin(AZIMUTH) * x + np.cos(AZIMUTH) * y
    away = np.cos(AZIMUTH) * x + np.sin(AZIMUTH) * y
    return np.stack([across, np.cos(ELEVATION) * z - np.sin(ELEVATION) * away], axis=-1)


def _expand(elements):
    """Elements with `repeat` written out."""
    for element in elements:
        if "repeat" not in element:
            yield element
            continue
        ((name, (first, last)),) = element["repeat"].items()
        plain = json.dumps({key: value for key, value in element.items() if key != "repeat"})
        for i in range(first, last + 1):
            yield json.loads(plain.replace("${%s}" % name, "(%d)" % i))


class Sketch:
    """Shapes of a run: what stands still, what moves, and the box around all of it."""

    def __init__(self, elements, run, still=None):
        self.run = run
        last = len(run.time) - 1
        # Output times need not be equidistant (events): frames are.
        desired = np.linspace(run.time[0], run.time[-1], min(MOST_FRAMES, len(run.time)))
        self.index = np.clip(np.searchsorted(run.time, desired - 1e-12), 0, last)
        self.time = run.time[self.index]
        self.still = int(np.argmin(np.abs(self.time - (still if still is not None else 0.35 * self.time[-1]))))
        self.shapes, self.trails, self.arrows = [], [], []
        for element in _expand(elements):
            self._add(element)
        self._measure()

    def _value(self, formula):
        return self.run.value(str(formula))

    def _points(self, points, index):
        return project(
            np.stack([np.stack([self._value(c)[index] for c in point], axis=-1) for point in points], axis=1)
        )

    def _add(self, element):
        kinds = [kind for kind in ELEMENTS if kind in element]
        unknown = set(element) - set(ELEMENTS) - KEYS
        if len(kinds) != 1 or unknown:
            raise ValueError(
                "sketch of %s: element %s; it needs one of %s, and may have %s"
                % (self.run.name, element, ", ".join(ELEMENTS), ", ".join(sorted(KEYS)))
            )
        colour = COLOURS[element["colour"]] if "colour" in element else None
        if element.get("colour") == 7:
            colour = "#8d99a6"
        getattr(self, "_add_" + kinds[0])(element, element[kinds[0]], colour)

    def _path(self, points, colour, width=2.5, closed=False):
        self.shapes.append(
            {"kind": "path", "points": points, "colour": colour or "#39424e", "width": width, "closed": closed}
        )

    def _add_line(self, element, points, colour):
        self._path(self._points(points, self.index), colour, 1.5 if element.get("colour") == 7 else 3)

    def _add_ball(self, element, point, colour):
        self.shapes.append(
            {"kind": "ball", "points": self._points([point], self.index), "colour": colour or COLOURS[0]}
        )

    def _add_trail(self, element, point, colour):
        step = max(1, len(self.run.time) // MOST_TRAIL)
        index = np.unique(np.append(np.arange(0, len(self.run.time), step), len(self.run.time) - 1))
        self.trails.append({"points": self._points([point], index)[:, 0], "colour": colour or COLOURS[5]})

    def _circle(self, centre, radius, angle, first, second):
        """Points of circles around centres (F, d) in the planes of two unit vectors (F, d), beginning at the angle."""
        turn = np.linspace(0, 2 * np.pi, 33)
        phase = angle[:, None] + turn[None, :]
        return centre[:, None] + radius[:, None, None] * (
            np.cos(phase)[..., None] * first[:, None] + np.sin(phase)[..., None] * second[:, None]
        )

    def _add_disc(self, element, point, colour):
        centre = np.stack([self._value(c)[self.index] for c in point], axis=-1)
        radius, angle = self._value(element["radius"])[self.index], self._value(element["angle"])[self.index]
        one = np.ones(len(centre))
        rim = self._circle(centre, radius, angle, np.stack([one, 0 * one], -1), np.stack([0 * one, one], -1))
        self._path(np.concatenate([rim, centre[:, None]], axis=1), colour, 2)

    def _add_ring(self, element, point, colour):
        centre = np.stack([self._value(c)[self.index] for c in point], axis=-1)
        axis = np.stack([self._value(c)[self.index] for c in element["axis"]], axis=-1)
        axis = axis / np.linalg.norm(axis, axis=1, keepdims=True)
        helper = np.where(np.abs(axis[:, 2:]) < 0.9, [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]])
        first = np.cross(axis, helper)
        first /= np.linalg.norm(first, axis=1, keepdims=True)
        radius = self._value(element["radius"])[self.index]
        self._path(project(self._circle(centre, radius, 0 * radius, first, np.cross(axis, first))), colour, 2)

    def _add_box(self, element, point, colour):
        centre = np.stack([self._value(c)[self.index] for c in point], axis=-1)
        width, height = (self._value(c)[self.index] / 2 for c in element["size"])
        angle = self._value(element["angle"])[self.index]
        corners = np.stack([np.stack([a * width, b * height], -1) for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))], 1)
        turn = np.stack(
            [np.stack([np.cos(angle), np.sin(angle)], -1), np.stack([-np.sin(angle), np.cos(angle)], -1)], 1
        )
        self._path(centre[:, None] + corners @ turn, colour, 2, closed=True)

    def _add_spring(self, element, ends, colour):
        ends = self._points(ends, self.index)
        along = ends[:, 1] - ends[:, 0]
        across = np.stack([-along[:, 1], along[:, 0]], -1)
        across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-12)
        # The coils keep their width; their number is a matter of looks.
        width = 0.06 * np.linalg.norm(along, axis=1).max()
        places = np.concatenate([[0.0, 0.1], np.linspace(0.15, 0.85, 15), [0.9, 1.0]])
        side = np.concatenate([[0.0, 0.0], [(-1.0) ** k for k in range(15)], [0.0, 0.0]])
        points = ends[:, :1] + places[None, :, None] * along[:, None] + width * side[None, :, None] * across[:, None]
        self._path(points, colour or COLOURS[2], 1.5)

    def _add_arrow(self, element, point, colour):
        start = np.stack([self._value(c)[self.index] for c in point], axis=-1)
        force = np.stack([self._value(c)[self.index] for c in element["force"]], axis=-1)
        zero = np.zeros_like(force)
        self.arrows.append(
            {
                "points": project(start),
                "vector": project(force) - project(zero),
                "size": float(np.linalg.norm(force, axis=1).max()),
            }
        )

    def _add_curve(self, element, point, colour):
        low, high = element["s"]
        s = np.linspace(float(low), float(high), 101)

        def look_up(name):
            return s if name == "s" else self.run.value(name)[0]

        points = project(
            np.stack([np.broadcast_to(formulas.evaluate(formulas.parse(str(c)), look_up), s.shape) for c in point], -1)
        )
        self._path(np.broadcast_to(points, (len(self.index),) + points.shape), colour, 1.5)

    def _measure(self):
        everything = [shape["points"].reshape(-1, 2) for shape in self.shapes]
        everything += [trail["points"] for trail in self.trails] + [arrow["points"] for arrow in self.arrows]
        points = np.concatenate(everything)
        points = points[np.isfinite(points).all(axis=1)]
        low, high = points.min(axis=0), points.max(axis=0)
        size = np.maximum(high - low, 0.25 * (high - low).max() + 1e-9)
        middle = (low + high) / 2
        self.low, self.high = middle - 0.62 * size, middle + 0.62 * size
        self.largest_force = largest = max((arrow["size"] for arrow in self.arrows), default=0.0)
        self.arrow_scale = 0.25 * float((high - low).max()) / largest if largest > 0 else 0.0
        for arrow in self.arrows:
            tips = arrow["points"] + self.arrow_scale * arrow["vector"]
            self.low = np.minimum(self.low, np.nanmin(tips, axis=0))
            self.high = np.maximum(self.high, np.nanmax(tips, axis=0))

    # ---- pictures ----------------------------------------------------------------------------------

    def draw(self, axis, frame):
        """One frame into matplotlib axes."""
        for trail in self.trails:
            axis.plot(*trail["points"].T, color=trail["colour"], lw=0.9)
        for shape in self.shapes:
            points = shape["points"][frame]
            if shape["kind"] == "ball":
                axis.plot(*points.T, "o", color=shape["colour"], ms=9)
            else:
                if shape["closed"]:
                    points = np.concatenate([points, points[:1]])
                axis.plot(*points.T, color=shape["colour"], lw=0.8 * shape["width"], solid_capstyle="round")
        for arrow in self.arrows:
            start, vector = arrow["points"][frame], self.arrow_scale * arrow["vector"][frame]
            if np.linalg.norm(vector) > 0.01 * (self.high - self.low).max():
                axis.annotate(
                    "",
                    start + vector,
                    start,
                    annotation_clip=False,
                    arrowprops={"arrowstyle": "-|>", "color": FORCE_COLOUR, "lw": 2, "shrinkA": 0, "shrinkB": 0},
                )
        axis.set_xlim(self.low[0], self.high[0])
        axis.set_ylim(self.low[1], self.high[1])
        axis.set_aspect("equal")
        axis.axis("off")

    def html(self):
        """An SVG that moves, with a slider; no other file is needed."""
        span = float((self.high - self.low).max())

        def rounded(points):
            return np.round((points - self.low) / span * 1000, 1).tolist()

        data = {
            "time": [float("%.6g" % t) for t in self.time],
            "still": self.still,
            "box": ((self.high - self.low) / span * 1000).round(1).tolist(),
            "trails": [{"points": rounded(t["points"]), "colour": t["colour"]} for t in self.trails],
            "shapes": [
                {
                    "kind": s["kind"],
                    "points": rounded(s["points"]),
                    "colour": s["colour"],
                    "width": s.get("width", 0),
                    "closed": s.get("closed", False),
                }
                for s in self.shapes
            ],
            "arrows": [
                {
                    "points": rounded(a["points"]),
                    "vector": np.round(a["vector"] * self.arrow_scale / span * 1000, 1).tolist(),
                }
                for a in self.arrows
            ],
            "force": FORCE_COLOUR,
        }
        legend = (
            "<p class='legend'><span style='color:%s'>→</span> force; the longest arrow is %.4g N</p>"
            % (FORCE_COLOUR, self.largest_force)
            if self.arrows and self.largest_force > 0
            else ""
        )
        return (
            "<div class='sketch'><svg></svg><div class='bar'><button>▶</button>"
            "<input type='range' min='0' max='%d' value='%d' aria-label='time'><output></output></div>%s"
            "<script type='application/json'>%s</script></div><script>%s</script>"
            % (
                len(self.time) - 1,
                self.still,
                legend,
                json.dumps(data, allow_nan=False),
                PROGRAM.read_text(encoding="utf-8"),
            )
        )
