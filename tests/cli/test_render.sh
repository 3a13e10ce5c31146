# Pictures and films of runs: numbered pictures that resume, films, bad input.

# A run of five frames in 3D, some hundred particles.
make_run() {
    cat >tank.yaml <<'SCENE'
brim: 1
domain: {size: [1, 0.5, 0.5], cells: 16}
time: {duration: 0.2, frame_rate: 20}
liquid:
  - box: {low: [0, 0, 0], high: [0.4, 0.3, 0.5]}
solids:
  - cylinder: {center: [0.7, 0.25, 0.25], radius: 0.08, height: 0.6}
threads: 1
SCENE
    brim_gives 0 run tank.yaml -o d --quiet
    run_brim render d --size 64x36 --samples 1 -o probe.png
    [ "$code" -eq 1 ] && grep -q libpng err && echo "skipped: built without libpng" && exit 0
    [ "$code" -eq 0 ] || give_up "brim render: exit code $code"
    rm probe.png
}
small="--size 64x36 --samples 1 --quiet"

test_render_styles() {
    make_run
    for how in "--style water" "--style particles" "--colour speed" "--colour density" \
        "--colour id" "--colour vx" "--colour vx --range -1:1" "--camera top" \
        "--camera 2,1,2:0.5,0.2,0.2:40" "--motion-blur 0.5" "--threads 3"; do
        rm -f p.png
        # shellcheck disable=SC2086
        brim_gives 0 render d $small $how -o p.png
        [ "$(cat out)" = p.png ] || give_up "the picture's path is not printed"
        there p.png
    done
    brim_gives 0 render d $small --threads 1 -o one.png
    brim_gives 0 render d $small --threads 3 -o three.png
    same_file one.png three.png
    brim_gives 0 render d $small --colour speed -o speed.png
    cmp -s one.png speed.png && give_up "water and particles look the same"
    silent err
}

# Frames of a narrow band tell too little for a surface unless they hold the cells below it.
# shellcheck disable=SC2086
test_render_of_a_narrow_band() {
    make_run
    sed -e 's/cells: 16/cells: 32/' -e 's/high: .*/high: [1, 0.4, 0.5]}/' tank.yaml >deep.yaml
    echo "band: {width: 2}" >>deep.yaml
    run_brim render d $small --style water -o probe.png
    grep -q "without Embree" err && echo "skipped: built without Embree" && return
    brim_gives 0 run deep.yaml -o band --quiet
    brim_gives 0 render band $small -o particles.png
    says err "drawn as particles"
    brim_gives 2 render band $small --style water -o water.png
    says err "output.interior"
    brim_gives 0 run deep.yaml --set output.surface=ply -o surface --quiet
    brim_gives 0 render surface $small --style water -o water.png
    brim_gives 0 run deep.yaml --set output.interior=true -o interior --quiet
    brim_gives 0 render interior $small --style water -o own.png
    says_not err "drawn as particles"
    there own.png
    brim_gives 0 info band/checkpoints/*.brim
    says out "by the narrow band"
}

test_render_numbered_pictures_resume() {
    make_run
    brim_gives 0 render d $small -o frames/%04d.png
    for n in 0 1 2 3 4; do there "frames/000$n.png"; done
    says out "5 frames, 0 of them kept"
    before=$(fingerprint frames)
    brim_gives 0 render d $small -o frames/%04d.png
    says out "5 of them kept"
    [ "$before" = "$(fingerprint frames)" ] || give_up "kept frames were touched"
    cp frames/0002.png two.png
    cp frames/0003.png three.png
    rm frames/0002.png
    head -c 300 frames/0003.png >short && mv short frames/0003.png
    brim_gives 0 render d $small -o frames/%04d.png
    same_file frames/0002.png two.png
    same_file frames/0003.png three.png # a picture that ends early is not kept
    says out "3 of them kept"
    # drawn another way: nothing can be kept
    brim_gives 0 render d --size 64x36 --samples 2 --quiet -o frames/%04d.png
    says out "0 of them kept"
    brim_gives 0 render d $small -o part/%02d.png --first 1 --last 2
    there part/01.png part/02.png
    absent part/00.png part/03.png
}

test_render_film() {
    make_run
    command -v ffmpeg >/dev/null || { echo "skipped: ffmpeg is not installed"; return 0; }
    # odd sides too: H.264 wants even ones
    brim_gives 0 render d --size 65x37 --samples 1 --quiet -o film.mp4
    says out "5 frames at 20 a second"
    there film.mp4
    absent film.mp4.frames film.mp4.brim-tmp
    command -v ffprobe >/dev/null || return 0
    ffprobe -v error -count_frames -select_streams v:0 -of csv=p=0 \
        -show_entries stream=codec_name,pix_fmt,r_frame_rate,nb_read_frames film.mp4 >probe 2>&1
    grep -qx 'h264,yuv420p,20/1,5' probe || give_up "not the film expected: $(cat probe)"
}

test_render_film_goes_on_after_an_interrupt() {
    make_run
    command -v ffmpeg >/dev/null || { echo "skipped: ffmpeg is not installed"; return 0; }
    "$BRIM" render d --size 480x270 --samples 6 --quiet -o film.mp4 >out 2>err &
    pid=$!
    for _ in $(seq 500); do
        [ -e film.mp4.frames/000001.png ] && break
        sleep 0.02
    done
    kill -KILL $pid
    wait $pid 2>/dev/null
    absent film.mp4
    [ -e film.mp4.frames/000004.png ] && { echo "skipped: it was done before the signal"; return 0; }
    there film.mp4.frames/000000.png
    stamp=$(stat -c %Y.%i film.mp4.frames/000000.png)
    PATH=/nowhere "$BRIM" render d --size 480x270 --samples 6 --quiet -o film.mp4 >out 2>err ||
        give_up "no second try"
    [ "$stamp" = "$(stat -c %Y.%i film.mp4.frames/000000.png)" ] || give_up "a frame was not kept"
    brim_gives 0 render d --size 480x270 --samples 6 --quiet -o film.mp4
    there film.mp4
    absent film.mp4.frames
}

test_render_film_without_ffmpeg() {
    make_run
    PATH=/nowhere "$BRIM" render d $small -o film.mp4 >out 2>err || give_up "exit code $?"
    says err "ffmpeg is not installed"
    says out film.mp4.frames
    there film.mp4.frames/000000.png film.mp4.frames/000004.png
    absent film.mp4
}

test_render_uses_surfaces_of_the_run() {
    make_run
    brim_gives 0 render d $small --frame 2 -o made.png
    brim_gives 0 mesh d --quiet
    there d/surface/000002.ply
    brim_gives 0 render d $small --frame 2 -o read.png
    # a surface from the file, not made anew: an empty tank when it is another frame's file
    truncate -s -100 d/surface/000002.ply
    run_brim render d $small --frame 2 -o damaged.png
    if [ "$code" -eq 0 ]; then grep -q "Embree" err && return 0; fi
    [ "$code" -eq 6 ] || give_up "a damaged surface: exit code $code, not 6"
    says err "000002.ply"
    absent damaged.png
    echo nonsense >d/surface/000002.ply
    brim_gives 2 render d $small --frame 2 -o damaged.png
    absent damaged.png
}

test_render_exr() {
    make_run
    brim_gives 0 render d $small -o a.exr
    [ "$(head -c 4 a.exr | od -An -tx1 | tr -d ' ')" = 762f3101 ] || give_up "not an EXR file"
    brim_gives 0 render d $small -o frames/%02d.exr --quiet
    brim_gives 0 render d $small -o frames/%02d.exr
    says out "5 of them kept"
    # water is not fitted to the screen: where the PNG is white there is still more light
    if command -v ffmpeg >/dev/null; then
        ffmpeg -loglevel error -i a.exr -pix_fmt rgb24 -f rawvideo a.raw || give_up "ffmpeg cannot read it"
        [ -s a.raw ] || give_up "no pixels"
    fi
}

test_render_bad_input() {
    make_run
    mkdir empty
    brim_gives 2 render empty -o a.png
    says err "holds no frames"
    brim_gives 3 render nowhere -o a.png
    brim_gives 2 render d --frame 77 -o a.png
    says err "the last is 4"
    brim_gives 2 render d -o f.mp4 --first 50
    brim_gives 2 render d -o f.mp4 --frame 1
    brim_gives 2 render d/particles/000001.ply -o f.mp4
    brim_gives 2 render d -o 'a%s.png'
    brim_gives 2 render d -o 'a%d%d.png'
    for name in a.gif a.jpg a frames/%04d.tiff; do
        brim_gives 2 render d -o $name
        says err ".exr"
        absent $name
    done
    brim_gives 2 render d --style oil -o a.png
    says err "water or particles"
    brim_gives 2 render d --camera sideways -o a.png
    brim_gives 2 render d --camera 1,2,3:1,2,3 -o a.png
    brim_gives 2 render d --range 4:1 -o a.png
    brim_gives 2 render d --colour wetness -o a.png
    says err "wetness"
    brim_gives 3 render d $small -o nowhere/a.png
    truncate -s 500 d/particles/000003.ply
    brim_gives 6 render d $small --frame 3 -o a.png
    brim_gives 6 render d $small -o f.mp4
    rm d/particles/000003.ply
    brim_gives 2 render d $small --frame 3 -o a.png
    rm d/run.json
    brim_gives 3 render d $small -o a.png
    absent a.png f.mp4 a.png.part
}

test_render_missing_frame_in_a_film() {
    make_run
    rm d/particles/000002.ply
    run_brim render d $small -o film.mp4
    [ "$code" -eq 0 ] || give_up "exit code $code"
    says err "frame 2 is missing"
}

test_render_without_particles() {
    make_run
    brim_gives 0 run tank.yaml -o dry --quiet --frames 1 --set 'liquid=[]' --set \
        'sources=[{box: {low: [0.1, 0.3, 0.1], high: [0.3, 0.4, 0.3]}, velocity: [0, -1, 0], start: 9}]'
    for how in "--style water" "--style particles" "--colour density"; do
        # shellcheck disable=SC2086
        brim_gives 0 render dry $small $how -o dry.png
        there dry.png
    done
    cp dry/particles/000000.ply alone.ply
    brim_gives 2 render alone.ply -o alone.png
    says err "holds no particles"
    absent alone.png
}

test_render_film_of_any_name() {
    make_run
    command -v ffmpeg >/dev/null || { echo "skipped: no ffmpeg"; return; }
    for name in -y.mp4 cfl:2.mp4 'concat:a|b.mp4' "a b'c.mp4"; do
        brim_gives 0 render d $small -o "$name"
        there "./$name"
        absent "./$name.frames" "./$name.brim-tmp"
    done
}

# Nothing that is written on the way goes through a link.
test_render_film_follows_no_links() {
    make_run
    echo precious >precious
    mkdir film.mp4.frames
    ln -s ../precious film.mp4.frames/ffmpeg.log
    ln -s ../precious film.mp4.frames/000000.png.part
    ln -s precious film.mp4.brim-tmp
    ln -s precious p.png.part
    brim_gives 0 render d $small -o film.mp4
    brim_gives 0 render d $small -o p.png
    [ "$(cat precious)" = precious ] || give_up "written through a link"
    rm -rf film.mp4.frames
    mkdir other
    touch other/000000.png
    ln -s other film.mp4.frames
    brim_gives 3 render d $small -o film.mp4
    says err "in the way"
    there other/000000.png
}

# Memory that runs out anywhere in the tracing of rays is an error to report.
test_render_with_little_memory() {
    [ -n "${BRIM_QUICK:-}" ] && return # sanitizers need more address space than any limit leaves
    make_run
    refused=0
    code=1
    for kib in $(seq 60000 3000 600000); do
        # not even the program and its libraries could be loaded
        (ulimit -c 0 && ulimit -v "$kib" && exec "$BRIM" --version) >out 2>&1 || continue
        (ulimit -c 0 && ulimit -v "$kib" &&
            exec "$BRIM" render d $small --threads 1 -o p.png) >out 2>err
        code=$?
        [ "$code" -eq 0 ] && break
        [ "$code" -eq 4 ] || give_up "$kib KiB: exit code $code"
        says err "out of memory"
        refused=$((refused + 1))
    done
    [ "$code" -eq 0 ] || give_up "never enough memory"
    [ "$refused" -gt 5 ] || give_up "never too little memory"
}
