# Helpers of the command's tests. Each test runs in a subshell: `give_up` ends it as failed.

give_up() {
    echo "$*"
    for stream in out err; do
        [ -s "$stream" ] && echo "--- $stream:" && head -c 2000 "$stream"
    done
    exit 1
}

# Runs brim; leaves stdout in out, stderr in err, the exit code in $code.
run_brim() {
    "$BRIM" "$@" >out 2>err
    code=$?
}

# brim_gives CODE ARGUMENTS...: runs brim and wants this exit code.
brim_gives() {
    local wanted=$1
    shift
    run_brim "$@"
    [ "$code" -eq "$wanted" ] || give_up "brim $*: exit code $code, not $wanted"
}

says() { # says out|err TEXT
    grep -qF -- "$2" "$1" || give_up "'$2' is not in $1"
}

says_not() {
    ! grep -qF -- "$2" "$1" || give_up "'$2' is in $1"
}

silent() { # silent out|err
    [ ! -s "$1" ] || give_up "$1 is not empty"
}

there() {
    for path in "$@"; do [ -e "$path" ] || give_up "$path is not there"; done
}

absent() {
    for path in "$@"; do [ ! -e "$path" ] || give_up "$path is there"; done
}

same_file() {
    cmp "$1" "$2" || give_up "$1 and $2 differ"
}

# same_frames DIR DIR: the same particle files with the same bytes.
same_frames() {
    diff -rq "$1/particles" "$2/particles" || give_up "the frames of $1 and $2 differ"
}

# Everything in a folder, names and bytes, as one line.
fingerprint() {
    (cd "$1" && find . -print0 | sort -z | xargs -0 ls -dl --time-style=full-iso &&
        find . -type f -print0 | sort -z | xargs -0 cksum) | cksum
}

# One JSON object a line.
valid_json_lines() {
    if command -v python3 >/dev/null; then
        python3 -c '
import json, sys
def refuse(name): raise ValueError(name)
for line in open(sys.argv[1]): assert isinstance(json.loads(line, parse_constant=refuse), dict)
' "$1" || give_up "$1 is not one JSON object a line"
    else
        ! grep -qvE '^\{.*\}$' "$1" || give_up "$1 is not one JSON object a line"
    fi
}

# A small dam break: 600 particles, 20 frames of 10 steps, some tenths of a second.
write_scene() {
    cat >"${1:-scene.yaml}" <<'SCENE'
brim: 1
dim: 2
domain:
  size: [1, 1]
  cells: [32, 32]
time:
  duration: 0.4
  frame_rate: 50
  step: 0.002
particles:
  per_cell: 4
liquid:
  - box: {low: [0, 0], high: [0.3125, 0.46875]}
output:
  checkpoint_every: 5
threads: 1
SCENE
}

# The same with more steps, for runs that shall be caught under way.
write_long_scene() {
    write_scene "$1"
    sed -i 's/duration: .*/duration: 2.4/; s/step: .*/step: 0.0005/' "$1"
}

newest_checkpoint() {
    ls "$1"/checkpoints/step-*.brim | tail -n 1
}

# Fewer rounds when each costs more (sanitizers).
rounds() {
    if [ -n "${BRIM_QUICK:-}" ]; then echo "$2"; else echo "$1"; fi
}
