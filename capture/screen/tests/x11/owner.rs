//! A program that copies: it owns a selection and hands its content out, well or badly.

use std::thread;

use x11rb::{
    COPY_DEPTH_FROM_PARENT, COPY_FROM_PARENT, CURRENT_TIME, NONE,
    connection::Connection as _,
    protocol::{
        Event,
        xproto::{
            Atom, AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, CreateWindowAux,
            EventMask, PropMode, Property, SELECTION_NOTIFY_EVENT, SelectionNotifyEvent,
            SelectionRequestEvent, Window, WindowClass,
        },
    },
    rust_connection::RustConnection,
    wrapper::ConnectionExt as _,
};

use crate::desktop::Desktop;

/// How a program hands out what it has copied.
#[derive(Clone)]
pub(crate) enum Manner {
    /// At once, in these forms by name.
    Whole(Vec<(&'static str, Vec<u8>)>),
    /// Text in pieces of so many bytes.
    Pieces(Vec<u8>, usize),
    /// It says that it has text, and no more.
    Silent,
    /// Pieces without end.
    Endless,
}

/// A program that stays until its display is gone.
pub(crate) struct Owner {
    connection: RustConnection,
    window: Window,
}

impl Owner {
    /// Copies to `selection`.
    pub(crate) fn copy(desktop: &Desktop, selection: &str, manner: Manner) {
        let owner = Self::open(desktop);
        let selection = owner.atom(selection);
        let at = CURRENT_TIME;
        {
            owner
                .connection
                .set_selection_owner(owner.window, selection, at)
        }
        .unwrap();
        owner.connection.sync().unwrap();
        thread::spawn(move || owner.serve(&manner));
    }

    /// Puts nothing on the clipboard.
    pub(crate) fn empty(desktop: &Desktop) {
        let owner = Self::open(desktop);
        let clipboard = owner.atom("CLIPBOARD");
        {
            owner
                .connection
                .set_selection_owner(NONE, clipboard, CURRENT_TIME)
        }
        .unwrap();
        owner.connection.sync().unwrap();
    }

    fn open(desktop: &Desktop) -> Self {
        let (connection, screen) = RustConnection::connect(Some(&desktop.display)).unwrap();
        let root = connection.setup().roots[screen].root;
        let window = connection.generate_id().unwrap();
        let (depth, kind) = (COPY_DEPTH_FROM_PARENT, WindowClass::INPUT_ONLY);
        let options = CreateWindowAux::new();
        connection
            .create_window(
                depth,
                window,
                root,
                0,
                0,
                1,
                1,
                0,
                kind,
                COPY_FROM_PARENT,
                &options,
            )
            .unwrap();
        Self { connection, window }
    }

    fn atom(&self, name: &str) -> Atom {
        let asked = self.connection.intern_atom(false, name.as_bytes());
        asked.unwrap().reply().unwrap().atom
    }

    fn serve(&self, manner: &Manner) -> Option<()> {
        let mut pieces: Vec<Vec<u8>> = Vec::new();
        let mut place = (NONE, NONE);
        loop {
            match self.connection.wait_for_event().ok()? {
                Event::SelectionRequest(asked) => {
                    place = (asked.requestor, asked.property);
                    if asked.target == self.atom("TARGETS") {
                        self.say_targets(&asked, manner);
                        continue;
                    }
                    match manner {
                        Manner::Whole(forms) => self.hand_out(&asked, forms),
                        Manner::Pieces(text, size) => {
                            pieces = text.chunks(*size).map(Vec::from).collect();
                            pieces.push(Vec::new());
                            pieces.reverse();
                            self.promise(&asked, text.len());
                        }
                        Manner::Endless => self.promise(&asked, 1 << 30),
                        Manner::Silent => {}
                    }
                }
                Event::PropertyNotify(taken) if taken.state == Property::DELETE => {
                    let piece = match manner {
                        Manner::Endless => Some(vec![b'x'; 100_000]),
                        _ => pieces.pop(),
                    };
                    if let Some(piece) = piece {
                        self.put(place, self.atom("UTF8_STRING"), &piece);
                    }
                }
                Event::SelectionClear(_) => return None,
                _ => {}
            }
        }
    }

    fn say_targets(&self, asked: &SelectionRequestEvent, manner: &Manner) {
        let names = match manner {
            Manner::Whole(forms) => forms.iter().map(|(name, _)| *name).collect(),
            _ => vec!["UTF8_STRING"],
        };
        let targets: Vec<Atom> = names.iter().map(|name| self.atom(name)).collect();
        let (to, place, kind) = (asked.requestor, asked.property, AtomEnum::ATOM);
        {
            self.connection
                .change_property32(PropMode::REPLACE, to, place, kind, &targets)
        }
        .unwrap();
        self.answer(asked, place);
    }

    fn hand_out(&self, asked: &SelectionRequestEvent, forms: &[(&str, Vec<u8>)]) {
        let form = forms
            .iter()
            .find(|(name, _)| self.atom(name) == asked.target);
        if let Some((_, content)) = form {
            self.put((asked.requestor, asked.property), asked.target, content);
        }
        self.answer(asked, if form.is_some() { asked.property } else { NONE });
    }

    /// Pieces will come: whoever asks takes each by deleting it.
    fn promise(&self, asked: &SelectionRequestEvent, len: usize) {
        let (to, place) = (asked.requestor, asked.property);
        let told = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        self.connection.change_window_attributes(to, &told).unwrap();
        let (incr, len) = (self.atom("INCR"), u32::try_from(len).unwrap());
        {
            self.connection
                .change_property32(PropMode::REPLACE, to, place, incr, &[len])
        }
        .unwrap();
        self.answer(asked, place);
    }

    fn put(&self, (to, place): (Window, Atom), kind: Atom, content: &[u8]) {
        {
            self.connection
                .change_property8(PropMode::REPLACE, to, place, kind, content)
        }
        .unwrap();
        self.connection.flush().unwrap();
    }

    fn answer(&self, asked: &SelectionRequestEvent, property: Atom) {
        let answer = SelectionNotifyEvent {
            response_type: SELECTION_NOTIFY_EVENT,
            sequence: 0,
            time: asked.time,
            requestor: asked.requestor,
            selection: asked.selection,
            target: asked.target,
            property,
        };
        {
            self.connection
                .send_event(false, asked.requestor, EventMask::NO_EVENT, answer)
        }
        .unwrap();
        self.connection.flush().unwrap();
    }
}
