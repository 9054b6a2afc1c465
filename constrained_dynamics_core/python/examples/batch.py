# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""A batch of runs: 200 boxes are thrown with different speeds; where do they come to rest?"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import constrained_dynamics as cd

SCENARIO = """
system:
  bodies: [{name: box, mass: 2, inertia: [0.03, 0.07, 0.09]}]
  frames:
    - {repeat: {i: [0, 1], j: [0, 1], k: [0, 1]}, name: "corner${i}${j}${k}", parent: box,
       pose: {xyz: ["(2*${i} - 1)*0.3", "(2*${j} - 1)*0.2", "(2*${k} - 1)*0.1"]}}
constraints:
  - {repeat: {i: [0, 1], j: [0, 1], k: [0, 1]}, name: "hit${i}${j}${k}", type: contact,
     frame_a: "corner${i}${j}${k}", friction: 0.4, restitution: 0.3}
initial: {q: {box: [0, 0, 0.6, 0, 0, 0, 1]}}
"""

scenario = cd.Scenario.from_text(SCENARIO)
runs = 200
random = np.random.default_rng(1)
states = np.zeros((runs, 13))  # position, quaternion x y z w, linear and angular speeds
states[:, 2], states[:, 6] = 0.6, 1.0
states[:, 7:] = random.normal(0.0, [1, 1, 0.5, 3, 3, 3], (runs, 6))

batch = cd.rollout(scenario.dynamics, states, steps=2000, every=20, threads=0, contacts=scenario.contacts)
rests = np.abs(batch.u[:, -1]).max(axis=1) < 1e-6
print("runs", runs, " completed", int((batch.steps == 2000).sum()), " at rest", int(rests.sum()))

plt.plot(batch.q[:, :, 0].T, batch.q[:, :, 1].T, "C0", lw=0.5)
plt.plot(batch.q[:, -1, 0], batch.q[:, -1, 1], "k.")
plt.xlabel("x [m]"), plt.ylabel("y [m]"), plt.axis("equal"), plt.grid()
plt.savefig(sys.argv[1] if len(sys.argv) > 1 else "batch.png", dpi=120)
