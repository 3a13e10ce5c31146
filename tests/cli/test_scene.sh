# Scenes that are bad, and what check, fields, info and render say of good ones.

# refused TEXT SED: the scene changed by SED is refused with TEXT, exit code 2, nothing touched.
refused() {
    write_scene
    sed -i "$2" scene.yaml
    brim_gives 2 run scene.yaml -o out.d
    says err "brim: error:"
    says err "scene.yaml"
    says err "$1"
    absent out.d
    brim_gives 2 check scene.yaml --no-calibration
    says err "$1"
}

test_bad_scenes_touch_no_folder() {
    refused 'durashun' 's/duration/durashun/'
    refused 'per_cell' 's/per_cell: 4/per_cell: 5/'
    refused 'time.step' 's/step: 0.002/step: fast/'
    refused 'cells' 's/cells: .32, 32./cells: [32, 33]/'
    refused 'brim' 's/^brim: 1/brim: 99/'
    refused 'scene.yaml' 's/^time:/time: [/'
    : >scene.yaml
    brim_gives 2 run scene.yaml -o out.d
    absent out.d
}

test_bad_scene_names_the_line() {
    write_scene
    sed -i 's/frame_rate: 50/frame_rate: -3/' scene.yaml
    brim_gives 2 check scene.yaml
    grep -qE 'scene.yaml:8\b|scene.yaml.*line 8' err || give_up "line 8 is not named"
    says err "time.frame_rate"
}

test_missing_scene() {
    run_brim run nowhere.yaml -o out.d
    [ "$code" -eq 2 ] || [ "$code" -eq 3 ] || give_up "exit code $code"
    says err "nowhere.yaml"
    absent out.d
}

test_bad_scene_leaves_an_earlier_run_alone() {
    write_scene
    brim_gives 0 run scene.yaml -o out.d --quiet --frames 2
    before=$(fingerprint out.d)
    for way in --resume --overwrite; do
        brim_gives 2 run scene.yaml -o out.d $way --set time.step=-1
        brim_gives 2 run scene.yaml -o out.d $way --set no.such.key=1
    done
    [ "$(fingerprint out.d)" = "$before" ] || give_up "the folder changed"
}

test_absurd_size_is_refused_before_anything_is_spent() {
    write_scene
    sed -i 's/^dim: 2/dim: 3/; s/size: .*/size: [1, 1, 1]/; s/per_cell: 4/per_cell: 8/
            s/cells: .*/cells: [16000, 16000, 16000]/
            s/low: .*/low: [0, 0, 0], high: [1, 1, 1]}/' scene.yaml
    brim_gives 4 run scene.yaml -o out.d
    says err "brim: error:"
    absent out.d
    brim_gives 4 check scene.yaml
}

test_set_overrides_the_scene() {
    write_scene
    brim_gives 0 run scene.yaml -o a --quiet --set time.duration=0.1 --set particles.per_cell=9
    there a/particles/000005.ply
    absent a/particles/000006.ply
    says a/run.json '"per_cell": 9'
    brim_gives 2 run scene.yaml -o b --set solver.transfer=magic
    says err "solver.transfer"
    says err "apic"
    brim_gives 2 run scene.yaml -o b --set gravity
    absent b
}

test_check_tells_the_cost() {
    write_scene
    brim_gives 0 check scene.yaml
    for word in particles tiles memory disk steps time; do says out "$word"; done
    grep -qE '^ *particles +600\b' out || give_up "600 particles are not named"
    grep -qE '^ *steps +200\b' out || give_up "200 steps are not named"
    silent err
    brim_gives 0 check scene.yaml --no-calibration
    says out "not measured"
    brim_gives 0 check scene.yaml --json --set time.duration=0.2
    valid_json_lines out
    says out '"steps":100'
    [ "$(ls | sort | tr '\n' ' ')" = "err out scene.yaml " ] || give_up "check left files behind"
}

test_check_warns() {
    write_scene
    cat >>scene.yaml <<'SCENE'
solids:
  - box: {low: [0.6, 0], high: [0.61, 0.3]}
sources:
  - box: {low: [0.602, 0.1], high: [0.608, 0.2]}
    velocity: [1, 0]
SCENE
    sed -i 's/^  - box: {low: .0, 0.,/  - box: {low: [-0.5, 0],/' scene.yaml
    brim_gives 0 check scene.yaml --no-calibration
    [ "$(grep -c '^brim: warning:' err)" -ge 3 ] || give_up "fewer than three warnings"
    brim_gives 0 check scene.yaml --no-calibration --json
    valid_json_lines out
    says out '"warnings":["'
}

test_check_warns_of_ripples() {
    write_scene
    echo 'surface_tension: 0.07' >>scene.yaml
    brim_gives 0 check scene.yaml --no-calibration
    grep -q 'ripples' err && give_up "water in cells of 3 cm has no trouble with ripples"
    echo 'viscosity: 0.001' >>scene.yaml
    sed -i 's/^surface_tension.*/surface_tension: 10000/' scene.yaml
    brim_gives 0 check scene.yaml --no-calibration
    says err "time.step: longer than"
}

test_check_warns_of_long_steps() {
    write_scene
    brim_gives 0 check scene.yaml --no-calibration
    grep -q 'falls one cell' err && give_up "a hundredth of a second is not long"
    brim_gives 0 check scene.yaml --no-calibration --set time.step=0.2
    says err "in which water falls one cell"
}

test_liquids_resume() {
    # thick and with a tension: what a checkpoint holds is enough
    write_scene
    cat >>scene.yaml <<'SCENE'
viscosity: 1
surface_tension: 0.5
walls: {slip: none, contact_angle: 60}
SCENE
    brim_gives 0 run scene.yaml -o whole --quiet
    brim_gives 0 run scene.yaml -o parts --quiet --frames 2
    brim_gives 0 run scene.yaml -o parts --quiet --resume
    last=$(ls whole/particles/*.ply | tail -n 1)
    cmp "$last" "parts/particles/$(basename "$last")" || give_up "the resumed run went another way"
}

test_check_warns_of_liquid_inside_solids() {
    write_scene
    cat >>scene.yaml <<'SCENE'
  - box: {low: [0.55, 0.1], high: [0.75, 0.3]}
  - box: {low: [0.55, 0.1], high: [0.75, 0.5]}
  - sphere: {center: [0.5, 9], radius: 0.2}
solids:
  - box: {low: [0.5, 0], high: [0.65, 0.4]}
  - box: {low: [0.65, 0], high: [0.8, 0.4]}
SCENE
    sed -i '/^output:/,/^threads:/d' scene.yaml
    brim_gives 0 check scene.yaml --no-calibration
    says err "liquid[1]: lies inside solids"
    says err "liquid[3]: lies outside the domain"
    [ "$(grep -c '^brim: warning:' err)" -eq 2 ] || give_up "not two warnings"
    # not before they are there
    sed -i '/^  - box: {low: .0.65/a\    start: 1' scene.yaml
    brim_gives 0 check scene.yaml --no-calibration
    says_not err "inside solids"
}

# What only the simulation finds is told with the scene's file and line too.
test_errors_beyond_the_scene_name_their_line() {
    write_scene
    cat >>scene.yaml <<'SCENE'
sources:
  - box: {low: [0.4, 0.6], high: [0.6, 0.7]}
    velocity: [0, -1]
    flow: 1e9
SCENE
    line=$(grep -n 'low: \[0.4' scene.yaml | cut -d: -f1)
    brim_gives 2 run scene.yaml -o run
    says err "scene.yaml:$line: sources[0]: a flow"
    absent run
    brim_gives 2 check scene.yaml
    says err "scene.yaml:$line: sources[0]: a flow"
    printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' >open.obj
    brim_gives 2 run scene.yaml -o run --set 'sources=[]' --set 'solids=[{mesh: {file: open.obj}}]'
    says err "--set solids="
    says err "solids[0]: "
    absent run
}

test_check_of_what_is_too_large() {
    write_scene
    brim_gives 4 check scene.yaml --set memory_limit=20000
    says out "particles"
    says err "and 19.5 KiB are there"
    brim_gives 4 check scene.yaml --set memory_limit=200000
    grep -qE 'need about [0-9.]+ (KiB|MiB) and 195 KiB are there' err || give_up "not in KiB"
    brim_gives 4 check scene.yaml --set memory_limit=20000 --json
    valid_json_lines out
    says out '"event":"estimate"'
    # the steps that tell the time need more than a small scene does
    memory=$("$BRIM" check scene.yaml --json | sed 's/.*"memory_bytes":\([0-9]*\).*/\1/')
    brim_gives 0 check scene.yaml --set memory_limit=$((memory + memory / 4))
}

test_fields() {
    brim_gives 0 fields
    says out "solver.tolerance"
    says out "liquid[]"
    brim_gives 0 fields tolerance
    says out "solver.tolerance"
    says_not out "gravity"
    brim_gives 0 fields FLIP_ratio
    says out "solver.flip_ratio"
    brim_gives 1 fields no-such-thing-here
    brim_gives 0 fields --markdown
    says out "### solver"
    says out '| `solver.tolerance` |'
    # each row has the same number of cells as its heading
    [ "$(grep '^|' out | sed 's/\\|//g' | tr -cd '|\n' | sort -u | wc -l)" -eq 1 ] ||
        give_up "ragged table"
    brim_gives 0 fields --json
    tr '\n' ' ' <out | sed 's/^/{"fields":/; s/$/}/' >lines
    valid_json_lines lines
}

test_info() {
    write_scene
    brim_gives 0 run scene.yaml -o d --quiet --frames 5
    brim_gives 0 info d/particles/000003.ply
    says out "600"
    checkpoint=$(newest_checkpoint d)
    brim_gives 0 info "$checkpoint" d/particles/000000.ply
    says out "heckpoint"
    cp d/particles/000003.ply longer.ply
    echo more >>longer.ply
    brim_gives 6 info longer.ply
    says err "longer than its header says"
    truncate -s -10 d/particles/000003.ply
    brim_gives 6 info d/particles/000003.ply
    says err "000003.ply"
    for bytes in 100 30 2 0; do
        truncate -s "$bytes" d/particles/000003.ply
        brim_gives 6 info d/particles/000003.ply
    done
    truncate -s -10 "$checkpoint"
    brim_gives 6 info "$checkpoint"
    brim_gives 2 info d
    brim_gives 2 info scene.yaml
    brim_gives 3 info nothing.ply
}

test_info_of_fields() {
    write_scene
    brim_gives 0 run scene.yaml -o d --quiet --frames 2 --set output.fields=true
    brim_gives 0 info d/fields/000002.vti
    says out "fields, VTK image data by Brim"
    says out "frame         2"
    for name in pressure velocity level_set density; do says out "$name"; done
    says_not out WARNING
    cp d/fields/000002.vti longer.vti
    echo more >>longer.vti
    brim_gives 6 info longer.vti
    for bytes in 3000 900; do
        head -c $bytes d/fields/000002.vti >short.vti
        brim_gives 6 info short.vti
        says err "damaged"
    done
    echo '<VTKFile type="PolyData">' >other.vti
    brim_gives 2 info other.vti
    says err "not a field file of Brim"
}

test_a_scene_without_water_is_refused() {
    write_scene
    for command in "check scene.yaml" "run scene.yaml -o dry"; do
        # shellcheck disable=SC2086
        brim_gives 2 $command --set 'liquid=[]' --set 'sources=[]'
        says err "neither liquid nor sources"
        absent dry
    done
    brim_gives 0 check scene.yaml --no-calibration --set 'liquid=[]' --set \
        'sources=[{box: {low: [0.1, 0.3], high: [0.3, 0.4]}, velocity: [0, -1], start: 99}]'
    says err "no water ever comes"
}

test_a_box_of_broken_cells_is_rounded_outward_and_said() {
    cat >odd.yaml <<'SCENE'
brim: 1
domain: {size: [0.14, 0.20, 0.14], cells: 16}
time: {duration: 0.05, frame_rate: 40}
liquid:
  - box: {low: [0, 0, 0], high: [0.14, 0.05, 0.14]}
SCENE
    brim_gives 0 check odd.yaml --no-calibration
    says out "16 x 23 x 16"
    says err "y+ from 0.2 to 0.20125 m (23 cells)"
    says_not err "z+"
    brim_gives 0 check odd.yaml --no-calibration --json
    valid_json_lines out
    says out "y+ from 0.2"
    brim_gives 0 run odd.yaml -o d --frames 1
    says err "y+ from 0.2"
    brim_gives 0 run odd.yaml -o d --resume --quiet
    silent err
    there d/particles/000002.ply
    brim_gives 2 check odd.yaml --set 'domain.cells=[16, 20, 16]'
    says err "cells must be cubes"
    says err "or 23 cells"
}

test_render() {
    write_scene
    brim_gives 0 run scene.yaml -o d --quiet --frames 3
    run_brim render d
    [ "$code" -eq 1 ] && grep -q libpng err && echo "skipped: built without libpng" && return 0
    [ "$code" -eq 0 ] || give_up "brim render: exit code $code"
    [ "$(cat out)" = d/picture-000003.png ] || give_up "the picture's path is not printed"
    there d/picture-000003.png
    brim_gives 0 render d --frame 1 --size 200x100 -o one.png
    brim_gives 0 render d/particles/000001.ply --size 200x100 -o two.png
    same_file one.png two.png
    # width and height stand at bytes 16 to 23
    [ "$(od -An -tx1 -j16 -N8 one.png | tr -d ' ')" = 000000c800000064 ] || give_up "wrong size"
    brim_gives 2 render d --frame 99
    says err "the last is 3"
    brim_gives 3 render nowhere
    mkdir empty
    brim_gives 2 render empty
    brim_gives 3 render d -o nowhere/a.png
    cp d/particles/000001.ply alone.ply
    brim_gives 0 render alone.ply
    there alone.png
    truncate -s 1000 alone.ply
    brim_gives 6 render alone.ply
}

# A device has no end and a pipe no beginning: both are refused at once, by every command.
test_files_that_are_no_files_are_refused() {
    mkfifo pipe
    for file in /dev/zero pipe .; do
        for shape in "mesh: {file: $file}" "height_field: {file: $file, size: [1, 1, 1], height: 1}"; do
            cat >device.yaml <<SCENE
brim: 1
domain: {size: [1, 1, 1], cells: [8, 8, 8]}
solids:
  - $shape
liquid: [{box: {low: [0, 0, 0], high: [1, 0.5, 1]}}]
SCENE
            for command in "run device.yaml -o d" "check device.yaml"; do
                timeout -k 1 10 "$BRIM" $command >out 2>err
                code=$?
                [ "$code" -eq 2 ] || give_up "$command with $shape: exit code $code, not 2"
                says err "device.yaml:4: solids[0]"
                says err ": name a "
            done
            absent d
        done
    done
}

test_a_folder_of_meshes_belongs_in_mesh_frames() {
    write_scene
    sed -i '/^solids/,$d' scene.yaml
    echo 'solids: [{mesh: {file: .}}]' >>scene.yaml
    brim_gives 2 check scene.yaml
    says err "solids[0].mesh.file"
    says err "is a folder: name a file, or use mesh.frames"
}

# Neither do what stands where a run's own files belong.
test_pipes_in_a_run_folder_are_refused() {
    write_scene
    brim_gives 0 run scene.yaml -o d --quiet --frames 1
    for name in run.json stats.csv particles/000001.ply; do
        mv "d/$name" aside
        mkfifo "d/$name"
        for command in "plot d" "report d" "render d" "info d/particles/000001.ply" \
            "run scene.yaml -o d --resume --frames 3"; do
            timeout -k 1 10 "$BRIM" $command >out 2>err
            [ $? -lt 124 ] || give_up "$command waits for $name"
        done
        rm "d/$name"
        mv aside "d/$name"
    done
}

# estimate_is_near SETS...: steps and disk that check tells of scene.yaml, against a run.
estimate_is_near() {
    local sets=() set
    for set in "$@"; do sets+=(--set "$set"); done
    brim_gives 0 check scene.yaml --json "${sets[@]}"
    sed 's/.*"disk_bytes":\([0-9]*\),"steps":\([0-9]*\).*/\2 \1/' out >told
    brim_gives 0 run scene.yaml -o d --overwrite --quiet "${sets[@]}"
    echo "$(($(wc -l <d/stats.csv) - 1)) $(du -sb d | cut -f 1)" >found
    paste -d ' ' told found | awk '{ exit !($1 > 0.8 * $3 && $1 < 1.25 * $3 && $2 > 0.8 * $4 && $2 < 1.25 * $4) }' ||
        give_up "told $(cat told), found $(cat found): steps, bytes"
}

test_check_tells_steps_and_disk() {
    # a stirred tank: calm water, moving solid. A cup that fills: water that comes.
    sed 's/every: 12/every: 1/' "$here/../../scenes/rotating-cuboid.yaml" >scene.yaml
    estimate_is_near domain.cells=24 time.duration=0.5
    cp "$here/../../scenes/inflow-cup.yaml" scene.yaml
    estimate_is_near domain.cells=24 time.duration=1
    # a tap on a floor that ends: water that comes and goes
    cat >scene.yaml <<'SCENE'
brim: 1
dim: 2
domain: {size: [1, 1], cells: 96, sides: {x+: open}}
time: {duration: 3, frame_rate: 30, cfl: 2}
sources: [{box: {low: [0.1, 0.8], high: [0.2, 0.9]}, velocity: [0.5, -1]}]
SCENE
    estimate_is_near
}

# Shapes that say where they are, joined and turned: they turn about the union's position.
test_check_warns_of_a_pivot_outside_the_solid() {
    cat >cup.yaml <<'SCENE'
brim: 1
domain: {size: [1, 1, 1], cells: 16}
time: {duration: 1, frame_rate: 24}
liquid:
  - box: {low: [0, 0, 0], high: [1, 0.2, 1]}
solids:
  - difference:
      - cylinder: {center: [0.5, 0.6, 0.5], radius: 0.2, height: 0.3}
      - cylinder: {center: [0.5, 0.7, 0.5], radius: 0.1, height: 0.3}
    turn: [0, 0, "-90*t"]
SCENE
    brim_gives 0 check cup.yaml --no-calibration
    says err "solids[0]: turns about (0, 0, 0), which is far outside of it"
    sed -i 's/- difference:/- difference: {position: [0.5, 0.6, 0.5], of: [/; s/center: \[0.5, 0.6, 0.5\]/center: [0, 0, 0]/
        s/center: \[0.5, 0.7, 0.5\]/center: [0, 0.1, 0]/; s/      - \(cylinder: {.*}\)$/          {\1},/
        s/    turn/        ]}\n    turn/' cup.yaml
    brim_gives 0 check cup.yaml --no-calibration
    silent err
}

test_scenes_of_the_gallery_are_valid() {
    for scene in "$here"/../../docs/gallery/*.yaml; do
        brim_gives 0 check "$scene" --no-calibration
        says out "is a valid scene"
        says_not err "brim: warning: solids"
    done
}
