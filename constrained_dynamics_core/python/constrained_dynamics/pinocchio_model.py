# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Systems from a `pinocchio.Model`, by way of a URDF text that says the same.

Joints of one degree of freedom anywhere, and a free-flyer or planar joint as the root. Everything else
(ball, helical, composite, mimic joints, a free-flyer inside the tree) is refused with the joint's name.
"""

from xml.sax.saxutils import quoteattr

import numpy as np

from . import _core


def from_pinocchio(model, *, use_damping=False, frames=(), **scene):
    """The RigidBodySystem of a `pinocchio.Model`: its bodies, joints, limits, armature, gravity and frames.

    Pinocchio's own algorithms leave `model.damping` out, and so does this unless `use_damping`. `frames` and
    the other keywords are those of RigidBodySystem. The coordinates have the joints' names, in the order of
    a depth-first walk; `coordinates_from_pinocchio` converts. Raises ValueError for joints that a
    description cannot state.
    """
    tree = _Tree(model)
    robot = _core.RobotDescription(
        tree.urdf(),
        _core.RobotFormat.URDF,
        base=tree.base,
        name=tree.base_name,
        pose=tree.base_pose,
        source="pinocchio.Model '%s'" % model.name,
    )
    armature = {
        model.names[i]: float(model.armature[model.joints[i].idx_v])
        for i in tree.simple_joints
        if model.armature[model.joints[i].idx_v] > 0.0
    }
    dampers = dict(scene.pop("dampers", {}))
    if use_damping:
        for i in tree.simple_joints:
            value = float(model.damping[model.joints[i].idx_v])
            dampers[model.names[i]] = dampers.get(model.names[i], 0.0) + value
    for name, value in scene.pop("armature", {}).items():
        armature[name] = armature.get(name, 0.0) + value
    return _core.RigidBodySystem(
        [robot],
        frames=tree.frames() + list(frames),
        armature=armature,
        dampers=dampers,
        gravity=scene.pop("gravity", tuple(model.gravity.linear)),
        use_model_damping=False,
        **scene,
    )


def coordinates_from_pinocchio(model, system, q):
    """Our coordinates of a system of `from_pinocchio` for Pinocchio's configuration q.

    A continuous joint is one angle here and cosine and sine there; a planar base likewise.
    """
    q = np.asarray(q, dtype=float)
    if q.shape != (model.nq,):
        raise ValueError("q has shape %s; (%d,) is needed" % (q.shape, model.nq))
    values = {}
    for i in range(1, model.njoints):
        joint, name = model.joints[i], model.names[i]
        part = q[joint.idx_q : joint.idx_q + joint.nq]
        if (joint.nq, joint.nv) == (7, 6):
            labels = ["_x", "_y", "_z", "_qx", "_qy", "_qz", "_qw"]
            values.update(zip((name + label for label in labels), part))
        elif (joint.nq, joint.nv) == (4, 3):
            angle = np.arctan2(part[3], part[2])
            values.update({name + "_x": part[0], name + "_y": part[1], name + "_theta": angle})
        elif joint.nq == 2:
            values[name] = np.arctan2(part[1], part[0])
        else:
            values[name] = part[0]
    return np.array([values[name] for name in system.coordinate_names])


def speeds_from_pinocchio(model, system, v):
    """Our speeds of a system of `from_pinocchio` for Pinocchio's velocity v."""
    v = np.asarray(v, dtype=float)
    if v.shape != (model.nv,):
        raise ValueError("v has shape %s; (%d,) is needed" % (v.shape, model.nv))
    values = {}
    for i in range(1, model.njoints):
        joint, name = model.joints[i], model.names[i]
        part = v[joint.idx_v : joint.idx_v + joint.nv]
        labels = {6: ["vx", "vy", "vz", "wx", "wy", "wz"], 3: ["vx", "vy", "wz"]}.get(joint.nv)
        if labels:
            values.update(zip((name + "_" + label for label in labels), part))
        else:
            values["d" + name] = part[0]
    return np.array([values[name] for name in system.speed_names])


class _Tree:
    """A model as links and joints of a URDF."""

    def __init__(self, model):
        self.model = model
        self.base, self.base_name, self.base_pose = _core.Base.FIXED, "", _core.Pose()
        self.root = 0
        roots = [i for i in range(1, model.njoints) if model.parents[i] == 0]
        if len(roots) == 1 and self._kind(roots[0]) in ("floating", "planar"):
            self.root = roots[0]
            placement = model.jointPlacements[self.root]
            self.base = {"floating": _core.Base.FLOATING, "planar": _core.Base.PLANAR}[self._kind(self.root)]
            self.base_name = model.names[self.root]
            self.base_pose = _core.Pose(placement.translation, _rpy(placement.rotation))
        self.simple_joints = [i for i in range(1, model.njoints) if i != self.root]
        self.axes = {i: self._axis(i) for i in self.simple_joints}
        self.links = self._link_names()

    def _kind(self, i):
        joint = self.model.joints[i]
        name = joint.shortname()
        if (joint.nq, joint.nv) == (7, 6) and "FreeFlyer" in name:
            return "floating"
        if (joint.nq, joint.nv) == (4, 3) and "Planar" in name:
            return "planar"
        return name

    def _axis(self, i):
        """Type and axis of a joint of one degree of freedom, from its motion subspace."""
        joint, name = self.model.joints[i], self.model.names[i]
        kind = joint.shortname()
        if joint.nv != 1 or joint.nq > 2 or "Mimic" in kind or "Composite" in kind:
            raise ValueError(
                "joint '%s' is of type %s; joints of one degree of freedom are allowed, and a free-flyer or "
                "planar joint as the only root" % (name, kind)
            )
        data = joint.createData()
        q = np.zeros(self.model.nq)
        if joint.nq == 2:
            q[joint.idx_q] = 1.0
        joint.calc(data, q)
        subspace = np.asarray(data.S if not hasattr(data.S, "matrix") else data.S.matrix()).reshape(-1)
        linear, angular = subspace[:3], subspace[3:]
        if np.any(linear) and np.any(angular):
            raise ValueError("joint '%s' is of type %s; helical joints are not allowed" % (name, kind))
        if np.any(linear):
            return "prismatic", linear
        return ("continuous" if joint.nq == 2 else "revolute"), angular

    def _body_frames(self, i):
        """Names of the body frames that coincide with joint i."""
        return [
            frame.name
            for frame in self.model.frames
            if _parent(frame) == i and frame.placement.isIdentity() and str(frame.type).endswith("BODY")
        ]

    def _link_names(self):
        links = {0: "world"}
        taken = {"world"}
        for i in range(1, self.model.njoints):
            candidates = self._body_frames(i) + [self.model.names[i] + "_link"]
            links[i] = next(name for name in candidates + ["link_%d" % i] if name not in taken)
            taken.add(links[i])
        return links

    def frames(self):
        """Everything else that has a name, fixed to the links."""
        seen = set(self.links.values()) | {"universe"}
        out = []
        for frame in self.model.frames:
            if frame.name in seen or str(frame.type).endswith(".JOINT"):
                continue
            seen.add(frame.name)
            placement = frame.placement
            out.append(
                _core.Frame(
                    frame.name, self.links[_parent(frame)], _core.Pose(placement.translation, _rpy(placement.rotation))
                )
            )
        return out

    def urdf(self):
        parts = ["<robot name=%s>" % quoteattr(self.model.name or "robot")]
        if self.root == 0:
            parts.append('<link name="world"/>')
        for i in range(1, self.model.njoints):
            parts.append(self._link(i))
        for i in self.simple_joints:
            parts.append(self._joint(i))
        return "\n".join(parts + ["</robot>"])

    def _link(self, i):
        inertia = self.model.inertias[i]
        if inertia.mass == 0.0:
            return "<link name=%s/>" % quoteattr(self.links[i])
        moment = inertia.inertia
        return (
            '<link name=%s><inertial><origin xyz="%s"/><mass value="%r"/><inertia ixx="%r" ixy="%r" ixz="%r" '
            'iyy="%r" iyz="%r" izz="%r"/></inertial></link>'
            % (
                (quoteattr(self.links[i]), _text(inertia.lever), float(inertia.mass))
                + tuple(float(moment[r, c]) for r, c in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
            )
        )

    def _joint(self, i):
        model = self.model
        kind, axis = self.axes[i]
        placement = model.jointPlacements[i]
        limit = ""
        joint = model.joints[i]
        lower, upper = (float(limits[joint.idx_q]) for limits in (model.lowerPositionLimit, model.upperPositionLimit))
        velocity = float(_either(model, "upperVelocityLimit", "velocityLimit")[joint.idx_v])
        effort = float(_either(model, "upperEffortLimit", "effortLimit")[joint.idx_v])
        if kind != "continuous" and not (np.isfinite(lower) and np.isfinite(upper) and lower <= upper):
            if kind == "revolute":
                kind = "continuous"
            else:
                lower, upper = -1e9, 1e9
        bounded = kind != "continuous"
        if bounded or (np.isfinite(velocity) and np.isfinite(effort)):
            limit = '<limit%s velocity="%r" effort="%r"/>' % (
                ' lower="%r" upper="%r"' % (lower, upper) if bounded else "",
                min(velocity, 1e9),
                min(effort, 1e9),
            )
        return (
            '<joint name=%s type="%s"><origin xyz="%s" rpy="%s"/><parent link=%s/><child link=%s/>'
            '<axis xyz="%s"/>%s</joint>'
            % (
                quoteattr(model.names[i]),
                kind,
                _text(placement.translation),
                _text(_rpy(placement.rotation)),
                quoteattr(self.links[model.parents[i]]),
                quoteattr(self.links[i]),
                _text(axis),
                limit,
            )
        )


def _parent(frame):
    return frame.parentJoint if hasattr(frame, "parentJoint") else frame.parent


def _either(model, *names):
    return next(getattr(model, name) for name in names if hasattr(model, name))


def _text(vector):
    return " ".join(repr(float(value)) for value in vector)


def _rpy(rotation):
    """Roll, pitch, yaw of R = Rz Ry Rx."""
    r = np.asarray(rotation)
    cosine = np.hypot(r[0, 0], r[1, 0])
    pitch = np.arctan2(-r[2, 0], cosine)
    if cosine < 1e-9:  # roll and yaw turn about the same axis: all of it is yaw
        return np.array([0.0, pitch, np.arctan2(-r[0, 1], r[1, 1])])
    return np.array([np.arctan2(r[2, 1], r[2, 2]), pitch, np.arctan2(r[1, 0], r[0, 0])])
