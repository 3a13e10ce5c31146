#!/bin/bash
# Installs the Debian packages that Brim builds with, those that are missing, and says which and
# why. With everything in place it returns at once and calls no package manager.
#
#   scripts/setup.sh             what a full build needs
#   scripts/setup.sh --page      also what the page of brim live is built with: Node, npm packages
#   scripts/setup.sh --page-here the same where npm is there already
#   scripts/setup.sh --vdb       also OpenVDB, for .vdb files (65 MB; a C++ compiler)
#   scripts/setup.sh --test      also what fuzzing and the whole install test need
#   scripts/setup.sh --clients   also what `make test-clients` opens our files with (2.5 GB)
set -eu

packages=()
reasons=()
options=" $* "

asked_for() { [[ $options == *" $1 "* ]]; }

# need PACKAGE REASON TEST...: PACKAGE is missing when TEST fails
need() {
    local package=$1 reason=$2
    shift 2
    if ! "$@" >/dev/null 2>&1; then
        packages+=("$package")
        reasons+=("$reason")
    fi
}

has_header() { echo "#include <$1>" | "${2:-gcc}" -E -x c -; }
has_cxx_header() { echo "#include <$1>" | g++ -E -x c++ -; }
has_runtime() { test -n "$(find "$(clang -print-resource-dir)/lib" -name 'libclang_rt.fuzzer*.a')"; }

need gcc "the compiler" command -v gcc
need libc6-dev "headers of the C library" has_header stdio.h
need pkg-config "finds the libraries below" command -v pkg-config
need libyaml-dev "reads scene files" pkg-config --exists yaml-0.1
need libpng-dev "writes pictures" pkg-config --exists libpng
need libzstd-dev "compresses checkpoints" pkg-config --exists libzstd
need libembree-dev "ray-traced pictures" has_header embree3/rtcore.h
need ffmpeg "films" command -v ffmpeg
need libwebsockets-dev "serves brim live and brim view" pkg-config --exists libwebsockets
if asked_for --page || asked_for --clients; then
    need nodejs "builds the page of brim live" command -v node
    need npm "fetches what the page is built with" command -v npm
fi
if asked_for --vdb || asked_for --clients; then
    need g++ "the C++ compiler, for OpenVDB" command -v g++
    need libopenvdb-dev "writes .vdb files" has_cxx_header openvdb/version.h
    need libboost-dev "headers that OpenVDB needs" has_cxx_header boost/uuid/uuid.hpp
fi
if asked_for --clients; then
    need libopenvdb-tools "reads .vdb files" command -v vdb_print
    need blender "opens frames and .vdb files" command -v blender
    need python3-numpy "the add-on for Blender reads frames with it" /usr/bin/python3 -c "import numpy"
    need paraview "plays runs" command -v paraview
    need python3-paraview "tests ParaView" command -v pvpython
    need xvfb "a screen for ParaView to draw on" command -v Xvfb
    need chromium "opens the page of brim live" command -v chromium
fi
if asked_for --test; then
    need clang "second compiler, fuzzing" command -v clang
    need libclang-rt-14-dev "sanitizers and fuzzer of clang" has_runtime
    need cmake "tests the CMake package" command -v cmake
    need libxml2-utils "checks plots" command -v xmllint
fi

# What the page is built with, by its lock file, into viewer/node_modules. Without it all else works.
fetch_page() {
    asked_for --page || asked_for --clients || asked_for --page-here || return 0
    command -v npm >/dev/null || return 0
    cd "$(dirname "$0")/../viewer"
    [ node_modules/.package-lock.json -nt package-lock.json ] && return 0
    echo "Fetching what the page of brim live is built with: npm ci, in viewer/"
    if ! npm ci --no-audit --no-fund --fetch-retries 2 --fetch-timeout 60000 >/dev/null; then
        echo "npm ci failed: the command is built without the page of brim live" >&2
        asked_for --page-here || exit 1
    fi
}

if [ ${#packages[@]} -eq 0 ]; then
    fetch_page
    exit 0
fi

command="apt-get install -y --no-install-recommends ${packages[*]}"
echo "Brim needs ${#packages[@]} package(s) that this machine does not have:"
for i in "${!packages[@]}"; do
    printf '  %-20s %s\n' "${packages[i]}" "${reasons[i]}"
done

if ! command -v apt-get >/dev/null; then
    echo "This is not Debian: install what corresponds to these packages, then try again." >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "Installing them takes root, and there is no sudo here. As root, run:" >&2
        echo "  apt-get update && $command" >&2
        exit 1
    fi
    as_root=(sudo)
fi
echo "Installing: ${as_root[*]:+sudo }$command"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# An update that fails (offline, a dead mirror) is no reason to stop: the packages may be at hand.
"${as_root[@]}" apt-get update >"$log" 2>&1 || true
# shellcheck disable=SC2086
if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive $command >>"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "Installing failed. Try yourself: ${as_root[*]:+sudo }apt-get update && ${as_root[*]:+sudo }$command" >&2
    exit 1
fi
echo "Installed."
fetch_page
