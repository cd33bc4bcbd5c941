//! What did the painter show, and when? Its log, one JSON object a line.

use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

/// One paint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paint {
    /// Its number, from 0; the picture shows it modulo 2¹⁶.
    pub n: u64,
    /// The wall time that the picture shows: read just before it was sent to the X server.
    pub utc_ms: u64,
    /// Wall time when the X server had confirmed it.
    pub painted_ms: u64,
}

/// All whole lines of the log at `path`; a line still being written is left out.
///
/// # Errors
/// When the file cannot be read or a whole line is not a paint.
pub fn read(path: &Path) -> anyhow::Result<Vec<Paint>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| line.to_owned()))
        .collect()
}

/// The paints that a picture taken at `utc_ms` may show, when the recorder sees a paint up to
/// `late_ms` after it was confirmed and clocks agree within `early_ms`.
///
/// The newest paint that was certainly recorded may show, and any begun since.
#[must_use]
pub fn may_show(paints: &[Paint], utc_ms: u64, early_ms: u64, late_ms: u64) -> &[Paint] {
    let end = paints.partition_point(|paint| paint.utc_ms <= utc_ms + early_ms);
    let certain = paints.partition_point(|paint| paint.painted_ms + late_ms <= utc_ms);
    &paints[certain.saturating_sub(1).min(end)..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paint(n: u64, utc_ms: u64) -> Paint {
        Paint {
            n,
            utc_ms,
            painted_ms: utc_ms + 5,
        }
    }

    #[track_caller]
    fn check(utc_ms: u64, expected: &[u64]) {
        let paints = [paint(0, 1_000), paint(1, 1_400), paint(2, 1_450)];
        let shown = may_show(&paints, utc_ms, 10, 100);
        let numbers: Vec<u64> = shown.iter().map(|paint| paint.n).collect();
        assert_eq!(numbers, expected);
    }

    #[test]
    fn only_the_last_paint_shows_when_it_is_old() {
        check(1_300, &[0]);
        check(9_000, &[2]);
    }

    #[test]
    fn a_fresh_paint_and_the_one_before_may_both_show() {
        check(1_420, &[0, 1]);
        check(1_460, &[0, 1, 2]);
        check(1_520, &[1, 2]);
    }

    #[test]
    fn nothing_shows_before_the_first_paint() {
        check(900, &[]);
    }
}
