#!/bin/bash
# Runs all parts of the tests and ends with their sum, "N passed, N failed". Called by `make test`
# and, with --sanitize, by `make test-sanitize`, once all is built.
#
# A part is a program that ends with a line "N passed, N failed"; here that line gets the part's
# name in front. A part that fails without counting a failure (a crash) counts as one.
set -u
sanitize=
[ "${1:-}" = --sanitize ] && sanitize=yes && shift
build=${1:-build}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The parts that build start a make of their own: it keeps our variables but not our job slots.
MAKEFLAGS=$(sed -E 's/ *-j[0-9]*//; s/ *--jobserver-[a-z]*=[^ ]*//' <<<"${MAKEFLAGS:-}")
export MAKEFLAGS
# Threads that wait sleep instead of spinning: on a busy machine spinning makes tests ten times slower.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
total_passed=0
total_failed=0

# part NAME COMMAND...
part() {
    local name=$1 status counts passed=0 failed=0
    shift
    "$@" 2>&1 | tee "$log" | sed -u "s/^[0-9][0-9]* passed, [0-9][0-9]* failed\$/$name: &/"
    status=${PIPESTATUS[0]}
    counts=$(grep -aE '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1)
    [ -n "$counts" ] && read -r passed _ failed _ <<<"$counts"
    if [ "$failed" -eq 0 ] && { [ "$status" -ne 0 ] || [ -z "$counts" ]; }; then
        echo "$name: ended with exit code $status${counts:+ although no test failed}" >&2
        failed=1
    fi
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
}

if [ -n "$sanitize" ]; then
    export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
    export BRIM_QUICK=1
fi
part unit "$build/unit-tests"
BRIM=$build/brim part command tests/cli/run.sh
if [ -z "$sanitize" ]; then
    part install tests/install.sh "$build"
    if [ -e viewer/node_modules/.package-lock.json ] && command -v npx >/dev/null; then
        part page viewer/test/run.sh
    else
        echo "page: skipped, npm packages are not there (scripts/setup.sh --page)"
    fi
    if command -v clang >/dev/null; then
        part fuzz fuzz/run.sh "$build/fuzz" 10
    else
        echo "fuzz: skipped, clang is not installed (scripts/setup.sh --test)"
    fi
fi
echo "$total_passed passed, $total_failed failed"
[ "$total_failed" -eq 0 ]
