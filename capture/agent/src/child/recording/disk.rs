//! What is recorded of a machine while the spool's disk has no room? That it was not.
//!
//! Below the reserve pictures and input are dropped, and the reserve takes the gap, its health and
//! the marks. Where even that is gone, what was taken before waits in memory, in its order, until
//! it fits: nothing of it is torn or lost.

use anyhow::{Context as _, ensure};
use capture::GapReason;
use segment::end::EndReason;

use super::{Recording, beside::EVERYBODY};
use crate::{
    child::inbox::StopCause,
    clock::{self, BootTime},
    spool::{Disk, Room},
    wire::{Report, Resume},
};

/// How often the disk is looked at: meanwhile a busy screen takes a megabyte at most.
const LOOK_EVERY_MS: u64 = 1_000;
/// What may wait for room: all that a track holds back beside its picture, twice.
const WAITING_MAX: usize = 8_192;

/// What is known of the spool's disk.
#[derive(Default)]
pub(super) struct Space {
    room: Room,
    looked: Option<BootTime>,
    /// Something waits that could not be written.
    stuck: bool,
    /// Somebody has made sure that the machine is not used while there is no room.
    enforced: bool,
}

impl Space {
    /// As the run before has left it.
    pub(super) fn resumed(resume: &Resume) -> Self {
        let unrecorded = resume.gap == GapReason::DiskFull;
        Self {
            room: if unrecorded { Room::None } else { Room::Ample },
            enforced: resume.enforced,
            ..Self::default()
        }
    }

    /// So much could not be written.
    pub(super) fn waits(&mut self, outputs: usize) -> anyhow::Result<()> {
        self.stuck = outputs > 0;
        ensure!(
            outputs <= WAITING_MAX,
            "too much waits for room in the spool"
        );
        Ok(())
    }

    /// Whether something waits that could not be written.
    pub(super) const fn is_stuck(&self) -> bool {
        self.stuck
    }
}

impl Recording<'_> {
    /// Whether what the machine shows is dropped, for want of room.
    pub(super) fn is_unrecorded(&self) -> bool {
        self.space.room == Room::None && self.started() && !self.spec.cuts_off()
    }

    /// Whether recording is to end, so that nothing goes unrecorded.
    pub(in crate::child) fn must_end(&self) -> bool {
        self.space.room == Room::None && self.started() && self.spec.cuts_off()
    }

    /// Whether nobody may operate the machine over this recorder's connection, since it would not
    /// be recorded.
    pub(in crate::child) fn refuses_drivers(&self) -> bool {
        self.is_unrecorded() && self.spec.fail_closed
    }

    /// The driver is cut off: says why.
    pub(in crate::child) fn cut_off(&mut self) -> anyhow::Result<StopCause> {
        self.gap(
            GapReason::DiskFull,
            "there is no room to record, so nobody drives",
        )?;
        Ok(StopCause::Asked(EndReason::Policy))
    }

    /// Looks at the disk if that is due, or if something could not be written.
    pub(super) fn watch_disk(&mut self, now: BootTime) -> anyhow::Result<()> {
        let ran_out = self.space.stuck && self.space.room != Room::None;
        if ran_out || self.look_due().is_some_and(|due| due <= now) {
            self.look_at_disk(now)?;
        }
        Ok(())
    }

    /// When the disk is to be looked at; before the first frame there is nothing to drop.
    pub(super) fn look_due(&self) -> Option<BootTime> {
        self.film.as_ref()?;
        let due = |looked: BootTime| looked.plus_ms(LOOK_EVERY_MS);
        Some(self.space.looked.map_or(BootTime::from_ms(0), due))
    }

    /// Finds out whether there is room, and does as that demands.
    pub(super) fn look_at_disk(&mut self, now: BootTime) -> anyhow::Result<()> {
        self.space.looked = Some(now);
        let disk = Disk::of(self.folder.path()).context("looking at the spool's disk")?;
        let before = self.space.room;
        if self.space.stuck && before == Room::None {
            self.write()?;
        }
        let room = match before.now(disk, self.spec.reserve) {
            _ if self.space.stuck => Room::None,
            room => room,
        };
        if room == before {
            return Ok(());
        }
        let left = format!("{} MiB are left on the spool's disk", disk.free_bytes >> 20);
        match (before, room) {
            (_, Room::None) => self.run_out(now, &left),
            (Room::None, _) => self.go_on(now, room, &left),
            _ => {
                self.space.room = room;
                self.note(now, state_of(room), &left)
            }
        }
    }

    fn run_out(&mut self, now: BootTime, left: &str) -> anyhow::Result<()> {
        if !self.spec.cuts_off() {
            // Whatever is down comes up in the record too, and when it does will not be seen.
            self.hands_off(now, &EVERYBODY)?;
        }
        self.space.room = Room::None;
        self.space.enforced = false;
        if !self.spec.cuts_off() {
            self.gap(GapReason::DiskFull, left)?;
            self.tell_unrecorded();
        }
        self.note(now, state_of(Room::None), left)
    }

    fn tell_unrecorded(&self) {
        let Some(film) = &self.film else { return };
        let (now, utc) = clock::both();
        let unproven_ms = film.clock.at(now).ms_since(film.proven);
        let since = utc.plus_ms(-i64::try_from(unproven_ms).unwrap_or(0));
        self.reports.send(&Report::Unrecorded { since });
    }

    /// The next picture, or proof of one, ends the gap.
    fn go_on(&mut self, now: BootTime, room: Room, left: &str) -> anyhow::Result<()> {
        self.tell_unenforced(now)?;
        // What went down meanwhile is not in the record, so it does not come up there.
        self.hands_off(now, &EVERYBODY)?;
        self.space.room = room;
        self.reports.send(&Report::RoomAgain);
        self.note(now, state_of(room), left)
    }

    /// Somebody has made sure that the machine is not used meanwhile.
    pub(in crate::child) fn enforced(&mut self) -> anyhow::Result<()> {
        if !self.is_unrecorded() {
            return Ok(()); // too late
        }
        self.space.enforced = true;
        self.note(
            BootTime::now(),
            "enforced",
            "--on-unrecorded has acknowledged it",
        )
    }

    /// The time without a record ends at `at`: says so if the machine could be used in it against
    /// the policy.
    pub(super) fn tell_unenforced(&mut self, at: BootTime) -> anyhow::Result<()> {
        if !self.is_unrecorded() || !self.spec.fail_closed || self.space.enforced {
            return Ok(());
        }
        let at = BootTime::from_ms(at.ms().saturating_sub(1)); // within that time
        self.note(
            at,
            "unenforced",
            "nobody kept the machine from being used unrecorded",
        )
    }
}

/// The word of the record's health.
const fn state_of(room: Room) -> &'static str {
    match room {
        Room::Ample => "disk-ok",
        Room::Low => "disk-low",
        Room::None => "disk-full",
    }
}
