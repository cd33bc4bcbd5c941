//! Which texts are object keys? Those that are the same in a bucket and as a file's path.

use crate::StoreError;

/// Well below what S3 (1024) and file systems (4096) allow.
const MAX_KEY_BYTES: usize = 512;
/// What a file name may have.
const MAX_PART_BYTES: usize = 200;

/// Checks `key` against the rules of [`Store`](crate::Store).
pub(crate) fn check(key: &str) -> Result<(), StoreError> {
    let refuse = |reason| {
        Err(StoreError::Key {
            key: key.chars().take(80).collect(),
            reason,
        })
    };
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return refuse("must have 1 to 512 bytes");
    }
    for part in key.split('/') {
        if part.is_empty() || part.len() > MAX_PART_BYTES {
            return refuse("each part must have 1 to 200 bytes");
        }
        if part.starts_with('.') {
            return refuse("no part may begin with a dot");
        }
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b".-_".contains(&b);
        if !part.bytes().all(allowed) {
            return refuse("only letters, digits, '.', '_' and '-' are allowed between slashes");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_leave_the_store_are_refused() {
        for key in [
            "",
            "/",
            "/etc/passwd",
            "a/../b",
            "..",
            "a//b",
            "a/",
            ".tmp/x",
            "a b",
            "a\\b",
            "a\0b",
            "ä",
        ] {
            assert!(check(key).is_err(), "{key:?}");
        }
        assert!(check(&"a/".repeat(300)).is_err());
        assert!(check(&"a".repeat(201)).is_err());
    }

    #[test]
    fn the_layouts_keys_are_keys() {
        for key in [
            "v1/owner.json",
            "v1/rows/2026/11/30/egress-0a1b2c3d/0190.ndjson.zst",
        ] {
            assert!(check(key).is_ok(), "{key:?}");
        }
    }
}
