#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
"""Runs the benchmark workload by workload and writes bench.json and table.md.

usage: run_bench.py PROGRAM OUT_FOLDER [--quick] [--only NAME,...]
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import bench_table

FULL = {"repetitions": 9, "seconds": 0.05}
QUICK = {"repetitions": 3, "seconds": 0.02}
# What Google Benchmark states about the machine and nobody needs to know.
PRIVATE = ("host_name", "executable", "load_avg")


def machine():
    cpu = "unknown"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            cpu = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {"cpu": cpu, "cores": os.cpu_count()}


def run_workload(program, name, effort):
    """Google Benchmark's results of one workload; raises RuntimeError with the program's last words."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        # Random order: a fixed one makes the first method look slower by up to a third.
        run = subprocess.run(
            [
                program,
                "--workload",
                name,
                f"--benchmark_out={out}",
                "--benchmark_out_format=json",
                f"--benchmark_repetitions={effort['repetitions']}",
                f"--benchmark_min_time={effort['seconds']}",
                "--benchmark_enable_random_interleaving=true",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        notes = [line for line in run.stderr.splitlines() if "left out" in line or line.startswith("cd_bench")]
        if run.returncode != 0:
            raise RuntimeError(notes[-1] if notes else f"exit code {run.returncode}")
        for note in notes:
            print("      " + note)
        with open(out, encoding="utf-8") as file:
            results = json.load(file)
    for key in PRIVATE:
        results["context"].pop(key, None)
    results["benchmarks"] = [b for b in results["benchmarks"] if b.get("run_type") == "iteration"]
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="small sizes, few repetitions")
    parser.add_argument("--only", help="names of workloads, separated by commas")
    arguments = parser.parse_args()
    effort = QUICK if arguments.quick else FULL

    names = subprocess.run(
        [arguments.program, "--list"] + (["--quick"] if arguments.quick else []),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.split()
    if arguments.only:
        wanted = arguments.only.split(",")
        unknown = sorted(set(wanted) - set(names))
        if unknown:
            sys.exit(f"run_bench.py: workload {unknown[0]}; allowed: {', '.join(names)}")
        names = wanted
    results = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "repetitions": effort["repetitions"],
        "quick": arguments.quick,
        "workloads": [],
        "left_out": {},
    }
    for i, name in enumerate(names):
        print(f"[{i + 1}/{len(names)}] {name:8}", end=" ", flush=True)
        start = time.monotonic()
        try:
            workload = run_workload(arguments.program, name, effort)
        except RuntimeError as error:
            print(f"left out: {error}", flush=True)
            results["left_out"][name] = str(error)
            continue
        results["workloads"].append(workload)
        summary = bench_table.Workload(workload)
        print(
            f"{time.monotonic() - start:5.1f} s   auto {bench_table.number(summary.time.get('auto'))} µs, "
            f"ratio {bench_table.number(summary.ratio('auto'), 2)}",
            flush=True,
        )
    if not results["workloads"]:
        sys.exit("run_bench.py: no workload ran")
    results["machine"]["compiler"] = results["workloads"][0]["context"]["compiler"]
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "bench.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    text = bench_table.tables(results)
    (arguments.out / "table.md").write_text(text, encoding="utf-8")
    print()
    print(text, end="")
    return 1 if results["left_out"] else 0


if __name__ == "__main__":
    sys.exit(main())
