# brim live and brim view: the server, by a viewer without a screen (tests/live/client.c).

client=$(dirname "$BRIM")/live-client

can_serve() {
    [ -x "$client" ] || { echo "skipped: make tests builds $client" && return 1; }
    if "$BRIM" live nowhere.yaml --no-open 2>&1 | grep -q 'cannot serve'; then
        echo "skipped: built without libwebsockets" && return 1
    fi
}

# serve ARGUMENTS...: starts brim in the background; $url, $server. It ends with the test.
serve() {
    rm -f url
    "$BRIM" "$@" --no-open --threads 1 >url 2>log &
    server=$!
    trap 'kill -9 $server 2>/dev/null' EXIT
    await_url
}

serve_view() {
    rm -f url
    "$BRIM" view "$@" --no-open >url 2>log &
    server=$!
    trap 'kill -9 $server 2>/dev/null' EXIT
    await_url
}

await_url() {
    for _ in $(seq 100); do
        [ -s url ] && break
        kill -0 $server 2>/dev/null || break
        sleep 0.1
    done
    url=$(cat url)
    [ -n "$url" ] || { cat log && give_up "brim printed no address"; }
}

stop_server() { # stop_server CODE
    kill -INT $server
    wait $server
    [ $? -eq "$1" ] || { cat log && give_up "after Ctrl-C the exit code is not $1"; }
}

test_live_lets_in_only_whom_it_should() {
    can_serve || return 0
    write_scene
    serve live scene.yaml
    "$client" "$url" open >out
    says out open
    "$client" "${url%?}x" open >out # another token
    says out "refused 403"
    "$client" "$url" header "Origin: http://evil.example" open >out
    says out "refused 403"
    "$client" "$url" header "Origin:" open >out # none at all
    says out "refused 403"
    "$client" "$url" header "Host: evil.example:80" open >out
    says out "refused 403"
    "$client" "$url" header "Host: evil.example:80" get / >out
    says out "HTTP/1.1 403"
    "$client" "$url" header "Origin: http://evil.example" get / >out
    says out "HTTP/1.1 403"
    "$client" "$url" get /../../etc/passwd >out
    says_not out "HTTP/1.1 200"
    "$client" "$url" get / >out
    if grep -q "HTTP/1.1 200" out; then
        says out "content-security-policy: default-src 'none'; script-src 'self'"
        says out "x-content-type-options: nosniff"
        says out "cache-control: no-store"
    else
        says log "no page"
    fi
    stop_server 130
}

test_live_shows_and_obeys() {
    can_serve || return 0
    write_scene
    serve live scene.yaml --speed 0 -o run
    "$client" "$url" open frames 3 send pause until '"playing":false' >out
    says out "frame kind 1"
    [ "$(grep -c '^frame' out)" -eq 3 ] || give_up "not three frames"
    # paused: two viewers later it is the same step, one step on it is the next
    "$client" "$url" open frames 1 >one
    "$client" "$url" open frames 1 send step frames 1 >two
    first=$(sed -n 's/.* step \([0-9]*\) .*/\1/p' one)
    [ "$(sed -n 's/.* step \([0-9]*\) .*/\1/p' two | head -1)" = "$first" ] || give_up "time went on"
    [ "$(sed -n 's/.* step \([0-9]*\) .*/\1/p' two | tail -1)" = $((first + 1)) ] ||
        give_up "not one step"
    "$client" "$url" open send 'set solver.flip_ratio 0.5' until '"solver.flip_ratio","unit":"","range":"0 to 1","help":"1 = pure FLIP, 0 = PIC; used by flip","values":[0.5]' >out
    "$client" "$url" open send 'set solver.flip_ratio 7' until 'is not allowed' >out
    "$client" "$url" open send restart until 'Started again' >out
    stop_server 130
    there run/checkpoints run/events.txt
    says log "checkpoint run/checkpoints"
}

test_live_shows_surfaces_of_a_warped_grid() {
    can_serve || return 0
    cat >scene.yaml <<'SCENE'
brim: 1
domain: {size: [1, 1, 1], cells: 16}
time: {duration: 1}
grid: {warp: 0.75}
liquid:
  - box: {low: [0, 0, 0], high: [0.5, 0.5, 1]}
SCENE
    serve live scene.yaml
    "$client" "$url" open send 'show -1' frames 4 >out
    says out "frame kind 2"
    stop_server 130
}

test_live_shuts_rubbish_out() {
    can_serve || return 0
    write_scene
    serve live scene.yaml --speed 0
    "$client" "$url" open send 'no such thing' texts 5 >out
    says out closed
    "$client" "$url" flood 1 >out
    "$client" "$url" rubbish 1 >>out
    "$client" "$url" open frames 2 >out || give_up "it does not serve any more"
    stop_server 130
}

test_live_says_what_is_wrong() {
    brim_gives 2 live
    can_serve || return 0
    brim_gives 2 live scene.yaml --token short
    says err "--token"
    brim_gives 2 live scene.yaml --listen 0.0.0.0
    says err "--listen needs one IPv4 address"
    brim_gives 3 view nowhere
    mkdir empty
    brim_gives 2 view empty
    says err "holds no frames"
    write_scene
    serve live scene.yaml
    port=${url#*1:} port=${port%%/*}
    brim_gives 1 live scene.yaml -o other --no-open --port "$port"
    says err "port $port of 127.0.0.1 cannot be opened"
    stop_server 130
}

test_view_plays_and_seeks() {
    can_serve || return 0
    write_scene
    brim_gives 0 run scene.yaml -o run --frames 6 --quiet
    serve_view run
    "$client" "$url" open until '"type":"history"' >out
    says out '"live":false'
    # a frame of before may still be on its way
    "$client" "$url" open send pause send 'seek 4' step 4 >out
    "$client" "$url" open until '"frame":4,"frames":7' >out
    # the run goes on while it is looked at
    brim_gives 0 run scene.yaml -o run --frames 9 --resume --quiet
    "$client" "$url" open until '"frames":10' >out
    stop_server 130
}

test_live_events_are_done_again_bit_for_bit() {
    can_serve || return 0
    write_scene
    cat >>scene.yaml <<'SCENE'
solids:
  - box: {center: [0.7, 0.1], size: [0.1, 0.2]}
SCENE
    serve live scene.yaml --record --speed 0.25 --paused -o played
    "$client" "$url" open send 'set gravity 2 -9 0' send play texts 0.1 \
        send 'move 0 0.1 0.05 0 0 0 30 0.05' texts 0.1 send 'stir 0.2 0.1 0 3 2 0 0.2' \
        send 'set solver.flip_ratio 0.5' send 'pour 0.8 0.7 0 0 -1 0 0.08' texts 0.1 send 'move 0 -0.1 0 0 0 0 0 0.05' \
        until '"ended":true' >out
    stop_server 130
    for verb in 'set gravity 2 -9 0' move stir pour 'set solver.flip_ratio 0.5'; do
        says played/events.txt "$verb"
    done
    brim_gives 0 run scene.yaml --events played/events.txt -o again --quiet --threads 2
    same_frames played again
    # a run that is interrupted and resumed does them once
    brim_gives 0 run scene.yaml --events played/events.txt -o parts --quiet --frames 9
    brim_gives 0 run scene.yaml --events played/events.txt -o parts --quiet --resume
    same_frames played parts
    brim_gives 0 run scene.yaml -o without --quiet
    ! diff -rq played/particles without/particles >/dev/null || give_up "the events did nothing"
    echo '0 move 7 0 0 0 0 0 0 0' >wrong.txt
    brim_gives 2 run scene.yaml --events wrong.txt -o wrong --quiet
    says err "wrong.txt: event 1, before step 1: solid 7: there are only 1 solids"
    echo '0 fly' >wrong.txt
    brim_gives 2 run scene.yaml --events wrong.txt -o other --quiet
    says err "wrong.txt:1: no event begins with 'fly'"
}
