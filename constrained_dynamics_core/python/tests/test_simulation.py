# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Runs, records, threads, scenarios."""

import csv
import os
import signal
import subprocess
import threading
import time

import numpy as np
import pytest
from conftest import SMALL_EXAMPLES
from test_dynamics import LENGTH, rod

import constrained_dynamics as cd


def swinging(pendulum, **options):
    dynamics = cd.Dynamics(pendulum, [rod(pendulum)], stabilisation=cd.Stabilisation.projection())
    return cd.Simulation(dynamics, cd.State([LENGTH, 0.0], [0.0, 0.0]), **options)


def test_hundred_thousand_steps_in_one_call_expect_energy_kept(pendulum):
    simulation = swinging(pendulum, step=1e-3)
    record = simulation.run(100.0, 1.0)
    assert record.result.completed and record.result.steps == 100_000
    assert record.q.shape == (101, 2) and record.multipliers.shape == (101, 1)
    assert np.abs(record.energy - record.energy[0]).max() < 1e-6
    assert np.abs(record.position).max() < 1e-12 and np.abs(record.velocity).max() < 1e-12
    assert set(record.status) == {cd.Status.OK}
    again = swinging(pendulum, step=1e-3)
    assert again.step(100_000) == cd.Status.OK
    np.testing.assert_allclose(again.state.q, record.q[-1], atol=1e-9)


def test_record_expect_arrays_without_copies(pendulum):
    record = swinging(pendulum).run(1.0, 0.1)
    first, second = record.q, record.q
    assert first.ctypes.data == second.ctypes.data and not first.flags.writeable
    assert first.flags.c_contiguous and not first.flags.owndata
    del record
    assert np.isfinite(first).all()


def test_solve_expect_views_and_inputs_in_place(pendulum):
    dynamics = cd.Dynamics(pendulum, [rod(pendulum)])
    workspace = cd.Workspace(dynamics, cd.State([0.0, -LENGTH], [0.0, 0.0]))
    assert dynamics.solve(np.array([0.0, -LENGTH]), np.zeros(2), workspace=workspace) == cd.Status.OK
    view = workspace.solution.acceleration
    assert view.ctypes.data == workspace.solution.acceleration.ctypes.data
    np.testing.assert_allclose(view, [0.0, 0.0], atol=1e-12)
    with pytest.raises(ValueError):
        view[0] = 1.0
    # Anything that numpy understands is taken.
    for q in ([0, -LENGTH], (0.0, -LENGTH), np.array([0.0, 9.0, -LENGTH])[::2], np.float32([0, -LENGTH])):
        assert dynamics.solve(q, [0, 0], workspace=workspace) == cd.Status.OK


def test_input_function_expect_work_equal_energy(pendulum):
    system = cd.AnalyticSystem(["a"], "da^2/2", potential="-9.81*cos(a)", inputs={"motor": {"a": 1}})
    dynamics = cd.Dynamics(system)
    simulation = cd.Simulation(dynamics, cd.State([0.1], [0.0]), step=1e-3, inputs=lambda t, q, u: [2.0 * np.cos(t)])
    record = simulation.run(2.0, 1e-3)
    power = record.inputs[:, 0] * record.u[:, 0]
    work = np.sum((power[1:] + power[:-1]) / 2 * np.diff(record.time))
    np.testing.assert_allclose(record.energy[-1] - record.energy[0], work, rtol=1e-5)
    constant = cd.Simulation(dynamics, cd.State([0.1], [0.0]), inputs=[0.5])
    assert constant.evaluate() == cd.Status.OK
    np.testing.assert_allclose(constant.solution.acceleration, [0.5 - 9.81 * np.sin(0.1)])


def test_input_function_that_raises_expect_run_to_end(pendulum, monkeypatch):
    import sys

    messages = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: messages.append(str(report.exc_value)))
    system = cd.AnalyticSystem(["a"], "da^2/2", inputs={"motor": {"a": 1}})

    def law(t, q, u):
        if t > 0.5:
            raise ArithmeticError("the motor is hot")
        return [0.0]

    record = cd.Simulation(cd.Dynamics(system), cd.State([0.1], [0.0]), inputs=law).run(1.0, 0.1)
    assert not record.result.completed
    assert record.result.status == cd.Status.USER_FUNCTION_FAILED
    assert 0.49 < record.result.time < 0.52 and "hot" in messages[0]


def test_threads_expect_runs_side_by_side_and_python_going_on(pendulum):
    simulations = [swinging(pendulum, step=1e-3) for _ in range(2)]
    ends = [None, None]
    started = threading.Event()

    def work(i):
        started.set()
        ends[i] = np.array(simulations[i].run(150.0, 1.0).q[-1])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    started.wait()
    ticks, refused = 0, False
    while any(thread.is_alive() for thread in threads):
        ticks += 1
        if not refused:
            try:
                simulations[0].state
            except RuntimeError as error:
                refused = "running in another thread" in str(error)
        time.sleep(0.001)
    # With the lock held by a run this loop would turn once or twice.
    assert ticks > 10
    assert refused
    np.testing.assert_array_equal(ends[0], ends[1])


def test_observer_expect_stop_and_exceptions(pendulum):
    record = swinging(pendulum).run(1.0, 0.1, observer=lambda t: t < 0.45)
    assert record.result.completed and 0.4 < record.time[-1] < 0.6

    def broken(t):
        raise LookupError("of the observer")

    with pytest.raises(LookupError, match="of the observer"):
        swinging(pendulum).run(1.0, 0.1, observer=broken)
    simulation = swinging(pendulum)
    with pytest.raises(RuntimeError, match="its own observer"):
        simulation.run(1.0, 0.1, observer=lambda t: simulation.step())


def test_interrupt_expect_keyboard_interrupt(pendulum):
    simulation = swinging(pendulum, step=1e-3)
    # A process in the background ignores Ctrl-C, and so would Python.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            simulation.run(1e4, 0.1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert simulation.step() == cd.Status.OK


def test_bouncing_ball_expect_events_of_textbook():
    system = cd.AnalyticSystem(["y"], "dy^2/2", potential="9.81*y")
    floor = cd.FormulaConstraint("floor", system, cd.RowLevel.POSITION, ["y"])
    dynamics = cd.Dynamics(system, [floor])
    contacts = cd.ContactSet(dynamics.constraints, [cd.Contact(0, side=-1.0, restitution=0.5)])
    simulation = cd.Simulation(dynamics, cd.State([1.0], [0.0]), integrator=cd.Integrator.DOPRI5, contacts=contacts)
    record = simulation.run(1.0, 0.05)
    impacts = [event for event in record.events if event.kind == cd.EventKind.IMPACT]
    fall = np.sqrt(2 / 9.81)
    np.testing.assert_allclose([e.time for e in impacts[:2]], [fall, 2 * fall], rtol=1e-9)
    np.testing.assert_allclose(impacts[0].speed_before, -9.81 * fall, rtol=1e-9)


# ---- scenarios -----------------------------------------------------------------------------------


def test_take_events_expect_each_once_and_the_flags_of_constraints():
    simulation = cd.Scenario.load(cd.example("four_bar")).make_simulation()
    assert simulation.active == [True]
    assert simulation.switch_constraint("loop", False) == cd.Status.OK
    assert simulation.active == [False]
    events, lost = simulation.take_events()
    assert [event.kind for event in events] == [cd.EventKind.SWITCH_OFF] and lost == 0
    assert simulation.take_events() == ([], 0)
    simulation.apply_impulse([1.0, 0.0, 0.0])
    assert [event.kind for event in simulation.take_events()[0]] == [cd.EventKind.IMPULSE]
    # Room for 4096 more each time.
    for _ in range(3):
        for _ in range(4000):
            simulation.apply_impulse([1e-6, 0.0, 0.0])
        events, lost = simulation.take_events()
        assert len(events) == 4000 and lost == 0


def test_scenario_expect_same_numbers_as_the_command(tmp_path):
    path = cd.example("four_bar")
    record = cd.Scenario.load(path, ["run.until=0.5"]).run()
    program = os.environ.get("CDYN_PROGRAM")
    if not program:
        pytest.skip("CDYN_PROGRAM is not set")
    file = tmp_path / "run.csv"
    subprocess.run(
        [program, "run", path, "--until", "0.5", "--csv", file, "--quiet"], check=True, stdout=subprocess.DEVNULL
    )
    with open(file, newline="") as lines:
        table = list(csv.DictReader(lines))
    assert len(table) == len(record)
    for i, name in enumerate(record.coordinate_names):
        np.testing.assert_array_equal(record.q[:, i], [float(line["q." + name]) for line in table])
    for i, name in enumerate(record.dynamics.constraints.row_names):
        np.testing.assert_array_equal(record.multipliers[:, i], [float(line["lambda." + name]) for line in table])
    np.testing.assert_array_equal(record.wrench_force[:, 0, 2], [float(line["force.loop.z"]) for line in table])


@pytest.mark.parametrize("name", SMALL_EXAMPLES)
def test_examples_expect_to_load_and_start(name):
    scenario = cd.Scenario.load(cd.example(name))
    workspace = scenario.make_workspace()
    simulation = scenario.make_simulation()
    assert cd.has_output(simulation.evaluate())
    assert np.isfinite(simulation.solution.acceleration).all()
    assert workspace.solution.acceleration.shape == (scenario.system.speed_count,)


def test_scenario_linearised_expect_equilibrium_eigenvalues():
    scenario = cd.Scenario.from_text(
        "system: {coordinates: [a], kinetic: da^2/2, potential: -g*cos(a), parameters: {g: 4}}\ninitial: {q: {a: 0}}"
    )
    model = cd.linearise_scenario(scenario)
    np.testing.assert_allclose(np.sort(model.eigenvalues.imag), [-2.0, 2.0], rtol=1e-9)


def test_run_expect_its_energy_balance_and_step_error(pendulum):
    result = swinging(pendulum, step=1e-3).run(2.0, 1.0).result
    assert result.status == cd.Status.OK and result.is_accurate
    assert result.energy.available and result.energy.relative_error < 1e-9
    assert result.step_error < 1e-6
    damped = cd.AnalyticSystem(["a"], "da^2/2", potential="-9.81*cos(a)", force={"a": "-0.3*da"})
    simulation = cd.Simulation(cd.Dynamics(damped), cd.State([1.0], [0.0]))
    energy = simulation.run(2.0, 1.0).result.energy
    assert energy.work["forces"] < -0.1
    assert abs(energy.work["forces"] - (energy.end - energy.start)) < 1e-9
    assert sum(abs(work) for kind, work in energy.work.items() if kind != "forces") == 0.0


def test_run_with_steps_that_are_too_large_expect_inaccurate(pendulum):
    result = swinging(pendulum, step=0.3).run(9.0, 1.0).result
    assert result.completed and result.status == cd.Status.INACCURATE and not result.is_accurate
    assert cd.has_output(result.status)
    assert swinging(pendulum, step=0.02, error_tolerance=1e-12).run(1.0, 1.0).result.status == cd.Status.INACCURATE


def test_limits_that_are_exceeded_expect_them_in_the_result():
    scenario = cd.Scenario.from_text("""
system:
  urdf: |
    <robot name="arm"><link name="base"/>
      <link name="arm"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="swing" type="revolute"><parent link="base"/><child link="arm"/>
        <axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="9" effort="1"/></joint></robot>
initial: {u: {swing: 5}}
run: {until: 1}
""")
    assert scenario.run_settings.limits == cd.LimitMode.REPORT
    exceeded = scenario.run().result.exceeded_limits
    assert [limit.kind for limit in exceeded] == [cd.LimitKind.UPPER]
    assert exceeded[0].limit == 1.0 and exceeded[0].value > 1.0 and 0.0 < exceeded[0].first_time < 1.0
