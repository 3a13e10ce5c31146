#!/bin/bash
# Opens what Brim writes in the programs that it is written for: ParaView plays a run, Blender and
# OpenVDB's own tools open .vdb files, Chromium opens the page of brim live; scripts/check-viewers.sh
# does the rest. What is not installed
# fails: `make test-clients` installs it. Ends with "N passed, N failed".
#
#   tests/clients/run.sh [BUILD]     PICTURES=DIR keeps the pictures
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:-build}
brim=$build/brim
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
PICTURES=${PICTURES:-$WORK}
mkdir -p "$PICTURES"
export WORK PICTURES PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD/tests/clients
passed=0
failed=0

# check NAME COMMAND...: shows what the command said when it fails
check() {
    local name=$1
    shift
    if "$@" >"$WORK/log" 2>&1; then
        grep -E '^ *ok |^     ' "$WORK/log"
        echo "ok   $name"
        passed=$((passed + 1))
    else
        cat "$WORK/log"
        echo "FAIL $name"
        failed=$((failed + 1))
    fi
}

make_runs() {
    "$brim" run scenes/dam.yaml -o "$WORK/run" --quiet --frames 12 --set domain.cells=48 \
        --set output.fields=true --set output.surface=ply --set output.every=4 \
        --set output.vdb=true --set output.paraview=true \
        --set 'particles.attributes=[age, source]' &&
        "$brim" convert "$WORK/run" --to vdb -o "$WORK/vdb" --quiet
}

# The class, the size of a voxel and the band, as OpenVDB's own tool reads them.
vdb_tools() {
    vdb_print -l -m "$WORK/run/vdb/000012.vdb" | tee "$WORK/print" &&
        grep -q 'class: level set' "$WORK/print" && grep -q 'unit: m/s' "$WORK/print" &&
        grep -q 'vector_type: contravariant relative' "$WORK/print"
}

# A drop that falls past a bar that turns and a wall that bends, with all that the add-on shows.
make_drop() {
    mkdir -p "$WORK/wall" && python3 tests/clients/wall.py "$WORK/wall" &&
        cp tests/clients/drop.yaml "$WORK" && "$brim" run "$WORK/drop.yaml" -o "$WORK/drop" --quiet --threads 1 --frames 5
}

# A user folder of its own: what is installed there ends with the test.
in_addon() {
    BRIM=$brim ADDON=$build/brim-blender.zip BLENDER_USER_SCRIPTS=$WORK/scripts BLENDER_USER_CONFIG=$WORK/config \
        blender -b --factory-startup --python-use-system-env --python-exit-code 1 \
        --python tests/clients/in_addon.py
}

# A screen of its own, which says its number once it is ready: Debian's ParaView draws on no other.
on_screen() {
    local number code
    mkfifo "$WORK/screen"
    Xvfb -displayfd 3 -screen 0 1280x720x24 -nolisten tcp 3>"$WORK/screen" 2>"$WORK/screen.log" &
    local server=$!
    read -r -t 60 number <"$WORK/screen" || cat "$WORK/screen.log"
    DISPLAY=:$number "$@"
    code=$?
    kill "$server"
    wait "$server"
    rm -f "$WORK/screen"
    return "$code"
}

check "runs for other programs" make_runs
check "Blender: a run for the add-on" make_drop
check "Blender: add-on imports, blurs, bakes" in_addon
check "OpenVDB: vdb_print" vdb_tools
check "ParaView: series, velocities, probe, picture" on_screen pvpython \
    tests/clients/in_paraview.py
check "Blender: volumes" blender -b --factory-startup --python-use-system-env \
    --python-exit-code 1 --python tests/clients/in_blender.py
check "Chromium: brim live and brim view" node tests/live/browser.mjs "$build"
check "ParaView and Blender: frames, surfaces, fields" scripts/check-viewers.sh "$build"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
