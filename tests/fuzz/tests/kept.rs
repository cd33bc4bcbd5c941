//! What servers once said, and what fuzzers once found: every oracle over all that is kept.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "this is all test code, helpers too"
)]

use std::path::Path;

use pipeline_fuzz::ORACLES;

/// What is kept for the oracle of that name.
fn kept(name: &str) -> impl Iterator<Item = Vec<u8>> {
    ["corpus", "findings"].into_iter().flat_map(move |folder| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        // Git keeps no empty folders.
        let files = std::fs::read_dir(root.join(folder).join(name));
        files.into_iter().flatten().map(|file| {
            let file = file.unwrap().path();
            println!("{}", file.display());
            std::fs::read(file).unwrap()
        })
    })
}

#[test]
fn promises_hold_for_all_that_is_kept() {
    let mut inputs = 0;
    for (name, oracle) in ORACLES {
        for input in kept(name) {
            oracle(&input);
            inputs += 1;
        }
    }
    assert!(inputs >= 3 * ORACLES.len(), "only {inputs} inputs are kept");
}

/// libFuzzer looks into RDP only when it is asked to (`run.sh`), so this always changes some of what
/// is kept for the worse: the same bytes each time.
#[test]
#[cfg(feature = "rdp")]
fn promises_of_rdp_hold_for_what_is_changed() {
    const TIMES: u32 = 60;
    let mut state = 1_u32;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        (state >> 8) as usize % below.max(1)
    };
    for input in kept("rdp") {
        for _ in 0..TIMES {
            let mut changed = input.clone();
            for _ in 0..=random(3) {
                let at = 2 + random(changed.len() - 2);
                match random(4) {
                    0 => changed.truncate(at.max(3)),
                    1 => changed.insert(at, [0, 0x7f, 0x80, 0xff][random(4)]),
                    2 => drop(changed.remove(at)),
                    _ => changed[at] ^= 1 << random(8),
                }
                if changed.len() < 4 {
                    break;
                }
            }
            pipeline_fuzz::rdp(&changed);
        }
    }
}
