# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Runs a scenario and records it: states, frames and numbered constraint forces in one MCAP file.

python -m constrained_dynamics.record SCENARIO|EXAMPLE [--set PATH=VALUE]… [-o run.mcap]
python -m constrained_dynamics.record --check FILE
python -m constrained_dynamics.record --recover FILE -o whole.mcap
"""

import argparse
import sys
import time

from . import Scenario, has_output
from .commands import add_scenario_arguments, find_scenario
from .recording import Recorder, check, recover


def record_scenario(scenario, path, *, until=None, output_interval=None, **options):
    """Runs a Scenario and records every output time; returns the report and the status of the end of the run."""
    simulation = scenario.make_simulation()
    begin = simulation.state.time
    until = scenario.run_settings.until if until is None else until
    interval = scenario.run_settings.output_interval if output_interval is None else output_interval
    if not interval > 0.0:
        raise ValueError("output_interval is %r; allowed: above 0" % (interval,))
    # The caller can wait, so no record of a run is lost, however fast it is.
    with Recorder(path, simulation.dynamics, **options) as recorder:
        status = simulation.evaluate()
        count = 0
        while has_output(status):
            while recorder.is_full():
                time.sleep(1e-3)
            recorder.record(simulation)
            if simulation.state.time >= until - 1e-9 * interval:
                break
            count += 1
            result = simulation.run(min(begin + count * interval, until), interval).result
            status = result.status
            if not result.completed:
                break
        report = recorder.close()
    return report, status


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m constrained_dynamics.record", description=__doc__.splitlines()[0])
    add_scenario_arguments(parser, optional=True)
    parser.add_argument("-o", "--output", help="file to write (NAME.mcap)")
    parser.add_argument("--interval", type=float, help="time between records [s] (default: that of the scenario)")
    parser.add_argument(
        "--check", metavar="FILE", help="report what a recording holds; exit code 3 if it is truncated or has gaps"
    )
    parser.add_argument("--recover", metavar="FILE", help="complete a truncated recording")
    given = parser.parse_args(arguments)
    try:
        if given.check:
            return _check(given.check)
        if given.recover:
            output = given.output or given.recover + ".recovered.mcap"
            print("%d messages in %s" % (recover(given.recover, output), output))
            return 0
        if not given.scenario:
            raise ValueError("a scenario is needed, or --check, or --recover")
        scenario = Scenario.load(find_scenario(given.scenario), given.set)
        path = given.output or scenario.name + ".mcap"
        report, status = record_scenario(scenario, path, until=given.until, output_interval=given.interval)
    except (ValueError, OSError, ImportError) as error:
        print("record: %s" % error, file=sys.stderr)
        return 2
    print("%s: %d records written, %d lost" % (path, report.written, report.lost))
    if not has_output(status):
        print("the run ended early: %s" % status.name.lower(), file=sys.stderr)
    return 0 if has_output(status) and report.lost == 0 else 3


def _check(path):
    found = check(path)
    print("%s: %s" % (path, "complete" if found.complete else "cut off"))
    for topic, count in found.counts.items():
        print("  %-22s %d messages" % (topic, count))
    if found.first is not None:
        print("  records %d to %d, %d missing" % (found.first, found.last, found.missing))
    return 0 if found.complete and found.missing == 0 else 3


if __name__ == "__main__":
    sys.exit(main())
