# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""A user-defined nonholonomic constraint: a skate on a slope moves along its blade but not across it.

The constraint is one line of Python; its derivatives come from automatic differentiation. The skate turns at a
constant rate, and instead of sliding down it runs sideways along a cycloid.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import constrained_dynamics as cd

GRAVITY, SLOPE, RATE = 9.81, np.radians(10.0), 1.5  # m/s², rad, rad/s

# x goes down the slope, y across it; phi is the direction of the blade.
system = cd.AnalyticSystem(
    coordinates=["x", "y", "phi"],
    kinetic="m/2*(dx^2 + dy^2) + J/2*dphi^2",
    potential="-m*g*x",
    parameters={"m": 2.0, "J": 0.1, "g": GRAVITY * np.sin(SLOPE)},
)
blade = cd.FunctionConstraint(
    "blade", system, cd.RowLevel.VELOCITY, 1, lambda t, q, u: [u[0] * np.sin(q[2]) - u[1] * np.cos(q[2])]
)
dynamics = cd.Dynamics(system, [blade], stabilisation=cd.Stabilisation.projection())

# It cannot be integrated to a position constraint: the skate can reach every position.
print("integrable:", cd.analyse_integrability(dynamics, np.zeros(3)).integrable.name)

simulation = cd.Simulation(dynamics, cd.State([0, 0, 0], [0, 0, RATE]), step=5e-3)
record = simulation.run(until=2 * np.pi / RATE, output_interval=0.02)

# By hand: x = c sin²(ωt), y = c (ωt − sin(2ωt)/2), c = g sin(slope)/(2ω²).
angle, c = RATE * np.asarray(record.time), GRAVITY * np.sin(SLOPE) / (2 * RATE**2)
exact = np.column_stack([c * np.sin(angle) ** 2, c * (angle - np.sin(2 * angle) / 2)])
error = np.abs(record.q[:, :2] - exact).max()
print("largest distance from the cycloid %.1e m" % error)
assert error < 1e-8, "this is not the cycloid"

figure, axes = plt.subplots(figsize=(9, 3.2))
axes.plot(record.q[:, 1], record.q[:, 0], label="path of the skate")
some = slice(0, None, 12)
axes.quiver(
    record.q[some, 1],
    record.q[some, 0],
    record.constraint_force[some, 1],
    record.constraint_force[some, 0],
    color="C1",
    angles="xy",
    width=0.003,
    label="force of the blade",
)
axes.invert_yaxis(), axes.set(xlabel="across the slope, y [m]", ylabel="down the slope, x [m]", aspect="equal")
axes.legend(loc="lower right"), axes.grid()
figure.tight_layout()
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "own_constraint.png", dpi=120)
