//! Is a secret anywhere in what was written?

use std::path::Path;

use anyhow::ensure;

use crate::playhead::Home;

/// Looks for `secret` in every byte below `home`, and in what lies packed there. Gives back how much
/// was packed.
///
/// # Errors
/// When it is there.
pub fn check_nowhere(home: &Home, secret: &str) -> anyhow::Result<usize> {
    let mut files = vec![];
    let mut folders = vec![home.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let to = if path.is_dir() {
                &mut folders
            } else {
                &mut files
            };
            to.push(path);
        }
    }
    let mut unpacked = 0;
    for file in files {
        // The spool may have sent and removed it meanwhile.
        let Ok(bytes) = std::fs::read(&file) else {
            continue;
        };
        check_bytes(&file, &bytes, secret)?;
        for packed in packed(&bytes) {
            unpacked += 1;
            check_bytes(&file, &packed, secret)?;
        }
    }
    Ok(unpacked)
}

fn check_bytes(file: &Path, bytes: &[u8], secret: &str) -> anyhow::Result<()> {
    let found = bytes
        .windows(secret.len())
        .any(|part| part == secret.as_bytes());
    ensure!(!found, "{} holds the secret", file.display());
    Ok(())
}

/// What lies in zstd frames in `bytes`.
fn packed(bytes: &[u8]) -> Vec<Vec<u8>> {
    const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    let frames = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(&MAGIC));
    let unpack = |at: usize| {
        let mut content = Vec::new();
        let mut frame = zstd::stream::read::Decoder::new(&bytes[at..])
            .ok()?
            .single_frame();
        std::io::Read::read_to_end(&mut frame, &mut content).ok()?;
        Some(content)
    };
    frames.filter_map(unpack).collect()
}
