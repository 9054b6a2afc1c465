#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
# `pip install .` in a fresh virtual environment, then a run and a page of the installed package.
#
# usage: pip_install.sh PYTHON REPOSITORY FOLDER
set -euo pipefail
python=$1 repository=$2 folder=$3

rm -rf "$folder"
"$python" -m venv "$folder"
cd "$folder"
bin/python -m pip --disable-pip-version-check install --progress-bar off "$repository" plotly==7.1.0
# Of meshcat only the JavaScript is needed.
bin/python -m pip --disable-pip-version-check install --progress-bar off --no-deps meshcat==0.3.2 PyYAML==6.0.3
bin/python - <<'END'
import constrained_dynamics as cd

assert "site-packages" in cd.__file__, cd.__file__
record = cd.Scenario.load(cd.example("four_bar")).run()
drift = abs(record.energy - record.energy[0]).max()
print(cd.__file__, cd.__version__, record.result.steps, "steps, energy drifts", drift)
assert record.result.completed and drift < 1e-5
END
bin/python -m pip --disable-pip-version-check install --progress-bar off mcap==1.6.0 mcap-ros2-support==0.6.0
bin/python -m constrained_dynamics.record four_bar -o four_bar.mcap --until 0.1
bin/python -m constrained_dynamics.record --check four_bar.mcap
bin/python -m constrained_dynamics.page four_bar -o four_bar.html --until 1
test -f "$(bin/python -c 'import constrained_dynamics._core as c; print(c.__file__.split(".")[0] + ".pyi")')"
