#!/bin/bash
# Runs the default scene and draws its last frame and the splash, ray-traced. Called by `make demo`
# once all is built.
set -eu
brim=${1:-build}/brim
out=out/dam
# Threads spin for some microseconds at a barrier, then sleep: on a machine that is busy with other
# things as well, spinning for longer holds up the very thread that is waited for.
export GOMP_SPINCOUNT=${GOMP_SPINCOUNT:-1000}

"$brim" run scenes/dam.yaml -o "$out" --overwrite
"$brim" render "$out" -o "$out.png"
"$brim" render "$out" --frame 22 -o "$out-splash.png"
echo
echo "pictures     $out.png, $out-splash.png   (a film: $brim render $out -o $out.mp4)"
echo "particles    $out/particles/*.ply   (Blender, ParaView)"
echo "statistics   $out/stats.csv"
