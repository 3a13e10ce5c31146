#!/bin/bash
# What viewers cost a simulation.
#
#   tests/live/load.sh BUILD [SECONDS]      SECONDS of hostile clients in all; default 60
#
# Steps with and without clients that flood, stall and send rubbish, in turns, while a viewer looks on:
# by the wall clock and, since other programs take their share of that, by the processor time of the
# thread that simulates.
# Then memory, and the processor time of serving a viewer that takes all frames of many particles.
set -eu
build=$(realpath "${1:-build}")
turn=$((${2:-60} / 6))
work=$(mktemp -d)
server=
trap 'kill -9 $server 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
client=$build/live-client

# A pool at rest: all steps cost the same. About 100 thousand particles in 3D.
cat >pool.yaml <<'SCENE'
brim: 1
domain: {size: [1, 1, 1], cells: 40}
time: {duration: 10, frame_rate: 50, step: 0.005}
liquid:
  - box: {low: [0, 0, 0], high: [1, 0.4, 1]}
SCENE

start_server() { # start_server SCENE: $server, $url
    rm -f url
    "$build/brim" live "$1.yaml" --no-open --speed 0 --threads "${THREADS:-1}" >url 2>log &
    server=$!
    until [ -s url ]; do
        kill -0 $server || { cat log && exit 1; }
        sleep 0.1
    done
    url=$(cat url)
}
start_server pool
rows() { wc -l <pool-live/stats.csv; }
memory() { awk '/VmRSS/ {print $2}' /proc/$server/status; }
# ms of processor time of a thread
ran() { awk '{print int($1 / 1e6)}' /proc/$server/task/"$1"/schedstat; }

sleep 4
# the thread that simulates is the one that works
engine=$(for t in /proc/$server/task/*; do
    echo "$(awk '{print $1}' "$t/schedstat") ${t##*/}"
done | sort -n | tail -n 1 | cut -d' ' -f2)

# turn NAME: NAME_steps and NAME_ms of the simulation's thread grow by those of some seconds
quiet_steps=0 quiet_ms=0 hostile_steps=0 hostile_ms=0
count() {
    local steps ms
    steps=$(rows) ms=$(ran "$engine")
    sleep "$turn"
    eval "$1_steps=\$(($1_steps + $(rows) - steps)) $1_ms=\$(($1_ms + $(ran "$engine") - ms))"
}

# somebody who behaves looks on all the time
"$client" "$url" open measure $((13 * turn)) >/dev/null &
sleep 2
start=$(memory)
served=$(ran $server)
for _ in 1 2 3 4 5 6; do
    count quiet
    hostile=()
    for what in "flood $turn" "rubbish $turn" "open stall $turn"; do
        # shellcheck disable=SC2086
        nice -n 19 "$client" "$url" $what >>clients &
        hostile+=($!)
    done
    count hostile
    wait "${hostile[@]}" 2>/dev/null || true
done
served=$(($(ran $server) - served))
end=$(memory)
sort clients | uniq -c
cost=$((1000 * hostile_ms / hostile_steps * 100 / (1000 * quiet_ms / quiet_steps)))
echo "steps in $((6 * turn)) s: $quiet_steps alone, $hostile_steps with hostile clients: $((100 * hostile_steps / quiet_steps)) %"
echo "processor time a step: $((1000 * quiet_ms / quiet_steps)) us alone, $((1000 * hostile_ms / hostile_steps)) us with them: $cost %"
echo "the thread that serves them: $((served / (6 * turn))) ms a second"
echo "memory: $start kB, then $end kB"

kill -INT $server
wait $server || true

# 317 thousand particles: the thread that serves, and packing in the one that simulates.
sed 's/cells: 40/cells: 60/; s/0.4, 1/0.18, 1/' pool.yaml >wide.yaml
start_server wide
served=$(ran $server)
"$client" "$url" open measure 8 | tee measured
served=$(($(ran $server) - served))
kill -INT $server
wait $server || true
frames=$(sed 's/.*measure frames \([0-9]*\).*/\1/' measured | tail -n 1)
packing=$(sed -n 's/.*packed in \([0-9.]*\) ms.*/\1/p' log)
share=$(awk "BEGIN {print int(30 * ($served / $frames + $packing) / 10 + 0.5)}")
echo "a frame of it: sent in $((1000 * served / frames)) us of processor time, packed in $packing ms;"
echo "30 a second: $share % of a core"
[ "$cost" -le 105 ] && [ "$end" -le $((start + start / 20 + 4096)) ] && [ "$share" -le 15 ]
