//! Can the server answer, and if not, what is in the way?

use index::owner::{self, ClaimError};
use serde::Serialize;
use store::StoreError;
use telemetry::{
    fault,
    health::{self, Latest, PATIENCE, Part},
};
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::archive::Archive;

/// How long an answer holds: whoever asks more often costs nothing.
const FRESH_MS: i64 = 1_000;

/// Whether the server can answer, part by part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Readiness {
    /// Whether every part is in order.
    pub ready: bool,
    /// Whether the store answers.
    pub store: Part,
    /// Whether the catalogue can be read and written.
    pub catalogue: Part,
    /// Whether the two belong together and the catalogue knows what is stored.
    pub owner: Part,
}

/// It depends on a part that is not in order.
const UNKNOWN: Part = Part::wrong("unknown", "Store and catalogue must answer first.");

/// Gives the last answer for as long as it holds.
#[derive(Debug)]
pub struct Probe(Latest<Readiness>);

impl Default for Probe {
    fn default() -> Self {
        Self(Latest::new(FRESH_MS))
    }
}

impl Probe {
    /// How `archive` is, as of the last second.
    pub async fn ask(&self, archive: &Archive) -> Readiness {
        self.0.ask(archive.now, look(archive)).await
    }
}

async fn look(archive: &Archive) -> Readiness {
    let (store, catalogue) = tokio::join!(
        health::of_store(&archive.store),
        health::of_catalogue(&*archive.catalog)
    );
    let owner = if store.ok && catalogue.ok {
        owner(archive).await
    } else {
        UNKNOWN
    };
    Readiness {
        ready: store.ok && catalogue.ok && owner.ok,
        store,
        catalogue,
        owner,
    }
}

async fn owner(archive: &Archive) -> Part {
    let (store, catalog) = (&*archive.store, &*archive.catalog);
    let asked = async {
        owner::check(store, catalog).await?;
        owner::is_lost(store, catalog).await
    };
    match timeout(PATIENCE, asked).await {
        Ok(Ok(false)) => Part::OK,
        Ok(Ok(true)) => Part::wrong("catalogue_empty", fault::EMPTY),
        Ok(Err(error)) => unclaimed(&error),
        Err(_) => UNKNOWN,
    }
}

fn unclaimed(error: &ClaimError) -> Part {
    tracing::warn!(
        error = fault::chain(error),
        "Store and catalogue do not agree"
    );
    match error {
        ClaimError::Foreign { .. } => Part::wrong(
            "catalogue_foreign",
            "The catalogue belongs to another store.",
        ),
        ClaimError::Unclaimed { .. } => Part::wrong(
            "catalogue_unclaimed",
            "Nothing says yet that the catalogue belongs to the store.",
        ),
        ClaimError::Unmarked { .. } => Part::wrong(
            "store_unmarked",
            "The store is not the one that the catalogue knows; it may not be mounted.",
        ),
        ClaimError::Missing { .. } => {
            Part::wrong("store_missing", "The catalogue knows a further store.")
        }
        ClaimError::Marker { .. } => Part::wrong(
            "store_marker_damaged",
            "The object that names the store is damaged.",
        ),
        ClaimError::Catalog(error) => health::catalogue_failed(error),
        ClaimError::Store(StoreError::NotFound { .. }) => UNKNOWN,
        ClaimError::Store(error) => Part::of(fault::of_store(error)),
    }
}
