# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""A path-constrained optimal control problem, solved with the derivatives of the constrained motion.

A planar arm of three links leads its tip up along a wall with the least torque, and must keep pushing. The path is a
constraint of the system: the nonminimal equations contain it, so the optimisation sees one unconstrained set of
equations of motion. The method is direct multiple shooting: piecewise constant torques, the state at the end of each
interval, Runge-Kutta steps, and their exact derivatives by the chain rule from (E17) and (E18).
"""

import html
import time as clock

import claims
import matplotlib.pyplot as plt
import numpy as np
import site_pages
import yaml

import constrained_dynamics as cd
from constrained_dynamics.drawing import COLOURS

SPAN, INTERVALS, STEPS = 1.0, 12, 5  # [s], torques held constant over an interval, integration steps in each
LEAST_PUSH = 5.0  # [N]
START, END = {"height": 0.0, "pitch": 0.0}, {"height": 0.6, "pitch": 0.0}
SCALE = 20.0  # of torques [N m]
# Bounds of the search; none of them is reached by the solution.
MOST_TORQUE, MOST_TURN, MOST_SPEED = 100.0, 1.2, 8.0  # [N m], [rad] from the first guess, [rad/s]
MOST_ITERATIONS = 150


class Arm:
    """The arm of the scenario planar_wall, its tip on the wall, without its servo law."""

    def __init__(self):
        data = yaml.safe_load(open(cd.example("planar_wall"), encoding="utf-8"))
        self.parameters = data["parameters"]
        data = {key: data[key] for key in ("name", "parameters", "definitions", "system", "constraints", "initial")}
        data["stabilisation"] = {"kind": "none"}
        self.dynamics = cd.Scenario.from_text(yaml.safe_dump(data)).dynamics
        self.q = self.reach(START["height"], START["pitch"])
        self.u = np.zeros(3)
        self.work = cd.Workspace(self.dynamics, cd.State(self.q, self.u))

    def reach(self, height, pitch):
        """Angles that put the tip on the wall at a height: two links of 1 m before the tool."""
        tool = self.parameters["tool"]
        x = self.parameters["wall_x"] - tool * np.cos(pitch)
        y = height - tool * np.sin(pitch)
        half = np.arccos(np.hypot(x, y) / 2.0)
        return np.array([np.arctan2(y, x) + half, np.arctan2(y, x) - half, pitch])

    def tip(self, q):
        """x, y of the tip and their derivatives by q."""
        tool = self.parameters["tool"]
        lengths = np.array([1.0, 1.0, tool])
        return np.array([lengths @ np.cos(q), lengths @ np.sin(q)]), np.array(
            [-lengths * np.sin(q), lengths * np.cos(q)]
        )

    def acceleration(self, q, u, torques):
        """u̇ and the push λ."""
        status = self.dynamics.solve(q, u, torques, workspace=self.work)
        if status != cd.Status.OK:
            raise RuntimeError("the arm cannot be solved at q = %s: %s" % (q, status))
        return np.array(self.work.solution.acceleration), float(self.work.solution.multipliers[0])

    def differentiated(self, q, u, torques):
        """u̇, λ and their derivatives by (q, u) and τ (E17)."""
        d = cd.differentiate(self.dynamics, q, u, torques, workspace=self.work)
        solution = self.work.solution
        return (
            np.array(solution.acceleration),
            float(solution.multipliers[0]),
            np.hstack([d.acceleration_q, d.acceleration_u]),
            np.array(d.acceleration_input),
            np.hstack([d.multipliers_q, d.multipliers_u])[0],
            np.array(d.multipliers_input)[0],
        )

    def torques_of(self, q, u, acceleration, push):
        """Torques that cause an acceleration along the wall while the tip pushes."""
        self.dynamics.evaluate_rows(q, u, workspace=self.work)
        self.dynamics.evaluate_terms(workspace=self.work)
        row, inertia = np.array(self.work.rows.jacobian)[0], np.array(self.work.mass_matrix)
        joints = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [0.0, 0.0, 1.0]])
        return np.linalg.solve(joints, inertia @ acceleration - np.array(self.work.force) - row * push)

    def first_guess(self, push):
        """Torques (INTERVALS × 3) and end states (INTERVALS × 6) of the motion of least jerk at a constant push."""

        def place(t):
            s = np.clip(t / SPAN, 0.0, 1.0)
            part = s**3 * (10 - 15 * s + 6 * s**2)
            mixed = {key: START[key] + part * (END[key] - START[key]) for key in START}
            return self.reach(mixed["height"], mixed["pitch"])

        def motion(t, d=1e-4):
            before, now, after = place(t - d), place(t), place(t + d)
            return now, (after - before) / (2 * d), (after - 2 * now + before) / d**2

        ends = np.arange(1, INTERVALS + 1) * SPAN / INTERVALS
        torques = [self.torques_of(*motion(t - SPAN / INTERVALS / 2), push) for t in ends]
        return np.array(torques), np.array([np.concatenate(motion(t)[:2]) for t in ends])


class Shooting:
    """Variables x: torques (INTERVALS × 3, scaled), then the states at the ends of the intervals (INTERVALS × 6)."""

    def __init__(self, arm, substeps=STEPS):
        self.arm, self.substeps = arm, substeps
        self.count = 9 * INTERVALS
        self.motions = self.derivatives = 0
        self._kept = {}

    def parts(self, x):
        """Torques, and states with the start before them."""
        start = np.concatenate([self.arm.q, self.arm.u])
        return SCALE * x[: 3 * INTERVALS].reshape(INTERVALS, 3), np.vstack(
            [start, x[3 * INTERVALS :].reshape(INTERVALS, 6)]
        )

    def _once(self, what, x, make):
        """Made once for the same x."""
        kept = self._kept.get(what)
        if kept is None or not np.array_equal(kept[0], x):
            self._kept[what] = kept = (x.copy(), make(x))
        return kept[1]

    def motion(self, x):
        """Where each interval ends (INTERVALS × 6), and the push at its beginning; last the push at the end."""
        return self._once("motion", x, self._motion)

    def _motion(self, x):
        self.motions += 1
        torques, states = self.parts(x)
        ends, pushes = [], []
        step = SPAN / INTERVALS / self.substeps
        for tau, state in zip(torques, states):
            q, u = state[:3], state[3:]
            pushes.append(self.arm.acceleration(q, u, tau)[1])
            for _ in range(self.substeps):
                q, u = _step(lambda a, b: self.arm.acceleration(a, b, tau)[0], q, u, step)
            ends.append(np.concatenate([q, u]))
        pushes.append(self.arm.acceleration(states[-1, :3], states[-1, 3:], torques[-1])[1])
        return np.array(ends), np.array(pushes)

    def derivative(self, x):
        """Derivatives of the ends (INTERVALS × 6 × 9) and pushes (… × 9) by the state and torques of their interval."""
        return self._once("derivative", x, self._derivative)

    def _derivative(self, x):
        self.derivatives += 1
        torques, states = self.parts(x)
        by_own = [self._interval_derivative(state, tau) for state, tau in zip(states, torques)]
        pushes = [
            self.arm.differentiated(state[:3], state[3:], tau)[4:]
            for state, tau in zip(states, [*torques, torques[-1]])
        ]
        return np.array(by_own), np.array([np.concatenate(parts) for parts in pushes])

    def _interval_derivative(self, state, tau):
        """Chain rule through the Runge-Kutta steps of one interval: by (state, τ)."""
        by_own = np.eye(6, 9)
        step = SPAN / INTERVALS / self.substeps
        for _ in range(self.substeps):
            slopes, slopes_by_own = [], []
            for part in (0.0, 0.5, 0.5, 1.0):
                at = state + part * step * slopes[-1] if slopes else state
                at_by_own = by_own + part * step * slopes_by_own[-1] if slopes else by_own
                acceleration, _, by_state, by_tau, _, _ = self.arm.differentiated(at[:3], at[3:], tau)
                slopes.append(np.concatenate([at[3:], acceleration]))
                slope_by_own = np.vstack([at_by_own[3:], by_state @ at_by_own])
                slope_by_own[3:, 6:] += by_tau
                slopes_by_own.append(slope_by_own)
            weights = np.array([1.0, 2.0, 2.0, 1.0]) * step / 6
            state = state + weights @ np.array(slopes)
            by_own = by_own + np.tensordot(weights, np.array(slopes_by_own), 1)
        return by_own

    # ---- the optimisation problem ------------------------------------------------------------------

    def cost(self, x):
        """∫ τᵀτ dt [N² m² s]."""
        torques = self.parts(x)[0]
        return SPAN / INTERVALS * float(np.sum(torques**2))

    def cost_gradient(self, x):
        gradient = np.zeros(self.count)
        gradient[: 3 * INTERVALS] = 2 * SPAN / INTERVALS * SCALE**2 * x[: 3 * INTERVALS]
        return gradient

    def conditions(self, x):
        """Each interval ends where the next begins; height, pitch and their rates at the end."""
        states = self.parts(x)[1]
        gaps = self.motion(x)[0] - states[1:]
        place, by_q = self.arm.tip(states[-1, :3])
        last = states[-1]
        ending = [place[1] - END["height"], last[2] - END["pitch"], by_q[1] @ last[3:], last[5]]
        return np.concatenate([gaps.ravel(), ending])

    def conditions_jacobian(self, x):
        by_own = self.derivative(x)[0]
        last = self.parts(x)[1][-1]
        out = np.zeros((6 * INTERVALS + 4, self.count))
        for i in range(INTERVALS):
            rows = slice(6 * i, 6 * i + 6)
            self._place(out[rows], by_own[i], i)
            out[rows, self._state_columns(i + 1)] -= np.eye(6)
        by_q = self.arm.tip(last[:3])[1][1]
        ending = np.zeros((4, 6))
        ending[0, :3], ending[1, 2], ending[3, 5] = by_q, 1.0, 1.0
        ending[2, :3] = -np.array([1.0, 1.0, self.arm.parameters["tool"]]) * np.sin(last[:3]) * last[3:]
        ending[2, 3:] = by_q
        out[-4:, self._state_columns(INTERVALS)] = ending
        return out

    def spare_push(self, x):
        return self.motion(x)[1] - LEAST_PUSH

    def spare_push_jacobian(self, x):
        by_own = self.derivative(x)[1]
        out = np.zeros((INTERVALS + 1, self.count))
        for i in range(INTERVALS + 1):
            self._place(out[i : i + 1], by_own[i : i + 1], i)
        return out

    @staticmethod
    def _state_columns(i):
        """Of the state at the end of the i-th interval, counted from 1."""
        return slice(3 * INTERVALS + 6 * (i - 1), 3 * INTERVALS + 6 * i)

    def _place(self, rows, by_own, i):
        """Derivatives by (state i, torques of the interval after it) into the columns of x; the start is given."""
        if i > 0:
            rows[:, self._state_columns(i)] += by_own[:, :6]
        interval = min(i, INTERVALS - 1)
        rows[:, 3 * interval : 3 * interval + 3] += SCALE * by_own[:, 6:]

    def bounds(self, start):
        """Lowest and highest values of the search."""
        middle, width = np.zeros(self.count), np.full(self.count, MOST_TORQUE / SCALE)
        for i in range(1, INTERVALS + 1):
            columns = self._state_columns(i)
            middle[columns] = np.concatenate([start[columns][:3], np.zeros(3)])
            width[columns] = np.repeat([MOST_TURN, MOST_SPEED], 3)
        return middle - width, middle + width

    def solve(self, start, with_derivatives):
        """SLSQP; without derivatives it takes differences itself. Returns its result and the seconds."""
        from scipy.optimize import minimize

        constraints = [{"type": "eq", "fun": self.conditions}, {"type": "ineq", "fun": self.spare_push}]
        if with_derivatives:
            constraints[0]["jac"], constraints[1]["jac"] = self.conditions_jacobian, self.spare_push_jacobian
        begin = clock.process_time()
        result = minimize(
            self.cost,
            start,
            jac=self.cost_gradient,
            constraints=constraints,
            method="SLSQP",
            bounds=list(zip(*self.bounds(start))),
            options={"maxiter": MOST_ITERATIONS, "ftol": 1e-7},
        )
        return result, clock.process_time() - begin


def _step(acceleration, q, u, h):
    """A Runge-Kutta step of (q, u) with q̇ = u."""
    a1 = acceleration(q, u)
    a2 = acceleration(q + h / 2 * u, u + h / 2 * a1)
    a3 = acceleration(q + h / 2 * (u + h / 2 * a1), u + h / 2 * a2)
    a4 = acceleration(q + h * (u + h / 2 * a2), u + h * a3)
    return q + h * u + h**2 / 6 * (a1 + a2 + a3), u + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def derivative_error(shooting, x):
    """Largest relative deviation of the exact derivatives from central differences, along a few directions."""
    random = np.random.default_rng(20261116)
    exact = np.vstack([shooting.conditions_jacobian(x), shooting.spare_push_jacobian(x)])
    worst = 0.0
    for _ in range(3):
        direction = random.standard_normal(len(x))
        size = 1e-5 / np.linalg.norm(direction)
        values = [
            np.concatenate([shooting.conditions(x + s * direction), shooting.spare_push(x + s * direction)])
            for s in (size, -size)
        ]
        differences = (values[0] - values[1]) / (2 * size)
        along = exact @ direction
        worst = max(worst, float(np.max(np.abs(along - differences)) / np.max(np.abs(along))))
    return worst


def _draw(shooting, x, start, out):
    arm = shooting.arm
    torques, states = shooting.parts(x)
    pushes = shooting.motion(x)[1]
    time = np.linspace(0, SPAN, INTERVALS + 1)
    plot, axes = plt.subplots(1, 3, figsize=(12.0, 3.8))
    tool = arm.parameters["tool"]
    for state, strength in zip(states[::3], np.linspace(0.25, 1.0, len(states[::3]))):
        joints = np.cumsum(
            [[0, 0], *(length * np.array([np.cos(a), np.sin(a)]) for length, a in zip((1.0, 1.0, tool), state[:3]))],
            axis=0,
        )
        axes[0].plot(*joints.T, "o-", color=COLOURS[0], alpha=strength)
    axes[0].axvline(arm.parameters["wall_x"], color="grey", lw=3)
    axes[0].set_aspect("equal")
    axes[0].set_xlabel("x [m]")
    axes[0].set_ylabel("y [m]")
    for k, name in enumerate(("shoulder", "elbow", "wrist")):
        axes[1].stairs(torques[:, k], time, color=COLOURS[k], label=name, lw=1.6)
        axes[1].stairs(shooting.parts(start)[0][:, k], time, color=COLOURS[k], lw=0.8, ls=":")
    axes[1].set_xlabel("t [s]")
    axes[1].set_ylabel("torque [N m]; dotted: first guess")
    axes[1].legend(frameon=False)
    axes[2].plot(time, pushes, "o-", ms=3, label="push on the wall [N]")
    axes[2].plot(time, [10 * arm.tip(s[:3])[0][1] for s in states], label="height of the tip [dm]")
    axes[2].axhline(LEAST_PUSH, color="black", lw=0.8, ls="--", label="least push")
    axes[2].set_xlabel("t [s]")
    axes[2].legend(frameon=False)
    plot.savefig(out / "optimal_control.svg", metadata={"Date": None})
    plt.close(plot)


def solve_both():
    """The problem with and without derivatives: the shooting, the first guess; of each the result, time and counts."""
    arm = Arm()
    torques, states = arm.first_guess(20.0)
    start = np.concatenate([torques.ravel() / SCALE, states.ravel()])
    answers = []
    for with_derivatives in (True, False):
        shooting = Shooting(arm)
        result, seconds = shooting.solve(start, with_derivatives)
        answers.append((shooting, result, seconds))
    return start, answers


def findings_of(start, answers):
    (shooting, result, _), (_, without, _) = answers
    x = result.x
    states, pushes = shooting.parts(x)[1], shooting.motion(x)[1]
    wall = max(abs(shooting.arm.tip(s[:3])[0][0] - shooting.arm.parameters["wall_x"]) for s in states)
    fine = Shooting(shooting.arm, 4 * STEPS).motion(x)[0]
    low, high = shooting.bounds(start)
    return [
        claims.judge(
            "derivatives by (E17) against central differences, relative", derivative_error(shooting, x), {"below": 1e-6}
        ),
        claims.judge(
            "gaps between intervals, and end missed by", float(np.abs(shooting.conditions(x)).max()), {"below": 1e-6}
        ),
        claims.judge("least push on the way [N]", float(pushes.min()), {"above": LEAST_PUSH - 1e-5}),
        claims.judge("tip off the wall, which the optimisation is not told of [m]", wall, {"below": 1e-5}),
        claims.judge(
            "ends of the intervals with a quarter of the step, deviation",
            float(np.abs(fine - states[1:]).max()),
            {"below": 1e-4},
        ),
        claims.judge(
            "cost without derivatives by cost with them", without.fun / result.fun, {"is": 1.0, "within": 1e-3}
        ),
        claims.judge("distance from the bounds of the search", float(np.min([x - low, high - x])), {"above": 1e-3}),
        claims.judge("SLSQP reports success (0)", float(result.status), {"is": 0.0, "within": 0.0}),
    ]


def write_page(out):
    """The page; returns findings and the card of the index."""
    start, answers = solve_both()
    findings = findings_of(start, answers)
    (shooting, result, seconds), (other, without, seconds_without) = answers
    _draw(shooting, result.x, start, out)
    rows = "".join(
        "<tr><td>%s</td><td>%d</td><td>%d</td><td>%d</td><td>%.2f</td><td>%.6f</td></tr>"
        % (name, r.nit, s.motions, s.derivatives, t, r.fun)
        for name, r, s, t in (
            ("with derivatives", result, shooting, seconds),
            ("with differences", without, other, seconds_without),
        )
    )
    body = (
        "<p>%s</p><p>Minimise ∫ τᵀτ dt over the torques of a planar arm "
        "(<a href='systems/planar_wall.html'>planar wall</a>) that leads its tip along a wall, "
        "from rest at a height of %g m to rest at %g m in %g s, "
        "and pushes on the wall with at least %g N all the time. %d intervals of constant torques, "
        "%d variables, %d conditions.</p>"
        % (
            html.escape(__doc__.strip().partition("\n\n")[2].replace("\n", " ")),
            START["height"],
            END["height"],
            SPAN,
            LEAST_PUSH,
            INTERVALS,
            9 * INTERVALS,
            7 * INTERVALS + 5,
        )
        + "<figure><img src='optimal_control.svg' alt='motion, torques and push'>"
        "<figcaption>The motion (later is darker), the torques, and the push, "
        "which touches its bound.</figcaption></figure>"
        "<table><tr><th></th><th>iterations</th><th>motions</th><th>motions with derivatives</th>"
        "<th>CPU time [s]</th><th>cost [N² m² s]</th></tr>%s</table>" % rows + site_pages.findings_table(findings)
    )
    (out / "optimal_control.html").write_text(site_pages.page("Optimal control along a path", body), encoding="utf-8")
    return findings, site_pages.card(
        "optimal_control.html",
        "optimal_control.svg",
        "Optimal control along a path",
        "A planar arm leads its tip along a wall with the least torque: direct shooting with exact derivatives",
    )
