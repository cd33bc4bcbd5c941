//! Everything after the handshake: the server's messages (RFC 6143 section 7.6) and the
//! rectangles of its updates, painted as they arrive.

mod clipboard;
mod notice;

use std::collections::VecDeque;

use capture::{
    Damage, Framebuffer, Rect, Size, budget::Budget, pixels::PixelFormat, source::SourceEvent,
};

use self::notice::cursor_kind;
use crate::{
    clipboard::{Side, Talk},
    encoding,
    error::Error,
    input::Input,
    limits,
    pace::{Brought, Pace},
    rect::{
        HEAD_BYTES, Head,
        painter::{Painter, Pixels},
    },
    update::Update,
};

/// What the client waits for.
#[derive(Debug)]
enum Expect {
    /// A message's first byte: the only state in which the framebuffer shows a whole picture.
    Message,
    /// A rectangle's head, or the end of the update when none is left.
    Rect,
    /// The rest of a rectangle of pixels.
    Pixels(Pixels),
    /// The rest of something read past, and the event that then reports it.
    Skip(usize, Option<SourceEvent>),
}

/// Where a step puts what it found.
pub(crate) struct Output<'a> {
    pub(crate) framebuffer: &'a mut Framebuffer,
    pub(crate) events: &'a mut VecDeque<SourceEvent>,
}

/// What was agreed on before the first message.
pub(crate) struct Terms {
    /// The desktop's size and name.
    pub(crate) size: Size,
    pub(crate) name: String,
    /// How its pixels come, and in which encodings they may.
    pub(crate) format: PixelFormat,
    pub(crate) offered: Vec<i32>,
    /// How long the picture may go unproven.
    pub(crate) proof_every_ms: u64,
}

/// A connection past its handshake.
pub(crate) struct Stream {
    expect: Expect,
    size: Size,
    name: String,
    offered: Vec<i32>,
    update: Update,
    painter: Painter,
    pixels: Budget,
    resizes: Budget,
    pub(crate) pace: Pace,
    pub(crate) talk: Talk,
}

impl Stream {
    /// A connection that has just asked for the whole picture.
    ///
    /// # Errors
    /// When pixels cannot come in the format agreed on.
    pub(crate) fn new(terms: Terms, now_ms: u64) -> Result<Self, Error> {
        Ok(Self {
            expect: Expect::Message,
            painter: Painter::new(terms.size, terms.format)?,
            size: terms.size,
            name: terms.name,
            offered: terms.offered,
            update: Update::default(),
            pixels: Budget::new(limits::PIXELS_PER_S, limits::PIXEL_WINDOW_S, now_ms),
            resizes: Budget::new(limits::RESIZES_PER_S, 1, now_ms),
            pace: Pace::new(terms.proof_every_ms, now_ms),
            talk: Talk::new(Side::Client),
        })
    }

    pub(crate) const fn size(&self) -> Size {
        self.size
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) const fn between_messages(&self) -> bool {
        matches!(self.expect, Expect::Message)
    }

    /// Takes the next part off `input`; false when more bytes must arrive first.
    pub(crate) fn step(
        &mut self,
        now_ms: u64,
        input: &mut Input<'_>,
        output: &mut Output<'_>,
    ) -> Result<bool, Error> {
        match &mut self.expect {
            Expect::Message => self.message(now_ms, input, output),
            Expect::Rect if self.update.rects_left == 0 => {
                self.finish_update(now_ms, output);
                Ok(true)
            }
            Expect::Rect => self.rect(now_ms, input, output),
            Expect::Pixels(pixels) => {
                let framebuffer = &mut *output.framebuffer;
                let done = self.painter.paint(pixels, self.size, input, framebuffer)?;
                let rect = pixels.rect;
                Ok(done && self.rect_done(rect))
            }
            Expect::Skip(left, event) => {
                let skipped = input.available(*left).len();
                input.consume(skipped);
                *left = left.saturating_sub(skipped);
                if *left > 0 {
                    return Ok(skipped > 0);
                }
                output.events.extend(event.take());
                self.expect = Expect::Message;
                Ok(true)
            }
        }
    }

    fn message(
        &mut self,
        now_ms: u64,
        input: &mut Input<'_>,
        output: &mut Output<'_>,
    ) -> Result<bool, Error> {
        let Some([kind]) = input.peek_array() else {
            return Ok(false);
        };
        match kind {
            0 => Ok(self.framebuffer_update(input, output.framebuffer)),
            1 => self.colour_map_entries(now_ms, input, output),
            2 => {
                input.consume(1);
                // A bell takes one byte on the wire; a burst of them is still one bell.
                if output.events.back() != Some(&SourceEvent::Bell) {
                    output.events.push_back(SourceEvent::Bell);
                }
                Ok(true)
            }
            3 => self.server_cut_text(input, output),
            kind => Err(Error::UnknownMessage { kind }),
        }
    }

    fn framebuffer_update(&mut self, input: &mut Input<'_>, framebuffer: &Framebuffer) -> bool {
        let Some([_, _, n0, n1]) = input.take_array() else {
            return false;
        };
        self.update = Update::new(u16::from_be_bytes([n0, n1]), framebuffer);
        self.expect = Expect::Rect;
        true
    }

    /// `SetColourMapEntries`: a picture of indices changes its colours at once. True colour has no
    /// map, yet some servers send one.
    fn colour_map_entries(
        &mut self,
        now_ms: u64,
        input: &mut Input<'_>,
        output: &mut Output<'_>,
    ) -> Result<bool, Error> {
        let Some([_, _, f0, f1, n0, n1]) = input.peek_array() else {
            return Ok(false);
        };
        let entries = usize::from(u16::from_be_bytes([n0, n1])).saturating_mul(6);
        let Some(map) = self.painter.map_mut() else {
            input.consume(6);
            self.expect = Expect::Skip(entries, None);
            return Ok(true);
        };
        let whole = entries.saturating_add(6);
        let Some(message) = input.peek(whole) else {
            return Ok(false);
        };
        let first = u16::from_be_bytes([f0, f1]);
        if map.set(first, message.get(6..).unwrap_or_default()) {
            if !self.pixels.spend(now_ms, self.size.area_px()) {
                return Err(Error::PixelBudget);
            }
            map.repaint(output.framebuffer);
            // Before the first picture there is nothing to report.
            if self.pace.last_proof_ms().is_some() {
                let damage = Damage::of(self.size.rect());
                output.events.push_back(SourceEvent::Update { damage });
            }
        }
        input.consume(whole);
        Ok(true)
    }

    fn rect(
        &mut self,
        now_ms: u64,
        input: &mut Input<'_>,
        output: &mut Output<'_>,
    ) -> Result<bool, Error> {
        let Some(head) = Head::peek(input) else {
            return Ok(false);
        };
        if let Some(kind) = cursor_kind(head.encoding) {
            return self.cursor(kind, head, input, output);
        }
        match head.encoding {
            encoding::LAST_RECT => {
                input.consume(HEAD_BYTES);
                self.update.rects_left = 0;
                Ok(true)
            }
            encoding::DESKTOP_SIZE => {
                input.consume(HEAD_BYTES);
                self.resize(now_ms, head.size(), output)?;
                Ok(self.rect_done(Rect::default()))
            }
            encoding::EXTENDED_DESKTOP_SIZE => {
                self.extended_desktop_size(now_ms, head, input, output)
            }
            encoding::DESKTOP_NAME => self.desktop_name(input),
            encoding::POINTER_POSITION | encoding::VMWARE_CURSOR_POSITION => {
                input.consume(HEAD_BYTES);
                output.events.push_back(SourceEvent::Cursor {
                    at: Some(head.point()),
                    shape: None,
                });
                Ok(self.rect_done(Rect::default()))
            }
            encoding if encoding == encoding::RAW || self.offered.contains(&encoding) => {
                let rect = self.admit(now_ms, head)?;
                let pixels = Pixels::new(rect, encoding);
                let pixels = pixels.ok_or(Error::UnknownEncoding { encoding })?;
                input.consume(HEAD_BYTES);
                self.expect = Expect::Pixels(pixels);
                Ok(true)
            }
            encoding => Err(Error::UnknownEncoding { encoding }),
        }
    }

    /// Whether the pixels of a rectangle may be painted: where, if so.
    fn admit(&mut self, now_ms: u64, head: Head) -> Result<Rect, Error> {
        let rect = head.on(self.size)?;
        if self.pixels.spend(now_ms, rect.area_px()) {
            Ok(rect)
        } else {
            Err(Error::PixelBudget)
        }
    }

    fn rect_done(&mut self, painted: Rect) -> bool {
        self.update.rect_done(painted);
        self.expect = Expect::Rect;
        true
    }

    fn finish_update(&mut self, now_ms: u64, output: &mut Output<'_>) {
        self.expect = Expect::Message;
        let (brought, damage): (Brought, Damage) = self.update.finish(output.framebuffer);
        let proven = self.pace.answered(now_ms, brought);
        if brought == Brought::Pixels {
            output.events.push_back(SourceEvent::Update { damage });
        }
        if proven {
            output.events.push_back(SourceEvent::Proof);
        }
    }
}
