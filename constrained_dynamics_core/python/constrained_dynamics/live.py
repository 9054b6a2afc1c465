# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""A scenario that runs in real time, and the commands that change it while it runs; view.py shows it."""

import threading
import time

import numpy as np

from . import _core
from .drawing import COLOURS, MOST_ARROWS, Arrow, Drawing
from .residuals import largest_violation
from .rotations import quaternions

FRAME_RATE = 60.0  # [1/s] at which the run is advanced
LONGEST_FRAME = 0.1  # [s] of simulated time at once
LONGEST_WORK = 0.05  # [s] of computation at once, so that commands are answered
PREVIEW_TIME = 10.0  # [s] simulated for the size of the scene, at most
PREVIEW_WALL_TIME = 2.0  # [s] of computation that this may take
NOBODY_LOOKS = 3.0  # [s] without a request after which the run pauses


GRAVITY = "gravity"


class LiveRun:
    """A scenario in real time. All methods may be called from any thread."""

    def __init__(self, path, overrides=()):
        """Loads a scenario file; raises ValueError as Scenario.load."""
        self._path, self._overrides = str(path), list(overrides)
        self._lock = threading.RLock()
        self._parameters = {}  # those that were changed
        self._gravity = None
        self._switched = {}
        self._tasks = {}
        self._running, self._speed, self._note = True, 1.0, ""
        self._asked, self._factor = -NOBODY_LOOKS, 1.0
        self._pace = 0.01  # simulated seconds per second of computation; measured
        self._stop = threading.Event()
        self._thread = self._drawing = None
        self._load()
        self._gravity = _gravity(path, self._overrides)
        self._restart(self.scenario.initial)

    # ---- making ----------------------------------------------------------------------------------

    def _load(self):
        overrides = self._overrides + [self._override(*item) for item in self._parameters.items()]
        scenario = _core.Scenario.load(self._path, overrides)
        simulation = scenario.make_simulation()
        self.scenario, self._simulation = scenario, simulation
        self._system, self._constraints = scenario.system, scenario.dynamics.constraints
        self._slices, at = {}, 0
        for name, size in _core.sample_layout(scenario.dynamics):
            self._slices[name] = slice(at, at + size)
            at += size
        adaptive = (_core.Integrator.DOPRI5, _core.Integrator.RODAS, _core.Integrator.RADAU)
        self._fixed_step = scenario.run_settings.integrator not in adaptive
        self._managed = {c.constraint for c in scenario.contacts.contacts} | {
            f.constraint for f in scenario.contacts.frictions
        }

    def _override(self, name, value):
        if name == GRAVITY and GRAVITY not in dict(self.scenario.parameters):
            return "system.gravity=[%.17g, %.17g, %.17g]" % tuple(value * self._gravity / np.linalg.norm(self._gravity))
        return "parameters.%s=%.17g" % (name, value)

    def parameters(self):
        """Name and value of everything with a slider: the parameters of the file, and the gravity of robots."""
        values = dict(self.scenario.parameters)
        if self._gravity is not None and isinstance(self._system, _core.RigidBodySystem) and GRAVITY not in values:
            values[GRAVITY] = self._parameters.get(GRAVITY, float(np.linalg.norm(self._gravity)))
        return values

    def _restart(self, state):
        """Starts at a state, with constraints and tasks switched on and off as before."""
        self._simulation = self.scenario.make_simulation()
        self._simulation.start(state)
        self._check(self._simulation.evaluate(), "the state")
        for name, active in self._switched.items():
            self._simulation.switch_constraint(name, active)
        for name, enabled in self._tasks.items():
            self._simulation.servo.set_enabled(name, enabled)

    def drawing(self, shapes=()):
        """A drawing of one instant, scaled for a preview of the run; determines what `state` returns."""
        with self._lock:
            scenario, begin = self.scenario, self.scenario.initial.time
        duration = max(min(scenario.run_settings.until - begin, PREVIEW_TIME), scenario.run_settings.step)
        limit = time.monotonic() + PREVIEW_WALL_TIME
        record = scenario.run(begin + duration, duration / 200, observer=lambda t: time.monotonic() < limit)
        drawing = Drawing(record, np.arange(len(record)), shapes)
        self._make_arrows(drawing)
        drawing.time, drawing.poses, drawing.q = drawing.time[:1], drawing.poses[:1], drawing.q[:1]
        drawing.points = [points[:1] for points in drawing.points]
        drawing.trails = []
        with self._lock:
            self._drawing = drawing
            self._frames = list(drawing.frames) + drawing.point_frames
        return drawing

    def _make_arrows(self, drawing):
        """One force per wrench, regardless of the preview, and the torques of the preview."""
        zero = np.zeros((1, 3))
        self._sources = []
        if not self._system.frame_names:
            arrows = [
                Arrow(
                    "constraint force on point %d" % k if k else "constraint force",
                    "force",
                    zero,
                    zero,
                    COLOURS[k % len(COLOURS)],
                )
                for k in range(len(drawing.points))
            ]
            drawing.arrows = arrows[:MOST_ARROWS]
        else:
            seen = {(arrow.name, arrow.kind) for arrow in drawing.arrows}
            arrows = []
            for i in range(len(self._constraints)):
                constraint = self._constraints[i]
                first, count = self._constraints.wrench_offset(i), len(constraint.wrench_bodies)
                for k in range(count):
                    name = constraint.name if count == 1 else "%s[%d]" % (constraint.name, k)
                    for kind, part in (("force", 3), ("torque", 6)):
                        if kind == "force" or (name, kind) in seen:
                            arrows.append(
                                (
                                    Arrow(
                                        name,
                                        kind,
                                        zero,
                                        zero,
                                        COLOURS[i % len(COLOURS)],
                                        constraint.wrench_bodies[k].frame_a,
                                    ),
                                    (first + k, part),
                                )
                            )
            arrows.sort(key=lambda pair: pair[0].kind)
            drawing.arrows = [arrow for arrow, _ in arrows[:MOST_ARROWS]]
            self._sources = [source for _, source in arrows[:MOST_ARROWS]]
        # Pushes and sliders can make forces larger than in the preview.
        for kind in {arrow.kind for arrow in drawing.arrows}:
            drawing.scales[kind] = 0.5 * drawing.scales.get(kind, 0.02 * drawing.radius)

    # ---- the clock -------------------------------------------------------------------------------

    def start(self):
        self._thread = threading.Thread(target=self._work, name="live run", daemon=True)
        self._thread.start()

    def close(self):
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self):
        before = time.monotonic()
        while not self._stop.wait(1.0 / FRAME_RATE):
            now = time.monotonic()
            elapsed, before = now - before, now
            with self._lock:
                if self._running and now - self._asked < NOBODY_LOOKS:
                    wanted = elapsed * self._speed
                    given = min(wanted, LONGEST_FRAME, self._pace * LONGEST_WORK)
                    self._advance(given)
                    took = time.monotonic() - now
                    self._pace = min(given / max(took, 1e-6), 4.0 * self._pace)
                    self._factor += 0.1 * (given / wanted - self._factor)

    def _advance(self, duration):
        """Advances for about a duration; a run that cannot continue stops, with a note."""
        simulation = self._simulation
        try:
            if self._fixed_step:
                steps = max(1, round(duration / self.scenario.run_settings.step))
                status = simulation.step(steps)
            else:
                status = simulation.run(simulation.state.time + duration, duration).result.status
            if not _core.has_output(status):
                raise RuntimeError("status " + _core.status_name(status))
        except (RuntimeError, ValueError) as error:
            self._running = False
            self._note = "The run stands still: %s. Reset it, or change something." % error

    # ---- commands --------------------------------------------------------------------------------

    def command(self, action, **values):
        """Carries out the command of a button or slider; raises ValueError if it does not exist."""
        actions = {
            "play": self._play,
            "pause": self._pause,
            "step": self._step,
            "reset": self._reset,
            "speed": self._set_speed,
            "parameter": self._set_parameter,
            "push": self._push,
            "switch": self._switch,
            "task": self._switch_task,
        }
        if action not in actions:
            raise ValueError("there is no command %r; there are %s" % (action, ", ".join(actions)))
        with self._lock:
            self._note = ""
            try:
                actions[action](**values)
            except TypeError as error:
                raise ValueError("command %s: %s" % (action, error)) from None

    def _play(self):
        self._running = True

    def _pause(self):
        self._running = False

    def _step(self):
        self._running = False
        self._advance(max(self.scenario.run_settings.step if self._fixed_step else 0.0, 0.01))

    def _reset(self):
        """Back to the initial state of the file, with its parameters."""
        if self._parameters:
            self._parameters = {}
            self._load()
        self._restart(self.scenario.initial)
        self._running = True

    def _set_speed(self, value):
        self._speed = _number("speed", value, 0.001, 100.0)

    def _set_parameter(self, name, value):
        """Continues with another value from the current state, or from the start if the rows do not permit that."""
        known = self.parameters()
        if name not in known:
            raise ValueError("there is no parameter %r; there are %s" % (name, ", ".join(known)))
        before, state = dict(self._parameters), self._simulation.state
        self._parameters[name] = _number(name, value, -1e12, 1e12)
        try:
            self._load()
            try:
                self._restart(self._onto_rows(state))
            except (RuntimeError, ValueError):
                self._restart(self.scenario.initial)
                self._note = "With this value the run cannot go on from where it was: it starts anew."
        except (RuntimeError, ValueError) as error:
            self._parameters = before
            self._load()
            self._restart(state)
            raise ValueError("%s = %.6g: %s" % (name, float(value), error)) from None

    def _onto_rows(self, state):
        dynamics, workspace = self.scenario.dynamics, self.scenario.make_workspace()
        for name, active in self._switched.items():
            dynamics.set_active(name, active, workspace)
        for contact in self._managed:  # the simulation finds it again
            dynamics.set_active(contact, False, workspace)
        q = dynamics.project_position(state.q, workspace=workspace, time=state.time)
        u = dynamics.project_velocity(q, state.u, workspace=workspace, time=state.time)
        return _core.State(q, u, state.time)

    def _push(self, body, impulse):
        """An impulse [N s] on a link, world axes; of a textbook system on one speed."""
        if not isinstance(impulse, (list, tuple)) or not impulse:
            raise ValueError("impulse is %.40s; allowed: a list of numbers" % _repr(impulse))
        numbers = [_number("impulse", value, -1e9, 1e9) for value in impulse]
        state = self._simulation.state
        if body in self._system.frame_names:
            if len(numbers) != 3:
                raise ValueError("impulse has %d elements; 3 are needed" % len(numbers))
            at = _core.Kinematics(self._system, state.q, state.u, state.time)
            generalized = self._point_jacobian(at, body).T @ numbers
        elif body in self._system.speed_names:
            generalized = np.zeros(self._system.speed_count)
            generalized[self._system.speed_names.index(body)] = numbers[0]
        else:
            raise ValueError("there is no body or speed %r" % (body,))
        self._check(self._simulation.apply_impulse(generalized), "the push")

    def _switch(self, name, active):
        index = self._constraints.index(name)
        if index in self._managed:
            raise ValueError("constraint '%s' is a contact: it comes and goes by itself" % name)
        self._check(self._simulation.switch_constraint(index, bool(active)), "the switch")
        self._switched[name] = bool(active)

    def _switch_task(self, name, enabled):
        if self._simulation.servo is None:
            raise ValueError("the scenario has no servo-constraints")
        self._simulation.servo.set_enabled(name, bool(enabled))
        self._tasks[name] = bool(enabled)

    @staticmethod
    def _check(status, what):
        if not _core.has_output(status):
            raise ValueError("%s has no solution: status %s" % (what, _core.status_name(status)))

    # ---- what is shown ---------------------------------------------------------------------------

    def bodies(self):
        """Names of what can be pushed: moving bodies, or the speeds of a textbook system."""
        if not self._system.frame_names:
            return self._system.speed_names
        state = self.scenario.initial
        at = _core.Kinematics(self._system, state.q, state.u, state.time)
        names = [n for n in getattr(self._system, "link_names", self._system.frame_names) if n != "world"]
        return [name for name in names if np.abs(at.frame_jacobian(name)).max(initial=0.0) > 1e-9] or names

    def _point_jacobian(self, at, body):
        """Of the point of a link that is pushed (3 × n): its origin, or its centre of mass if the origin is at rest."""
        jacobian = at.frame_jacobian(body)
        moves = np.abs(jacobian[:3]).max(initial=0.0) > 1e-9
        if moves or not isinstance(self._system, _core.RigidBodySystem):
            return jacobian[:3]
        arm = at.body_centre(body) - at.frame(body).position
        return jacobian[:3] + np.cross(jacobian[3:], arm, axis=0)

    def description(self):
        """What stays constant: names, and the parameters of the file."""
        servo = self._simulation.servo
        return {
            "parameters": [{"name": name, "value": value} for name, value in self.parameters().items()],
            "constraints": [
                {
                    "name": self._constraints[i].name,
                    "type": self._constraints[i].type,
                    "contact": i in self._managed,
                    "rows": [row.label for row in self._constraints[i].rows],
                    "first": self._constraints.row_offset(i),
                    "colour": COLOURS[i % len(COLOURS)],
                }
                for i in range(len(self._constraints))
            ],
            "tasks": servo.law.task_names if servo is not None else [],
            "bodies": self.bodies(),
            "textbook": not self._system.frame_names,
            "coordinates": self._system.coordinate_names,
            "speeds": self._system.speed_names,
        }

    def state(self):
        """The instant, as plain lists."""
        with self._lock:
            self._asked = time.monotonic()
            if self._drawing is None:
                self.drawing()
            simulation = self._simulation
            out = {
                "running": self._running,
                "speed": self._speed,
                "factor": self._factor,
                "note": self._note,
                "parameters": self.parameters(),
            }
            try:
                sample = simulation.sample()
                if not np.isfinite(sample).all():
                    raise RuntimeError("a value is not finite")
            except RuntimeError as error:
                self._running = False
                out.update(running=False, note="There is no solution here: %s. Reset the run." % error, time=None)
                return out

            def part(name):
                return sample[self._slices[name]]

            out.update(
                time=float(sample[0]),
                status=_core.status_name(_core.Status(int(part("status")[0]))),
                q=part("q").tolist(),
                u=part("u").tolist(),
                multipliers=part("multipliers").tolist(),
                active=(part("active") != 0.0).tolist(),
                violation=[
                    float(values[0])
                    for values in largest_violation(
                        part("position")[None],
                        part("velocity")[None],
                        part("active")[None],
                        self._constraints,
                        self.scenario.contacts,
                    )
                ],
                energy=[simulation.kinetic_energy, simulation.potential_energy],
                inputs=part("inputs").tolist(),
                events=len(simulation.events),
                tasks=self._task_errors(simulation.servo),
                **self._picture(sample),
            )
            return out

    def _task_errors(self, servo):
        if servo is None:
            return []
        ends = [servo.law.row_offset(i) for i in range(len(servo.law.task_names))] + [servo.law.row_count]
        return [
            {
                "error": float(np.abs(servo.result.error[a:b]).max(initial=0.0)),
                "relaxed": bool(relaxed),
                "enabled": self._tasks.get(name, True),
            }
            for name, a, b, relaxed in zip(servo.law.task_names, ends, ends[1:], servo.result.relaxed)
        ]

    def _picture(self, sample):
        q, drawing = sample[self._slices["q"]], self._drawing
        if not self._system.frame_names:
            points = np.zeros((len(drawing.points), 3))
            force = np.zeros_like(points)
            names, speeds = self._system.coordinate_names, self._system.speed_names
            for k, axes in enumerate(drawing.point_coordinates):
                for axis, i in axes.items():
                    points[k, axis] = q[i]
                    if "d" + names[i] in speeds:
                        force[k, axis] = sample[self._slices["constraint_force"]][speeds.index("d" + names[i])]
            arrows = np.hstack([points, force])[: len(drawing.arrows)]
            return {
                "positions": [],
                "quaternions": [],
                "points": points.reshape(-1).tolist(),
                "arrows": arrows.reshape(-1).tolist(),
            }
        poses = self._system.frame_poses(q[None], self._frames)[0]
        bodies = poses[: len(drawing.frames)]
        wrenches = sample[self._slices["wrenches"]].reshape(-1, 9)
        arrows = [np.append(wrenches[k, :3], wrenches[k, first : first + 3]) for k, first in self._sources]
        return {
            "positions": bodies[:, :3, 3].reshape(-1).tolist(),
            "quaternions": quaternions(bodies[:, :3, :3]).reshape(-1).tolist(),
            "points": poses[len(drawing.frames) :, :3, 3].reshape(-1).tolist(),
            "arrows": np.concatenate(arrows).tolist() if arrows else [],
        }


def _number(name, value, low, high):
    number = float("nan")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            pass
    if not low <= number <= high:
        raise ValueError("%s is %.40s; allowed: a number, %g to %g" % (name, _repr(value), low, high))
    return number


def _repr(value):
    try:
        return repr(value)
    except ValueError:  # an integer of more digits than Python writes
        return "an integer of %d bits" % value.bit_length()


def _gravity(path, overrides):
    """Gravity of a scenario file if it is given as three numbers or not at all, otherwise None."""
    import yaml

    with open(path, encoding="utf-8") as file:
        content = yaml.safe_load(file)
    system = content.get("system") if isinstance(content, dict) else None
    if not isinstance(system, dict) or any(text.startswith("system.gravity") for text in overrides):
        return None
    try:
        gravity = np.array(system.get("gravity", [0.0, 0.0, -9.81]), dtype=float)
    except (TypeError, ValueError):
        return None
    return gravity if gravity.shape == (3,) and 0.0 < np.linalg.norm(gravity) < np.inf else None
