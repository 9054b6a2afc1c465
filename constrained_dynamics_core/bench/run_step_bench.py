#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
"""Times steps of batches beside one solve, and a quadruped on four feet beside mujoco.rollout, in alternating rounds.

Writes steps.json and steps.md.

usage: run_step_bench.py PROGRAM OUT_FOLDER [--quick]
"""

import argparse
import datetime
import json
import pathlib
import subprocess
import time
import xml.etree.ElementTree as xml

import mujoco
import mujoco.rollout
import numpy as np
import run_bench

# Benchmark, what it is, the time that it is compared with, and the largest ratio that is aimed at.
ROWS = [
    ("W1/moreau_baumgarte", "four-bar, moreau, Baumgarte", "W1/solve", 1.4),
    ("W1/moreau_projection", "four-bar, moreau, projection", "W1/solve", 2.5),
    ("W2b/moreau_baumgarte", "Panda welded, moreau, Baumgarte", "W2b/solve", 1.4),
    ("W2b/moreau_projection", "Panda welded, moreau, projection", "W2b/solve", 2.5),
    ("W3/moreau_baumgarte", "humanoid, moreau, Baumgarte", "W3/solve", 1.4),
    ("W3/moreau_projection", "humanoid, moreau, projection", "W3/solve", 2.5),
    ("W3/rk4_baumgarte", "humanoid, rk4, Baumgarte", "W3/solve", None),
    ("W3/rk4_projection", "humanoid, rk4, projection", "W3/solve", None),
    ("solo12/moreau", "quadruped on four feet, moreau", "mujoco/euler", 1.2),
    ("solo12/rk4", "quadruped on four feet, rk4", "mujoco/rk4", 0.8),
]
PEERS = {"mujoco/euler": "mujoco.rollout, Euler", "mujoco/rk4": "mujoco.rollout, RK4"}
FOOT_RADIUS = 1e-3  # ours are points
NSTEP, NBATCH = 100, 4


def mujoco_quadruped(urdf, state, integrator):
    """The same robot without meshes, its feet small spheres on a plane: model and state."""
    root = xml.parse(urdf).getroot()
    for link in root.iter("link"):
        for kind in ("visual", "collision"):
            for part in link.findall(kind):
                link.remove(part)
        if link.get("name", "").endswith("FOOT"):
            geometry = xml.SubElement(xml.SubElement(link, "collision"), "geometry")
            xml.SubElement(geometry, "sphere", radius=str(FOOT_RADIUS))
    compiler = xml.SubElement(xml.SubElement(root, "mujoco"), "compiler")
    compiler.set("fusestatic", "false")
    compiler.set("balanceinertia", "true")
    spec = mujoco.MjSpec.from_string(xml.tostring(root, encoding="unicode"))
    base = spec.worldbody.first_body()
    base.add_freejoint()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1], pos=[0, 0, -FOOT_RADIUS])
    for geom in spec.geoms:
        geom.friction = [0.7, 0.005, 0.0001]
        geom.condim = 3
    spec.option.timestep = 1e-3
    spec.option.integrator = integrator
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    model = spec.compile()
    data = mujoco.MjData(model)
    q, u = np.array(state[:19]), np.array(state[19:])
    data.qpos[:7] = np.concatenate([q[:3], q[6:7], q[3:6]])
    data.qpos[7:] = q[7:]
    data.qvel[6:] = u[6:]
    mujoco.mj_forward(model, data)
    return model, data


def round_of_mujoco(model, data, torques, seconds):
    """Smallest time of a step [µs], and the number of contacts at the end."""
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.zeros(mujoco.mj_stateSize(model, full))
    mujoco.mj_getState(model, data, start, full)
    initial = np.tile(start, (NBATCH, 1))
    force = np.zeros(model.nv)
    force[6:] = torques
    control = np.tile(force, (NBATCH, NSTEP, 1))
    scratch = mujoco.MjData(model)
    best, until = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < until:
        begin = time.process_time()
        mujoco.rollout.rollout(
            model, scratch, initial, control, control_spec=int(mujoco.mjtState.mjSTATE_QFRC_APPLIED), nstep=NSTEP
        )
        best = min(best, time.process_time() - begin)
    return 1e6 * best / (NSTEP * NBATCH), scratch.ncon


def round_of_ours(program, seconds):
    run = subprocess.run(
        [program, "--benchmark_format=json", f"--benchmark_min_time={seconds}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    times = {}
    for result in json.loads(run.stdout)["benchmarks"]:
        if result.get("error_occurred"):
            raise SystemExit(f"run_step_bench.py: {result['name']} failed")
        times[result["name"]] = 1e6 * result["step"] if "step" in result else 1e-3 * result["cpu_time"]
    return times


def scaling(program, rounds):
    """Steps a second: two threads of one process, and two processes with one thread each."""
    threads, processes = [], []
    for _ in range(rounds):
        run = subprocess.run([program, "--batch", "2"], stdout=subprocess.PIPE, text=True, check=True)
        threads.append(float(run.stdout))
        pair = [subprocess.Popen([program, "--batch", "1"], stdout=subprocess.PIPE, text=True) for _ in range(2)]
        processes.append(sum(float(one.communicate()[0]) for one in pair))
    return max(threads), max(processes)


def table(times, rates):
    lines = ["| step | ours, µs | beside | µs | ratio | aim |", "|---|---|---|---|---|---|"]
    for name, text, peer, aim in ROWS:
        if name in times and peer in times:
            lines.append(
                f"| {text} | {times[name]:.2f} | {PEERS.get(peer, 'one solve')} | {times[peer]:.2f} "
                f"| {times[name] / times[peer]:.2f} | {'' if aim is None else aim} |"
            )
    threads, processes = rates
    lines += ["", f"Two threads make {threads:.0f} steps of the humanoid a second, two processes {processes:.0f}: "]
    lines[-1] += f"{100 * threads / processes:.0f} %."
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="few rounds")
    arguments = parser.parse_args()
    rounds, seconds = (3, 0.05) if arguments.quick else (9, 0.1)
    stand = json.loads(
        subprocess.run([arguments.program, "--stand"], stdout=subprocess.PIPE, text=True, check=True).stdout
    )
    peers = {
        "mujoco/euler": mujoco.mjtIntegrator.mjINT_EULER,
        "mujoco/rk4": mujoco.mjtIntegrator.mjINT_RK4,
    }
    quadrupeds = {name: mujoco_quadruped(stand["urdf"], stand["state"], kind) for name, kind in peers.items()}
    times, contacts = {}, {}
    for _ in range(rounds):
        found = round_of_ours(arguments.program, seconds)
        for name, (model, data) in quadrupeds.items():
            found[name], contacts[name] = round_of_mujoco(model, data, stand["torques"], 4 * seconds)
        for name, value in found.items():
            times[name] = min(value, times.get(name, value))
    rates = scaling(arguments.program, rounds)
    results = {
        "date": datetime.date.today().isoformat(),
        "machine": run_bench.machine(),
        "rounds": rounds,
        "smallest_us": times,
        "steps_a_second": {"two_threads": rates[0], "two_processes": rates[1]},
        "contacts_of_mujoco": contacts,
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "steps.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    text = table(times, rates)
    (arguments.out / "steps.md").write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
