# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Closed-chain robots of others against Pinocchio and MuJoCo; the tables of doc/closed_chains.md.

The robots are not part of this repository: the environment variables CD_PARALLEL_ROBOTS (folder `robots` of
Gepetto/example-parallel-robots) and CD_MENAGERIE (google-deepmind/mujoco_menagerie) name their folders. Run with -s
to see the figures.
"""

import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

import constrained_dynamics as cd

pin = pytest.importorskip("pinocchio")

WORLD = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


def folder_of(variable):
    """The folder that an environment variable names, or the test is skipped."""
    if not os.environ.get(variable):
        pytest.skip(variable + " does not name a folder")
    return Path(os.environ[variable])


# ---- Pinocchio -----------------------------------------------------------------------------------------------------


class Peer:
    """A robot of example-parallel-robots in Pinocchio: tree, loops and replaced joints as its loader builds them."""

    def __init__(self, urdf, loops):
        stated = yaml.safe_load(loops.read_text())
        replaced = dict(zip(stated.get("joint_name", []), stated.get("joint_type", [])))
        original = pin.buildModelFromUrdf(str(urdf))
        self.model, ids = pin.Model(), [0]
        self.model.gravity = original.gravity
        for j in range(1, original.njoints):
            ids.append(self._add_joint(original, j, ids[original.parents[j]], replaced))
        ends = {name for pair in stated["closed_loop"] for name in pair}
        for frame in [frame for frame in original.frames if frame.name in ends]:
            self.model.addFrame(
                pin.Frame(frame.name, ids[frame.parentJoint], 0, frame.placement, pin.FrameType.OP_FRAME), False
            )
        locked = [ids[original.getJointId(name)] for name, kind in replaced.items() if kind == "FIXED"]
        self.model = pin.buildReducedModel(self.model, locked, pin.neutral(self.model))
        self.data = self.model.createData()
        kinds = stated.get("type", ["6d"] * len(stated["closed_loop"]))
        self.loops = [(*pair, 3 if kind[0] == "3" else 6) for pair, kind in zip(stated["closed_loop"], kinds)]
        self.motors = stated["name_mot"]
        joints = [(joint.get("name"), joint.find("mimic")) for joint in ElementTree.parse(urdf).getroot().iter("joint")]
        self.mimics = [(name, m.get("joint"), float(m.get("multiplier", 1))) for name, m in joints if m is not None]

    def _add_joint(self, original, j, parent, replaced):
        name, place, kind = original.names[j], original.jointPlacements[j], replaced.get(original.names[j], "FIXED")
        if kind.startswith("UJOINT"):
            first, second = (getattr(pin, "JointModelR" + axis)() for axis in kind[-2:])
            parent = self.model.addJoint(parent, first, place, name + "_" + kind[-2])
            joint, place, name = second, pin.SE3.Identity(), name + "_" + kind[-1]
        elif kind == "SPHERICAL":
            joint = pin.JointModelSpherical()
        else:
            joint = self._one_angle(original.joints[j])
        i = self.model.addJoint(parent, joint, place, name)
        self.model.appendBodyToJoint(i, original.inertias[j], pin.SE3.Identity())
        return i

    @staticmethod
    def _one_angle(joint):
        """Continuous joints as one angle, which this library has as well."""
        aligned = re.fullmatch(r"JointModelRUB([XYZ])", joint.shortname())
        if aligned:
            return getattr(pin, "JointModelR" + aligned.group(1))()
        if joint.shortname() == "JointModelRevoluteUnboundedUnaligned":
            return pin.JointModelRevoluteUnaligned(joint.extract().axis)
        return joint

    def configuration(self, system, q):
        """Coordinates of a state of this library: the same joints, by name."""
        out = pin.neutral(self.model)
        names = system.coordinate_names
        for j in range(1, self.model.njoints):
            joint, name = self.model.joints[j], self.model.names[j]
            own = [name] if joint.nq == 1 else [name + part for part in ("_qx", "_qy", "_qz", "_qw")]
            out[joint.idx_q : joint.idx_q + joint.nq] = [q[names.index(one)] for one in own]
        return out

    def speeds(self, system):
        """Index in this library of each speed of the model."""
        order = []
        for j in range(1, self.model.njoints):
            joint, name = self.model.joints[j], self.model.names[j]
            own = ["d" + name] if joint.nv == 1 else [name + part for part in ("_wx", "_wy", "_wz")]
            order += [system.speed_names.index(one) for one in own]
        return np.array(order)

    def equations(self, x, v, torque):
        """M, right-hand side, rows and their drift, so that M a = rhs + Jᵀ λ and J a = drift."""
        model, data = self.model, self.data
        mass = pin.crba(model, data, x)
        mass = np.triu(mass) + np.triu(mass, 1).T
        rhs = torque - pin.nonLinearEffects(model, data, x, v)
        pin.computeJointJacobians(model, data, x)
        pin.forwardKinematics(model, data, x, v, np.zeros(model.nv))
        pin.updateFramePlacements(model, data)
        rows, drift = [], []
        for a, b, size in self.loops:
            a, b = model.getFrameId(a), model.getFrameId(b)
            jacobian = pin.getFrameJacobian(model, data, a, WORLD) - pin.getFrameJacobian(model, data, b, WORLD)
            bias = (
                pin.getFrameClassicalAcceleration(model, data, a, WORLD).vector
                - pin.getFrameClassicalAcceleration(model, data, b, WORLD).vector
            )
            rows.append(jacobian[:size])
            drift.append(-bias[:size])
        for joint, source, multiplier in self.mimics:
            row = np.zeros((1, model.nv))
            row[0, model.joints[model.getJointId(joint)].idx_v] = 1.0
            row[0, model.joints[model.getJointId(source)].idx_v] = -multiplier
            rows.append(row)
            drift.append(np.zeros(1))
        return mass, rhs, np.vstack(rows), np.concatenate(drift)

    def proximal(self, x, v, torque):
        """constraintDynamics, at four proximal parameters; it does not know mimic joints."""
        models, model = pin.StdVec_RigidConstraintModel(), self.model
        for a, b, size in self.loops:
            a, b = model.frames[model.getFrameId(a)], model.frames[model.getFrameId(b)]
            kind = pin.ContactType.CONTACT_3D if size == 3 else pin.ContactType.CONTACT_6D
            models.append(
                pin.RigidConstraintModel(
                    kind, model, a.parentJoint, a.placement, b.parentJoint, b.placement, pin.ReferenceFrame.LOCAL
                )
            )
        for mu in () if self.mimics else (1e-6, 1e-8, 1e-10, 1e-12):
            data = model.createData()
            memory = pin.StdVec_RigidConstraintData()
            memory.extend([one.createData() for one in models])
            pin.initConstraintDynamics(model, data, models, memory)
            yield pin.constraintDynamics(
                model, data, x, v, torque, models, memory, pin.ProximalSettings(1e-14, mu, 100)
            ).copy()


def solve_rigid(mass, rhs, rows, drift):
    """Accelerations and JᵀΛ of rigid rows, redundant ones included, also where M alone is singular."""
    rank = np.linalg.matrix_rank(rows, tol=1e-9 * np.linalg.norm(rows, 2))
    left, sizes, right = np.linalg.svd(rows)
    free = right[rank:].T
    particular = right[:rank].T @ ((left.T @ drift)[:rank] / sizes[:rank])
    reduced = np.linalg.solve(free.T @ mass @ free, free.T @ (rhs - mass @ particular))
    acceleration = particular + free @ reduced
    return acceleration, mass @ acceleration - rhs, rank


# Robot, coordinates to start from, speeds, rows, rank. As it is drawn, the massless gimbals of wl16_like are in line.
PARALLEL = [
    ("5bar_linkage_iso3d", "", 5, 3, 3),
    ("5bar_linkage", "", 6, 6, 3),
    ("5bar_linkage_iso6d", "", 8, 6, 6),
    ("robot_delta", "", 14, 18, 9),
    ("cassie_like", "", 19, 12, 12),
    ("digit_like", "", 27, 18, 18),
    ("digit_like_2legs", "", 48, 36, 36),
    ("disney_like", "", 27, 18, 18),
    ("battobot_6d", "", 48, 36, 36),
    ("talos_like", "", 13, 6, 6),
    ("true_talos_2_legs", "", 52, 18, 18),
    ("wl16_like", "motor_1: 0.02, motor_3: -0.01", 42, 30, 30),
]
# Pinocchio and the rigid solution do not know dampers and dry friction.
SMOOTH = "model_friction: false, model_damping: false"
# Robot and what its refusal says.
CONTRADICTORY = [
    ("kangaroo_like", "the initial coordinates violate the constraints"),
    ("kangaroo_like_2legs", "the initial coordinates violate the constraints"),
    ("disney_robot", "joint 'left_spherical_free_foot' is replaced but is not a joint"),
]


def parallel_robot(robot, start):
    """The scenario of a robot as published, and the same in Pinocchio."""
    folder = folder_of("CD_PARALLEL_ROBOTS") / robot
    urdf = next(path for path in folder.glob("*.urdf"))
    text = "system: {urdf: %s, closed_loops: robot.yaml, light_links: allow, %s}\n" % (urdf.name, SMOOTH)
    return text + "initial: {q: {%s}}\n" % start, folder, Peer(urdf, folder / "robot.yaml")


def relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


@pytest.mark.parametrize("robot, start, speeds, rows, rank", PARALLEL, ids=[one[0] for one in PARALLEL])
def test_parallel_robot_expect_motion_and_loop_forces_of_pinocchio(robot, start, speeds, rows, rank, random):
    text, folder, peer = parallel_robot(robot, start)
    scenario = cd.Scenario.from_text(text, folder=folder)
    system, dynamics = scenario.system, scenario.dynamics
    workspace = scenario.make_workspace()
    report = workspace.rank_report
    q = scenario.initial.q
    u = dynamics.project_velocity(q, random.uniform(-1, 1, system.speed_count), workspace=workspace)
    inputs = random.uniform(-1, 1, system.input_count)
    assert dynamics.solve(q, u, inputs, workspace=workspace) == cd.Status.OK
    order, x = peer.speeds(system), peer.configuration(system, q)
    torque = np.zeros(peer.model.nv)
    for name, value in zip(system.input_names, inputs):
        torque[list(order).index(system.speed_names.index("d" + name))] = value
    expected, force, found_rank = solve_rigid(*peer.equations(x, u[order], torque))
    own = np.asarray(workspace.solution.acceleration)[order]
    own_force = np.asarray(workspace.solution.constraint_force)[order]
    motion, loops = relative(own, expected), relative(own_force, force)
    peers = [relative(own, a) for a in peer.proximal(x, u[order], torque)]
    best = min((one for one in peers if np.isfinite(one)), default=0.0)
    gap = np.abs(np.asarray(workspace.rows.position)).max()
    print(
        "%s: %d speeds, %d rows, rank %d, %d degrees of freedom, gap %.1e, motion %.1e, forces %.1e, proximal %.1e"
        % (robot, len(own), report.row_count, report.nominal_rank, report.degrees_of_freedom, gap, motion, loops, best)
    )
    assert (system.speed_count, report.row_count, report.nominal_rank, found_rank) == (speeds, rows, rank, rank)
    assert gap <= 1e-9
    # Digits of the dense solution: ε times the condition of Q, up to 2e8. The recursion of the peer has more.
    assert motion <= 1e-8 and loops <= 1e-8
    assert best <= 1e-9


@pytest.mark.parametrize("robot, message", CONTRADICTORY, ids=[one[0] for one in CONTRADICTORY])
def test_parallel_robot_that_contradicts_itself_expect_refusal(robot, message):
    folder = folder_of("CD_PARALLEL_ROBOTS") / robot
    text = "system: {urdf: robot.urdf, closed_loops: robot.yaml, light_links: allow}\n"
    with pytest.raises(ValueError, match=message):
        cd.Scenario.from_text(text, folder=folder)


# The motors of the other two cannot all move by the same amount.
DRIVEN = [one[:2] for one in PARALLEL if one[0] not in ("true_talos_2_legs", "wl16_like")]


@pytest.mark.parametrize("robot, start", DRIVEN, ids=[one[0] for one in DRIVEN])
def test_parallel_robot_expect_its_motors_to_follow_a_task(robot, start):
    text, folder, peer = parallel_robot(robot, start)
    loaded = cd.Scenario.from_text(text, folder=folder)
    names, start = loaded.system.coordinate_names, loaded.initial.q
    coupled = {name for mimic in peer.mimics for name in mimic[:2]}  # they cannot all move alike
    motors = [motor for motor in peer.motors if motor not in coupled]
    tasks = "".join(
        "  - {name: %s, type: joint, joint: %s, stiffness: 400, reference: {kind: formula, value: '%.17g + "
        "0.03*(1 - cos(8*t))'}}\n" % (motor, motor, start[names.index(motor)])
        for motor in motors
    )
    # Some of them start at or beyond the limits that they state.
    rest = "servo_law: {limits: {position: none, velocity: none}}\nrun: {until: 0.3, step: 0.001, limits: ignore}\n"
    run = cd.Scenario.from_text(text + "servo:\n" + tasks + rest, folder=folder).run()
    moved = [run.q[-1, names.index(motor)] - start[names.index(motor)] for motor in motors]
    gap = np.abs(run.position).max()
    forces = np.linalg.norm(run.wrench_force, axis=2).max(axis=0)
    print(
        "%s: moved %.4f to %.4f, gap %.1e, loop forces up to %.3g N"
        % (robot, min(moved), max(moved), gap, forces.max())
    )
    assert run.result.completed
    np.testing.assert_allclose(moved, 0.03 * (1 - np.cos(8 * 0.3)), atol=1e-7)
    assert gap <= 1e-9
    assert np.isfinite(forces).all() and forces.max() > 0.0


# ---- MuJoCo --------------------------------------------------------------------------------------------------------


def bare_mjcf(path):
    """The file with what it includes, without geometry and what belongs to it."""
    root = ElementTree.parse(path).getroot()

    def expand(element):
        for child in list(element):
            if child.tag == "include":
                place = list(element).index(child)
                element.remove(child)
                for part in reversed(list(ElementTree.parse(path.parent / child.get("file")).getroot())):
                    element.insert(place, part)
            else:
                expand(child)

    expand(root)
    for tag in ("asset", "keyframe", "contact", "sensor", "visual", "statistic", "actuator"):
        for element in root.findall(tag):
            root.remove(element)
    for element in root.iter():
        for child in list(element):
            if child.tag in ("geom", "mesh", "material"):
                element.remove(child)
    return ElementTree.tostring(root, encoding="unicode")


def mujoco_speeds(model, data):
    """Speeds of MuJoCo from those of this library, which has them in axes of the body also for free joints."""
    import mujoco

    matrix = np.eye(model.nv)
    for j in range(model.njnt):
        if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE:
            first, body = model.jnt_dofadr[j], model.jnt_bodyid[j]
            matrix[first : first + 3, first : first + 3] = data.xmat[body].reshape(3, 3)
    return matrix


def path_of_scenario(mjcf, folder):
    """A scenario file of one line for a robot as published."""
    path = folder / "robot.yaml"
    path.write_text("system: {mjcf: '%s', model_friction: false}\n" % mjcf)
    return path


# Robot, file, speeds, rows, rank.
MENAGERIE = [
    ("Cassie", "agility_cassie/cassie.xml", 32, 12, 10),
    ("Robotiq 2F-85", "robotiq_2f85_v4/2f85.xml", 6, 7, 5),
    ("xArm7", "ufactory_xarm7/xarm7.xml", 13, 7, 5),
    ("SoftFoot", "iit_softfoot/softfoot.xml", 92, 60, 55),
]


@pytest.mark.parametrize("robot, file, speeds, rows, rank", MENAGERIE, ids=[one[0] for one in MENAGERIE])
def test_menagerie_expect_motion_and_loop_forces_of_mujoco(robot, file, speeds, rows, rank, random, tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path = folder_of("CD_MENAGERIE") / file
    report = cd.Scenario.load(path_of_scenario(path, tmp_path)).make_workspace().rank_report
    # Masses may come from geometry, so that both get the file without it.
    bare = bare_mjcf(path)
    scenario = cd.Scenario.from_text("system: {mjcf: %s, actuated: all, %s}\n" % (json.dumps(bare), SMOOTH))
    system, workspace = scenario.system, scenario.make_workspace()
    inputs = random.uniform(-1, 1, system.input_count)
    assert scenario.dynamics.solve(scenario.initial.q, np.zeros(speeds), inputs, workspace=workspace) == cd.Status.OK
    model = mujoco.MjModel.from_xml_string(bare)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    matrix = mujoco_speeds(model, data)
    torque = matrix @ np.asarray(cd.Kinematics(system, scenario.initial.q).input_matrix @ inputs)
    mass, jacobian = np.zeros((model.nv, model.nv)), np.zeros((data.nefc, model.nv))
    for column, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, mass[column], unit)
        product = np.zeros(data.nefc)
        mujoco.mj_mulJacVec(model, data, product, unit)
        jacobian[:, column] = product
    rhs = torque + data.qfrc_passive - data.qfrc_bias
    expected, force, found_rank = solve_rigid(mass, rhs, jacobian, np.zeros(data.nefc))
    motion = relative(matrix @ workspace.solution.acceleration, expected)
    loops = relative(matrix @ workspace.solution.constraint_force, force)
    print(
        "%s: %d speeds, %d rows, rank %d, %d degrees of freedom, motion %.1e, forces %.1e"
        % (robot, speeds, report.row_count, report.nominal_rank, report.degrees_of_freedom, motion, loops)
    )
    assert (system.speed_count, report.row_count, report.nominal_rank, found_rank) == (speeds, rows, rank, rank)
    assert motion <= 1e-9 and loops <= 1e-9
