//! Everything after the handshake: the server's messages (RFC 6143 section 7.6) and the
//! rectangles of its updates, painted as they arrive.

use std::collections::VecDeque;

use capture::{Damage, Framebuffer, Rect, Size, source::SourceEvent};

use crate::{
    budget::Budget,
    error::Error,
    input::Input,
    limits,
    pace::{Brought, Pace},
    rect::{
        HEAD_BYTES, Head, cursor,
        raw::Raw,
        screen,
        zrle::{Decoder, Zrle},
    },
    request::encoding,
    update::Update,
};

/// What the client waits for.
#[derive(Debug)]
enum Expect {
    /// A message's first byte: the only state in which the framebuffer shows a whole picture.
    Message,
    /// A rectangle's head, or the end of the update when none is left.
    Rect,
    /// Pixels of a raw rectangle.
    Raw(Raw, Rect),
    /// Compressed tiles.
    Zrle(Zrle, Rect),
    /// The rest of something read past, and the event that then reports it.
    Skip(usize, Option<SourceEvent>),
}

/// Where a step puts what it found.
pub(crate) struct Output<'a> {
    pub(crate) framebuffer: &'a mut Framebuffer,
    pub(crate) events: &'a mut VecDeque<SourceEvent>,
}

/// A connection past its handshake.
pub(crate) struct Stream {
    expect: Expect,
    size: Size,
    update: Update,
    decoder: Decoder,
    pixels: Budget,
    resizes: Budget,
    pub(crate) pace: Pace,
}

impl Stream {
    /// A connection to a desktop of `size` that has just asked for the whole picture.
    pub(crate) fn new(size: Size, proof_every_ms: u64, now_ms: u64) -> Self {
        Self {
            expect: Expect::Message,
            size,
            update: Update::default(),
            decoder: Decoder::new(),
            pixels: Budget::new(limits::PIXELS_PER_S, limits::PIXEL_WINDOW_S, now_ms),
            resizes: Budget::new(limits::RESIZES_PER_S, 1, now_ms),
            pace: Pace::new(proof_every_ms, now_ms),
        }
    }

    pub(crate) const fn size(&self) -> Size {
        self.size
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
            Expect::Message => self.message(input, output),
            Expect::Rect if self.update.rects_left == 0 => {
                self.finish_update(now_ms, output);
                Ok(true)
            }
            Expect::Rect => self.rect(now_ms, input, output),
            Expect::Raw(raw, rect) => {
                let done = raw.paint(input, output.framebuffer);
                let rect = *rect;
                Ok(done && self.rect_done(rect))
            }
            Expect::Zrle(zrle, rect) => {
                let done = self.decoder.paint(zrle, input, output.framebuffer)?;
                let rect = *rect;
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

    fn message(&mut self, input: &mut Input<'_>, output: &mut Output<'_>) -> Result<bool, Error> {
        let Some([kind]) = input.peek_array() else {
            return Ok(false);
        };
        match kind {
            0 => Ok(self.framebuffer_update(input, output.framebuffer)),
            1 => Ok(self.colour_map_entries(input)),
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

    /// `SetColourMapEntries` says nothing about true colour, yet some servers send it.
    fn colour_map_entries(&mut self, input: &mut Input<'_>) -> bool {
        let Some([_, _, _, _, n0, n1]) = input.take_array() else {
            return false;
        };
        let entries = usize::from(u16::from_be_bytes([n0, n1]));
        self.expect = Expect::Skip(entries.saturating_mul(6), None);
        true
    }

    fn server_cut_text(
        &mut self,
        input: &mut Input<'_>,
        output: &mut Output<'_>,
    ) -> Result<bool, Error> {
        let Some([.., l0, l1, l2, l3]) = input.peek_array::<8>() else {
            return Ok(false);
        };
        // A negative length marks the extended clipboard, which is not text and not asked for.
        let signed = i32::from_be_bytes([l0, l1, l2, l3]);
        let len_bytes = signed.unsigned_abs();
        let is_text = signed >= 0;
        if len_bytes > limits::CLIPBOARD_SKIPPED_BYTES {
            return Err(Error::ClipboardTooLong { len_bytes });
        }
        if is_text && len_bytes <= limits::CLIPBOARD_KEPT_BYTES {
            let whole = (len_bytes as usize).saturating_add(8);
            let Some(message) = input.peek(whole) else {
                return Ok(false);
            };
            // Latin-1, whose code points are Unicode's first.
            let text = message.iter().skip(8).map(|&byte| char::from(byte));
            output.events.push_back(SourceEvent::Clipboard {
                text: Some(text.collect()),
                len_bytes: len_bytes.into(),
            });
            input.consume(whole);
        } else {
            input.consume(8);
            let event = is_text.then_some(SourceEvent::Clipboard {
                text: None,
                len_bytes: len_bytes.into(),
            });
            self.expect = Expect::Skip(len_bytes as usize, event);
        }
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
        match head.encoding {
            encoding::RAW => {
                let rect = self.admit(now_ms, head)?;
                input.consume(HEAD_BYTES);
                self.expect = Expect::Raw(Raw::new(rect), rect);
                Ok(true)
            }
            encoding::ZRLE => {
                let Some([.., l0, l1, l2, l3]) = input.peek_array::<{ HEAD_BYTES + 4 }>() else {
                    return Ok(false);
                };
                let rect = self.admit(now_ms, head)?;
                let zrle = Zrle::new(rect, u32::from_be_bytes([l0, l1, l2, l3]))?;
                input.consume(HEAD_BYTES + 4);
                self.expect = Expect::Zrle(zrle, rect);
                Ok(true)
            }
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
            encoding::CURSOR => self.cursor(head, input, output),
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

    fn extended_desktop_size(
        &mut self,
        now_ms: u64,
        head: Head,
        input: &mut Input<'_>,
        output: &mut Output<'_>,
    ) -> Result<bool, Error> {
        let list_head = input.peek_array::<{ HEAD_BYTES + screen::LIST_HEAD_BYTES }>();
        let Some([.., screens, _, _, _]) = list_head else {
            return Ok(false);
        };
        let len = HEAD_BYTES.saturating_add(screen::list_bytes(screens));
        if input.peek(len).is_none() {
            return Ok(false);
        }
        input.consume(len);
        let (reason, result) = head.reason_and_result();
        if let Some(size) = screen::announced(reason, result, head.size()) {
            self.resize(now_ms, size, output)?;
        }
        Ok(self.rect_done(Rect::default()))
    }

    /// Servers repeat the size they have; only another one is a change.
    fn resize(&mut self, now_ms: u64, size: Size, output: &mut Output<'_>) -> Result<(), Error> {
        if size == self.size {
            return Ok(());
        }
        if !self.resizes.spend(now_ms, 1) {
            return Err(Error::ResizeBudget);
        }
        output.framebuffer.resize(size)?;
        self.size = size;
        self.update.resized(output.framebuffer);
        self.pace.resized();
        output.events.push_back(SourceEvent::Resize(size));
        Ok(())
    }

    fn cursor(
        &mut self,
        head: Head,
        input: &mut Input<'_>,
        output: &mut Output<'_>,
    ) -> Result<bool, Error> {
        let len = HEAD_BYTES.saturating_add(cursor::body_bytes(head.size())?);
        let Some(body) = input.peek(len).and_then(|bytes| bytes.get(HEAD_BYTES..)) else {
            return Ok(false);
        };
        if let Some(shape) = cursor::parse(head.size(), head.hot_spot(), body) {
            output.events.push_back(SourceEvent::Cursor {
                at: None,
                shape: Some(shape),
            });
        }
        input.consume(len);
        Ok(self.rect_done(Rect::default()))
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
