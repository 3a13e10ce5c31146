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

# complete WORDS...: what bash offers for the last of them, one a line.
complete_words() {
    COMP_WORDS=("$BRIM" "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _brim
    printf '%s\n' "${COMPREPLY[@]}" | sort
}

test_completion_has_all_commands_and_options() {
    . "$here/../../scripts/completion.bash"
    "$BRIM" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort >commands
    [ "$(wc -l <commands)" -ge 9 ] || give_up "no list of commands"
    (cat commands && printf -- '--help\n--version\n') | sort >all
    complete_words "" | diff - all || give_up "other commands than in the help"
    for command in $(grep -v help commands); do
        # every word of the help's first column that begins with a dash, however help prints it
        "$BRIM" "$command" --help | sed '1,/^Options:/d' | cut -c 1-26 | grep -oE -- '--?[a-z][a-z-]*' |
            sort >wanted
        echo --help >>wanted
        complete_words "$command" x - | grep -v '^$' | sort | diff - <(sort wanted) ||
            give_up "brim $command: completion and help differ"
    done
    complete_words run scene.yaml --re | grep -qx -- --resume || give_up "no --resume"
    complete_words run x --set domain.ce | grep -qx 'domain.cells=' || give_up "no key for --set"
    complete_words reproduce nb | grep -q nbflip || give_up "no experiments"
}
