//! How is IronRDP called, so that neither a panic nor a word of it gets out?
//!
//! It decodes hostile bytes, and a panic in it must end one session and not the recorder. It also
//! traces what it reads and writes, credentials among it, which no log may show.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tracing::{Dispatch, dispatcher};

use crate::error::Error;

/// Runs `step` in silence. After [`Error::Panicked`] nothing that it touched may be used again.
pub(crate) fn run<T, E: From<Error>>(step: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let silent = || dispatcher::with_default(&Dispatch::none(), step);
    catch_unwind(AssertUnwindSafe(silent)).unwrap_or(Err(E::from(Error::Panicked)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::panic, reason = "what is tested is what becomes of one")]
    fn a_panic_becomes_an_error() {
        assert_eq!(
            run::<(), Error>(|| panic!("of a decoder")),
            Err(Error::Panicked)
        );
    }
}
