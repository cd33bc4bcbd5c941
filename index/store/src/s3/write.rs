//! How is an object written once? By `If-None-Match: *`, which services honour but for one case:
//! Ceph's gateway forgets it in a bucket that keeps versions. There the first version of a key
//! counts, and whoever comes later takes its own back; a reader may see that for a moment.

use std::time::Duration;

use aws_sdk_s3::primitives::ByteStream;
use aws_smithy_types::base64;
use bytes::Bytes;
use md5::{Digest as _, Md5};
use segment::Sha256;
use tokio::time::sleep;

use super::{DIGEST, S3Store, client::ask, fault::Fault, length};
use crate::StoreError;

/// How often a write is tried while other writers of its key are at work.
pub(super) const ATTEMPTS: u32 = 5;
/// The wait after the first of these; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// What is to be stored, and under which key.
struct Upload<'a> {
    key: &'a str,
    bytes: Bytes,
    md5: String,
    sha256: Sha256,
}

/// How a try ended, when it was no error.
enum Tried {
    /// The bytes are stored under their key, now or already.
    Stored,
    /// Others write that key, or have just deleted it.
    Contended(Fault),
}

impl S3Store {
    /// Stores `bytes` under `key`, unless it is taken by others.
    pub(super) async fn write(&self, key: &str, bytes: Bytes) -> Result<(), StoreError> {
        let upload = Upload {
            key,
            md5: base64::encode(Md5::digest(&bytes)),
            sha256: Sha256::of(&bytes),
            bytes,
        };
        let mut pause = FIRST_PAUSE;
        let mut attempt = 1;
        loop {
            let tried = match self.replaces.get() {
                Some(true) => self.write_first(&upload).await?,
                _ => self.write_new(&upload).await?,
            };
            let Tried::Contended(fault) = tried else {
                return Ok(());
            };
            if attempt == ATTEMPTS {
                return Err(self.error(fault, "write", key));
            }
            attempt += 1;
            sleep(pause).await;
            pause *= 2;
        }
    }

    /// Writes where the service refuses to replace, as far as is known.
    async fn write_new(&self, upload: &Upload<'_>) -> Result<Tried, StoreError> {
        match self.send(upload).await {
            Ok(Some(version)) if self.replaces.get().is_none() => {
                self.learn(upload, &version).await
            }
            Ok(_) => Ok(Tried::Stored),
            Err(fault) => self.refused(upload, fault).await,
        }
    }

    /// Learns from a second write, after one that gave `version`, whether this bucket with
    /// versions refuses it.
    async fn learn(&self, upload: &Upload<'_>, version: &str) -> Result<Tried, StoreError> {
        match self.send(upload).await {
            Err(fault) if matches!(fault.status(), 409 | 412) => {
                let _ = self.replaces.set(false);
                Ok(Tried::Stored)
            }
            Err(fault) => Err(self.error(fault, "write", upload.key)),
            Ok(second) => {
                let _ = self.replaces.set(true);
                // The first may have hidden another's object, as the second hid the first.
                for version in second.iter().map(String::as_str).chain([version]) {
                    self.take_back(upload.key, version).await?;
                }
                self.write_first(upload).await
            }
        }
    }

    /// Writes where the service replaces and keeps versions: stored is what no other version
    /// that counts is older than. Which there are is asked of the listing alone; while several
    /// write, a look at the key itself may see none of them.
    async fn write_first(&self, upload: &Upload<'_>) -> Result<Tried, StoreError> {
        let before = self.versions(upload.key).await?;
        if let Some(version) = before.counting() {
            return match self
                .is_same(upload.key, Some(version), &upload.bytes)
                .await?
            {
                Some(true) => Ok(Tried::Stored),
                Some(false) => Err(exists(upload.key)),
                None => Ok(contended()),
            };
        }
        let version = match self.send(upload).await {
            Ok(Some(version)) => version,
            Ok(None) => return Ok(Tried::Stored), // It keeps versions no more.
            Err(fault) => return self.refused(upload, fault).await,
        };
        let versions = self.versions(upload.key).await?.objects;
        let mut older = versions.iter().skip_while(|&other| *other != version);
        if older.next().is_some() && older.all(|older| before.objects.contains(older)) {
            return Ok(Tried::Stored);
        }
        self.take_back(upload.key, &version).await?;
        Ok(contended())
    }

    /// One write; gives the version it made, where the bucket keeps versions.
    async fn send(&self, upload: &Upload<'_>) -> Result<Option<String>, Fault> {
        let call = self
            .client
            .put_object()
            .bucket(&self.address.bucket)
            .key(self.full(upload.key))
            .if_none_match("*")
            .content_md5(&upload.md5)
            .checksum_sha256(base64::encode(upload.sha256.as_bytes()))
            .metadata(DIGEST, upload.sha256.to_string())
            .body(ByteStream::from(upload.bytes.clone()));
        let limit = self.patience.with(length(&upload.bytes));
        let written = ask(limit, call.send()).await?;
        // A bucket that has stopped to keep versions calls its one version "null".
        Ok(written.version_id.filter(|version| version != "null"))
    }

    /// What it means that the service did not write.
    async fn refused(&self, upload: &Upload<'_>, fault: Fault) -> Result<Tried, StoreError> {
        match fault.status() {
            // Taken: by us, if an answer was lost.
            412 => match self.is_same(upload.key, None, &upload.bytes).await? {
                Some(true) => Ok(Tried::Stored),
                Some(false) => Err(exists(upload.key)),
                None => Ok(Tried::Contended(fault)),
            },
            409 => Ok(Tried::Contended(fault)),
            _ => Err(self.error(fault, "write", upload.key)),
        }
    }

    /// Ends a version that we wrote and that must not count.
    async fn take_back(&self, key: &str, version: &str) -> Result<(), StoreError> {
        match self.delete_one(key, version).await {
            Err(StoreError::Locked { .. }) => Err(self.unfit(
                "it replaces objects in a bucket with versions, and a default retention keeps \
                 what did; take the default retention off",
            )),
            done => done,
        }
    }
}

/// As other services say it.
const fn contended() -> Tried {
    Tried::Contended(Fault::Answered {
        status: 409,
        code: String::new(),
    })
}

fn exists(key: &str) -> StoreError {
    StoreError::Exists {
        key: key.to_owned(),
    }
}
