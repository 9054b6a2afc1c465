#!/usr/bin/env bash
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

echo "== summary"
if [ -n "$total" ]; then
  echo "ran:     $((total - skipped - disabled)) tests of $build, $failed failed"
  [ "$skipped" -eq 0 ] || echo "skipped: $skipped tests (ctest lists them above)"
  [ "$disabled" -eq 0 ] || echo "skipped: $disabled tests that are disabled"
fi
ros=$(ls -d /opt/ros/*/setup.bash 2>/dev/null | head -n 1)
if [ -z "${ROS_DISTRO:-}$ros" ]; then
  echo "skipped: C++ ROS packages (no ROS 2 installation: ROS_DISTRO is not set, /opt/ros has none)"
else
  echo "skipped: C++ ROS packages (the repository has none yet; ROS 2 is there: ${ROS_DISTRO:-$ros})"
fi
exit $result
