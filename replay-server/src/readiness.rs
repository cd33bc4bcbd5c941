//! Can the server answer, and if not, what is in the way?

use std::{sync::Arc, time::Duration};

use capture::WallTime;
use index::{
    CatalogError,
    owner::{self, ClaimError},
};
use serde::Serialize;
use store::{Store as _, StoreError};
use tokio::{sync::Mutex, time::timeout};
use utoipa::ToSchema;

use crate::{archive::Archive, fault};

/// A store or catalogue that answers later than this is as good as away.
const PATIENCE: Duration = Duration::from_secs(5);
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

/// One thing the server needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Part {
    /// Whether it is in order.
    pub ok: bool,
    /// `ok`, or what is wrong, for programs.
    pub code: &'static str,
    /// What is wrong, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'static str>,
}

impl Part {
    const OK: Self = Self {
        ok: true,
        code: "ok",
        message: None,
    };
    /// It depends on a part that is not in order.
    const UNKNOWN: Self = Self::wrong("unknown", "Store and catalogue must answer first.");

    const fn of((code, message): (&'static str, &'static str)) -> Self {
        Self::wrong(code, message)
    }

    const fn wrong(code: &'static str, message: &'static str) -> Self {
        Self {
            ok: false,
            code,
            message: Some(message),
        }
    }
}

/// The last answer, so that probes do not add to a trouble.
#[derive(Debug, Default)]
pub struct Probe {
    last: Mutex<Option<(WallTime, Readiness)>>,
}

impl Probe {
    /// How `archive` is, as of the last second.
    pub async fn ask(&self, archive: &Archive) -> Readiness {
        // Held while asking: whoever comes meanwhile waits for the same answer.
        let mut last = self.last.lock().await;
        let now = (archive.now)();
        if let Some((at, readiness)) = &*last
            && (0..FRESH_MS).contains(&now.unix_ms().saturating_sub(at.unix_ms()))
        {
            return readiness.clone();
        }
        let readiness = look(archive).await;
        *last = Some(((archive.now)(), readiness.clone()));
        readiness
    }
}

async fn look(archive: &Archive) -> Readiness {
    let (store, catalogue) = tokio::join!(store(archive), catalogue(archive));
    let owner = if store.ok && catalogue.ok {
        owner(archive).await
    } else {
        Part::UNKNOWN
    };
    Readiness {
        ready: store.ok && catalogue.ok && owner.ok,
        store,
        catalogue,
        owner,
    }
}

async fn store(archive: &Archive) -> Part {
    // In a task, since a store on a disk that hangs may not even notice that it is given up.
    let store = Arc::clone(&archive.store);
    let asked = tokio::spawn(async move { store.list("v1/", None, 1).await.map(drop) });
    match timeout(PATIENCE, asked).await {
        Ok(Ok(Ok(()))) => Part::OK,
        Ok(Ok(Err(error))) => {
            tracing::warn!(error = fault::chain(&error), "The store fails");
            Part::of(fault::of_store(&error))
        }
        _ => Part::of(fault::SILENT_STORE),
    }
}

async fn catalogue(archive: &Archive) -> Part {
    let asked = async {
        archive.catalog.store_ids().await?;
        archive.catalog.probe().await
    };
    match timeout(PATIENCE, asked).await {
        Ok(Ok(())) => Part::OK,
        Ok(Err(error)) => wrong(&error),
        Err(_) => Part::wrong(
            "catalogue_busy",
            "Another process holds the catalogue; reading may go on.",
        ),
    }
}

fn wrong(error: &CatalogError) -> Part {
    tracing::warn!(error = fault::chain(error), "The catalogue fails");
    Part::of(fault::of_catalogue(error))
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
        Err(_) => Part::UNKNOWN,
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
        ClaimError::Catalog(error) => wrong(error),
        ClaimError::Store(StoreError::NotFound { .. }) => Part::UNKNOWN,
        ClaimError::Store(error) => Part::of(fault::of_store(error)),
    }
}
