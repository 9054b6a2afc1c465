# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
"""What counts as a violation of constraints that switch on and off."""

import numpy as np


def largest_violation(position, velocity, active, constraints, contacts=None):
    """Largest |φ| and largest |φ̇| or |ψ| of each of T times, as two arrays (T).

    position, velocity: of all rows (T, m). active: of each constraint, whether it is in force (T, c). contacts: the
    ContactSet of the run. A row that is not in force is not violated, however large its value is (the height of an open
    contact, the slip of sliding friction). Exception: an open rigid contact violates by its depth of penetration.
    """
    owner = np.repeat(np.arange(len(constraints)), [constraints[i].row_count for i in range(len(constraints))])
    side = np.zeros(len(constraints))
    for contact in contacts.contacts if contacts is not None else ():
        if not contact.stiffness > 0.0:  # a compliant contact penetrates as long as it pushes
            side[contact.constraint] = contact.side
    in_force = (np.asarray(active) != 0.0)[:, owner]
    inside = np.maximum(side[owner] * np.asarray(position), 0.0)
    return (
        np.where(in_force, np.abs(position), inside).max(axis=1, initial=0.0),
        np.where(in_force, np.abs(velocity), 0.0).max(axis=1, initial=0.0),
    )
