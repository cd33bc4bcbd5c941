#!/usr/bin/env bash
# A small desktop behind a VNC server on loopback: a terminal, and a browser on a local page.
#
#   samples/desktop.sh DISPLAY_NUMBER PORT FOLDER
#
# Writes FOLDER/ready when everything is on the screen and FOLDER/xvnc.pid for those who want
# to stop and continue the server. Ends with SIGTERM or SIGINT, and takes its children along.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

number=$1 port=$2
mkdir -p "$3"
folder=$(cd "$3" && pwd)
export DISPLAY=":$number"
# Nothing of the user's own settings shows in the recording.
export HOME="$folder/home" XDG_CONFIG_HOME="$folder/home/.config" LANG=C.UTF-8

children=()
stop() {
    trap - EXIT
    # The server goes last, so that its clients can say goodbye.
    for ((i = ${#children[@]} - 1; i >= 0; i--)); do
        kill "${children[i]}" 2>/dev/null || true
        wait "${children[i]}" 2>/dev/null || true
    done
    exit 0
}
trap stop EXIT INT TERM

start() { # NAME COMMAND...
    local name=$1
    shift
    "$@" >"$folder/$name.log" 2>&1 </dev/null &
    children+=($!)
}

wait_for() { # SECONDS WHAT COMMAND...
    local deadline=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $deadline ] || { echo "desktop: $what did not come up; see $folder/*.log" >&2; exit 1; }
        sleep 0.1
    done
}

rm -rf "$folder/ready" "$folder/work" "$HOME"
mkdir -p "$HOME"
cp -r "$here/desktop/work" "$folder/work"

start xvnc Xvnc "$DISPLAY" -geometry 1280x800 -depth 24 -SecurityTypes None -localhost \
    -interface 127.0.0.1 -rfbport "$port" -AlwaysShared -desktop "invoice-desk"
echo "${children[0]}" >"$folder/xvnc.pid"
wait_for 10 "Xvnc on display $DISPLAY and port $port (is one of them taken?)" xdpyinfo

xsetroot -solid '#22344f' -cursor_name left_ptr
start openbox openbox --config-file "$here/desktop/openbox.xml"

cd "$folder/work"
start xterm xterm -name invoice-bot -title 'invoice-bot — terminal' -geometry 55x40+798+28 \
    -fa 'DejaVu Sans Mono' -fs 10 -bg '#0f172a' -fg '#e2e8f0' -cr '#7dd3fc' -b 10 +sb -bw 0 \
    -e bash --rcfile "$here/desktop/bashrc"

no_sandbox=()
[ "$(id -u)" -ne 0 ] || no_sandbox=(--no-sandbox --test-type)
start chromium chromium "${no_sandbox[@]}" --app="file://$here/desktop/vendors.html" \
    --user-data-dir="$HOME/chromium" --window-position=24,48 --window-size=756,700 \
    --force-device-scale-factor=1 --disable-gpu --disable-quic --no-first-run \
    --no-default-browser-check --disable-background-networking --disable-component-update \
    --disable-sync --disable-extensions --password-store=basic

wait_for 20 xterm xdotool search --onlyvisible --classname invoice-bot
wait_for 40 chromium xdotool search --onlyvisible --name 'Vendors'
# The first window to be made active finds none before it, and xdotool says so.
xdotool search --onlyvisible --classname invoice-bot windowactivate 2>/dev/null
touch "$folder/ready"
wait "${children[0]}" || true
