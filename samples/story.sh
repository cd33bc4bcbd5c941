#!/usr/bin/env bash
# What the agent "invoice-bot" does on the sample desktop, and what an audit log says about it.
#
#   samples/story.sh DISPLAY_NUMBER FOLDER ADDRESS [SECONDS]
#
# The agent types and points as a VNC client of ADDRESS, which is the recorder's proxy; only which
# window is in front is settled on the display itself.
#
# Prints one event row a line, each at the moment it happens. SECONDS (default 60) stretches the
# waits between actions; typing keeps its pace. ANSWER_SECONDS more pass until a person answers.
# With LAST_SIZE the screen takes that size in the end. RUN and TRACE_ID tie the rows to a recording.
set -euo pipefail

export DISPLAY=":$1"
folder=$2
seconds=${4:-60}
run=${RUN:-run-2107}
trace_id=${TRACE_ID:-4bf92f3577b34da6a3ce929d0e0e4736}

actor=invoice-bot
behalf='Dana Osei'
began_ms=$(date +%s%3N)
terminal=$(xdotool search --onlyvisible --classname invoice-bot | head -n 1)
browser=$(xdotool search --onlyvisible --name Vendors | head -n 1)

# Waits for PERCENT of the story's length, not at all when that is past.
at() { # PERCENT
    local left_ms=$((began_ms + $1 * seconds * 10 - $(date +%s%3N)))
    [ $left_ms -le 0 ] || sleep "$((left_ms / 1000)).$(printf %03d $((left_ms % 1000)))"
}

# FIELDS is a JSON object of what differs from row to row.
row() { # SOURCE KIND OUTCOME TEXT [FIELDS]
    jq -cn --arg time "$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)" --arg run "$run" --arg trace "$trace_id" \
        --arg source "$1" --arg kind "$2" --arg outcome "$3" --arg text "$4" --arg actor "$actor" --arg behalf "$behalf" \
        --argjson fields "${5:-"{}"}" \
        '{time: $time, run: $run, trace_id: $trace, source: $source, kind: $kind, outcome: $outcome, text: $text,
          actor: $actor, on_behalf_of: $behalf} + $fields'
}

artifact() { # PATH
    jq -cn --arg name "$(basename "$1")" --argjson bytes "$(stat -c %s "$1")" --arg sha256 "$(sha256sum "$1" | cut -d' ' -f1)" \
        --arg uri "file:work/$(basename "$1")" '{artifact: {name: $name, bytes: $bytes, sha256: $sha256, uri: $uri}}'
}

coproc driver { "$(dirname "$0")/../target/ci/driver" "$3"; }
exec {say}>&"${driver[1]}" {hear}<&"${driver[0]}" # a coprocess that ends takes its own names along
answered() { read -r -u "$hear" answer && [ "$answer" = ok ]; }
drive() { echo "$*" >&"$say" && answered; }
answered

run_line() { xdotool windowactivate --sync "$terminal" && drive type 35 "$1" && drive key Return; }
point() { drive move "$1" "$2"; }
click() { point "$1" "$2" && sleep 0.3 && drive click; }

# --- reading the request ---------------------------------------------------------------------
at 2
row sandbox sandbox recorded 'Sandbox started from image ledger-desk:12' '{"span_id":"00f067aa0ba90200"}'
run_line 'cat requests/2107.txt'
row sandbox log recorded 'Read request 2107' '{"span_id":"00f067aa0ba90201"}'

# --- opening the vendor: asked, then allowed -------------------------------------------------
at 14
row broker log asked 'Open vendor record 4471' '{"span_id":"00f067aa0ba90202","request":"q-4471"}'
point 300 452
at 20
row broker log allowed 'Open vendor record 4471' \
    '{"span_id":"00f067aa0ba90202","request":"q-4471","decided_by":"Policy fin-read-01"}'
xdotool windowactivate --sync "$browser"
click 240 460
sleep 0.5
row sandbox snapshot recorded 'Snapshot s-38 taken' '{"span_id":"00f067aa0ba90203","attributes":{"snapshot":"s-38"}}'

# --- looking around, and a note --------------------------------------------------------------
at 26
point 400 600
for steps in 1 1 1 -1 -1 -1 -1; do drive wheel $steps && sleep 0.3; done
at 34
run_line 'echo "4471: letter and record differ" > note.txt'
run_line 'echo "letter is dated 28 November" >> note.txt'
sleep 0.3
row sandbox artifact recorded 'Wrote note.txt' \
    "$(jq -c '. + {span_id: "00f067aa0ba90204"}' <<<"$(artifact "$folder/work/note.txt")")"

# --- an idle stretch: the change waits for a person, who says no ------------------------
at 46
xdotool windowactivate --sync "$browser"
click 350 329
drive type 45 'Sparebanken Vestland'
click 132 376
row broker log asked 'Save new bank of vendor 4471' '{"span_id":"00f067aa0ba90205","request":"q-4472"}'
xdotool windowactivate --sync "$terminal"
sleep "${ANSWER_SECONDS:-0}"
began_ms=$((began_ms + 1000 * ${ANSWER_SECONDS:-0}))
at 74
xdotool windowactivate --sync "$browser"
drive key F8
row broker log blocked 'Save new bank of vendor 4471' \
    '{"span_id":"00f067aa0ba90205","request":"q-4472","decided_by":"Dana Osei","attributes":{"reason":"call the vendor first"}}'

# --- a command that policy stops -------------------------------------------------------------
at 82
run_line 'export-vendors --all'
row egress-proxy log blocked 'Run export-vendors --all' '{"span_id":"00f067aa0ba90206","decided_by":"Policy fin-export-02"}'
at 90
run_line 'sha256sum note.txt'
row sandbox mark recorded 'Request 2107 handed back' '{"span_id":"00f067aa0ba90207"}'
at 100
if [ -n "${LAST_SIZE:-}" ]; then
    xrandr --output VNC-0 --mode "$LAST_SIZE"
    sleep 10
fi
