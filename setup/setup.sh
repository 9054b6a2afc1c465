#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors
# Brings a machine to the state in which the project can be configured: Debian packages by apt where
# that is permitted, PyPI packages into a virtual environment. A second run finds everything in place,
# needs no network and takes a fraction of a second.
#
# usage: setup/setup.sh [--sanitizers] [--bench] [--docs] [--gallery]
#        setup/setup.sh --lint
#   --sanitizers   also the compiler of the presets asan-ubsan, tsan and rtsan
#   --bench        also the peers that `make bench` measures
#   --docs         also what `make docs` needs
#   --gallery      also what `make gallery` needs
#   --lint         only the tools of `make lint` and `make format`: .venv-lint
# environment:
#   CD_SKIP_APT=1  leave Debian packages alone (their parts come from somewhere else)
#   CD_SKIP_ROS=1  no .venv-ros: scenario_host and its tests are left out
#   CD_PYTHON=...  the Python interpreter that makes the virtual environment
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf 'set-up: %s\n' "$*"; }
fail() {
  printf 'set-up failed: %s\n' "$1" >&2
  shift
  [ $# -eq 0 ] || printf '  %s\n' "$@" >&2
  exit 1
}

package_lists=(setup/debian-packages.txt)
additions=()
lint_only=
bench=
for argument in "$@"; do
  case "$argument" in
    --sanitizers) package_lists+=(setup/debian-packages-sanitizers.txt) ;;
    --bench)
      package_lists+=(setup/debian-packages-bench.txt)
      bench=1
      ;;
    --docs)
      package_lists+=(setup/debian-packages-docs.txt)
      additions+=(docs)
      ;;
    --gallery) additions+=(gallery) ;;
    --lint)
      package_lists=(setup/debian-packages-lint.txt)
      lint_only=1
      ;;
    *) fail "'$argument' is unknown; allowed are --sanitizers, --bench, --docs, --gallery and --lint." ;;
  esac
done

# Two set-ups at a time would write into the same folders.
exec 9<setup
flock 9

# ---- Debian packages -------------------------------------------------------------------------------

missing_packages() {
  local package
  grep -hv '^#' "${package_lists[@]}" | while read -r package; do
    case "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" in
      installed) ;;
      *) printf '%s ' "$package" ;;
    esac
  done
}

install_debian_packages() {
  local missing as_root=() log
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  say "Debian packages missing: $missing"
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      as_root=(sudo -n)
    else
      fail "these Debian packages are missing and this user may not install them: $missing" \
        "Ask an administrator for, or run yourself:  sudo apt-get install $missing"
    fi
  fi
  log=$(mktemp)
  say "apt-get update"
  if ! "${as_root[@]}" apt-get update >"$log" 2>&1; then
    say "apt-get update reported errors; trying with the package lists at hand"
  fi
  say "apt-get install $missing"
  # shellcheck disable=SC2086  # a list of words
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends $missing >>"$log" 2>&1; then
    grep -E '^(E|Err|W):?' "$log" | tail -n 15 >&2 || true
    rm -f "$log"
    fail "apt could not install these Debian packages: $(missing_packages)" \
      "The lines above are apt's. Is there a network, and do the sources in /etc/apt name a mirror?"
  fi
  rm -f "$log"
}

if [ -n "${CD_SKIP_APT:-}" ]; then
  say "CD_SKIP_APT is set: Debian packages are not looked at"
elif command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
  install_debian_packages
else
  say "this is not a Debian system; these parts must be there under their local names:" \
    "$(grep -hv '^#' "${package_lists[@]}" | tr '\n' ' ')"
fi

# ---- PyPI packages ---------------------------------------------------------------------------------

# find_python OLDEST: a Python of that version (such as 3.9) or newer that can make environments and
# speak TLS. The system's own comes first: its development files are the ones that apt installs.
find_python() {
  local candidate
  for candidate in ${CD_PYTHON:-/usr/bin/python3 python3}; do
    if "$candidate" -c "import ensurepip, ssl, sys, venv; sys.exit(sys.version_info < (${1/./, }))" \
      2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  fail "no Python $1 or newer with venv, ensurepip and ssl was found." \
    "Tried: ${CD_PYTHON:-/usr/bin/python3 python3}.  On Debian:  apt-get install python3-venv"
}

# install_packages ENVIRONMENT REQUIREMENTS LOG GIVE_UP: what the file names, and nothing else (--no-deps);
# GIVE_UP is called with the reasons.
install_packages() {
  local venv=$1 requirements=$2 log=$3 index reasons errors
  "$venv/bin/python" -m pip --disable-pip-version-check --no-input install --no-deps \
    --only-binary :all: --progress-bar off -r "$requirements" 2>"$log.err" >"$log" && {
    rm -f "$log.err"
    return 0
  }
  index=$("$venv/bin/python" -m pip config get global.index-url 2>/dev/null) || index=
  index=${PIP_INDEX_URL:-${index:-https://pypi.org/simple}}
  # The retries say why the connection broke, the errors what was wanted.
  reasons=$(grep -oE "broken by '.*" "$log.err" | tail -n 1 | cut -c 1-300) || reasons=
  errors=$(grep -E '^ERROR' "$log.err" | tail -n 3) || errors=
  rm -f "$log.err"
  "$4" "the PyPI packages of $requirements could not be had from $index." \
    "$(sed "2,\$s/^/  /" <<<"${errors:-pip gave no reason.}")" "${reasons:+connection $reasons}" \
    "Is there a network? A mirror can be named by the environment variable PIP_INDEX_URL."
}

# make_environment FOLDER REQUIREMENTS OLDEST_PYTHON WHAT [REPAIR]: a virtual environment with exactly the
# packages that a file names, and then a Python script run in it.
make_environment() {
  local venv=$1 requirements=$2 oldest=$3 what=$4 repair=${5:-}
  local stamp=$venv/set-up-complete wanted python count log
  # The stamp is written last and holds what the environment was made from.
  wanted="$(cat "$requirements" ${repair:+"$repair"} | sha256sum | cut -d' ' -f1) $PWD/$venv"
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && "$venv/bin/python" -c '' 2>/dev/null; then
    return 0
  fi
  python=$(find_python "$oldest")
  count=$(grep -cv '^#' "$requirements")
  say "PyPI packages $what into $venv ($count of them)"
  rm -rf "$venv"
  log=$(mktemp)
  give_up() {
    rm -rf "$venv" "$log"
    fail "$@"
  }
  # shellcheck disable=SC2064  # the names of now
  trap "rm -rf '$venv' '$log'; exit 130" INT TERM
  "$python" -m venv "$venv" >"$log" 2>&1 ||
    give_up "$python could not make a virtual environment: $(tail -n 1 "$log")" \
      "On Debian:  apt-get install python3-venv"
  "$venv/bin/python" -m pip --version >/dev/null 2>&1 ||
    "$venv/bin/python" -m ensurepip --upgrade >"$log" 2>&1 ||
    give_up "there is no pip in the new virtual environment: $(tail -n 1 "$log")" \
      "On Debian:  apt-get install python3-venv"
  install_packages "$venv" "$requirements" "$log" give_up
  # Of meshcat only the JavaScript is used: its server's requirements are left out on purpose.
  "$venv/bin/python" -m pip --disable-pip-version-check check 2>&1 | grep -v '^meshcat ' >"$log" || true
  grep -q 'requires\|which has\|incompatible' "$log" &&
    say "pip check of $venv: $(tr '\n' ';' <"$log")"
  if [ -n "$repair" ] && ! "$venv/bin/python" -B "$repair" >"$log" 2>&1; then
    give_up "$repair failed in $venv: $(tail -n 1 "$log")"
  fi
  printf '%s\n' "$wanted" >"$stamp"
  rm -f "$log"
  trap - INT TERM
  say "$venv is complete"
}

if [ -n "$lint_only" ]; then
  make_environment .venv-lint setup/requirements-lint.txt 3.10 "of make lint"
  exit 0
fi

venv=.venv
make_environment "$venv" setup/requirements-pinocchio-4.1.txt 3.11 \
  "for Pinocchio 4.1, some 0.5 GB to download,"

# Packages of one target alone, into the same environment, each with a stamp of its own.
for addition in "${additions[@]}"; do
  requirements=setup/requirements-$addition.txt
  stamp=$venv/set-up-$addition-complete
  wanted=$(sha256sum <"$requirements" | cut -d' ' -f1)
  if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
    say "PyPI packages for make $addition into $venv"
    log=$(mktemp)
    install_packages "$venv" "$requirements" "$log" fail
    rm -f "$log"
    printf '%s\n' "$wanted" >"$stamp"
  fi
done

# TSID has wheels for one kind of processor, and needs another Pinocchio.
case "${bench:-no}-$(uname -s)-$(uname -m)" in
  no-*) ;;
  1-Linux-x86_64) make_environment .venv-tsid setup/requirements-tsid.txt 3.11 "of TSID" ;;
  *) say "no wheels of TSID for $(uname -m): it is left out of the benchmark" ;;
esac

# ROS 2 for machines without it. PyPI has its wheels for two kinds of processors and some versions of Python.
ros_python=$("$venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
case "${CD_SKIP_ROS:+skip}-$(uname -s)-$(uname -m)-$ros_python" in
  -Linux-x86_64-3.1[0-4] | -Linux-aarch64-3.1[0-4])
    make_environment .venv-ros setup/requirements-ros.txt 3.10 "of ROS 2" setup/ros_wheels/repair.py ;;
  skip-*) say "CD_SKIP_ROS is set: no .venv-ros" ;;
  *) say "no ROS wheels for $(uname -m) and Python $ros_python: scenario_host and its tests are left out" ;;
esac
