#!/usr/bin/env bash
# Runs the store's suite on a Ceph cluster of this machine: a monitor, a manager, three OSDs in
# memory that keep every object three times, and the gateway that speaks S3; all on loopback, in a
# folder that goes with them. Installs Ceph, from Debian, where it is missing. For `make test-ceph`,
# as root.
set -euo pipefail
cd "$(dirname "$0")/../../.."

if ! { command -v radosgw && command -v ceph-mon && command -v ceph-osd && command -v ceph-mgr &&
    command -v ceph; } >/dev/null; then
    echo "ceph: installing (about 2 minutes)"
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update
    apt-get -qq install -y --no-install-recommends \
        radosgw ceph-mon ceph-osd ceph-mgr ceph-common >/dev/null
fi
cargo test --profile ci --locked -p store --test ceph --no-run

dir=$(mktemp -d /tmp/playhead-ceph.XXXXXX)
monitor=18479 gateway=18480
fsid=$(cat /proc/sys/kernel/random/uuid)
declare -A daemons

# Starts a daemon under a name. They stay in the foreground: one that forks may never return.
start() {
    local name=$1
    shift
    "$@" -c "$dir/ceph.conf" -f >"$dir/$name.out" 2>&1 &
    daemons[$name]=$!
}
stop() {
    kill -9 "${daemons[@]}" || true
    wait
    rm -rf "$dir"
}
trap 'stop 2>/dev/null' EXIT
# Asks the cluster; it answers in a second, or the words of its daemons say why not.
cluster() {
    timeout 60 ceph -c "$dir/ceph.conf" "$@" || fail "ceph $1 did not answer"
}
fail() {
    echo "ceph: $1"
    tail -n 20 "$dir"/*.out "$dir"/*.log
    exit 1
}
# Waits until a condition holds.
await() {
    for _ in $(seq 240); do
        if "$@"; then return; fi
        sleep 0.5
    done
    fail "$* did not come true"
}

cat >"$dir/ceph.conf" <<CONF
[global]
fsid = $fsid
mon host = v1:127.0.0.1:$monitor
auth cluster required = none
auth service required = none
auth client required = none
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind msgr2 = false
ms bind ipv6 = false
osd pool default size = 3
osd pool default min size = 2
osd pool default pg num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 1073741824
mon data = $dir/mon
osd data = $dir/osd.\$id
mgr data = $dir/mgr
run dir = $dir
log file = $dir/\$name.log
admin socket = $dir/\$name.asok
[client.rgw.a]
rgw frontends = beast endpoint=127.0.0.1:$gateway
CONF

echo "ceph: starting (about half a minute)"
mkdir "$dir/mon" "$dir/mgr"
monmaptool --create --addv a "[v1:127.0.0.1:$monitor]" --fsid "$fsid" "$dir/monmap" >/dev/null
ceph-mon -c "$dir/ceph.conf" --mkfs -i a --monmap "$dir/monmap"
start mon ceph-mon -i a
start mgr ceph-mgr -i x
for n in 0 1 2; do
    mkdir "$dir/osd.$n"
    uuid=$(cat /proc/sys/kernel/random/uuid)
    cluster osd new "$uuid" >/dev/null
    ceph-osd -c "$dir/ceph.conf" -i "$n" --mkfs --osd-uuid "$uuid" >"$dir/mkfs.out" 2>&1
    start "osd.$n" ceph-osd -i "$n"
    cluster osd crush add "osd.$n" 1.0 root=default host="h$n" 2>/dev/null
done
all_up() { cluster osd stat | grep -q ' 3 up'; }
await all_up
timeout 120 radosgw-admin -c "$dir/ceph.conf" user create --uid=t --display-name=t \
    --access-key=test --secret-key=testsecret >/dev/null 2>"$dir/user.out" || fail "no user"
start gateway radosgw -n client.rgw.a
answers() { curl -sf -o /dev/null "http://127.0.0.1:$gateway/"; }
await answers

PLAYHEAD_CEPH=http://127.0.0.1:$gateway PLAYHEAD_CEPH_OSD=${daemons[osd.2]} \
    cargo test --profile ci --locked -p store --test ceph -- --ignored --nocapture
