# Formulas, tables and what moves by them.

write_wave() {
    cat >"${1:-scene.yaml}" <<'SCENE'
brim: 1
dim: 2
domain: {size: [2, 1], cells: 32}
time: {duration: 0.25, frame_rate: 8}
tables: [{name: paddle, file: paddle.csv}]
let: |
  depth = 0.4
  eta = 0.05 * cos(pi * x)
liquid:
  - height_field: {length: 2, formula: depth + eta}
    velocity: [eta, 0]
solids:
  - box: {low: [0.1, 0], high: [0.2, 1]}
    path: [paddle.x(t), 0]
threads: 1
SCENE
    printf 'time (s),x (m)\n0,0\n0.5,0.2\n1,0\n' >paddle.csv
}

test_formulas_and_tables_run_and_resume() {
    write_wave
    brim_gives 0 check scene.yaml
    brim_gives 0 run scene.yaml -o whole --quiet
    brim_gives 0 run scene.yaml -o parts --quiet --frames 1
    brim_gives 0 run scene.yaml -o parts --quiet --resume
    same_frames whole parts
    printf 'time (s),x (m)\n0,0\n0.5,0.3\n1,0\n' >paddle.csv
    brim_gives 2 run scene.yaml -o parts --quiet --resume --set time.duration=0.5
    says err "differs"
}

test_formulas_that_are_wrong_are_named() {
    write_wave
    brim_gives 2 check scene.yaml --set 'liquid[0].velocity=[2 * etta, 0]'
    says err 'liquid[0].velocity[0]: in "2 * etta", character 5: etta is unknown'
    brim_gives 2 check scene.yaml --set 'solids[0].path=[paddle.y(t), 0]'
    says err "its columns are x"
    sed -i 's/  depth = 0.4/  depth = 0.4 +/' scene.yaml
    brim_gives 2 check scene.yaml
    says err "scene.yaml:6: let: in"
    printf 'time,x\n0,0\n0,1\n' >paddle.csv
    sed -i 's/0.4 +/0.4/' scene.yaml
    brim_gives 2 check scene.yaml
    says err "paddle.csv:3: the first column must increase"
}
