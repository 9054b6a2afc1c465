# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""What a text says about a run, checked: claims, and reference values beside ours."""

import json
from pathlib import Path

import numpy as np

REFERENCE = Path(__file__).resolve().parent.parent / "test" / "data" / "reference"
TAKES = {
    "last": lambda x: x[-1],
    "first": lambda x: x[0],
    "max": np.max,
    "min": np.min,
    "max_abs": lambda x: np.max(np.abs(x)),
    "min_abs": lambda x: np.min(np.abs(x)),
    "span": np.ptp,
}


class Finding:
    """A checked claim: what was said, what was found, what is allowed, and whether it holds."""

    def __init__(self, says, found, wanted, holds):
        self.says, self.found, self.wanted, self.holds = says, found, wanted, bool(holds)

    def __str__(self):
        return "%s: found %s, %s: %s" % (self.says, self.found, self.wanted, "holds" if self.holds else "FAILS")


def check(claim, runs, default_run=None):
    """{says, of, run, take | at, between: [t0, t1], below | above | is with within} as a Finding."""
    unknown = set(claim) - {"says", "of", "run", "take", "at", "between", "below", "above", "is", "within"}
    if unknown:
        raise ValueError("claim '%s': unknown key '%s'" % (claim.get("says"), unknown.pop()))
    run = runs[claim.get("run", default_run)]
    if "at" in claim:
        found = run.at(claim["of"], claim["at"])
    else:
        values = run.value(claim["of"])
        if "between" in claim:
            low, high = claim["between"]
            values = values[(run.time >= low) & (run.time <= high)]
            if not len(values):
                raise ValueError("claim '%s': there is no output time in [%g, %g] s" % (claim["says"], low, high))
        if claim.get("take", "last") not in TAKES:
            raise ValueError(
                "claim '%s': take is '%s'; allowed are %s" % (claim["says"], claim["take"], ", ".join(TAKES))
            )
        found = float(TAKES[claim.get("take", "last")](values))
    return judge(claim["says"], found, claim)


def judge(says, found, bounds):
    """A number against below, above, or is with within."""
    wanted, holds = [], np.isfinite(found)
    for key, word in (("below", "<"), ("above", ">")):
        if key in bounds:
            bound = float(bounds[key])
            wanted.append("%s %.6g" % (word, bound))
            holds &= found < bound if key == "below" else found > bound
    if "is" in bounds:
        target, within = float(bounds["is"]), float(bounds["within"])
        wanted.append("%.12g ± %.2g" % (target, within))
        holds &= abs(found - target) <= within
    if not wanted:
        raise ValueError("claim '%s': below, above, or is with within is missing" % says)
    return Finding(says, "%.12g" % found, " and ".join(wanted), holds)


# ---- reference values ----------------------------------------------------------------------------


def reference_case(file, case):
    data = json.loads((REFERENCE / (file + ".json")).read_text(encoding="utf-8"))
    for item in data["cases"]:
        if item["case"] == case:
            return item
    raise ValueError("%s.json: there is no case '%s'" % (file, case))


def pick(item, path):
    """A number of nested lists and maps: "q.0", "Fc.1", "x"."""
    for key in str(path).split("."):
        item = item[int(key)] if isinstance(item, list) else item[key]
    return float(item)


class Comparison:
    """Reference values of one quantity at some times, and ours there."""

    def __init__(self, name, time, reference, ours, within):
        self.name, self.within = name, within
        self.time, self.reference, self.ours = map(np.asarray, (time, reference, ours))

    @property
    def deviation(self):
        """Largest deviation, relative to max(1, |reference|)."""
        scale = np.maximum(1.0, np.abs(self.reference))
        return float(np.max(np.abs(self.ours - self.reference) / scale))

    def finding(self):
        return judge(
            "%s at %d reference times, largest relative deviation" % (self.name, len(self.time)),
            self.deviation,
            {"below": self.within},
        )


def compare(spec, run, formula, name):
    """{file, case, field, within, until} beside a formula of a run; only output times are compared."""
    unknown = set(spec) - {"file", "case", "field", "within", "until"}
    if unknown:
        raise ValueError("reference of %s: unknown key '%s'" % (name, unknown.pop()))
    last = min(run.time[-1], spec.get("until", np.inf)) + 1e-9
    points = [
        point
        for point in reference_case(spec["file"], spec["case"])["series"]
        if point["t"] <= last and np.min(np.abs(run.time - point["t"])) <= 1e-9 * max(1.0, point["t"])
    ]
    if len(points) < 2:
        raise ValueError("reference of %s: fewer than two of its times are output times of %s" % (name, run.name))
    time = [point["t"] for point in points]
    return Comparison(
        name,
        time,
        [pick(point, spec["field"]) for point in points],
        [run.at(formula, t) for t in time],
        float(spec.get("within", 1e-8)),
    )
