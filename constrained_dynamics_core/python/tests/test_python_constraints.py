# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Constraints written in Python agree with those of the library."""

import gc
import weakref

import numpy as np
import pytest
from test_dynamics import LENGTH, rod

import constrained_dynamics as cd


def rows(system, constraint, q, u, time=0.0):
    dynamics = cd.Dynamics(system, [constraint])
    workspace = cd.Workspace.unanalysed(dynamics)
    assert dynamics.evaluate_rows(q, u, workspace=workspace, time=time) == cd.Status.OK
    found = workspace.rows
    return [np.array(x) for x in (found.position, found.velocity, found.jacobian, found.bias)]


def test_function_on_position_level_expect_rows_of_formula(pendulum, random):
    ours = cd.FunctionConstraint(
        "rod", pendulum, cd.RowLevel.POSITION, 1, lambda t, q, u: [(q[0] ** 2 + q[1] ** 2 - LENGTH**2) / (2 * LENGTH)]
    )
    for _ in range(5):
        q, u = random.normal(size=2), random.normal(size=2)
        for a, b in zip(rows(pendulum, ours, q, u), rows(pendulum, rod(pendulum), q, u)):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


def test_nonlinear_function_with_numpy_expect_rows_of_formula(random):
    system = cd.AnalyticSystem(["x", "y", "a"], "(dx^2 + dy^2 + da^2)/2")
    ours = cd.FunctionConstraint(
        "speed",
        system,
        cd.RowLevel.VELOCITY,
        2,
        lambda t, q, u: [np.hypot(u[0], u[1]) - np.exp(-t) * np.cos(q[2]), np.sqrt(1 + u[2] ** 2) * q[0] - abs(q[1])],
    )
    twin = cd.FormulaConstraint(
        "speed", system, cd.RowLevel.VELOCITY, ["hypot(dx, dy) - exp(-t)*cos(a)", "sqrt(1 + da^2)*x - abs(y)"]
    )
    for _ in range(5):
        q, u, t = random.normal(size=3), random.normal(size=3), random.uniform()
        for a, b in zip(rows(system, ours, q, u, t), rows(system, twin, q, u, t)):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_custom_class_expect_rows_and_wrench_of_point_on_plane(four_bar, random):
    system = four_bar[0]
    normal = np.array([0.6, 0.0, 0.8])
    plane = cd.PointOnPlane("plane", system, "coupler_tip", normal=normal, offset=0.2)

    def evaluate(state):
        frame = state.frame("coupler_tip")
        jacobian = normal @ state.frame_jacobian("coupler_tip")[:3]
        return (
            [normal @ frame.position - 0.2],
            [normal @ frame.velocity],
            [jacobian],
            [-normal @ frame.acceleration_bias],
        )

    def wrench(state, multipliers):
        return state.frame("coupler_tip").position, multipliers[0] * normal, np.zeros(3)

    ours = cd.CustomConstraint(
        "plane", system, ["normal"], cd.RowLevel.POSITION, evaluate, wrench=wrench, frame_a="coupler_tip"
    )
    solutions = []
    q, u = random.normal(size=3), random.normal(size=3)
    for constraint in (plane, ours):
        dynamics = cd.Dynamics(system, [constraint])
        workspace = cd.Workspace(dynamics, cd.State(q, u))
        assert dynamics.solve(q, u, workspace=workspace) == cd.Status.OK
        pair = workspace.solution.wrenches[0]
        solutions.append(
            np.concatenate(
                [
                    workspace.solution.acceleration,
                    workspace.solution.multipliers,
                    pair.on_a.point,
                    pair.on_a.force,
                    pair.on_b.force,
                ]
            )
        )
    np.testing.assert_allclose(solutions[1], solutions[0], rtol=1e-10, atol=1e-10)
    assert ours.wrench_bodies[0].body_a == plane.wrench_bodies[0].body_a
    assert ours.wrench_bodies[0].body_b == plane.wrench_bodies[0].body_b == "world"


def test_run_with_function_expect_run_of_formula(pendulum):
    ours = cd.FunctionConstraint(
        "rod", pendulum, cd.RowLevel.POSITION, 1, lambda t, q, u: [(q[0] ** 2 + q[1] ** 2 - LENGTH**2) / (2 * LENGTH)]
    )
    ends = []
    for constraint in (ours, rod(pendulum)):
        dynamics = cd.Dynamics(pendulum, [constraint], stabilisation=cd.Stabilisation.projection())
        simulation = cd.Simulation(dynamics, cd.State([LENGTH, 0.0], [0.0, 0.0]), step=0.01)
        ends.append(np.array(simulation.run(1.0, 0.1).q))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)


def raising(t, q, u):
    raise KeyError("nothing here")


@pytest.mark.parametrize(
    "function, what",
    [
        (raising, "nothing here"),
        (lambda t, q, u: [1.0, 2.0], "2 rows; 1 are needed"),
        (lambda t, q, u: ["text"], "text"),
        (lambda t, q, u: None, "NoneType"),
    ],
)
def test_function_that_fails_expect_status_and_message(pendulum, capsys, function, what, monkeypatch):
    import sys

    messages = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: messages.append(str(report.exc_value)))
    constraint = cd.FunctionConstraint("bad", pendulum, cd.RowLevel.VELOCITY, 1, function)
    dynamics = cd.Dynamics(pendulum, [constraint])
    workspace = cd.Workspace.unanalysed(dynamics)
    status = dynamics.solve([1.0, 0.0], [0.0, 1.0], workspace=workspace)
    assert status == cd.Status.USER_FUNCTION_FAILED
    assert what in messages[-1]


def test_position_function_of_speeds_expect_refusal(pendulum):
    with pytest.raises(ValueError, match="position level uses the speeds"):
        cd.FunctionConstraint("bad", pendulum, cd.RowLevel.POSITION, 1, lambda t, q, u: [q[0] + u[0]])


def test_kept_state_view_expect_error_instead_of_crash(pendulum):
    kept = []

    def evaluate(state):
        kept.append(state)
        return [0.0], [0.0], [[1.0, 0.0]], [0.0]

    constraint = cd.CustomConstraint("kept", pendulum, ["row"], cd.RowLevel.POSITION, evaluate)
    dynamics = cd.Dynamics(pendulum, [constraint])
    assert dynamics.solve([0.0, 0.0], [0.0, 0.0], workspace=cd.Workspace.unanalysed(dynamics)) == cd.Status.OK
    with pytest.raises(RuntimeError, match="only during the call"):
        kept[0].speeds


def test_objects_expect_to_live_as_long_as_needed_and_no_longer():
    class Function:
        def __call__(self, t, q, u):
            return [q[0]]

    function = Function()
    alive = weakref.ref(function)
    system = cd.AnalyticSystem(["x"], "dx^2/2")
    constraint = cd.FunctionConstraint("f", system, cd.RowLevel.POSITION, 1, function)
    dynamics = cd.Dynamics(system, [constraint])
    del function, system, constraint
    gc.collect()
    workspace = dynamics.make_workspace(cd.State([0.0], [0.0]))
    assert dynamics.solve([0.0], [0.0], workspace=workspace) == cd.Status.OK
    solution = workspace.solution
    array = solution.acceleration
    del dynamics, workspace, solution
    gc.collect()
    assert array.tolist() == [0.0]
    del array
    gc.collect()
    assert alive() is None
