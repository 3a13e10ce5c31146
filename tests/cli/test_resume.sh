# Runs that are cut short go on bit for bit.

# whole_run SCENE DIR: the run that nobody disturbs, made once.
whole_run() {
    brim_gives 0 run "$1" -o "$2" --quiet
}

# Rows of stats.csv without the times that the clock decides.
plain_stats() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) keep[i] = $i !~ /^ms_|memory/ }
             { line = ""; for (i = 1; i <= NF; i++) if (keep[i]) line = line "," $i; print line }' \
        "$1/stats.csv"
}

same_runs() {
    same_frames "$1" "$2"
    diff <(plain_stats "$1") <(plain_stats "$2") >/dev/null || give_up "statistics differ"
}

# Waits until a file is there, ten seconds at most.
wait_for() {
    local i
    for i in $(seq 1000); do
        [ -e "$1" ] && return
        sleep 0.01
    done
    give_up "$1 did not appear"
}

# start_and_signal SIGNAL WHEN ARGUMENTS...: exit code in $code. WHEN: seconds, or a file to appear.
start_and_signal() {
    local signal=$1 when=$2 pid
    shift 2
    "$BRIM" "$@" >out 2>err &
    pid=$!
    case $when in
        [0-9]*) sleep "$when" ;;
        *) wait_for "$when" ;;
    esac
    kill "-$signal" "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    code=$?
}

random_seconds() { # random_seconds MOST_MS
    printf '%d.%03d' $(((RANDOM % $1) / 1000)) $(((RANDOM % $1) % 1000))
}

test_frames_then_resume() {
    write_scene
    whole_run scene.yaml whole
    brim_gives 0 run scene.yaml -o d --quiet --frames 7
    there d/particles/000007.ply
    absent d/particles/000008.ply
    brim_gives 0 run scene.yaml -o d --resume --threads 2
    says err "esuming"
    same_runs whole d
}

test_resume_of_a_finished_run_changes_nothing() {
    write_scene
    whole_run scene.yaml whole
    before=$(fingerprint whole)
    brim_gives 0 run scene.yaml -o whole --resume --quiet
    silent err
    brim_gives 0 run scene.yaml -o whole --resume
    says err "already reached frame 20"
    # less than is there
    brim_gives 0 run scene.yaml -o whole --resume --frames 10
    says err "already reached frame 20, and frame 10 is the last one wanted: nothing to do"
    says_not err "of 10"
    silent out
    brim_gives 0 run scene.yaml -o whole --resume --frames 10 --json
    valid_json_lines out
    says out '"event":"done"'
    [ "$(fingerprint whole)" = "$before" ] || give_up "the folder changed"
    brim_gives 0 run scene.yaml -o whole --resume --quiet --set time.duration=0.44
    there whole/particles/000022.ply
}

test_resume_in_a_new_folder_begins() {
    write_scene
    whole_run scene.yaml whole
    brim_gives 0 run scene.yaml -o d --resume --quiet
    same_runs whole d
}

test_resume_wants_the_same_scene() {
    write_scene
    brim_gives 0 run scene.yaml -o d --quiet --frames 5
    before=$(fingerprint d)
    brim_gives 2 run scene.yaml -o d --resume --set solver.transfer=apic
    says err "brim: error:"
    brim_gives 2 run scene.yaml -o d --resume --seed 99
    [ "$(fingerprint d)" = "$before" ] || give_up "the folder changed"
}

test_interrupt_then_resume() {
    write_long_scene scene.yaml
    whole_run scene.yaml whole
    start_and_signal INT d/particles/000003.ply run scene.yaml -o d
    [ "$code" -eq 130 ] || give_up "Ctrl-C gives exit code $code, not 130"
    says err "--resume"
    there "$(newest_checkpoint d)"
    brim_gives 0 run scene.yaml -o d --resume --quiet
    same_runs whole d
}

test_terminate_then_resume() {
    write_long_scene scene.yaml
    whole_run scene.yaml whole
    start_and_signal TERM d/particles/000003.ply run scene.yaml -o d --json
    [ "$code" -eq 143 ] || give_up "SIGTERM gives exit code $code, not 143"
    valid_json_lines out
    says out '"event":"interrupted","exit_code":143'
    brim_gives 0 run scene.yaml -o d --resume --quiet
    same_runs whole d
}

test_second_interrupt_ends_at_once() {
    write_long_scene scene.yaml
    "$BRIM" run scene.yaml -o d >out 2>err &
    pid=$!
    wait_for d/particles/000003.ply
    kill -INT "$pid" "$pid"
    kill -INT "$pid" 2>/dev/null
    wait "$pid"
    code=$?
    [ "$code" -eq 130 ] || give_up "exit code $code, not 130"
}

test_killed_at_any_moment_then_resumed() {
    write_long_scene scene.yaml
    whole_run scene.yaml whole
    for round in $(seq "$(rounds 5 2)"); do
        rm -rf d
        start_and_signal KILL "$(random_seconds 300)" run scene.yaml -o d --quiet
        for again in 1 2; do
            start_and_signal KILL "$(random_seconds 300)" run scene.yaml -o d --quiet --resume
        done
        brim_gives 0 run scene.yaml -o d --quiet --resume
        same_runs whole d
    done
}

# With $1 done to its newest checkpoint, a run goes on from the one before.
falls_back() {
    rm -rf d
    cp -r whole d
    rm d/particles/0000{18,19,20}.ply
    newest=$(newest_checkpoint d)
    "$1" "$newest"
    brim_gives 0 run scene.yaml -o d --resume
    says err "$(basename "$newest")"
    same_runs whole d
}

cut_short() { truncate -s -100 "$1"; }
make_empty() { : >"$1"; }
flip_byte() { printf '\x5a\xa5\x5a' | dd of="$1" bs=1 seek=$(($(stat -c %s "$1") / 2)) conv=notrunc; }

test_damaged_checkpoint_falls_back() {
    write_scene
    whole_run scene.yaml whole
    for harm in cut_short make_empty flip_byte; do falls_back $harm; done
}

# What a run has computed is never thrown away unasked.
test_all_checkpoints_damaged_is_refused() {
    write_scene
    whole_run scene.yaml whole
    cp -r whole d
    for file in d/checkpoints/*; do cut_short "$file"; done
    before=$(fingerprint d)
    for round in 1 2; do
        brim_gives 6 run scene.yaml -o d --resume
        says err "$(basename "$(newest_checkpoint d)")"
        says err "--overwrite"
    done
    [ "$(fingerprint d)" = "$before" ] || give_up "the folder changed"
    brim_gives 0 run scene.yaml -o d --overwrite --quiet
    same_runs whole d
}

test_frames_without_a_checkpoint_are_not_overwritten() {
    write_scene
    brim_gives 0 run scene.yaml -o d --quiet --frames 3
    rm -r d/checkpoints
    before=$(fingerprint d)
    brim_gives 2 run scene.yaml -o d --resume
    says err "no checkpoint to resume from"
    says err "--overwrite"
    [ "$(fingerprint d)" = "$before" ] || give_up "the folder changed"
}

test_two_runs_do_not_share_a_folder() {
    write_long_scene scene.yaml
    "$BRIM" run scene.yaml -o d --quiet &
    pid=$!
    wait_for d/particles/000003.ply
    run_brim run scene.yaml -o d --resume
    wait "$pid"
    [ "$code" -eq 2 ] || give_up "exit code $code, not 2"
}

test_hangup_then_resume() {
    # under nohup a run outlives its terminal on purpose: see the next test
    (($((16#$(awk '/^SigIgn/ {print $2}' /proc/self/status))) & 1)) && echo "skipped: SIGHUP is ignored" && return 0
    write_long_scene scene.yaml
    whole_run scene.yaml whole
    start_and_signal HUP d/particles/000003.ply run scene.yaml -o d
    [ "$code" -eq 129 ] || give_up "SIGHUP gives exit code $code, not 129"
    says err "--resume"
    there "$(newest_checkpoint d)"
    brim_gives 0 run scene.yaml -o d --resume --quiet
    same_runs whole d
}

test_nohup_outlives_the_terminal() {
    write_long_scene scene.yaml
    (
        trap '' HUP
        start_and_signal HUP d/particles/000003.ply run scene.yaml -o d --quiet
        [ "$code" -eq 0 ]
    ) || give_up "an ignored SIGHUP ended the run"
    there d/particles/000120.ply
}

# Nobody reads what the run prints any more: it stops as if it had been asked to.
test_reader_gone_then_resume() {
    write_long_scene scene.yaml
    whole_run scene.yaml whole
    "$BRIM" run scene.yaml -o d --json | head -n 3 >out
    code=${PIPESTATUS[0]}
    [ "$code" -eq 141 ] || give_up "exit code $code, not 141"
    there "$(newest_checkpoint d)"
    brim_gives 0 run scene.yaml -o d --resume --quiet
    same_runs whole d
}

# A step of minutes does not keep a run that was told to end.
test_terminate_in_a_long_step() {
    cat >slow.yaml <<'SCENE'
brim: 1
domain: {size: [1, 1, 1], cells: [64, 64, 64]}
time: {duration: 1, frame_rate: 50, step: 0.02}
solver: {preconditioner: jacobi, tolerance: 1e-14, max_iterations: 100000}
particles: {per_cell: 1}
liquid:
  - box: {low: [0, 0, 0], high: [0.5, 1, 1]}
SCENE
    "$BRIM" run slow.yaml -o d --json --patience 1 >out 2>err &
    pid=$!
    wait_for d/particles/000000.ply
    sleep 0.3
    start=$(date +%s%N)
    kill -TERM "$pid"
    wait "$pid"
    code=$?
    [ "$code" -eq 143 ] || give_up "exit code $code, not 143"
    [ $((($(date +%s%N) - start) / 1000000)) -lt 3000 ] || give_up "it took longer than 3 s"
    says err "in the middle of a step"
    says err "step-00000000.brim"
    valid_json_lines out
    says out '"event":"stopped"'
    brim_gives 0 info d/checkpoints/step-00000000.brim
}

test_stats_taken_away_are_missed() {
    write_long_scene scene.yaml
    for harm in "rm d/stats.csv" "mv d/stats.csv elsewhere" "cp --remove-destination /dev/null d/stats.csv"; do
        rm -rf d
        "$BRIM" run scene.yaml -o d --quiet >out 2>err &
        pid=$!
        wait_for d/particles/000008.ply
        $harm
        wait "$pid"
        code=$?
        [ "$code" -eq 3 ] || give_up "$harm: exit code $code, not 3"
        says err "d/stats.csv"
        says err "while the run was writing it"
        says err "last good checkpoint"
    done
}
