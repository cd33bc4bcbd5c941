# What demo, view and record share. Sourced from the repository's root.

listen=${DEMO_LISTEN:-127.0.0.1:8900}
site=http://$listen
target=$PWD/target/ci

say() { printf '\n▸ %s\n' "$*"; }
fail() { echo "$(basename "$0" .sh): $*" >&2; exit 1; }

# Only processes started here are ended, by their ids, the last one first.
children=()
end_children() {
    trap - EXIT INT TERM
    for ((i = ${#children[@]} - 1; i >= 0; i--)); do
        kill "${children[i]}" 2>/dev/null || true
        wait "${children[i]}" 2>/dev/null || true
    done
}
trap end_children EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

start() { # LOG COMMAND...
    local log=$1
    shift
    "$@" >"$log" 2>&1 </dev/null &
    children+=($!)
}

# Waits for a condition while the process that shall bring it about still runs.
wait_for() { # SECONDS PID LOG WHAT COMMAND...
    local deadline=$((SECONDS + $1)) pid=$2 log=$3 what=$4
    shift 4
    until "$@" >/dev/null 2>&1; do
        if [ $SECONDS -ge $deadline ] || ! kill -0 "$pid" 2>/dev/null; then
            tail -n 5 "$log" >&2
            fail "$what did not come up; its log is $log"
        fi
        sleep 0.1
    done
}

port_is_taken() { (exec 3<>"/dev/tcp/${1%:*}/${1##*:}") 2>/dev/null; }

need_free_port() {
    ! port_is_taken "$listen" || fail "$listen is in use: end what listens there, or set DEMO_LISTEN=127.0.0.1:8901"
}

build() { # MINUTES WHAT...
    say "Building the viewer and the programs (about $1 minutes the first time on two cores, then seconds)"
    make --no-print-directory viewer
    cargo build --profile ci --locked --bins "${@:2}"
}

serve() {
    start "$PLAYHEAD_HOME/serve.log" "$target/playhead" serve --listen "$listen"
    wait_for 30 "${children[-1]}" "$PLAYHEAD_HOME/serve.log" 'playhead serve' curl -fs "$site/readyz"
}

# Sets `display`, `port`, `desk` and `desktop`: a desktop on the first free display from 60 on.
start_desktop() {
    desk=$PLAYHEAD_HOME/desktop
    rm -rf "$desk"
    for display in {60..69}; do
        port=$((5900 + display))
        xdpyinfo -display ":$display" >/dev/null 2>&1 || port_is_taken "127.0.0.1:$port" || break
    done
    start "$PLAYHEAD_HOME/desktop.log" bash samples/desktop.sh "$display" "$port" "$desk"
    desktop=${children[-1]}
    wait_for 60 "$desktop" "$PLAYHEAD_HOME/desktop.log" 'the desktop' test -e "$desk/ready"
}

# Sets `recorder`, which waits at `door` for a driver and records as long as one is there.
start_recorder() {
    door=127.0.0.1:$((port + 100))
    start "$PLAYHEAD_HOME/record.log" "$target/playhead-agent" proxy "vnc://127.0.0.1:$port" --listen "$door" --once \
        --policy samples/policy.toml --give-up-after 0 \
        --run "$RUN" --traceparent "00-$TRACE_ID-00f067aa0ba90200-01" \
        --title 'Bank details of Nordic Paper' --request 'Compare the vendor letter with our record and prepare the change' \
        --actor invoice-bot --actor-kind agent --on-behalf-of 'Dana Osei' --os linux --image ledger-desk:12 \
        --deployment sample --region local --egress-policy 'deny all but ledger' --label team=payables
    recorder=${children[-1]}
    wait_for 30 "$recorder" "$PLAYHEAD_HOME/record.log" 'the recorder' grep -q '^Waiting at' "$PLAYHEAD_HOME/record.log"
}

# The driver has left, and the recorder closes the session.
end_recorder() {
    wait "$recorder" || { tail -n 5 "$PLAYHEAD_HOME/record.log" >&2; fail "the recorder did not close cleanly"; }
}
