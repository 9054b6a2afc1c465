#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
"""Draws a run of cdyn: constraint forces, violations and energy over time, and the path of a tool on a plane.

    plot_run.py RUN.csv PICTURE.png

The path is drawn where the run has the observables `tip_y` and `tip_z` (as panda_cutter has), or those named by
--path. Everything else is drawn for any run.
"""

import argparse
import csv
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.collections import LineCollection  # noqa: E402

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933"]
# Below this nothing can be told from zero in double precision; zeros are drawn here.
FLOOR = 1e-17


def read_run(path):
    """The columns of a CSV that cdyn wrote, by name; words become NaN."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    if len(rows) < 3:
        raise SystemExit(f"plot_run: {path} has no rows to draw")

    def number(text):
        try:
            return float(text)
        except ValueError:
            return float("nan")

    return {name: np.array([number(row[i]) for row in rows[1:]]) for i, name in enumerate(rows[0])}


def columns(run, prefix):
    """Columns whose name begins with a prefix, by the rest of the name."""
    return {name[len(prefix) :]: run[name] for name in run if name.startswith(prefix)}


def draw_path(axes, run, horizontal, vertical):
    """The path, coloured by the normal force where there is one, with the sideways force as arrows."""
    y, z = run["observe." + horizontal], run["observe." + vertical]
    scale = 100.0  # cm
    points = np.column_stack([y, z]) * scale
    normal = run.get("observe.wall_push")
    if normal is not None:
        segments = np.stack([points[:-1], points[1:]], axis=1)
        line = LineCollection(segments, cmap="viridis", linewidth=4, capstyle="round", zorder=2)
        line.set_array(0.5 * (normal[:-1] + normal[1:]))
        axes.add_collection(line)
        bar = axes.figure.colorbar(line, ax=axes, pad=0.01, fraction=0.03)
        bar.set_label("wall pushes on the tip [N]")
    else:
        axes.plot(points[:, 0], points[:, 1], color=COLOURS[0], linewidth=3, zorder=2)
    forces = [run.get("force.blade." + axis) for axis in "yz"]
    if all(force is not None for force in forces):
        count = min(33, len(y))
        # Equal distances along the path, not equal times: slow parts would be crowded otherwise.
        length = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
        at = np.unique(np.searchsorted(length, np.linspace(0, length[-1], count)).clip(0, len(y) - 1))
        strength = np.hypot(*forces)
        span = np.ptp(points[:, 1]) or 1.0
        unit = 10.0
        arrow = 0.9 * span / max(strength.max(), 1e-9)  # cm a newton
        axes.quiver(
            points[at, 0],
            points[at, 1],
            forces[0][at] * arrow,
            forces[1][at] * arrow,
            angles="xy",
            scale_units="xy",
            scale=1,
            color=COLOURS[1],
            width=0.0028,
            zorder=3,
        )
        while unit > 0.6 * strength.max():
            unit /= 2
        left, bottom = points[:, 0].max() - unit * arrow, points[:, 1].min() - 0.85 * span
        axes.quiver(
            [left],
            [bottom],
            [unit * arrow],
            [0],
            angles="xy",
            scale_units="xy",
            scale=1,
            color=COLOURS[1],
            width=0.0028,
        )
        axes.annotate(
            f"sideways force on the blade, {unit:g} N ", (left, bottom), ha="right", va="center", color=COLOURS[1]
        )
        axes.update_datalim(
            [(points[0, 0], points[:, 1].min() - 1.1 * span), (points[0, 0], points[:, 1].max() + 0.7 * span)]
        )
    reference = [run.get("observe." + name) for name in ("reference_y", "reference_z")]
    if all(values is not None for values in reference):
        axes.plot(
            reference[0] * scale, reference[1] * scale, color="grey", linestyle=(0, (1, 2)), linewidth=1.5, zorder=1
        )
        peak = np.argmax(reference[1])
        axes.annotate(
            "where the motors want the tip",
            (reference[0][peak] * scale, reference[1][peak] * scale),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
            color="grey",
        )
    axes.plot(*points[0], "o", color="black", markersize=7, zorder=4)
    axes.annotate("start", points[0], xytext=(-6, 8), textcoords="offset points", ha="right")
    axes.plot(*points[-1], "s", color="black", markersize=7, zorder=4)
    axes.annotate("end", points[-1], xytext=(8, 8), textcoords="offset points")
    axes.set_xlabel("along the wall, y [cm]")
    axes.set_ylabel("height, z [cm]")
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_title("Path of the tip on the wall", loc="left", fontweight="bold")


def draw_lines(axes, time, lines, title, label):
    many = len(lines) > 8
    for i, (name, values) in enumerate(lines.items()):
        axes.plot(
            time, values, color=COLOURS[i % len(COLOURS)], linewidth=1 if many else 1.8, label=None if many else name
        )
    if lines and not many:
        axes.legend(frameon=False, fontsize=9)
    axes.set_title(title, loc="left", fontweight="bold")
    axes.set_ylabel(label)
    axes.set_xlabel("time [s]")
    axes.margins(x=0.01)


def draw_violations(axes, run):
    time = run["time"]
    lines = {}
    for kind, unit, values in (("position", "m", columns(run, "phi.")), ("velocity", "m/s", columns(run, "psi."))):
        if values:
            largest = np.max(np.abs(np.array(list(values.values()))), axis=0)
            lines[f"{kind} rows [{unit}]"] = np.maximum(largest, FLOOR)
    draw_lines(axes, time, lines, "How far the constraints are violated", "largest residual")
    for line in axes.lines:
        line.set(linewidth=0.9, alpha=0.8)
    axes.set_yscale("log")
    axes.set_ylim(FLOOR / 2, max(1e-12, 30 * max((v.max() for v in lines.values()), default=0)))
    axes.legend(frameon=False, fontsize=9, loc="upper right")


def work_of_inputs(run):
    """Work of joint inputs: integral of τ q̇ over the output times; None where a speed is missing."""
    inputs = columns(run, "input.")
    power = np.zeros_like(run["time"])
    for joint, torque in inputs.items():
        speed = run.get("u.d" + joint)
        if speed is None:
            return None
        power += torque * speed
    if not inputs:
        return None
    steps = 0.5 * (power[1:] + power[:-1]) * np.diff(run["time"])
    return np.concatenate([[0], np.cumsum(steps)])


def draw_energy(axes, run):
    work = work_of_inputs(run)
    lines = {
        "kinetic": run["energy.kinetic"],
        "potential, change": run["energy.potential"] - run["energy.potential"][0],
        "total, change": run["energy.total"] - run["energy.total"][0],
    }
    title = "Energy"
    draw_lines(axes, run["time"], lines, title, "energy [J]")
    if work is not None and np.any(work != 0):
        axes.plot(run["time"], work, color="black", linestyle=(0, (2, 2)), linewidth=1.8, label="work of the motors")
        axes.set_title("Energy: the motors bring all of it", loc="left", fontweight="bold")
    # Room for the legend above the lines.
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.35 * (high - low))
    axes.legend(frameon=False, fontsize=9, loc="upper center", ncol=2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="CSV written by cdyn run --csv")
    parser.add_argument("picture", help="PNG (or PDF, SVG) to write")
    parser.add_argument(
        "--path",
        nargs=2,
        metavar=("ACROSS", "UP"),
        default=("tip_y", "tip_z"),
        help="observables of the path (default: tip_y tip_z)",
    )
    parser.add_argument("--title", help="headline of the picture (default: name of the CSV)")
    parser.add_argument("--dpi", type=int, default=110)
    arguments = parser.parse_args()

    run = read_run(arguments.run)
    for name in ("time", "energy.kinetic"):
        if name not in run:
            raise SystemExit(f"plot_run: {arguments.run} has no column {name}; is it a CSV of cdyn run?")
    plt.rcParams.update(
        {
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.3,
            "font.size": 10,
            "axes.titlesize": 11,
        }
    )
    has_path = all("observe." + name in run for name in arguments.path)
    if has_path:
        figure = plt.figure(figsize=(13, 8.2), layout="constrained")
        grid = figure.add_gridspec(2, 3, height_ratios=[1.15, 1])
        draw_path(figure.add_subplot(grid[0, :]), run, *arguments.path)
        lower = [figure.add_subplot(grid[1, i]) for i in range(3)]
    else:
        figure, lower = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    multipliers = columns(run, "lambda.")
    rotates = any(name.rpartition("/")[2] in ("rx", "ry", "rz") for name in multipliers)
    draw_lines(
        lower[0],
        run["time"],
        multipliers,
        "Constraint forces (multipliers)",
        "force [N], torque [N m]" if rotates else "force [N]",
    )
    draw_violations(lower[1], run)
    draw_energy(lower[2], run)
    name = os.path.splitext(os.path.basename(arguments.run))[0]
    figure.suptitle(arguments.title or name.replace("_", " "), fontsize=14)
    figure.savefig(arguments.picture, dpi=arguments.dpi)
    return 0


if __name__ == "__main__":
    sys.exit(main())
