//! Does this catalogue belong to this store? A marker object names the store, and the catalogue
//! keeps that name, so that neither is ever cleaned up by the other's rules. Where storage has
//! moved, a catalogue has several.

use capture::WallTime;
use serde::{Deserialize, Serialize};
use store::{Store, StoreError};
use uuid::Uuid;

use crate::{
    catalog::{Catalog, CatalogError, SessionQuery},
    stores::Stores,
};

/// Where the marker lies.
pub const OWNER_KEY: &str = "v1/owner.json";

/// The marker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Owner {
    /// The format's version: 1.
    format: u32,
    /// The store's id, a UUID.
    store: String,
}

/// Why store and catalogue do not belong together.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// The catalogue was made for another store.
    #[error(
        "catalogue {catalog} belongs to another store than {store}; name the right one, or make \
         it this store's by `playhead index rebuild --adopt`"
    )]
    Foreign {
        /// The catalogue's URL.
        catalog: String,
        /// The store's URL.
        store: String,
    },
    /// The store has no marker, or the catalogue names none: nothing ties them.
    #[error(
        "nothing says that catalogue {catalog} belongs to store {store}; start `playhead serve`"
    )]
    Unclaimed {
        /// The catalogue's URL.
        catalog: String,
        /// The store's URL.
        store: String,
    },
    /// The store has no marker, though the catalogue knows one: it is another, or not there.
    #[error(
        "store {store} is not the one that catalogue {catalog} knows: it has no {OWNER_KEY}; check \
         that it is mounted, name the older stores with it where storage has moved, or make the \
         catalogue this store's by `playhead index rebuild --adopt`"
    )]
    Unmarked {
        /// The catalogue's URL.
        catalog: String,
        /// The store's URL.
        store: String,
    },
    /// The catalogue knows another store as well, and a new one made without it would forget what
    /// that holds.
    #[error(
        "catalogue {catalog} knows a further store; name all with --store, or leave it and what \
         it holds by `playhead index rebuild --adopt`"
    )]
    Missing {
        /// The catalogue's URL.
        catalog: String,
    },
    /// The marker is damaged.
    #[error("object {OWNER_KEY} in store {store} is not the marker of a store")]
    Marker {
        /// The store's URL.
        store: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The catalogue failed.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

/// What ties stores to a catalogue.
struct Ties<'a> {
    /// Each store with the id in its marker.
    markers: Vec<(&'a dyn Store, Option<String>)>,
    /// The stores that the catalogue knows.
    bound: Vec<String>,
}

impl<'a> Ties<'a> {
    async fn read(stores: &'a Stores, catalog: &dyn Catalog) -> Result<Self, ClaimError> {
        let mut markers = Vec::new();
        for store in stores.each() {
            markers.push(match read(store).await {
                Ok(marker) => (store, Some(marker)),
                Err(StoreError::NotFound { .. }) => (store, None),
                Err(error) => return Err(unread(store, error)),
            });
        }
        let bound = catalog.store_ids().await?;
        Ok(Self { markers, bound })
    }

    /// Whether every store that the catalogue knows is here. Only then is one without a marker a
    /// new one, and not one of them that is not mounted.
    fn is_whole(&self) -> bool {
        let here = |id: &String| {
            let mut markers = self.markers.iter();
            markers.any(|(_, marker)| marker.as_ref() == Some(id))
        };
        self.bound.iter().all(here)
    }

    /// That no store is of another catalogue, or may be a known one that is not mounted.
    fn check(&self, catalog: &dyn Catalog) -> Result<(), ClaimError> {
        if self.bound.is_empty() {
            return Ok(());
        }
        for (store, marker) in &self.markers {
            let (catalog, store) = (catalog.url().to_owned(), store.url().to_owned());
            match marker {
                Some(id) if self.bound.contains(id) => {}
                Some(_) => return Err(ClaimError::Foreign { catalog, store }),
                None if self.is_whole() => {}
                None => return Err(ClaimError::Unmarked { catalog, store }),
            }
        }
        Ok(())
    }
}

/// Makes sure that stores and catalogue belong together. A store without a marker that is new
/// beside all that the catalogue knows gets one, the first that says `fresh`, and becomes one of
/// the catalogue's.
///
/// # Errors
/// [`ClaimError::Foreign`] when a store is another catalogue's, [`ClaimError::Unmarked`] when it
/// may be one that is not mounted.
pub async fn claim(stores: &Stores, catalog: &dyn Catalog, fresh: Uuid) -> Result<(), ClaimError> {
    let ties = Ties::read(stores, catalog).await?;
    ties.check(catalog)?;
    let mut ids = mark_all(stores, fresh).await?;
    ids.extend(ties.bound);
    match catalog.set_store_ids(&ids).await {
        Ok(()) => Ok(()),
        // It was bound otherwise meanwhile.
        Err(CatalogError::Conflict { .. }) => Err(ClaimError::Foreign {
            catalog: catalog.url().to_owned(),
            store: stores.url().to_owned(),
        }),
        Err(error) => Err(error.into()),
    }
}

/// The ids of all stores, for a catalogue that is made anew from them: with `adopt` one that
/// belongs, or belonged, to others. A store without a marker gets one.
///
/// # Errors
/// As [`claim`], and [`ClaimError::Missing`] when the catalogue knows a store that is not here,
/// but for `adopt`.
pub async fn owners(
    stores: &Stores,
    catalog: &dyn Catalog,
    fresh: Uuid,
    adopt: bool,
) -> Result<Vec<String>, ClaimError> {
    match Ties::read(stores, catalog).await {
        // What it belonged to is lost with it.
        Err(ClaimError::Catalog(CatalogError::Corrupt(_))) => {}
        ties => {
            let ties = ties?;
            if !adopt {
                ties.check(catalog)?;
                if !ties.is_whole() {
                    return Err(ClaimError::Missing {
                        catalog: catalog.url().to_owned(),
                    });
                }
            }
        }
    }
    mark_all(stores, fresh).await
}

async fn mark_all(stores: &Stores, fresh: Uuid) -> Result<Vec<String>, ClaimError> {
    let mut ids = Vec::new();
    for (n, store) in (0..).zip(stores.each()) {
        // As unique as `fresh`: nobody makes another of the same millisecond and randomness.
        let fresh = Uuid::from_u128(fresh.as_u128().wrapping_add(n));
        ids.push(mark(store, fresh).await?);
    }
    Ok(ids)
}

/// The store's id. A store without a marker gets one that says `fresh`.
///
/// # Errors
/// When the store fails, or its marker is damaged.
pub async fn mark(store: &dyn Store, fresh: Uuid) -> Result<String, ClaimError> {
    let marker = match read(store).await {
        Err(StoreError::NotFound { .. }) => {
            let owner = Owner {
                format: 1,
                store: fresh.to_string(),
            };
            // Plain data: it always serialises.
            let marker = serde_json::to_vec(&owner).unwrap_or_default();
            match store.put_once(OWNER_KEY, marker.into()).await {
                Ok(()) => return Ok(owner.store),
                // Another process was faster.
                Err(StoreError::Exists { .. }) => read(store).await,
                Err(error) => return Err(error.into()),
            }
        }
        read => read,
    };
    marker.map_err(|error| unread(store, error))
}

/// Why the store's marker could not be read.
fn unread(store: &dyn Store, error: StoreError) -> ClaimError {
    match error {
        StoreError::Damaged { .. } => ClaimError::Marker {
            store: store.url().to_owned(),
        },
        error => error.into(),
    }
}

/// Whether stores and catalogue belong together. Writes nothing.
///
/// # Errors
/// [`ClaimError::Foreign`] when they do not, [`ClaimError::Unclaimed`] when nothing says so yet.
pub async fn check(stores: &Stores, catalog: &dyn Catalog) -> Result<(), ClaimError> {
    let ties = Ties::read(stores, catalog).await?;
    ties.check(catalog)?;
    let new = ties.markers.iter().find(|(_, marker)| marker.is_none());
    let new = new.map(|(store, _)| *store);
    match new.or(ties.bound.is_empty().then_some(stores)) {
        None => Ok(()),
        Some(store) => Err(ClaimError::Unclaimed {
            catalog: catalog.url().to_owned(),
            store: store.url().to_owned(),
        }),
    }
}

/// Whether the catalogue knows no session though the store holds some: it was lost, or is new.
/// Whoever cleans up must not take it for the truth.
///
/// # Errors
/// When store or catalogue cannot be asked.
pub async fn is_lost(store: &dyn Store, catalog: &dyn Catalog) -> Result<bool, ClaimError> {
    let query = SessionQuery {
        limit: 1,
        ..SessionQuery::default()
    };
    let known = catalog.sessions(&query, WallTime::from_unix_ms(0)).await?;
    // Sessions lie below their day, whose year begins so for some time to come.
    Ok(known.sessions.is_empty() && !store.list("v1/2", None, 1).await?.is_empty())
}

/// The id in the store's marker.
pub(crate) async fn read(store: &dyn Store) -> Result<String, StoreError> {
    let marker = store.get(OWNER_KEY).await?;
    let owner: Option<Owner> = serde_json::from_slice(&marker).ok();
    owner
        .filter(|owner| owner.format == 1)
        .map(|owner| owner.store)
        .ok_or_else(|| StoreError::Damaged {
            key: OWNER_KEY.to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use store::open_store;
    use tempfile::TempDir;

    use super::*;
    use crate::open_catalog;

    struct Site {
        folder: TempDir,
        fresh: std::cell::Cell<u128>,
    }

    impl Site {
        fn new() -> Self {
            Self {
                folder: tempfile::tempdir().unwrap(),
                fresh: 1.into(),
            }
        }

        fn catalog(&self, name: &str) -> Arc<dyn Catalog> {
            open_catalog(&format!("sqlite://{}/{name}", self.folder.path().display())).unwrap()
        }

        fn stores(&self, catalog: &Arc<dyn Catalog>, names: &[&str]) -> Stores {
            let url = |name: &str| format!("file://{}/{name}", self.folder.path().display());
            let mut stores = names.iter().map(|name| open_store(&url(name)).unwrap());
            Stores::new(stores.next().unwrap(), stores, Arc::clone(catalog))
        }

        /// Whether the catalogue `name` takes these stores, and whether it has them afterwards.
        async fn claim(&self, name: &str, stores: &[&str]) -> Result<(), ClaimError> {
            let catalog = self.catalog(name);
            let stores = self.stores(&catalog, stores);
            let fresh = self.fresh.replace(self.fresh.get() + 100);
            claim(&stores, &*catalog, Uuid::from_u128(fresh)).await?;
            check(&stores, &*catalog).await
        }

        async fn check(&self, name: &str, stores: &[&str]) -> Result<(), ClaimError> {
            let catalog = self.catalog(name);
            check(&self.stores(&catalog, stores), &*catalog).await
        }

        async fn owners(&self, stores: &[&str], adopt: bool) -> Result<Vec<String>, ClaimError> {
            let catalog = self.catalog("c.db");
            let stores = self.stores(&catalog, stores);
            owners(&stores, &*catalog, Uuid::from_u128(9_000), adopt).await
        }
    }

    #[tokio::test]
    async fn a_catalogue_keeps_to_its_store() {
        let site = Site::new();
        let unbound = site.check("c.db", &["a"]).await;
        assert!(matches!(unbound, Err(ClaimError::Unclaimed { .. })));
        site.claim("c.db", &["a"]).await.unwrap();
        site.claim("c.db", &["a"]).await.unwrap();
        for unmarked in [
            site.check("c.db", &["b"]).await,
            site.claim("c.db", &["b"]).await,
        ] {
            assert!(
                matches!(unmarked, Err(ClaimError::Unmarked { .. })),
                "{unmarked:?}"
            );
        }
        site.claim("d.db", &["b"]).await.unwrap();
        for stores in [&["b"][..], &["a", "b"], &["b", "a"]] {
            for foreign in [
                site.check("c.db", stores).await,
                site.claim("c.db", stores).await,
            ] {
                assert!(
                    matches!(foreign, Err(ClaimError::Foreign { .. })),
                    "{foreign:?}"
                );
            }
        }
        let adopted = site.owners(&["b", "a"], true).await.unwrap();
        assert_eq!(adopted.len(), 2);
    }

    #[tokio::test]
    async fn a_new_store_joins_beside_all_that_are_known() {
        let site = Site::new();
        site.claim("c.db", &["a"]).await.unwrap();
        let new = site.check("c.db", &["b", "a"]).await;
        assert!(matches!(new, Err(ClaimError::Unclaimed { .. })), "{new:?}");
        site.claim("c.db", &["b", "a"]).await.unwrap();
        for known in [&["a"][..], &["b"], &["a", "b"]] {
            site.claim("c.db", known).await.unwrap();
        }
        // It may be the one that is not here, not mounted.
        let unmarked = site.claim("c.db", &["c", "b"]).await;
        assert!(
            matches!(unmarked, Err(ClaimError::Unmarked { .. })),
            "{unmarked:?}"
        );
        let missing = site.owners(&["b"], false).await;
        assert!(
            matches!(missing, Err(ClaimError::Missing { .. })),
            "{missing:?}"
        );
        assert_eq!(site.owners(&["a", "b"], false).await.unwrap().len(), 2);
    }
}
