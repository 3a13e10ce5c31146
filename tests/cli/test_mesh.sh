# brim mesh and output.surface: files, resuming, bad input.

# A small dam break in 3D: 4 frames.
write_scene_3d() {
    cat >"${1:-scene.yaml}" <<'SCENE'
brim: 1
domain: {size: [1, 1, 0.5], cells: 12}
time: {duration: 0.2, frame_rate: 20}
liquid:
  - box: {low: [0, 0, 0], high: [0.4, 0.6, 0.5]}
solids:
  - sphere: {center: [0.7, 0.1, 0.25], radius: 0.15}
threads: 1
SCENE
}

test_mesh_writes_a_surface_for_each_frame() {
    write_scene_3d
    brim_gives 0 run scene.yaml -o d --quiet
    brim_gives 0 mesh d
    there d/surface/000000.ply d/surface/000004.ply
    absent d/surface/000005.ply
    says out "5 surfaces"
    [ -z "$(find d -name '*brim-tmp')" ] || give_up "temporary files are left"
    brim_gives 0 info d/surface/000004.ply
    says out "surface, binary PLY"
    says out "faces"
    head -c 400 d/surface/000000.ply | grep -aq "property float nx" || give_up "no normals"
    brim_gives 0 mesh d -o other --frame 2 --format obj --quiet
    silent out
    there other/000002.obj
    absent other/000001.obj
    brim_gives 0 mesh d -o range --first 1 --last 2 --resolution 1 --smooth 0 --radius 2
    [ "$(ls range | tr '\n' ' ')" = "000001.ply 000002.ply " ] || give_up "not the range"
}

test_mesh_is_the_same_for_threads_and_while_running() {
    write_scene_3d
    brim_gives 0 run scene.yaml -o d --set output.surface=ply --quiet
    for threads in 1 2 3 8; do
        brim_gives 0 mesh d -o "t$threads" --threads $threads --quiet
        diff -rq d/surface "t$threads" || give_up "$threads threads: other bytes"
    done
    brim_gives 0 run scene.yaml -o e --quiet --set output.surface=obj \
        --set output.surface_resolution=1 --set output.surface_anisotropic=true
    brim_gives 0 mesh e -o t1o --format obj --resolution 1 --anisotropic
    diff -rq e/surface t1o || give_up "the run's surfaces differ"
}

test_mesh_keeps_or_replaces_only_when_told() {
    write_scene_3d
    brim_gives 0 run scene.yaml -o d --quiet
    brim_gives 0 mesh d --last 1 --quiet
    echo mine >d/surface/000001.ply
    brim_gives 2 mesh d
    says err "--resume"
    says err "--overwrite"
    brim_gives 2 mesh d --resume --overwrite
    brim_gives 0 mesh d --resume
    says out "3 surfaces"
    says out "2 that were there"
    [ "$(cat d/surface/000001.ply)" = mine ] || give_up "a surface was not kept"
    brim_gives 0 mesh d --overwrite --quiet
    [ "$(head -c 3 d/surface/000001.ply)" = ply ] || give_up "a surface was not replaced"
    brim_gives 0 run scene.yaml -o d --overwrite --quiet
    absent d/surface
}

test_mesh_json_lines() {
    write_scene_3d
    brim_gives 0 run scene.yaml -o d --quiet --frames 1
    brim_gives 0 mesh d --json
    silent err
    valid_json_lines out
    [ "$(grep -c '"event":"frame"' out)" -eq 2 ] || give_up "not two frames"
    tail -n 1 out | grep -q '"event":"done"' || give_up "no summary"
}

test_mesh_of_an_empty_frame_is_empty_and_says_so() {
    write_scene_3d
    brim_gives 0 run scene.yaml -o d --quiet --frames 1 --set 'liquid=[]' --set \
        'sources=[{box: {low: [0.1, 0.5, 0.1], high: [0.3, 0.6, 0.3]}, velocity: [0, -1, 0], start: 9}]'
    brim_gives 0 mesh d
    says err "frame 0 has no particles"
    grep -aq "element face 0" d/surface/000000.ply || give_up "not an empty surface"
}

test_mesh_refuses_bad_input() {
    write_scene_3d
    brim_gives 3 mesh nowhere
    says err "nowhere"
    mkdir empty
    brim_gives 2 mesh empty
    says err "holds no frames"
    brim_gives 2 mesh
    brim_gives 2 mesh scene.yaml
    says err "not a folder"
    brim_gives 0 run scene.yaml -o d --quiet --frames 2
    brim_gives 2 mesh d --frame 7
    says err "no frame 7"
    brim_gives 2 mesh d --first 5 --last 9
    brim_gives 2 mesh d --resolution 4
    brim_gives 2 mesh d --radius 9
    brim_gives 2 mesh d --format stl
    brim_gives 2 mesh d --frame 1 --last 2
    absent d/surface
    rm d/particles/000001.ply
    brim_gives 0 mesh d --quiet
    there d/surface/000000.ply d/surface/000002.ply
    absent d/surface/000001.ply
    truncate -s -40 d/particles/000002.ply
    brim_gives 6 mesh d -o new --quiet
    says err "000002.ply"
    there new/000000.ply
    absent new/000002.ply new/000002.ply.brim-tmp
    touch file
    brim_gives 3 mesh d -o file/below
    brim_gives 2 run scene.yaml -o r --set output.surface_radius=0.2
    says err "surface_radius"
}

test_mesh_is_for_3d() {
    write_scene
    brim_gives 0 run scene.yaml -o d --quiet --frames 1
    brim_gives 2 mesh d
    says err "3D"
    absent d/surface
    brim_gives 2 run scene.yaml -o e --set output.surface=ply
    says err "output.surface"
    write_scene_3d band.yaml
    brim_gives 0 run band.yaml -o f --quiet --frames 1 --set band.width=2
    brim_gives 2 mesh f
    says err "output.interior"
    brim_gives 0 run band.yaml -o g --quiet --frames 1 --set band.width=2 \
        --set output.interior=true --set output.surface=ply
    brim_gives 0 mesh g -o again --quiet
    cmp g/surface/000001.ply again/000001.ply || give_up "not the surface that the run wrote"
}

test_mesh_stops_at_a_signal_and_goes_on() {
    write_scene_3d
    sed -i 's/cells: 12/cells: 32/' scene.yaml
    brim_gives 0 run scene.yaml -o d --quiet
    "$BRIM" mesh d --resolution 3 --threads 1 >out 2>err &
    local pid=$!
    while [ ! -e d/surface/000000.ply ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
    kill -INT $pid
    wait $pid
    code=$?
    [ $code -eq 130 ] || [ $code -eq 0 ] || give_up "exit code $code"
    [ $code -eq 0 ] || says err "--resume"
    [ -z "$(find d -name '*brim-tmp')" ] || give_up "temporary files are left"
    brim_gives 0 mesh d --resolution 3 --resume
    there d/surface/000004.ply
}

test_mesh_tells_how_steady_surfaces_are() {
    write_scene_3d
    brim_gives 0 run scene.yaml -o d --quiet
    brim_gives 0 mesh d --steadiness
    says out "steadiness  jump between frames beyond the flow: median 0.0"
    brim_gives 0 mesh d --steadiness --overwrite --json
    tail -n 1 out | grep -Eq '"steadiness":\{"median":0\.[0-9]+,"most":[0-9.]+,"largest":[0-9.]+,"beyond":0' ||
        give_up "no steadiness in: $(tail -n 1 out)"
    brim_gives 0 mesh d --overwrite
    says_not out "steadiness"
}
