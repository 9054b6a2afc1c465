# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""An arm leads its tip along a wall and pushes on it with a desired force.

What the arm cannot violate is a constraint (the wall). Its tasks are servo-constraints: height and direction of the
tip, and the force on the wall. The law computes the torques, and the simulation shows that they achieve the tasks.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import constrained_dynamics as cd

LINK = """
  <link name="link{i}"><inertial><origin xyz="0.25 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="joint{i}" type="continuous"><parent link="{parent}"/><child link="link{i}"/>
    <origin xyz="{x} 0 0"/><axis xyz="0 -1 0"/></joint>"""
ARM = (
    '<robot name="arm"><link name="base"/>'
    + "".join(
        LINK.format(i=i, parent="base" if i == 1 else "link%d" % (i - 1), x=0 if i == 1 else 0.5) for i in (1, 2, 3)
    )
    + """
  <link name="tip"/>
  <joint name="end" type="fixed"><parent link="link3"/><child link="tip"/><origin xyz="0.5 0 0"/></joint>
</robot>"""
)

# The wall is the plane x = 0.9; the multiplier of its row is the force on the tip along the normal.
system = cd.RigidBodySystem.from_urdf_text(ARM)
wall = cd.PointOnPlane("wall", system, "tip", normal=[1, 0, 0], offset=0.9)
dynamics = cd.Dynamics(system, [wall], stabilisation=cd.Stabilisation.projection())
start = cd.assemble_position(dynamics, [1.1, -2.3, 1.2])

# Three torques for three rows: height and direction of the tip, and the force.
tip = cd.PoseServo("tip", system, "tip", rows=["z", "ry"])
push = cd.ForceServo("push", dynamics.constraints, "wall")
law = cd.ServoLaw(dynamics, [tip, push])


def desired_height(t):
    return 0.2 + 0.25 * np.sin(1.5 * t)


def desired_force(t):
    return -20.0 - 8.0 * np.sin(3.0 * t)  # the wall pushes back, against its normal


drive = cd.ServoInputLaw(
    law,
    [
        cd.FunctionReference(tip, lambda t: [0, 0, desired_height(t), 0, 0, 0, 1]),
        cd.FunctionReference(push, lambda t: [desired_force(t)]),
    ],
    smooth_start=[1.0, 0.0],
)
simulation = cd.Simulation(dynamics, cd.State(start, np.zeros(3)), inputs=drive, step=2e-3)
record = simulation.run(until=6.0, output_interval=0.02)

t = np.asarray(record.time)
z = system.frame_poses(record.q, ["tip"])[:, 0, 2, 3]
errors = np.abs(z - desired_height(t))[t > 1.0].max(), np.abs(record.multipliers[:, 0] - desired_force(t)).max()
print(
    "largest error of the height %.1e m, of the force %.1e N; off the wall %.1e m"
    % (*errors, np.abs(record.position).max())
)
assert record.result.completed and errors[0] < 1e-6 and errors[1] < 1e-6, "the arm missed its tasks"

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
for k in range(0, len(t), 25):
    joints = system.frame_poses(record.q[k : k + 1], ["link1", "link2", "link3", "tip"])[0, :, :3, 3]
    left.plot(joints[:, 0], joints[:, 2], "o-", color=plt.cm.viridis(k / len(t)), lw=2)
left.axvline(0.9, color="k"), left.set(title="the arm, later = lighter", xlabel="x [m]", ylabel="z [m]", aspect="equal")
right.plot(t, -record.multipliers[:, 0], label="force on the wall [N]")
right.plot(t, -desired_force(t), "k:", label="desired")
right.plot(t, record.inputs, label=["torque %d [N m]" % i for i in (1, 2, 3)], lw=1)
right.set(xlabel="t [s]"), right.legend(), right.grid()
figure.tight_layout()
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "arm_on_wall.png", dpi=120)
