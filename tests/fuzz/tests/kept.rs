//! What servers once said, and what fuzzers once found: every oracle over all that is kept.

use std::path::Path;

use pipeline_fuzz::ORACLES;

#[test]
fn promises_hold_for_all_that_is_kept() {
    let mut inputs = 0;
    for (name, oracle) in ORACLES {
        for folder in ["corpus", "findings"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join(folder)
                .join(name);
            // Git keeps no empty folders.
            for file in std::fs::read_dir(folder).into_iter().flatten() {
                let file = file.unwrap().path();
                println!("{}", file.display());
                oracle(&std::fs::read(file).unwrap());
                inputs += 1;
            }
        }
    }
    assert!(inputs >= 3 * ORACLES.len(), "only {inputs} inputs are kept");
}
