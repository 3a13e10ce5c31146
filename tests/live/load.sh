#!/bin/bash
# What viewers cost a simulation: steps a second with and without clients that flood, stall and send
# rubbish, in turns; the server's memory and share of a core.
#
#   tests/live/load.sh BUILD [SECONDS]      SECONDS of hostile clients in all; default 60
set -eu
build=$(realpath "${1:-build}")
turn=$((${2:-60} / 6))
work=$(mktemp -d)
server=
trap 'kill -9 $server 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"

# A pool at rest: all steps cost the same.
cat >pool.yaml <<'SCENE'
brim: 1
domain: {size: [1, 1, 1], cells: 40}
time: {duration: 10, frame_rate: 50, step: 0.005}
liquid:
  - box: {low: [0, 0, 0], high: [1, 0.4, 1]}
SCENE

"$build/brim" live pool.yaml --no-open --speed 0 --threads 1 >url 2>log &
server=$!
until [ -s url ]; do
    kill -0 $server || { cat log && exit 1; }
    sleep 0.1
done
url=$(cat url)
client=$build/live-client
rows() { wc -l <pool-live/stats.csv; }
memory() { awk '/VmRSS/ {print $2}' /proc/$server/status; }

# steps SECONDS: taken meanwhile
steps() {
    local before
    before=$(rows)
    sleep "$1"
    echo $(($(rows) - before))
}

sleep 5
quiet=0
hostile=0
start=$(memory)
for _ in 1 2 3 4 5 6; do
    quiet=$((quiet + $(steps "$turn")))
    nice -n 19 "$client" "$url" flood "$turn" >>clients &
    nice -n 19 "$client" "$url" rubbish "$turn" >>clients &
    nice -n 19 "$client" "$url" open stall "$turn" &
    hostile=$((hostile + $(steps "$turn")))
    wait %2 %3 %4 2>/dev/null || true
done
end=$(memory)
sort clients | uniq -c
echo "steps in $((6 * turn)) s: $quiet alone, $hostile with hostile clients: $((100 * hostile / quiet)) %"
echo "memory: $start kB, then $end kB"
# the pool's file of statistics is flushed as it grows; a frame must still come
"$client" "$url" open frames 1 >/dev/null || { echo "it does not serve any more" && exit 1; }
[ $((100 * hostile)) -ge $((95 * quiet)) ] && [ "$end" -le $((start + start / 20 + 4096)) ]
