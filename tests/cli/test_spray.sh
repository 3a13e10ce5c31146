# Atomised spray as a user sees it: columns, frames, resuming, pictures.

write_spray() {
    cat >scene.yaml <<'SCENE'
brim: 1
domain: {size: [1, 1, 0.5], cells: 16}
time: {duration: 0.4, frame_rate: 20}
spray: {speed: [1, 1.5], time: 0.01}
liquid:
  - box: {low: [0, 0, 0], high: [0.4, 0.6, 0.5]}
    velocity: [4, 0, 0]
solids:
  - box: {low: [0.6, 0, 0.15], high: [0.7, 0.3, 0.35]}
threads: 1
SCENE
}

column() { # column DIR NAME: its last value
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } END { print $c }' \
        "$1/stats.csv"
}

test_spray_is_in_statistics_and_frames() {
    write_spray
    brim_gives 0 run scene.yaml -o d --quiet
    [ "$(column d atomised)" -gt 10 ] || give_up "no spray: $(column d atomised)"
    [ "$(column d rejoined)" -gt 0 ] || give_up "none came back"
    [ "$(column d particles)" -eq "$(column d seeded)" ] || give_up "particles are missing"
    head -c 700 d/particles/000004.ply | grep -aq "property uint type" || give_up "no type"
    brim_gives 0 mesh d
    brim_gives 0 render d --frame 4 --size 160x90 --samples 1 -o p.png
    there p.png
    brim_gives 0 run scene.yaml -o without --quiet --set 'spray.speed=[0, 0]'
    head -c 700 without/particles/000004.ply | grep -aq "property uint type" && give_up "type"
    brim_gives 2 run scene.yaml -o e --set 'spray.speed=[2, 1]'
    says err "spray.speed"
}

test_spray_resumes_and_is_the_same_for_threads() {
    write_spray
    brim_gives 0 run scene.yaml -o whole --quiet
    brim_gives 0 run scene.yaml -o parts --quiet --frames 5 --threads 2
    brim_gives 0 run scene.yaml -o parts --quiet --resume --threads 3
    same_frames whole parts
}
