# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Types of constraints as they describe themselves: functions, signatures, drawings, messages."""

import ast
import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest

import constrained_dynamics as cd
from constrained_dynamics import constraint_types


def test_every_type_expect_function_with_keys_and_texts():
    for description in cd.constraint_descriptions():
        if not description.python_name:
            assert description.type == "contact"
            continue
        function = getattr(cd, description.python_name)
        names = list(inspect.signature(function).parameters)
        keys = [key.name for key in description.keys]
        assert names == ["name", "system", *keys, "parameters", "definitions"]
        assert description.text in function.__doc__
        assert all(key.text in function.__doc__ for key in description.keys)


def test_made_by_type_or_function_expect_the_same(four_bar):
    system = four_bar[0]
    by_function = cd.PointOnPlane("wall", system, "coupler_tip", normal=[0, 0, 2], offset=0.3)
    by_type = cd.constraint("point_on_plane", "wall", system, frame_a="coupler_tip", normal=[0, 0, 2], offset=0.3)
    for wall in (by_function, by_type):
        assert wall.type == "point_on_plane"
        assert wall.wrench_bodies[0].frame_b == "world"
        (plane,) = wall.drawing
        assert plane.kind == "plane" and plane.offset == 0.3
        np.testing.assert_array_equal(plane.direction, [0, 0, 1])


def test_drawings_expect_shapes_of_rows(four_bar):
    system = four_bar[0]
    kinds = [part.kind for part in cd.Rolling("r", system, "coupler_tip", radius=0.5, axis=[0, 1, 0]).drawing]
    assert kinds == ["disk", "plane"]
    (rod,) = cd.Distance("d", system, "coupler_tip", length=1.0).drawing
    assert rod.kind == "rod"
    assert cd.FrameCoincidence("f", system, "coupler_tip", "rocker_tip").drawing == []
    wall = cd.PointOnPlane("p", system, "coupler_tip", normal=[1, 0, 0])
    (plane,) = cd.CompliantRow(wall, velocity_gain=-1.0).drawing
    assert plane.kind == "plane"


def test_keys_that_do_not_fit_expect_message(four_bar):
    system = four_bar[0]
    for call, error, what in [
        (lambda: cd.constraint("spring", "s", system), ValueError, "knife_edge"),
        (lambda: cd.constraint("distance", "d", system, frame_a="coupler_tip"), ValueError, "'length' is missing"),
        (lambda: cd.constraint("distance", "d", system, frame_a="coupler_tip", width=1), ValueError, "unknown key"),
        (lambda: cd.Distance("d", system, "coupler_tip", length=float("nan")), ValueError, "finite"),
        (lambda: cd.Distance("d", system, "coupler_tip", length="long"), TypeError, "number > 0"),
        (lambda: cd.Distance("d", system, "coupler_tip"), TypeError, "length"),
        (lambda: cd.JointPosition("j", system), ValueError, "either 'joint' or 'joints'"),
        (lambda: cd.FormulaConstraint("f", system, "jerk", ["0"]), ValueError, "position, velocity, acceleration"),
    ]:
        with pytest.raises(error, match=what):
            call()


def test_servo_tasks_and_null_space_terms_by_type(four_bar):
    system, dynamics, _, _ = four_bar
    task = cd.servo_task("pose", "tip", dynamics.constraints, frame_a="coupler_tip", rows=["x", "z"])
    assert isinstance(task, cd.PoseServo) and task.type == "pose"
    with pytest.raises(ValueError, match="rows"):
        cd.servo_task("position", "tip", dynamics.constraints, frame_a="coupler_tip", rows=["rx"])
    joint = system.coordinate_names[0]
    assert isinstance(cd.null_space_term("posture", system, q={joint: 0.1}, stiffness=2.0), cd.Posture)
    with pytest.raises(ValueError, match="damping: -1"):
        cd.null_space_term("damping", system, damping=-1.0)


def test_stub_expect_every_function_with_its_keywords():
    path = Path(constraint_types.__file__).with_suffix(".pyi")
    # The source is a link; the stub is written beside the link.
    path = path if path.exists() else Path(cd._core.__file__).with_name("constraint_types.pyi")
    declared = {node.name: node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}
    assert set(declared) == set(constraint_types.__all__)
    imported = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom)]
    for node in imported:
        module = cd._core if node.level else importlib.import_module(node.module)
        assert all(hasattr(module, alias.name) for alias in node.names), ast.dump(node)
    for description in cd.constraint_descriptions():
        if description.python_name:
            arguments = declared[description.python_name].args
            names = [argument.arg for argument in arguments.args + arguments.kwonlyargs]
            assert names == list(inspect.signature(getattr(cd, description.python_name)).parameters)
            assert all(argument.annotation for argument in arguments.args + arguments.kwonlyargs)
    axis = next(a for a in declared["KnifeEdge"].args.kwonlyargs if a.arg == "axis")
    assert ast.unparse(axis.annotation) == "ArrayLike"
