# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""A scenario that is advanced, paused, pushed and switched from outside. Knows nothing of ROS."""

import math

import numpy as np

import constrained_dynamics as cd

# Steps of one call of `step`: longer ones would leave everything else waiting.
MOST_STEPS = 1_000_000


class RequestError(ValueError):
    """A request that cannot be met; states what was requested and what is allowed."""


class HostedScenario:
    """A scenario with the simulation of it, which is always solved at its state."""

    def __init__(self, path, overrides=(), until=0.0):
        """until: end of the simulation [s]; 0: that of the scenario, inf: none."""
        self.scenario = cd.Scenario.load(path, list(overrides))
        settings = self.scenario.run_settings
        self.until = until if until > 0.0 else settings.until
        self.step_size = settings.step
        self._adaptive = settings.integrator == cd.Integrator.DOPRI5
        self.system = self.scenario.system
        self.constraints = self.scenario.dynamics.constraints
        contacts = self.scenario.contacts
        self._managed = {item.constraint for item in contacts.contacts + contacts.frictions}
        self._kinematics = cd.Kinematics(self.system, self.scenario.initial.q, self.scenario.initial.u)
        self.reset()

    def reset(self):
        """Back to the initial state, every constraint as the file says."""
        self.simulation = self.scenario.make_simulation()
        self.failure = None  # the status that ended the simulation early
        self._remainder = 0.0
        self._solve()

    # ---- time --------------------------------------------------------------------------------------

    @property
    def time(self):
        return self.state.time

    @property
    def ended(self):
        return self.failure is not None or self.time >= self.until - 1e-9 * self.step_size

    def advance(self, duration):
        """Advances by a time [s], to the next whole step, and not beyond the end."""
        if self.ended or not duration > 0.0:
            return
        duration = min(duration + self._remainder, self.until - self.time)
        steps = int(duration / self.step_size + 1e-9)
        self._remainder = 0.0 if self._adaptive else max(duration - steps * self.step_size, 0.0)
        if self._adaptive:
            self._run(self.time + duration)
        elif steps > 0:
            self._step(steps)
        elif self.time + duration >= self.until:
            self._step(1)  # the last one, which the end cuts

    def step(self, count):
        """Makes steps of the scenario's step size, beyond its end too."""
        if not 1 <= count <= MOST_STEPS:
            raise RequestError(f"steps is {count}; allowed: 1 to {MOST_STEPS}")
        if self.failure is not None:
            raise RequestError(
                f"the simulation ended at {self.time:.6g} s with status '{self.failure}'; reset starts it anew"
            )
        if self._adaptive:
            self._run(self.time + count * self.step_size)
        else:
            self._step(count)
        if self.failure is not None:
            raise RequestError(f"the simulation ended at {self.time:.6g} s with status '{self.failure}'")

    def _step(self, count):
        status = self.simulation.step(count)
        self._finish(status)

    def _run(self, until):
        if not until > self.time:
            return  # less than rounding
        result = self.simulation.run(until, until - self.time).result
        self._finish(cd.Status.OK if result.completed else result.status)

    def _finish(self, status):
        if not cd.has_output(status):
            self.failure = status_name(status)
        self._solve()

    def _solve(self):
        """Solves at the state; what is read afterwards belongs to it."""
        self.state = self.simulation.state
        self.status = self.simulation.evaluate()
        self.active = self.simulation.active
        self.solution = self.simulation.solution
        self.rows = self.simulation.rows
        self.inputs = self.simulation.inputs
        self._kinematics.update(self.state.time, self.state.q, self.state.u)
        self.rates = self._kinematics.rates

    # ---- requests ----------------------------------------------------------------------------------

    def set_active(self, name, active):
        """Switches a constraint and returns the magnitude of the impulse that enforced it."""
        try:
            index = self.constraints.index(name)
        except ValueError as error:
            raise RequestError(str(error)) from None
        if index in self._managed:
            raise RequestError(f"constraint '{name}' is a contact or its friction: the simulation switches it itself")
        if self.active[index] == active:
            return 0.0
        event = self._change(
            lambda: self.simulation.switch_constraint(index, active),
            f"constraint '{name}' could not be switched {'on' if active else 'off'}",
        )
        return event.impulse if event else 0.0

    def push(self, frame, force, torque, names, values):
        """Applies an impulse at the origin of a frame (world axes), along speeds, or both; returns the
        change of the energy [J]."""
        impulse = self._frame_impulse(frame, force, torque) + self._speed_impulse(names, values)
        if not frame and not names:
            raise RequestError("nothing to push: give a frame with force and torque, or names with values")
        if not impulse.any():
            return 0.0
        event = self._change(lambda: self.simulation.apply_impulse(impulse), "the impulse could not be applied")
        return event.energy_change if event else 0.0

    def _frame_impulse(self, frame, force, torque):
        given = np.concatenate([force, torque])
        if not np.isfinite(given).all():
            raise RequestError(f"force and torque are {_listed(given)}; allowed: finite values")
        if not frame:
            if given.any():
                raise RequestError("force or torque is given, but no frame; allowed: " + self._frames())
            return np.zeros(self.system.speed_count)
        if not self.system.frame_names:
            raise RequestError(f"frame '{frame}' does not exist: this system has no bodies; push along speeds")
        if frame not in self.system.frame_names:
            raise RequestError(f"frame '{frame}' does not exist; allowed: " + self._frames())
        return self._kinematics.frame_jacobian(frame).T @ given

    def _frames(self):
        return ", ".join(self.system.frame_names) or "none, this system has no bodies"

    def _speed_impulse(self, names, values):
        if len(names) != len(values):
            raise RequestError(f"there are {len(names)} names and {len(values)} values; allowed: as many")
        if len(names) > self.system.speed_count:
            raise RequestError(f"there are {len(names)} names; allowed: up to {self.system.speed_count}, one a speed")
        impulse = np.zeros(self.system.speed_count)
        for name, value in zip(names, values):
            if not math.isfinite(value):
                raise RequestError(f"the value of '{name}' is {value}; allowed: finite values")
            try:
                impulse[self.system.speed_index(name)] += value
            except ValueError as error:
                raise RequestError(str(error)) from None
        return impulse

    def _change(self, change, what):
        """Makes a change at this instant; returns its event, or None if there was no room for it."""
        before = len(self.simulation.events)
        status = change()
        events = self.simulation.events[before:]
        self._solve()
        if not cd.has_output(status):
            raise RequestError(f"{what}: status '{status_name(status)}'")
        self.failure = None  # what ended the motion may be gone now
        return next((event for event in events if event.kind in _CHANGES), None)

    # ---- what happened -----------------------------------------------------------------------------

    def take_events(self):
        """The events since the last call, and how many were lost."""
        return self.simulation.take_events()

    def poses(self, frames):
        """Poses (F, 4, 4) of frames in the world."""
        return self.system.frame_poses(self.state.q[None, :], frames)[0]


_CHANGES = (cd.EventKind.SWITCH_ON, cd.EventKind.SWITCH_OFF, cd.EventKind.IMPULSE)


def status_name(status):
    """The stable name of a status, as `cdyn` prints it."""
    return status.name.lower()


def _listed(values):
    return "[" + ", ".join(f"{value:g}" for value in values) + "]"
