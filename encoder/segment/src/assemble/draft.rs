//! What the records of a spool file say together.

use std::{collections::HashMap, ops::ControlFlow};

use capture::{Anchor, Gap, GapReason, MediaTime, Rect, event::Event};

use super::AssembleError;
use crate::{
    Record, Sha256,
    manifest::{Activity, FORMAT, Mask, Repeat, Span},
    record::{Close, Entry, InitRecord, MaskRecord, Open, Reader, SampleRef, ThumbsRecord},
};

/// A spool file, read to its end.
pub(crate) struct Draft<'a> {
    open: Open,
    to: MediaTime,
    stretches: Vec<Stretch<'a>>,
    pub(super) init: Option<InitRecord>,
    pub(super) events: Vec<Event>,
    pub(super) thumbs: Option<ThumbsRecord>,
    anchors: Vec<Anchor>,
    masks: Vec<Mask>,
}

/// Something that lasts until the next stretch begins.
struct Stretch<'a> {
    from: MediaTime,
    shows: Shows<'a>,
}

/// What there is to see during a stretch.
enum Shows<'a> {
    Sample(SampleRef<'a>),
    Gap(GapReason),
    Repeat { seq: u64, fragment: u32 },
}

impl<'a> Draft<'a> {
    /// Reads `wal`; `None` when it holds no whole record.
    pub(crate) fn read(wal: &'a [u8]) -> Result<Option<Self>, AssembleError> {
        let mut reader = Reader::new(wal);
        let open = match reader.next_entry() {
            None => return Ok(None),
            Some(Entry::Other(Record::Open(open))) => open,
            Some(_) => return Err(AssembleError::NoHead),
        };
        if open.format != FORMAT {
            let format = open.format;
            return Err(AssembleError::Format { format });
        }
        let mut drafting = Drafting::new(open);
        while let Some(entry) = reader.next_entry() {
            if drafting.add(entry)?.is_break() {
                break;
            }
        }
        drafting.finish().map(Some)
    }

    pub(super) fn from(&self) -> MediaTime {
        self.open.from
    }

    pub(crate) fn to(&self) -> MediaTime {
        self.to
    }

    pub(super) fn has_samples(&self) -> bool {
        self.samples().next().is_some()
    }

    /// The samples, each with the instant its picture ends.
    pub(super) fn samples(&self) -> impl Iterator<Item = (SampleRef<'a>, MediaTime)> {
        self.stretches()
            .filter_map(|(stretch, to)| match stretch.shows {
                Shows::Sample(sample) => Some((sample, to)),
                Shows::Gap(_) | Shows::Repeat { .. } => None,
            })
    }

    /// Where the object lies and what stands beside its picture.
    pub(super) fn span(&self, prev: Sha256) -> Span {
        let mut span = Span {
            session: self.open.session,
            seq: self.open.seq,
            run: self.open.run,
            from: self.open.from,
            to: self.to,
            prev,
            repeats: Vec::new(),
            gaps: Vec::new(),
            anchors: self.anchors.clone(),
            masks: self.masks.clone(),
            activity: activity(self.samples().map(|(sample, _)| sample)),
            checkpoint: None,
        };
        for (&Stretch { from, ref shows }, to) in self.stretches().filter(|(s, to)| s.from < *to) {
            match *shows {
                Shows::Sample(_) => {}
                Shows::Gap(reason) => span.gaps.push(Gap { from, to, reason }),
                Shows::Repeat { seq, fragment } => span.repeats.push(Repeat {
                    seq,
                    fragment,
                    from,
                    to,
                }),
            }
        }
        span
    }

    fn stretches(&self) -> impl Iterator<Item = (&Stretch<'a>, MediaTime)> {
        let starts = self.stretches.iter().skip(1).map(|next| next.from);
        self.stretches.iter().zip(starts.chain([self.to]))
    }
}

/// The changed share of the screen by second.
fn activity<'a>(samples: impl Iterator<Item = SampleRef<'a>>) -> Vec<Activity> {
    let mut seconds: Vec<Activity> = Vec::new();
    for sample in samples.filter(|sample| sample.changed_permille > 0) {
        let second = sample.t.ms() / 1000;
        let permille = sample.changed_permille;
        match seconds.last_mut().filter(|last| last.second == second) {
            Some(last) => last.permille = last.permille.saturating_add(permille),
            None => seconds.push(Activity { second, permille }),
        }
    }
    for second in &mut seconds {
        second.permille = second.permille.min(1000);
    }
    seconds
}

/// A draft while its file is read.
struct Drafting<'a> {
    draft: Draft<'a>,
    proven_to: MediaTime,
    close: Option<Close>,
    /// The masks in force, as places in the draft's list.
    in_force: HashMap<(Rect, String), usize>,
}

impl<'a> Drafting<'a> {
    fn new(open: Open) -> Self {
        let from = open.from;
        Self {
            draft: Draft {
                open,
                to: from,
                stretches: Vec::new(),
                init: None,
                events: Vec::new(),
                thumbs: None,
                anchors: Vec::new(),
                masks: Vec::new(),
            },
            proven_to: from,
            close: None,
            in_force: HashMap::new(),
        }
    }

    /// Takes the next record; breaks at the file's last.
    fn add(&mut self, entry: Entry<'a>) -> Result<ControlFlow<()>, AssembleError> {
        let draft = &mut self.draft;
        match entry {
            Entry::Sample(sample) => self.sample(sample)?,
            Entry::Other(record) => match record {
                Record::Open(_) => return Err(AssembleError::Twice { kind: "open" }),
                Record::Init(init) => {
                    if draft.init.replace(init).is_some() {
                        return Err(AssembleError::Twice { kind: "init" });
                    }
                }
                Record::Sample(_) => {}
                Record::Event(event) => draft.events.push(event),
                Record::Anchor(anchor) => draft.anchors.push(anchor),
                Record::Mask(mask) => self.mask(mask),
                Record::Unmask(mask) => self.unmask(mask),
                Record::Gap(gap) => self.stretch(gap.from, Shows::Gap(gap.reason))?,
                Record::Tick(t) => self.proven_to = self.proven_to.max(t),
                Record::Repeat(repeat) => {
                    let (seq, fragment) = (repeat.seq, repeat.fragment);
                    self.stretch(repeat.from, Shows::Repeat { seq, fragment })?;
                }
                Record::Thumbs(thumbs) => draft.thumbs = Some(thumbs),
                Record::Close(close) => {
                    self.close = Some(close);
                    return Ok(ControlFlow::Break(()));
                }
            },
        }
        Ok(ControlFlow::Continue(()))
    }

    fn sample(&mut self, sample: SampleRef<'a>) -> Result<(), AssembleError> {
        let t = sample.t;
        if self.draft.init.is_none() {
            return Err(AssembleError::NoInit { t });
        }
        let after_sample = self
            .draft
            .stretches
            .last()
            .is_some_and(|last| matches!(last.shows, Shows::Sample(_)));
        if !after_sample {
            if self.draft.has_samples() {
                return Err(AssembleError::Hole { t });
            }
            if !sample.key {
                return Err(AssembleError::NoKey { t });
            }
        }
        self.stretch(t, Shows::Sample(sample))
    }

    /// Begins a stretch at `from`, which ends the one before.
    fn stretch(&mut self, from: MediaTime, shows: Shows<'a>) -> Result<(), AssembleError> {
        self.draft.in_order(from)?;
        self.draft.stretches.push(Stretch { from, shows });
        Ok(())
    }

    fn mask(&mut self, mask: MaskRecord) {
        let place = self.draft.masks.len();
        let key = (mask.rect, mask.rule.clone());
        // A mask that is said again is still the same one.
        if *self.in_force.entry(key).or_insert(place) == place {
            self.draft.masks.push(Mask {
                rect: mask.rect,
                from: mask.t,
                to: MediaTime::from_ms(u64::MAX),
                rule: mask.rule,
                kind: mask.kind,
            });
        }
    }

    fn unmask(&mut self, mask: MaskRecord) {
        let place = self.in_force.remove(&(mask.rect, mask.rule));
        if let Some(open) = place.and_then(|place| self.draft.masks.get_mut(place)) {
            open.to = mask.t;
        }
    }

    fn finish(self) -> Result<Draft<'a>, AssembleError> {
        let Self {
            mut draft,
            proven_to,
            close,
            ..
        } = self;
        draft.to = match close {
            Some(close) => close.to,
            None => proven_to.max(draft.earliest_end()),
        };
        draft.in_order(draft.to)?;
        for mask in &mut draft.masks {
            mask.from = mask.from.max(draft.open.from);
            mask.to = mask.to.min(draft.to);
        }
        draft.masks.retain(|mask| mask.from < mask.to);
        Ok(draft)
    }
}

impl Draft<'_> {
    /// The earliest instant at which what was read so far can end: a sample lasts at least 1 ms.
    fn earliest_end(&self) -> MediaTime {
        match self.stretches.last() {
            None => self.open.from,
            Some(&Stretch { from, ref shows }) => match shows {
                Shows::Sample(_) => from.plus_ms(1),
                Shows::Gap(_) | Shows::Repeat { .. } => from,
            },
        }
    }

    fn in_order(&self, t: MediaTime) -> Result<(), AssembleError> {
        if self.earliest_end() <= t {
            return Ok(());
        }
        let after = self
            .stretches
            .last()
            .map_or(self.open.from, |last| last.from);
        Err(AssembleError::Order { t, after })
    }
}
