# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Runs of scenarios, each made once and kept on disk, and quantities of them by formulas."""

import functools
import hashlib
import json
import re
import time as clock
from pathlib import Path

import formulas
import numpy as np
import yaml

import constrained_dynamics as cd

ARRAYS = (
    "time",
    "q",
    "u",
    "acceleration",
    "inputs",
    "multipliers",
    "constraint_force",
    "position",
    "velocity",
    "kinetic_energy",
    "potential_energy",
    "observables",
    "wrench_force",
    "wrench_torque",
)


def row_names(constraints):
    """<constraint>/<label> of all rows."""
    return [
        constraints[i].name + "/" + constraints[i].rows[k].label
        for i in range(len(constraints))
        for k in range(constraints[i].row_count)
    ]


def wrench_names(constraints):
    """<constraint>, or <constraint>[k] where it has several pairs of bodies."""
    names = []
    for i in range(len(constraints)):
        count = len(constraints[i].wrench_bodies)
        names += [constraints[i].name + ("[%d]" % k if count > 1 else "") for k in range(count)]
    return names


def load(scenario, overrides=()):
    return cd.Scenario.load(cd.example(scenario), list(overrides))


class Run:
    """What a run gave, as arrays.

    Formulas see t, coordinates, speeds, parameters, observables, energies and the functions below.
    """

    def __init__(self, name, arrays, facts):
        self.name, self.facts = name, facts
        self.arrays = arrays
        self.time = arrays["time"]
        self.rows = facts["rows"]
        self.data = yaml.safe_load(Path(cd.example(name)).read_text(encoding="utf-8"))
        self._definitions = {**self.data.get("definitions", {}), **self.data["system"].get("definitions", {})}
        self._names = dict(facts["parameters"])
        for names, values in (("observables", "observables"), ("coordinates", "q"), ("speeds", "u")):
            self._names.update({word: arrays[values][:, i] for i, word in enumerate(facts[names])})
        self._names.update(
            t=self.time,
            pi=np.pi,
            energy=arrays["kinetic_energy"] + arrays["potential_energy"],
            kinetic_energy=arrays["kinetic_energy"],
            potential_energy=arrays["potential_energy"],
        )

        def column(values, names, what):
            return lambda word: arrays[values][:, _index(facts[names], word, what)]

        self._functions = {
            "lambda": column("multipliers", "rows", "row"),
            "phi": column("position", "rows", "row"),
            "psi": column("velocity", "rows", "row"),
            "Fc": column("constraint_force", "speeds", "speed"),
            "udot": column("acceleration", "speeds", "speed"),
            "input": column("inputs", "inputs", "input"),
            # Of a named quantity: its change since the start.
            "change": lambda word: self.value(word) - self.value(word)[0],
        }

    @classmethod
    def of_record(cls, scenario, loaded, record, seconds):
        set_ = record.dynamics.constraints
        facts = {
            "coordinates": list(record.coordinate_names),
            "speeds": list(record.speed_names),
            "inputs": list(record.input_names),
            "observables": list(record.observable_names),
            "rows": row_names(set_),
            "wrenches": wrench_names(set_),
            "parameters": {name: value for name, value in loaded.parameters},
            "completed": record.result.completed,
            "status": record.result.status.name.lower(),
            "steps": record.result.steps,
            "seconds": seconds,
            "degrees_of_freedom": _freedom(record),
            "description": loaded.description,
            "events": [
                [
                    event.time,
                    event.constraint if isinstance(event.constraint, str) else str(event.constraint),
                    event.kind.name.lower(),
                ]
                for event in record.events
            ],
        }
        return cls(scenario, {name: np.array(getattr(record, name)) for name in ARRAYS}, facts)

    def save(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, facts=json.dumps(self.facts), **self.arrays)

    @classmethod
    def read(cls, scenario, path):
        with np.load(path) as stored:
            return cls(scenario, {name: stored[name] for name in ARRAYS}, json.loads(str(stored["facts"])))

    def lasting_rows(self):
        """Indices of the rows that hold all the time: not those of contacts and friction."""
        patterns = []
        for item in self.data.get("constraints", []):
            one_sided = item.get("unilateral") or {}
            if one_sided or "friction" in item or item["type"] == "contact":
                friction = one_sided.get("friction")
                names = [item["name"], friction.get("rows") if isinstance(friction, dict) else None]
                # Names of repeated items contain formulas.
                patterns += [re.sub(r"\\\$\\\{.*?\\\}", ".*", re.escape(name)) for name in names if name]

        def comes_and_goes(row):
            return any(re.fullmatch(pattern + "/.*", row) for pattern in patterns)

        return [k for k, row in enumerate(self.rows) if not comes_and_goes(row)]

    def _look_up(self, name):
        if name in self._names:
            return self._names[name]
        if name in self._definitions:
            self._names[name] = self.value(self._definitions[name])
            return self._names[name]
        raise ValueError(
            "%s: there is no quantity '%s'; known are %s"
            % (self.name, name, ", ".join(sorted({*self._names, *self._definitions})))
        )

    def value(self, formula):
        """A formula over the output times: an array as long as `time`."""
        value = formulas.evaluate(formulas.parse(formula), self._look_up, self._functions)
        return np.broadcast_to(np.asarray(value, dtype=float), self.time.shape)

    def at(self, formula, time):
        """The value at an output time."""
        index = int(np.argmin(np.abs(self.time - time)))
        if abs(self.time[index] - time) > 1e-9 * max(1.0, abs(time)):
            raise ValueError(
                "%s: %.17g s is no output time; the nearest is %.17g s" % (self.name, time, self.time[index])
            )
        return float(self.value(formula)[index])


def _freedom(record):
    """Speeds less the rank of the rows, at the end of the run."""
    return int(len(record.speed_names) - np.asarray(record.rank)[-1])


def _index(names, name, what):
    if name not in names:
        raise ValueError("there is no %s '%s'; known are %s" % (what, name, ", ".join(names)))
    return list(names).index(name)


@functools.lru_cache(maxsize=None)
def _library():
    return hashlib.sha256(Path(cd._core.__file__).read_bytes()).hexdigest()


def key(*parts):
    """A name for what was made from these parts by this library."""
    return hashlib.sha256(json.dumps([_library(), *parts], sort_keys=True).encode()).hexdigest()[:24]


class Runs:
    """The named runs of a table, made when they are first asked for; a scenario as it stands has its own name.

    store: folder that keeps runs from one build of the gallery to the next; say: called before a run is made.
    """

    def __init__(self, table, store, say=lambda text: None):
        self._table, self._store, self._say, self._made = dict(table), Path(store), say, {}

    def settings(self, name):
        """scenario, set, until, output of a run."""
        if name not in self._table and name not in cd.examples():
            raise ValueError("there is no run and no scenario '%s'" % name)
        settings = self._table.get(name, {"scenario": name})
        unknown = set(settings) - {"scenario", "set", "until", "output"}
        if unknown:
            raise ValueError("run '%s': unknown key '%s'" % (name, unknown.pop()))
        return settings

    def path(self, name):
        """The file that keeps the run."""
        settings = self.settings(name)
        text = Path(cd.example(settings["scenario"])).read_text(encoding="utf-8")
        return self._store / (name + "-" + key(settings, text) + ".npz")

    def __getitem__(self, name):
        if name in self._made:
            return self._made[name]
        settings, path = self.settings(name), self.path(name)
        scenario = settings["scenario"]
        if path.is_file():
            self._made[name] = Run.read(scenario, path)
        else:
            self.make(name)
        return self._made[name]

    def make(self, name):
        """Runs it whatever is kept; returns the scenario and its Record, too."""
        settings, path = self.settings(name), self.path(name)
        self._say("run " + name)
        begin = clock.process_time()
        loaded = load(settings["scenario"], settings.get("set", []))
        record = loaded.run(until=settings.get("until"), output_interval=settings.get("output"))
        run = Run.of_record(settings["scenario"], loaded, record, clock.process_time() - begin)
        for old in self._store.glob(name + "-*.npz"):
            old.unlink()
        run.save(path)
        self._made[name] = run
        return loaded, record
