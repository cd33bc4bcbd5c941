//! How does a part of a session become one file? By an exact cut: whole fragments go in as they
//! were recorded, and only what begins or changes within one is coded anew (encoding.md, "Reading
//! back").
//!
//! - The first picture is the one shown at `from`. A fragment that began before is decoded, and its
//!   pictures from there on are coded again: no earlier picture is in the file, not even hidden.
//! - A clip has one size. Where the screen's changes, it is the largest width by the largest
//!   height, and smaller screens lie on black in the middle, pixel by pixel.
//! - A gap is a card of its true length that says why; a repeated fragment is written out.
//! - Screens of an odd size keep the padding column or row they were coded with.
//!
//! It is written from front to back, a fragment at a time, so its length costs no memory.

mod card;
mod painter;
mod piece;
mod span;

use std::{collections::BTreeSet, sync::Arc};

use bytes::Bytes;
use capture::{Framebuffer, Gap, MediaTime, SessionId, Size};
use index::{
    CatalogError, Timeline,
    catalog::ObjectRow,
    timeline::{InitAt, Placed},
};
use segment::mp4::{
    ClipHead, PlaceError, ReadError, WriteError, fragment_samples, place, read_init,
};
use store::{Store as _, StoreError};

use crate::{
    archive::Archive,
    decode::{
        Coding,
        avc::{AvcConfig, AvcError},
        gop::decode_each,
    },
    media::{PictureError, fragment_row},
};
use painter::Painter;
use piece::{Piece, Shows};

pub use painter::PaintError;
pub use span::{ClipSpan, SpanError};

/// No side of a picture is longer in H.264's highest level, 6.2.
const MAX_SIDE_PX: u32 = 16_888;

/// Why a clip cannot be made, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum ClipError {
    /// The session has no picture at all.
    #[error("the session has no picture yet")]
    NoPicture,
    /// The screens shown have no size in common that a file could have.
    #[error("the screens from {from} to {to} need a picture of {canvas}, which is too large")]
    Canvas {
        /// Where the clip begins.
        from: MediaTime,
        /// Where it ends.
        to: MediaTime,
        /// The largest width by the largest height.
        canvas: Size,
    },
    /// The catalogue cannot be asked, or lacks what it lists.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The store did not give the bytes.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An object is not a segment.
    #[error("object {key} cannot be read")]
    Read {
        /// The object.
        key: String,
        /// Why not.
        source: ReadError,
    },
    /// An object's parameters are damaged.
    #[error("the parameters of object {key} cannot be read")]
    Parameters {
        /// The object.
        key: String,
        /// Why not.
        source: AvcError,
    },
    /// A fragment cannot be put where it belongs.
    #[error("a fragment of object {key} cannot be copied")]
    Place {
        /// The object.
        key: String,
        /// Why not.
        source: PlaceError,
    },
    /// What is shown cannot be coded anew.
    #[error("the picture from {at} on cannot be coded")]
    Paint {
        /// Where it stands in the session.
        at: MediaTime,
        /// Why not.
        source: PaintError,
    },
    /// The head cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The process is shutting down.
    #[error(transparent)]
    Cancelled(#[from] PictureError),
}

/// A clip on its way into a file.
pub struct Clip {
    session: SessionId,
    timeline: Arc<Timeline>,
    span: ClipSpan,
    /// Up to here it is written; the head is not while it stands in `head`.
    at: MediaTime,
    head: Option<Bytes>,
    painter: Painter,
    /// The coding of fragments that go in as they are.
    recorded: Option<AvcConfig>,
    /// The segment read last: the next fragment is mostly in the same.
    segment: Option<Segment>,
    /// The card painted last: a long gap shows it again and again.
    card: Option<(Option<Gap>, Bytes)>,
}

/// What is needed of one segment to read its fragments.
struct Segment {
    object: ObjectRow,
    coding: Coding,
    /// The fragment read last: one that repeats is read once.
    fragment: Option<(u32, Bytes)>,
}

impl Clip {
    /// Begins the clip of `span`.
    ///
    /// # Errors
    /// When the session has no picture, the screens do not fit one file, or the store fails.
    pub async fn begin(
        archive: &Archive,
        session: SessionId,
        timeline: Arc<Timeline>,
        span: ClipSpan,
    ) -> Result<Self, ClipError> {
        let ClipSpan { from, to } = span;
        let canvas = canvas(&timeline, span)?;
        let recorded = match first_whole(&timeline, span, canvas) {
            None => None,
            Some(placed) => {
                let segment = Segment::open(archive, session, placed.seq).await?;
                Some(segment.coding.config)
            }
        };
        let number = recorded.as_ref().map_or(Some(0), AvcConfig::free_number);
        // Without a free number nothing is copied.
        let recorded = recorded.filter(|_| number.is_some());
        let painter = archive
            .media
            .work(move || Painter::new(canvas, number.unwrap_or(0)));
        let painter = painter.await?.map_err(paint_at(from))?;

        let config = painter.config().clone();
        let config = match &recorded {
            Some(recorded) => recorded.clone().beside(config),
            None => config,
        };
        let start = timeline.clock.utc_at(from);
        let head = ClipHead {
            coded: canvas,
            avcc: &config.to_avcc(),
            duration: MediaTime::from_ms(to.ms_since(from)),
            start,
            description: &format!(
                "Playhead session {session} from {from} ({start}) to {to} ({})",
                timeline.clock.utc_at(to)
            ),
        };
        Ok(Self {
            session,
            head: Some(head.to_bytes()?.into()),
            timeline,
            span,
            at: from,
            painter,
            recorded,
            segment: None,
            card: None,
        })
    }

    /// The next part of the file: its head, then a fragment at a time; `None` at its end.
    ///
    /// # Errors
    /// When what is stored is missing or damaged. The file so far is then of no use.
    pub async fn next(&mut self, archive: &Archive) -> Result<Option<Bytes>, ClipError> {
        if let Some(head) = self.head.take() {
            return Ok(Some(head));
        }
        if self.span.to <= self.at {
            return Ok(None);
        }
        let piece = Piece::at(&self.timeline, self.at, self.span.to);
        let (bytes, to) = match piece.shows {
            Shows::Fragment(index) => (self.fragment(archive, piece, index).await?, piece.to),
            Shows::Nothing(gap) => self.card(archive, piece, gap).await?,
        };
        self.at = to;
        Ok(Some(bytes))
    }

    /// Up to which moment of the session it is written.
    #[must_use]
    pub const fn written_to(&self) -> MediaTime {
        self.at
    }

    /// Where a moment of the session lies in the clip.
    fn place(&self, t: MediaTime) -> MediaTime {
        MediaTime::from_ms(t.ms_since(self.span.from))
    }

    async fn fragment(
        &mut self,
        archive: &Archive,
        piece: Piece,
        index: usize,
    ) -> Result<Bytes, ClipError> {
        let timeline = self.timeline.clone();
        let unknown = || damaged(self.session);
        let placed = timeline.fragments.get(index).ok_or_else(unknown)?;
        let mut segment = match self.segment.take() {
            Some(segment) if segment.object.seq == placed.seq => segment,
            _ => Segment::open(archive, self.session, placed.seq).await?,
        };
        let fragment = segment.read(archive, placed.fragment).await?;
        let fragment = fragment.ok_or_else(unknown)?;
        let (at, to) = (self.place(piece.from), self.place(piece.to));
        let copied = piece.from == placed.at && self.copies(&segment.coding);
        let bytes = if copied {
            place(&fragment, at, to).map_err(|source| ClipError::Place {
                key: segment.object.key.clone(),
                source,
            })?
        } else {
            let repaint = Repaint {
                painter: self.painter.clone(),
                coding: segment.coding.clone(),
                fragment,
                starts: placed.samples.clone(),
                piece,
                at,
            };
            let painted = archive.media.work(move || repaint.run()).await?;
            painted.map_err(paint_at(piece.from))?
        };
        self.segment = Some(segment);
        Ok(bytes.into())
    }

    /// Whether fragments of this coding go in as they are.
    fn copies(&self, coding: &Coding) -> bool {
        coding.coded == self.painter.canvas() && self.recorded.as_ref() == Some(&coding.config)
    }

    /// A card for as much of `piece` as one fragment holds, and where that ends.
    async fn card(
        &mut self,
        archive: &Archive,
        piece: Piece,
        gap: Option<Gap>,
    ) -> Result<(Bytes, MediaTime), ClipError> {
        let known = self.card.as_ref().filter(|(shown, _)| *shown == gap);
        let card = if let Some((_, card)) = known {
            card.clone()
        } else {
            let painter = self.painter.clone();
            let painted = archive
                .media
                .work(move || card::card(&painter, gap))
                .await?;
            let card: Bytes = painted.map_err(paint_at(piece.from))?.into();
            self.card = Some((gap, card.clone()));
            card
        };
        let to = piece.to.min(piece.from.plus_ms(card::MAX_MS));
        let placed = place(&card, self.place(piece.from), self.place(to));
        let placed = placed.map_err(|source| ClipError::Place {
            key: "card".to_owned(),
            source,
        })?;
        Ok((placed.into(), to))
    }
}

fn paint_at(at: MediaTime) -> impl FnOnce(PaintError) -> ClipError {
    move |source| ClipError::Paint { at, source }
}

fn damaged(session: SessionId) -> ClipError {
    let what = format!("list of objects of session {session}");
    CatalogError::Damaged { what }.into()
}

/// The coding of segment `seq`.
fn init(timeline: &Timeline, seq: u64) -> Option<&InitAt> {
    let found = timeline.inits.binary_search_by_key(&seq, |init| init.seq);
    timeline.inits.get(found.ok()?)
}

fn coded(init: &InitAt) -> Size {
    Size::new(init.width, init.height)
}

/// The fragments that a clip shows something of.
fn shown(timeline: &Timeline, span: ClipSpan) -> impl Iterator<Item = (Piece, &Placed)> {
    Piece::all(timeline, span.from, span.to).filter_map(|piece| match piece.shows {
        Shows::Fragment(index) => Some((piece, timeline.fragments.get(index)?)),
        Shows::Nothing(_) => None,
    })
}

/// The largest width by the largest height of what a clip shows; in a clip without any picture,
/// the size of the last before it, or of the first.
fn canvas(timeline: &Timeline, span: ClipSpan) -> Result<Size, ClipError> {
    let segments: BTreeSet<u64> = shown(timeline, span)
        .map(|(_, placed)| placed.seq)
        .collect();
    let sizes = segments
        .iter()
        .filter_map(|&seq| init(timeline, seq))
        .map(coded);
    let both = |a: Size, b: Size| Size::new(a.w.max(b.w), a.h.max(b.h));
    let outside = || {
        let before = timeline.frame_at(span.from);
        let placed = timeline
            .fragments
            .get(before.map_or(0, |frame| frame.placed))?;
        init(timeline, placed.seq).map(coded)
    };
    let canvas = sizes.reduce(both).or_else(outside);
    let canvas = canvas.ok_or(ClipError::NoPicture)?;
    let ClipSpan { from, to } = span;
    if canvas.area_px() > Framebuffer::MAX_AREA_PX || canvas.w.max(canvas.h) > MAX_SIDE_PX {
        return Err(ClipError::Canvas { from, to, canvas });
    }
    Ok(canvas)
}

/// The first fragment of the canvas's size that a clip shows from its start on: what is coded like
/// it is copied.
fn first_whole(timeline: &Timeline, span: ClipSpan, canvas: Size) -> Option<&Placed> {
    let mut shown = shown(timeline, span);
    let found = shown.find(|(piece, placed)| {
        let size = init(timeline, placed.seq).map(coded);
        piece.from == placed.at && size == Some(canvas)
    });
    found.map(|(_, placed)| placed)
}

impl Segment {
    async fn open(archive: &Archive, session: SessionId, seq: u64) -> Result<Self, ClipError> {
        let object = archive.catalog.object(session, seq).await?;
        let object = object.ok_or_else(|| damaged(session))?;
        let media = object.media.as_ref().ok_or_else(|| damaged(session))?;
        let init = archive
            .media
            .part(&object.key, media.init.byte_range())
            .await?;
        let key = || object.key.clone();
        let avcc = read_init(&init).map_err(|source| ClipError::Read { key: key(), source })?;
        let config = AvcConfig::parse(avcc.avcc);
        let coding = Coding {
            config: config.map_err(|source| ClipError::Parameters { key: key(), source })?,
            coded: media.init.coded(),
            crop: media.init.crop,
        };
        Ok(Self {
            object,
            coding,
            fragment: None,
        })
    }

    /// The bytes of a fragment, past the cache: a long clip would push everything else out of it.
    async fn read(&mut self, archive: &Archive, n: u32) -> Result<Option<Bytes>, ClipError> {
        if let Some((known, bytes)) = &self.fragment
            && *known == n
        {
            return Ok(Some(bytes.clone()));
        }
        let media = self.object.media.as_ref();
        let Some(row) = media.and_then(|media| fragment_row(media, n)) else {
            return Ok(None);
        };
        let bytes = archive
            .store
            .get_range(&self.object.key, row.byte_range())
            .await?;
        self.fragment = Some((n, bytes.clone()));
        Ok(Some(bytes))
    }
}

/// A piece of a fragment that is to be coded anew.
struct Repaint {
    painter: Painter,
    coding: Coding,
    fragment: Bytes,
    /// When each sample of the fragment begins to be shown.
    starts: Vec<MediaTime>,
    piece: Piece,
    /// Where the piece lies in the clip.
    at: MediaTime,
}

impl Repaint {
    fn run(&self) -> Result<Vec<u8>, PaintError> {
        let Self { piece, starts, .. } = self;
        let samples = fragment_samples(&self.fragment)?;
        let samples: Vec<&[u8]> = samples
            .iter()
            .zip(starts)
            .take_while(|&(_, &start)| start < piece.to)
            .map(|(sample, _)| sample.bytes)
            .collect();
        let mut easel = self.painter.easel()?;
        decode_each(&self.coding, &samples, |sample, picture| {
            let start = starts.get(sample).copied().unwrap_or(piece.to);
            let end = starts.get(sample + 1).copied().unwrap_or(piece.to);
            let (start, end) = (start.max(piece.from), end.min(piece.to));
            if start < end {
                easel.show(picture, end.ms_since(start))?;
            }
            Ok::<_, PaintError>(())
        })?;
        easel.fragment(self.at)
    }
}
