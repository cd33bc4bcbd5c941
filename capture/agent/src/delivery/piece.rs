//! Does a spool file give the object that belongs in its place? Read and judged without the store.

use std::io;

use bytes::Bytes;
use capture::{MediaTime, SessionId};
use segment::{
    AssembleError, Assembled, Assembly, Sha256, assemble,
    manifest::Span,
    mend::{self, Place},
    record::Open,
};

use super::Position;
use crate::spool::{Folder, SetAside};

/// Where a spool file belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) session: SessionId,
    pub(super) seq: u64,
    /// Which run wrote what was before it.
    pub(super) run: u32,
    /// Where what was before it ends; `None` when the store has the object already.
    pub(super) from: Option<MediaTime>,
}

/// A spool file and what it is worth.
pub(super) struct Piece {
    slot: Slot,
    wal: Vec<u8>,
    /// The head of the file after it.
    follower: Option<Open>,
    pub(super) sheet: Option<Bytes>,
}

/// The object of a spool file, or why it has none.
pub(super) type Found = Result<Assembled, String>;

impl Piece {
    /// Reads the file of `slot`, whose object names `prev`.
    pub(super) fn read(folder: &Folder, slot: Slot, prev: Sha256) -> io::Result<(Self, Found)> {
        let wal = folder.read_wal(slot.seq)?;
        let missing = wal.is_none();
        let wal = wal.unwrap_or_default();
        let sheet = folder.read_sheet(slot.seq)?;
        let follower = folder.head_after(slot.seq)?;
        let assembly = Assembly {
            prev,
            sheet: sheet.as_deref(),
        };
        let found = match assemble(&wal, assembly) {
            Ok(assembled) => match slot.misfit(&assembled, follower.as_ref()) {
                Some(_) if missing => Err("it is missing".to_owned()),
                Some(misfit) => Err(misfit),
                // Nothing tells where it should end, so each byte has to be worth something.
                None if follower.is_none() && mend::is_damaged(&wal) => {
                    Err("not all of it can be read".to_owned())
                }
                None => Ok(assembled),
            },
            Err(error) => Err(with_cause(&error)),
        };
        let piece = Self {
            slot,
            wal,
            follower,
            sheet: sheet.map(Bytes::from),
        };
        Ok((piece, found))
    }

    /// Whether it is known where the object after this one begins.
    pub(super) const fn is_followed(&self) -> bool {
        self.follower.is_some()
    }

    /// Sets the file aside, and puts one in its place that fills the same time. `readable` says
    /// whether that is to hold what can be read of it.
    pub(super) fn set_aside(
        &self,
        folder: &Folder,
        why: String,
        readable: bool,
    ) -> io::Result<SetAside> {
        let seq = self.slot.seq;
        let place = self.slot.from.map(|from| Place {
            session: self.slot.session,
            seq,
            run: mend::open(&self.wal).map_or(self.slot.run, |open| open.run),
            from,
            to: self.until(from),
        });
        let wal: &[u8] = if readable { &self.wal } else { &[] };
        let mended = match place.filter(|place| place.from < place.to) {
            Some(place) => Some(mend::mend(wal, &place, &why).map_err(io::Error::other)?),
            None => None,
        };
        let file = folder.set_aside(seq, mended.as_deref())?;
        Ok(SetAside { seq, file, why })
    }

    /// Where the time of this file ends. Files missing after it have an equal share of theirs each.
    fn until(&self, from: MediaTime) -> MediaTime {
        match &self.follower {
            Some(follower) => {
                let files = follower.seq.saturating_sub(self.slot.seq).max(1);
                from.plus_ms(follower.from.ms_since(from).div_ceil(files))
            }
            None => mend::reaches(&self.wal).map_or(from, |to| to.max(from)),
        }
    }
}

impl Slot {
    /// Why `assembled` does not belong here.
    fn misfit(&self, assembled: &Assembled, follower: Option<&Open>) -> Option<String> {
        let from = self.from?;
        let to = match span(assembled) {
            None => from,
            Some(span) if (span.session, span.seq) != (self.session, self.seq) => {
                return Some("it is the file of another object".to_owned());
            }
            Some(span) if span.from != from => {
                let begins = span.from;
                return Some(format!(
                    "it begins at {begins}, the one before ends at {from}"
                ));
            }
            Some(span) => span.to,
        };
        let next = follower.filter(|next| {
            // Where files are missing in between, time is missing as well; but not all of it here.
            let next_to = next.seq == self.seq + 1 || to == from;
            next.from < to || (next_to && to < next.from)
        })?;
        let next = next.from;
        Some(format!(
            "it can be read until {to}, the next begins at {next}"
        ))
    }
}

/// Where an object lies; `None` for nothing.
const fn span(assembled: &Assembled) -> Option<&Span> {
    match assembled {
        Assembled::Empty => None,
        Assembled::Segment { manifest, .. } => Some(&manifest.span),
        Assembled::Idle { record, .. } => Some(&record.span),
    }
}

fn with_cause(error: &AssembleError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Where a session ends of which the store has the part before `delivered`, as far as its folder
/// tells. A last file that holds nothing is removed: its number is free.
pub(crate) fn reached(folder: &Folder, delivered: Position) -> io::Result<Position> {
    let mut reached = delivered;
    let mut latest = true;
    for seq in folder.pending()?.into_iter().rev() {
        let Some(wal) = folder.read_wal(seq)? else {
            continue; // delivered this moment
        };
        let (prev, sheet) = (Sha256::of(&[]), None);
        match assemble(&wal, Assembly { prev, sheet }) {
            Ok(Assembled::Empty) if latest => {
                folder.remove_object(seq)?;
                continue;
            }
            Ok(assembled) => {
                if let Some(span) = span(&assembled) {
                    reached.from = reached.from.max(span.to);
                    reached.run = reached.run.max(span.run);
                    let anchor = span.anchors.last().copied();
                    reached.last_anchor = later(anchor, reached.last_anchor);
                }
            }
            // It will be set aside when its turn comes; what follows it goes on from here.
            Err(_) => {
                let to = mend::reaches(&wal).unwrap_or_default();
                reached.from = reached.from.max(to);
            }
        }
        reached.seq = reached.seq.max(seq + 1);
        latest = false;
        if delivered.last_anchor != reached.last_anchor {
            break;
        }
    }
    Ok(reached)
}

fn later(one: Option<capture::Anchor>, other: Option<capture::Anchor>) -> Option<capture::Anchor> {
    one.into_iter().chain(other).max_by_key(|anchor| anchor.t)
}
