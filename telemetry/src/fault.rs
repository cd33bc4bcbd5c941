//! What is wrong, in words for those who ask, apart from what the log tells the operator.

use index::CatalogError;
use store::StoreError;

/// Said of a catalogue that knows nothing of what the store holds.
pub const EMPTY: &str = "The catalogue is empty, but the store holds sessions; `playhead index \
                         rebuild` makes it again from them.";

/// The code and a sentence for a store that does not answer.
pub const SILENT_STORE: (&str, &str) = ("store_silent", "The store does not answer in time.");

/// The code and a sentence for a catalogue that fails.
#[must_use]
pub const fn of_catalogue(error: &CatalogError) -> (&'static str, &'static str) {
    match error {
        CatalogError::Busy(_) => (
            "catalogue_busy",
            "Another process holds the catalogue; try again.",
        ),
        CatalogError::Full(_) => (
            "catalogue_full",
            "The catalogue's disk is full: what is known can be read, nothing can be added.",
        ),
        CatalogError::Newer { .. } => (
            "catalogue_newer",
            "The catalogue was made by a later version of Playhead.",
        ),
        CatalogError::Corrupt(_) => (
            "catalogue_damaged",
            "The catalogue's file is damaged; `playhead index rebuild` makes it again.",
        ),
        _ => (
            "catalogue_failed",
            "The catalogue cannot be used just now; the log says why.",
        ),
    }
}

/// The code and a sentence for a store that fails.
#[must_use]
pub const fn of_store(error: &StoreError) -> (&'static str, &'static str) {
    match error {
        StoreError::Silent { .. } => SILENT_STORE,
        StoreError::Gone { .. } => (
            "store_failed",
            "The store's folder is not there; it may not be mounted.",
        ),
        _ => (
            "store_failed",
            "The store cannot be used just now; the log says why.",
        ),
    }
}

/// An error and its causes, outermost first.
#[must_use]
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}
