//! What is put on the display's clipboard? (ICCCM, section 2; XFixes, "Selection Tracking".)
//!
//! Only the selection CLIPBOARD counts. PRIMARY changes with every text that the mouse marks; it is
//! neither asked for nor recorded.
//!
//! Whoever copies keeps the content and hands it out on demand, so reading it is a talk with a
//! program that may be slow, silent or hostile. Input is told meanwhile. A fence is not: it comes
//! behind all that was copied before it, and what was not read by then is told without its text.

use std::collections::VecDeque;

use capture::input::{Clipboard, Direction, Format, Input};
use x11rb::{
    COPY_DEPTH_FROM_PARENT, COPY_FROM_PARENT, NONE,
    connection::{Connection as _, RequestConnection as _},
    protocol::{
        Event,
        xfixes::{self, ConnectionExt as _, SelectionEventMask, SelectionNotifyEvent},
        xproto::{
            Atom, AtomEnum, ConnectionExt as _, CreateWindowAux, EventMask, Property, Timestamp,
            Window, WindowClass,
        },
    },
};

use super::{ObserverError, Told, error::lost, line::Connection};

/// The longest text that is held. Of a longer one the size alone is told.
const MAX_TEXT_BYTES: u64 = 2 << 20;
/// So much is asked for at once, in the protocol's units of four bytes.
const PIECE_WORDS: u32 = 1 << 16;
/// Whoever copied has so long to hand it out: marks may wait for it.
const PATIENCE_MS: u64 = 2_000;
/// The atom of Latin-1 text.
const STRING: Atom = 31;

x11rb::atom_manager! {
    Atoms: AtomsCookie {
        CLIPBOARD,
        TARGETS,
        INCR,
        UTF8_STRING,
        TEXT,
        COMPOUND_TEXT,
        PLAIN: b"text/plain",
        PLAIN_UTF8: b"text/plain;charset=utf-8",
        RTF: b"text/rtf",
        APPLICATION_RTF: b"application/rtf",
        HTML: b"text/html",
        PNG: b"image/png",
        JPEG: b"image/jpeg",
        BMP: b"image/bmp",
        TIFF: b"image/tiff",
        FILES: b"text/uri-list",
        COPIED_FILES: b"x-special/gnome-copied-files",
        // Where content is handed out to us.
        PLAYHEAD_CLIPBOARD,
    }
}

/// The display's clipboard under observation.
pub(super) struct Selection {
    window: Window,
    atoms: Atoms,
    reading: Option<Reading>,
    /// The last fence that waits for the end of [`reading`](Self::reading).
    held: Option<u64>,
}

/// Content that is being asked for.
struct Reading {
    /// When it was copied, by the display's clock: what tells the answer from older ones.
    copied: Timestamp,
    /// When we give it up.
    until_ms: u64,
    /// What is known of it.
    offer: Clipboard,
    step: Step,
}

enum Step {
    /// In which forms does it come?
    Targets,
    /// The text, in this form.
    Text(Atom),
    /// The text, which comes in pieces.
    Pieces(Vec<u8>),
}

/// What lay on our window.
struct Found {
    form: Atom,
    /// All of it, unless that is too long.
    bytes: Option<Vec<u8>>,
    len_bytes: u64,
}

impl Selection {
    /// Begins to be told of what is copied.
    pub(super) fn open(control: &Connection) -> Result<Self, ObserverError> {
        let extension = control.extension_information(xfixes::X11_EXTENSION_NAME)?;
        extension.ok_or(ObserverError::Extension("XFIXES"))?;
        control.xfixes_query_version(5, 0)?.reply()?;
        let atoms = Atoms::new(control)?.reply()?;
        let root = control.setup().roots.first();
        let root = root.ok_or_else(|| lost("it has no screen"))?.root;
        let window = control.generate_id().map_err(lost)?;
        // Told of its end as well: without a window we would be told nothing more.
        let events = EventMask::PROPERTY_CHANGE | EventMask::STRUCTURE_NOTIFY;
        control
            .create_window(
                COPY_DEPTH_FROM_PARENT,
                window,
                root,
                0,
                0,
                1,
                1,
                0,
                WindowClass::INPUT_ONLY,
                COPY_FROM_PARENT,
                &CreateWindowAux::new().event_mask(events),
            )?
            .check()?;
        let copies = SelectionEventMask::SET_SELECTION_OWNER;
        control
            .xfixes_select_selection_input(window, atoms.CLIPBOARD, copies)?
            .check()?;
        Ok(Self {
            window,
            atoms,
            reading: None,
            held: None,
        })
    }

    /// Looks at what the display has said since, and tells what is known of a copy.
    pub(super) fn look(
        &mut self,
        control: &Connection,
        now_ms: u64,
        told: &mut VecDeque<Told>,
    ) -> Result<(), ObserverError> {
        while let Some(event) = control.poll_for_event()? {
            self.take(control, event, now_ms, told)?;
        }
        control.stream().events_taken();
        if let Some(reading) = &self.reading
            && reading.until_ms <= now_ms
        {
            self.finish(told);
        }
        Ok(())
    }

    /// Tells fence `id` once all is told that was copied before it, of which
    /// [`look`](Self::look) must have heard.
    pub(super) fn fence(&mut self, id: u64, told: &mut VecDeque<Told>) {
        match self.reading {
            Some(_) => self.held = Some(id),
            None => told.push_back(Told::Fence(id)),
        }
    }

    fn take(
        &mut self,
        control: &Connection,
        event: Event,
        now_ms: u64,
        told: &mut VecDeque<Told>,
    ) -> Result<(), ObserverError> {
        match event {
            Event::XfixesSelectionNotify(copied)
                if is_the_servers(copied.response_type)
                    && copied.selection == self.atoms.CLIPBOARD =>
            {
                self.finish(told);
                self.begin(control, &copied, now_ms, told)?;
            }
            Event::SelectionNotify(answer) => {
                let reading = self.reading.as_ref();
                if reading.is_some_and(|reading| reading.copied == answer.time) {
                    self.answered(control, answer.target, answer.property, told)?;
                }
            }
            Event::PropertyNotify(written)
                if is_the_servers(written.response_type)
                    && written.atom == self.atoms.PLAYHEAD_CLIPBOARD
                    && written.state == Property::NEW_VALUE =>
            {
                self.piece(control, told)?;
            }
            Event::DestroyNotify(_) => return Err(lost("it took our window away")),
            Event::Error(_) => return Err(lost("it refuses its clipboard")),
            _ => {}
        }
        Ok(())
    }

    fn begin(
        &mut self,
        control: &Connection,
        copied: &SelectionNotifyEvent,
        now_ms: u64,
        told: &mut VecDeque<Told>,
    ) -> Result<(), ObserverError> {
        self.reading = Some(Reading {
            copied: copied.timestamp,
            until_ms: now_ms.saturating_add(PATIENCE_MS),
            offer: Clipboard {
                direction: Direction::FromMachine,
                formats: Vec::new(),
                text: None,
                len_bytes: 0,
            },
            step: Step::Targets,
        });
        if copied.owner == NONE {
            self.finish(told); // it is empty now
            return Ok(());
        }
        self.ask(control, copied.timestamp, self.atoms.TARGETS)
    }

    /// Asks whoever copied for the content in this form.
    fn ask(
        &self,
        control: &Connection,
        copied: Timestamp,
        form: Atom,
    ) -> Result<(), ObserverError> {
        let (selection, place) = (self.atoms.CLIPBOARD, self.atoms.PLAYHEAD_CLIPBOARD);
        control.convert_selection(self.window, selection, form, place, copied)?;
        Ok(control.flush()?)
    }

    /// Whoever copied has answered.
    fn answered(
        &mut self,
        control: &Connection,
        form: Atom,
        place: Atom,
        told: &mut VecDeque<Told>,
    ) -> Result<(), ObserverError> {
        let Some(reading) = &mut self.reading else {
            return Ok(());
        };
        let found = |control| match place {
            NONE => Ok(None),
            _ => found(control, self.window, self.atoms.PLAYHEAD_CLIPBOARD),
        };
        match reading.step {
            Step::Targets if form == self.atoms.TARGETS => {
                // Who does not say may still have text.
                let mut text = Some(self.atoms.UTF8_STRING);
                if let Some(targets) = found(control)?.and_then(|found| found.bytes) {
                    let (targets, _) = targets.as_chunks();
                    let targets: Vec<Atom> = { targets.iter() }
                        .map(|target| Atom::from_ne_bytes(*target))
                        .collect();
                    reading.offer.formats = self.atoms.formats(&targets);
                    let texts = [self.atoms.UTF8_STRING, STRING];
                    text = texts.into_iter().find(|text| targets.contains(text));
                }
                let Some(text) = text else {
                    self.finish(told);
                    return Ok(());
                };
                let copied = reading.copied;
                reading.step = Step::Text(text);
                return self.ask(control, copied, text);
            }
            Step::Text(asked) if form == asked => {
                if let Some(found) = found(control)? {
                    if found.form == self.atoms.INCR {
                        reading.promised(found);
                        return Ok(());
                    }
                    reading.hold(found.form, found.bytes, found.len_bytes);
                }
            }
            Step::Targets | Step::Text(_) | Step::Pieces(_) => return Ok(()),
        }
        self.finish(told);
        Ok(())
    }

    /// A piece of the text lies ready; an empty one is the end.
    fn piece(
        &mut self,
        control: &Connection,
        told: &mut VecDeque<Told>,
    ) -> Result<(), ObserverError> {
        let Some(reading) = &mut self.reading else {
            return Ok(());
        };
        let Step::Pieces(text) = &mut reading.step else {
            return Ok(());
        };
        let Some(found) = found(control, self.window, self.atoms.PLAYHEAD_CLIPBOARD)? else {
            return Ok(()); // it came with the piece before
        };
        let len_bytes = text.len() as u64 + found.len_bytes;
        match found.bytes {
            Some(piece) if piece.is_empty() => {
                let text = std::mem::take(text);
                reading.hold(found.form, Some(text), len_bytes);
            }
            Some(piece) if len_bytes <= MAX_TEXT_BYTES => {
                text.extend(piece);
                return Ok(());
            }
            _ => reading.hold(found.form, None, len_bytes),
        }
        self.finish(told);
        Ok(())
    }

    /// Tells what is known of the copy that is being read, and the fence that waits for it.
    fn finish(&mut self, told: &mut VecDeque<Told>) {
        if let Some(reading) = self.reading.take() {
            told.push_back(Told::Input(Input::Clipboard(reading.offer)));
        }
        told.extend(self.held.take().map(Told::Fence));
    }
}

impl Reading {
    /// The text comes in pieces, and is as long as `found` says at least.
    fn promised(&mut self, found: Found) {
        let announced = found.bytes.as_deref().and_then(<[u8]>::first_chunk);
        self.offer.len_bytes = announced.map_or(0, |len| u32::from_ne_bytes(*len).into());
        self.step = Step::Pieces(Vec::new());
    }

    /// The text has been read, or is too long to be.
    fn hold(&mut self, form: Atom, bytes: Option<Vec<u8>>, len_bytes: u64) {
        let offer = &mut self.offer;
        offer.text = bytes.and_then(|bytes| match form {
            STRING => Some(bytes.into_iter().map(char::from).collect()),
            _ => String::from_utf8(bytes).ok(),
        });
        let text_bytes = offer.text.as_ref().map(|text| text.len() as u64);
        offer.len_bytes = text_bytes.unwrap_or_else(|| offer.len_bytes.max(len_bytes));
        if !offer.formats.contains(&Format::Text) {
            offer.formats.insert(0, Format::Text);
        }
    }
}

/// Takes what lies on `window` at `place`.
fn found(
    control: &Connection,
    window: Window,
    place: Atom,
) -> Result<Option<Found>, ObserverError> {
    let mut bytes = Vec::new();
    let mut at = 0;
    loop {
        let any = AtomEnum::ANY;
        let said = control.get_property(true, window, place, any, at, PIECE_WORDS)?;
        let said = said.reply()?;
        if said.type_ == NONE {
            return Ok(None);
        }
        let (form, left) = (said.type_, u64::from(said.bytes_after));
        let ends = left == 0 || said.value.is_empty();
        bytes.extend(said.value);
        let len_bytes = bytes.len() as u64 + left;
        if ends || len_bytes > MAX_TEXT_BYTES {
            if left > 0 {
                control.delete_property(window, place)?; // taken whole, it is deleted
            }
            return Ok(Some(Found {
                form,
                bytes: (left == 0 && len_bytes <= MAX_TEXT_BYTES).then_some(bytes),
                len_bytes,
            }));
        }
        at += PIECE_WORDS;
    }
}

impl Atoms {
    /// What forms `targets` are.
    fn formats(&self, targets: &[Atom]) -> Vec<Format> {
        let text = [self.UTF8_STRING, STRING, self.TEXT, self.COMPOUND_TEXT];
        let named: [(Format, &[Atom]); 6] = [
            (Format::Text, &text),
            (Format::Text, &[self.PLAIN, self.PLAIN_UTF8]),
            (Format::Rtf, &[self.RTF, self.APPLICATION_RTF]),
            (Format::Html, &[self.HTML]),
            (Format::Image, &[self.PNG, self.JPEG, self.BMP, self.TIFF]),
            (Format::Files, &[self.FILES, self.COPIED_FILES]),
        ];
        let offered = named
            .iter()
            .filter(|(_, atoms)| atoms.iter().any(|atom| targets.contains(atom)));
        let mut formats: Vec<Format> = offered.map(|(format, _)| *format).collect();
        formats.dedup();
        formats
    }
}

/// Whether an event comes from the display itself; any program can send others.
const fn is_the_servers(response_type: u8) -> bool {
    response_type & 0x80 == 0
}
