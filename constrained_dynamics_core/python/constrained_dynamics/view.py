# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""A scenario live in the browser: it runs in real time, with sliders, pushes and switches, and its forces.

    python -m constrained_dynamics.view SCENARIO|EXAMPLE [--set PATH=VALUE]… [--port N] [--no-browser]

The server listens on this machine alone (127.0.0.1) and ends with Ctrl-C.
"""

import argparse
import json
import sys
import threading
import webbrowser
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .commands import add_scenario_arguments, find_scenario
from .live import LiveRun
from .page import Blob, fill_template, scenario_shapes, scene_data

LARGEST_REQUEST = 65536
MOST_CONNECTIONS = 32  # a browser has six
PATIENCE = 10.0  # [s] that a request may take to arrive
HOST = "127.0.0.1"


class ViewServer(ThreadingHTTPServer):
    """Serves the page of a LiveRun, its state and commands to it."""

    daemon_threads = True

    def __init__(self, path, overrides=(), port=0):
        """port 0: a free one. Raises ValueError for a bad scenario, OSError for a port that is taken."""
        self.run = LiveRun(path, overrides)
        self._path = path
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__((HOST, port), _Handler)
        self.run.start()

    def process_request(self, request, client_address):
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
            return
        try:
            request.settimeout(0.1)
            request.sendall(b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        except OSError:
            pass
        self.shutdown_request(request)

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    @property
    def address(self):
        return "http://%s:%d/" % self.server_address[:2]

    def hosts(self):
        """Host names that requests may use; others come from pages of other sites."""
        return {"%s:%d" % (name, self.server_address[1]) for name in (HOST, "localhost")}

    def page(self):
        notes, blob = [], Blob()
        drawing = self.run.drawing(scenario_shapes(self._path, notes))
        scene = scene_data(drawing, blob)
        camera = scene["camera"]  # farther away than for a run with a known end
        camera["position"] = [t + 1.4 * (p - t) for p, t in zip(camera["position"], camera["target"])]
        scenario = self.run.scenario
        data = {"title": scenario.name, "scene": scene, "notes": notes, "live": self.run.description()}
        return fill_template("live", scenario.name, scenario.description, data, blob)

    def server_close(self):
        super().server_close()
        self.run.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE

    def log_message(self, *_):
        pass

    def do_GET(self):
        if not self._is_ours():
            return
        if self.path == "/":
            self._answer(self.server.page().encode("utf-8"), "text/html; charset=utf-8")
        elif self.path == "/state":
            self._answer_json(self.server.run.state())
        elif self.path == "/favicon.ico":
            self._answer(b"", "image/x-icon", HTTPStatus.NO_CONTENT)
        else:
            self._answer_json({"error": "there is no such page"}, HTTPStatus.NOT_FOUND)

    def do_POST(self):
        if not self._is_ours():
            return
        length = self.headers.get("Content-Length", "")
        size = int(length) if length.isascii() and length.isdigit() and len(length) < 10 else -1
        if self.path != "/command" or not 0 <= size <= LARGEST_REQUEST:
            self.close_connection = True
            self._answer_json({"error": "a command has at most %d bytes" % LARGEST_REQUEST}, HTTPStatus.BAD_REQUEST)
            return
        body = self.rfile.read(size)
        try:
            if self.headers.get("Content-Type") != "application/json":
                raise ValueError("a command is JSON")
            command = json.loads(body)
            if not isinstance(command, dict):
                raise ValueError("a command is an object")
            self.server.run.command(**command)
        except RecursionError:
            self._answer_json({"error": "a command is nested too deeply"}, HTTPStatus.BAD_REQUEST)
            return
        except (ValueError, TypeError) as error:
            self._answer_json({"error": str(error)}, HTTPStatus.BAD_REQUEST)
            return
        self._answer_json(self.server.run.state())

    def _is_ours(self):
        """Refuses requests that a page of another site makes on behalf of the user."""
        hosts, origin = self.server.hosts(), self.headers.get("Origin")
        if self.headers.get("Host") in hosts and (origin is None or origin in {"http://" + host for host in hosts}):
            return True
        self.close_connection = True
        self._answer_json({"error": "only for pages of this server"}, HTTPStatus.FORBIDDEN)
        return False

    def _answer_json(self, data, status=HTTPStatus.OK):
        self._answer(json.dumps(data, allow_nan=False).encode("utf-8"), "application/json", status)

    def _answer(self, body, kind, status=HTTPStatus.OK):
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):  # the page was closed
            self.close_connection = True


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m constrained_dynamics.view", description=__doc__.splitlines()[0])
    add_scenario_arguments(parser, until=False)
    parser.add_argument("--port", type=int, default=0, help="port of the server (default: a free one)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    given = parser.parse_args(arguments)
    try:
        if not 0 <= given.port < 65536:
            raise ValueError("port is %d; allowed: 0 to 65535" % given.port)
        server = ViewServer(find_scenario(given.scenario), given.set, given.port)
    except (ValueError, OSError, ImportError) as error:
        print("view: %s" % error, file=sys.stderr)
        return 2
    print("%s   (Ctrl-C ends it)" % server.address, flush=True)
    if not given.no_browser:
        webbrowser.open(server.address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
