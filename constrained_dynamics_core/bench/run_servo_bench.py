#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
"""Times a whole servo cycle beside RNEA and CRBA, and beside TSID, in alternating rounds.

Writes servo.json and servo.md.

usage: run_servo_bench.py PROGRAM OUT_FOLDER [--tsid PYTHON] [--quick]
"""

import argparse
import datetime
import json
import pathlib
import subprocess

import run_bench

# Benchmark, what it is, the time that it is compared with, and the largest ratio that is aimed at.
ROWS = [
    ("panda/servo_cycle", "Panda, 2 passive and 6 servo rows", "panda/rnea_and_crba", 3.0),
    ("talos/servo_cycle", "humanoid, 24 + 38 rows, three levels, limits, cones", "tsid", 0.6),
    ("talos/two_levels", "the same in two levels, trunk and posture weighted", "tsid", 0.6),
    ("talos/limited", "two levels, a torque limit binds", "tsid", None),
]
PEERS = {"panda/rnea_and_crba": "RNEA + CRBA", "tsid": "TSID"}


def round_of_ours(program, seconds):
    run = subprocess.run(
        [program, "--benchmark_format=json", f"--benchmark_min_time={seconds}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    results = json.loads(run.stdout)
    failed = [b["name"] for b in results["benchmarks"] if b.get("error_occurred")]
    if failed:
        raise SystemExit(f"run_servo_bench.py: {failed[0]} failed")
    return {b["name"]: b["cpu_time"] for b in results["benchmarks"]}, results["benchmarks"][0].get("label", "")


def round_of_tsid(python, urdf, seconds):
    script = pathlib.Path(__file__).with_name("tsid_cycle.py")
    run = subprocess.run(
        [python, "-B", script, urdf, str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if run.returncode != 0:
        raise SystemExit(f"run_servo_bench.py: TSID: {(run.stderr.splitlines() or ['no words'])[-1]}")
    return json.loads(run.stdout.splitlines()[-1])


def table(times):
    lines = ["| cycle | ours, µs | peer | peer, µs | ratio | aim |", "|---|---|---|---|---|---|"]
    for name, text, peer, aim in ROWS:
        if name in times and peer in times:
            lines.append(
                f"| {text} | {times[name]:.1f} | {PEERS[peer]} | {times[peer]:.1f} "
                f"| {times[name] / times[peer]:.2f} | {'' if aim is None else aim} |"
            )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--tsid", help="Python with TSID; without it the peer is left out")
    parser.add_argument("--quick", action="store_true", help="few rounds")
    arguments = parser.parse_args()
    rounds, seconds = (3, 0.05) if arguments.quick else (9, 0.1)
    has_tsid = arguments.tsid and pathlib.Path(arguments.tsid).exists()
    if not has_tsid:
        print("TSID is left out: there is no Python with it")
    times, peer, urdf = {}, {}, ""
    for _ in range(rounds):
        ours, urdf = round_of_ours(arguments.program, seconds)
        if has_tsid:
            peer = round_of_tsid(arguments.tsid, urdf, 4 * seconds)
            ours["tsid"] = peer["tsid"]
        for name, value in ours.items():
            times[name] = min(value, times.get(name, value))
    results = {
        "date": datetime.date.today().isoformat(),
        "machine": run_bench.machine(),
        "rounds": rounds,
        "smallest_us": times,
        "tsid": {key: peer[key] for key in ("variables", "equations", "inequalities") if key in peer},
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "servo.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    text = table(times)
    (arguments.out / "servo.md").write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
