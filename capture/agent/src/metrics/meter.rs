//! What do the sessions that are being recorded say of themselves? Each has a meter, which goes
//! with it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use super::{Metrics, SOURCE_STATES, metrics};
use crate::{clock::BootTime, wire::Status};

/// One session's.
#[derive(Debug)]
pub(crate) struct Meter(Arc<Mutex<Reading>>);

#[derive(Debug)]
struct Reading {
    /// Its source, without secrets.
    source: String,
    state: &'static str,
    unrecorded: bool,
    /// What its child has told last, and when.
    told: Option<(Status, BootTime)>,
}

/// The sessions being recorded.
#[derive(Debug, Default)]
pub(super) struct Living(Vec<Weak<Mutex<Reading>>>);

impl Meter {
    /// A session of `source` begins.
    pub(crate) fn new(source: String) -> Self {
        let reading = Arc::new(Mutex::new(Reading {
            source,
            state: "ok",
            unrecorded: false,
            told: None,
        }));
        let mut living = metrics().living();
        living.0.retain(|session| session.strong_count() > 0);
        living.0.push(Arc::downgrade(&reading));
        Self(reading)
    }

    /// Its child, which may be another than before, has told how it goes.
    pub(crate) fn status(&self, status: Status, now: BootTime) {
        let before = lock(&self.0).told.replace((status, now));
        let before = before.map_or(Status::default(), |(status, _)| status);
        // A child that was started again counts from 0.
        let since = |now: u64, then: u64| now.checked_sub(then).unwrap_or(now);
        metrics().pictured(
            since(status.frames, before.frames),
            since(status.merged, before.merged),
        );
    }

    /// Its health changed. Not all that is told of it is the source's.
    pub(crate) fn health(&self, state: &str) {
        if let Some(state) = SOURCE_STATES.iter().find(|known| **known == state) {
            lock(&self.0).state = state;
        }
    }

    /// Whether nothing of it is recorded, for want of room.
    pub(crate) fn unrecorded(&self, unrecorded: bool) {
        lock(&self.0).unrecorded = unrecorded;
    }
}

impl Metrics {
    /// The sessions being recorded.
    pub(super) fn living(&self) -> MutexGuard<'_, Living> {
        lock(&self.living)
    }
}

impl Living {
    fn each<T>(&self, read: impl Fn(&Reading) -> T) -> Vec<T> {
        let living = self.0.iter().filter_map(Weak::upgrade);
        living.map(|session| read(&lock(&session))).collect()
    }

    /// How many have a source in `state`.
    pub(super) fn in_state(&self, state: &str) -> i64 {
        let same = self.each(|reading| i64::from(reading.state == state));
        same.into_iter().sum()
    }

    /// The state of a source that is not well, if there is one.
    pub(super) fn unwell(&self) -> Option<&'static str> {
        let states = self.each(|reading| reading.state);
        states.into_iter().find(|state| *state != "ok")
    }

    /// How many are not recorded, for want of room.
    pub(super) fn unrecorded(&self) -> i64 {
        let unrecorded = self.each(|reading| i64::from(reading.unrecorded));
        unrecorded.into_iter().sum()
    }

    /// Clients of their proxies.
    pub(super) fn drivers(&self) -> i64 {
        let drivers = self.each(|reading| reading.told.map_or(0, |(told, _)| told.drivers));
        drivers.into_iter().map(i64::from).sum()
    }

    /// By source, how many ms ago it proved its picture: in the session where that is longest.
    pub(super) fn proof_ages(&self, now: BootTime) -> BTreeMap<String, u64> {
        let mut ages = BTreeMap::new();
        let aged = |reading: &Reading| {
            let (status, told) = reading.told?;
            let age_ms = status.t.ms_since(status.proven) + now.ms_since(told);
            Some((reading.source.clone(), age_ms))
        };
        for (source, age_ms) in self.each(aged).into_iter().flatten() {
            let oldest = ages.entry(source).or_insert(age_ms);
            *oldest = age_ms.max(*oldest);
        }
        ages
    }
}

/// What was being written when a thread died is still a reading.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
