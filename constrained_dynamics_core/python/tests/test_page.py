# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Pages: what is in them, and what a real browser makes of them."""

import json
import os
import re
import struct
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest
from browser import PROGRAM as BROWSER
from browser import Browser
from conftest import SMALL_EXAMPLES
from test_dynamics import LENGTH, rod

import constrained_dynamics as cd
from constrained_dynamics import page, rotations, shapes
from constrained_dynamics.drawing import Drawing
from constrained_dynamics.residuals import largest_violation

ROBOTS = Path(os.environ.get("CD_EXAMPLE_ROBOT_DATA") or os.environ.get("EXAMPLE_ROBOT_DATA") or "missing")
needs_robots = pytest.mark.skipif(not ROBOTS.is_dir(), reason="example-robot-data is not there")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
MOST_BYTES = 25_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


def browse(path, time, *arguments):
    """Runs the browser on a page; returns what it wrote."""
    return subprocess.run(
        [
            BROWSER,
            "--no-sandbox",
            "--use-angle=swiftshader",
            "--enable-unsafe-swiftshader",
            "--hide-scrollbars",
            "--window-size=1200,760",
            "--virtual-time-budget=2500",
            "--enable-logging=stderr",
            *arguments,
            "%s#t=%g" % (Path(path).as_uri(), time),
        ],
        check=True,
        capture_output=True,
        text=True,
        timeout=500,
    )


def self_check(path, time):
    """What the page says about itself, after it has checked that the console stayed quiet."""
    result = browse(path, time, "--dump-dom")
    complaints = [line for line in result.stderr.splitlines() if "CONSOLE" in line and "rror" in line]
    assert not complaints, complaints
    found = re.search(r'id="self-check">(.*?)</script>', result.stdout, re.S)
    check = json.loads(found.group(1))
    assert check["ready"], check
    assert check["errors"] == []
    return check


def read_png(path):
    """Pixels (H, W, channels) of a PNG of eight bits a channel."""
    data = Path(path).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", data[at + 8 : at + 18])
        elif kind == b"IDAT":
            parts += data[at + 8 : at + 8 + size]
        at += size + 12
    channels = {2: 3, 6: 4}[colour]
    assert depth == 8
    raw = np.frombuffer(zlib.decompress(parts), np.uint8).reshape(height, 1 + width * channels)
    out = np.zeros((height, width * channels), np.uint8)
    for row in range(height):
        kind, line = raw[row, 0], raw[row, 1:].astype(np.int32)
        above = out[row - 1].astype(np.int32) if row else np.zeros_like(line)
        if kind == 2:
            out[row] = (line + above) & 255
            continue
        current = np.zeros_like(line)
        for i in range(len(line)):
            left = current[i - channels] if i >= channels else 0
            corner = above[i - channels] if i >= channels else 0
            if kind == 0:
                guess = 0
            elif kind == 1:
                guess = left
            elif kind == 3:
                guess = (left + above[i]) // 2
            else:
                estimate = left + above[i] - corner
                guess = min((left, above[i], corner), key=lambda value: abs(estimate - value))
            current[i] = (line[i] + guess) & 255
        out[row] = current
    return out.reshape(height, width, channels)[:, :, :3]


# ---- without a browser ---------------------------------------------------------------------------


def test_page_expect_one_file_without_network(folder):
    path = folder / "four_bar.html"
    record, size = page.write_scenario_page(cd.example("four_bar"), path, ["run.until=2"])
    assert record.result.completed and path.stat().st_size == size < MOST_BYTES
    text = path.read_text()
    assert "{{" not in re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    # Outside of the libraries nothing is loaded from anywhere.
    own = (Path(page.__file__).parent / "page.html").read_text()
    assert not re.search(r"(src|href)\s*=", own)


def test_drawing_expect_sticks_and_arrow_at_the_loop():
    record = cd.Scenario.load(cd.example("four_bar"), ["run.until=1"]).run()
    index = np.arange(0, len(record), 10)
    drawing = Drawing(record, index)
    assert len(drawing.sticks) >= 3
    (arrow,) = drawing.arrows
    tip = record.dynamics.system.frame_poses(record.q, ["coupler_tip"])[index, 0, :3, 3]
    np.testing.assert_allclose(arrow.point, tip, atol=1e-9)
    np.testing.assert_allclose(arrow.vector, record.wrench_force[index, 0])
    assert 0.2 < arrow.largest * drawing.scales["force"] / drawing.radius < 1.0


def test_textbook_system_expect_point_with_force(pendulum):
    dynamics = cd.Dynamics(pendulum, [rod(pendulum)], stabilisation=cd.Stabilisation.projection())
    record = cd.Simulation(dynamics, cd.State([LENGTH, 0.0], [0.0, 0.0])).run(1.0, 0.01)
    drawing = Drawing(record, np.arange(len(record)))
    (point,) = drawing.points
    (arrow,) = drawing.arrows
    np.testing.assert_allclose(np.linalg.norm(point, axis=1), LENGTH, atol=1e-12)  # x and y, upright
    assert not point[:, 1].any()
    np.testing.assert_allclose(np.cross(arrow.vector, point), 0.0, atol=1e-9)  # along the rod


@pytest.mark.parametrize("name", SMALL_EXAMPLES)
def test_examples_expect_a_drawing(name):
    scenario = cd.Scenario.load(cd.example(name))
    end = scenario.initial.time + 0.02
    record = scenario.run(until=end, output_interval=0.01)
    drawing = Drawing(record, np.arange(len(record)))
    position, target = drawing.camera()
    assert np.isfinite(position).all() and np.linalg.norm(position - target) > 0
    assert np.isfinite(drawing.poses).all()


def test_urdf_visuals_expect_primitives_and_notes():
    notes = []
    found = shapes.urdf_shapes(
        """<robot name="r"><material name="red"><color rgba="1 0 0 1"/></material>
      <link name="a"><visual><origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/><geometry><box size="1 2 3"/></geometry>
        <material name="red"/></visual>
        <visual><geometry><mesh filename="package://nowhere/a.dae"/></geometry></visual></link>
      <link name="b"><visual><geometry><cylinder radius="0.1" length="0.4"/></geometry></visual>
        <visual><geometry><sphere radius="0.2"/></geometry></visual></link></robot>""",
        prefix="left_",
        notes=notes,
    )
    assert [shape.kind for shape in found] == ["box", "cylinder", "sphere"]
    assert found[0].frame == "left_a" and found[0].colour == (1.0, 0.0, 0.0)
    np.testing.assert_allclose(found[0].pose, [[0, -1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], atol=1e-15)
    assert notes == ["mesh not found: package://nowhere/a.dae"]


def test_quaternions_expect_rotations_back(random):
    axis = random.normal(size=(200, 3))
    axis /= np.linalg.norm(axis, axis=1)[:, None]
    angle = random.uniform(-np.pi, np.pi, size=200)
    k = np.zeros((200, 3, 3))
    k[:, 0, 1], k[:, 0, 2], k[:, 1, 2] = -axis[:, 2], axis[:, 1], -axis[:, 0]
    k -= k.transpose(0, 2, 1)
    rotation = np.eye(3) + np.sin(angle)[:, None, None] * k + (1 - np.cos(angle))[:, None, None] * (k @ k)
    found = rotations.quaternions(rotation)
    expected = np.column_stack([axis * np.sin(angle / 2)[:, None], np.cos(angle / 2)])
    np.testing.assert_allclose(np.abs(np.sum(found * expected, axis=1)), 1.0, atol=1e-12)


def test_open_contact_expect_no_violation_and_impulses_as_marks():
    scenario = cd.Scenario.load(cd.example("bouncing_ball"))
    record = scenario.run()
    height = np.abs(record.position).max()
    assert height > 0.1 and record.active.shape == (len(record), len(record.dynamics.constraints))
    plots = {plot["id"]: plot for plot in page._plots(record)["plots"]}
    for line in plots["violation"]["lines"]:
        assert max(line["y"]) < 1e-6, line["name"]
    marks = [line for line in plots["forces"]["lines"] if line["mode"] == "markers"]
    hits = [event for event in record.events if event.impulse != 0.0]
    assert len(marks) == 1 and "N s" in marks[0]["name"] and "N s" in plots["forces"]["axis"]
    np.testing.assert_allclose(marks[0]["y"], [abs(event.impulse) for event in hits], rtol=1e-5)


def test_violation_expect_rows_in_force_and_contacts_inside():
    scenario = cd.Scenario.load(cd.example("bouncing_ball"))
    constraints, contacts = scenario.dynamics.constraints, scenario.contacts
    side = contacts.contacts[0].side
    position, velocity = np.array([[-0.3 * side], [0.2 * side], [0.2 * side]]), np.array([[1.0], [2.0], [3.0]])
    found = largest_violation(position, velocity, [[0.0], [0.0], [1.0]], constraints, contacts)
    np.testing.assert_array_equal(found[0], [0.0, 0.2, 0.2])  # open, open but inside, in force
    np.testing.assert_array_equal(found[1], [0.0, 0.0, 3.0])
    none = largest_violation(np.zeros((2, 0)), np.zeros((2, 0)), np.zeros((2, 0)), [])
    np.testing.assert_array_equal(none, np.zeros((2, 2)))


def test_command_expect_exit_code_and_message(folder, capsys):
    assert page.main(["missing"]) == 2
    assert "there is no example 'missing'" in capsys.readouterr().err
    assert page.main(["four_bar", "--set", "run.unti=1", "-o", str(folder / "no.html")]) == 2
    assert "unti" in capsys.readouterr().err


def test_plots_expect_inputs_of_motors_and_events():
    record = cd.Scenario.load(cd.example("parallel_ankle")).run(until=0.5)
    plots = {plot["id"]: plot for plot in page._plots(record)["plots"]}
    lines = {line["name"]: line["y"] for line in plots["inputs"]["lines"]}
    assert set(lines) == {"left_motor", "right_motor"}
    column = record.input_names.index("left_motor")
    np.testing.assert_allclose(lines["left_motor"], np.asarray(record.inputs)[:, column], rtol=1e-5, atol=1e-12)
    # Contacts are constraints: their forces are among the constraint forces.
    ball = cd.Scenario.load(cd.example("sphere_on_incline")).run()
    plots = {plot["id"]: plot for plot in page._plots(ball)["plots"]}
    assert "inputs" not in plots and plots["forces"]["lines"]


# ---- in a browser --------------------------------------------------------------------------------


@needs_browser
@pytest.mark.parametrize("width", [400, 800, 1280, 1920])
def test_page_expect_everything_inside_the_window(folder, width):
    path = folder / "ankle.html"
    if not path.exists():
        page.write_scenario_page(cd.example("parallel_ankle"), path, until=1.0)
    with Browser(folder / ("profile%d" % width), size=(width, 800)) as browser:
        browser.open(path.as_uri() + "#t=0.5")
        browser.wait("(document.getElementById('self-check') || {textContent: '{}'}).textContent != '{}'")
        assert browser.evaluate("window.innerWidth") == width
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        boxes = browser.evaluate(
            "[...document.querySelectorAll('.plot, #view, footer, header')].map((e) => {"
            "const r = e.getBoundingClientRect(); return [r.left, r.right, r.height]; })"
        )
        assert len(boxes) == 7  # four plots
        for left, right, height in boxes:
            assert left >= 0 and right <= width + 0.5 and height > 20
        sizes = browser.evaluate("[...document.querySelectorAll('.plot .main-svg')].map((e) => e.clientWidth)")
        assert min(sizes) >= 300


@needs_browser
def test_bouncing_ball_in_browser_expect_marks_in_the_force_plot(folder):
    path = folder / "bouncing_ball.html"
    page.write_scenario_page(cd.example("bouncing_ball"), path)
    check = self_check(path, 0.5)
    assert all(count >= 1 for count in check["plots"]) and len(check["plots"]) == 3


@needs_browser
@needs_robots
def test_demo_in_browser_expect_robot_arrows_plots_and_picture(folder):
    path, picture = folder / "panda_cutter.html", folder / "panda_cutter.png"
    record, size = page.write_scenario_page(cd.example("panda_cutter"), path)
    assert record.result.completed and size < MOST_BYTES
    time = 4.0
    check = self_check(path, time)
    assert check["webgl"] and check["triangles"] > 50_000
    assert all(count >= 1 for count in check["plots"]) and len(check["plots"]) == 4
    shown = {arrow["name"]: arrow for arrow in check["arrows"] if arrow["visible"]}
    assert {"wall", "blade"} <= set(shown)
    # The numbers in the page are those of the run at that time.
    i = int(np.argmin(np.abs(record.time - time)))
    for k, name in enumerate(["wall", "blade"]):
        np.testing.assert_allclose(shown[name]["value"], np.linalg.norm(record.wrench_force[i, k]), rtol=1e-3)
    browse(path, time, "--screenshot=" + str(picture))
    pixels = read_png(picture).astype(int)
    view = pixels[110:700, 20:640]
    # The robot and the wall are there: many colours, and many pixels far from the background's.
    assert len(np.unique(view.reshape(-1, 3), axis=0)) > 500
    dark = np.abs(view - np.median(view.reshape(-1, 3), axis=0)).sum(axis=2) > 40
    assert 0.02 < dark.mean() < 0.98
    # Arrows: pixels of the blue of the first constraint, right of the legend.
    view = view[:, 270:]
    blue = (view[:, :, 2] > 130) & (view[:, :, 0] < 90) & (view[:, :, 2] > view[:, :, 1] + 25)
    assert blue.sum() > 30
