#!/usr/bin/env bash
# Makes samples/recording: the sample desktop for about four minutes, with an idle stretch, a
# server that stalls and a screen that changes its size. Run it when the recorded format changes.
set -euo pipefail
cd "$(dirname "$0")/.."
. samples/parts.sh

seconds=120
# The answer takes so long that a whole idle GOP of 60 s passes wherever the cuts fall, and the
# rest is stored as its repetition.
export ANSWER_SECONDS=130 LAST_SIZE=1280x720
most_kib=3072
PLAYHEAD_HOME=$(mktemp -d)
export PLAYHEAD_HOME RUN=run-2107 TRACE_ID=4bf92f3577b34da6a3ce929d0e0e4736

build 8 --workspace
start_desktop
start_recorder
say "Recording $((seconds + ANSWER_SECONDS + 10)) s"
bash samples/story.sh "$display" "$desk" "$door" "$seconds" >"$PLAYHEAD_HOME/rows.ndjson" &
story=$!

# In a quiet part of the story the server stops answering, and comes back.
sleep $((seconds * 40 / 100))
kill -STOP "$(cat "$desk/xvnc.pid")"
sleep 6
kill -CONT "$(cat "$desk/xvnc.pid")"

wait "$story"
end_recorder

"$target/playhead" events import "$PLAYHEAD_HOME/rows.ndjson"
kib=$(du -sk --apparent-size "$PLAYHEAD_HOME/store" | cut -f1)
[ "$kib" -le $most_kib ] || fail "the recording has $kib KiB; $most_kib are allowed"
rm -rf samples/recording
cp -r "$PLAYHEAD_HOME/store" samples/recording
rm -rf "$PLAYHEAD_HOME"
say "samples/recording has $kib KiB"
