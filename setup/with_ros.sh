#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
# Runs a command with ROS 2 from the wheels of .venv-ros and the messages of this project, apart from any
# ROS installation of the machine.
#
# usage: setup/with_ros.sh BUILD_FOLDER command [argument...]
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "$1" && pwd)
shift
messages=$top/build/ros_wheels/install
ros=$top/.venv-ros
for folder in "$ros" "$messages"; do
  [ -d "$folder" ] || { echo "with_ros.sh: $folder is missing; make build makes it" >&2; exit 1; }
done

unset COLCON_PREFIX_PATH CMAKE_PREFIX_PATH ROS_DISTRO ROS_VERSION ROS_PYTHON_VERSION
export AMENT_PREFIX_PATH=$messages:$ros
export LD_LIBRARY_PATH=$messages/lib:$ros/lib
export RMW_IMPLEMENTATION=rmw_fastrtps_cpp
export PATH=$ros/bin:$PATH
export PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH=$build/python:$top/constrained_dynamics_ros
for folder in "$messages"/lib/python3*/site-packages; do PYTHONPATH=$PYTHONPATH:$folder; done
for folder in "$top"/.venv*/lib/python3*/site-packages/cmeel.prefix/share/example-robot-data/robots; do
  [ ! -d "$folder" ] || export EXAMPLE_ROBOT_DATA=${EXAMPLE_ROBOT_DATA:-$folder}
done
exec "$@"
