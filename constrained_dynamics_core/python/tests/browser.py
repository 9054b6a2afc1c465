# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""A headless browser that tests talk to: the DevTools protocol over a pipe, without any library."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time

PROGRAM = next(
    (
        found
        for found in map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))
        if found
    ),
    None,
)
# The browser reads descriptor 3 and writes descriptor 4.
LAUNCHER = """
import os, sys
ends = [int(end) for end in sys.argv[1:3]]
while min(ends) < 5:  # out of the way of each other
    ends = [os.dup(end) for end in ends]
for end, place in zip(ends, (3, 4)):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page. The machine may be slow: every wait ends at `patience` seconds."""

    def __init__(self, folder, size=(900, 600), patience=240.0):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        self._patience, self._number, self._buffer = patience, 0, b""
        self.messages = []  # what the console said
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                LAUNCHER,
                str(to_browser),
                str(from_browser),
                PROGRAM,
                "--headless",
                "--no-sandbox",
                "--use-angle=swiftshader",
                "--enable-unsafe-swiftshader",
                "--hide-scrollbars",
                "--remote-debugging-pipe",
                "--user-data-dir=" + str(folder),
                "--window-size=%d,%d" % size,
                "about:blank",
            ],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._session = None
        try:
            target = self._call("Target.createTarget", url="about:blank", width=size[0], height=size[1])["targetId"]
            self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            self._call("Page.enable")
            self._call("Runtime.enable")
        except Exception:
            self.close()
            raise

    def _call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + self._patience
        while True:
            while b"\0" not in self._buffer:
                ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
                data = os.read(self._in, 1 << 20) if ready else b""
                if not data:
                    raise TimeoutError("the browser does not answer " + method)
                self._buffer += data
            line, self._buffer = self._buffer.split(b"\0", 1)
            answer = json.loads(line)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]))
                return answer["result"]
            if answer.get("method") == "Runtime.consoleAPICalled" and answer["params"]["type"] in ("error", "warning"):
                self.messages.append([argument.get("value") for argument in answer["params"]["args"]])
            elif answer.get("method") == "Runtime.exceptionThrown":
                self.messages.append(answer["params"]["exceptionDetails"]["text"])

    def open(self, address):
        self._call("Page.navigate", url=address)

    def evaluate(self, expression):
        """The value of a JavaScript expression."""
        result = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", expression))
        return result["result"].get("value")

    def wait(self, expression):
        """Waits until an expression is true; returns its value."""
        end = time.monotonic() + self._patience
        while True:
            value = self.evaluate(expression)
            if value:
                return value
            if time.monotonic() > end:
                raise TimeoutError(expression)
            time.sleep(0.1)

    def screenshot(self, path):
        data = self._call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        try:
            os.write(self._out, json.dumps({"id": 0, "method": "Browser.close"}).encode() + b"\0")
            self._process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        finally:
            os.close(self._out)
            os.close(self._in)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
