# brim foam and output.foam: files, resuming, tuning, bad input, pictures, report.

# A small dam break that splashes: 12 frames.
write_splash() {
    cat >"${1:-scene.yaml}" <<'SCENE'
brim: 1
domain: {size: [1, 1, 0.5], cells: 16}
time: {duration: 0.75, frame_rate: 16}
liquid:
  - box: {low: [0, 0, 0], high: [0.4, 0.9, 0.5]}
solids:
  - box: {low: [0.6, 0, 0.15], high: [0.7, 0.3, 0.35]}
threads: 1
SCENE
}

test_foam_writes_a_file_for_each_frame() {
    write_splash
    brim_gives 0 run scene.yaml -o d --quiet
    brim_gives 0 foam d
    says out "13 frames"
    says out "bubbles"
    there d/foam/000000.ply d/foam/000012.ply
    absent d/foam/000013.ply
    [ -z "$(find d -name '*brim-tmp')" ] || give_up "temporary files are left"
    brim_gives 0 info d/foam/000000.ply
    says out "particles     0"
    brim_gives 0 info d/foam/000012.ply
    says out "foam, binary PLY"
    says out "bubbles"
    says_not out "particles     0"
    head -c 700 d/foam/000012.ply | grep -aq "property uchar type" || give_up "no type"
    brim_gives 0 foam d --overwrite --json
    valid_json_lines out
    [ "$(grep -c '"event":"frame"' out)" -eq 13 ] || give_up "not 13 frames"
}

test_foam_is_the_same_for_threads_and_while_running() {
    write_splash
    brim_gives 0 run scene.yaml -o d --set output.foam=true --quiet
    for threads in 1 2 3; do
        brim_gives 0 foam d -o "t$threads" --threads $threads --quiet
        diff -rq d/foam "t$threads" || give_up "$threads threads: other bytes"
    done
    brim_gives 0 run scene.yaml -o d --overwrite --quiet
    absent d/foam
}

# Below a band there are no particles; the frames tell of the cells, so foam is much the same.
test_foam_of_a_narrow_band() {
    write_splash
    sed -i -e 's/cells: 16/cells: 24/' -e 's/0.4, 0.9/0.5, 0.95/' scene.yaml
    brim_gives 0 run scene.yaml -o d --set output.foam=true --set band.width=3 --quiet
    brim_gives 0 info d/particles/000003.ply
    says out "cells below the band"
    brim_gives 0 foam d -o again --threads 2 --quiet
    diff -rq d/foam again || give_up "other bytes than while running"
    brim_gives 0 run scene.yaml -o full --set output.foam=true --quiet
    local band full
    band=$(find d/foam -name '*12.ply' -size +0 -printf '%s')
    full=$(find full/foam -name '*12.ply' -size +0 -printf '%s')
    [ $((band * 10)) -gt $((full * 7)) ] && [ $((band * 7)) -lt $((full * 10)) ] ||
        give_up "with a band $band bytes of foam, without $full"
    brim_gives 0 run scene.yaml -o plain --set band.width=3 --quiet
    brim_gives 2 foam plain
    says err "output.interior"
}

test_foam_resumes_where_it_was_killed() {
    write_splash
    brim_gives 0 run scene.yaml -o d --quiet
    brim_gives 0 foam d -o whole --quiet
    "$BRIM" foam d --quiet &
    while [ ! -e d/foam/000004.ply ] && kill -0 $! 2>/dev/null; do sleep 0.01; done
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    brim_gives 0 foam d --resume --quiet
    diff -rq d/foam whole || give_up "the resumed foam differs"
    head -c 900 whole/000009.ply >d/foam/000009.ply # damaged: made anew from the one before
    rm d/foam/00001*
    brim_gives 0 foam d --resume
    says err "damaged"
    diff -rq d/foam whole || give_up "the foam resumed before a damaged frame differs"
}

test_a_killed_run_resumes_its_foam() {
    write_splash
    local set="--set output.foam=true --set output.checkpoint_every=3"
    brim_gives 0 run scene.yaml -o whole $set --quiet
    "$BRIM" run scene.yaml -o d $set --quiet &
    while [ ! -e d/foam/000005.ply ] && kill -0 $! 2>/dev/null; do sleep 0.01; done
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    brim_gives 0 run scene.yaml -o d $set --resume --quiet
    diff -rq d/foam whole/foam || give_up "the resumed run's foam differs"
    brim_gives 0 run scene.yaml -o e --quiet --frames 6 # without foam: there is none to go on from
    brim_gives 3 run scene.yaml -o e $set --quiet --resume
    says err "foam/000006.ply"
}

test_foam_keeps_or_replaces_only_when_told() {
    write_splash
    brim_gives 0 run scene.yaml -o d --quiet
    brim_gives 0 foam d --last 5 --quiet
    absent d/foam/000006.ply
    brim_gives 2 foam d
    says err "--resume"
    says err "--overwrite"
    brim_gives 2 foam d --resume --overwrite
    brim_gives 2 foam d --resume --set foam.drag=5 # would not match what is there
    says err "other settings"
    brim_gives 0 foam d --resume
    says out "6 that were there"
    brim_gives 0 foam d --overwrite --last 3 --set foam.trapped_rate=0 --set foam.crest_rate=0
    absent d/foam/000004.ply # of the earlier settings
    says out "0 particles created"
}

test_foam_refuses_bad_input() {
    write_splash
    brim_gives 0 run scene.yaml -o d --quiet
    brim_gives 2 foam d --set foam.life=[3,1]
    says err "foam.life"
    brim_gives 2 foam d --set time.step=0.1
    says err "only seed and the keys of foam"
    brim_gives 2 foam d --set foam.lief=[1,2]
    brim_gives 2 foam scene.yaml
    brim_gives 2 foam d --last 0 --first 3
    brim_gives 2 run scene.yaml -o e --set output.foam=true --set output.particles=false
    says err "output.foam"
    brim_gives 2 run scene.yaml -o e --set output.interior=true
    says err "output.interior"
    absent e
    mv d/particles/000007.ply aside
    brim_gives 2 foam d
    says err "frame 7 is missing"
    absent d/foam
    head -c 3000 aside >d/particles/000007.ply
    brim_gives 6 foam d
    there d/foam/000006.ply
    absent d/foam/000007.ply
}

test_foam_is_drawn_and_reported() {
    write_splash
    brim_gives 0 run scene.yaml -o d --set output.foam=true --quiet
    for style in water particles; do
        brim_gives 0 render d --style $style --size 160x90 --samples 1 --quiet -o with.png
        brim_gives 0 render d --style $style --size 160x90 --samples 1 --quiet --no-foam -o out.png
        cmp -s with.png out.png && give_up "style $style: foam does not show"
    done
    brim_gives 0 report d --frames 1
    grep -q "Whitewater" d/report.html || give_up "no foam in the report"
    rm -r d/foam
    brim_gives 0 report d --frames 1
    grep -q "Whitewater" d/report.html && give_up "foam in the report of a run without"
    true
}
