# Runs: folders, output, threads, seeds, disks.

test_run_leaves_the_promised_files() {
    write_scene
    brim_gives 0 run scene.yaml -o d
    there d/run.json d/stats.csv d/particles/000000.ply d/particles/000020.ply
    absent d/particles/000021.ply d/fields
    [ "$(wc -l <d/stats.csv)" -eq 201 ] || give_up "stats.csv does not have a row a step"
    [ -z "$(find d -name '*.tmp' -o -name '*.part')" ] || give_up "temporary files are left"
    for text in "20 frames" "200 steps" "volume" "600 seeded" "brim render d"; do
        says out "$text"
    done
}

test_progress_without_a_terminal_is_plain() {
    write_scene
    brim_gives 0 run scene.yaml -o d
    says err "frame  20 of 20"
    ! grep -q $'\r\|\033' err || give_up "control characters in a log"
}

test_progress_on_a_terminal() {
    command -v script >/dev/null || { echo "skipped: no script command" && return 0; }
    write_scene
    script -qec "stty cols 60; '$BRIM' run scene.yaml -o d" /dev/null </dev/null >out
    says out "of 20"
    grep -q $'\r' out || give_up "the line is not rewritten"
    script -qec "stty cols 60; '$BRIM' run scene.yaml -o d" /dev/null </dev/null >out
    says out $'\033[1;31merror'
    script -qec "NO_COLOR=1 '$BRIM' run scene.yaml -o d" /dev/null </dev/null >out
    says_not out $'\033[1;31m'
}

test_quiet_prints_errors_only() {
    write_scene
    brim_gives 0 run scene.yaml -o d --quiet
    silent out
    silent err
    brim_gives 2 run scene.yaml -o d --quiet
    says err "brim: error:"
}

test_json_lines() {
    write_scene
    brim_gives 0 run scene.yaml -o d --json
    silent err
    valid_json_lines out
    [ "$(grep -c '"event":"start"' out)" -eq 1 ] || give_up "no start"
    [ "$(grep -c '"event":"frame"' out)" -eq 20 ] || give_up "not 20 frames"
    [ "$(tail -n 1 out | grep -c '"event":"done"')" -eq 1 ] || give_up "no summary at the end"
    # the volume by which to judge is that of the last row of the statistics
    row=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "volume") k = i } END { print $k }' d/stats.csv)
    [ "$(tail -n 1 out | sed 's/.*"volume":\([^,]*\),.*/\1/' | cut -c 1-8)" = "${row:0:8}" ] ||
        give_up "no volume of $row in the summary"
    says out '"particles":600'
    brim_gives 2 run scene.yaml -o d --json
    valid_json_lines out
    says out '"event":"error","exit_code":2'
}

test_folder_that_is_not_empty_is_refused() {
    write_scene
    mkdir d
    echo precious >d/file
    before=$(fingerprint d)
    brim_gives 2 run scene.yaml -o d
    says err "no run"
    brim_gives 2 run scene.yaml -o d --resume
    brim_gives 2 run scene.yaml -o d --overwrite
    [ "$(fingerprint d)" = "$before" ] || give_up "the folder changed"
}

test_a_file_beyond_ulimit_is_an_error() {
    write_scene
    (ulimit -f 8 && exec "$BRIM" run scene.yaml -o d --quiet) >out 2>err
    code=$?
    [ "$code" -eq 3 ] || give_up "exit code $code, not 3"
    says err "cannot write"
}

test_overwrite_discards_the_earlier_run() {
    write_scene
    brim_gives 0 run scene.yaml -o d --quiet
    echo mine >d/notes.txt
    brim_gives 2 run scene.yaml -o d --quiet
    brim_gives 0 run scene.yaml -o d --quiet --overwrite --frames 3 --seed 5
    there d/particles/000003.ply d/notes.txt
    absent d/particles/000004.ply
    brim_gives 0 run scene.yaml -o e --quiet --frames 3 --seed 5
    same_frames d e
}

test_empty_folder_is_used() {
    write_scene
    mkdir d
    brim_gives 0 run scene.yaml -o d --quiet --frames 1
    there d/particles/000001.ply
    brim_gives 0 run scene.yaml -o deep/down/d --quiet --frames 1
    there deep/down/d/particles/000001.ply
}

test_same_bits_for_any_threads_and_again() {
    write_scene
    brim_gives 0 run scene.yaml -o one --quiet --threads 1
    for n in 2 3 8 1; do
        rm -rf many
        brim_gives 0 run scene.yaml -o many --quiet --threads $n
        same_frames one many
    done
}

test_seed() {
    write_scene
    brim_gives 0 run scene.yaml -o a --quiet --frames 2 --seed 7
    brim_gives 0 run scene.yaml -o b --quiet --frames 2 --set seed=7
    brim_gives 0 run scene.yaml -o c --quiet --frames 2 --seed 8
    same_frames a b
    ! cmp -s a/particles/000002.ply c/particles/000002.ply || give_up "the seed does nothing"
}

test_unwritable_folder() {
    write_scene
    brim_gives 3 run scene.yaml -o scene.yaml/below
    says err "scene.yaml/below"
    [ -d /proc/self ] && brim_gives 3 run scene.yaml -o /proc/brim-test
    if [ "$(id -u)" -ne 0 ]; then
        mkdir closed
        chmod 555 closed
        brim_gives 3 run scene.yaml -o closed/d
    fi
}

test_full_disk() {
    write_scene
    mkdir small
    mount -t tmpfs -o size=128k tmpfs small 2>/dev/null ||
        { echo "skipped: no right to mount a small disk" && return 0; }
    run_brim run scene.yaml -o small/d
    checkpoint=$(newest_checkpoint small/d 2>/dev/null)
    info=0
    if [ -n "$checkpoint" ]; then
        "$BRIM" info "$checkpoint" >/dev/null 2>&1
        info=$?
    fi
    umount small
    [ "$code" -eq 3 ] || give_up "a full disk gives exit code $code, not 3"
    says err "brim: error:"
    says err "small/d"
    [ "$info" -eq 0 ] || give_up "the last checkpoint is damaged"
}

test_diverging_run_keeps_its_checkpoint() {
    write_scene
    cat >>scene.yaml <<'SCENE'
gravity:
  - {time: 0, gravity: [0, -9.81]}
  - {time: 0.25, gravity: [0, -9.81]}
  - {time: 0.26, gravity: [0, -1e36]}
SCENE
    brim_gives 5 run scene.yaml -o d
    says err "brim: error:"
    checkpoint=$(newest_checkpoint d)
    says err "$checkpoint"
    brim_gives 0 info "$checkpoint"
    says out "frame 10"
}

test_solver_that_fails_stops_the_run() {
    write_scene
    brim_gives 5 run scene.yaml -o d --set solver.max_iterations=1 --set solver.tolerance=1e-9
    says err "brim: error:"
}

# In the middle of a solid the interpolated distance may slope anywhere: what is there must not stay.
test_run_water_on_the_ridge_of_a_solid_walks_out() {
    cp "$here/../../scenes/rabbit.obj" .
    {
        echo 'brim: 1'
        echo 'dim: 2'
        echo 'gravity: [0, 0]'
        echo 'domain: {size: [1, 1], cells: [185, 185]}'
        echo 'time: {duration: 1, frame_rate: 50, step: 0.01}'
        echo 'liquid:'
        for cell in "77 33" "105 50" "106 78" "94 91" "54 32" "78 33" "76 33" "77 32" "77 34"; do
            echo "$cell" | awk '{printf "  - box: {low: [%.7f, %.7f], high: [%.7f, %.7f]}\n",
                $1 / 185, $2 / 185, ($1 + 1) / 185, ($2 + 1) / 185}'
        done
        echo 'solids:'
        echo '  - mesh: {file: rabbit.obj, position: [0.25, 0.08], scale: 0.5}'
        echo '    start: 0.001'
        echo 'output: {every: 1000}'
    } >ridge.yaml
    brim_gives 0 run ridge.yaml -o run --threads 1
    awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == "particles_in_solids") c = i}
             NR > 1 && $c > 0 {some = 1} END {exit !(some && $c == 0)}' run/stats.csv ||
        give_up "some stayed inside: $(tail -n 1 run/stats.csv)"
}

# Names of files may hold anything; terminals and JSON get what they can bear.
test_names_do_not_reach_the_terminal_raw() {
    write_scene
    esc=$(printf 'a\033[31mb\302\233c\200d')
    brim_gives 2 run scene.yaml -o "$esc" --resume --overwrite
    brim_gives 3 info "$esc"
    says err 'a\x1b[31mb\xc2\x9bc\x80d'
    ! grep -q "$(printf '\033')" err || give_up "an escape code came through"
    brim_gives 2 check scene.yaml --set "do$(printf '\033')main.size=1"
    ! grep -q "$(printf '\033')" err || give_up "an escape code came through"
    brim_gives 0 run scene.yaml -o "$esc" --frames 1
    says out "in $esc/:" # not a terminal: the name as it is
    # good names stay as they are
    brim_gives 3 info "äöü 水.ply"
    says err "äöü 水.ply"
}

test_json_of_any_folder_is_json() {
    write_scene
    for name in "$(printf 'x\377y')" "$(printf 'x\303')" "$(printf 'x\355\240\200y')" \
        "$(printf '\300\200')" "$(printf 'q"\\\t\001\n水')"; do
        brim_gives 0 run scene.yaml -o "$name" --json --frames 1
        valid_json_lines out
        brim_gives 2 run scene.yaml -o "$name" --json --frames 1
        valid_json_lines out
        says err "holds a run"
    done
    brim_gives 0 run scene.yaml -o "$(printf 'z\377')" --json --frames 1
    says out '"folder":"z\ufffd"'
    # the folder of the scene becomes part of the names in run.json
    mkdir "$(printf 'in\377')"
    printf 'P2\n2 2\n255\n0 255 0 255\n' >"$(printf 'in\377/ground.pgm')"
    sed '/^output/i solids:\n  - height_field: {file: ground.pgm, length: 1, height: 0.1}' \
        scene.yaml >"$(printf 'in\377/scene.yaml')"
    brim_gives 0 run "$(printf 'in\377/scene.yaml')" -o d --json --frames 1
    valid_json_lines out
    if command -v python3 >/dev/null; then
        python3 -c 'import json; json.load(open("d/run.json", encoding="utf-8"))' ||
            give_up "run.json is not JSON"
    fi
}

# seeded + emitted - drained - left + the band's = particles
test_balance_adds_up_with_a_band() {
    write_scene
    brim_gives 0 run scene.yaml -o d --set band.width=2 --frames 5
    says out "by the band"
    sum=$(sed -n 's/^  balance *//p' out | tr -d ',' | sed 's/seeded\|emitted\|drained\|left\|by the band\|particles//g; s/=/==/')
    [ "$(($sum))" -eq 1 ] || give_up "the balance does not add up: $sum"
    brim_gives 0 run scene.yaml -o d2 --set band.width=2 --frames 5 --json
    says out '"resampled":'
    brim_gives 0 run scene.yaml -o d3 --frames 5
    says_not out "by the band"
}

test_summary_names_what_was_written() {
    write_scene_3d
    brim_gives 0 run scene.yaml -o d --frames 1 --set output.fields=true --set output.surface=ply
    says out "in d/: particles/, surface/, fields/, stats.csv, run.json"
    there d/particles d/surface d/fields d/stats.csv d/run.json
    cat >>scene.yaml <<'SCENE'
gauges: [{name: back, height: {from: [0.1, 0, 0.1], to: [0.1, 0.2, 0.1]}}]
SCENE
    brim_gives 0 run scene.yaml -o e --frames 1 --set output.foam=true
    says out "in e/: particles/, foam/, gauges/, stats.csv, run.json"
    there e/foam e/gauges
}

test_run_on_a_warped_grid() {
    printf '%s\n' 'brim: 1' 'dim: 2' 'domain: {size: [1, 1], cells: 32}' 'grid: {warp: 0.75}' \
        'time: {duration: 0.125, cfl: 1}' 'liquid:' '  - box: {low: [0, 0], high: [0.4, 0.5]}' >warp.yaml
    brim_gives 0 run warp.yaml -o out-warp
    there out-warp/particles/000003.ply out-warp/stats.csv
    brim_gives 0 render out-warp --frame 3 -o warp.png
    there warp.png
    brim_gives 2 render out-warp --frame 3 --grid -o warp.png
    says err "warped grid"
    brim_gives 0 run warp.yaml -o out-band --set band.width=3 --quiet
    brim_gives 2 run warp.yaml -o out-thick --set viscosity=1
    says err "grid.warp"
    says err "viscosity"
    brim_gives 2 run warp.yaml -o out-strong --set grid.warp=1
    says err "0 to 0.9"
}
