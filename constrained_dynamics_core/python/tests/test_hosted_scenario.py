# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""A scenario that is advanced, pushed and switched from outside, and the drawing of its forces."""

import math

import numpy as np
import pytest

import constrained_dynamics as cd


@pytest.fixture
def hosted():
    return cd.HostedScenario(cd.example("four_bar"))


def test_advanced_in_odd_pieces_expect_the_state_of_whole_steps(hosted):
    for _ in range(7):
        hosted.advance(0.0137)
    simulation = cd.Scenario.load(cd.example("four_bar")).make_simulation()
    simulation.step(round(hosted.time / 0.001))
    assert hosted.time == pytest.approx(0.095)
    np.testing.assert_array_equal(hosted.state.q, simulation.state.q)
    assert hosted.status == cd.Status.OK and hosted.failure is None and not hosted.has_ended


def test_read_after_steps_expect_everything_at_that_state(hosted):
    hosted.step(100)
    simulation = cd.Scenario.load(cd.example("four_bar")).make_simulation()
    simulation.step(100)
    simulation.evaluate()
    np.testing.assert_allclose(hosted.solution.multipliers, simulation.solution.multipliers, rtol=1e-12)
    assert hosted.constraint_records[0].rows[0].multiplier == hosted.solution.multipliers[0]
    assert hosted.active == [True]
    kinematics = cd.Kinematics(hosted.scenario.system, hosted.state.q, hosted.state.u)
    np.testing.assert_allclose(hosted.rates, kinematics.rates)
    x, y, z, *quaternion = hosted.transforms(["coupler_tip"])[0]
    np.testing.assert_allclose([x, y, z], kinematics.frame("coupler_tip").position, atol=1e-12)
    assert np.linalg.norm(quaternion) == pytest.approx(1.0)


def test_until_expect_end_and_reset(hosted):
    short = cd.HostedScenario(cd.example("four_bar"), ["run.step=0.01"], until=0.05)
    initial = short.state.q.copy()
    short.advance(1.0)
    assert short.has_ended and short.time == pytest.approx(0.05)
    short.reset()
    np.testing.assert_array_equal(short.state.q, initial)


def test_switch_and_push_expect_events(hosted):
    assert hosted.set_active("loop", False) == 0.0
    energy = hosted.push("", [0, 0, 0], [0, 0, 0], ["dcrank"], [0.2])
    assert energy != 0.0
    assert hosted.push("coupler_tip", [0.1, 0, 0], [0, 0, 0]) != 0.0
    assert hosted.set_active("loop", True) > 0.0
    events, lost = hosted.take_events()
    kinds = [event.kind for event in events]
    assert kinds[0] == cd.EventKind.SWITCH_OFF and kinds[-1] == cd.EventKind.SWITCH_ON and lost == 0
    assert hosted.take_events() == ([], 0)


@pytest.mark.parametrize(
    "request_, words",
    [
        (lambda h: h.step(0), "steps is 0; allowed: 1 to 1000000"),
        (lambda h: h.set_active("loops", True), "loops"),
        (lambda h: h.push("", [0, 0, 0], [0, 0, 0]), "nothing to push"),
        (lambda h: h.push("nowhere", [1, 0, 0], [0, 0, 0]), "'nowhere' does not exist; allowed: "),
        (lambda h: h.push("", [0, 0, 0], [0, 0, 0], ["dcrank"], [math.nan]), "finite"),
        (lambda h: h.push("", [0, 0, 0], [0, 0, 0], ["dcrank"], []), "1 names and 0 values"),
    ],
)
def test_requests_that_cannot_be_met_expect_error_that_names_them(hosted, request_, words):
    with pytest.raises(cd.RequestError) as error:
        request_(hosted)
    assert words in str(error.value)
    assert isinstance(error.value, ValueError)


def test_motion_that_is_not_determined_expect_its_status():
    rod = cd.HostedScenario(cd.example("painleve_rod"), ["mu=2"])
    rod.advance(1.0)
    assert rod.failure == cd.Status.NO_UNIQUE_SOLUTION and rod.has_ended
    with pytest.raises(cd.RequestError, match="no_unique_solution"):
        rod.step(1)


def test_drawing_expect_arrow_of_the_force(hosted):
    style = cd.ForceStyle()
    style.force_scale = 0.1
    drawing = cd.ForceDrawing(hosted.dynamics, style)
    hosted.draw(drawing)
    shapes = {(shape.group, shape.id): shape for shape in drawing.shapes}
    wrench = hosted.solution.wrenches[0].on_a
    force = shapes["force", 0]
    assert force.kind == "arrow" and force.is_visible
    np.testing.assert_allclose(force.position, wrench.point)
    np.testing.assert_allclose(force.tip - force.position, 0.1 * wrench.force, atol=1e-12)
    assert shapes["name", 0].text.startswith("loop ")
    assert shapes["legend", 0].text == "force: 1 m = 10 N"
    style.text_height = -1.0
    with pytest.raises(ValueError, match="text_height: -1"):
        cd.ForceDrawing(hosted.dynamics, style)
