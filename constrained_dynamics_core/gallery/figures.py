# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Draws the figures of figures.yaml and checks what is claimed of them."""

from pathlib import Path

import matplotlib
import numpy as np
import yaml

matplotlib.use("Agg")
import claims
import matplotlib.pyplot as plt
import pictures

from constrained_dynamics.drawing import COLOURS

TABLE = Path(__file__).with_name("figures.yaml")
SOURCES = {
    "thesis": "A. H. Bajodah, Acceleration constraints in modeling and control of nonholonomic systems",
    "geometry": "Bajodah and Chen, Canonical generalized inversion form of Kane's equations",
    "gears": "Nada and Bashiri, Selective generalized coordinates partitioning",
}
FIGURE_KEYS = {"source", "figure", "system", "caption", "claims", "print", "panels", "drawing", "of", "time", "times"}
PANEL_KEYS = {"curves", "x_axis", "y_axis", "x_window", "y_window", "scale", "equal", "level"}
CURVE_KEYS = {"run", "x", "y", "label", "style", "reference"}
MOST_POINTS = 40000
# Above this a line is drawn as pixels inside the SVG file.
MOST_VECTOR_POINTS = 4000

plt.rcParams.update(
    {
        "font.size": 10,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.prop_cycle": plt.cycler(color=COLOURS),
        "figure.constrained_layout.use": True,
        "svg.hashsalt": "gallery",
        "svg.fonttype": "path",
    }
)


class Figure:
    """One entry of the table, with its short forms written out."""

    def __init__(self, entry):
        self.source, self.number = entry["source"], entry["figure"]
        self.name = "%s_%d" % (self.source, self.number)
        unknown = set(entry) - FIGURE_KEYS - PANEL_KEYS - CURVE_KEYS
        if unknown:
            raise ValueError("figure %s: unknown key '%s'" % (self.name, unknown.pop()))
        self.entry, self.system = entry, entry["system"]
        self.caption, self.printed = entry["caption"].strip(), entry.get("print", "")
        self.claims, self.drawing = entry.get("claims", []), entry.get("drawing")
        self.panels = [] if self.drawing else [_panel(panel, self.name) for panel in entry.get("panels", [entry])]
        self.findings, self.comparisons = [], []

    @property
    def title(self):
        return "Figure %d" % self.number

    @property
    def run(self):
        """The run that claims are about unless they say another one."""
        return self.panels[0]["curves"][0]["run"] if self.panels else None

    def failures(self):
        return ["%s: %s" % (self.name, finding) for finding in self.findings if not finding.holds]


def _panel(entry, name):
    panel = {key: entry[key] for key in PANEL_KEYS if key in entry}
    if "curves" not in panel:
        panel["curves"] = [{key: entry[key] for key in CURVE_KEYS if key in entry}]
    for curve in panel["curves"]:
        unknown = set(curve) - CURVE_KEYS
        if unknown or not {"run", "y"} <= set(curve):
            raise ValueError(
                "figure %s: a curve has the keys %s; it needs run and y, and may have %s"
                % (name, ", ".join(curve), ", ".join(sorted(CURVE_KEYS)))
            )
    return panel


def read_table(path=TABLE):
    """The runs, and the figures in order."""
    table = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    figures = [Figure(entry) for entry in table["figures"]]
    names = [figure.name for figure in figures]
    if len(set(names)) != len(names):
        raise ValueError("a figure is in the table twice: %s" % max(names, key=names.count))
    return table["runs"], figures


def draw(figure, runs, path, sketches):
    """Draws a figure into an SVG file, checks its claims and compares its references."""
    if figure.drawing:
        plot, findings = pictures.draw(figure.drawing, figure.entry, runs, sketches)
        figure.findings += findings
    else:
        plot, axes = plt.subplots(
            1, len(figure.panels), figsize=(6.4 if len(figure.panels) == 1 else 9.0, 3.7), squeeze=False
        )
        for axis, panel in zip(axes[0], figure.panels):
            _draw_panel(figure, panel, axis, runs)
    plot.savefig(path, dpi=150, metadata={"Date": None} if Path(path).suffix == ".svg" else None)
    plt.close(plot)
    figure.findings += [comparison.finding() for comparison in figure.comparisons]
    figure.findings += [claims.check(claim, runs, figure.run) for claim in figure.claims]


def _draw_panel(figure, panel, axis, runs):
    for curve in panel["curves"]:
        run = runs[curve["run"]]
        x, y = run.value(curve.get("x", "t")), run.value(curve["y"])
        low, high = panel.get("x_window", (-np.inf, np.inf))
        at = np.flatnonzero((x >= low) & (x <= high))
        at = at[:: max(1, len(at) // MOST_POINTS)]
        (line,) = axis.plot(x[at], y[at], curve.get("style", "-"), label=curve.get("label"), lw=1.5)
        line.set_rasterized(len(at) > MOST_VECTOR_POINTS)
        if "reference" not in curve:
            continue
        name = curve.get("label", panel["y_axis"])
        comparison = claims.compare(curve["reference"], run, curve["y"], name)
        figure.comparisons.append(comparison)
        first = not any(label == "reference" for label in axis.get_legend_handles_labels()[1])
        shown = (comparison.time >= low) & (comparison.time <= high)
        axis.plot(
            comparison.time[shown],
            comparison.reference[shown],
            "o",
            mfc="none",
            ms=6,
            color=line.get_color(),
            label="reference" if first else None,
        )
    axis.set_xlabel(panel["x_axis"])
    axis.set_ylabel(panel["y_axis"])
    _set_window(panel, axis)
    if axis.get_legend_handles_labels()[1]:
        axis.legend(frameon=False, fontsize=9)


def _set_window(panel, axis):
    if "x_window" in panel:
        axis.set_xlim(panel["x_window"])
    if "y_window" in panel:
        axis.set_ylim(panel["y_window"])
    if "scale" in panel:
        axis.set_yscale(panel["scale"])
    if panel.get("equal"):
        axis.set_aspect("equal", adjustable="datalim")
    if "level" in panel:
        axis.axhline(panel["level"], color="black", lw=0.7)
