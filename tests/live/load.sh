#!/bin/bash
# What viewers cost a simulation.
#
#   tests/live/load.sh BUILD [SECONDS]      SECONDS of hostile clients in all; default 60
#
# Steps with and without clients that flood, stall and send rubbish, in turns, while a viewer looks on:
# by the wall clock and, since other programs take their share of that, by the processor time of the
# thread that simulates.
# Then memory, and the processor time of the thread that serves, with a viewer that takes all frames.
set -eu
build=$(realpath "${1:-build}")
turn=$((${2:-60} / 6))
work=$(mktemp -d)
server=
trap 'kill -9 $server 2>/dev/null; rm -rf "$work"' EXIT
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

"$build/brim" live pool.yaml --no-open --speed 0 --threads 1 >url 2>log &
server=$!
until [ -s url ]; do
    kill -0 $server || { cat log && exit 1; }
    sleep 0.1
done
url=$(cat url)
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

served=$(ran $server)
"$client" "$url" open measure 5 | tee measured
served=$(($(ran $server) - served))
frames=$(sed 's/.*measure frames \([0-9]*\).*/\1/' measured | tail -n 1)
echo "sending a frame of it: $((1000 * served / frames)) us of processor time"
[ "$cost" -le 105 ] && [ "$end" -le $((start + start / 20 + 4096)) ]
