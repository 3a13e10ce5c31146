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
