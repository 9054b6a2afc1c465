# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Systems from a `pinocchio.Model`, and the Model of a system.

Joints: revolute, unbounded revolute and prismatic ones with any axis, planar, spherical, translation and
free-flyer joints, anywhere in the tree. The others are refused with the joint's name.
"""

from . import _core


def from_pinocchio(model, *, use_damping=False, gravity=None, **scene):
    """The RigidBodySystem of a `pinocchio.Model`: its bodies, joints, limits, armature, gravity and frames.

    Pinocchio's own algorithms leave `model.damping` out, and so does this unless `use_damping`. The other
    keywords are those of RigidBodySystem; what they state is added. Speeds are Pinocchio's v;
    `from_pinocchio_q` and `to_pinocchio_q` convert coordinates. Raises ValueError naming a joint that is
    not allowed.
    """
    if gravity is not None:
        model = model.copy()
        model.gravity.linear[:] = gravity
    return _core.RigidBodySystem(model=model.saveToString(), use_model_damping=use_damping, **scene)


def to_pinocchio(system):
    """The `pinocchio.Model` of a RigidBodySystem, whatever the system was made from."""
    import pinocchio

    model = pinocchio.Model()
    model.loadFromString(_core._model_text(system))
    return model
