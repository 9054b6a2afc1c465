# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Bad input: an exception that names the thing, never a crash."""

import numpy as np
import pytest

import constrained_dynamics as cd


def test_messages_expect_those_of_the_core(four_bar, pendulum):
    system, dynamics, workspace, q = four_bar
    for call, what in [
        (lambda: cd.FrameCoincidence("loop", system, "nothing"), "nothing"),
        (lambda: cd.FrameCoincidence("loop", system, "coupler_tip", rows=["w"]), "w"),
        (lambda: cd.PointOnPlane("p", system, "coupler_tip", normal=[0, 0, 0]), "normal"),
        (lambda: cd.PointOnPlane("p", system, "coupler_tip", normal=[1, 0]), "normal has 2 elements; 3"),
        (lambda: cd.Distance("d", system, "coupler_tip", length=-1.0), "-1"),
        (lambda: cd.RigidBodySystem.from_urdf("missing.urdf"), "missing.urdf"),
        (lambda: cd.RigidBodySystem.from_urdf_text("<robot"), "robot"),
        (lambda: cd.AnalyticSystem(["x"], "dx^2/2 +"), "dx"),
        (lambda: cd.make_formulation("best"), "kane_nonminimal"),
        (lambda: cd.Dynamics(system, [], formulation="best"), "kane_nonminimal"),
        (lambda: cd.Stabilisation.baumgarte(1.0, -1.0), "gain"),
        (lambda: cd.Scenario.from_text("sistem: {}"), "system"),
        (lambda: cd.Scenario.load("missing.yaml"), "missing.yaml"),
        (lambda: cd.example("missing"), "four_bar"),
        (lambda: cd.Simulation(dynamics, cd.State([1.0], [1.0])), ""),
        (lambda: cd.Simulation(dynamics, cd.State(q, np.zeros(3)), step=-1.0), "step"),
        (lambda: cd.ConstraintSet(pendulum, [dynamics.constraints[0]]), "another system"),
        (lambda: cd.Dynamics(system, [None]), "empty constraint"),
        (lambda: workspace.reset(cd.State([1.0], [1.0])), "1 coordinates"),
        (lambda: cd.analyse_integrability(dynamics, [1.0]), ""),
        (lambda: dynamics.constraints["nothing"], "nothing"),
        (lambda: dynamics.set_active(7, True, workspace), "7"),
        (lambda: system.frame_poses([[0.0, 1.0]], ["world"]), "2 columns; 3"),
        (lambda: cd.Kinematics(system, q).frame(99), "99"),
        (lambda: cd.FreeBody("b", 1.0, [[1.0, 2.0], [3.0, 4.0]]), "2 × 2"),
        (
            lambda: cd.solve_impact(dynamics, cd.ImpactProblem(cd.Dynamics(pendulum)), cd.State(q, np.zeros(3))),
            "another Dynamics",
        ),
    ]:
        with pytest.raises(ValueError) as error:
            call()
        assert what in str(error.value), str(error.value)


def test_workspace_of_other_dynamics_expect_refusal(four_bar, pendulum):
    _, dynamics, _, q = four_bar
    with pytest.raises(ValueError, match="another Dynamics"):
        dynamics.solve(q, np.zeros(3), workspace=cd.Workspace.unanalysed(cd.Dynamics(pendulum)))


def test_values_that_are_not_finite_expect_status_and_untouched_solution(four_bar):
    _, dynamics, workspace, q = four_bar
    assert dynamics.solve(q, np.zeros(3), workspace=workspace) == cd.Status.OK
    before = np.array(workspace.solution.acceleration)
    status = dynamics.solve([np.nan, 0.0, 0.0], np.zeros(3), workspace=workspace)
    assert status == cd.Status.NON_FINITE_INPUT and not cd.has_output(status)
    np.testing.assert_array_equal(workspace.solution.acceleration, before)
    assert cd.status_name(status) == "non_finite_input"


def test_indices_that_do_not_exist_expect_index_error(four_bar):
    constraints = four_bar[1].constraints
    for call in (constraints.row_offset, constraints.wrench_offset, constraints.__getitem__):
        for index in (1, -2, 10**6):
            with pytest.raises(IndexError):
                call(index)
    assert constraints[-1].name == "loop"


def test_wrong_types_expect_type_error(four_bar):
    system, dynamics, workspace, q = four_bar
    for call in [
        lambda: dynamics.solve("abc", np.zeros(3), workspace=workspace),
        lambda: dynamics.solve(np.zeros((3, 2)), np.zeros(3), workspace=workspace),
        lambda: dynamics.solve(None, np.zeros(3), workspace=workspace),
        lambda: cd.Workspace(None, None),
        lambda: cd.Dynamics(None),
        lambda: cd.Simulation(dynamics, None),
    ]:
        with pytest.raises(TypeError):
            call()


def test_assembly_that_fails_expect_worst_row(four_bar):
    system, _, _, q = four_bar
    far = cd.PointOnPlane("far", system, "coupler_tip", normal=[0, 0, 1], offset=1e3)
    dynamics = cd.Dynamics(system, [far])
    with pytest.raises(RuntimeError, match="far/normal"):
        cd.assemble_position(dynamics, q)


def test_abstract_classes_expect_no_instances():
    for kind in (cd.System, cd.Constraint, cd.Formulation):
        with pytest.raises(TypeError):
            kind()
