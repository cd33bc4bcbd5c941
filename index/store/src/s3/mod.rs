//! Objects in a bucket that speaks S3, Amazon's or another's.
//!
//! Stores differ in what they honour, so this builds on the least: single PUTs with
//! `If-None-Match: *`, Content-MD5 and SHA-256, and never on an ETag.

mod address;
mod client;
mod fault;
#[cfg(test)]
mod hostile;
mod versions;
mod write;

use std::{ops::Range, sync::OnceLock};

use async_trait::async_trait;
use aws_sdk_s3::{
    Client,
    operation::{get_object::GetObjectOutput, head_object::HeadObjectOutput},
    primitives::ByteStream,
    types::ChecksumMode,
};
use aws_smithy_types::base64;
use bytes::{Bytes, BytesMut};
use capture::WallTime;
use segment::Sha256;
use tokio::time::timeout;
use url::Url;

use self::{
    address::Address,
    client::{Patience, ask, late},
    fault::Fault,
};
use crate::{Head, Listed, MAX_LIST, MAX_OBJECT_BYTES, Retention, Store, StoreError, key};

/// The metadata under which each object names its digest, for stores that compute none.
const DIGEST: &str = "sha256";
/// Pages of a listing that may hold no key at all: a million objects of others.
const MAX_EMPTY_PAGES: u32 = 1000;
/// An answer may claim any size; memory is taken as bytes come.
const FIRST_BUFFER_BYTES: u64 = 1 << 20;

/// A bucket, or what lies in it under a prefix, as a store.
pub struct S3Store {
    client: Client,
    address: Address,
    patience: Patience,
    /// Whether a bucket with versions lets an object be replaced; known after the first write.
    replaces: OnceLock<bool>,
}

impl S3Store {
    /// The store that `url` names, in the environment that `variable` reads. Asks nothing yet.
    ///
    /// # Errors
    /// What is wrong with the URL or missing in the environment, and what to write instead.
    pub fn open(url: &Url, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let address = Address::parse(url, &variable)?;
        let credentials = address::credentials(&variable)?;
        let patience = Patience::USUAL;
        Ok(Self {
            client: client::client(&address, credentials, patience),
            address,
            patience,
            replaces: OnceLock::new(),
        })
    }

    fn full(&self, key: &str) -> String {
        format!("{}{key}", self.address.prefix)
    }

    fn unfit(&self, reason: impl Into<String>) -> StoreError {
        StoreError::Unfit {
            url: self.address.url.clone(),
            reason: reason.into(),
        }
    }

    /// `fault` as an error of `verb` on `key`.
    fn error(&self, fault: Fault, verb: &str, key: &str) -> StoreError {
        if fault.is_absent() && verb != "write" {
            StoreError::NotFound {
                key: key.to_owned(),
            }
        } else {
            fault.into_error(self, format!("{verb} {key}"))
        }
    }

    /// Looks at the object, or one version of it.
    async fn look(&self, key: &str, version: Option<&str>) -> Result<HeadObjectOutput, Fault> {
        let call = self
            .client
            .head_object()
            .bucket(&self.address.bucket)
            .key(self.full(key))
            .set_version_id(version.map(ToOwned::to_owned))
            .checksum_mode(ChecksumMode::Enabled);
        ask(self.patience.with(0), call.send()).await
    }

    /// Whether `bytes` are stored under the taken `key`, as that `version` where there are
    /// several; `None` when it is free after all.
    async fn is_same(
        &self,
        key: &str,
        version: Option<&str>,
        bytes: &Bytes,
    ) -> Result<Option<bool>, StoreError> {
        let head = match self.look(key, version).await {
            Ok(head) => head,
            Err(fault) if fault.is_absent() => return Ok(None),
            Err(fault) => return Err(self.error(fault, "look at", key)),
        };
        if size(head.content_length()) != u64::try_from(bytes.len()).ok() {
            return Ok(Some(false));
        }
        match claimed(head.metadata()) {
            Some(sha256) => Ok(Some(sha256 == Sha256::of(bytes))),
            // Somebody else's upload: its bytes decide.
            None => match self.get(key).await {
                Ok(there) => Ok(Some(there == bytes)),
                Err(StoreError::NotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            },
        }
    }

    /// Opens the object, or `range` of it.
    async fn open_object(
        &self,
        key: &str,
        range: Option<String>,
    ) -> Result<GetObjectOutput, Fault> {
        let call = self
            .client
            .get_object()
            .bucket(&self.address.bucket)
            .key(self.full(key))
            .set_range(range);
        ask(self.patience.with(0), call.send()).await
    }

    /// The `expected` bytes of an answer, no more and no fewer.
    async fn body(
        &self,
        mut body: ByteStream,
        expected: u64,
        key: &str,
    ) -> Result<Bytes, StoreError> {
        let first = usize::try_from(expected.min(FIRST_BUFFER_BYTES)).unwrap_or_default();
        let mut read = BytesMut::with_capacity(first);
        let whole = async {
            while let Some(chunk) = body.try_next().await? {
                read.extend_from_slice(&chunk);
                if expected < length(&read) {
                    break;
                }
            }
            Ok::<(), aws_sdk_s3::primitives::ByteStreamError>(())
        };
        let limit = self.patience.with(expected);
        let fault = match timeout(limit, whole).await {
            Ok(Ok(())) if length(&read) == expected => return Ok(read.freeze()),
            Ok(_) => Fault::Broken("its answer broke off".into()),
            Err(_) => late(limit),
        };
        Err(self.error(fault, "read", key))
    }
}

#[async_trait]
impl Store for S3Store {
    async fn put_once(&self, key: &str, bytes: Bytes) -> Result<(), StoreError> {
        key::check(key)?;
        if MAX_OBJECT_BYTES < length(&bytes) {
            return Err(StoreError::TooLarge {
                key: key.to_owned(),
                bytes: length(&bytes),
            });
        }
        self.write(key, bytes).await
    }

    async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        key::check(key)?;
        let answer = self.open_object(key, None).await;
        let answer = answer.map_err(|fault| self.error(fault, "read", key))?;
        let bytes = size(answer.content_length())
            .ok_or_else(|| self.unfit("it does not say how long an object is"))?;
        if MAX_OBJECT_BYTES < bytes {
            return Err(StoreError::TooLarge {
                key: key.to_owned(),
                bytes,
            });
        }
        let sha256 = claimed(answer.metadata());
        let read = self.body(answer.body, bytes, key).await?;
        if sha256.is_some_and(|sha256| sha256 != Sha256::of(&read)) {
            return Err(StoreError::Damaged {
                key: key.to_owned(),
            });
        }
        Ok(read)
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        key::check(key)?;
        let Range { start, end } = range;
        let outside = |bytes| StoreError::Range {
            key: key.to_owned(),
            bytes,
            start,
            end,
        };
        if MAX_OBJECT_BYTES < end.saturating_sub(start) {
            return Err(StoreError::TooLarge {
                key: key.to_owned(),
                bytes: end - start,
            });
        }
        // S3 has no words for an empty range.
        let answer = match end.checked_sub(1).filter(|last| start <= *last) {
            Some(last) => {
                self.open_object(key, Some(format!("bytes={start}-{last}")))
                    .await
            }
            None => Err(Fault::Answered {
                status: 416,
                code: String::new(),
            }),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(fault) if fault.status() == 416 => {
                let head = self.head(key).await?;
                let bytes = head
                    .map(|head| head.bytes)
                    .ok_or_else(|| StoreError::NotFound {
                        key: key.to_owned(),
                    })?;
                return if start == end && end <= bytes {
                    Ok(Bytes::new())
                } else {
                    Err(outside(bytes))
                };
            }
            Err(fault) => return Err(self.error(fault, "read", key)),
        };
        let (given, bytes) = answer
            .content_range()
            .and_then(content_range)
            .ok_or_else(|| self.unfit("it does not read a part of an object"))?;
        if bytes < end {
            return Err(outside(bytes));
        }
        if given != (start..end) {
            return Err(self.unfit("it reads another part of an object than was asked for"));
        }
        self.body(answer.body, end - start, key).await
    }

    async fn head(&self, key: &str) -> Result<Option<Head>, StoreError> {
        key::check(key)?;
        match self.look(key, None).await {
            Ok(head) => {
                let bytes = size(head.content_length())
                    .ok_or_else(|| self.unfit("it does not say how long an object is"))?;
                let sha256 = head.checksum_sha256().and_then(digest);
                Ok(Some(Head { bytes, sha256 }))
            }
            Err(fault) if fault.is_absent() => Ok(None),
            Err(fault) => Err(self.error(fault, "look at", key)),
        }
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Listed>, StoreError> {
        let limit = limit.min(MAX_LIST);
        let full_prefix = self.full(prefix);
        let mut after = self.full(after.unwrap_or_default());
        let mut found = Vec::new();
        let mut empty_pages = 0;
        while found.len() < limit {
            let call = self
                .client
                .list_objects_v2()
                .bucket(&self.address.bucket)
                .prefix(&full_prefix)
                .start_after(&after)
                .max_keys(i32::try_from(limit).unwrap_or(i32::MAX));
            let page = ask(self.patience.with(0), call.send()).await;
            let page =
                page.map_err(|fault| fault.into_error(self, format!("list {full_prefix:?}")))?;
            let found_before = found.len();
            for object in page.contents() {
                let full = object.key().unwrap_or_default();
                if full <= after.as_str() || !full.starts_with(&full_prefix) {
                    return Err(self.unfit("its listings are out of order"));
                }
                full.clone_into(&mut after);
                let key = full.get(self.address.prefix.len()..).unwrap_or_default();
                // What is no key was not put here by a store.
                if key::check(key).is_ok() && found.len() < limit {
                    found.push(Listed {
                        key: key.to_owned(),
                        bytes: size(object.size())
                            .ok_or_else(|| self.unfit("it does not say how long an object is"))?,
                    });
                }
            }
            if page.is_truncated() != Some(true) {
                break;
            }
            if found.len() == found_before {
                empty_pages += 1;
            }
            if page.contents().is_empty() || MAX_EMPTY_PAGES < empty_pages {
                return Err(self.unfit("its listings do not end"));
            }
        }
        Ok(found)
    }

    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        key::check(key)?;
        let call = self
            .client
            .delete_object()
            .bucket(&self.address.bucket)
            .key(self.full(key));
        match ask(self.patience.with(0), call.send()).await {
            Err(fault) if !fault.is_absent() => {
                Err(self.locked_or(fault, "delete", key, None).await)
            }
            _ => Ok(()),
        }
    }

    async fn delete_version(&self, key: &str) -> Result<(), StoreError> {
        key::check(key)?;
        self.delete_versions(key).await
    }

    async fn set_retention(
        &self,
        key: &str,
        until: WallTime,
        mode: Retention,
    ) -> Result<(), StoreError> {
        key::check(key)?;
        self.retain(key, until, mode).await
    }

    async fn set_hold(&self, key: &str, on: bool) -> Result<(), StoreError> {
        key::check(key)?;
        self.hold(key, on).await
    }

    fn url(&self) -> &str {
        &self.address.url
    }
}

impl std::fmt::Debug for S3Store {
    /// The client knows the credentials.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3Store")
            .field("url", &self.address.url)
            .finish_non_exhaustive()
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// A size as the SDK gives it.
fn size(given: Option<i64>) -> Option<u64> {
    u64::try_from(given?).ok()
}

/// The digest that the object's writer has named.
fn claimed(metadata: Option<&std::collections::HashMap<String, String>>) -> Option<Sha256> {
    metadata?.get(DIGEST)?.parse().ok()
}

/// A digest as the store has computed it. That of an object in parts is another one.
fn digest(given: &str) -> Option<Sha256> {
    let bytes: [u8; 32] = base64::decode(given).ok()?.try_into().ok()?;
    Some(bytes.into())
}

/// `bytes 3-6/10`: which bytes were given, of how many.
fn content_range(text: &str) -> Option<(Range<u64>, u64)> {
    let (range, bytes) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let end = last.parse::<u64>().ok()?.checked_add(1)?;
    Some((first.parse().ok()?..end, bytes.parse().ok()?))
}
