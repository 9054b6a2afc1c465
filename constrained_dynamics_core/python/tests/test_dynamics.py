# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Systems, constraints and one solve."""

import numpy as np
import pytest

import constrained_dynamics as cd

LENGTH = 1.5


def rod(system):
    return cd.FormulaConstraint(
        "rod", system, cd.RowLevel.POSITION, ["(x^2 + y^2 - l^2)/(2*l)"], parameters={"l": LENGTH}
    )


def test_pendulum_when_at_rest_expect_textbook_tension(pendulum):
    dynamics = cd.Dynamics(pendulum, [rod(pendulum)])
    angle, speed = 0.7, 1.3
    q = LENGTH * np.array([np.sin(angle), -np.cos(angle)])
    u = LENGTH * speed * np.array([np.cos(angle), np.sin(angle)])
    workspace = cd.Workspace(dynamics, cd.State(q, u))
    assert dynamics.solve(q, u, workspace=workspace) == cd.Status.OK
    # Tension m (g cos + l ω²) along the rod, towards the pivot: λ < 0.
    tension = 2.0 * (9.81 * np.cos(angle) + LENGTH * speed**2)
    np.testing.assert_allclose(workspace.solution.multipliers, [-tension], rtol=1e-13)
    np.testing.assert_allclose(workspace.solution.constraint_force, -tension * q / LENGTH, rtol=1e-13)


def test_formulations_expect_agreement(four_bar):
    system, dynamics, _, q = four_bar
    results = []
    for name in cd.formulation_names():
        again = cd.Dynamics(dynamics.constraints, formulation=name)
        workspace = cd.Workspace(again, cd.State(q, np.zeros(3)))
        u = again.project_velocity(q, [1.0, 0.0, 0.0], workspace=workspace)
        workspace.reset(cd.State(q, u))
        assert again.solve(q, u, [3.0, 0.0, 0.0], workspace=workspace) == cd.Status.OK
        results.append(np.concatenate([workspace.solution.acceleration, workspace.solution.multipliers]))
    assert len(results) >= 8
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-9, atol=1e-9)


def test_row_problem_expect_equations_of_motion(random):
    root = random.normal(size=(5, 5))
    mass, rows = root @ root.T + np.eye(5), random.normal(size=(2, 5))
    force, bias = random.normal(size=5), random.normal(size=2)
    solution = cd.make_formulation("kane_nonminimal").solve_row_problem(mass, force, rows, bias)
    np.testing.assert_allclose(rows @ solution.acceleration, bias, atol=1e-12)
    np.testing.assert_allclose(mass @ solution.acceleration, force + rows.T @ solution.multipliers, atol=1e-12)


def test_wrenches_expect_opposite_and_power_zero(four_bar):
    system, dynamics, workspace, q = four_bar
    u = dynamics.project_velocity(q, [2.0, 0.0, 0.0], workspace=workspace)
    assert dynamics.solve(q, u, workspace=workspace) == cd.Status.OK
    pair = workspace.solution.wrenches[0]
    np.testing.assert_allclose(pair.on_a.force, -pair.on_b.force)
    assert np.linalg.norm(pair.on_a.force) > 0.1
    kinematics = cd.Kinematics(system, q, u)
    power = pair.on_a.force @ (kinematics.frame("coupler_tip").velocity - kinematics.frame("rocker_tip").velocity)
    assert abs(power) < 1e-12
    assert abs(workspace.solution.constraint_force @ u) < 1e-12


def test_kinematics_expect_jacobian_of_finite_differences(four_bar):
    system, _, _, q = four_bar
    kinematics = cd.Kinematics(system, q)
    jacobian = kinematics.frame_jacobian("rocker_tip")
    step = 1e-6
    for k in range(system.speed_count):
        forward, back = (np.array(q), np.array(q))
        forward[k] += step
        back[k] -= step
        poses = system.frame_poses([forward, back], ["rocker_tip"])
        difference = (poses[0, 0, :3, 3] - poses[1, 0, :3, 3]) / (2 * step)
        np.testing.assert_allclose(jacobian[:3, k], difference, atol=1e-9)
    assert kinematics.mass_matrix.shape == (3, 3)
    np.testing.assert_allclose(kinematics.mass_matrix, kinematics.mass_matrix.T)


def test_redundant_rows_expect_report(four_bar):
    system, _, _, q = four_bar
    twice = [cd.FrameCoincidence(name, system, "coupler_tip", "rocker_tip", rows=["x", "z"]) for name in "ab"]
    dynamics = cd.Dynamics(system, twice)
    workspace = cd.Workspace(dynamics, cd.State(q, np.zeros(3)))
    report = workspace.rank_report
    assert (report.row_count, report.nominal_rank, report.degrees_of_freedom) == (4, 2, 1)
    assert len(report.dependencies) == 2
    assert dynamics.solve(q, np.zeros(3), workspace=workspace) == cd.Status.OK
    np.testing.assert_allclose(workspace.solution.multipliers[:2], workspace.solution.multipliers[2:], rtol=1e-9)


def test_all_constraint_types_expect_rows():
    body = cd.FreeBody("ball", 2.0, [0.1, 0.2, 0.25], pose=cd.Pose([0, 0, 0.5]))
    arm = """<robot name="arm"><link name="root"/>
      <link name="a"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="b"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="j1" type="continuous"><parent link="root"/><child link="a"/><axis xyz="0 0 1"/></joint>
      <joint name="j2" type="continuous"><origin xyz="1 0 0"/>
        <parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint>
    </robot>"""
    system = cd.RigidBodySystem(
        [cd.RobotDescription(arm)],
        bodies=[body],
        frames=[cd.Frame("tip", "b", cd.Pose([0.5, 0, 0]))],
        springs=[cd.JointSpring("j1", 3.0)],
        gravity=[0, 0, -1.6],
    )
    plane = cd.PointOnPlane("plane", system, "ball", normal=[0, 0, 1], offset=0.4)
    constraints = [
        plane,
        cd.PointOnLine("line", system, "tip", direction=[0, 0, 1]),
        cd.Distance("rod", system, "tip", "ball", length=1.2),
        cd.KnifeEdge("blade", system, "ball", axis=[0, 1, 0]),
        cd.Rolling("rolls", system, "ball", radius=0.5),
        cd.Rolling("disk", system, "ball", radius=0.5, axis=[0, 1, 0], keep_contact=False),
        cd.Rolling("egg", system, "ball", semi_axes=[0.5, 0.4, 0.3]),
        cd.ContactTangents("slip", system, "ball", normal=[0, 0, 1], tangent=[1, 0, 0]),
        cd.FrameCoincidence("weld", system, "ball", "tip"),
        cd.JointCoupling("gear", system, {"j1": 1.0, "j2": -2.0}, offset=0.1),
        cd.PrescribedMotion("drive", system, "j1", motion="a*sin(t)", parameters={"a": 0.3}),
        cd.PrescribedMotion("path", system, frame_a="ball", motion={"x": "t", "z": "0.5"}),
        cd.JointPosition("locked", system, {"j1": 0.2}),
        cd.CentreOfMass("balance", system, ["x", "y"]),
        cd.KineticEnergy("energy", system, 1.0),
        cd.JointSlip("friction", system, "j2"),
        cd.CompliantRow(plane, velocity_gain=-1.0, position_gain=-2.0),
    ]
    with pytest.raises(ValueError, match="plane"):
        cd.ConstraintSet(system, constraints)  # the compliant row has the name of its row
    dynamics = cd.Dynamics(system, constraints[:-1])
    workspace = cd.Workspace.unanalysed(dynamics)
    q = system.neutral_coordinates
    assert dynamics.evaluate_rows(q, np.zeros(8), workspace=workspace) == cd.Status.OK
    assert workspace.rows.jacobian.shape == (dynamics.constraints.row_count, 8)
    types = [dynamics.constraints[i].type for i in range(len(dynamics.constraints))]
    assert types == [
        "point_on_plane",
        "point_on_line",
        "distance",
        "knife_edge",
        "rolling",
        "rolling",
        "rolling",
        "contact_tangents",
        "frame_coincidence",
        "joint_coupling",
        "prescribed_motion",
        "prescribed_motion",
        "joint",
        "centre_of_mass",
        "kinetic_energy",
        "joint_slip",
    ]
    np.testing.assert_allclose(workspace.rows.position[0], 0.1)
    assert dynamics.constraints.row_names[:3] == ["plane/normal", "line/normal_1", "line/normal_2"]
    assert system.total_mass == pytest.approx(4.0)


def test_switched_constraint_expect_free_motion(pendulum):
    dynamics = cd.Dynamics(pendulum, [rod(pendulum)])
    q, u = [LENGTH, 0.0], [0.0, 0.0]
    workspace = cd.Workspace(dynamics, cd.State(q, u))
    dynamics.set_active("rod", False, workspace)
    assert not dynamics.is_active(0, workspace)
    assert dynamics.solve(q, u, workspace=workspace) == cd.Status.OK
    np.testing.assert_allclose(workspace.solution.acceleration, [0.0, -9.81])


def test_derivatives_expect_finite_differences(four_bar):
    system, dynamics, workspace, q = four_bar
    inputs = np.array([2.0, 0.0, 0.0])
    u = dynamics.project_velocity(q, [1.5, 0.0, 0.0], workspace=workspace)
    workspace.reset(cd.State(q, u))
    derivatives = cd.differentiate(dynamics, q, u, inputs, workspace=workspace)
    assert derivatives.system_is_analytic

    def acceleration(at):
        assert cd.has_output(dynamics.solve(at, u, inputs, workspace=workspace))
        return np.array(workspace.solution.acceleration)

    step = 1e-5
    for k in range(3):
        change = np.zeros(3)
        change[k] = step
        difference = (acceleration(q + change) - acceleration(q - change)) / (2 * step)
        np.testing.assert_allclose(derivatives.acceleration_q[:, k], difference, rtol=1e-5, atol=1e-5)


def test_linear_model_expect_pendulum_frequency(pendulum):
    dynamics = cd.Dynamics(pendulum, [rod(pendulum)])
    state = cd.State([0.0, -LENGTH], [0.0, 0.0])
    workspace = cd.Workspace(dynamics, state)
    model = cd.linearise(dynamics, state, workspace=workspace)
    assert model.is_equilibrium
    frequency = np.sqrt(9.81 / LENGTH)
    np.testing.assert_allclose(np.sort(model.reduced_eigenvalues.imag), [-frequency, frequency], rtol=1e-9)


def test_impact_expect_reflected_velocity(pendulum):
    wall = cd.FormulaConstraint("wall", pendulum, cd.RowLevel.POSITION, ["x"])
    dynamics = cd.Dynamics(pendulum, [wall])
    problem = cd.ImpactProblem(dynamics)
    problem.roles = [cd.ImpactRole.UNILATERAL]
    problem.restitution = [0.5]
    problem.contacts = [cd.ImpactContact(0, side=1.0)]
    solution = cd.solve_impact(dynamics, problem, cd.State([0.0, 0.0], [3.0, 1.0]))
    np.testing.assert_allclose(solution.speeds, [-1.5, 1.0])
    np.testing.assert_allclose(solution.energy_change, 0.5 * 2.0 * (1.5**2 - 3.0**2))
    assert solution.outcomes == [cd.ContactOutcome.PUSHES]


def test_integrability_expect_nonholonomic_blade():
    system = cd.AnalyticSystem(["x", "y", "a"], "(dx^2 + dy^2 + da^2)/2")
    blade = cd.FormulaConstraint("blade", system, cd.RowLevel.VELOCITY, ["dx*sin(a) - dy*cos(a)"])
    report = cd.analyse_integrability(cd.Dynamics(system, [blade]), [0.1, 0.2, 0.3])
    assert report.integrable == cd.Answer.NO and report.bracket_growth == 1


def test_projection_with_own_complement_expect_the_same_motion(pendulum):
    """The tangent of a pendulum's circle as N."""
    q, u = np.array([0.6, -0.8]) * LENGTH, np.array([0.8, 0.6])
    found = []
    for formulation in ("auto", cd.Projection(), cd.Projection(1, lambda t, q, u: [[-q[1], q[0]]])):
        dynamics = cd.Dynamics(pendulum, [rod(pendulum)], formulation=formulation)
        workspace = cd.Workspace(dynamics, cd.State(q, u))
        assert dynamics.solve(q, u, workspace=workspace) == cd.Status.OK
        found.append(np.append(workspace.solution.acceleration, workspace.solution.multipliers))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-11)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-11)
    wrong = cd.Dynamics(pendulum, [rod(pendulum)], formulation=cd.Projection(1, lambda t, q, u: [[1.0, 0.0]]))
    assert wrong.solve(q, u, workspace=cd.Workspace(wrong, cd.State(q, u))) == cd.Status.INCONSISTENT
    with pytest.raises(ValueError, match="row_count is 0"):
        cd.Projection(0, lambda t, q, u: [])


def test_impact_derivatives_expect_finite_differences(pendulum):
    dynamics = cd.Dynamics(pendulum, [rod(pendulum)])
    problem = cd.ImpactProblem(dynamics)
    problem.roles = [cd.ImpactRole.IMPACTING]
    problem.restitution = [0.4]
    q, u = np.array([0.6, -0.8]) * LENGTH, np.array([0.3, -0.5])
    found = cd.differentiate_impact(dynamics, problem, cd.State(q, u))

    def after(q, u, impulse):
        problem.impulse = impulse
        return np.array(cd.solve_impact(dynamics, problem, cd.State(q, u)).speeds)

    h, zero = 1e-5, np.zeros(2)
    for k, e in enumerate(np.eye(2) * h):
        by_speeds = (after(q, u + e, zero) - after(q, u - e, zero)) / (2 * h)
        by_impulse = (after(q, u, e) - after(q, u, -e)) / (2 * h)
        by_position = (after(q + e, u, zero) - after(q - e, u, zero)) / (2 * h)
        np.testing.assert_allclose(found.by_speeds[:, k], by_speeds, atol=1e-9)
        np.testing.assert_allclose(found.by_impulse[:, k], by_impulse, atol=1e-9)
        np.testing.assert_allclose(found.by_position[:, k], by_position, atol=1e-8)


def test_underactuation_of_cart_and_pole_expect_the_row_of_the_pole():
    system = cd.AnalyticSystem(
        ["x", "a"], "3*dx^2/2 + dx*da*cos(a) + da^2/2", potential="9.81*cos(a)", inputs={"push": {"x": 1}}
    )
    dynamics = cd.Dynamics(system)
    state = cd.State([0.0, 0.3], [0.1, 0.2])
    report = cd.analyse_underactuation(dynamics, state, cd.Workspace(dynamics, state))
    assert report.degrees_of_freedom == 2 and report.input_rank == 1
    np.testing.assert_allclose(report.motions, [[0.0, 1.0]], atol=1e-14)
    np.testing.assert_allclose(report.inertia, [[np.cos(0.3), 1.0]], atol=1e-14)
    np.testing.assert_allclose(report.force, [9.81 * np.sin(0.3)], rtol=1e-12)


def test_controls_as_states_expect_their_names():
    system = cd.AnalyticSystem(["a"], "da^2/2", inputs={"motor": {"a": 1}})
    extended = cd.ControlStateSystem(system, first=["motor"])
    assert extended.speed_names == ["da", "motor"] and extended.input_names == ["dmotor"]
    dynamics = cd.Dynamics(extended)
    workspace = cd.Workspace(dynamics, cd.State([0.0], [1.0, 3.0]))
    assert dynamics.solve([0.0], [1.0, 3.0], [7.0], workspace=workspace) == cd.Status.OK
    np.testing.assert_allclose(workspace.solution.acceleration, [3.0, 7.0])
    with pytest.raises(ValueError, match="engine"):
        cd.ControlStateSystem(system, first=["engine"])


def test_parts_expect_nan_until_asked_for(four_bar):
    """A solve along the tree needs neither A nor Q; asked for, they are those of that state."""
    _, dynamics, workspace, q = four_bar
    other = cd.Workspace(dynamics, cd.State(q, np.zeros(3)))
    assert dynamics.solve(q, np.zeros(3), workspace=workspace) == cd.Status.OK
    assert workspace.solution.along_tree
    assert np.isnan(workspace.rows.jacobian).all() and np.isnan(workspace.mass_matrix).all()
    assert dynamics.evaluate_rows(workspace=workspace) == cd.Status.OK
    assert dynamics.evaluate_terms(workspace=workspace) == cd.Status.OK
    assert dynamics.evaluate_rows(q, np.zeros(3), workspace=other) == cd.Status.OK
    assert dynamics.evaluate_terms(workspace=other) == cd.Status.OK
    np.testing.assert_array_equal(workspace.rows.jacobian, other.rows.jacobian)
    np.testing.assert_array_equal(workspace.mass_matrix, other.mass_matrix)
    assert np.isnan(other.solution.acceleration).all()
    assert dynamics.solve([1.0, 0.0, 0.0], workspace=other) == cd.Status.OK
    assert np.isfinite(other.solution.acceleration).all()
