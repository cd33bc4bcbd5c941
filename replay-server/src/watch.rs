//! What the server does beside answering: it binds the catalogue to the store, and notes which
//! recorders are gone (recording.md, "Spool and recovery").

use std::{sync::Arc, time::Duration};

use index::{
    catalog::{Fault, SessionQuery, State},
    interrupt::{GivenUp, InterruptError, Watch},
    owner::{self, ClaimError},
};
use telemetry::fault;

use crate::{archive::Archive, clock, metrics::metrics};

/// Often enough that a session is noted soon after its time is over.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Looks after `archive` until the process ends. A recorder that is silent for
/// `interrupted_after` is given up.
pub async fn look_after(archive: Arc<Archive>, interrupted_after: Duration) {
    let after_ms = i64::try_from(interrupted_after.as_millis()).unwrap_or(i64::MAX);
    let mut watch = Watch::new(after_ms);
    let mut claimed = false;
    loop {
        claimed = claimed || claim(&archive).await;
        if claimed {
            look(&archive, &mut watch).await;
            count(&archive).await;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Binds the catalogue to the store and says loudly when it lost what it knew. Gives whether it
/// is bound; an error is told and tried again later.
async fn claim(archive: &Archive) -> bool {
    let (store, catalog) = (&*archive.store, &*archive.catalog);
    if let Err(error) = owner::claim(store, catalog, clock::fresh()).await {
        tracing::error!(
            error = fault::chain(&error),
            "Store and catalogue cannot be used yet"
        );
        return false;
    }
    match owner::is_lost(store, catalog).await {
        Ok(false) => {}
        Ok(true) => tracing::error!(catalog = catalog.url(), "{}", fault::EMPTY),
        Err(error) => tracing::warn!(error = fault::chain(&error), "Store cannot be listed"),
    }
    true
}

/// Whether a server that meets `error` at its start may hope that it passes.
#[must_use]
pub fn may_pass(error: &ClaimError) -> bool {
    match error {
        ClaimError::Store(_) => true,
        ClaimError::Catalog(index::CatalogError::Newer { .. }) => false,
        ClaimError::Catalog(error) => error.fault() != Fault::Request,
        _ => false,
    }
}

async fn look(archive: &Archive, watch: &mut Watch) {
    let (store, catalog) = (&*archive.store, &*archive.catalog);
    match watch.look(store, catalog, (archive.now)()).await {
        Ok(given_up) => given_up.into_iter().for_each(tell),
        Err(error) => failed(&error),
    }
}

fn tell(given_up: Result<GivenUp, InterruptError>) {
    match given_up {
        Ok(GivenUp::Interrupted(session, at)) => {
            tracing::warn!(%session, %at, "Recorder is gone, session interrupted");
            metrics().gave_up("interrupted");
        }
        Ok(GivenUp::Ended(session)) => {
            tracing::info!(%session, "Catalogue had missed the session's end");
            metrics().gave_up("ended");
        }
        Err(error) => failed(&error),
    }
}

fn failed(error: &InterruptError) {
    if let InterruptError::Catalog(error) = error {
        metrics().catalogue_failed(error);
    }
    tracing::warn!(error = fault::chain(error), "Silent recorders not noted");
}

/// Counts sessions by state.
async fn count(archive: &Archive) {
    let query = SessionQuery {
        limit: 1,
        ..SessionQuery::default()
    };
    match archive.catalog.sessions(&query, (archive.now)()).await {
        Ok(page) => {
            let states = page.facets.get("state");
            for state in [State::Live, State::Ended, State::Lost, State::Interrupted] {
                let n = states.and_then(|states| states.get(state.as_str()));
                metrics().set_sessions(state.as_str(), n.copied().unwrap_or(0));
            }
        }
        Err(error) => metrics().catalogue_failed(&error),
    }
}
