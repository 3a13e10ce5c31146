# Arguments, help and exit codes of bad usage.

test_help_and_version() {
    brim_gives 0 --help
    says out "brim COMMAND"
    says out "Exit codes:"
    for command in run check info fields mesh render plot report reproduce; do
        says out "  $command"
    done
    silent err
    brim_gives 0 --version
    grep -qE '^brim [0-9]+\.[0-9]+\.[0-9]+$' out || give_up "no version"
    brim_gives 0 help
    brim_gives 2
}

test_help_of_each_command() {
    for command in run check info fields mesh render plot report reproduce; do
        brim_gives 0 "$command" --help
        says out "Usage: brim $command"
        mv out by_option
        brim_gives 0 help "$command"
        same_file out by_option
        silent err
    done
    brim_gives 2 help rum
    says err "did you mean 'run'?"
}

test_unknown_command_names_the_nearest() {
    brim_gives 2 rnu
    says err "brim: error: unknown command 'rnu'"
    brim_gives 2 chek
    says err "did you mean 'check'?"
    brim_gives 2 zzzzzzzz
    says_not err "did you mean"
}

test_unknown_option_names_the_nearest() {
    write_scene
    brim_gives 2 run scene.yaml -o out.d --thread 2
    says err "unknown option --thread; did you mean --threads?"
    says err "brim run --help"
    brim_gives 2 run scene.yaml -o out.d --ovrewrite
    says err "did you mean --overwrite?"
    brim_gives 2 run scene.yaml -o out.d -x
    says err "unknown option -x"
    absent out.d
}

test_values_of_options() {
    write_scene
    brim_gives 2 run scene.yaml -o out.d --frames
    says err "--frames needs a value"
    for bad in two 1.5 "" " 3" 0 -1 99999999999999999999; do
        brim_gives 2 run scene.yaml -o out.d --frames="$bad"
        says err "--frames"
    done
    brim_gives 2 run scene.yaml -o out.d --threads 5000
    says err "from 0 to 1024"
    brim_gives 2 run scene.yaml -o out.d --seed 4294967296
    brim_gives 2 run scene.yaml -o out.d --quiet=yes
    says err "takes no value"
    brim_gives 2 render . --size 12
    says err "WIDTHxHEIGHT"
    absent out.d
}

test_missing_and_extra_arguments() {
    write_scene
    brim_gives 2 run
    says err "needs a scene file"
    brim_gives 2 run scene.yaml
    says err "-o DIR"
    brim_gives 2 run scene.yaml other.yaml -o out.d
    says err "unexpected argument 'other.yaml'"
    brim_gives 2 run scene.yaml -o out.d --resume --overwrite
    says err "choose one"
    brim_gives 2 fields --json --markdown
    brim_gives 2 info
    absent out.d
}

test_forms_of_options() {
    write_scene
    brim_gives 0 run --frames=1 -oone scene.yaml --quiet
    brim_gives 0 run --output two --frames 1 --quiet -- scene.yaml
    same_frames one two
}

test_full_pipe_is_an_error() {
    [ -e /dev/full ] || return 0
    "$BRIM" fields >/dev/full 2>err
    code=$?
    [ "$code" -eq 3 ] || give_up "exit code $code, not 3"
    says err "standard output"
}

test_scene_reference_is_up_to_date() {
    brim_gives 0 fields --markdown
    sed '1,/^<!-- tables -->$/d' "$here/../../docs/scene-reference.md" | diff - out >/dev/null ||
        give_up "docs/scene-reference.md differs from what 'brim fields --markdown' prints"
}
