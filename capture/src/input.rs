//! What someone did to the recorded machine: keys, pointer, clipboard, as a source saw it and
//! before any policy has said what may be kept of it.

mod clipboard;
mod key;
mod pointer;

pub use clipboard::{Clipboard, Direction, Format};
pub use key::{Key, Keysym, Modifier};
pub use pointer::{Button, Buttons, Pointer};

/// One act. Like every [`SourceEvent`](crate::source::SourceEvent) it carries no time: the
/// recorder stamps it when its bytes arrive.
///
/// `Debug` shows no key and no text: input must not reach a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A key went down or up.
    Key(Key),
    /// The pointer is at a place with these buttons down.
    Pointer(Pointer),
    /// The clipboard was offered to one side.
    Clipboard(Clipboard),
}
