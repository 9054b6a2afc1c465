# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""The live view: the run behind it, its server, and a real browser."""

import http.client
import json
import socket
import threading
import time

import numpy as np
import pytest
from browser import PROGRAM, Browser
from conftest import SMALL_EXAMPLES
from test_page import read_png

import constrained_dynamics as cd
from constrained_dynamics import live, view
from constrained_dynamics.live import LiveRun

needs_browser = pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium")
PENDULUM = """
name: pendulum
parameters: {m: 2.0, g: 9.81, l: 1.5}
system: {coordinates: [x, y], kinetic: m/2*(dx^2 + dy^2), potential: m*g*y}
constraints:
  - {name: rod, type: formula, level: position, rows: {length: (x^2 + y^2 - l^2)/(2*l)}}
initial: {q: {x: 0.3, y: -1.47}, solve: [y]}
run: {until: 1, step: 0.001}
"""


@pytest.fixture
def pendulum_file(tmp_path):
    path = tmp_path / "pendulum.yaml"
    path.write_text(PENDULUM)
    return str(path)


# ---- the run -------------------------------------------------------------------------------------


def test_step_and_reset_expect_the_motion_of_the_scenario(pendulum_file):
    run = LiveRun(pendulum_file)
    run.command("pause")
    first = run.state()
    for _ in range(30):
        run.command("step")
    after = run.state()
    np.testing.assert_allclose(after["time"], 0.3, atol=1e-12)
    record = cd.Scenario.load(pendulum_file).run(0.3, 0.1)
    np.testing.assert_allclose(after["q"], record.q[-1], atol=1e-12)
    np.testing.assert_allclose(after["multipliers"], record.multipliers[-1], rtol=1e-9)
    np.testing.assert_allclose(after["energy"], [record.kinetic_energy[-1], record.potential_energy[-1]], rtol=1e-9)
    # The arrow is the force of the rod on the point, x and y upright.
    arrow = np.array(after["arrows"])
    np.testing.assert_allclose(arrow[[0, 2]], after["q"])
    np.testing.assert_allclose(arrow[[3, 5]], record.constraint_force[-1], rtol=1e-9)
    run.command("reset")
    run.command("pause")
    assert run.state()["q"] == first["q"] and run.state()["time"] == 0.0


def test_push_expect_momentum_across_the_rod(pendulum_file):
    run = LiveRun(pendulum_file)
    run.command("pause")
    run.command("push", body="dx", impulse=[0.4])
    state = run.state()
    q = np.array(state["q"])
    tangent = np.array([-q[1], q[0]]) / np.linalg.norm(q)
    np.testing.assert_allclose(state["u"], 0.4 / 2.0 * tangent[0] * tangent, rtol=1e-9)


def test_push_of_any_link_expect_motion():
    run = LiveRun(cd.example("four_bar"))
    run.command("pause")
    # The crank and the rocker turn about their own origins.
    assert {"crank_rod", "coupler_rod", "rocker_rod"} <= set(run.bodies())
    for name in run.bodies():
        run.command("reset")
        run.command("pause")
        before = np.array(run.state()["u"])
        run.command("push", body=name, impulse=[0.3, 0.0, 0.5])
        assert np.abs(np.array(run.state()["u"]) - before).max() > 1e-3, name


def test_push_of_a_body_expect_speeds_by_its_jacobian():
    run = LiveRun(cd.example("four_bar"))
    run.command("pause")
    before = run.state()
    run.command("push", body="coupler_tip", impulse=[0.0, 0.0, 0.5])
    after = run.state()
    scenario = cd.Scenario.load(cd.example("four_bar"))
    at = cd.Kinematics(scenario.system, before["q"], before["u"])
    problem = cd.ImpactProblem(scenario.dynamics)
    problem.impulse = at.frame_jacobian("coupler_tip")[2] * 0.5
    expected = cd.solve_impact(scenario.dynamics, problem, cd.State(before["q"], before["u"]))
    np.testing.assert_allclose(after["u"], expected.speeds, rtol=1e-9)
    assert np.abs(np.array(after["u"]) - before["u"]).max() > 1e-3


def test_switched_constraint_expect_no_force_and_free_fall(pendulum_file):
    run = LiveRun(pendulum_file)
    run.command("pause")
    assert abs(run.state()["multipliers"][0]) > 1.0
    run.command("switch", name="rod", active=False)
    state = run.state()
    assert state["multipliers"] == [0.0] and state["active"] == [False]
    np.testing.assert_allclose(state["arrows"][3:], 0.0, atol=1e-12)
    for _ in range(10):
        run.command("step")
    np.testing.assert_allclose(run.state()["u"][1] - state["u"][1], -9.81 * 0.1, rtol=1e-9)
    run.command("switch", name="rod", active=True)  # speeds jump onto the row again; the position is met, too
    assert run.state()["active"] == [True]


def test_parameter_expect_another_force_at_the_same_place(pendulum_file):
    run = LiveRun(pendulum_file)
    run.command("pause")
    before = run.state()
    run.command("parameter", name="g", value=2 * 9.81)
    after = run.state()
    np.testing.assert_allclose(after["q"], before["q"], atol=1e-12)
    np.testing.assert_allclose(after["multipliers"], 2 * np.array(before["multipliers"]), rtol=1e-9)
    assert after["parameters"]["g"] == 2 * 9.81
    # Another length: moved onto the row.
    run.command("parameter", name="l", value=1.6)
    np.testing.assert_allclose(np.linalg.norm(run.state()["q"]), 1.6, rtol=1e-12)
    # A reset restores the parameters of the file, and with them its motion.
    run.command("reset")
    run.command("pause")
    assert run.state()["parameters"] == before["parameters"]
    np.testing.assert_allclose(run.state()["q"], before["q"], atol=1e-12)
    np.testing.assert_allclose(run.state()["multipliers"], before["multipliers"], rtol=1e-9)


def test_gravity_of_a_robot_expect_a_slider():
    run = LiveRun(cd.example("four_bar"))
    run.command("pause")
    before = run.state()
    assert before["parameters"] == {"gravity": 9.81}
    run.command("parameter", name="gravity", value=3.0)
    after = run.state()
    assert after["parameters"] == {"gravity": 3.0}
    np.testing.assert_allclose(np.array(after["multipliers"]) / before["multipliers"], 3.0 / 9.81, rtol=1e-9)  # at rest
    assert (
        LiveRun(cd.example("thesis_2_1")).parameters().keys()
        == dict(cd.Scenario.load(cd.example("thesis_2_1")).parameters).keys()
    )


def test_real_time_expect_the_pace_of_the_clock(pendulum_file):
    run = LiveRun(pendulum_file)
    run.start()
    try:
        begin, first = time.monotonic(), run.state()["time"]
        while time.monotonic() < begin + 1.0:
            time.sleep(0.05)
            run.state()
        elapsed = time.monotonic() - begin
        passed = run.state()["time"] - first
        assert 0.5 * elapsed < passed < 1.1 * elapsed + 0.1
        run.command("speed", value=0.1)
        run.command("pause")
        stood = run.state()["time"]
        time.sleep(0.2)
        assert run.state()["time"] == stood
    finally:
        run.close()


def test_bad_commands_expect_messages(pendulum_file):
    run = LiveRun(pendulum_file)
    for action, values, what in [
        ("jump", {}, "there is no command 'jump'"),
        ("push", {"body": "moon", "impulse": [1]}, "moon"),
        ("push", {"body": "dx", "impulse": ["a"]}, "impulse is 'a'"),
        ("push", {"body": "dx", "impulse": 3}, "impulse is 3"),
        ("push", {"body": "dx", "impulse": []}, "impulse"),
        ("push", {"body": "dx", "impulse": [10**400]}, "impulse is 1000"),
        ("push", {"body": "dx", "impulse": [10**9000]}, "an integer of"),
        ("parameter", {"name": "m", "value": "2"}, "m is '2'"),
        ("parameter", {"name": "m", "value": True}, "m is True"),
        ("parameter", {"name": "m", "value": None}, "m is None"),
        ("parameter", {"name": ["m"], "value": 1}, "parameter"),
        ("speed", {"value": float("nan")}, "speed is nan"),
        ("parameter", {"name": "k", "value": 1}, "there is no parameter 'k'"),
        ("parameter", {"name": "m", "value": -1.0}, "m = -1"),
        ("parameter", {"name": "l", "value": 0}, "l = 0"),
        ("switch", {"name": "rope", "active": True}, "rope"),
        ("task", {"name": "t", "enabled": True}, "no servo-constraints"),
        ("play", {"now": 1}, "command play"),
    ]:
        with pytest.raises(ValueError) as error:
            run.command(action, **values)
        assert what in str(error.value)
    assert run.state()["parameters"]["m"] == 2.0
    with pytest.raises(ValueError, match="is a contact"):
        ball = LiveRun(cd.example("bouncing_ball"))
        ball.command("switch", name=ball.description()["constraints"][0]["name"], active=False)


@pytest.mark.parametrize("name", SMALL_EXAMPLES)
def test_examples_expect_a_live_picture(name, monkeypatch):
    monkeypatch.setattr(live, "PREVIEW_WALL_TIME", 0.05)
    run = LiveRun(cd.example(name))
    drawing = run.drawing()
    run.command("step")
    state = run.state()
    assert state["time"] is not None, state["note"]
    assert len(state["positions"]) == 3 * len(drawing.frames) and len(state["arrows"]) == 6 * len(drawing.arrows)
    assert len(state["points"]) == 3 * len(drawing.points)
    json.dumps(state, allow_nan=False)
    json.dumps(run.description(), allow_nan=False)


def test_servo_expect_tasks_to_switch():
    run = LiveRun(cd.example("planar_wall"))
    run.command("pause")
    state = run.state()
    assert run.description()["tasks"] == ["height", "pitch", "push"]
    assert all(task["enabled"] and not task["relaxed"] for task in state["tasks"])
    run.command("task", name="push", enabled=False)
    run.command("step")
    state = run.state()
    assert [task["enabled"] for task in state["tasks"]] == [True, True, False]
    assert abs(state["multipliers"][0] - 20.0) > 0.1


# ---- the server ----------------------------------------------------------------------------------


@pytest.fixture
def server(pendulum_file):
    server = view.ViewServer(pendulum_file)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def ask(server, method, path, body=None, headers=()):
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=30)
    connection.request(method, path, body, {"Content-Type": "application/json", **dict(headers)})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, data


def test_server_expect_page_state_and_commands(server):
    status, page = ask(server, "GET", "/")
    assert status == 200 and b"MeshCat" in page and b"pendulum" in page and b"{{" not in page[:3000]
    status, data = ask(server, "GET", "/state")
    assert status == 200 and json.loads(data)["active"] == [True]
    status, data = ask(server, "POST", "/command", json.dumps({"action": "pause"}))
    assert status == 200 and json.loads(data)["running"] is False
    for body, what in [
        ("{", ""),
        ("[]", "object"),
        ('{"action": "fly"}', "fly"),
        ('{"value": 1}', "action"),
        ("x" * 70000, "at most"),
    ]:
        status, data = ask(server, "POST", "/command", body)
        assert status == 400 and what in json.loads(data)["error"]
    assert ask(server, "GET", "/etc/passwd")[0] == 404


@pytest.mark.parametrize(
    "body",
    [
        '{"action": "speed", "value": 1e999}',
        '{"action": "speed", "value": %s}' % ("9" * 5000),
        '{"action": "speed", "value": %s}' % ("9" * 400),
        '{"action": "speed", "value": NaN}',
        '{"action": "speed", "value": "1"}',
        '{"action": "push", "body": "dx", "impulse": {"a": 1}}',
        '{"action": "push", "body": "dx", "impulse": [[1]]}',
        '{"action": ["speed"]}',
        '{"action": null}',
        '{"action": "speed", "value": 1, "": 2}',
        "[" * 30000,
        b"\xff\xfe",
        '{"action": "parameter", "name": "m", "value": 1e-320}',
    ],
)
def test_server_expect_a_message_for_malformed_commands(server, body, capsys):
    status, data = ask(server, "POST", "/command", body)
    assert status == 400 and json.loads(data)["error"]
    assert json.loads(ask(server, "GET", "/state")[1])["parameters"]["m"] == 2.0
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("length", ["-1", "1_0", "٣", "9" * 30, "x", ""])
def test_server_expect_a_message_for_malformed_lengths(server, length, capsys):
    with socket.create_connection(server.server_address[:2], timeout=30) as connection:
        connection.sendall(
            (
                "POST /command HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
                "Content-Length: %s\r\n\r\n" % (server.server_address[1], length)
            ).encode("utf-8")
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
    assert "Traceback" not in capsys.readouterr().err


def test_server_expect_few_threads_however_many_connections(server, monkeypatch):
    monkeypatch.setattr(view._Handler, "timeout", 0.5)
    before = threading.active_count()
    connections = []
    try:
        for _ in range(200):
            connections.append(socket.create_connection(server.server_address[:2], timeout=30))
            connections[-1].sendall(b"POST /command HTTP/1.1\r\nContent-Le")  # and no more
        time.sleep(0.2)
        assert threading.active_count() <= before + view.MOST_CONNECTIONS
        limit = time.monotonic() + 20.0
        while threading.active_count() > before and time.monotonic() < limit:
            time.sleep(0.05)
        assert threading.active_count() <= before  # half requests are given up
    finally:
        for connection in connections:
            connection.close()
    assert ask(server, "GET", "/state")[0] == 200


def test_server_expect_pages_of_others_refused(server):
    assert server.server_address[0] == "127.0.0.1"
    command = json.dumps({"action": "pause"})
    assert ask(server, "POST", "/command", command, {"Origin": "http://evil.example"})[0] == 403
    assert ask(server, "GET", "/state", None, {"Host": "evil.example"})[0] == 403
    assert ask(server, "POST", "/command", command, {"Content-Type": "text/plain"})[0] == 400
    assert json.loads(ask(server, "GET", "/state")[1])["running"] is True


def test_command_expect_exit_code_and_message(capsys):
    assert view.main(["missing"]) == 2
    assert "there is no example 'missing'" in capsys.readouterr().err
    assert view.main(["four_bar", "--port", "99999"]) == 2
    assert "99999" in capsys.readouterr().err


# ---- in a browser --------------------------------------------------------------------------------


def click(text):
    return "[...document.querySelectorAll('button')].find((b) => b.textContent === '%s').click()" % text


@needs_browser
def test_browser_expect_motion_slider_push_and_switch(server, tmp_path):
    with Browser(tmp_path / "profile") as browser:
        browser.open(server.address)
        browser.wait("window.cdLive && cdLive.frames > 2")
        assert browser.evaluate("cdLive.arrows.filter((arrow) => arrow.visible).length") == 1
        # It moves.
        first = browser.evaluate("cdLive.state.time")
        browser.wait("cdLive.state.time > %r" % first)
        browser.evaluate("document.getElementById('play').click()")
        browser.wait("!cdLive.state.running")
        # A slider changes the force, and with it the motion.
        force = browser.evaluate("cdLive.state.multipliers[0]")
        browser.evaluate("""(() => { const s = document.querySelector('input[name=g]'); s.value = 19.62;
                            s.dispatchEvent(new Event('input')); })()""")
        browser.wait("Math.abs(cdLive.state.parameters.g - 19.62) < 1e-9")
        heavier = browser.evaluate("cdLive.state.multipliers[0]")
        assert 1.5 < heavier / force < 2.5
        # A cleared field is no 0: the value stays, and so does the field.
        browser.evaluate("""(() => { const n = document.querySelector('input[name=g]').parentNode
                            .querySelector('input[type=number]');
                    n.value = ''; n.dispatchEvent(new Event('change')); })()""")
        browser.wait("document.getElementById('notes').textContent.includes('g: not a number')")
        field = "document.querySelector('input[name=g]').parentNode.querySelector('input[type=number]').value"
        assert float(browser.evaluate(field)) == 19.62
        assert abs(browser.evaluate("cdLive.state.parameters.g") - 19.62) < 1e-9
        # A push changes the speed.
        speed = browser.evaluate("cdLive.state.u[0]")
        browser.evaluate("document.getElementById('body').value = 'dx'; document.getElementById('impulse').value = 3")
        browser.evaluate(click("+"))
        browser.wait("Math.abs(cdLive.state.u[0] - %r) > 0.5" % speed)
        browser.screenshot(tmp_path / "on.png")
        # A switched constraint has no force, and its arrow goes.
        browser.evaluate("document.querySelector('input[data-constraint=rod]').click()")
        browser.wait("cdLive.state.active[0] === false && cdLive.arrows[0].visible === false")
        assert browser.evaluate("cdLive.state.multipliers[0]") == 0
        assert browser.evaluate("document.querySelector('#constraints .value').textContent") == "off"
        browser.screenshot(tmp_path / "off.png")
        assert browser.evaluate("window.pageErrors") == [] and browser.messages == []
    on, off = (read_png(tmp_path / name).astype(int) for name in ("on.png", "off.png"))

    def blue(p):
        return (p[:, :, 2] > 130) & (p[:, :, 0] < 90) & (p[:, :, 2] > p[:, :, 1] + 25)

    scene_on, scene_off = on[60:540, 20:480], off[60:540, 20:480]
    assert len(np.unique(scene_on.reshape(-1, 3), axis=0)) > 50
    # The arrow of the force is blue; the legend's swatch stays.
    assert blue(scene_on).sum() > blue(scene_off).sum() + 30
