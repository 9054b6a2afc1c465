# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Servo laws: torques against numpy, the thesis' numbers, references, errors."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import constrained_dynamics as cd

REFERENCE = Path(os.environ.get("CD_TEST_DATA", Path(__file__).resolve().parents[2] / "test" / "data")) / "reference"


def reference(name):
    return json.loads((REFERENCE / (name + ".json")).read_text())


# ---- a planar arm of three joints ----------------------------------------------------------------

ARM = """<robot name="arm"><link name="base"/>%s
  <link name="tip"/><joint name="tip_joint" type="fixed"><parent link="link3"/><child link="tip"/>
    <origin xyz="0.6 0 0"/></joint></robot>"""
LINK = """<link name="link%d"><inertial><origin xyz="0.3 0 0"/><mass value="%g"/>
    <inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="joint%d" type="revolute"><parent link="%s"/><child link="link%d"/><origin xyz="%g 0 0"/>
    <axis xyz="0 -1 0"/><limit lower="-3" upper="3" effort="100" velocity="10"/></joint>"""
Q, U = np.array([0.4, 0.7, -0.5]), np.array([0.3, -0.2, 0.5])


@pytest.fixture
def arm():
    """An upright planar arm and its point servo of x and z."""
    links = "".join(
        LINK % (i, 4 - i, i, "base" if i == 1 else "link%d" % (i - 1), i, 0.0 if i == 1 else 0.6) for i in (1, 2, 3)
    )
    system = cd.RigidBodySystem.from_urdf_text(ARM % links)
    return system, cd.PoseServo("tip", system, "tip", rows=["x", "z"])


def matrices(system, q, u):
    """Q, P, G, the Jacobian (x, z) of the tip and its acceleration at u̇ = 0."""
    at = cd.Kinematics(system, q, u)
    frame, rows = at.frame("tip"), [0, 2]
    return (
        np.array(at.mass_matrix),
        np.array(at.force),
        np.array(at.input_matrix),
        at.frame_jacobian("tip")[rows],
        frame.acceleration_bias[rows],
        frame,
    )


def test_torques_expect_those_of_numpy_pinv(arm, random):
    system, tip = arm
    gains = cd.ErrorDynamics(velocity=-7.0, position=-30.0)
    law = cd.ServoLaw(cd.Dynamics(system), [cd.ServoTask(tip, gains)])
    servo = cd.ServoWorkspace(law, cd.State(Q, U))
    desired = servo.reference("tip")
    desired.position = [0.9, 0.0, 0.8, 0, 0, 0, 1]
    desired.velocity[:] = [0.1, 0, -0.2, 0, 0, 0]
    desired.acceleration[0] = 0.3
    for _ in range(20):
        y = random.normal(size=3)
        servo.external_null_vector = y
        q, u = Q + 0.2 * random.normal(size=3), random.normal(size=3)
        assert law.evaluate(q, u, workspace=servo) == cd.Status.OK
        mass, force, inputs, jacobian, bias, frame = matrices(system, q, u)
        e = (frame.position - desired.position[:3])[[0, 2]]
        rate = (frame.velocity - desired.velocity[:3])[[0, 2]]
        b = desired.acceleration[[0, 2]] - 7.0 * rate - 30.0 * e - bias
        response = np.linalg.solve(mass, inputs)
        s, z = jacobian @ response, b - jacobian @ np.linalg.solve(mass, force)
        inverse = np.linalg.pinv(s)
        result = servo.result
        np.testing.assert_allclose(result.particular, inverse @ z, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(result.null_part, (np.eye(3) - inverse @ s) @ y, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(result.inputs, result.particular + result.null_part, rtol=1e-12)
        np.testing.assert_allclose(result.error, e, atol=1e-13)
        np.testing.assert_allclose(servo.null_vector, y)
        assert result.solution == cd.ServoSolution.MANY and result.null_dimension == 1 and result.rank == 2
        # The motion with these torques is the desired one.
        np.testing.assert_allclose(jacobian @ servo.solution.acceleration, b, rtol=1e-9, atol=1e-9)


def test_ideal_torques_expect_gauss_with_numpy(arm):
    system, tip = arm
    law = cd.ServoLaw(cd.Dynamics(system), [tip], metric=cd.ServoMetric.IDEAL)
    servo = cd.ServoWorkspace(law, cd.State(Q, U))
    desired = servo.reference(0)
    desired.position = [0.9, 0.0, 0.8, 0, 0, 0, 1]
    desired.velocity[:] = 0.0
    assert law.evaluate(Q, U, workspace=servo) == cd.Status.OK
    mass, force, inputs, jacobian, _, _ = matrices(system, Q, U)
    # As if the rows were passive: Q u̇ = P + Aᵀλ, A u̇ = b, and G τ = Aᵀλ.
    rows = servo.rows
    a = np.array(rows.jacobian)
    b = np.array(rows.bias) - 20.0 * rows.velocity - 100.0 * rows.position
    free = np.linalg.solve(mass, force)
    weight = np.linalg.solve(mass, a.T)
    multipliers = np.linalg.solve(a @ weight, b - a @ free)
    np.testing.assert_allclose(inputs @ servo.result.inputs, a.T @ multipliers, rtol=1e-9, atol=1e-9)
    assert servo.result.ideal


def test_levels_expect_the_first_kept_and_the_second_to_give_way(arm):
    system, tip = arm
    still = cd.RowServo(cd.JointPosition("still", system, {"joint1": 0.4, "joint2": 0.7, "joint3": -0.5}))
    law = cd.ServoLaw(cd.Dynamics(system), [cd.ServoTask(tip), cd.ServoTask(still, priority=1)])
    servo = cd.ServoWorkspace(law, cd.State(Q, np.zeros(3)))
    servo.reference("tip").position[0] += 0.1
    assert cd.has_output(law.evaluate(Q, np.zeros(3), workspace=servo))
    assert list(servo.result.relaxed) == [False, True]
    assert law.task_names == ["tip", "still"] and law.row_names[2] == "still/joint1"
    np.testing.assert_allclose(servo.result.residual[:2], 0.0, atol=1e-9)
    servo.set_enabled("tip", False)
    assert not servo.is_enabled("tip")
    assert law.evaluate(Q, np.zeros(3), workspace=servo) == cd.Status.OK
    np.testing.assert_allclose(servo.solution.acceleration, 0.0, atol=1e-9)


def test_weights_expect_numpys_least_squares(arm):
    system, tip = arm
    still = cd.RowServo(cd.JointPosition("still", system, {"joint1": 0.4, "joint2": 0.7, "joint3": -0.5}))
    law = cd.ServoLaw(cd.Dynamics(system), [cd.ServoTask(tip, weight=9.0), cd.ServoTask(still)])
    servo = cd.ServoWorkspace(law, cd.State(Q, np.zeros(3)))
    servo.reference("tip").position[0] += 0.1
    for weight in (9.0, 0.25):
        servo.set_weight("tip", weight)
        assert servo.weight("tip") == weight and law.evaluate(Q, np.zeros(3), workspace=servo) == cd.Status.INCONSISTENT
        mass, _, inputs, _, _, _ = matrices(system, Q, np.zeros(3))
        s = np.array(servo.rows.jacobian) @ np.linalg.solve(mass, inputs)
        z = s @ servo.result.inputs - servo.result.residual
        root = np.sqrt(np.r_[np.full(2, weight), np.ones(3)])
        expected = np.linalg.lstsq(root[:, None] * s, root * z, rcond=None)[0]
        np.testing.assert_allclose(servo.result.inputs, expected, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="allowed: 1e-6 to 1e6"):
        servo.set_weight("tip", 0.0)
    with pytest.raises(ValueError, match="'tip': weight is -1; allowed"):
        cd.ServoLaw(cd.Dynamics(system), [cd.ServoTask(tip, weight=-1.0)])


def test_limits_expect_torques_within_and_status(arm):
    system, tip = arm
    limits = cd.InputLimits(lower=[-5, -5, -5], upper=[5, 5, 5], rate=[50, 50, 50])
    law = cd.ServoLaw(cd.Dynamics(system), [tip], limits=limits, period=1e-3)
    servo = cd.ServoWorkspace(law, cd.State(Q, np.zeros(3)))
    servo.reference(0).position[2] += 0.5
    assert law.evaluate(Q, np.zeros(3), workspace=servo) == cd.Status.LIMITED
    first = np.array(servo.result.inputs)
    assert servo.result.limited and any(servo.result.at_bound) and np.abs(first).max() <= 5.0 + 1e-9
    assert list(servo.result.relaxed) == [True]
    servo.reference(0).position[2] -= 1.0
    assert law.evaluate(Q, np.zeros(3), workspace=servo) == cd.Status.LIMITED
    assert 1e-3 < np.abs(servo.result.inputs - first).max() <= 0.05 + 1e-9  # 50/s for 1 ms


def test_null_space_terms_expect_their_force_as_y(arm):
    system, tip = arm
    names = system.coordinate_names
    terms = [cd.JointDamping(system, 2.0), cd.Posture(system, {names[0]: 0.1}, 30.0, 0.0)]
    law = cd.ServoLaw(cd.Dynamics(system), [tip], null_space=terms)
    servo = cd.ServoWorkspace(law, cd.State(Q, U))
    servo.external_null_vector[1] = 0.25
    assert law.evaluate(Q, U, workspace=servo) == cd.Status.OK
    expected = -2.0 * U + [30.0 * (0.1 - Q[0]), 0.25, 0.0]
    np.testing.assert_allclose(servo.null_vector, expected, atol=1e-12)
    cd.AwayFromLimits(system, 0.1, 5.0)


def test_force_on_a_wall_expect_the_desired_force(arm):
    system, _ = arm
    x = cd.Kinematics(system, Q).frame("tip").position[0]
    wall = cd.PointOnPlane("wall", system, "tip", normal=[1, 0, 0], offset=x)
    dynamics = cd.Dynamics(system, [wall])
    force = cd.ForceServo("push", dynamics.constraints, "wall")
    height = cd.PoseServo("height", system, "tip", rows=["z"])
    law = cd.ServoLaw(dynamics, [force, height])
    servo = cd.ServoWorkspace(law, cd.State(Q, np.zeros(3)))
    servo.reference("push").position = [-12.0]
    assert law.evaluate(Q, np.zeros(3), workspace=servo) == cd.Status.OK
    np.testing.assert_allclose(servo.solution.multipliers, [-12.0], rtol=1e-10)
    np.testing.assert_allclose(servo.solution.wrenches[0].on_a.force, [-12.0, 0, 0], atol=1e-9)
    servo.set_active("wall", False)
    assert law.evaluate(Q, np.zeros(3), workspace=servo) == cd.Status.INCONSISTENT  # no wall, no force


# ---- references ----------------------------------------------------------------------------------


def circle(t):
    return [0.9 + 0.1 * np.cos(2 * t), 0.0, 0.7 + 0.1 * np.sin(2 * t), 0.0, 0.0, 0.0, 1.0]


def test_references_expect_formula_and_python_to_agree(arm):
    _, tip = arm
    own = cd.FunctionReference(tip, circle)
    formula = cd.make_formula_reference(
        tip, ["c + r*cos(w*t)", "0", "0.7 + r*sin(w*t)"], parameters={"c": 0.9, "r": 0.1, "w": 2}
    )
    assert own.value_count == 7 and own.name == "tip"
    for t in (0.0, 0.3, 1.7):
        a, b = own.evaluate(t), formula.evaluate(t)
        for part in ("position", "velocity", "acceleration"):
            np.testing.assert_allclose(getattr(a, part), getattr(b, part), atol=1e-14)
        np.testing.assert_allclose(a.velocity[:3], [-0.2 * np.sin(2 * t), 0, 0.2 * np.cos(2 * t)], atol=1e-14)


def test_paths_expect_ends_and_rest(arm):
    system, tip = arm
    joint = cd.RowServo(cd.JointPosition("joint", system, {"joint1": 0.0}))
    jerk = cd.make_minimum_jerk(joint, [0.0], [1.0], 1.0, 2.0)
    np.testing.assert_allclose(jerk.evaluate(2.0).position, [0.5], atol=1e-14)
    np.testing.assert_allclose(jerk.evaluate(2.0).velocity, [1.875 / 2], atol=1e-14)
    np.testing.assert_allclose(cd.make_constant_reference(joint, [0.3]).evaluate(9.0).position, [0.3])
    wave = cd.make_lissajous(joint, centre=[1.0], amplitude=[0.2], rate=[3.0], phase=[0.1]).evaluate(0.7)
    np.testing.assert_allclose(wave.velocity, [0.6 * np.cos(2.2)], rtol=1e-14)
    way = cd.make_polyline(tip, [[1, 0, 0], [1, 0, 1], [2, 0, 1]], blend=0.1, speed=0.5, acceleration=2.0)
    np.testing.assert_allclose(way.evaluate(100.0).position[:3], [2, 0, 1], atol=1e-12)
    arc = cd.make_curve(
        tip, ["cos(s)", "0", "r*sin(s)"], 0.0, np.pi, speed=0.5, acceleration=1.0, parameters={"r": 1.0}
    )
    middle = arc.evaluate(3.0)
    np.testing.assert_allclose(np.linalg.norm(middle.velocity), 0.5, rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(middle.position[:3]), 1.0, atol=1e-12)


def test_smooth_start_expect_measured_state_then_trajectory(arm):
    system, _ = arm
    joint = cd.RowServo(cd.JointPosition("joint", system, {"joint1": 0.0}))
    path = cd.FunctionReference(joint, lambda t: [np.sin(t)])
    start = cd.SmoothStart(path, 0.5)
    measured = joint.make_reference()
    measured.position, measured.velocity = [0.4], [-1.0]
    start.start(2.0, measured)
    at = start.evaluate(2.0)
    np.testing.assert_allclose([at.position[0], at.velocity[0], at.acceleration[0]], [0.4, -1.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(start.evaluate(2.5).position, [np.sin(2.5)], atol=1e-14)


def test_reference_that_raises_expect_status_and_message(arm, monkeypatch):
    import sys

    messages = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: messages.append(str(report.exc_value)))
    _, tip = arm

    def broken(t):
        raise ArithmeticError("no way")

    with pytest.raises(RuntimeError, match="non_finite_result"):
        cd.FunctionReference(tip, broken).evaluate(0.0)
    with pytest.raises(RuntimeError, match="tip"):
        cd.FunctionReference(tip, lambda t: [1.0]).evaluate(0.0)
    assert messages[0] == "no way" and "gave 1 values; 7" in messages[1]


# ---- in a simulation -----------------------------------------------------------------------------


def test_simulation_expect_circle_followed(arm):
    system, tip = arm
    law = cd.ServoLaw(cd.Dynamics(system), [tip], null_space=[cd.JointDamping(system, 5.0)])
    drive = cd.ServoInputLaw(law, [cd.FunctionReference(tip, circle)], smooth_start=[0.5])
    simulation = cd.Simulation(cd.Dynamics(system), cd.State(Q, np.zeros(3)), inputs=drive, step=2e-3)
    # The law has dynamics of its own: those of the simulated plant may differ.
    record = simulation.run(2.0, 0.05)
    assert record.result.completed
    tips = system.frame_poses(record.q, ["tip"])[:, 0, :3, 3]
    late = record.time > 0.6
    desired = np.array([circle(t)[:3] for t in record.time])
    np.testing.assert_allclose(tips[late], desired[late], atol=1e-7)
    assert simulation.servo.status == cd.Status.OK and drive.counts.evaluations > 4000
    np.testing.assert_allclose(drive.result.inputs, simulation.servo.result.inputs)
    np.testing.assert_allclose(drive.reference("tip").position[:3], desired[-1], atol=1e-12)


def test_sampled_law_expect_inputs_held(arm):
    system, tip = arm
    law = cd.ServoLaw(cd.Dynamics(system), [tip])
    drive = cd.ServoInputLaw(law, [cd.FunctionReference(tip, circle)], period=0.01)
    simulation = cd.Simulation(cd.Dynamics(system), cd.State(Q, np.zeros(3)), inputs=drive, step=1e-3)
    record = simulation.run(0.1, 1e-3)
    assert len(np.unique(record.inputs[:-1, 0])) == 10 and drive.counts.evaluations in (10, 11)


@pytest.mark.parametrize("case", reference("thesis_7_1")["cases"], ids=lambda case: case["case"])
def test_thesis_7_1_in_python_expect_reference_motion_and_torques(case):
    parameters = {name: value for name, value in case["params"].items() if isinstance(value, float)}
    kinetic = (
        "I_D/2*dtheta1^2 + I_B/2*dtheta2^2 + m_B/2*(R^2*dtheta1^2 + L^2/4*dtheta2^2"
        " + R*L*dtheta1*dtheta2*cos(theta1 - theta2))"
    )
    potential = "m_B*g*(R*(1 - cos(theta1)) + L/2*(1 - cos(theta2)))"
    system = cd.AnalyticSystem(
        ["theta1", "theta2"],
        kinetic,
        potential=potential,
        parameters=parameters,
        inputs={"motor1": {"theta1": 1}, "motor2": {"theta1": -1, "theta2": 1}},
    )
    energy = cd.FormulaConstraint(
        "energy", system, cd.RowLevel.VELOCITY, [kinetic + " + " + potential + " - E_f"], parameters=parameters
    )
    ideal = "ideal" in case["case"]
    law = cd.ServoLaw(
        cd.Dynamics(system),
        [cd.ServoTask(cd.RowServo(energy), cd.ErrorDynamics(first_order=parameters["Theta"]))],
        metric=cd.ServoMetric.IDEAL if ideal else cd.ServoMetric.MOORE_PENROSE,
    )
    # Without a reference a task would hold the energy that it finds.
    goal = cd.make_constant_reference(law.task(0), [0.0])
    simulation = cd.Simulation(
        cd.Dynamics(system),
        cd.State(case["ic"]["theta"], case["ic"]["u"]),
        integrator=cd.Integrator.DOPRI5,
        absolute_tolerance=1e-12,
        relative_tolerance=1e-12,
        inputs=cd.ServoInputLaw(law, [goal]),
    )
    for at in case["series"]:
        if at["t"] > 5.0:
            break
        record = simulation.run(at["t"], 0.5)
        np.testing.assert_allclose(record.q[-1], at["theta"], rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(record.u[-1], at["u"], rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(record.inputs[-1], at["tau"], rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(record.energy[-1], at["E"], rtol=1e-9)


@pytest.mark.parametrize(
    "shot", [shot for shot in reference("thesis_7_1")["oneshots"] if "tau_mp" in shot], ids=lambda shot: shot["name"]
)
def test_thesis_7_1_oneshots_expect_reference_torques(shot):
    scenario = cd.Scenario.load(
        cd.example("thesis_7_1"),
        ["parameters.%s=%.17g" % (name, value) for name, value in shot["params"].items()]
        + ["servo_law.metric=moore_penrose"],
    )
    law = scenario.servo_law
    assert law.task_names == ["energy"] and law.metric == cd.ServoMetric.MOORE_PENROSE
    servo = cd.ServoWorkspace(law, cd.State(shot["theta"], shot["u"]))
    for y, name in (([0.0, 0.0], "tau_mp"), (shot["y"], "tau_mp_y")):
        servo.external_null_vector = y
        assert law.evaluate(shot["theta"], shot["u"], workspace=servo) == cd.Status.OK
        np.testing.assert_allclose(servo.result.inputs, shot[name], rtol=1e-9)
        np.testing.assert_allclose(servo.solution.acceleration, shot[name.replace("tau", "udot")], rtol=1e-9)


@pytest.mark.parametrize("name, null_space", [("A_y_zero", "[]"), ("A_y_minus_tau", "[{kind: minus_controls}]")])
def test_thesis_8_1_expect_reference_controls(name, null_space):
    case = next(case for case in reference("thesis_8_1")["cases"] if case["case"] == name)
    simulation = cd.Scenario.load(cd.example("thesis_8_1"), ["servo_law.null_space=" + null_space]).make_simulation()
    for at in case["series"]:
        if at["t"] > 3.0:
            break
        record = simulation.run(at["t"], 0.5)
        np.testing.assert_allclose(record.u[-1], at["omega"] + at["tau"], rtol=1e-6, atol=1e-9)
    assert simulation.servo.law.row_names == ["decay/power"]


def test_scenario_without_servo_expect_none():
    scenario = cd.Scenario.load(cd.example("four_bar"))
    assert scenario.servo_law is None and scenario.make_simulation().servo is None


# ---- bad input -----------------------------------------------------------------------------------


def test_messages_expect_those_of_the_core(arm, pendulum):
    system, tip = arm
    dynamics = cd.Dynamics(system)
    law = cd.ServoLaw(dynamics, [tip])
    servo = cd.ServoWorkspace(law, cd.State(Q, U))
    joint = cd.RowServo(cd.JointPosition("joint", system, {"joint1": 0.0}))
    for call, what in [
        (lambda: cd.PoseServo("p", system, "nothing"), "nothing"),
        (lambda: cd.PoseServo("p", system, "tip", rows=["w"]), "w"),
        (lambda: cd.ForceServo("f", dynamics.constraints, "wall"), "wall"),
        (lambda: cd.ErrorDynamics(velocity=1.0), "1"),
        (lambda: cd.ErrorDynamics.from_stiffness(-1.0), "-1"),
        (lambda: cd.ServoLaw(dynamics, []), "no"),
        (lambda: cd.ServoLaw(dynamics, [tip, tip]), "tip"),
        (lambda: cd.ServoLaw(cd.Dynamics(pendulum), [tip]), "without inputs"),
        (lambda: cd.ServoLaw(dynamics, [tip], limits=cd.InputLimits(upper=[1.0])), "1"),
        (lambda: cd.ServoLaw(dynamics, [tip], cones=[cd.FrictionCone("wall", "normal")]), "wall"),
        (lambda: cd.JointDamping(system, -1.0), "-1"),
        (lambda: cd.Posture(system, {"elbow": 1.0}, 1.0, 1.0), "elbow"),
        (lambda: cd.make_constant_reference(joint, [1.0, 2.0]), "joint"),
        (lambda: cd.make_minimum_jerk(joint, [0.0], [1.0], 0.0, -1.0), "-1"),
        (lambda: cd.make_formula_reference(joint, ["sin(s)"]), "s"),
        (lambda: cd.SmoothStart(cd.make_constant_reference(joint, [0.0]), -1.0), "-1"),
        (lambda: cd.ServoInputLaw(law, [None, None]), "2"),
        (lambda: cd.ServoInputLaw(law, period=-1.0), "-1"),
        (lambda: law.task("nothing"), "nothing"),
        (lambda: law.task(3), "3"),
        (lambda: servo.reference(-1), "-1"),
        (lambda: servo.set_active("wall", True), "wall"),
        (lambda: servo.set_reference("tip", joint.make_reference()), "tip"),
        (lambda: setattr(servo, "external_null_vector", [1.0]), "external_null_vector has 1 elements; 3"),
        (lambda: setattr(servo.reference(0), "position", [1.0]), "position has 1 elements; 7"),
        (lambda: law.evaluate([0.0], U, workspace=servo), "q has 1"),
        (lambda: law.reset(cd.State([0.0], [0.0]), servo), "sizes"),
        (
            lambda: law.evaluate(Q, U, workspace=cd.ServoWorkspace(cd.ServoLaw(dynamics, [tip]), cd.State(Q, U))),
            "another ServoLaw",
        ),
    ]:
        with pytest.raises(ValueError) as error:
            call()
        assert what in str(error.value), str(error.value)


def test_not_finite_expect_status_and_untouched_result(arm):
    system, tip = arm
    law = cd.ServoLaw(cd.Dynamics(system), [tip])
    servo = cd.ServoWorkspace(law, cd.State(Q, U))
    assert law.evaluate(Q, U, workspace=servo) == cd.Status.OK
    before = np.array(servo.result.inputs)
    assert law.evaluate([np.nan, 0, 0], U, workspace=servo) == cd.Status.NON_FINITE_INPUT
    servo.reference(0).position[0] = np.inf
    assert law.evaluate(Q, U, workspace=servo) == cd.Status.NON_FINITE_INPUT
    np.testing.assert_array_equal(servo.result.inputs, before)


def test_objects_that_outlive_others_expect_no_dangling(arm):
    import gc

    system, tip = arm
    task = cd.Scenario.load(cd.example("planar_wall")).servo_law.task(0)
    gc.collect()
    assert task.make_reference() is not None and task.row_count >= 1
    law = cd.ServoLaw(cd.Dynamics(system), [tip])
    result = cd.ServoWorkspace(law, cd.State(Q, U)).result
    del law
    gc.collect()
    assert result.inputs.shape == (3,)
