# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Paths may be strings or pathlib.Path, and objects say what they are."""

from pathlib import Path

import numpy as np

import constrained_dynamics as cd


def test_path_expect_the_same_as_its_text():
    path = Path(cd.robot("four_bar.urdf"))
    system = cd.RigidBodySystem.from_urdf(path)
    assert system.coordinate_names == cd.RigidBodySystem.from_urdf(str(path)).coordinate_names
    assert cd.RigidBodySystem.from_mjcf(Path(cd.robot("five_bar.xml"))).speed_names
    assert cd.RigidBodySystem.from_sdf(Path(cd.robot("crank_press.sdf"))).speed_names
    scenario = cd.Scenario.load(Path(cd.example("four_bar")))
    assert np.array_equal(scenario.initial.q, cd.Scenario.load(cd.example("four_bar")).initial.q)
    text = "system: {urdf: four_bar.urdf}"
    assert cd.Scenario.from_text(text, folder=path.parent).system.coordinate_names == system.coordinate_names


def test_repr_expect_what_it_is():
    scenario = cd.Scenario.load(cd.example("four_bar"))
    assert repr(scenario) == "Scenario('four_bar', 3 speeds, 2 rows)"
    speeds, inputs = len(scenario.system.speed_names), len(scenario.system.input_names)
    assert repr(scenario.system).endswith(" links, %d speeds, %d inputs)" % (speeds, inputs))
