#!/bin/bash
# The build for tests in BUILD/guard against the usual one: guard tests, then the bits of all scenes.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
export BITS_JOBS=${BITS_JOBS:-$(nproc)}
"$build/guard/unit-tests" guard_ stages_ fields_
scripts/bits.sh "$build" >"$build/guard/bits"
BITS_FLAGS="--threads 1" scripts/bits.sh "$build/guard" | diff "$build/guard/bits" - && echo "all scenes: same bits, no stage strays"
