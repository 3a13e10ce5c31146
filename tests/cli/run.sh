#!/bin/bash
# Tests of the brim command: every function test_* of tests/cli/test_*.sh, each in a folder of its
# own. BRIM names the binary; arguments choose tests by a part of their name.
# Ends with "N passed, N failed".
set -u
here=$(cd "$(dirname "$0")" && pwd)
BRIM=$(realpath "${BRIM:-build/brim}")
if [ ! -x "$BRIM" ]; then
    echo "tests/cli: $BRIM is not there; build it first (make), or set BRIM" >&2
    echo "0 passed, 1 failed"
    exit 1
fi
export BRIM
unset NO_COLOR
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

wanted() {
    local name=$1 part
    shift
    for part in "$@"; do [[ $name == *"$part"* ]] && return 0; done
    [ $# -eq 0 ]
}

. "$here/lib.sh"
for file in "$here"/test_*.sh; do . "$file"; done
for name in $(declare -F | awk '$3 ~ /^test_/ {print $3}'); do
    wanted "$name" "$@" || continue
    mkdir "$work/$name"
    start=$(date +%s%N)
    if (cd "$work/$name" && "$name") >"$work/log" 2>&1; then
        passed=$((passed + 1)) word='ok  '
    else
        failed=$((failed + 1)) word=FAIL
    fi
    ms=$((($(date +%s%N) - start) / 1000000))
    printf '%s %s (%d.%02d s)\n' "$word" "$name" $((ms / 1000)) $((ms % 1000 / 10))
    if [ "$word" = FAIL ]; then sed 's/^/     /' "$work/log"; else grep '^skipped' "$work/log"; fi
    rm -rf "${work:?}/$name"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
