# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Closed chains seen as serial ones, and forces that depend on constraint forces."""

import numpy as np
import pytest

import constrained_dynamics as cd


@pytest.fixture
def ankle():
    scenario = cd.Scenario.load(cd.example("parallel_ankle"))
    return cd.LoopTransmission(
        scenario.dynamics, scenario.initial, ["left_motor", "right_motor"], ["ankle_pitch", "ankle_roll"]
    )


def test_ankle_round_trip_and_power(ankle):
    assert ankle.degrees_of_freedom == 2
    status, motors = ankle.joints_to_actuators([0.3, -0.2])
    assert status == cd.Status.OK
    status, joints = ankle.actuators_to_joints(motors)
    assert status == cd.Status.OK
    assert np.abs(joints - [0.3, -0.2]).max() < 1e-12
    motor_speed, motor_torque = np.array([0.7, -0.4]), np.array([2.0, 3.0])
    _, joint_speed = ankle.actuator_velocities_to_joints(motor_speed)
    _, joint_torque = ankle.actuator_efforts_to_joints(motor_torque)
    assert joint_torque @ joint_speed == pytest.approx(motor_torque @ motor_speed, abs=1e-13)
    assert ankle.joint_velocities_to_actuators(joint_speed)[1] == pytest.approx(motor_speed, abs=1e-12)
    assert ankle.joint_efforts_to_actuators(joint_torque)[1] == pytest.approx(motor_torque, abs=1e-12)


def test_beyond_the_stroke_nothing_changes(ankle):
    held = ankle.coordinates
    assert ankle.joints_to_actuators([3.0, 0.0]) == (cd.Status.NOT_CONVERGED, None)
    assert np.array_equal(ankle.coordinates, held)
    with pytest.raises(ValueError, match="joints has 1 elements; 2 are needed"):
        ankle.joints_to_actuators([0.0])


def test_rope_slips_on_drum():
    scenario = cd.Scenario.from_text(
        """
system:
  coordinates: [x1, x2]
  kinetic: 2.5*dx1^2 + dx2^2/2
  potential: -9.81*(5*x1 + x2)
  force: {x1: lambda(rope)*(exp(0.3*pi) - 1)}
constraints: [{name: rope, type: formula, level: position, rows: [x1 + x2]}]
"""
    )
    ratio = np.exp(0.3 * np.pi)
    workspace = cd.Workspace(scenario.dynamics, scenario.initial)
    status = scenario.dynamics.solve([0, 0], [0, 0], workspace=workspace)
    assert status == cd.Status.OK
    assert workspace.solution.acceleration[0] == pytest.approx(9.81 * (5 - ratio) / (5 + ratio), abs=1e-13)
    with pytest.raises(ValueError, match="derivatives and linear models"):
        cd.linearise_scenario(scenario)
