# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Batches of runs."""

import threading

import numpy as np
import pytest
from conftest import PENDULUM
from test_dynamics import LENGTH, rod

import constrained_dynamics as cd

RUNS, STEPS = 8, 200


@pytest.fixture
def dynamics(pendulum):
    return cd.Dynamics(pendulum, [rod(pendulum)], stabilisation=cd.Stabilisation.projection())


def starts(runs=RUNS):
    """On the rod, at rest, at different angles."""
    angles = np.linspace(-1.0, 1.0, runs)
    zeros = np.zeros(runs)
    return np.stack([LENGTH * np.sin(angles), -LENGTH * np.cos(angles), zeros, zeros], axis=1)


@pytest.mark.parametrize("integrator", [cd.Integrator.RK4, cd.Integrator.MOREAU])
def test_rollout_expect_what_single_simulations_compute(dynamics, integrator):
    batch = cd.rollout(dynamics, starts(), steps=STEPS, threads=2, integrator=integrator, multipliers=True)
    assert batch.states.shape == (RUNS, STEPS, 4) and batch.q.shape == batch.u.shape == (RUNS, STEPS, 2)
    assert batch.multipliers.shape == (RUNS, STEPS, 1) and batch.time[-1] == pytest.approx(STEPS * 1e-3)
    assert set(batch.status) == {cd.Status.OK} and (batch.steps == STEPS).all()
    for run, start in enumerate(starts()):
        simulation = cd.Simulation(dynamics, cd.State(start[:2], start[2:]), step=1e-3, integrator=integrator)
        assert simulation.step(STEPS) == cd.Status.OK
        assert (simulation.state.q == batch.q[run, -1]).all() and (simulation.state.u == batch.u[run, -1]).all()
        simulation.evaluate()
        np.testing.assert_allclose(simulation.solution.multipliers, batch.multipliers[run, -1], rtol=1e-12)


def test_threads_expect_the_same_bits(dynamics):
    one = cd.rollout(dynamics, starts(), steps=STEPS, every=20)
    for threads in (2, 3, 0):
        many = cd.rollout(dynamics, starts(), steps=STEPS, every=20, threads=threads)
        assert (many.states == one.states).all()


def test_arrays_expect_views_that_outlive_the_batch(dynamics):
    batch = cd.rollout(dynamics, starts(), steps=10)
    assert batch.q.ctypes.data == batch.states.ctypes.data and not batch.q.flags.writeable
    q = batch.q
    del batch
    assert np.isfinite(q).all()


def test_inputs_of_all_shapes_expect_the_same_motion():
    system = cd.AnalyticSystem(**PENDULUM, inputs={"push": {"x": 1}, "lift": {"y": 1}})
    dynamics = cd.Dynamics(system, [rod(system)], stabilisation=cd.Stabilisation.projection())
    push = np.array([0.3, -0.2])
    same = cd.rollout(dynamics, starts(), push, steps=50)
    each = cd.rollout(dynamics, starts(), np.tile(push, (RUNS, 1)), steps=50)
    every = cd.rollout(dynamics, starts(), np.tile(push, (RUNS, 50, 1)), steps=50)
    assert (same.states == each.states).all() and (same.states == every.states).all()
    assert not (same.states == cd.rollout(dynamics, starts(), steps=50).states).all()


def test_a_run_that_fails_expect_the_others_untouched(dynamics):
    good = cd.rollout(dynamics, starts(), steps=20)
    states = starts()
    states[3, 2] = np.nan
    bad = cd.rollout(dynamics, states, steps=20)
    assert bad.status[3] == cd.Status.NON_FINITE_INPUT and bad.steps[3] == 0
    others = np.arange(RUNS) != 3
    assert (bad.states[others] == good.states[others]).all() and (bad.steps[others] == 20).all()


def test_wrong_shapes_expect_what_is_allowed(dynamics):
    with pytest.raises(ValueError, match=r"states have 3 columns; allowed: 4 \(2 coordinates and 2 speeds\)"):
        cd.rollout(dynamics, np.zeros((2, 3)), steps=1)
    count = dynamics.system.input_count
    with pytest.raises(ValueError, match=rf"inputs have the shape \(2, 5, {count + 1}\); allowed: .*\(2, 7, {count}\)"):
        cd.rollout(dynamics, starts(2), np.zeros((2, 5, count + 1)), steps=7)
    with pytest.raises(ValueError, match="every is 3; allowed: divisors of steps, which is 10"):
        cd.rollout(dynamics, starts(2), steps=10, every=3)


def test_other_threads_expect_them_to_go_on_during_a_rollout(dynamics):
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            done.wait(1e-3)

    counter = threading.Thread(target=count)
    counter.start()
    cd.rollout(dynamics, starts(2), steps=100_000, every=1000)
    done.set()
    counter.join()
    assert counted[0] > 10
