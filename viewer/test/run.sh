#!/bin/bash
# Types and unit tests of the page. Ends with "N passed, N failed".
cd "$(dirname "$0")/.." || exit 1
passed=0
failed=0
for check in "tsc --noEmit" "vitest run"; do
    # shellcheck disable=SC2086
    if said=$(npx --no-install $check 2>&1); then
        echo "ok   $check" && passed=$((passed + 1))
    else
        echo "$said" && echo "FAIL $check" && failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
