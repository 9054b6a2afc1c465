#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
# `pip wheel .`, the wheel beside `pin` in a fresh virtual environment, then runs of the package and of the command.
#
# usage: pip_install.sh PYTHON REPOSITORY FOLDER
set -euo pipefail
python=$1 repository=$2 folder=$3
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_PROGRESS_BAR=off

rm -rf "$folder"
mkdir -p "$folder/wheels"
"$python" -m pip wheel "$repository" --no-deps -w "$folder/wheels"
"$python" -m venv "$folder/venv"
cd "$folder/venv"
bin/python -m pip install --only-binary :all: ../wheels/*.whl pin==4.1.0 plotly==7.1.0
# Of meshcat only the JavaScript is needed.
bin/python -m pip install --no-deps meshcat==0.3.2 PyYAML==6.0.3
bin/python - <<'END'
import pinocchio

import constrained_dynamics as cd

assert "site-packages" in cd.__file__, cd.__file__
record = cd.Scenario.load(cd.example("four_bar")).run()
drift = abs(record.energy - record.energy[0]).max()
print(cd.__file__, cd.__version__, "pin", pinocchio.__version__, record.result.steps, "steps, energy drifts", drift)
assert record.result.completed and drift < 1e-5
END
bin/cdyn examples | grep -q '^four_bar '
bin/cdyn run four_bar --until 0.5 --quiet
bin/python -m pip install mcap==1.6.0 mcap-ros2-support==0.6.0
bin/python -m constrained_dynamics.record four_bar -o four_bar.mcap --until 0.1
bin/python -m constrained_dynamics.record --check four_bar.mcap
bin/python -m constrained_dynamics.page four_bar -o four_bar.html --until 1
package=$(bin/python -c 'import constrained_dynamics as cd; print(cd.__path__[0])')
test -f "$package/_core.pyi"
# What is installed does not name the folders that it was built in.
for file in "$package"/*.so* "$package/bin/cdyn"; do
  if grep -qF -e "$repository" -e pip-build-env "$file"; then
    echo "$file names the folder that it was built in" >&2
    exit 1
  fi
done
