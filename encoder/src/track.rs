//! From pictures and proofs to spool records: when a sample is written, when a fragment and an
//! object end, and what an idle span costs (recording.md, "Cuts" to "Durations").
//!
//! A track does no IO and reads no clock: it is told what was received when, and says what to
//! append to which spool file.

mod beside;
mod due;
mod object;
mod resize;
#[cfg(test)]
mod tests;

use capture::{
    Anchor, Damage, Framebuffer, GapReason, MediaTime, SessionId, cursor::Cursor, event::Event,
};
use policy::{Marks, Policy};
use segment::{
    Record,
    record::{GapRecord, Sample},
};

use crate::{
    Canvas, Codec, CodecError, Encoder, OpenCodec, PaintError, Redactor, h264, thumbs::SheetError,
};
use beside::{Beside, Held};
pub use due::{HEARTBEAT_MS, IDLE_OBJECT_MS};
use object::{Fragment, Idle, Object, OpenAt};
use resize::Resize;

/// Of proofs in quick succession not each is noted: this much may be lost of them.
const TICK_MS: u64 = 50;

/// What a track must know of its session.
#[derive(Clone, Debug)]
pub struct TrackConfig {
    /// The session.
    pub session: SessionId,
    /// Which run of the recorder this is, from 1.
    pub run: u32,
    /// The number of the first object.
    pub seq: u64,
    /// Where the first object begins: where the one before it ended.
    pub from: MediaTime,
    /// The nominal frame rate. Taking no more frames than this is the caller's part.
    pub fps_max: u32,
    /// Which encoder codes.
    pub encoder: Encoder,
    /// Which marks are open when the run begins.
    pub marks: Marks,
}

/// What is to be done with the spool, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Append `record` to the spool file of object `seq`.
    Append {
        /// The object.
        seq: u64,
        /// The record.
        record: Record,
    },
    /// Write the sprite sheet of object `seq` beside its file.
    Sheet {
        /// The object.
        seq: u64,
        /// The sheet.
        jpeg: Vec<u8>,
    },
    /// Object `seq` is complete: its file gets no more records.
    Sealed {
        /// The object.
        seq: u64,
    },
}

/// Why a track cannot go on. What it put out before stands; the rest of the run is lost.
#[derive(Debug, thiserror::Error)]
pub enum TrackError {
    /// The framebuffer could not be taken over.
    #[error("the picture could not be taken over")]
    Paint(#[from] PaintError),
    /// The picture could not be coded.
    #[error("the picture could not be coded")]
    Codec(#[from] CodecError),
    /// The sprite sheet could not be made.
    #[error("the sprite sheet could not be made")]
    Sheet(#[from] SheetError),
}

/// One run's video: a state machine fed in order of time.
///
/// A session's first run begins with a picture at its first instant, a further run with the gap
/// since the one before, so that its objects leave no hole.
pub struct Track {
    config: TrackConfig,
    redactor: Redactor,
    open_codec: OpenCodec,
    codec: Option<Box<dyn Codec + Send>>,
    /// What is shown; `None` before the first picture.
    canvas: Option<Canvas>,
    /// The canvas missed damage and must be painted whole.
    stale: bool,
    resize: Option<Resize>,
    shows: Shows,
    /// The open object, if any, and where the next one begins otherwise.
    object: Option<Object>,
    next: OpenAt,
    fragment: Option<Fragment>,
    /// The last sample's time.
    last: MediaTime,
    /// Nothing new may begin before: keeps time strictly increasing and durations above zero.
    floor: MediaTime,
    /// The last sample or tick: how far a crash would leave the picture proven.
    written: MediaTime,
    beside: Beside,
}

/// What there is to see now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    /// No picture yet.
    Nothing,
    /// No picture, for a reason that is on record.
    Gap(GapReason),
    /// The canvas, sample by sample.
    Samples,
    /// The canvas, as an idle GOP that stands recorded: the encoder rests.
    Idle(Idle),
}

impl Track {
    /// A track that codes with the configured encoder under `policy`.
    ///
    /// # Errors
    /// When no such encoder is installed.
    pub fn new(config: TrackConfig, policy: Policy) -> Result<Self, CodecError> {
        config.encoder.element()?;
        let open_codec = h264::opener(config.encoder, config.fps_max);
        Ok(Self::with_codec(config, policy, open_codec))
    }

    /// A track that codes with what `open_codec` opens.
    #[must_use]
    pub fn with_codec(config: TrackConfig, policy: Policy, open_codec: OpenCodec) -> Self {
        Self {
            next: OpenAt {
                session: config.session,
                run: config.run,
                seq: config.seq,
                from: config.from,
            },
            floor: config.from,
            last: config.from,
            written: config.from,
            redactor: Redactor::new(policy, config.marks.clone()),
            config,
            open_codec,
            codec: None,
            canvas: None,
            stale: true,
            resize: None,
            shows: Shows::Nothing,
            object: None,
            fragment: None,
            beside: Beside::default(),
        }
    }

    /// The configuration it was made with.
    #[must_use]
    pub const fn config(&self) -> &TrackConfig {
        &self.config
    }

    /// A picture was received at `t`: the framebuffer's, which differs from the one before within
    /// `damage`, with `cursor` to be laid over it.
    ///
    /// A picture in which nothing visible changed is a proof. One of a new size is held back
    /// until the size has settled; the picture before it stands until then.
    ///
    /// # Errors
    /// When the picture cannot be coded.
    pub fn frame(
        &mut self,
        t: MediaTime,
        framebuffer: &Framebuffer,
        cursor: Option<&Cursor>,
        damage: &Damage,
        out: &mut Vec<Output>,
    ) -> Result<(), TrackError> {
        let t = t.max(self.floor);
        self.advance(t, out)?;
        if self.hold_resize(t, framebuffer, cursor, damage)? {
            self.tell_beside(t, out);
            return Ok(());
        }
        let size = framebuffer.size();
        let canvas = match self.canvas.take().filter(|canvas| canvas.screen() == size) {
            Some(canvas) => self.canvas.insert(canvas),
            None => {
                self.codec = None;
                self.stale = true;
                self.canvas.insert(Canvas::new(size))
            }
        };
        let whole = Damage::of(size.rect());
        let damage = if std::mem::take(&mut self.stale) {
            &whole
        } else {
            damage
        };
        let changed = canvas.paint(framebuffer, cursor, damage)?;
        let visible = self.redactor.visible(size, &changed);
        if visible.is_empty() && matches!(self.shows, Shows::Samples | Shows::Idle(_)) {
            self.prove(t, out);
            return Ok(());
        }
        self.cut(t, out)?;
        self.sample(t, visible.permille_of(size).max(1), out)
    }

    /// The source proved, at `t` or later, that at `t` the picture still stood.
    ///
    /// # Errors
    /// When a heartbeat cannot be coded.
    pub fn proof(&mut self, t: MediaTime, out: &mut Vec<Output>) -> Result<(), TrackError> {
        let pictured = matches!(self.shows, Shows::Samples | Shows::Idle(_));
        if pictured && self.floor <= t {
            self.advance(t.plus_ms(1), out)?;
            self.prove(t, out);
        }
        Ok(())
    }

    /// From `t` on exactly `marks` are open. If that changes what is masked, the picture at `t` is
    /// coded as it may be seen from then on, in a fragment that shows nothing from before.
    ///
    /// A mask cannot wait for a proof, so the picture counts as standing until `t`.
    ///
    /// # Errors
    /// When the picture cannot be coded.
    pub fn marks(
        &mut self,
        t: MediaTime,
        marks: &Marks,
        out: &mut Vec<Output>,
    ) -> Result<(), TrackError> {
        let t = t.max(self.floor);
        let pictured = matches!(self.shows, Shows::Samples | Shows::Idle(_));
        if pictured {
            self.advance(t, out)?;
        }
        // Only now: a size that settled before `t` is shown as it was.
        let screen = self.canvas.as_ref().map(Canvas::screen).unwrap_or_default();
        let changed = self.redactor.tell(marks, screen);
        if !pictured || changed.is_empty() {
            return Ok(());
        }
        self.cut(t, out)?;
        self.fragment = None;
        self.sample(t, changed.permille_of(screen).max(1), out)
    }

    /// The first instant at which something new can be shown: what was shown until then stands
    /// recorded.
    #[must_use]
    pub const fn earliest(&self) -> MediaTime {
        self.floor
    }

    /// There is no picture since `from`, the last proven instant.
    ///
    /// # Errors
    /// When a heartbeat before it cannot be coded.
    pub fn gap(
        &mut self,
        from: MediaTime,
        reason: GapReason,
        out: &mut Vec<Output>,
    ) -> Result<(), TrackError> {
        if self.shows == Shows::Gap(reason) {
            return Ok(());
        }
        self.advance(from, out)?;
        let from = from.max(self.floor);
        if !matches!(self.shows, Shows::Gap(_)) {
            self.close(from, false, out)?;
        }
        self.shows = Shows::Gap(reason);
        self.resize = None;
        self.stale = true;
        self.floor = from.plus_ms(1);
        self.append(Record::Gap(GapRecord { from, reason }), out);
        // No cut is to come before the gap ends, so nothing needs to wait.
        self.tell_beside(MediaTime::from_ms(u64::MAX), out);
        Ok(())
    }

    /// Something happened beside the picture.
    pub fn event(&mut self, event: Event, out: &mut Vec<Output>) {
        self.hold(event.into(), out);
    }

    /// Both clocks were read.
    pub fn anchor(&mut self, anchor: Anchor, out: &mut Vec<Output>) {
        self.hold(anchor.into(), out);
    }

    /// The run ends, its picture proven until `to`. Gives back where it ended: later only if a
    /// sample would have had no length.
    ///
    /// # Errors
    /// When a heartbeat before it, or the last sprite sheet, cannot be made.
    pub fn end(&mut self, to: MediaTime, out: &mut Vec<Output>) -> Result<MediaTime, TrackError> {
        self.advance(to, out)?;
        let to = to.max(self.floor);
        self.close(to, true, out)?;
        self.shows = Shows::Nothing;
        Ok(to)
    }

    /// Codes the canvas as the picture at `t`.
    fn sample(
        &mut self,
        t: MediaTime,
        changed_permille: u16,
        out: &mut Vec<Output>,
    ) -> Result<(), TrackError> {
        if t <= self.next.from {
            // The object begins with this picture, so nothing is repeated before it.
            self.shows = Shows::Samples;
        }
        self.open(out);
        self.shows = Shows::Samples;
        let Some(canvas) = &mut self.canvas else {
            return Ok(());
        };
        let frame = self.redactor.redact(canvas);
        let codec = match &mut self.codec {
            Some(codec) => codec,
            none => none.insert((self.open_codec)(frame.coded())?),
        };
        let coded = codec.encode(&frame, t, self.fragment.is_none())?;
        if let Some(object) = &mut self.object {
            object.mask(t, self.redactor.masks(frame.screen()), out);
            object.init(&frame, codec.avcc(), out);
            if coded.key {
                object.key_frame(t, &frame)?;
                self.fragment = Some(Fragment::at(t));
            }
            object.count(&coded);
            if let Some(fragment) = &mut self.fragment {
                fragment.count(&coded, changed_permille > 0);
            }
        }
        let record = Record::Sample(Sample {
            t,
            key: coded.key,
            changed_permille,
            bytes: coded.bytes,
        });
        self.append(record, out);
        self.last = t;
        self.written = t;
        self.floor = t.plus_ms(1);
        self.tell_beside(t, out);
        Ok(())
    }

    /// Notes that the picture stood at `t`: a crash is to lose nothing that was proven, and a proof
    /// between two heartbeats is worth as much as one at a heartbeat.
    fn prove(&mut self, t: MediaTime, out: &mut Vec<Output>) {
        self.floor = self.floor.max(t);
        if t.ms_since(self.written) >= TICK_MS {
            self.written = t;
            self.append(Record::Tick(t), out);
        }
        self.tell_beside(t, out);
    }

    /// Opens the next object if none is open, with what is shown at its beginning.
    fn open(&mut self, out: &mut Vec<Output>) {
        if self.object.is_some() {
            return;
        }
        let mut object = Object::open(self.next, out);
        if let (Shows::Idle(idle), Some(canvas)) = (self.shows, &self.canvas) {
            object.mask(self.next.from, self.redactor.masks(canvas.screen()), out);
            object.repeat(idle, out);
        }
        self.object = Some(object);
    }

    /// Closes the object at `to`. A stretch that needs one and has none gets it.
    fn close(
        &mut self,
        to: MediaTime,
        last: bool,
        out: &mut Vec<Output>,
    ) -> Result<(), TrackError> {
        if self.next.from < to && self.shows != Shows::Nothing {
            self.open(out);
        }
        for held in self.beside.take_before(to) {
            self.append_beside(held, out);
        }
        self.fragment = None;
        // An object that has only just been opened serves for what comes at `to` as well.
        if let Some(object) = self.object.take_if(|object| last || object.from() < to) {
            object.close(to, last, out)?;
            self.next.seq += 1;
        }
        self.next.from = to;
        self.written = to;
        Ok(())
    }

    /// Appends to the object, which is opened if need be.
    fn append(&mut self, record: Record, out: &mut Vec<Output>) {
        self.open(out);
        if let Some(object) = &self.object {
            object.append(record, out);
        }
    }

    /// Appends what happened beside the picture to the object, which is opened if need be.
    fn append_beside(&mut self, held: Held, out: &mut Vec<Output>) {
        self.open(out);
        if let Some(object) = &mut self.object {
            object.append_beside(held, out);
        }
    }

    fn hold(&mut self, held: Held, out: &mut Vec<Output>) {
        match self.shows {
            Shows::Gap(_) => self.append_beside(held, out),
            Shows::Nothing | Shows::Samples | Shows::Idle(_) => {
                self.beside.hold(held);
                while let Some(oldest) = self.beside.take_excess() {
                    self.append_beside(oldest, out);
                }
            }
        }
    }

    /// Appends what was held up to `t`: no cut can come before it any more.
    fn tell_beside(&mut self, t: MediaTime, out: &mut Vec<Output>) {
        for held in self.beside.take_before(t.plus_ms(1)) {
            self.append_beside(held, out);
        }
    }

    /// Whether the picture at `t` waits because the size has just changed.
    fn hold_resize(
        &mut self,
        t: MediaTime,
        framebuffer: &Framebuffer,
        cursor: Option<&Cursor>,
        damage: &Damage,
    ) -> Result<bool, TrackError> {
        let pictured = matches!(self.shows, Shows::Samples | Shows::Idle(_));
        let shown = self.canvas.as_ref().map(Canvas::screen);
        if !pictured || shown == Some(framebuffer.size()) {
            // A size that came back has left damage unseen.
            self.stale |= self.resize.take().is_some();
            return Ok(false);
        }
        let resize = match self.resize.take() {
            Some(resize) => resize.goes_on(t, framebuffer.size()),
            None => Resize::begins(t, framebuffer.size()),
        };
        self.resize
            .insert(resize)
            .paint(framebuffer, cursor, damage)?;
        Ok(true)
    }
}
