//! An observer on a thread of its own, and what it has told.

use std::{
    sync::mpsc::{Receiver, sync_channel},
    time::Duration,
};

use capture::input::{Input, Key, Pointer};
use capture_screen::x11::{Observer, ObserverError};

use crate::desktop::Desktop;

/// The longest that anything takes to be told.
const PATIENCE: Duration = Duration::from_secs(20);
/// The key with which tests say that they are done: the observer tells everything before it.
const DONE: &str = "F12";

/// A running observer.
pub(crate) struct Watch {
    told: Receiver<Result<Input, ObserverError>>,
}

impl Watch {
    pub(crate) fn start(desktop: &Desktop) -> Self {
        let mut observer = Observer::connect(&desktop.display).expect("the display is up");
        let (tell, told) = sync_channel(10_000);
        std::thread::spawn(move || {
            loop {
                let input = observer.next();
                let last = input.is_err();
                if tell.send(input).is_err() || last {
                    return;
                }
            }
        });
        Self { told }
    }

    pub(crate) fn next(&self) -> Result<Input, ObserverError> {
        self.told.recv_timeout(PATIENCE).expect("something is told")
    }

    /// All that was told until now.
    pub(crate) fn so_far(&self, desktop: &Desktop) -> Vec<Input> {
        desktop.xdotool(&["key", DONE]);
        let mut told = Vec::new();
        loop {
            match self.next().expect("the display stays") {
                Input::Key(key) if key.keysym.name() == DONE => {
                    if !key.down {
                        return told;
                    }
                }
                input => told.push(input),
            }
        }
    }

    pub(crate) fn keys(&self, desktop: &Desktop) -> Vec<Key> {
        let key = |input| match input {
            Input::Key(key) => Some(key),
            _ => None,
        };
        self.so_far(desktop).into_iter().filter_map(key).collect()
    }

    pub(crate) fn pointers(&self, desktop: &Desktop) -> Vec<Pointer> {
        let pointer = |input| match input {
            Input::Pointer(pointer) => Some(pointer),
            _ => None,
        };
        self.so_far(desktop)
            .into_iter()
            .filter_map(pointer)
            .collect()
    }
}

/// What `keys` type, control keys left out.
pub(crate) fn text(keys: &[Key]) -> String {
    let pressed = keys.iter().filter(|key| key.down);
    pressed.filter_map(|key| key.keysym.char()).collect()
}

/// `keys` as one line: `+Control_L +c -c -Control_L`.
pub(crate) fn acts(keys: &[Key]) -> String {
    let act = |key: &Key| format!("{}{}", if key.down { '+' } else { '-' }, key.keysym.name());
    keys.iter().map(act).collect::<Vec<_>>().join(" ")
}
