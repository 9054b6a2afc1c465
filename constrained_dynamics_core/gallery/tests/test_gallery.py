# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""The gallery of two systems, and that what is claimed is really checked. (All others when the gallery is built.)"""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import build_gallery  # noqa: E402
import claims  # noqa: E402
import figures  # noqa: E402
import formulas  # noqa: E402
import optimal_control  # noqa: E402
from runs import Runs  # noqa: E402

SYSTEMS = ["thesis_4_1", "four_bar"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gallery")
    failures = build_gallery.build(folder / "site", folder / "store", SYSTEMS, browser=False, optimal_control=False)
    return folder, failures


def test_gallery_of_two_systems_expect_all_claims_hold(site):
    folder, failures = site
    assert failures == []
    for name in SYSTEMS:
        page = (folder / "site" / "systems" / (name + ".html")).read_text(encoding="utf-8")
        assert "<math" in page and name + "_forces.png" in page
    # The figures of the system are on its page, with reference values.
    page = (folder / "site" / "systems" / "thesis_4_1.html").read_text(encoding="utf-8")
    assert (
        all("thesis_%d.svg" % number in page for number in (11, 12, 13, 14)) and "reference values beside ours" in page
    )


def test_gallery_expect_links_that_resolve_and_no_network(site):
    folder, _ = site
    pages = [path for path in (folder / "site").rglob("*.html") if path.parent.name != "scenes"]
    assert len(pages) >= 4
    for path in pages:
        text = path.read_text(encoding="utf-8")
        targets = re.findall(r"""(?:href|src)=["']([^"']+)["']""", text)
        assert targets
        for target in targets:
            assert not re.match(r"[a-z]+:|//", target), (path.name, target)
            assert (path.parent / target.partition("#")[0]).is_file(), (path.name, target)


def test_second_build_expect_runs_from_the_store(site):
    folder, _ = site
    made = []
    table, _ = figures.read_table()
    runs = Runs(table, folder / "store", made.append)
    runs["ellipse"]
    assert made == []


def test_claim_that_does_not_hold_expect_failure_that_names_it(site):
    folder, _ = site
    runs = Runs(figures.read_table()[0], folder / "store")
    finding = claims.check({"says": "y is large", "of": "y", "take": "max", "above": 2}, runs, "ellipse")
    assert not finding.holds and "y is large" in str(finding) and "FAILS" in str(finding)
    spec = {"file": "thesis_4_1", "case": "A", "field": "q_xbar_y.1", "within": 1e-8}
    assert claims.compare(spec, runs["ellipse"], "y", "y").finding().holds
    assert not claims.compare(spec, runs["ellipse"], "y + 1e-6", "y").finding().holds


def test_bad_entries_expect_error_that_names_them(site):
    folder, _ = site
    runs = Runs({}, folder / "store")
    with pytest.raises(ValueError, match="no quantity 'w'"):
        claims.check({"says": "s", "of": "w", "below": 1}, runs, "thesis_4_1")
    with pytest.raises(ValueError, match="unknown key 'bellow'"):
        claims.check({"says": "s", "of": "y", "bellow": 1}, runs, "thesis_4_1")
    with pytest.raises(ValueError, match="below, above, or is"):
        claims.check({"says": "s", "of": "y"}, runs, "thesis_4_1")
    with pytest.raises(ValueError, match="no output time"):
        claims.check({"says": "s", "of": "y", "at": 0.0123456, "below": 1}, runs, "thesis_4_1")
    with pytest.raises(ValueError, match="no run and no scenario 'nothing'"):
        runs["nothing"]
    with pytest.raises(ValueError, match="unknown key 'captoin'"):
        figures.Figure({"source": "thesis", "figure": 1, "system": "four_bar", "captoin": "", "run": "x", "y": "y"})
    with pytest.raises(ValueError, match="no system 'nothing'"):
        build_gallery.build(folder / "other", folder / "store", ["nothing"], browser=False, optimal_control=False)


def test_tables_expect_every_figure_of_the_sources_and_every_scenario():
    _, table = figures.read_table()
    numbers = {source: {figure.number for figure in table if figure.source == source} for source in figures.SOURCES}
    assert numbers["thesis"] == {*range(3, 15), *range(16, 24), *range(25, 37), 38, 39, *range(41, 61)}
    assert numbers["geometry"] == {1, 2, 3} and numbers["gears"] == set(range(3, 12))
    groups, systems = build_gallery.read_systems()  # raises where a scenario has no entry
    assert {entry["group"] for entry in systems.values()} == set(groups)
    # Every panel has labelled axes, every claim a bound.
    for figure in table:
        assert figure.caption
        for panel in figure.panels:
            assert panel["x_axis"] and panel["y_axis"]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("-x^2", -9.0),
        ("2^-1*max(x, 1)", 1.5),
        ("1 - 2 - 3", -4.0),
        ("6/3/2", 1.0),
        ("2^3^2", 512.0),
        ("-(x - 1)*2", -4.0),
        ("atan2(1, 1)*4 - pi", 0.0),
        ("`a b` + 1", 6.0),
    ],
)
def test_formula_expect_value(text, expected):
    names = {"x": 3.0, "pi": np.pi, "a b": 5.0}
    assert formulas.evaluate(formulas.parse(text), names.__getitem__) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("text", ["1 +", "sin(", "(1", "1 2", "a b", ")", "x ** 2"])
def test_bad_formula_expect_error(text):
    with pytest.raises(ValueError, match="formula"):
        formulas.parse(text)


@pytest.mark.parametrize(
    "name", ["thesis_4_1", "iftomm_pendulum", "thesis_5_1", "slider_crank_minimal", "andrews", "planar_wall"]
)
def test_energy_by_formula_expect_that_of_the_library(name, tmp_path):
    run = Runs({"short": {"scenario": name, "until": 1e-3}}, tmp_path)["short"]
    system = run.data["system"]
    assert run.value(system["kinetic"]) == pytest.approx(run.value("kinetic_energy"), rel=1e-12)
    assert run.value(system.get("potential", "0")) == pytest.approx(run.value("potential_energy"), rel=1e-12)


def test_optimal_control_expect_derivatives_as_differences_and_a_motion_along_the_wall():
    arm = optimal_control.Arm()
    shooting = optimal_control.Shooting(arm)
    torques, states = arm.first_guess(20.0)
    x = np.concatenate([torques.ravel() / optimal_control.SCALE, states.ravel()])
    assert optimal_control.derivative_error(shooting, x) < 1e-7
    # The tip starts, and is led, along the wall; torques held constant over an interval come near to it.
    wall = arm.parameters["wall_x"]
    assert all(abs(arm.tip(state[:3])[0][0] - wall) < 1e-12 for state in shooting.parts(x)[1])
    assert np.abs(shooting.conditions(x)[:-4]).max() < 0.5
    assert shooting.conditions(x)[-4:] == pytest.approx(np.zeros(4), abs=1e-6)
