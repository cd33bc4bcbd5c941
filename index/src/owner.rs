//! Does this catalogue belong to this store? A marker object names the store, and the catalogue
//! keeps that name, so that neither is ever cleaned up by the other's rules.

use capture::WallTime;
use serde::{Deserialize, Serialize};
use store::{Store, StoreError};
use uuid::Uuid;

use crate::catalog::{Catalog, CatalogError, SessionQuery};

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
         that it is mounted, or make the catalogue this store's by `playhead index rebuild --adopt`"
    )]
    Unmarked {
        /// The catalogue's URL.
        catalog: String,
        /// The store's URL.
        store: String,
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

/// Makes sure that store and catalogue belong together, and gives the store's id. A store
/// without a marker gets one that says `fresh`.
///
/// # Errors
/// [`ClaimError::Foreign`] when the catalogue was made for another store.
pub async fn claim(
    store: &dyn Store,
    catalog: &dyn Catalog,
    fresh: Uuid,
) -> Result<String, ClaimError> {
    // A store that is not mounted must not get a marker.
    match check(store, catalog).await {
        Ok(()) | Err(ClaimError::Unclaimed { .. }) => {}
        Err(error) => return Err(error),
    }
    let id = mark(store, fresh).await?;
    match catalog.set_store_id(&id).await {
        Ok(()) => Ok(id),
        Err(CatalogError::Conflict { .. }) => Err(ClaimError::Foreign {
            catalog: catalog.url().to_owned(),
            store: store.url().to_owned(),
        }),
        Err(error) => Err(error.into()),
    }
}

/// The store's id. A store without a marker gets one that says `fresh`.
///
/// # Errors
/// When the store fails, or its marker is damaged.
pub async fn mark(store: &dyn Store, fresh: Uuid) -> Result<String, ClaimError> {
    match read(store).await {
        Err(ClaimError::Store(StoreError::NotFound { .. })) => {
            let owner = Owner {
                format: 1,
                store: fresh.to_string(),
            };
            // Plain data: it always serialises.
            let marker = serde_json::to_vec(&owner).unwrap_or_default();
            match store.put_once(OWNER_KEY, marker.into()).await {
                Ok(()) => Ok(owner.store),
                // Another process was faster.
                Err(StoreError::Exists { .. }) => read(store).await,
                Err(error) => Err(error.into()),
            }
        }
        read => read,
    }
}

/// Whether store and catalogue belong together. Writes nothing.
///
/// # Errors
/// [`ClaimError::Foreign`] when they do not, [`ClaimError::Unclaimed`] when nothing says so yet.
pub async fn check(store: &dyn Store, catalog: &dyn Catalog) -> Result<(), ClaimError> {
    let (store_url, catalog_url) = (store.url().to_owned(), catalog.url().to_owned());
    let marker = match read(store).await {
        Err(ClaimError::Store(StoreError::NotFound { .. })) => None,
        read => Some(read?),
    };
    match (marker, catalog.store_id().await?) {
        (Some(marker), Some(bound)) if marker == bound => Ok(()),
        (Some(_), Some(_)) => Err(ClaimError::Foreign {
            catalog: catalog_url,
            store: store_url,
        }),
        (None, Some(_)) => Err(ClaimError::Unmarked {
            catalog: catalog_url,
            store: store_url,
        }),
        (_, None) => Err(ClaimError::Unclaimed {
            catalog: catalog_url,
            store: store_url,
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

async fn read(store: &dyn Store) -> Result<String, ClaimError> {
    let marker = store.get(OWNER_KEY).await?;
    let owner: Option<Owner> = serde_json::from_slice(&marker).ok();
    owner
        .filter(|owner| owner.format == 1)
        .map(|owner| owner.store)
        .ok_or_else(|| ClaimError::Marker {
            store: store.url().to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use store::open_store;

    use super::*;
    use crate::open_catalog;

    #[tokio::test]
    async fn a_catalogue_keeps_to_its_store() {
        let folder = tempfile::tempdir().unwrap();
        let at =
            |scheme: &str, name: &str| format!("{scheme}://{}/{name}", folder.path().display());
        let (a, b) = (open_store(&at("file", "a")), open_store(&at("file", "b")));
        let (a, b) = (a.unwrap(), b.unwrap());
        let catalog = open_catalog(&at("sqlite", "c.db")).unwrap();
        let first = claim(a.as_ref(), catalog.as_ref(), Uuid::from_u128(1))
            .await
            .unwrap();
        let again = claim(a.as_ref(), catalog.as_ref(), Uuid::from_u128(2))
            .await
            .unwrap();
        assert_eq!(first, again);
        check(a.as_ref(), catalog.as_ref()).await.unwrap();
        let other = check(b.as_ref(), catalog.as_ref()).await;
        assert!(matches!(other, Err(ClaimError::Unmarked { .. })));
        let fresh = open_catalog(&at("sqlite", "d.db")).unwrap();
        let unbound = check(a.as_ref(), fresh.as_ref()).await;
        assert!(matches!(unbound, Err(ClaimError::Unclaimed { .. })));
        let unmarked = claim(b.as_ref(), catalog.as_ref(), Uuid::from_u128(3)).await;
        assert!(matches!(unmarked, Err(ClaimError::Unmarked { .. })));
        mark(b.as_ref(), Uuid::from_u128(3)).await.unwrap();
        let foreign = claim(b.as_ref(), catalog.as_ref(), Uuid::from_u128(3)).await;
        assert!(matches!(foreign, Err(ClaimError::Foreign { .. })));
    }
}
