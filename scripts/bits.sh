#!/bin/bash
# Two hashes for each scene, small and short: of its last frame, and of its statistics without timings and
# memory (a new column changes the second). BITS_FLAGS holds further options of brim run, BITS_JOBS how many
# scenes run at a time, on one thread each where that is more than one. A change that only moves code leaves
# all of them as they were:
#
#   scripts/bits.sh build > before; ...; scripts/bits.sh build | diff before -
set -eu
cd "$(dirname "$0")/.."
brim=${1:-build}/brim
jobs=${BITS_JOBS:-1}
[ "$jobs" -gt 1 ] && threads="--threads 1" || threads=
folder=$(mktemp -d)
trap 'wait; rm -rf "$folder"' EXIT

hashes() { # hashes NAME SCENE [--set ...]
    local name=$1 scene=$2 out="$folder/$1" columns
    shift 2
    "$brim" run "scenes/$scene.yaml" -o "$out" --overwrite --quiet --set output.checkpoint_every=0 --set output.every=1 $threads ${BITS_FLAGS:-} "$@"
    # columns named ms_* and memory_bytes are not part of the result
    columns=$(head -n 1 "$out/stats.csv" | tr ',' '\n' | grep -nvE '^(ms_|memory_bytes)' | cut -d: -f1 | paste -sd,)
    printf '%s %s %s\n' "$(sha256sum <"$(ls "$out"/particles/*.ply | tail -n 1)" | cut -c1-16)" \
        "$(cut -d, -f"$columns" "$out/stats.csv" | sha256sum | cut -c1-16)" "$name"
    rm -rf "$out"
}

names=
bits() { # as hashes, once a place is free
    names="$names $1"
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || exit 1; done
    hashes "$@" >"$folder/$1.bits" &
}

bits dam dam --set domain.cells=48 --frames 12
bits dam-apic dam --set domain.cells=48 --set solver.transfer=apic --frames 6
bits dam-none dam --set domain.cells=48 --set solver.volume=none --frames 6
bits dam-averaged dam --set domain.cells=48 --set solver.volume=averaged --frames 6
bits dam-direct dam --set domain.cells=48 --set solver.volume=direct --frames 6
bits dam-flags dam --set domain.cells=48 --set solver.surface=flags --frames 6
bits double-dam-2d double-dam-2d --frames 20
bits double-dam-3d double-dam-3d --set domain.cells=[32,64,32] --frames 20
bits hydrostatic-2d hydrostatic-2d --frames 10
bits sloshing-2d sloshing-2d --set domain.cells=64 --frames 10
bits inflow-cup inflow-cup --set domain.cells=[24,32,24] --frames 20
bits cup-band inflow-cup --set domain.cells=[24,32,24] --set band.width=2 --frames 36
bits rabbit-2d rabbit-2d --set domain.cells=[93,93] --frames 6
bits rotating-cuboid rotating-cuboid --set domain.cells=32 --frames 10
bits cuboid-band rotating-cuboid --set domain.cells=32 --set band.width=3 --frames 10
bits collapsed-basin collapsed-basin --set domain.cells=24 --frames 30
bits one-cell one-cell --set domain.cells=16 --frames 6
bits river river --set domain.cells=160 --frames 4
bits band-waves band-waves --frames 8
bits band-apic band-waves --set solver.transfer=apic --frames 8
bits band-pour band-pour --set domain.cells=[32,64,32] --frames 12
bits band-letters band-letters --set domain.cells=[64,48,32] --frames 12
bits band-dam-cylinders band-dam-cylinders --set domain.cells=50 --frames 16
bits dam-oil dam --set domain.cells=48 --set viscosity=1 --frames 6
bits cuboid-honey rotating-cuboid --set domain.cells=32 --set viscosity=100 --set solver.transfer=apic --frames 6
bits sloshing-slip sloshing-2d --set domain.cells=64 --set viscosity=0.5 --set walls.slip=free --frames 6
bits cup-tension inflow-cup --set domain.cells=[24,32,24] --set surface_tension=1 --set walls.contact_angle=60 --frames 12
bits band-tension band-waves --set surface_tension=1 --set viscosity=0.1 --frames 4
bits cuboid-tension rotating-cuboid --set domain.cells=32 --set surface_tension=1 --frames 4
bits dam-tracking dam --set domain.cells=48 --set surface.tracking=responsive --frames 6
bits dam-spray dam --set domain.cells=48 --set spray.speed=[1,2] --frames 12
bits dam-mpm dam --set domain.cells=32 --set mpm.substeps=2 --set solver.volume=none --frames 6
bits band-layers band-waves --set band.width=4 --set band.flip=2 --frames 6
bits cup-tracking inflow-cup --set domain.cells=[24,32,24] --set band.width=3 --set surface.tracking=responsive --frames 12
bits dam-friction dam --set domain.cells=32 --set walls.friction=0.01 --frames 4
bits crates crates --set domain.cells=32 --frames 4
bits immersed rim-drop --frames 2
bits warp-drop warp-drop --set domain.cells=24 --frames 3
bits warp-comb warp-comb --set domain.cells=24 --frames 3
bits warp-band warp-comb --set domain.cells=24 --set band.width=3 --frames 3
bits warp-dam warp-dam --set domain.cells=24 --frames 3
bits warp-tension warp-dam --set domain.cells=24 --set surface_tension=0.07 --set band.width=3 --frames 3

for _ in $names; do wait -n || [ $? = 127 ] || exit 1; done
for name in $names; do
    [ -s "$folder/$name.bits" ] || { echo "scripts/bits.sh: $name gave nothing" >&2; exit 1; }
    cat "$folder/$name.bits"
done
