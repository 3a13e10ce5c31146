# brim convert, output.vdb, output.paraview: files, resuming, bad input, a build without OpenVDB.

write_splash_3d() {
    cat >"${1:-scene.yaml}" <<'SCENE'
brim: 1
domain: {size: [1, 1, 0.5], cells: 16}
time: {duration: 0.25, frame_rate: 16}
liquid:
  - box: {low: [0, 0, 0], high: [0.4, 0.9, 0.5]}
particles: {attributes: [age]}
threads: 1
SCENE
}

# Whether the build under test has OpenVDB.
has_vdb() {
    "$BRIM" run scene.yaml -o probe --quiet --frames 1 --set output.vdb=true 2>/dev/null
    local code=$?
    rm -rf probe
    [ $code -eq 0 ]
}

test_convert_writes_a_series_for_paraview() {
    write_splash_3d
    brim_gives 0 run scene.yaml -o d --quiet --set output.fields=true --set output.surface=ply
    brim_gives 0 convert d --to vtp
    says out "5 frames"
    there d/paraview/run.pvd d/paraview/particles_000004.vtp d/paraview/surface_000000.vtp
    absent d/paraview/particles_000005.vtp d/paraview/foam_000001.vtp
    [ "$(grep -c '<DataSet ' d/paraview/run.pvd)" -eq 15 ] || give_up "not 15 files in run.pvd"
    grep -q 'timestep="0.0625".*particles_000001.vtp' d/paraview/run.pvd || give_up "no time"
    grep -q '../fields/000004.vti' d/paraview/run.pvd || give_up "no fields"
    grep -aq 'Name="age"' d/paraview/particles_000002.vtp || give_up "no attribute"
    if command -v xmllint >/dev/null; then
        xmllint --noout d/paraview/run.pvd || give_up "run.pvd is no XML"
    fi
    brim_gives 0 convert d --to vtp --overwrite --json
    valid_json_lines out
    [ "$(grep -c '"event":"frame"' out)" -eq 5 ] || give_up "not 5 frames"
    [ -z "$(find d -name '*brim-tmp')" ] || give_up "temporary files are left"
}

test_a_run_writes_what_convert_writes() {
    write_splash_3d
    brim_gives 0 run scene.yaml -o d --quiet --set output.paraview=true
    says_not err "warning"
    mv d/paraview running
    brim_gives 0 convert d --to vtp --quiet
    diff -r running d/paraview || give_up "other bytes while running"
    brim_gives 0 run scene.yaml -o d --overwrite
    absent d/paraview
    brim_gives 0 run scene.yaml -o e --set output.paraview=true --frames 2 --quiet
    brim_gives 0 run scene.yaml -o e --set output.paraview=true --resume
    says out "in e/: particles/, "
    says out "paraview/, "
    diff -r running e/paraview || give_up "other bytes after a resume"
    write_scene flat.yaml
    brim_gives 0 run flat.yaml -o f --quiet --frames 2 --set output.paraview=true # 2D as well
    there f/paraview/particles_000002.vtp
}

test_convert_keeps_or_replaces_only_when_told() {
    write_splash_3d
    brim_gives 0 run scene.yaml -o d --quiet
    brim_gives 0 convert d --to vtp --last 1 --quiet
    silent out
    absent d/paraview/particles_000002.vtp
    brim_gives 2 convert d --to vtp
    says err "--resume"
    brim_gives 2 convert d --to vtp --resume --overwrite
    brim_gives 0 convert d --to vtp --resume
    says out "2 that were there"
    [ "$(grep -c '<DataSet ' d/paraview/run.pvd)" -eq 5 ] || give_up "not 5 frames in run.pvd"
    brim_gives 0 convert d --to vtp --frame 3 -o apart --quiet
    there apart/run.pvd apart/particles_000003.vtp
    absent apart/particles_000004.vtp
}

test_convert_refuses_bad_input() {
    write_splash_3d
    write_scene flat.yaml
    brim_gives 0 run scene.yaml -o d --quiet
    brim_gives 2 convert d
    says err "--to vdb, --to vtp or --to solids"
    brim_gives 2 convert d --to abc
    says err "not 'abc'"
    brim_gives 2 convert scene.yaml --to vtp
    brim_gives 3 convert nowhere --to vtp
    brim_gives 2 convert d --to vtp --frame 99
    says err "from 0 to 4"
    brim_gives 2 convert d --to vtp --frame 1 --last 3
    mkdir empty
    brim_gives 2 convert empty --to vtp
    brim_gives 2 run scene.yaml -o e --set output.paraview=true --set output.particles=false
    says err "output.paraview"
    brim_gives 2 run flat.yaml -o e --set output.vdb=true
    says err "output.vdb"
    absent e d/paraview
    head -c 3000 d/particles/000002.ply >cut && mv cut d/particles/000002.ply
    brim_gives 6 convert d --to vtp
    there d/paraview/particles_000001.vtp
    absent d/paraview/particles_000002.vtp
}

test_convert_writes_openvdb() {
    write_splash_3d
    has_vdb || { echo "skipped: this build has no OpenVDB"; return; }
    brim_gives 0 run scene.yaml -o d --quiet --set output.fields=true --set output.vdb=true
    mv d/vdb running
    brim_gives 0 convert d --to vdb --quiet
    for frame in 1 2 3 4; do same_file running/00000$frame.vdb d/vdb/00000$frame.vdb; done
    brim_gives 0 convert d --to vdb --quiet --threads 3 -o again
    diff -r again d/vdb || give_up "other bytes with three threads"
    rm -r d/fields d/vdb # velocity from the particles then
    brim_gives 0 convert d --to vdb --resolution 1
    says out "5 frames"
    brim_gives 0 info d/vdb/000004.vdb
    says out "level set, float, m"
    says out "voxels of 0.0625 m"
    says out "vec3s, m/s"
    says out "time          0.25 s"
    head -c 2000 d/vdb/000004.vdb >cut.vdb
    brim_gives 6 info cut.vdb
    brim_gives 0 run scene.yaml -o d --overwrite --quiet
    absent d/vdb
    write_scene flat.yaml
    brim_gives 0 run flat.yaml -o f --quiet --frames 1
    brim_gives 2 convert f --to vdb
    says err "3D"
    brim_gives 0 run scene.yaml -o band --quiet --frames 2 --set band.width=3 --set output.vdb=true
    there band/vdb/000002.vdb
    brim_gives 2 convert band --to vdb --overwrite
    says err "narrow band"
}

test_a_build_without_openvdb_says_so() {
    write_splash_3d
    has_vdb && { echo "skipped: this build has OpenVDB"; return; }
    brim_gives 0 run scene.yaml -o d --quiet --frames 1
    brim_gives 1 convert d --to vdb
    says err "setup.sh --vdb"
    absent d/vdb
    brim_gives 1 run scene.yaml -o e --set output.vdb=true
    says err "setup.sh --vdb"
    absent e
}
