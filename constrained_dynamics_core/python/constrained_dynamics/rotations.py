# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Rotations as quaternions."""

import numpy as np


def quaternions(rotations):
    """x y z w of rotations (…, 3, 3)."""
    r = np.asarray(rotations)
    trace = np.trace(r, axis1=-2, axis2=-1)
    squares = np.stack(
        [1 + 2 * r[..., 0, 0] - trace, 1 + 2 * r[..., 1, 1] - trace, 1 + 2 * r[..., 2, 2] - trace, 1 + trace], -1
    )
    largest = np.argmax(squares, axis=-1)
    out = np.empty(r.shape[:-2] + (4,))
    for k in range(4):
        at = largest == k
        root = 2 * np.sqrt(squares[at][:, k])
        m = r[at]
        d = [m[:, 2, 1] - m[:, 1, 2], m[:, 0, 2] - m[:, 2, 0], m[:, 1, 0] - m[:, 0, 1]]
        s = {(0, 1): m[:, 0, 1] + m[:, 1, 0], (0, 2): m[:, 0, 2] + m[:, 2, 0], (1, 2): m[:, 1, 2] + m[:, 2, 1]}
        part = np.empty((m.shape[0], 4))
        for j in range(4):
            if j == k:
                part[:, j] = root / 4
            elif k == 3 or j == 3:
                part[:, j] = d[min(j, k)] / root
            else:
                part[:, j] = s[min(j, k), max(j, k)] / root
        out[at] = part
    return out
