#!/usr/bin/env bash
# Records corpus/ anew from real servers: small screens, in every encoding and pixel format.
# What is in corpus/relay is written by hand: sessions of a driver, each of every sign-in. So is what
# is in corpus/rdp, but for xrdp-… and shadow-…: those are cut from `capture/rdp/tests/replay`.
set -euo pipefail
cd "$(dirname "$0")"

cargo build --profile ci --locked -p pipeline-fuzz --example record_seed
record=../../target/ci/examples/record_seed
mkdir -p corpus/handshake corpus/decoder
servers=()
trap 'kill "${servers[@]}"' EXIT

start() { # COMMAND…
    "$@" >/dev/null 2>&1 &
    servers+=($!)
}

answers() { # PORT
    for _ in $(seq 100); do
        : 2>/dev/null <"/dev/tcp/127.0.0.1/$1" && return
        sleep 0.1
    done
    echo "seeds: nothing answers on port $1" >&2
    exit 1
}

draw() { # DISPLAY
    DISPLAY=$1 xsetroot -mod 7 5 -fg '#3366aa' -bg '#102030' -cursor_name left_ptr
    start env DISPLAY="$1" xterm -geometry 20x6+7+9 -e "printf '\033[31mred \033[44mon blue\n'; seq 99; sleep 99"
    sleep 2
}

seeds() { # NAME PORT SIZE-BIT ENCODING…
    local name=$1 port=$2 size=$3
    "$record" "127.0.0.1:$port" handshake 60 >"corpus/handshake/$name"
    for encoding in "${@:4}"; do
        # Each format, the other byte order of two, and each encoding.
        for terms in 0 1 3 67 4; do
            "$record" "127.0.0.1:$port" decoder 2000 $((terms + size)) "$encoding" \
                >"corpus/decoder/$name-$encoding-$terms"
        done
    done
}

start Xvnc :60 -rfbport 5960 -geometry 160x120 -localhost -SecurityTypes None
answers 5960
draw :60
seeds xvnc 5960 0 raw hextile tight zrle

start Xvfb :61 -screen 0 160x120x24 -nolisten tcp
sleep 2
draw :61
start x11vnc -display :61 -rfbport 5961 -localhost -nopw -shared -forever -noxrecord
answers 5961
seeds x11vnc 5961 0 hextile tight zrle

start qemu-system-x86_64 -display none -vnc 127.0.0.1:62 -machine accel=tcg -m 16 -net none
answers 5962
sleep 3
seeds qemu 5962 128 hextile tight zrle
