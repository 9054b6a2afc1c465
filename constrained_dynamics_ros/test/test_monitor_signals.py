# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
"""Signals end constraint_monitor in order."""

import os
import signal
import subprocess
import time

import pytest


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_when_a_signal_comes_expect_the_node_shut_down(number, tmp_path):
    log = tmp_path / "monitor.log"
    with log.open("w") as output:
        monitor = subprocess.Popen([os.environ["CD_MONITOR"]], stdout=output, stderr=subprocess.STDOUT)
        try:
            time.sleep(3.0)
            assert monitor.poll() is None, log.read_text()
            monitor.send_signal(number)
            assert monitor.wait(timeout=20.0) == 0
        finally:
            monitor.kill()
    text = log.read_text()
    assert "not shut down" not in text, text
    assert "Unable to start transition" not in text, text
