//! A simulated desktop before a track, and what any record must be.

use std::sync::{Arc, Mutex};

use capture::{
    Damage, Framebuffer, GapReason, MediaTime, Rect, SessionId, Size,
    event::{Event, LATE_MS},
};
use policy::{Marks, Policy};
use segment::{
    Assembled, Assembly, Manifest, Record, Sha256, assemble,
    manifest::{Init, Span},
    record::Sample,
};

use super::super::{Output, Track, TrackConfig, object};
use crate::{Codec, CodecError, CodedFrame, Encoder, RedactedFrame, h264};

pub(super) fn t(ms: u64) -> MediaTime {
    MediaTime::from_ms(ms)
}

/// Codes nothing: its samples have the size they are told to have. It notes what it sees.
struct Tiny {
    seen: Seen,
    sample_bytes: usize,
}

/// Each picture a codec was given: its time in ms and a pixel near its top left.
type Seen = Arc<Mutex<Vec<(u64, [u8; 3])>>>;

/// High profile, level 4.0, with the briefest of parameter sets.
const AVCC: [u8; 19] = [
    1, 0x64, 0, 0x28, 0xff, 0xe1, 0, 4, 0x67, 0x64, 0, 0x28, 1, 0, 4, 0x68, 0xee, 0x3c, 0x80,
];

impl Codec for Tiny {
    fn encode(
        &mut self,
        frame: &RedactedFrame<'_>,
        t: MediaTime,
        force_key: bool,
    ) -> Result<CodedFrame, CodecError> {
        let picture = (t.ms(), frame.planes().pixel(2, 2));
        self.seen.lock().unwrap().push(picture);
        assert_eq!(frame.coded(), frame.coded().even());
        let mut bytes = u32::try_from(self.sample_bytes)
            .unwrap()
            .to_be_bytes()
            .to_vec();
        bytes.resize(4 + self.sample_bytes, 0x22);
        bytes[4] = if force_key { 0x65 } else { 0x41 };
        Ok(CodedFrame {
            key: force_key,
            bytes,
        })
    }

    fn avcc(&self) -> &[u8] {
        &AVCC
    }
}

/// A desktop that is one colour and changes it.
pub(super) struct Rig {
    framebuffer: Framebuffer,
    pub(super) track: Track,
    out: Vec<Output>,
    seen: Seen,
    now: u64,
    shade: u8,
}

impl Rig {
    pub(super) fn new(size: Size) -> Self {
        Self::resumed(size, 0, MediaTime::ZERO)
    }

    pub(super) fn resumed(size: Size, seq: u64, from: MediaTime) -> Self {
        Self::build(size, config(seq, from), Policy::default(), 75, None)
    }

    pub(super) fn with_sample_bytes(self, bytes: usize) -> Self {
        let size = self.framebuffer.size();
        Self::build(
            size,
            config(0, MediaTime::ZERO),
            Policy::default(),
            bytes,
            None,
        )
    }

    pub(super) fn with_policy(self, policy: &str) -> Self {
        self.with_marks(policy, Marks::default())
    }

    pub(super) fn with_marks(self, policy: &str, marks: Marks) -> Self {
        let size = self.framebuffer.size();
        let policy = Policy::parse(policy).unwrap();
        let mut config = config(0, MediaTime::ZERO);
        config.marks = marks;
        Self::build(size, config, policy, 75, None)
    }

    pub(super) fn coded_by(size: Size, encoder: Encoder, policy: &str) -> Self {
        let config = config(0, MediaTime::ZERO);
        let policy = Policy::parse(policy).unwrap();
        Self::build(size, config, policy, 0, Some(encoder))
    }

    fn build(
        size: Size,
        config: TrackConfig,
        policy: Policy,
        sample_bytes: usize,
        encoder: Option<Encoder>,
    ) -> Self {
        let seen = Seen::default();
        let noted = Arc::clone(&seen);
        let tiny: crate::OpenCodec = Box::new(move |_| {
            Ok(Box::new(Tiny {
                seen: Arc::clone(&noted),
                sample_bytes,
            }))
        });
        let open_codec = encoder.map_or(tiny, |encoder| h264::opener(encoder, 15));
        Self {
            framebuffer: Framebuffer::new(size, 1).unwrap(),
            track: Track::with_codec(config, policy, open_codec),
            out: Vec::new(),
            seen,
            now: 0,
            shade: 100,
        }
    }

    pub(super) fn coded(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// What a codec was given: each picture's time in ms, and a pixel near its top left.
    pub(super) fn seen(&self) -> Vec<(u64, [u8; 3])> {
        self.seen.lock().unwrap().clone()
    }

    pub(super) fn framebuffer(&mut self) -> &mut Framebuffer {
        &mut self.framebuffer
    }

    pub(super) fn change(&mut self, at: u64) {
        self.change_in(at, self.framebuffer.size().rect());
    }

    pub(super) fn change_in(&mut self, at: u64, rect: Rect) {
        self.shade = self.shade.wrapping_add(17);
        // Reddish, so that no shade is a mask's grey.
        self.framebuffer
            .fill(rect, [self.shade, self.shade, 255, 0]);
        self.show(at, rect);
    }

    /// Has the framebuffer recorded as it is.
    pub(super) fn show(&mut self, at: u64, rect: Rect) {
        let track = &mut self.track;
        let damage = Damage::of(rect);
        track
            .frame(t(at), &self.framebuffer, None, &damage, &mut self.out)
            .unwrap();
        self.now = at;
    }

    pub(super) fn resize(&mut self, at: u64, size: Size) {
        self.framebuffer.resize(size).unwrap();
        self.change(at);
    }

    pub(super) fn marks(&mut self, at: u64, open: &[&str]) {
        let open = open.iter().map(|&name| name.to_owned()).collect();
        let (track, out) = (&mut self.track, &mut self.out);
        track.marks(t(at), &Marks::Open(open), out).unwrap();
        self.now = at;
    }

    pub(super) fn proof(&mut self, at: u64) {
        self.track.proof(t(at), &mut self.out).unwrap();
        self.now = at;
    }

    /// Proves the picture about each second, last at `until`.
    pub(super) fn still_until(&mut self, until: u64) {
        while self.now + 1003 < until {
            self.proof(self.now + 1003);
        }
        self.proof(until);
    }

    /// How far a crash would leave the picture proven.
    pub(super) fn reaches(&self) -> u64 {
        let reaches = self.out.iter().rev().find_map(|output| match output {
            Output::Append {
                record: Record::Sample(Sample { t, .. }) | Record::Tick(t),
                ..
            } => Some(t.ms()),
            _ => None,
        });
        reaches.unwrap()
    }

    pub(super) fn gap(&mut self, from: u64, reason: GapReason) {
        self.track.gap(t(from), reason, &mut self.out).unwrap();
    }

    pub(super) fn event(&mut self, event: Event) {
        self.track.event(event, &mut self.out);
    }

    pub(super) fn end(mut self, to: u64) -> Vec<Output> {
        self.track.end(t(to), &mut self.out).unwrap();
        self.out
    }
}

fn config(seq: u64, from: MediaTime) -> TrackConfig {
    TrackConfig {
        session: SessionId::new(1, [3; 10]),
        run: 1,
        seq,
        from,
        fps_max: 15,
        encoder: Encoder::Auto,
        marks: Marks::default(),
    }
}

/// What there is to see, from where to where, in ms.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Show {
    Fragment {
        from: u64,
        to: u64,
        samples: usize,
        changed: u32,
    },
    Repeat {
        from: u64,
        to: u64,
        seq: u64,
        fragment: u32,
    },
    Gap {
        from: u64,
        to: u64,
        reason: GapReason,
    },
}

impl Show {
    pub(super) const fn from(&self) -> u64 {
        match *self {
            Self::Fragment { from, .. } | Self::Repeat { from, .. } | Self::Gap { from, .. } => {
                from
            }
        }
    }

    const fn to(&self) -> u64 {
        match *self {
            Self::Fragment { to, .. } | Self::Repeat { to, .. } | Self::Gap { to, .. } => to,
        }
    }
}

/// A whole record, read back.
pub(super) struct Recorded {
    pub(super) objects: Vec<Object>,
    pub(super) shows: Vec<Show>,
    /// The top left value of every thumbnail.
    pub(super) thumbs: Vec<u8>,
}

pub(super) struct Object {
    pub(super) span: Span,
    pub(super) screen: Option<Size>,
    pub(super) events: Vec<Event>,
    pub(super) thumb_times: Vec<u64>,
    pub(super) file: Vec<u8>,
}

/// Where each object begins and ends.
pub(super) fn objects(recorded: &Recorded) -> Vec<(u64, u64)> {
    let spans = recorded.objects.iter().map(|object| &object.span);
    spans.map(|span| (span.from.ms(), span.to.ms())).collect()
}

/// Assembles what a track put out and checks all that every record promises.
pub(super) fn check(outputs: Vec<Output>) -> Recorded {
    let mut recorded = Recorded {
        objects: Vec::new(),
        shows: Vec::new(),
        thumbs: Vec::new(),
    };
    let mut idle_gops = Vec::new();
    let (mut wal, mut sheet) = (Vec::new(), None);
    for output in outputs {
        match output {
            Output::Append { record, .. } => record.encode(&mut wal).unwrap(),
            Output::Sheet { jpeg, .. } => sheet = Some(jpeg),
            Output::Sealed { seq } => {
                let prev = Sha256::of(&seq.to_be_bytes());
                let sheet = sheet.take();
                let assembly = Assembly {
                    prev,
                    sheet: sheet.as_deref(),
                };
                let assembled = assemble(&wal, assembly).unwrap();
                wal.clear();
                recorded.add(seq, assembled, sheet.as_deref(), &mut idle_gops);
            }
        }
    }
    assert!(wal.is_empty(), "the last object is not sealed");
    check_tiling(&recorded);
    recorded
}

fn check_tiling(recorded: &Recorded) {
    let objects = recorded.objects.windows(2);
    for pair in objects {
        assert_eq!(pair[0].span.to, pair[1].span.from);
        assert_eq!(pair[0].span.seq + 1, pair[1].span.seq);
    }
    for pair in recorded.shows.windows(2) {
        assert_eq!(pair[0].to(), pair[1].from(), "{pair:?}");
    }
    assert!(recorded.shows.iter().all(|show| show.from() < show.to()));
    let ends = recorded.objects.last().zip(recorded.shows.last());
    assert!(ends.is_some_and(|(object, show)| object.span.to.ms() == show.to()));
}

impl Recorded {
    fn add(
        &mut self,
        seq: u64,
        assembled: Assembled,
        sheet: Option<&[u8]>,
        idle_gops: &mut Vec<(u64, u32)>,
    ) {
        let object = match assembled {
            Assembled::Segment { bytes, manifest } => {
                assert_eq!(segment::mp4::check(&bytes).unwrap(), manifest);
                self.add_span(&manifest.span, idle_gops);
                self.add_fragments(&manifest, idle_gops);
                let range = manifest.events.offset..manifest.events.offset + manifest.events.len;
                let events = segment::mp4::part(&bytes, range).unwrap();
                let thumbs = manifest.thumbs.as_ref().unwrap();
                self.add_thumbs(sheet.unwrap(), thumbs.tile);
                Object {
                    events: segment::mp4::read_events(events, &manifest.events).unwrap(),
                    screen: Some(Init::screen(&manifest.init)),
                    thumb_times: thumbs.times.iter().map(|t| t.ms()).collect(),
                    span: manifest.span,
                    file: bytes,
                }
            }
            Assembled::Idle { bytes, record } => {
                self.add_span(&record.span, idle_gops);
                Object {
                    events: record.events,
                    screen: None,
                    thumb_times: Vec::new(),
                    span: record.span,
                    file: bytes,
                }
            }
            Assembled::Empty => panic!("object {seq} is empty"),
        };
        let span = object.span.from..object.span.to;
        assert!(object.span.seq == seq && !span.is_empty());
        let late = |event: &Event| span.start.ms() <= event.t.ms() + LATE_MS;
        assert!(
            object
                .events
                .iter()
                .all(|event| event.t < span.end && late(event))
        );
        assert!(
            object
                .span
                .anchors
                .iter()
                .all(|anchor| span.contains(&anchor.t))
        );
        self.objects.push(object);
    }

    fn add_span(&mut self, span: &Span, idle_gops: &[(u64, u32)]) {
        let mut shows: Vec<Show> = Vec::new();
        for repeat in &span.repeats {
            assert!(
                idle_gops.contains(&(repeat.seq, repeat.fragment)),
                "{repeat:?}"
            );
            shows.push(Show::Repeat {
                from: repeat.from.ms(),
                to: repeat.to.ms(),
                seq: repeat.seq,
                fragment: repeat.fragment,
            });
        }
        for gap in &span.gaps {
            let (from, to, reason) = (gap.from.ms(), gap.to.ms(), gap.reason);
            shows.push(Show::Gap { from, to, reason });
        }
        shows.sort_by_key(Show::from);
        self.shows.extend(shows);
    }

    fn add_fragments(&mut self, manifest: &Manifest, idle_gops: &mut Vec<(u64, u32)>) {
        let mut bytes = 0;
        for (n, fragment) in (0..).zip(&manifest.fragments) {
            assert!(bytes < object::OBJECT_BYTES as u64);
            bytes += fragment.len;
            assert!(fragment.samples.len() <= object::FRAGMENT_FRAMES as usize);
            assert!(0 < fragment.dur && fragment.dur <= object::FRAGMENT_MS);
            let starts = fragment.samples.iter().map(|&(dt, _)| dt);
            let ends = starts.clone().skip(1).chain([fragment.dur]);
            for (start, end) in starts.zip(ends) {
                assert!(start < end && end - start <= super::super::HEARTBEAT_MS);
            }
            if fragment.changed == 0 && fragment.dur == object::FRAGMENT_MS {
                idle_gops.push((manifest.span.seq, n));
            }
            self.shows.push(Show::Fragment {
                from: fragment.t.ms(),
                to: fragment.end().ms(),
                samples: fragment.samples.len(),
                changed: fragment.changed,
            });
        }
        let (first, last) = (&manifest.fragments[0], manifest.fragments.last().unwrap());
        assert!(last.end().ms_since(first.t) <= object::OBJECT_MS);
    }

    fn add_thumbs(&mut self, sheet: &[u8], tile: Size) {
        let picture = image::load_from_memory(sheet).unwrap().into_luma8();
        assert!(picture.width() >= tile.w && picture.height() >= tile.h);
        self.thumbs.push(picture.get_pixel(2, 2).0[0]);
    }
}
