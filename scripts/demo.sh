#!/bin/bash
# Runs the default scene and draws its last frame and the splash, ray-traced. Called by `make demo`
# once all is built.
set -eu
brim=${1:-build}/brim
out=out/dam

"$brim" run scenes/dam.yaml -o "$out" --overwrite
"$brim" render "$out" -o "$out.png"
"$brim" render "$out" --frame 22 -o "$out-splash.png"
echo
echo "pictures     $out.png, $out-splash.png   (a film: $brim render $out -o $out.mp4)"
echo "particles    $out/particles/*.ply   (Blender, ParaView)"
echo "statistics   $out/stats.csv"
