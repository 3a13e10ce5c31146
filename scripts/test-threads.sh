#!/bin/bash
# What runs on several threads, under ThreadSanitizer: the team and the loops of each module by unit
# tests, whole steps by short runs of scenes. scripts/test-threads.sh BUILD
set -eu
cd "$(dirname "$0")/.."
build=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TSAN_OPTIONS="halt_on_error=1 exitcode=66"

"$build/unit-tests" team_ sort_ solve_same trace_contour

# Plain kernels: the sanitizer does not see the masked loads and stores of wider ones.
scene() { # scene NAME [--set ...]
    local name=$1
    shift
    "$build/brim" run "scenes/$name.yaml" -o "$folder/run" --overwrite --quiet --set isa=base \
        --set output.checkpoint_every=0 "$@"
    echo "ok   $name"
}
scene dam --set domain.cells=48 --frames 2
scene dam --set domain.cells=32 --set solver.transfer=apic --set solver.surface=flags --frames 2
scene rotating-cuboid --set domain.cells=32 --set surface.tracking=responsive --threads 4 --frames 2
scene dam --set domain.cells=32 --set mpm.substeps=4 --threads 16 --frames 6
scene rotating-cuboid --set domain.cells=32 --frames 2
scene rotating-cuboid --set domain.cells=32 --set viscosity=50 --set surface_tension=1 --frames 1
scene inflow-cup --set domain.cells=[24,32,24] --set band.width=3 --frames 3
scene band-dam-cylinders --set domain.cells=50 --frames 2
scene crates --set domain.cells=24 --frames 1
scene rim-drop --frames 1
scene warp-drop --set domain.cells=24 --frames 1
scene warp-comb --set domain.cells=24 --set band.width=3 --frames 1
