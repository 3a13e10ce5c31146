#!/bin/bash
# Runs the default scene and draws its last frame. Called by `make demo` once all is built.
set -eu
brim=${1:-build}/brim
out=out/dam

"$brim" run scenes/dam.yaml -o "$out" --overwrite
"$brim" render "$out" -o "$out.png"
echo
echo "picture      $out.png"
echo "particles    $out/particles/*.ply   (Blender, ParaView)"
echo "statistics   $out/stats.csv"
