# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""The Python of the README does what it says."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[3] / "README.md"


@pytest.mark.skipif(not README.is_file(), reason="the package was built without the repository around it")
def test_readme_when_its_python_is_run_expect_a_closed_loop(monkeypatch, capsys):
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert len(blocks) == 1
    monkeypatch.chdir(README.parent)
    names = {}
    exec(compile(blocks[0], str(README), "exec"), names)
    assert str(names["run"].result.status).endswith("OK")
    assert abs(names["run"].position).max() < 1e-9
    assert len(names["run"].wrench_force) == 501
    assert len(capsys.readouterr().out.splitlines()) > 1
