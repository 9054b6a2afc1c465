#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
"""Draws the figures 3 to 11 of Nada and Bashiri (DETC2017-67476) for the epicyclic gear train.

    plot_gear_train.py CDYN EXAMPLE_GEAR_TRAIN FOLDER

CDYN is the command, EXAMPLE_GEAR_TRAIN the example program of this folder. Full coordinates (FCI) run without
stabilisation at the tolerance of the paper, 0.001; both partitionings (GCPI, SCPI) run as the scenario says.
Pictures go to FOLDER. Run it in the root of the repository.
"""

import csv
import pathlib
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from plot_run import COLOURS, read_run  # noqa: E402

SCENARIO = "config/scenarios/gear_train_euler.yaml"
RADII = {"ring": 0.254, "sun": 0.046, "planet1": 0.104, "planet2": 0.104}  # module · teeth / 2 [m]
PAPER_TOLERANCE = [
    "run.integrator=dopri5",
    "run.absolute_tolerance=1e-3",
    "run.relative_tolerance=1e-3",
    "run.largest_step=1",
    "run.error_tolerance=10",  # coarse, as the paper has it
]
RUNS = {
    "FCI": ["formulation=coordinate_partition_full", "stabilisation={kind: none}", *PAPER_TOLERANCE],
    "GCPI": ["formulation=coordinate_partition"],
    "SCPI": ["formulation={kind: coordinate_partition_selected, independent: [darm_e3]}"],
}
SPEEDS = {"sun": "sun_speed", "arm": "arm_speed", "planets": "planet1_speed"}


def run(cdyn, name, folder):
    """One run of cdyn, as columns."""
    table = folder / f"{name}.csv"
    command = [cdyn, "run", SCENARIO, "--quiet", "--csv", str(table)]
    for assignment in RUNS[name]:
        command += ["--set", assignment]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return read_run(table)


def save(figure, folder, name):
    figure.savefig(folder / f"{name}.png", dpi=110)
    plt.close(figure)


def axes_with(title, vertical):
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.set(title=title, xlabel="time [s]", ylabel=vertical)
    axes.grid(alpha=0.3)
    return figure, axes


def draw_frames(columns, folder):
    """Fig. 3: the train in the first 5 s."""
    figure, frames = plt.subplots(1, 6, figsize=(15, 2.9), layout="constrained")
    for axes, time in zip(frames, range(6)):
        at = int(np.argmin(np.abs(columns["time"] - time)))
        value = {name[2:]: column[at] for name, column in columns.items() if name.startswith("q.")}
        for body, radius in RADII.items():
            x, y = value[f"{body}_x"], value[f"{body}_y"]
            angle = 2 * np.arctan2(value[f"{body}_e3"], value[f"{body}_e0"])
            axes.add_patch(plt.Circle((x, y), radius, fill=False))
            if body != "ring":
                axes.plot([x, x + radius * np.cos(angle)], [y, y + radius * np.sin(angle)], color=COLOURS[1])
        axes.plot(
            [value["carrier1_x"], value["carrier2_x"]],
            [value["carrier1_y"], value["carrier2_y"]],
            color=COLOURS[0],
            linewidth=3,
        )
        axes.set(title=f"{time} s", aspect="equal", xlim=(-0.27, 0.27), ylim=(-0.27, 0.27))
        axes.set_axis_off()
    save(figure, folder, "figure_3_frames")


def draw_errors(runs, folder):
    """Figs. 4 and 6: ‖C^nh‖."""
    for number, names in ((4, ["FCI"]), (6, ["GCPI", "SCPI"])):
        figure, axes = axes_with(f"Fig. {number}: error of the gear rows, {' and '.join(names)}", "‖ψ‖ [rad/s]")
        for name, colour in zip(names, COLOURS):
            axes.plot(runs[name]["time"], runs[name]["observe.gear_error"], color=colour, label=name, linewidth=1)
        axes.legend()
        save(figure, folder, f"figure_{number}_error")


def draw_speeds(runs, folder):
    """Figs. 5 and 7: angular velocities."""
    for number, names in ((5, ["FCI"]), (7, ["GCPI", "SCPI"])):
        figure, axes = axes_with(f"Fig. {number}: angular velocities, {' and '.join(names)}", "ω [rad/s]")
        for name, style in zip(names, ["-", "--"]):
            for (body, column), colour in zip(SPEEDS.items(), COLOURS):
                axes.plot(
                    runs[name]["time"], runs[name][f"observe.{column}"], style, color=colour, label=f"{body}, {name}"
                )
        axes.legend()
        save(figure, folder, f"figure_{number}_speeds")


def draw_times(table, folder):
    """Fig. 8: time per function and of the whole run, as the example measured them."""
    with open(table, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["system"] == "gear_train_euler"]
    functions = ["f1", "f2", "f3", "f4", "f5", "whole"]
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for i, name in enumerate(RUNS):
        seconds = {row["function"]: float(row["seconds"]) for row in rows if row["method"] == name}
        axes.bar(
            np.arange(len(functions)) + 0.27 * (i - 1),
            [seconds[f] for f in functions],
            0.25,
            label=name,
            color=COLOURS[i],
        )
    axes.set(title="Fig. 8: time per function", ylabel="processor time [s]")
    axes.set_xticks(range(len(functions)), functions)
    axes.grid(alpha=0.3, axis="y")
    axes.legend()
    save(figure, folder, "figure_8_times")


def draw_euler_parameters(columns, folder):
    """Figs. 9 to 11: Euler parameters of arm, planets and sun."""
    for number, body in ((9, "arm"), (10, "planet1"), (11, "sun")):
        figure, axes = axes_with(f"Fig. {number}: Euler parameters of {body}, SCPI", "")
        for k, colour in zip(range(4), COLOURS):
            axes.plot(columns["time"], columns[f"q.{body}_e{k}"], color=colour, label=f"θ{k}", linewidth=1)
        axes.legend(loc="upper right")
        save(figure, folder, f"figure_{number}_euler_parameters")


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    cdyn, example, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    runs = {name: run(cdyn, name, folder) for name in RUNS}
    times = folder / "times.csv"
    subprocess.run([example, "15", "3", str(times)], check=True)
    draw_frames(runs["SCPI"], folder)
    draw_errors(runs, folder)
    draw_speeds(runs, folder)
    draw_times(times, folder)
    draw_euler_parameters(runs["SCPI"], folder)


if __name__ == "__main__":
    main()
