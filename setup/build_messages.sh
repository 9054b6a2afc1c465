#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
# Generates and builds the messages with the ROS wheels of .venv-ros: build/ros_wheels/install.
#
# usage: setup/build_messages.sh [jobs]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
top=$PWD
work=$top/build/ros_wheels
jobs=${1:-2}

exec 9<setup/build_messages.sh  # two builds at a time would write into the same folder
flock 9
mkdir -p "$work"
unset COLCON_PREFIX_PATH CMAKE_PREFIX_PATH PYTHONPATH ROS_DISTRO
export AMENT_PREFIX_PATH=$top/.venv-ros LD_LIBRARY_PATH=$top/.venv-ros/lib PATH=$top/.venv-ros/bin:$PATH
launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi

for source in setup/ros_wheels/tf2_msgs constrained_dynamics_msgs; do
  name=$(basename "$source")
  log=$work/$name.log
  {
    # A folder of another place (the repository was moved or copied) is made anew.
    grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$top/$source" "$work/$name/CMakeCache.txt" || rm -rf "${work:?}/$name"
    cmake -S "$source" -B "$work/$name" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF \
      -DCMAKE_C_FLAGS_RELEASE=-O1 -DCMAKE_CXX_FLAGS_RELEASE=-O1 "${launcher[@]}" \
      -DPython3_EXECUTABLE="$top/.venv-ros/bin/python" -DCMAKE_PREFIX_PATH="$top/.venv-ros" \
      -DCMAKE_INSTALL_PREFIX="$work/install" &&
      cmake --build "$work/$name" --parallel "$jobs" && cmake --install "$work/$name"
  } >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    echo "build_messages.sh: $name could not be built; the whole log is $log" >&2
    exit 1
  }
done
