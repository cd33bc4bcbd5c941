//! An observer on a thread of its own, and what it has told.

use std::{
    sync::mpsc::{Receiver, sync_channel},
    time::Duration,
};

use capture::input::{Clipboard, Input, Key, Pointer};
use capture_screen::x11::{Fence, Observer, ObserverError, Told};

use crate::desktop::Desktop;

/// The longest that anything takes to be told.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running observer.
pub(crate) struct Watch {
    told: Receiver<Result<Told, ObserverError>>,
    fence: Fence,
}

impl Watch {
    pub(crate) fn start(desktop: &Desktop) -> Self {
        let mut observer = Observer::connect(&desktop.display, now_ms).expect("the display is up");
        let fence = observer.fence();
        let (tell, told) = sync_channel(10_000);
        std::thread::spawn(move || {
            loop {
                let next = observer.next();
                let last = next.is_err();
                if tell.send(next).is_err() || last {
                    return;
                }
            }
        });
        Self { told, fence }
    }

    pub(crate) fn next(&self) -> Result<Told, ObserverError> {
        self.told.recv_timeout(PATIENCE).expect("something is told")
    }

    /// All that was told until now.
    pub(crate) fn so_far(&self) -> Vec<Input> {
        self.fence.raise(7).expect("the display stays");
        let mut inputs = Vec::new();
        loop {
            match self.next().expect("the display stays") {
                Told::Input(input) => inputs.push(input),
                Told::Fence(id) => {
                    assert_eq!(id, 7);
                    return inputs;
                }
            }
        }
    }

    pub(crate) fn clipboards(&self) -> Vec<Clipboard> {
        let clipboard = |input| match input {
            Input::Clipboard(clipboard) => Some(clipboard),
            _ => None,
        };
        self.so_far().into_iter().filter_map(clipboard).collect()
    }

    pub(crate) fn keys(&self) -> Vec<Key> {
        let key = |input| match input {
            Input::Key(key) => Some(key),
            _ => None,
        };
        self.so_far().into_iter().filter_map(key).collect()
    }

    pub(crate) fn pointers(&self) -> Vec<Pointer> {
        let pointer = |input| match input {
            Input::Pointer(pointer) => Some(pointer),
            _ => None,
        };
        self.so_far().into_iter().filter_map(pointer).collect()
    }
}

/// A clock that only runs forward.
pub(crate) fn now_ms() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let (s, ns) = (now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs());
    s * 1_000 + ns / 1_000_000
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
