#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
# Builds and tests the ROS packages with colcon, in build/colcon, if ROS 2 is installed: in the environment that is
# sourced, else with /opt/ros/*/setup.bash. Nothing else of the caller's environment comes in, so that .venv and ROS
# do not mix. Prints `ran:`, `skipped:` and `failed:` lines for setup/run_tests.sh; the exit code is that of the tests.
#
# usage: setup/ros_tests.sh BUILD_FOLDER JOBS
#   BUILD_FOLDER   of the plain build: its core is used where the ROS installation has no Pinocchio of its own
# environment:
#   CD_SKIP_ROS=1  leave ROS alone
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
build=$1
jobs=$2
folders=(config constrained_dynamics_msgs constrained_dynamics_core constrained_dynamics_ros controllers launch)

if [ -n "${CD_SKIP_ROS:-}" ]; then
  echo "skipped: C++ ROS packages (CD_SKIP_ROS is set)"
  exit 0
fi

# ---- a clean environment with ROS 2 -----------------------------------------------------------------

if [ -z "${CD_IN_ROS:-}" ]; then
  kept=(CD_IN_ROS=1 "HOME=${HOME:-/}" "LANG=${LANG:-C.UTF-8}" "TERM=${TERM:-dumb}" "CI=${CI:-}")
  if [ -n "${ROS_DISTRO:-}" ] && [ -n "${AMENT_PREFIX_PATH:-}" ]; then
    path=$(tr ':' '\n' <<<"$PATH" | grep -vF "$PWD/.venv" | paste -sd:)
    for name in ROS_DISTRO ROS_VERSION ROS_PYTHON_VERSION AMENT_PREFIX_PATH CMAKE_PREFIX_PATH LD_LIBRARY_PATH \
      PYTHONPATH; do
      [ -z "${!name:-}" ] || kept+=("$name=${!name}")
    done
    exec env -i "${kept[@]}" "PATH=$path" bash "$0" "$@"
  fi
  ros=
  for candidate in /opt/ros/*/setup.bash; do
    [ ! -f "$candidate" ] || ros=$candidate
  done
  if [ -z "$ros" ]; then
    echo "skipped: C++ ROS packages (no ROS 2 installation: ROS_DISTRO is not set, /opt/ros has none)"
    exit 0
  fi
  # shellcheck disable=SC2016  # the inner shell expands them
  exec env -i "${kept[@]}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    bash -c 'source "$1" && shift && exec bash "$@"' ros "$ros" "$0" "$@"
fi

if ! command -v colcon >/dev/null; then
  echo "skipped: C++ ROS packages (ROS 2 ${ROS_DISTRO:-} is there, but colcon is not)"
  exit 0
fi

# ---- what can be built ------------------------------------------------------------------------------

verdicts=$(python3 -B setup/ros_packages.py "${folders[@]}") || {
  echo "failed:  setup/ros_packages.py"
  exit 1
}
mapfile -t packages < <(sed -n 's/^build //p' <<<"$verdicts")
sed -n 's/^skip \(.*\): \(.*\)/skipped: package \1 (\2)/p' <<<"$verdicts"

root=$PWD/build/colcon
mkdir -p "$root"
touch build/COLCON_IGNORE
with_core=false
# A distribution for Debian has it in lib/<arch>/cmake.
found=$(
  IFS=:
  for p in ${AMENT_PREFIX_PATH:-}; do
    compgen -G "$p/lib*/cmake/pinocchio/pinocchioConfig.cmake" || compgen -G "$p/lib*/*/cmake/pinocchio/*Config.cmake"
  done
)
if [ -n "$found" ]; then
  # The distribution's Pinocchio: the core is built with it, too.
  with_core=true
else
  # The core of the plain build, with the Pinocchio of the virtual environment.
  cmake --install "$build" --prefix "$root/core" >"$root/core.log" 2>&1 || {
    cat "$root/core.log"
    echo "failed:  the core of $build could not be installed into build/colcon/core"
    exit 1
  }
  # (That installs config, too.)
  mapfile -t folders < <(printf '%s\n' "${folders[@]}" | grep -vx 'config\|.*_core')
  export CMAKE_PREFIX_PATH=$root/core${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
  export LD_LIBRARY_PATH=$root/core/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export AMENT_PREFIX_PATH=$root/core${AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}
fi
tests=()
for package in "${packages[@]}"; do
  case "$package" in
    constrained_dynamics_core | constrained_dynamics_config) ;;
    *) tests+=("$package") ;;
  esac
done
if [ ${#tests[@]} -eq 0 ]; then
  exit 0
fi

# ---- build and test ---------------------------------------------------------------------------------

bases=(--base-paths "${folders[@]}" --build-base "$root/build" --install-base "$root/install")
export CMAKE_BUILD_PARALLEL_LEVEL=$jobs MAKEFLAGS=-j$jobs COLCON_DEFAULTS_FILE=/dev/null

# colcon_build PACKAGE... -- CMAKE_ARGUMENT...
colcon_build() {
  local selected=()
  while [ "$1" != -- ]; do
    selected+=("$1")
    shift
  done
  shift
  echo "== colcon build: ${selected[*]} (ROS 2 ${ROS_DISTRO:-of an unknown name}, build/colcon)"
  colcon --log-base "$root/log" build "${bases[@]}" --executor sequential --packages-select "${selected[@]}" \
    --event-handlers console_stderr+ console_start_end- --cmake-args -DCMAKE_BUILD_TYPE=Release "$@" && return
  echo "failed:  colcon build of ${selected[*]} (log: build/colcon/log/latest_build)"
  exit 1
}
if [ "$with_core" = true ]; then
  # Its own tests run in the plain build.
  colcon_build constrained_dynamics_config constrained_dynamics_core -- -DBUILD_TESTING=OFF \
    -DCD_BUILD_EXAMPLES=OFF -DCD_BUILD_PYTHON=OFF
fi
colcon_build "${tests[@]}" -- -DBUILD_TESTING=ON ${CI:+-DCMAKE_COMPILE_WARNING_AS_ERROR=ON}

echo "== colcon test: ${tests[*]}"
# Where the plain build has the core's Python package and cdyn, tests compare with them.
export PYTHONPATH=$PWD/$build/python${PYTHONPATH:+:$PYTHONPATH}
export CDYN_PROGRAM=$PWD/$build/bin/cdyn
# Robots of the virtual environment, for scenarios that name them.
for folder in "$PWD"/.venv/lib/python3*/site-packages/cmeel.prefix/share/example-robot-data/robots; do
  [ ! -d "$folder" ] || export EXAMPLE_ROBOT_DATA=$folder
done
# Talk to nobody outside this machine.
export ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST
rm -rf "$root"/build/*/test_results "$root"/build/*/Testing
colcon --log-base "$root/log" test "${bases[@]}" --executor sequential --packages-select "${tests[@]}" \
  --event-handlers console_direct- console_start_end- --return-code-on-test-failure
result=$?
colcon --log-base "$root/log" test-result --test-result-base "$root/build" --verbose >"$root/results.txt" 2>/dev/null
counts=$(sed -n 's/^Summary: //p' "$root/results.txt" | tail -n 1)
if [ $result -ne 0 ] || ! grep -q ' 0 errors, 0 failures' <<<"$counts"; then
  cat "$root/results.txt"
  echo "failed:  colcon test: ${counts:-no result} (log: build/colcon/log/latest_test)"
  exit 1
fi
echo "ran:     ROS packages ${tests[*]} (ROS 2 ${ROS_DISTRO:-}): $counts"
