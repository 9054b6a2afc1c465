# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""A four-bar linkage: the robot description leaves the loop open, a constraint closes it."""

import sys

import matplotlib.pyplot as plt
import numpy as np

import constrained_dynamics as cd

system = cd.RigidBodySystem.from_urdf(cd.robot("four_bar.urdf"))
loop = cd.FrameCoincidence("loop", system, "coupler_tip", "rocker_tip", rows=["x", "z"])
dynamics = cd.Dynamics(system, [loop], stabilisation=cd.Stabilisation.projection())

q = cd.assemble_position(dynamics, [0.3, 1.2, 2.2], hold=["crank"])
record = cd.Simulation(dynamics, cd.State(q, np.zeros(3)), step=1e-3).run(until=5.0, output_interval=0.01)
print("steps", record.result.steps, " largest gap of the loop", np.abs(record.position).max(), "m")

plt.plot(record.time, record.wrench_force[:, 0, [0, 2]], label=["force on the coupler, x", "force on the coupler, z"])
plt.plot(record.time, record.energy - record.energy[0], "k--", label="change of the energy [J]")
plt.xlabel("t [s]"), plt.ylabel("N"), plt.legend(), plt.grid()
plt.savefig(sys.argv[1] if len(sys.argv) > 1 else "four_bar.png", dpi=120)
