//! Can the recorder do its work, and if not, what is in the way? Part by part, as the server says
//! it of itself.

use serde::Serialize;
use telemetry::health::{self, Part};
use tokio::runtime::Handle;

use super::metrics;
use crate::{
    delivery::Places,
    spool::{Backlog, Room},
};

/// Whether a recorder has all that it needs. It goes on without most of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Readiness {
    /// Whether every part is in order.
    pub(super) ready: bool,
    /// Whether the sources of all sessions show a picture.
    source: Part,
    /// Whether there is room to record.
    spool: Part,
    /// Whether the store answers.
    store: Part,
    /// Whether the catalogue can be read and written.
    catalogue: Part,
}

impl Readiness {
    /// As things are. Store and catalogue are asked in `runtime`, where their connections live.
    pub(super) async fn look(places: &Places, runtime: &Handle, spool: Option<&Backlog>) -> Self {
        let of_store = places.clone();
        let of_store = runtime.spawn(async move { health::of_store(&of_store.store).await });
        let of_catalogue = places.clone();
        let of_catalogue =
            runtime.spawn(async move { health::of_catalogue(&*of_catalogue.catalog).await });
        let (store, catalogue) = tokio::join!(of_store, of_catalogue);
        let (source, spool) = (source(), self::spool(spool));
        let stopping = |_| Part::wrong("stopping", "The recorder is about to end.");
        let store = store.unwrap_or_else(stopping);
        let catalogue = catalogue.unwrap_or_else(stopping);
        Self {
            ready: [&source, &spool, &store, &catalogue]
                .iter()
                .all(|part| part.ok),
            source,
            spool,
            store,
            catalogue,
        }
    }
}

fn source() -> Part {
    match metrics().living().unwell() {
        None => Part::OK,
        Some("black") => Part::wrong("source_black", "A screen is black."),
        Some("stalled") => Part::wrong("source_stalled", "A source does not answer."),
        Some("flood") => Part::wrong("source_flood", "A source sends more than it may."),
        Some("permission-lost") => Part::wrong("source_refused", "A source lets us in no longer."),
        Some("driver-refused") => Part::wrong(
            "driver_refused",
            "A driver was not let in, or said what cannot be recorded.",
        ),
        Some(_) => Part::wrong("source_disconnected", "The connection to a source is gone."),
    }
}

fn spool(backlog: Option<&Backlog>) -> Part {
    match backlog {
        None => Part::wrong("spool_failed", "The spool cannot be read."),
        Some(backlog) if backlog.room == Room::None => Part::wrong(
            "spool_full",
            "The spool's disk has no room: nothing is recorded.",
        ),
        Some(_) => Part::OK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::testbed::{Bed, Mood};

    #[tokio::test]
    async fn each_part_tells_its_own_truth() {
        let (mut bed, file) = Bed::with_sqlite();
        let look = async |bed: &Bed, spool: Option<&Backlog>| {
            let looked = Readiness::look(&bed.places, &Handle::current(), spool).await;
            let codes = [&looked.spool, &looked.store, &looked.catalogue].map(|part| part.code);
            (looked.ready, codes)
        };
        let mut backlog = Backlog::default();
        assert_eq!(look(&bed, Some(&backlog)).await, (true, ["ok"; 3]));
        backlog.room = Room::None;
        bed.store.set(Mood::Refuses);
        let codes = ["spool_full", "store_failed", "ok"];
        assert_eq!(look(&bed, Some(&backlog)).await, (false, codes));
        bed.store.set(Mood::Well);
        let damaged = file.with_extension("damaged");
        std::fs::write(&damaged, vec![b'x'; 8192]).unwrap();
        let url = format!("sqlite://{}", damaged.display());
        bed.places.catalog = index::open_catalog_later(&url).unwrap();
        let codes = ["spool_failed", "ok", "catalogue_damaged"];
        assert_eq!(look(&bed, None).await, (false, codes));
    }
}
