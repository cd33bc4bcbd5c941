//! Who copies and pastes on a desktop? A program that owns its clipboard and hands out a text, and
//! one that asks for it.

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    AtomEnum, ConnectionExt as _, CreateWindowAux, EventMask, PropMode, SELECTION_NOTIFY_EVENT,
    SelectionNotifyEvent, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;
use x11rb::{COPY_DEPTH_FROM_PARENT, COPY_FROM_PARENT, CURRENT_TIME, NONE};

use crate::clock::wait_for;
use crate::desktop::Desktop;

/// Puts `text` on the desktop's clipboard, where it stays until something else is put there. What is
/// given back hears when it was handed out.
///
/// # Errors
/// When the display is gone.
pub fn copy(desktop: &Desktop, text: &str) -> anyhow::Result<Receiver<()>> {
    let display = format!(":{}", desktop.display);
    let (connection, screen) = RustConnection::connect(Some(&display))?;
    let atom = |name: &str| -> anyhow::Result<u32> {
        Ok(connection
            .intern_atom(false, name.as_bytes())?
            .reply()?
            .atom)
    };
    let (clipboard, utf8) = (atom("CLIPBOARD")?, atom("UTF8_STRING")?);
    let targets = atom("TARGETS")?;
    let window = invisible(&connection, screen)?;
    connection.set_selection_owner(window, clipboard, CURRENT_TIME)?;
    connection.sync()?;
    let text = text.to_owned();
    let (tell, handed_out) = mpsc::sync_channel(1);
    thread::spawn(move || {
        // Until the display is gone, or something else was copied.
        let _ = hand_out(&connection, (targets, utf8), &text, &tell);
    });
    Ok(handed_out)
}

/// A window to own a clipboard by, or to be given one.
fn invisible(connection: &RustConnection, screen: usize) -> anyhow::Result<u32> {
    let window = connection.generate_id()?;
    connection.create_window(
        COPY_DEPTH_FROM_PARENT,
        window,
        connection.setup().roots[screen].root,
        0,
        0,
        1,
        1,
        0,
        WindowClass::INPUT_ONLY,
        COPY_FROM_PARENT,
        &CreateWindowAux::new(),
    )?;
    Ok(window)
}

fn hand_out(
    connection: &RustConnection,
    (targets, utf8): (u32, u32),
    text: &str,
    tell: &SyncSender<()>,
) -> anyhow::Result<()> {
    loop {
        let asked = match connection.wait_for_event()? {
            Event::SelectionRequest(asked) => asked,
            Event::SelectionClear(_) => return Ok(()),
            _ => continue,
        };
        let (to, place) = (asked.requestor, asked.property);
        let given = [targets, utf8].contains(&asked.target);
        if asked.target == targets {
            let (mode, kind) = (PropMode::REPLACE, AtomEnum::ATOM);
            connection.change_property32(mode, to, place, kind, &[utf8])?;
        } else if given {
            connection.change_property8(PropMode::REPLACE, to, place, utf8, text.as_bytes())?;
        }
        let answer = SelectionNotifyEvent {
            response_type: SELECTION_NOTIFY_EVENT,
            sequence: 0,
            time: asked.time,
            requestor: to,
            selection: asked.selection,
            target: asked.target,
            property: if given { place } else { NONE },
        };
        connection.send_event(false, to, EventMask::NO_EVENT, answer)?;
        connection.flush()?;
        if asked.target == utf8 {
            let _ = tell.try_send(()); // it may be known, or nobody may want to
        }
    }
}

/// The text on the desktop's clipboard, once whoever owns it hands it out; `None` while nobody does.
///
/// # Errors
/// When the display is gone, or the owner keeps it for longer than `limit`.
pub fn paste(desktop: &Desktop, limit: Duration) -> anyhow::Result<Option<String>> {
    let display = format!(":{}", desktop.display);
    let (connection, screen) = RustConnection::connect(Some(&display))?;
    let atom = |name: &str| -> anyhow::Result<u32> {
        Ok(connection
            .intern_atom(false, name.as_bytes())?
            .reply()?
            .atom)
    };
    let (clipboard, utf8) = (atom("CLIPBOARD")?, atom("UTF8_STRING")?);
    let window = invisible(&connection, screen)?;
    connection.convert_selection(window, clipboard, utf8, utf8, CURRENT_TIME)?;
    connection.flush()?;
    let answer = wait_for("the clipboard's owner", limit, || {
        Ok(match connection.poll_for_event()? {
            Some(Event::SelectionNotify(answer)) => Some(answer),
            _ => None,
        })
    })?;
    if answer.property == NONE {
        return Ok(None);
    }
    let text = connection
        .get_property(true, window, utf8, AtomEnum::ANY, 0, u32::MAX)?
        .reply()?
        .value;
    Ok(Some(String::from_utf8(text)?))
}
