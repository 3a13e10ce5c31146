# Completion of the brim command for bash. Commands and options are those that its own help lists.

# Commands, by `brim --help`.
_brim_commands() {
    "$1" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# Options of a command, by `brim COMMAND --help`.
_brim_options() {
    "$1" "$2" --help 2>/dev/null |
        sed -n '/^Options:/,$s/^  \(-[a-z]\), \(--[a-z-]*\).*/\1 \2/p; /^Options:/,$s/^  \(--[a-z-]*\).*/\1/p'
    echo --help
}

_brim() {
    local brim=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_brim_commands "$brim") --help --version" -- "$word")
    elif [ "$before" = help ] && [ "$COMP_CWORD" -eq 2 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_brim_commands "$brim")" -- "$word")
    elif [ "$before" = --set ]; then
        compopt -o nospace 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -S = -W "$("$brim" fields 2>/dev/null |
            grep -oE '^ *[a-z_]+(\.[a-z_]+)*\b')" -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_brim_options "$brim" "${COMP_WORDS[1]}")" -- "$word")
    elif [ "$before" = reproduce ]; then
        mapfile -t COMPREPLY < <(compgen -W "--list $("$brim" reproduce --list 2>/dev/null |
            sed -n '2,/^$/s/ .*//p')" -- "$word")
    else
        compopt -o default 2>/dev/null
    fi
}
complete -F _brim brim
