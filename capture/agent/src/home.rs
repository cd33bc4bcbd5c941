//! Where Playhead keeps things on this machine when it is not told otherwise.

use std::path::PathBuf;

/// `PLAYHEAD_HOME`, or the XDG data folder.
pub(crate) fn dir() -> PathBuf {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(home) = from("PLAYHEAD_HOME") {
        return PathBuf::from(home);
    }
    let data = from("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let user = || from("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    data.unwrap_or_else(|| user().join(".local/share"))
        .join("playhead")
}

/// The store used when `--store` is not given.
pub(crate) fn store_url() -> String {
    format!("file://{}", absolute(dir()).join("store").display())
}

/// The catalogue used when `--catalog` is not given.
pub(crate) fn catalog_url() -> String {
    format!("sqlite://{}", absolute(dir()).join("catalog.db").display())
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}
