//! Reads parts of stored segments and decodes the picture of one sample, within bounds of memory
//! and of work at a time.

use std::{
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use index::catalog::{MediaRow, ObjectRow};
use segment::mp4::{ReadError, fragment_samples, read_init};
use store::{Store, StoreError};
use tokio::sync::Semaphore;

use crate::{
    cache::Cache,
    decode::{Coding, DecodeError, Picture, avc::AvcConfig, decode_last},
    metrics::metrics,
};

/// Parts of segments kept in memory: some minutes of busy work.
const PART_CACHE_BYTES: usize = 64 << 20;
/// Decoded pictures kept in memory: ten of a 1080p screen.
const PICTURE_CACHE_BYTES: usize = 64 << 20;
/// Pictures that may be waited for. Past it a client is asked to come back, since each waits for
/// at most one decode of a few hundred milliseconds a core.
const MAX_WAITING: usize = 64;

/// Reads media from a store.
pub struct MediaReader {
    store: Arc<dyn Store>,
    parts: Mutex<Cache<(String, Range<u64>), Bytes>>,
    pictures: Mutex<Cache<PictureKey, Arc<Picture>>>,
    // Decoding fills a core, so there is one decode for each.
    decoders: Arc<Semaphore>,
    waiting: Semaphore,
}

/// A sample, by the object that holds it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PictureKey {
    object: String,
    fragment: u32,
    sample: usize,
}

/// Why a picture could not be read.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The object holds no such sample: the catalogue disagrees with itself.
    #[error("object {key} has no sample {sample} in fragment {fragment}")]
    NoSample {
        /// The object.
        key: String,
        /// The fragment.
        fragment: u32,
        /// The sample in it.
        sample: usize,
    },
    /// The store did not give the bytes.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The bytes are not those of a segment.
    #[error("object {key} cannot be read")]
    Read {
        /// The object.
        key: String,
        /// Why not.
        source: ReadError,
    },
    /// The bytes do not decode.
    #[error("object {key} does not decode")]
    Decode {
        /// The object.
        key: String,
        /// Why not.
        source: DecodeError,
    },
    /// Too many pictures are asked for at once.
    #[error("too many pictures are being decoded")]
    Busy,
    /// The process is shutting down.
    #[error("decoding was cancelled")]
    Cancelled,
}

impl MediaReader {
    /// A reader of `store`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            store,
            parts: Mutex::new(Cache::new("part", PART_CACHE_BYTES)),
            pictures: Mutex::new(Cache::new("picture", PICTURE_CACHE_BYTES)),
            decoders: Arc::new(Semaphore::new(cores)),
            waiting: Semaphore::new(MAX_WAITING),
        }
    }

    /// The bytes `range` of the object `key`.
    ///
    /// # Errors
    /// As [`Store::get_range`].
    pub async fn part(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        let name = (key.to_owned(), range.clone());
        if let Some(bytes) = lock(&self.parts).get(&name) {
            return Ok(bytes);
        }
        let bytes = self.store.get_range(key, range).await?;
        lock(&self.parts).put(name, bytes.clone(), bytes.len());
        Ok(bytes)
    }

    /// The picture of one sample of `object`.
    ///
    /// # Errors
    /// When the sample does not exist, cannot be read, or does not decode.
    pub async fn picture(
        &self,
        object: &ObjectRow,
        fragment: u32,
        sample: usize,
    ) -> Result<Arc<Picture>, PictureError> {
        let name = PictureKey {
            object: object.key.clone(),
            fragment,
            sample,
        };
        if let Some(picture) = lock(&self.pictures).get(&name) {
            return Ok(picture);
        }
        let _place = self.waiting.try_acquire().map_err(|_| PictureError::Busy)?;
        let no_sample = || PictureError::NoSample {
            key: object.key.clone(),
            fragment,
            sample,
        };
        let media = object.media.as_ref().ok_or_else(no_sample)?;
        let placed = fragment_row(media, fragment).ok_or_else(no_sample)?;
        let init = self.part(&object.key, media.init.byte_range()).await?;
        let bytes = self.part(&object.key, placed.byte_range()).await?;
        let source = Source {
            key: object.key.clone(),
            media: media.init.clone(),
            init,
            fragment: bytes,
        };
        let decoded = self.work(move || source.decode(sample)).await?;
        metrics().decoded(decoded.is_ok());
        let picture = decoded?.ok_or_else(no_sample)?;
        let picture = Arc::new(picture);
        lock(&self.pictures).put(name, picture.clone(), picture.len_bytes());
        Ok(picture)
    }

    /// Runs `work`, which fills a core, away from the threads that serve connections.
    ///
    /// # Errors
    /// [`PictureError::Cancelled`] when the process is shutting down.
    pub async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PictureError> {
        let permit = self.decoders.clone().acquire_owned().await;
        let permit = permit.map_err(|_| PictureError::Cancelled)?;
        let done = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(permit);
            result
        });
        done.await.map_err(|_| PictureError::Cancelled)
    }
}

/// The bytes of one fragment and what is needed to decode it.
struct Source {
    key: String,
    media: segment::manifest::Init,
    init: Bytes,
    fragment: Bytes,
}

impl Source {
    /// The picture of the fragment's `sample`; `None` when it has no such sample.
    fn decode(&self, sample: usize) -> Result<Option<Picture>, PictureError> {
        let read = |source| PictureError::Read {
            key: self.key.clone(),
            source,
        };
        let decode = |source| PictureError::Decode {
            key: self.key.clone(),
            source,
        };
        let avcc = read_init(&self.init).map_err(read)?.avcc;
        let coding = Coding {
            config: AvcConfig::parse(avcc).map_err(|error| decode(error.into()))?,
            coded: self.media.coded(),
            crop: self.media.crop,
        };
        let samples = fragment_samples(&self.fragment).map_err(read)?;
        let up_to: Vec<&[u8]> = samples.iter().map(|coded| coded.bytes).collect();
        match up_to.get(..=sample) {
            Some(up_to) => decode_last(&coding, up_to).map(Some).map_err(decode),
            None => Ok(None),
        }
    }
}

/// What a segment's row says of its `fragment`th fragment.
#[must_use]
pub fn fragment_row(media: &MediaRow, fragment: u32) -> Option<&segment::manifest::Fragment> {
    media.fragments.get(usize::try_from(fragment).ok()?)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A cache that was being written when a thread died is still a cache.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
