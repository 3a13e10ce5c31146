#!/bin/bash
# The bits of all scenes on each instruction set that this processor knows. scripts/test-isa.sh BUILD
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
scripts/bits.sh "$build" >"$build/bits"
for isa in base avx2 avx512; do
    BITS_FLAGS="--set isa=$isa" scripts/bits.sh "$build" | diff "$build/bits" -
    echo "all scenes: same bits with isa $isa"
done
