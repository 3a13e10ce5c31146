# Bodies: from a scene to files, a picture, and a run that is resumed.

write_bodies() {
    cat >bodies.yaml <<'END'
brim: 1
dim: 2
domain: {size: [1, 1], cells: 24}
time: {duration: 0.5, frame_rate: 20}
particles: {per_cell: 4}
output: {checkpoint_every: 5}
liquid:
  - box: {low: [0, 0], high: [1, 0.4]}
bodies:
  - box: {center: [0.3, 0.4], size: [0.25, 0.25]}
    density: 500
    rigid: true
  - box: {low: [0.7, 0], high: [0.76, 0.6]}
    young: 1e5
    modes: 4
    elements: 40
    pins:
      - box: {low: [0.6, -0.1], high: [0.9, 0]}
END
}

test_bodies_are_written_and_drawn() {
    write_bodies
    brim_gives 0 run bodies.yaml -o d
    there d/bodies/000000.ply d/bodies/000010.ply d/bodies/000010.csv
    [ "$(wc -l <d/bodies/000010.csv)" -eq 3 ] || give_up "not a row for each body"
    awk -F, 'NR == 2 && !($4 > 0.3 && $4 < 0.5) { exit 1 }' d/bodies/000010.csv ||
        give_up "the crate does not float"
    brim_gives 0 render d -o picture.png
    there picture.png
}

test_bodies_go_on_after_a_resume() {
    write_bodies
    brim_gives 0 run bodies.yaml -o whole --quiet
    brim_gives 0 run bodies.yaml -o parts --quiet --frames 5
    brim_gives 0 run bodies.yaml -o parts --quiet --resume
    cmp whole/bodies/000010.ply parts/bodies/000010.ply || give_up "the bodies differ"
    cmp whole/particles/000010.ply parts/particles/000010.ply || give_up "the particles differ"
}

test_bodies_that_cannot_be_are_named() {
    write_bodies
    brim_gives 2 run bodies.yaml -o d --set 'bodies=[{box: {low: [0.2, 0.5], high: [0.6, 0.51]}}]'
    says err "bodies[0]: the body is 0.01 m thick"
    brim_gives 2 run bodies.yaml -o d --set 'bodies=[{sphere: {center: [0.5, 0.5], radius: 0.2}, poisson: 0.5}]'
    says err "0 to 0.49"
}

test_tets_of_a_mesh_are_a_body_again() {
    write_bodies
    cat >cube.obj <<'END'
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
v 0 0 1
v 1 0 1
v 1 1 1
v 0 1 1
f 4 3 2 1
f 5 6 7 8
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f 4 1 5 8
END
    brim_gives 0 tets cube.obj -o cube.msh --count 2000
    brim_gives 2 tets cube.obj -o cube.msh --edge 5
    brim_gives 2 tets cube.obj -o cube.msh
    brim_gives 2 tets bodies.yaml -o cube.msh --count 100
    cat >tets.yaml <<'END'
brim: 1
domain: {size: [1, 1, 1], cells: 16}
time: {duration: 0.1, frame_rate: 20}
cache: kept
bodies:
  - mesh: {file: cube.msh, position: [0.3, 0.3, 0.3], scale: 0.4}
    modes: 3
    elements: 27
END
    brim_gives 0 run tets.yaml -o first --quiet
    brim_gives 0 run tets.yaml -o second --quiet
    [ "$(ls kept | wc -l)" -eq 1 ] || give_up "the body was not kept, or not found again"
    cmp -s first/bodies/000002.csv second/bodies/000002.csv || give_up "not the same from the cache"
}

# A surface that crosses itself is taken once, and the check says so.
test_bodies_warn_of_a_surface_that_crosses_itself() {
    box() { # x0 y0 z0 x1 y1 z1, first vertex
        for z in $3 $6; do for y in $2 $5; do for x in $1 $4; do echo "v $x $y $z"; done; done; done
        for f in "1 3 4 2" "5 6 8 7" "1 2 6 5" "3 7 8 4" "1 5 7 3" "2 4 8 6"; do
            echo "$f" | awk -v n="$7" '{ print "f", $1 + n, $2 + n, $3 + n, $4 + n }'
        done
    }
    { box 0.2 0.3 0.3 0.6 0.6 0.6 0; box 0.4 0.4 0.4 0.8 0.5 0.5 8; } >cross.obj
    cat >cross.yaml <<'EOF'
brim: 1
dim: 3
domain: {size: [1, 1, 1], cells: 16}
time: {duration: 0.1}
liquid:
  - box: {low: [0, 0, 0], high: [1, 0.2, 1]}
bodies:
  - mesh: {file: cross.obj}
    modes: 4
    elements: 27
EOF
    brim_gives 0 check cross.yaml
    says err "cross.obj crosses itself, or has parts inside one another"
    # a face turned by half a turn: half of the box is inside out
    box 0.3 0.3 0.3 0.7 0.7 0.7 0 | awk '$1 == "v" && ++n > 4 { v[n] = $0; next }
        $1 == "f" && !done++ { print v[8]; print v[6]; print v[7]; print v[5] } { print }' >cross.obj
    brim_gives 0 check cross.yaml
    says err "cross.obj crosses itself: parts of it are turned inside out"
}
