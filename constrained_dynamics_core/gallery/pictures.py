# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Figures that are no curves of a run: drawings, the geometry of accelerations, times of the parts of a step."""

import time as clock

import claims
import matplotlib.pyplot as plt
import numpy as np
import runs as run_tools
import yaml

import constrained_dynamics as cd
from constrained_dynamics.drawing import COLOURS

UP, SIDE, TOTAL, ALLOWED = COLOURS[1], COLOURS[0], "#222222", COLOURS[2]


def draw(name, entry, runs, sketches):
    """The picture of that name as a matplotlib figure, and findings about it."""
    known = {
        "sketch": sketch,
        "sketch_frames": sketch_frames,
        "acceleration_parts": acceleration_parts,
        "acceleration_deviation": acceleration_deviation,
        "acceleration_unconstrained": acceleration_unconstrained,
        "gear_times": gear_times,
    }
    if name not in known:
        raise ValueError("there is no drawing '%s'; known are %s" % (name, ", ".join(known)))
    return known[name](entry, runs, sketches)


# ---- drawings of systems -------------------------------------------------------------------------


def sketch(entry, runs, sketches):
    drawn = sketches(entry["of"])
    plot, axis = plt.subplots(figsize=(6.4, 3.7))
    drawn.draw(axis, int(np.argmin(np.abs(drawn.time - entry["time"]))))
    return plot, []


def sketch_frames(entry, runs, sketches):
    drawn = sketches(entry["of"])
    plot, axes = plt.subplots(2, 3, figsize=(8.0, 5.4))
    for axis, time in zip(axes.flat, entry["times"]):
        drawn.draw(axis, int(np.argmin(np.abs(drawn.time - time))))
        axis.set_title("t = %g s" % time, fontsize=10)
    return plot, []


# ---- the geometry of constrained accelerations ---------------------------------------------------


class Accelerations:
    """Accelerations of the double pendulum on its obstacle in canonical speeds, w = Q^½ u, as points (sideways, up).

    Up is the direction of the row, A Q^(−½), sideways its complement. The term of the changing Q^½, common to all,
    is left out.
    """

    def __init__(self, runs):
        run = runs["obstacle"]
        contact = next(time for time, _, kind in run.facts["events"] if kind == "close")
        state = [np.interp(contact, run.time, run.value(name)) for name in ("theta1", "theta2", "dtheta1", "dtheta2")]
        data = yaml.safe_load(open(cd.example("thesis_5_1"), encoding="utf-8"))
        del data["constraints"][0]["unilateral"]  # the obstacle as a bilateral row
        loaded = cd.Scenario.from_text(yaml.safe_dump(data), assemble=False)
        dynamics, work = loaded.dynamics, cd.Workspace(loaded.dynamics, cd.State(state[:2], state[2:]))
        q = dynamics.project_position(np.array(state[:2]), workspace=work)
        u = dynamics.project_velocity(q, np.array(state[2:]), workspace=work)
        torques = [data["parameters"]["tau1"], data["parameters"]["tau2"]]
        dynamics.evaluate_rows(q, u, workspace=work)
        dynamics.evaluate_terms(workspace=work)
        q_matrix = np.array(work.mass_matrix)
        force = np.array(work.force) + np.array([[1.0, -1.0], [0.0, 1.0]]) @ torques
        values, vectors = np.linalg.eigh(q_matrix)
        root = vectors @ np.diag(np.sqrt(values)) @ vectors.T
        row = np.array(work.rows.jacobian)[0] @ np.linalg.inv(root)
        up = row / np.linalg.norm(row)
        side = np.array([up[1], -up[0]])
        # Such that the unconstrained acceleration points to the right and up.
        tendency = np.linalg.solve(root, force)
        self.axes = np.array([side * np.sign(side @ tendency), up * np.sign(up @ tendency)])
        self.level = float(work.rows.bias[0] / np.linalg.norm(row)) * float(np.sign(up @ tendency))
        self.constrained = self.axes @ root @ np.array(work.solution.acceleration)
        self.unconstrained = self.axes @ tendency
        self.size = float(np.abs([*self.constrained, *self.unconstrained]).max())


def _arrow(axis, start, end, colour, style="-", label=None, offset=(4, 4)):
    axis.annotate(
        "",
        end,
        start,
        annotation_clip=False,
        arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.8, "linestyle": style, "shrinkA": 0, "shrinkB": 0},
    )
    if label:
        axis.annotate(
            label, (np.add(start, end)) / 2, xytext=offset, textcoords="offset points", color=colour, fontsize=10
        )


def _plane(points, size):
    plot, axis = plt.subplots(figsize=(6.4, 4.6))
    points = np.array([*points, (0.0, 0.0)])
    low, high = points.min(axis=0) - 0.12 * size, points.max(axis=0) + 0.12 * size
    # The axes are some 1.45 times as wide as high: one unit is as long in both directions.
    spare = 1.45 * (high[1] - low[1]) - (high[0] - low[0])
    grow = np.array([max(spare, 0.0), max(-spare, 0.0) / 1.45]) / 2
    axis.set_xlim(low[0] - grow[0], high[0] + grow[0])
    axis.set_ylim(low[1] - grow[1], high[1] + grow[1])
    axis.set_aspect("equal")
    axis.axhline(0, color="grey", lw=0.8)
    axis.axvline(0, color="grey", lw=0.8)
    axis.set_xlabel(r"$\mathcal{R}(\mathcal{A}_2^T)$: momentum balance")
    axis.set_ylabel(r"$\mathcal{R}(\mathcal{A}_1^T)$: constraint")
    axis.grid(False)
    return plot, axis


def acceleration_parts(entry, runs, sketches):
    a = Accelerations(runs)
    side, up = a.constrained
    others_red = [(side + shift * a.size, up) for shift in (0.3, 0.6)]
    others_blue = [(side, up + shift * a.size) for shift in (-0.35, 0.25)]
    plot, axis = _plane([a.constrained, *others_red, *others_blue], a.size)
    for point in others_red:
        _arrow(axis, (0, 0), point, UP, ":")
    for point in others_blue:
        _arrow(axis, (0, 0), point, SIDE, ":")
    _arrow(axis, (0, 0), (0, up), UP, label=r"$\mathcal{A}_1^+V_1$", offset=(-44, 0))
    _arrow(axis, (0, 0), (side, 0), SIDE, label=r"$\mathcal{A}_2^+\mathcal{A}_2V_2$", offset=(-10, -18))
    _arrow(axis, (0, 0), a.constrained, TOTAL, label=r"$\dot w$", offset=(-16, 8))
    axis.plot([0, side, side], [up, up, 0], color="grey", lw=0.7, ls="--")
    return plot, [
        claims.judge("the upward part is A₁⁺ V₁", up, {"is": a.level, "within": 1e-9 * a.size}),
        claims.judge(
            "the sideways part is that of the unconstrained acceleration",
            side,
            {"is": a.unconstrained[0], "within": 1e-9 * a.size},
        ),
    ]


def acceleration_deviation(entry, runs, sketches):
    a = Accelerations(runs)
    deviation = np.array([0.4, 0.3]) * a.size
    end = a.constrained + deviation
    plot, axis = _plane([a.constrained, end], a.size)
    corner = a.constrained + [deviation[0], 0]
    _arrow(axis, a.constrained, corner, SIDE, label=r"$\mathcal{A}_2^+\mathcal{A}_2\delta V_2$", offset=(-20, -14))
    _arrow(axis, corner, end, UP, label=r"$\mathcal{A}_1^+\delta V_1$", offset=(5, 0))
    _arrow(axis, a.constrained, end, ALLOWED, label=r"$\Delta\dot w$", offset=(-24, 4))
    _arrow(axis, (0, 0), a.constrained, TOTAL, label=r"$\dot w$", offset=(-16, 8))
    _arrow(axis, (0, 0), end, SIDE, ":", label=r"$\dot w + \Delta\dot w$", offset=(10, -8))
    return plot, [
        claims.judge(
            "both parts are at right angles",
            float(np.dot(corner - a.constrained, end - corner)),
            {"is": 0.0, "within": 1e-9 * a.size**2},
        )
    ]


def acceleration_unconstrained(entry, runs, sketches):
    a = Accelerations(runs)
    others = [a.constrained + [shift, 0] for shift in (-0.5 * a.size, 0.45 * a.size)]
    plot, axis = _plane([a.constrained, a.unconstrained, *others], a.size)
    for point in others:
        _arrow(axis, (0, 0), point, ALLOWED, ":")
        _arrow(axis, point, a.unconstrained, UP, ":")
    _arrow(axis, (0, 0), a.constrained, TOTAL, label=r"$\dot w$", offset=(-16, 8))
    _arrow(axis, (0, 0), a.unconstrained, SIDE, label=r"$\dot w_h$", offset=(9, -8))
    _arrow(axis, a.constrained, a.unconstrained, UP, label=r"$\Delta\dot w$", offset=(5, 0))
    gap = np.linalg.norm(a.unconstrained - a.constrained)
    shortest = min(np.linalg.norm(a.unconstrained - point) for point in others)
    return plot, [
        claims.judge(
            "Δẇ has no sideways part",
            float(a.unconstrained[0] - a.constrained[0]),
            {"is": 0.0, "within": 1e-9 * a.size},
        ),
        claims.judge("length of Δẇ by that of the next shorter one", float(gap / shortest), {"below": 1.0}),
    ]


# ---- times ---------------------------------------------------------------------------------------


def _microseconds(call, repetitions=40, rounds=7):
    """The least mean time of a call."""
    best = np.inf
    for _ in range(rounds):
        begin = clock.perf_counter()
        for _ in range(repetitions):
            call()
        best = min(best, (clock.perf_counter() - begin) / repetitions)
    return 1e6 * best


def gear_times(entry, runs, sketches):
    names, values = [], []
    state = runs["gears_selected"]
    q, u = state.arrays["q"][60], state.arrays["u"][60]
    for label, formulation in (
        ("solve, FCI", "kane_nonminimal"),
        ("solve, GCPI", "coordinate_partition_full"),
        ("solve, SCPI", "coordinate_partition_selected"),
    ):
        loaded = run_tools.load("gear_train_euler", ["formulation=" + formulation])
        dynamics, work = loaded.dynamics, cd.Workspace(loaded.dynamics, loaded.initial)
        rows = _microseconds(lambda: dynamics.evaluate_rows(q, u, workspace=work))
        if not names:
            names.append("rows and kinematics")
            values.append(rows)
        names.append(label)
        values.append(_microseconds(lambda: dynamics.solve(q, u, workspace=work)) - rows)
    names += ["project position", "project velocity"]
    values.append(_microseconds(lambda: dynamics.project_position(q, workspace=work), 10))
    values.append(_microseconds(lambda: dynamics.project_velocity(q, u, workspace=work), 10))
    plot, axis = plt.subplots(figsize=(6.4, 3.7))
    bars = axis.barh(names, values, color=[COLOURS[7], COLOURS[0], COLOURS[1], COLOURS[2], COLOURS[5], COLOURS[5]])
    axis.bar_label(bars, fmt="%.0f", padding=3)
    axis.invert_yaxis()
    axis.set_xlabel("time per call [µs]")
    saved = values[names.index("solve, GCPI")] / values[names.index("solve, SCPI")]
    return plot, [claims.judge("times of solving, GCPI by SCPI", saved, {"above": 1.0})]
