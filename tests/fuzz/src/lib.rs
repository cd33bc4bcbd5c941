//! What must hold whatever bytes come? One oracle for each parser of a peer's or a store's bytes:
//! it takes any bytes and panics only when a promise is broken.
//!
//! libFuzzer runs them for as long as it is let (`run.sh`); `tests/kept.rs` runs them over what is
//! kept in `corpus/` and `findings/`, so that what was once found stays found.

mod driver;
#[cfg(feature = "rdp")]
mod rdp;
mod rfb;
mod stored;

pub use driver::relay;
#[cfg(feature = "rdp")]
pub use rdp::rdp;
pub use rfb::{Opening, decoder, handshake};
pub use stored::segment;

/// An oracle.
pub type Oracle = fn(&[u8]);

/// Every oracle and its name: of its program, less `fuzz_`, and of its folders.
pub const ORACLES: &[(&str, Oracle)] = &[
    ("handshake", handshake),
    ("decoder", decoder),
    ("relay", relay),
    #[cfg(feature = "rdp")]
    ("rdp", rdp),
    ("segment", segment),
];
