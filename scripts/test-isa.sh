#!/bin/bash
# The bits of all scenes on each instruction set that this processor knows. Kernels of bodies and of
# distances to meshes take the widest set whatever `isa` says; unit tests compare those.
# scripts/test-isa.sh BUILD
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
export BITS_JOBS=${BITS_JOBS:-$(nproc)}
for isa in base avx2 avx512; do
    case $isa in
    avx2) grep -qw avx2 /proc/cpuinfo || continue ;;
    avx512) grep -qw avx512f /proc/cpuinfo || continue ;;
    esac
    BITS_FLAGS="--set isa=$isa" scripts/bits.sh "$build" >"$build/bits-$isa"
    diff "$build/bits-base" "$build/bits-$isa"
    echo "$(wc -l <"$build/bits-$isa") scenes: same bits with isa $isa as with base"
done
