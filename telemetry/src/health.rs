//! Is a program well, part by part?

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use capture::WallTime;
use index::{Catalog, CatalogError};
use serde::Serialize;
use store::Store;
use tokio::{sync::Mutex, time::timeout};

use crate::fault;

/// A store or catalogue that answers later than this is as good as away.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// One thing that a program needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
    /// It is in order.
    pub const OK: Self = Self {
        ok: true,
        code: "ok",
        message: None,
    };

    /// It is not, as a [fault]'s code and words say.
    #[must_use]
    pub const fn of((code, message): (&'static str, &'static str)) -> Self {
        Self::wrong(code, message)
    }

    /// It is not.
    #[must_use]
    pub const fn wrong(code: &'static str, message: &'static str) -> Self {
        Self {
            ok: false,
            code,
            message: Some(message),
        }
    }
}

/// Whether the store answers.
pub async fn of_store<S: Store + ?Sized + 'static>(store: &Arc<S>) -> Part {
    // In a task, since a store on a disk that hangs may not even notice that it is given up.
    let store = Arc::clone(store);
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

/// Whether the catalogue can be read and written.
pub async fn of_catalogue(catalog: &dyn Catalog) -> Part {
    let asked = async {
        catalog.store_ids().await?;
        catalog.probe().await
    };
    match timeout(PATIENCE, asked).await {
        Ok(Ok(())) => Part::OK,
        Ok(Err(error)) => catalogue_failed(&error),
        Err(_) => Part::wrong(
            "catalogue_busy",
            "Another process holds the catalogue; reading may go on.",
        ),
    }
}

/// What `error` says of the catalogue.
#[must_use]
pub fn catalogue_failed(error: &CatalogError) -> Part {
    tracing::warn!(error = fault::chain(error), "The catalogue fails");
    Part::of(fault::of_catalogue(error))
}

/// The process is up. Says nothing of what it depends on.
pub const ALIVE: &str = "ok\n";

/// The answer of a program that is `ready` or not, as `parts` say.
pub fn answer(ready: bool, parts: &impl Serialize) -> Response {
    let status = match ready {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, Json(parts)).into_response()
}

/// The last answer of something that costs, so that whoever asks often adds to no trouble.
#[derive(Debug)]
pub struct Latest<T> {
    fresh_ms: i64,
    last: Mutex<Option<(WallTime, T)>>,
}

impl<T: Clone> Latest<T> {
    /// Answers that hold for `fresh_ms`.
    #[must_use]
    pub fn new(fresh_ms: i64) -> Self {
        Self {
            fresh_ms,
            last: Mutex::default(),
        }
    }

    /// The last answer, or what `look` gives if that is too old at `now()`.
    pub async fn ask(&self, now: fn() -> WallTime, look: impl Future<Output = T>) -> T {
        // Held while asking: whoever comes meanwhile waits for the same answer.
        let mut last = self.last.lock().await;
        if let Some((at, answer)) = &*last
            && (0..self.fresh_ms).contains(&now().unix_ms().saturating_sub(at.unix_ms()))
        {
            return answer.clone();
        }
        let answer = look.await;
        *last = Some((now(), answer.clone()));
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    static NOW_MS: AtomicI64 = AtomicI64::new(0);

    fn now() -> WallTime {
        WallTime::from_unix_ms(NOW_MS.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn an_answer_holds_until_it_is_old_or_the_clock_was_set_back() {
        let latest = Latest::new(1_000);
        for (at_ms, look, given) in [(0, 1, 1), (999, 2, 1), (1_000, 3, 3), (500, 4, 4)] {
            NOW_MS.store(at_ms, Ordering::Relaxed);
            assert_eq!(latest.ask(now, async { look }).await, given);
        }
    }

    #[tokio::test]
    async fn store_and_catalogue_are_asked_themselves() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let store = store::open_store(&format!("file://{}", path("store").display())).unwrap();
        assert_eq!(of_store(&store).await, Part::OK);
        let url = format!("sqlite://{}", path("catalog.db").display());
        let catalog = index::open_catalog_later(&url).unwrap();
        std::fs::write(path("catalog.db"), vec![b'x'; 8192]).unwrap();
        assert_eq!(of_catalogue(&*catalog).await.code, "catalogue_damaged");
        std::fs::remove_file(path("catalog.db")).unwrap();
        assert_eq!(of_catalogue(&*catalog).await, Part::OK);
    }
}
