//! Between our types and SQLite's: checked both ways, since the file may be damaged and a
//! manifest may hold any number.

use capture::{
    GapReason, MediaTime, SessionId, WallTime,
    trace::{SpanId, TraceId},
};
use segment::Sha256;
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

use super::super::{CatalogError, Stored};

impl From<rusqlite::Error> for CatalogError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        match error.sqlite_error_code() {
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => Self::Busy(error.into()),
            Some(Code::DiskFull) => Self::Full(error.into()),
            Some(Code::DatabaseCorrupt | Code::NotADatabase) => Self::Corrupt(error.into()),
            Some(Code::ConstraintViolation) => Self::Refused(error.into()),
            _ => Self::Database(error.into()),
        }
    }
}

pub(super) fn damaged(what: impl Into<String>) -> CatalogError {
    CatalogError::Damaged { what: what.into() }
}

/// A count, size or time as SQLite holds it.
pub(super) fn int(value: u64) -> Result<i64, CatalogError> {
    i64::try_from(value).map_err(|error| CatalogError::Refused(error.into()))
}

pub(super) fn int_ms(t: MediaTime) -> Result<i64, CatalogError> {
    int(t.ms())
}

pub(super) fn uint(value: i64) -> Result<u64, CatalogError> {
    u64::try_from(value).map_err(|_| damaged("number that cannot be negative"))
}

pub(super) fn small(value: i64) -> Result<u32, CatalogError> {
    u32::try_from(value).map_err(|_| damaged("number of at most 32 bits"))
}

pub(super) fn media(ms: i64) -> Result<MediaTime, CatalogError> {
    uint(ms).map(MediaTime::from_ms)
}

pub(super) fn wall(ms: i64) -> WallTime {
    WallTime::from_unix_ms(ms)
}

pub(super) fn id_bytes(id: SessionId) -> [u8; 16] {
    Uuid::try_parse(&id.to_string()).map_or([0; 16], Uuid::into_bytes)
}

pub(super) fn id_of(bytes: &[u8]) -> Result<SessionId, CatalogError> {
    let uuid = Uuid::from_slice(bytes).ok();
    uuid.and_then(|uuid| uuid.as_hyphenated().to_string().parse().ok())
        .ok_or_else(|| damaged("session id"))
}

pub(super) fn trace_of(bytes: &[u8]) -> Result<TraceId, CatalogError> {
    hex(bytes).parse().map_err(|_| damaged("trace id"))
}

pub(super) fn span_of(bytes: &[u8]) -> Result<SpanId, CatalogError> {
    hex(bytes).parse().map_err(|_| damaged("span id"))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn stored(sha256: &[u8], bytes: i64) -> Result<Stored, CatalogError> {
    let digest: [u8; 32] = sha256.try_into().map_err(|_| damaged("digest"))?;
    Ok(Stored {
        sha256: Sha256::from(digest),
        bytes: uint(bytes)?,
    })
}

pub(super) fn gap_reason(word: &str) -> Result<GapReason, CatalogError> {
    let word = serde_json::Value::from(word);
    serde_json::from_value(word).map_err(|_| damaged("gap reason"))
}

pub(super) fn to_json(value: &impl Serialize) -> Result<String, CatalogError> {
    serde_json::to_string(value).map_err(|error| CatalogError::Database(error.into()))
}

pub(super) fn from_json<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, CatalogError> {
    serde_json::from_str(text).map_err(|_| damaged(what))
}

/// A fragment's samples as pairs of varints (LEB128): offset in ms, size in bytes.
pub(super) fn pack_samples(samples: &[(u64, u32)]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(samples.len() * 4);
    for &(dt, bytes) in samples {
        for mut value in [dt, u64::from(bytes)] {
            while value >= 0x80 {
                packed.push(0x80 | u8::try_from(value & 0x7f).unwrap_or(0));
                value >>= 7;
            }
            packed.push(u8::try_from(value).unwrap_or(0));
        }
    }
    packed
}

pub(super) fn unpack_samples(packed: &[u8]) -> Result<Vec<(u64, u32)>, CatalogError> {
    let mut rest = packed.iter();
    let mut varint = || {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *rest.next()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    };
    let mut samples = Vec::new();
    while let Some(dt) = varint() {
        let bytes = varint().and_then(|bytes| u32::try_from(bytes).ok());
        samples.push((dt, bytes.ok_or_else(|| damaged("sample list"))?));
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packed_samples_unpack(samples in prop::collection::vec((any::<u64>(), any::<u32>()), 0..40)) {
            prop_assert_eq!(unpack_samples(&pack_samples(&samples)).unwrap(), samples);
        }

        #[test]
        fn damaged_samples_are_an_error_or_a_list(packed in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(samples) = unpack_samples(&packed) {
                prop_assert!(samples.len() <= packed.len());
            }
        }
    }

    #[test]
    fn ids_survive_their_bytes() {
        let id = SessionId::new(1_800_000_000_000, [9; 10]);
        assert_eq!(id_of(&id_bytes(id)).unwrap(), id);
        assert!(id_of(&[1, 2]).is_err());
    }
}
