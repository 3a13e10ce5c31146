#!/bin/bash
# Builds the fuzz targets with clang and runs each for a bounded time, starting from its corpus in
# fuzz/corpus/NAME (NAME of fuzz_NAME.c). New inputs stay in BUILD/found, crashes in BUILD/crashes.
#
#   fuzz/run.sh BUILD SECONDS [NAME...]
set -u
cd "$(dirname "$0")/.."
build=${1:-build/fuzz}
seconds=${2:-60}
shift $(($# < 2 ? $# : 2))

if ! command -v clang >/dev/null; then
    echo "fuzzing needs clang: scripts/setup.sh --test installs it" >&2
    exit 1
fi
make --no-print-directory BUILD="$build" CC=clang OPT=-O1 \
    SANITIZE="-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all" \
    fuzzers || exit 1

passed=0
failed=0
for source in fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    name=${name#fuzz_}
    [ $# -gt 0 ] && [[ " $* " != *" $name "* ]] && continue
    found=$build/found/$name
    mkdir -p "$found" "$build/crashes"
    corpus=()
    [ -d "fuzz/corpus/$name" ] && corpus=("fuzz/corpus/$name")
    if OMP_NUM_THREADS=1 "$build/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=2048 -malloc_limit_mb=1024 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="$build/crashes/$name-" "$found" "${corpus[@]}" \
        >"$build/$name.log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$name.log")
        echo "ok   fuzz $name: ${runs:-?} inputs in $seconds s"
        passed=$((passed + 1))
    else
        tail -n 60 "$build/$name.log"
        echo "FAIL fuzz $name: the input is in $build/crashes/, the log in $build/$name.log"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
