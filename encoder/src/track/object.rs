//! One object in the making and its open fragment: their bounds and their records.

use capture::{MediaTime, SessionId, event::Event};
use segment::{
    Record,
    manifest::FORMAT,
    record::{Close, InitRecord, Open, RepeatRecord},
};

use super::{Output, beside::Held};
use crate::{
    CodedFrame, RedactedFrame,
    redact::Mask,
    thumbs::{Sheet, SheetError},
};

/// A fragment has at most this many samples: each costs 3–4 ms of decoding on the way to the last.
pub(super) const FRAGMENT_FRAMES: u32 = 60;
/// A fragment ends within this, however few its samples.
pub(super) const FRAGMENT_MS: u64 = 60_000;
/// A fragment of this size gets no more samples.
pub(super) const FRAGMENT_BYTES: usize = 4 << 20;
/// An object of this size gets no more samples.
pub(super) const OBJECT_BYTES: usize = 8 << 20;
/// An object with events of this size ends at the next picture or proof.
const EVENT_BYTES: usize = 8 << 20;
/// An object takes no more events than this: a reader refuses more than 32 MiB of them.
const EVENT_BYTES_MAX: usize = 30 << 20;
/// An object ends within this after its first sample.
pub(super) const OBJECT_MS: u64 = 60_000;

/// Where an object begins and what it is called.
#[derive(Clone, Copy)]
pub(super) struct OpenAt {
    pub(super) session: SessionId,
    pub(super) run: u32,
    pub(super) seq: u64,
    pub(super) from: MediaTime,
}

/// The idle GOP that stands for the picture: fragment `fragment` of object `seq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Idle {
    seq: u64,
    fragment: u32,
}

/// A closed GOP in the making.
pub(super) struct Fragment {
    t: MediaTime,
    frames: u32,
    bytes: usize,
    changed: bool,
}

impl Fragment {
    /// One that begins with the key frame at `t`.
    pub(super) const fn at(t: MediaTime) -> Self {
        Self {
            t,
            frames: 0,
            bytes: 0,
            changed: false,
        }
    }

    pub(super) fn count(&mut self, coded: &CodedFrame, changed: bool) {
        self.frames += 1;
        self.bytes += coded.bytes.len();
        self.changed |= changed;
    }

    pub(super) const fn ends_by(&self) -> MediaTime {
        self.t.plus_ms(FRAGMENT_MS)
    }

    /// Whether a sample at `t` belongs to the next fragment.
    pub(super) fn is_full(&self, t: MediaTime) -> bool {
        self.frames >= FRAGMENT_FRAMES || self.ends_by() <= t || self.bytes >= FRAGMENT_BYTES
    }
}

/// An object in the making.
pub(super) struct Object {
    at: OpenAt,
    first_sample: Option<MediaTime>,
    fragments: u32,
    bytes: usize,
    event_bytes: usize,
    /// Events were left out, which the record says.
    flooded: bool,
    masks: Vec<Mask>,
    sheet: Option<Sheet>,
}

impl Object {
    pub(super) fn open(at: OpenAt, out: &mut Vec<Output>) -> Self {
        let object = Self {
            at,
            first_sample: None,
            fragments: 0,
            bytes: 0,
            event_bytes: 0,
            flooded: false,
            masks: Vec::new(),
            sheet: None,
        };
        let open = Open {
            format: FORMAT,
            session: at.session,
            seq: at.seq,
            run: at.run,
            from: at.from,
        };
        object.append(Record::Open(open), out);
        object
    }

    pub(super) const fn from(&self) -> MediaTime {
        self.at.from
    }

    pub(super) fn append(&self, record: Record, out: &mut Vec<Output>) {
        let seq = self.at.seq;
        out.push(Output::Append { seq, record });
    }

    /// Appends what happened beside the picture. Beyond what readers take it is left out, and the
    /// record says so.
    pub(super) fn append_beside(&mut self, held: Held, out: &mut Vec<Output>) {
        if self.event_bytes + held.bytes <= EVENT_BYTES_MAX {
            self.event_bytes += held.bytes;
            self.append(held.record, out);
        } else if !std::mem::replace(&mut self.flooded, true) {
            let flood = Event::health(
                held.t,
                "flood",
                "more events than can be kept: some are left out",
            );
            self.append(Record::Event(flood), out);
        }
    }

    /// Whether there are so many events that the object should end.
    pub(super) const fn is_crowded(&self) -> bool {
        self.event_bytes >= EVENT_BYTES
    }

    /// By when the object must end.
    pub(super) fn ends_by(&self) -> Option<MediaTime> {
        self.first_sample.map(|first| first.plus_ms(OBJECT_MS))
    }

    /// Whether a sample at `t` belongs to the next object.
    pub(super) fn is_full(&self, t: MediaTime) -> bool {
        self.bytes >= OBJECT_BYTES
            || self.is_crowded()
            || self.ends_by().is_some_and(|end| end <= t)
    }

    /// `fragment`, the object's last, if it ends at `t` as a whole idle GOP: of full length, and
    /// nothing changed in it.
    pub(super) fn idle_gop(&self, fragment: &Fragment, t: MediaTime) -> Option<Idle> {
        let whole = fragment.ends_by() == t && !fragment.changed;
        whole.then(|| Idle {
            seq: self.at.seq,
            fragment: self.fragments.saturating_sub(1),
        })
    }

    /// The picture from the object's beginning on is `idle`, repeated.
    pub(super) fn repeat(&self, idle: Idle, out: &mut Vec<Output>) {
        let repeat = RepeatRecord {
            from: self.at.from,
            seq: idle.seq,
            fragment: idle.fragment,
        };
        self.append(Record::Repeat(repeat), out);
    }

    /// From `t` on exactly the masks `in_force` apply.
    pub(super) fn mask(&mut self, t: MediaTime, in_force: &[Mask], out: &mut Vec<Output>) {
        if self.masks == in_force {
            return;
        }
        let before = std::mem::replace(&mut self.masks, in_force.to_vec());
        for mask in before.iter().filter(|mask| !in_force.contains(mask)) {
            self.append(Record::Unmask(mask.record(t)), out);
        }
        for mask in in_force.iter().filter(|mask| !before.contains(mask)) {
            self.append(Record::Mask(mask.record(t)), out);
        }
    }

    /// Says how the object's samples are decoded, before the first of them.
    pub(super) fn init(&self, frame: &RedactedFrame<'_>, avcc: &[u8], out: &mut Vec<Output>) {
        if self.first_sample.is_none() {
            let (coded, screen) = (frame.coded(), frame.screen());
            let init = InitRecord {
                coded,
                crop: (coded != screen).then(|| screen.rect()),
                avcc: avcc.to_vec(),
            };
            self.append(Record::Init(init), out);
        }
    }

    /// A fragment begins at `t`; its first picture is worth a thumbnail.
    pub(super) fn key_frame(
        &mut self,
        t: MediaTime,
        frame: &RedactedFrame<'_>,
    ) -> Result<(), SheetError> {
        self.first_sample.get_or_insert(t);
        self.fragments += 1;
        let sheet = self.sheet.get_or_insert_with(|| Sheet::new(frame.screen()));
        sheet.add(t, frame)
    }

    pub(super) fn count(&mut self, coded: &CodedFrame) {
        self.bytes += coded.bytes.len();
    }

    pub(super) fn close(
        mut self,
        to: MediaTime,
        last: bool,
        out: &mut Vec<Output>,
    ) -> Result<(), SheetError> {
        let seq = self.at.seq;
        if let Some((jpeg, record)) = self.sheet.take().map_or(Ok(None), Sheet::finish)? {
            out.push(Output::Sheet { seq, jpeg });
            self.append(Record::Thumbs(record), out);
        }
        self.append(Record::Close(Close { to, last }), out);
        out.push(Output::Sealed { seq });
        Ok(())
    }
}
