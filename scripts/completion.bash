# Completion of the brim command for bash.
_brim() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "run check info fields mesh render plot report reproduce --help --version" -- "$word")
    elif [ "$before" = reproduce ]; then
        mapfile -t COMPREPLY < <(compgen -W "--list $(brim reproduce --list 2>/dev/null |
            sed -n '2,/^$/s/ .*//p')" -- "$word")
    elif [ "$before" = --set ]; then
        compopt -o nospace
        mapfile -t COMPREPLY < <(compgen -S = -W "$(brim fields 2>/dev/null |
            grep -oE '^ *[a-z_]+(\.[a-z_]+)*\b')" -- "$word")
    elif [[ $word == -* && ${COMP_WORDS[1]} == run ]]; then
        mapfile -t COMPREPLY < <(compgen -W "-o --set --frames --threads --seed --resume \
            --overwrite --quiet --json --help" -- "$word")
    elif [[ $word == -* && ${COMP_WORDS[1]} == render ]]; then
        mapfile -t COMPREPLY < <(compgen -W "-o --frame --first --last --style --size --samples \
            --camera --motion-blur --colour --range --grid --level-set --threads --overwrite \
            --quiet --help" -- "$word")
    elif [[ $word == -* && ${COMP_WORDS[1]} == mesh ]]; then
        mapfile -t COMPREPLY < <(compgen -W "-o --format --frame --first --last --resolution \
            --radius --smooth --anisotropic --threads --resume --overwrite --quiet --json --help" \
            -- "$word")
    else
        compopt -o default
    fi
}
complete -F _brim brim
