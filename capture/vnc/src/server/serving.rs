//! A client that was let in: what it asked for, what changed since, and the update under way.

use std::collections::VecDeque;

use capture::{Damage, Framebuffer, Rect, Size, input::Input as Act, pixels::PixelFormat};

use super::encode::{
    Encoder, MAX_WIDTH_PX, Method, Occasion, Pointer, Source, cursor_rect, size_rect,
};
use crate::{
    clipboard::{Side, Talk},
    driver::{
        DriverError,
        message::{self, Message},
    },
    encoding,
    input::Input,
};

/// Once so much is to be transmitted, the rest of a picture waits until it is.
const PART_BYTES: usize = 256 * 1024;

/// Pixels of one rectangle: small enough that a part is not much larger than [`PART_BYTES`]
/// however badly it packs.
const SLICE_PX: u32 = 256 * 1024;

/// Rectangles are cut where tiles are, so that none is split.
const SLICE_ROWS: u32 = 64;

/// A client being served.
pub(super) struct Serving {
    /// The size that it knows of.
    size: Size,
    /// How it wants pixels from the next update on.
    format: PixelFormat,
    method: Method,
    takes: Takes,
    /// What it asked for and has not been answered.
    requested: Rect,
    /// What changed since it was sent.
    dirty: Damage,
    cursor_due: bool,
    /// It asked for another size and has not been answered.
    refusal_due: bool,
    /// What of the update under way is to follow.
    slices: VecDeque<Rect>,
    encoder: Encoder,
    pub(super) talk: Talk,
    /// Bytes of a clipboard too long to hold that still pass by.
    passing: usize,
}

/// Notices that a client understands.
#[derive(Clone, Copy, Default)]
struct Takes {
    cursor: bool,
    /// The encoding that tells of a new size.
    size: Option<i32>,
}

impl Serving {
    pub(super) fn new(size: Size) -> Self {
        Self {
            size,
            format: PixelFormat::BGRX,
            method: Method::Raw,
            takes: Takes::default(),
            requested: Rect::default(),
            dirty: Damage::of(size.rect()),
            cursor_due: false,
            refusal_due: false,
            slices: VecDeque::new(),
            encoder: Encoder::new(),
            talk: Talk::new(Side::Server),
            passing: 0,
        }
    }

    pub(super) const fn is_inside_message(&self) -> bool {
        self.passing > 0
    }

    /// Takes the client's next message; false when more bytes must arrive first.
    pub(super) fn step(
        &mut self,
        input: &mut Input<'_>,
        pointer: &Pointer,
        acts: &mut VecDeque<Act>,
    ) -> Result<bool, DriverError> {
        if self.passing > 0 {
            let len = input.available(self.passing).len();
            input.consume(len);
            self.passing = self.passing.saturating_sub(len);
            return Ok(len > 0);
        }
        let Some(parsed) = message::parse(input)? else {
            return Ok(false);
        };
        input.consume(parsed.len);
        self.passing = parsed.rest;
        match &parsed.message {
            Message::SetPixelFormat(format) => {
                let format = PixelFormat::parse(format)?;
                if !format.true_colour {
                    return Err(DriverError::ColourMap);
                }
                self.format = format;
            }
            Message::SetEncodings(encodings) => self.set_encodings(encodings, pointer),
            Message::UpdateRequest { incremental, rect } => {
                let rect = rect.intersection(self.size.rect());
                self.requested = self.requested.union(rect);
                if !incremental {
                    self.dirty.add(rect);
                }
            }
            Message::SetDesktopSize => self.refusal_due = true,
            Message::Clipboard(said) => self.talk.hear(said),
            Message::Input(_) | Message::Other => {}
        }
        acts.extend(parsed.message.into_input());
        Ok(true)
    }

    fn set_encodings(&mut self, encodings: &[i32], pointer: &Pointer) {
        let method = encodings.iter().find_map(|&number| Method::of(number));
        self.method = method.unwrap_or(Method::Raw);
        let size = [encoding::EXTENDED_DESKTOP_SIZE, encoding::DESKTOP_SIZE];
        self.takes = Takes {
            cursor: encodings.contains(&encoding::CURSOR),
            size: size.into_iter().find(|number| encodings.contains(number)),
        };
        // Whoever draws the pointer now, the other's is gone.
        self.pointer_changed([pointer.rect_on(self.size); 2], true);
        if encodings.contains(&encoding::EXTENDED_CLIPBOARD) {
            self.talk.extend();
        } else {
            self.talk.restrict();
        }
    }

    pub(super) fn damage(&mut self, damage: &Damage) {
        self.dirty.merge(damage);
    }

    pub(super) fn damage_all(&mut self) {
        self.dirty = Damage::of(self.size.rect());
    }

    /// The pointer covered and covers these, and has another shape if `reshaped`.
    pub(super) fn pointer_changed(&mut self, covered: [Rect; 2], reshaped: bool) {
        self.cursor_due |= reshaped;
        for rect in covered {
            self.dirty.add(rect);
        }
    }

    /// Appends the next part of what the client is to be told.
    pub(super) fn update(
        &mut self,
        framebuffer: &Framebuffer,
        pointer: &Pointer,
        size: Size,
        out: &mut Vec<u8>,
    ) {
        if self.slices.is_empty() {
            self.talk.say(out); // never between the parts of an update
            if !self.requested.is_empty() {
                self.begin(pointer, size, out);
            }
        }
        let painted = Some(pointer).filter(|_| !self.takes.cursor);
        let source = Source {
            framebuffer,
            pointer: painted,
        };
        while out.len() < PART_BYTES
            && let Some(slice) = self.slices.pop_front()
        {
            self.encoder.rect(slice, &source, out);
        }
    }

    /// Begins an update, if there is anything to answer the request with.
    fn begin(&mut self, pointer: &Pointer, size: Size, out: &mut Vec<u8>) {
        let notice = match self.takes.size {
            Some(number) if size != self.size => Some((number, Occasion::Changed)),
            Some(number @ encoding::EXTENDED_DESKTOP_SIZE) if self.refusal_due => {
                self.refusal_due = false;
                Some((number, Occasion::Refused))
            }
            _ => None,
        };
        if let Some((number, occasion)) = notice {
            // Alone: what is dirty is asked for again, by a new size if there is one.
            update_head(1, out);
            size_rect(number, size, occasion, out);
            if size != self.size {
                self.size = size;
                self.damage_all();
            }
            self.requested = Rect::default();
            return;
        }
        let shape = pointer
            .shape()
            .filter(|_| self.takes.cursor && self.cursor_due);
        self.slices = self.take_dirty().into_iter().flat_map(slices).collect();
        let count = self.slices.len() + usize::from(shape.is_some());
        if count == 0 {
            return;
        }
        self.requested = Rect::default();
        self.encoder.begin(self.format, self.method);
        update_head(count, out);
        if let Some(shape) = shape {
            cursor_rect(shape, self.encoder.layout(), out);
            self.cursor_due = false;
        }
    }

    /// The changed parts of what is requested. Those that reach beyond it stay dirty.
    fn take_dirty(&mut self) -> Vec<Rect> {
        let mut taken = Vec::new();
        for &rect in self.dirty.take().rects() {
            let rect = rect.intersection(self.size.rect());
            let part = rect.intersection(self.requested);
            if part != rect {
                self.dirty.add(rect);
            }
            if !part.is_empty() {
                taken.push(part);
            }
        }
        taken
    }
}

fn update_head(rects: usize, out: &mut Vec<u8>) {
    // Damage has few rectangles and a screen few slices.
    let count = u16::try_from(rects).unwrap_or(u16::MAX);
    out.extend([0, 0]);
    out.extend(count.to_be_bytes());
}

/// Cuts a rectangle into parts of a size that can be packed in one go.
fn slices(rect: Rect) -> impl Iterator<Item = Rect> {
    let widest = MAX_WIDTH_PX.min(rect.w.max(1));
    let rows = (SLICE_PX / widest / SLICE_ROWS * SLICE_ROWS).max(SLICE_ROWS);
    let tops = (rect.y..rect.bottom()).step_by(rows as usize);
    tops.flat_map(move |y| {
        let lefts = (rect.x..rect.right()).step_by(MAX_WIDTH_PX as usize);
        lefts.map(move |x| Rect {
            x,
            y,
            w: MAX_WIDTH_PX.min(rect.right() - x),
            h: rows.min(rect.bottom() - y),
        })
    })
}
