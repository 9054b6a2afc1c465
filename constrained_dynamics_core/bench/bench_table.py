#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
"""Turns the results of `make bench` into tables.

usage: bench_table.py bench.json [table.md]

Every number is the smallest CPU time over the repetitions. Ratios are to Pinocchio's constraintDynamics on
the same workload in the same run.
"""

import json
import math
import sys

BASE = "pinocchio_constraint_dynamics"
FLOOR = "pinocchio_aba"
OURS = "auto"

# Ratio to constraintDynamics that `auto` must reach.
BARS = {
    "W1": 0.40,
    "W2a": 0.60,
    "W2b": 0.58,
    "W3": 0.60,
    "W5": 0.72,
    "W6a": 0.33,
    "W6b": 0.19,
    "W4a_20": 0.13,
    "W4a_80": 0.015,
    "W4b_20": 0.65,
    "W4b_80": 0.40,
    "W4b_200": 0.14,
    "W4c_20": 0.28,
    "W4c_80": 0.04,
}
# The solution with all its derivatives, and the peer's.
DERIVATIVES = "derivatives"
PEER_DERIVATIVES = "pinocchio_derivatives"
# Ratio to the peer's solution and derivatives that ours must reach.
DERIVATIVE_BARS = {
    "W1": 0.8,
    "W2a": 0.8,
    "W2b": 0.8,
    "W3": 0.8,
    "W4a_20": 0.4,
    "W4b_20": 0.8,
    "W4c_20": 0.4,
    "W5": 0.8,
    "W6a": 0.8,
    "W6b": 0.8,
}
# Exponent of N that the cost of `auto` must not exceed in W4a, W4b and W4c.
GROWTH_BAR = 1.2

TITLES = {
    BASE: "Pinocchio constraintDynamics",
    FLOOR: "Pinocchio aba, unconstrained (the floor)",
    "pinocchio_pv": "Pinocchio pv",
    "pinocchio_constrained_aba": "Pinocchio constrainedABA",
    "pinocchio_lcaba": "Pinocchio lcaba",
    "simbody": "Simbody realize(Acceleration)",
    "mujoco": "MuJoCo mj_forward (soft)",
    "dense_kkt": "dense KKT (Eigen LDLT)",
}
# Methods that are no formulation of this library.
PEERS = set(TITLES)


class Workload:
    """One workload: its facts, and time [µs] and error of each method."""

    def __init__(self, results):
        context = results["context"]
        self.name = context["workload"]
        self.text = context["text"]
        self.family = context["family"]
        self.size = int(context["size"])
        self.speeds = int(context["speeds"])
        self.rows = int(context["rows"])
        self.rank = int(context["rank"])
        self.stand_in = context["stand_in"] == "1"
        self.error_limit = float(context["error_limit"])
        self.time = {}
        self.error = {}
        self.order = {}  # of the methods, as the program names them; the runs are shuffled
        scale = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
        for run in results["benchmarks"]:
            if run.get("run_type") != "iteration" or run.get("error_occurred"):
                continue
            method = run["run_name"].split("/")[1]
            time = run["cpu_time"] * scale[run["time_unit"]]
            self.time[method] = min(time, self.time.get(method, math.inf))
            self.order[method] = run["family_index"]
            error = run["error"]
            self.error[method] = math.inf if error is None else float(error)

    def ratio(self, method):
        if method not in self.time or BASE not in self.time:
            return None
        return self.time[method] / self.time[BASE]

    def is_comparable(self, method):
        """Whether the method solves the workload itself, not something that costs alike."""
        if method == FLOOR:
            return False
        return not (self.stand_in and method in PEERS and method != "dense_kkt")

    def best_exact_peer(self):
        """The fastest peer within the error limit; None where there is none."""
        exact = [m for m in PEERS & set(self.time) if self.is_comparable(m) and self.error[m] <= self.error_limit]
        return min(exact, key=lambda m: self.time[m], default=None)


def number(value, digits=3):
    """A number with some significant digits and without exponent."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "fails"
    if value >= 100:
        return f"{value:.0f}"
    decimals = max(0, digits - 1 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:.{min(decimals, 4)}f}"


def error_text(value):
    return "fails" if not math.isfinite(value) else "0" if value == 0 else f"{value:.0e}"


def verdict(value, bar):
    return "met" if value <= bar else "**missed**"


def title(method):
    return TITLES.get(method, f"`{method}`")


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def bars_table(workloads):
    rows = []
    for w in workloads:
        ratio = w.ratio(OURS)
        bar = BARS.get(w.name)
        peer = w.best_exact_peer()
        name = w.name + ("¹" if w.stand_in else "")
        rank = f" ({w.rank})" if w.rank != w.rows else ""
        error = w.error.get(OURS, math.inf)
        rows.append(
            [
                name,
                w.text,
                str(w.speeds),
                f"{w.rows}{rank}",
                number(w.time.get(BASE)),
                number(w.time.get(OURS)),
                number(ratio, 2),
                "" if bar is None else str(bar),
                "" if bar is None or ratio is None else verdict(ratio, bar),
                "–" if peer is None else f"{title(peer)} {number(w.ratio(peer), 2)}",
                "–" if peer is None or OURS not in w.time else verdict(w.time[OURS], w.time[peer]),
                number(w.time.get(OURS, math.nan) / w.time[FLOOR], 2) if FLOOR in w.time else "–",
                error_text(error),
                error_text(w.error_limit),
                verdict(error, w.error_limit),
            ]
        )
    return table(
        [
            "workload",
            "system",
            "n",
            "rows (rank)",
            "constraintDynamics µs",
            "`auto` µs",
            "ratio",
            "bar",
            "",
            "best exact peer, ratio",
            "not slower",
            "`auto` / aba",
            "error",
            "limit",
            "",
        ],
        rows,
    )


def derivatives_table(workloads):
    rows = []
    for w in workloads:
        if DERIVATIVES not in w.time:
            continue
        peer = w.time.get(PEER_DERIVATIVES)
        ratio = None if peer is None else w.time[DERIVATIVES] / peer
        bar = DERIVATIVE_BARS.get(w.name)
        rows.append(
            [
                w.name + ("¹" if w.stand_in else ""),
                number(peer),
                number(w.time[DERIVATIVES]),
                number(ratio, 2),
                "" if bar is None else str(bar),
                "" if bar is None or ratio is None else verdict(ratio, bar),
                number(w.time[DERIVATIVES] / w.time[OURS], 2) if OURS in w.time else "–",
                error_text(w.error[DERIVATIVES]),
                "–" if peer is None or w.stand_in else error_text(w.error[PEER_DERIVATIVES]),
            ]
        )
    header = ["workload", "Pinocchio µs", "`differentiate` µs", "ratio", "bar", "", "/ `auto`", "error", "peer's error"]
    return table(header, rows) if rows else ""


def all_methods(workloads):
    """The one that ratios refer to, ours, the peers, the floor."""
    order = {}
    for w in workloads:
        for method, place in w.order.items():
            if method in (DERIVATIVES, PEER_DERIVATIVES):
                continue
            order[method] = max(place, order.get(method, 0))
    return sorted(order, key=lambda m: (m != BASE, m in PEERS, m == FLOOR, order[m]))


def method_table(workloads, entry):
    rows = [[title(m)] + [entry(w, m) for w in workloads] for m in all_methods(workloads)]
    return table(["method"] + [w.name for w in workloads], rows)


def ratio_entry(workload, method):
    if method == BASE:
        return number(workload.time.get(BASE)) + " µs"
    return number(workload.ratio(method), 2)


def error_entry(workload, method):
    if method not in workload.error:
        return "–"
    return error_text(workload.error[method]) if workload.is_comparable(method) else ""


def growth_table(workloads):
    """Exponents between the smallest and the largest size; empty where no family has two sizes."""
    families = {}
    for w in workloads:
        if w.family:
            families.setdefault(w.family, []).append(w)
    ends = {f: (min(ws, key=lambda w: w.size), max(ws, key=lambda w: w.size)) for f, ws in families.items()}
    ends = {f: e for f, e in ends.items() if e[0].size < e[1].size}

    if not ends:
        return ""

    def exponent(family, method):
        small, large = ends[family]
        if method not in small.time or method not in large.time:
            return None
        return math.log(large.time[method] / small.time[method]) / math.log(large.size / small.size)

    def entry(family, method):
        value = exponent(family, method)
        if value is None:
            return "–"
        return f"{value:.2f}" + (f" ({verdict(value, GROWTH_BAR)})" if method == OURS else "")

    header = ["method"] + [f"{f}, N = {a.size} to {b.size}" for f, (a, b) in ends.items()]
    rows = [[title(m)] + [entry(f, m) for f in ends] for m in all_methods(workloads)]
    return table(header, rows)


def tables(results):
    """The whole report as Markdown."""
    workloads = [Workload(r) for r in results["workloads"]]
    machine = results["machine"]
    text = "# Benchmark\n\n"
    text += (
        f"{results['date']}, {machine['cores']} cores {machine['cpu']}, {machine['compiler']}, "
        f"{results['repetitions']} repetitions in random order, smallest CPU time. One constrained forward "
        "dynamics: kinematics, inertia, bias, rows, accelerations, multipliers; the library also gives the "
        "generalized constraint force and the wrenches.\n\n"
    )
    text += "## `auto` against its bars\n\n" + bars_table(workloads)
    if any(w.stand_in for w in workloads):
        text += (
            "\n¹ Peers cannot express these rows; they are given a point that is held, three rows, which is "
            "another problem of a similar cost.\n"
        )
    text += "\nPlanar loops cost Pinocchio, Simbody and MuJoCo three rows each against two.\n"
    text += "\n## Ratio to constraintDynamics\n\n" + method_table(workloads, ratio_entry)
    derivatives = derivatives_table(workloads)
    if derivatives:
        text += (
            "\n## Solution and derivatives\n\nPinocchio: constraintDynamics and "
            "computeConstraintDynamicsDerivatives. Errors of ∂u̇/∂q and ∂u̇/∂u against differences of the terms, "
            "which are good for some 1e-10.\n\n" + derivatives
        )
    growth = growth_table(workloads)
    if growth:
        text += f"\n## Growth: exponent of N (bar for `auto`: {GROWTH_BAR})\n\n" + growth
    text += (
        "\n## Relative error of the accelerations\n\nAgainst a solution in long double arithmetic.\n\n"
        + method_table(workloads, error_entry)
    )
    for name, reason in results["left_out"].items():
        text += f"\nLeft out: {name}: {reason}\n"
    return text


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        text = tables(json.load(file))
    if len(sys.argv) == 3:
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
