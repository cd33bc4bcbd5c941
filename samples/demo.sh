#!/usr/bin/env bash
# Starts a scripted desktop, records it, sends its audit rows, and serves the recording.
#
#   DEMO_SECONDS   how long the desktop works (default 60)
#   DEMO_EXIT=1    check what was recorded, say so, and end
#   DEMO_LISTEN    where to serve (default 127.0.0.1:8900)
set -euo pipefail
cd "$(dirname "$0")/.."
. samples/parts.sh

seconds=${DEMO_SECONDS:-60}
export PLAYHEAD_HOME=$PWD/.demo
RUN=run-$(date -u +%H%M%S)
TRACE_ID=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export RUN TRACE_ID
rows=$PLAYHEAD_HOME/rows.ndjson

need_free_port
mkdir -p "$PLAYHEAD_HOME"
build 8 --workspace

say "Starting the server and a desktop, and recording for $seconds seconds who drives it"
serve
start_desktop
start_recorder
echo "  live: $site/"
bash samples/story.sh "$display" "$desk" "$door" "$seconds" | tee "$rows" | while read -r row; do
    curl -fsS -o "$PLAYHEAD_HOME/answer.json" --data-binary "$row" \
        -H 'content-type: application/x-ndjson' "$site/api/v1/events" || fail "a row was refused: $row"
    jq -r '"  \(.time[11:23])  \(.outcome)\t\(.text)"' <<<"$row" | expand -t 26
done
end_recorder
kill "$desktop"

session=$(curl -fsS "$site/api/v1/sessions?run=$RUN" | jq -er '.sessions[0].id') || fail "no session of $RUN is listed"
blocked=$(curl -fsS "$site/api/v1/sessions/$session/events?kinds=log" | jq -er '
    (.columns | index("outcome")) as $outcome | first(.rows[] | select(.[$outcome] == "blocked"))[0]') ||
    fail "the session's log has no blocked row"

say 'Recorded. Look at it here:'
cat <<END
  all sessions          $site/
  this session          $site/s/$session
  a blocked save, at its exact frame
                        $site/e/$blocked
  the desktop           has ended, and the recorder has closed the session
  what lies on disk     .demo/store (\`make clean-demo\` removes it)
END

if [ -z "${DEMO_EXIT:-}" ]; then
    say 'Serving; press Ctrl-C to end'
    wait "${children[0]}"
    exit
fi

# --- the demo's own check --------------------------------------------------------------------
say 'Checking'
moment=$(curl -fsS "$site/api/v1/resolve?event=$blocked" | jq -ec '.candidates[0]')
[ "$(jq -r .session <<<"$moment")" = "$session" ] || fail "the row resolves elsewhere: $moment"
t=$(jq -er .t <<<"$moment")
curl -fsS -D "$PLAYHEAD_HOME/frame.head" -o "$PLAYHEAD_HOME/frame.jpg" "$site/api/v1/sessions/$session/frame?t=$t"
shown=$(ffprobe -v error -show_entries stream=width,height -of csv=p=0 "$PLAYHEAD_HOME/frame.jpg")
[ "$shown" = 1280,800 ] || fail "the frame at $t ms is no picture of 1280x800: $shown"
typed=$(curl -fsS "$site/api/v1/sessions/$session/events?kinds=text_run&q=Sparebanken" | jq -r '.rows | length')
[ "$typed" = 1 ] || fail "the driver's text was recorded $typed times"
echo "  session $session · row at $t ms · frame $shown,$(grep -i x-playhead-frame-t: "$PLAYHEAD_HOME/frame.head" | cut -d: -f2 | tr -d '\r') ms"
echo 'demo: ok'
