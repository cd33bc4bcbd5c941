//! Ending an object for good, and keeping it from that: versions, retention, legal holds.

use aws_sdk_s3::{
    primitives::DateTime,
    types::{
        ObjectLockLegalHold, ObjectLockLegalHoldStatus, ObjectLockRetention,
        ObjectLockRetentionMode,
    },
};
use capture::WallTime;

use super::{S3Store, client::ask, fault::Fault};
use crate::{Retention, StoreError};

/// Rounds of listing and deleting: each takes up to 1000 versions, and an object is written once.
const MAX_ROUNDS: u32 = 10;

/// The versions of one key, each kind from the newest on.
pub(super) struct Versions {
    pub(super) objects: Vec<String>,
    /// Marks of a deletion.
    pub(super) markers: Vec<String>,
    /// Whether the newest of all is such a mark.
    pub(super) deleted: bool,
}

impl Versions {
    /// The version that counts where objects may be replaced: the first since the last deletion.
    /// The listing does not say which are older than a mark; then the newest stands for it.
    pub(super) fn counting(&self) -> Option<&str> {
        let version = match (self.deleted, self.markers.is_empty()) {
            (true, _) => None,
            (false, true) => self.objects.last(),
            (false, false) => self.objects.first(),
        };
        version.map(String::as_str)
    }
}

impl S3Store {
    /// Deletes every version of `key` and every delete marker, and looks that each is gone.
    pub(super) async fn delete_versions(&self, key: &str) -> Result<(), StoreError> {
        for _ in 0..MAX_ROUNDS {
            let Versions {
                objects, markers, ..
            } = self.versions(key).await?;
            if objects.is_empty() && markers.is_empty() {
                return Ok(());
            }
            for version in objects.iter().chain(&markers) {
                self.delete_one(key, version).await?;
            }
        }
        Err(self.unfit("it lists versions that it says it has deleted"))
    }

    /// The first page of the versions of `key`: its own come before those of longer keys.
    pub(super) async fn versions(&self, key: &str) -> Result<Versions, StoreError> {
        let full = self.full(key);
        let call = self
            .client
            .list_object_versions()
            .bucket(&self.address.bucket)
            .prefix(&full);
        let page = ask(self.patience.with(0), call.send()).await;
        let page =
            page.map_err(|fault| fault.into_error(self, format!("list versions of {key}")))?;
        let own = |(of, version): (Option<&str>, Option<&str>)| {
            (of == Some(&*full)).then(|| version.unwrap_or("null").to_owned())
        };
        let objects = page.versions().iter().map(|v| (v.key(), v.version_id()));
        let markers = page.delete_markers().iter();
        let markers = markers.map(|marker| (marker.key(), marker.version_id()));
        Ok(Versions {
            objects: objects.filter_map(own).collect(),
            markers: markers.filter_map(own).collect(),
            deleted: page
                .delete_markers()
                .iter()
                .any(|mark| mark.key() == Some(&*full) && mark.is_latest() == Some(true)),
        })
    }

    /// Deletes one version, and looks that it is gone.
    pub(super) async fn delete_one(&self, key: &str, version: &str) -> Result<(), StoreError> {
        let call = self
            .client
            .delete_object()
            .bucket(&self.address.bucket)
            .key(self.full(key))
            .version_id(version);
        match ask(self.patience.with(0), call.send()).await {
            Err(fault) if !fault.is_absent() => {
                return Err(self.locked_or(fault, "delete", key, Some(version)).await);
            }
            _ => {}
        }
        match self.look(key, Some(version)).await {
            Err(fault) if fault.is_absent() => Ok(()),
            Err(fault) if fault.status() != 405 => Err(self.error(fault, "look at", key)),
            _ => Err(self.unfit(format!("it says that it deleted {key} and still has it"))),
        }
    }

    pub(super) async fn retain(
        &self,
        key: &str,
        until: WallTime,
        mode: Retention,
    ) -> Result<(), StoreError> {
        let mode = match mode {
            Retention::Governance => ObjectLockRetentionMode::Governance,
            Retention::Compliance => ObjectLockRetentionMode::Compliance,
        };
        // Whole seconds, never shorter than asked for.
        let seconds = until.unix_ms().saturating_add(999).div_euclid(1000);
        let retention = ObjectLockRetention::builder()
            .mode(mode)
            .retain_until_date(DateTime::from_secs(seconds))
            .build();
        let call = self
            .client
            .put_object_retention()
            .bucket(&self.address.bucket)
            .key(self.full(key))
            .retention(retention);
        match ask(self.patience.with(0), call.send()).await {
            Ok(_) => Ok(()),
            Err(fault) => Err(self.locked_or(fault, "retain", key, None).await),
        }
    }

    pub(super) async fn hold(&self, key: &str, on: bool) -> Result<(), StoreError> {
        let status = if on {
            ObjectLockLegalHoldStatus::On
        } else {
            ObjectLockLegalHoldStatus::Off
        };
        let call = self
            .client
            .put_object_legal_hold()
            .bucket(&self.address.bucket)
            .key(self.full(key))
            .legal_hold(ObjectLockLegalHold::builder().status(status).build());
        match ask(self.patience.with(0), call.send()).await {
            Ok(_) => Ok(()),
            Err(fault) => Err(self.lockless_or(fault, "hold", key)),
        }
    }

    /// Stores refuse with `AccessDenied` whether a lock or a missing right is the reason: the
    /// object itself says which.
    pub(super) async fn locked_or(
        &self,
        fault: Fault,
        verb: &str,
        key: &str,
        version: Option<&str>,
    ) -> StoreError {
        let by = match fault.status() {
            400 | 401 | 403 => self.lock_of(key, version).await,
            _ => None,
        };
        match by {
            Some(by) => StoreError::Locked {
                key: key.to_owned(),
                by,
            },
            None => self.lockless_or(fault, verb, key),
        }
    }

    /// What keeps the object, as far as the store says.
    async fn lock_of(&self, key: &str, version: Option<&str>) -> Option<String> {
        let head = self.look(key, version).await.ok()?;
        if head.object_lock_legal_hold_status() == Some(&ObjectLockLegalHoldStatus::On) {
            return Some("a hold".to_owned());
        }
        head.object_lock_mode()?;
        let until = head.object_lock_retain_until_date()?.to_millis().ok()?;
        Some(format!("retention until {}", WallTime::from_unix_ms(until)))
    }

    fn lockless_or(&self, fault: Fault, verb: &str, key: &str) -> StoreError {
        match &fault {
            Fault::Answered { code, .. }
                if matches!(
                    code.as_str(),
                    "InvalidRequest" | "ObjectLockConfigurationNotFoundError"
                ) =>
            {
                self.unfit("its bucket has no Object Lock; make one that has")
            }
            _ => self.error(fault, verb, key),
        }
    }
}
