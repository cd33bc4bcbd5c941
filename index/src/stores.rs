//! Where is a session, when storage has moved? Several stores as one: what was recorded before
//! stays where it is, and is read from there.
//!
//! What is new goes into the first. The catalogue's row of a session says which store has it; one
//! that says nothing, or whose store is not here, is looked for in each, and noted.

use std::{
    collections::{BTreeMap, HashMap},
    mem,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;
use capture::{SessionId, WallTime};
use futures::future::BoxFuture;
use store::{Head, Listed, MAX_LIST, Retention, Store, StoreError};
use tokio::sync::OnceCell;

use crate::{
    catalog::{Catalog, MAX_WRITE_ROWS},
    owner,
};

/// Sessions whose place is kept in memory; then all are forgotten and looked up again. A few
/// megabytes.
const MAX_FOUND: usize = 50_000;

/// Stores of one catalogue, the one in use first.
pub struct Stores {
    // INVARIANT: there is at least one.
    members: Vec<Member>,
    catalog: Arc<dyn Catalog>,
    places: Arc<Mutex<Places>>,
}

/// Which member has each session, by its index.
#[derive(Default)]
struct Places {
    found: HashMap<SessionId, usize>,
    /// What the catalogue is still to be told, and whether somebody is at it.
    unnoted: Vec<(SessionId, String)>,
    is_noting: bool,
}

struct Member {
    store: Arc<dyn Store>,
    /// As its marker says; unknown until it is read.
    id: OnceCell<String>,
}

impl Member {
    async fn id(&self) -> Option<&String> {
        let read = || owner::read(&*self.store);
        self.id.get_or_try_init(read).await.ok()
    }
}

impl Stores {
    /// `first` for what is new, and the `others` that hold what is old, indexed by `catalog`.
    #[must_use]
    pub fn new(
        first: Arc<dyn Store>,
        others: impl IntoIterator<Item = Arc<dyn Store>>,
        catalog: Arc<dyn Catalog>,
    ) -> Self {
        let members = std::iter::once(first).chain(others);
        let members = members.map(|store| Member {
            store,
            id: OnceCell::new(),
        });
        Self {
            members: members.collect(),
            catalog,
            places: Arc::default(),
        }
    }

    /// Each store.
    pub fn each(&self) -> impl Iterator<Item = &dyn Store> {
        self.members.iter().map(|member| &*member.store)
    }

    fn first(&self) -> &dyn Store {
        // INVARIANT: `new` takes one.
        &*self.members[0].store
    }

    /// Which member has `session`, as far as is known.
    async fn place(&self, session: SessionId) -> Option<usize> {
        let found = lock(&self.places).found.get(&session).copied();
        if found.is_some() {
            return found;
        }
        // A catalogue that fails says nothing: each store is asked.
        let named = self.catalog.store_of(session).await.ok()??;
        for (n, member) in self.members.iter().enumerate() {
            if member.id().await == Some(&named) {
                lock(&self.places).keep(session, n);
                return Some(n);
            }
        }
        None
    }

    /// Notes that member `n` has `session`.
    async fn note(&self, session: SessionId, n: usize) {
        if lock(&self.places).found.contains_key(&session) {
            return;
        }
        let id = self.members[n].id().await.cloned();
        let mut places = lock(&self.places);
        places.keep(session, n);
        places.unnoted.extend(id.map(|id| (session, id)));
        // Whoever reads does not wait for the catalogue.
        if !mem::replace(&mut places.is_noting, true) {
            let (places, catalog) = (Arc::clone(&self.places), Arc::clone(&self.catalog));
            tokio::spawn(note_all(places, catalog));
        }
    }

    /// Tells the catalogue, which was made anew, where each session was found.
    pub async fn note_again(&self) {
        let found = lock(&self.places).found.clone();
        let mut again = Vec::new();
        for (session, n) in found {
            again.extend(self.members[n].id().await.map(|id| (session, id.clone())));
        }
        lock(&self.places).unnoted.extend(again);
        note_all(Arc::clone(&self.places), Arc::clone(&self.catalog)).await;
    }

    /// What `ask` gives of the store that has `key`; `None` when none has it.
    async fn find<'a, T: Send>(
        &'a self,
        key: &str,
        ask: impl Fn(&'a dyn Store) -> BoxFuture<'a, Result<Option<T>, StoreError>> + Send + Sync,
    ) -> Result<Option<T>, StoreError> {
        if self.members.len() == 1 {
            return ask(self.first()).await;
        }
        let session = segment::key::parse(key).map(|(session, _)| session);
        let place = match session {
            Some(session) => self.place(session).await,
            None => None,
        };
        let others = (0..self.members.len()).filter(|&n| Some(n) != place);
        let mut failed = None;
        for n in place.into_iter().chain(others) {
            match ask(&*self.members[n].store).await {
                Ok(Some(found)) => {
                    if let Some(session) = session {
                        self.note(session, n).await;
                    }
                    return Ok(Some(found));
                }
                Ok(None) => {}
                // Another may have it whole.
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(None), Err)
    }

    /// What `ask` gives of the store that has `key`, which one must.
    async fn get_from<'a, T: Send + 'a>(
        &'a self,
        key: &str,
        ask: impl Fn(&'a dyn Store) -> BoxFuture<'a, Result<T, StoreError>> + Send + Sync,
    ) -> Result<T, StoreError> {
        let ask = &ask;
        let found = self.find(key, |store| {
            let asked = ask(store);
            Box::pin(async move { present(asked.await) })
        });
        found.await?.ok_or_else(|| absent(key))
    }

    /// Does `act` in every store that has `key`; one must.
    async fn in_all<'a>(
        &'a self,
        key: &str,
        act: impl Fn(&'a dyn Store) -> BoxFuture<'a, Result<(), StoreError>> + Send + Sync,
    ) -> Result<(), StoreError> {
        let mut done = Err(absent(key));
        for store in self.each() {
            if present(act(store).await)?.is_some() {
                done = Ok(());
            }
        }
        done
    }
}

impl Places {
    fn keep(&mut self, session: SessionId, place: usize) {
        if self.found.len() == MAX_FOUND {
            self.found.clear();
        }
        self.found.insert(session, place);
    }
}

fn lock(places: &Mutex<Places>) -> MutexGuard<'_, Places> {
    // What was being written when a thread died is still a map.
    places.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells the catalogue all that it is still to be told. What it does not take now is found again
/// by the next process.
async fn note_all(places: Arc<Mutex<Places>>, catalog: Arc<dyn Catalog>) {
    loop {
        let mut by_store = BTreeMap::<String, Vec<SessionId>>::new();
        {
            let mut places = lock(&places);
            for (session, id) in mem::take(&mut places.unnoted) {
                by_store.entry(id).or_default().push(session);
            }
            places.is_noting = !by_store.is_empty();
        }
        if by_store.is_empty() {
            return;
        }
        for (id, sessions) in by_store {
            for some in sessions.chunks(MAX_WRITE_ROWS) {
                let _ = catalog.set_store_of(some, &id).await;
            }
        }
    }
}

fn absent(key: &str) -> StoreError {
    StoreError::NotFound {
        key: key.to_owned(),
    }
}

/// `None` for what is not there.
fn present<T>(result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

#[async_trait]
impl Store for Stores {
    async fn put_once(&self, key: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.first().put_once(key, bytes).await
    }

    async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        self.get_from(key, |store| store.get(key)).await
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        let (start, end) = (range.start, range.end);
        self.get_from(key, |store| store.get_range(key, start..end))
            .await
    }

    async fn head(&self, key: &str) -> Result<Option<Head>, StoreError> {
        self.find(key, |store| store.head(key)).await
    }

    /// The union. One that cannot be listed fails it: what it holds would seem to be gone.
    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Listed>, StoreError> {
        let mut all = Vec::new();
        for store in self.each() {
            all.extend(store.list(prefix, after, limit).await?);
        }
        // Of an object that several have, the first one's line stays.
        all.sort_by(|a, b| a.key.cmp(&b.key));
        all.dedup_by(|later, first| later.key == first.key);
        all.truncate(limit.min(MAX_LIST));
        Ok(all)
    }

    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        for store in self.each() {
            store.delete(key).await?;
        }
        Ok(())
    }

    async fn delete_version(&self, key: &str) -> Result<(), StoreError> {
        for store in self.each() {
            store.delete_version(key).await?;
        }
        Ok(())
    }

    async fn set_retention(
        &self,
        key: &str,
        until: WallTime,
        mode: Retention,
    ) -> Result<(), StoreError> {
        self.in_all(key, |store| store.set_retention(key, until, mode))
            .await
    }

    async fn set_hold(&self, key: &str, on: bool) -> Result<(), StoreError> {
        self.in_all(key, |store| store.set_hold(key, on)).await
    }

    /// The first one's.
    fn url(&self) -> &str {
        self.first().url()
    }
}
