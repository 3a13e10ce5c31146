# The look of pictures: keys of a scene, changed without running it again. Previews.

write_glass() {
    cat >glass.yaml <<'SCENE'
brim: 1
domain: {size: [0.2, 0.1, 0.1], cells: 24}
time: {duration: 0.1, frame_rate: 20}
liquid:
  - box: {low: [0, 0, 0], high: [0.1, 0.06, 0.1]}
solids:
  - sphere: {center: [0.15, 0.03, 0.05], radius: 0.02}
threads: 1
SCENE
}

test_look_changes_pictures_and_nothing_else() {
    write_glass
    brim_gives 0 run glass.yaml -o d --quiet
    run_brim render d --size 64x36 --samples 1 -o probe.png
    grep -q 'without' err && { echo "skipped: built without Embree or libpng" && return 0; }
    local small="--size 96x54 --samples 2 --threads 1 --quiet"
    brim_gives 0 render d $small -o plain.png
    brim_gives 0 render d $small -o again.png
    cmp plain.png again.png || give_up "the same picture differs"
    for key in look.box=false look.ground=false look.caustics=true look.sun.strength=0 \
        'look.liquid.colour=[0.5, 0.03, 0.05]' look.liquid.clarity=0.02 look.camera.frame=water \
        look.camera.aperture=0.02 'solids[0].look.colour=[0, 0.5, 0]' solids[0].look.glass=yes \
        solids[0].look.roughness=0 'look.camera.keyframes=[{time: 0, eye: [1, 1, 1], target: [0, 0, 0]}]'; do
        brim_gives 0 render d $small --set "$key" -o other.png
        ! cmp -s plain.png other.png || give_up "$key changes nothing"
    done
    # another file's look, and a run that goes on with another one
    sed 's/  - sphere:.*/&\n    look: {colour: [0, 0.5, 0]}/' glass.yaml >green.yaml
    brim_gives 0 render d $small --look green.yaml -o green.png
    brim_gives 0 render d $small --set 'solids[0].look.colour=[0, 0.5, 0]' -o set.png
    cmp green.png set.png || give_up "--look and --set differ"
    brim_gives 0 run green.yaml -o d --resume --set time.duration=0.15 --quiet
    there d/particles/000003.ply
    brim_gives 0 run glass.yaml -o e --set time.duration=0.15 --quiet
    cmp d/particles/000003.ply e/particles/000003.ply || give_up "a look changed the water"
    write_scene
    brim_gives 2 render d --look scene.yaml -o no.png
    says err "--look scene.yaml"
    brim_gives 2 check glass.yaml --set 'look.sun.direction=[0, 0, 0]'
    says err "look.sun.direction"
    brim_gives 2 check glass.yaml --set look.liquid.clarity=0
    says err "look.liquid.clarity"
    brim_gives 2 render d --set look.sky.picture=nowhere.hdr -o no.png
    says err nowhere.hdr
}

# None takes the run beyond its share of the time, not even the first; nor do they change the water.
test_previews_are_drawn_and_take_no_more_than_their_share() {
    write_scene
    local long="--threads 1 --set domain.cells=448 --set time.duration=30 --frames 60"
    # shellcheck disable=SC2086
    brim_gives 0 run scene.yaml -o d --preview $long
    grep -q 'libpng' err && { echo "skipped: built without libpng" && return 0; }
    says err "previews took"
    there d/preview.png
    share=$(sed -n 's/.*previews took \([0-9.]*\) %.*/\1/p' err)
    awk "BEGIN {exit !($share <= 5)}" || { cat err && give_up "previews took $share %"; }
    # shellcheck disable=SC2086
    brim_gives 0 run scene.yaml -o e $long --quiet
    absent e/preview.png
    cmp d/particles/000060.ply e/particles/000060.ply || give_up "a preview changed the water"
}

test_a_run_too_short_for_a_preview_says_so() {
    write_scene
    brim_gives 0 run scene.yaml -o d --preview --frames 2
    grep -q 'libpng' err || says err "No preview"
    absent d/preview.png
}
