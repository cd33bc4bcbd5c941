#!/usr/bin/env bash
# Serves the recording that is kept in samples/recording: server and viewer, no recorder.
set -euo pipefail
cd "$(dirname "$0")/.."
. samples/parts.sh

[ -d samples/recording/v1 ] || fail 'samples/recording is missing: samples/record.sh makes it'
need_free_port
export PLAYHEAD_HOME=$PWD/.demo/view
build 4 -p replay-server

# The copy in git stays as it is: viewing writes to the store.
rm -rf "$PLAYHEAD_HOME"
mkdir -p "$PLAYHEAD_HOME"
cp -r samples/recording "$PLAYHEAD_HOME/store"
"$target/playhead" index rebuild
serve
session=$(curl -fsS "$site/api/v1/sessions" | jq -er '.sessions[0].id') || fail 'no session is listed'

say 'Look here:'
echo "  all sessions          $site/"
echo "  the recording         $site/s/$session"
if [ -n "${DEMO_EXIT:-}" ]; then
    echo 'view: ok'
    exit
fi
say 'Serving; press Ctrl-C to end'
wait "${children[0]}"
