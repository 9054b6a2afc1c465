#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
# Runs the tests of a build folder and says at the end what ran and what was left out.
#
# usage: setup/run_tests.sh BUILD_FOLDER [option of ctest...]
set -uo pipefail
build=$1
shift

echo "== test: $build"
ctest --test-dir "$build" --output-on-failure --no-tests=error --output-junit "$PWD/$build/tests.xml" "$@"
result=$?

# One attribute of the report's first element.
count() { sed -n "s/^[[:space:]]*$1=\"\([0-9]*\)\".*/\1/p" "$build/tests.xml" 2>/dev/null | head -n 1; }
total=$(count tests)
failed=$(count failures)
skipped=$(count skipped)
disabled=$(count disabled)

# The ROS packages belong to the release build, not to campaigns and sanitizers.
ros_log=$build/ros_tests.log
rm -f "$ros_log"
case "$build $*" in
  build/release*-L\ campaign*) ;;
  build/release*)
    jobs=$(sed -n 's/.*-j \([0-9]*\).*/\1/p' <<<"$*")
    setup/ros_tests.sh "$build" "${jobs:-1}" 2>&1 | tee "$ros_log"
    ros_result=${PIPESTATUS[0]}
    [ "$result" -ne 0 ] || result=$ros_result
    ;;
esac

echo "== summary"
if [ -n "$total" ]; then
  echo "ran:     $((total - skipped - disabled)) tests of $build, $failed failed"
  [ "$skipped" -eq 0 ] || echo "skipped: $skipped tests (ctest lists them above)"
  [ "$disabled" -eq 0 ] || echo "skipped: $disabled tests that are disabled"
fi
[ -f .venv-ros/set-up-complete ] ||
  echo "skipped: scenario_host through DDS and checks of ROS files (no .venv-ros; setup/setup.sh says why)"
grep -sE '^(ran|skipped|failed): ' "$ros_log"
exit "$result"
