#!/usr/bin/env bash
# Runs each fuzzer for FUZZ_SECONDS (default 30), two at a time, from what is kept in corpus/ and
# findings/. What it finds is written to findings/TARGET/, where `cargo test` will find it too.
# FUZZ_SEED (default 1) is where it begins to look: a short run is no lottery for whoever changed
# something else. 0 is chance.
#
#   tests/fuzz/run.sh [TARGET…]
#
# No nightly and no cargo-fuzz: a stable compiler passes LLVM's coverage through. `--target` keeps
# it away from build scripts.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${FUZZ_SECONDS:-30}
host=$(rustc -vV | sed -n 's/^host: //p')
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(sed -n 's/^name = "fuzz_\(.*\)"/\1/p' tests/fuzz/Cargo.toml)
# RDP alone takes minutes to build, so a short run of everything leaves it to `tests/kept.rs`, which
# changes some of what is kept for it each time.
if [ $# -eq 0 ] && [ "$seconds" -le 60 ]; then
    mapfile -t targets < <(printf '%s\n' "${targets[@]}" | grep -vx rdp)
fi
features=libfuzzer
case " ${targets[*]} " in *" rdp "*) features+=,rdp ;; esac

coverage='-Cpasses=sancov-module -Ccodegen-units=1 -Cllvm-args=-sanitizer-coverage-level=4'
for option in inline-8bit-counters pc-table trace-compares; do
    coverage+=" -Cllvm-args=-sanitizer-coverage-$option"
done
# Apple's sign-in computes with numbers of a thousand bytes: unoptimised, that would be all it does.
RUSTFLAGS=$coverage cargo build --config profile.ci.package.num-bigint.opt-level=3 --profile ci --locked \
    -p pipeline-fuzz --no-default-features --features "$features" --bins --target "$host" --target-dir target/fuzz

fuzz() { # TARGET
    local kept=tests/fuzz/corpus/$1 found=tests/fuzz/findings/$1 grown=target/fuzz/corpus/$1
    mkdir -p "$kept" "$found" "$grown"
    # A desktop of the size a recorder accepts, twice, and what the fuzzer keeps for itself.
    nice "target/fuzz/$host/ci/fuzz_$1" -max_total_time="$seconds" -seed="${FUZZ_SEED:-1}" -rss_limit_mb=700 -timeout=20 \
        -max_len=20000 -print_final_stats=1 -verbosity=0 -artifact_prefix="$found/" \
        "$grown" "$kept" "$found" >"target/fuzz/$1.log" 2>&1 || {
        tail -n 40 "target/fuzz/$1.log"
        echo "fuzz: $1 broke a promise; the input is in $found"
        return 1
    }
    echo "fuzz: $1 kept its promises in $(sed -n 's/^stat::number_of_executed_units: *//p' "target/fuzz/$1.log") runs"
}

failed=0
for ((i = 0; i < ${#targets[@]}; i += 2)); do
    running=()
    for target in "${targets[@]:i:2}"; do
        fuzz "$target" &
        running+=($!)
    done
    for job in "${running[@]}"; do
        wait "$job" || failed=1
    done
done
exit $failed
