//! Why a text is no policy, and where.

use crate::Policy;

/// Why a text is not a policy this recorder can honour.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The text is too long.
    #[error("the policy has {bytes} bytes; at most {} are read", Policy::MAX_BYTES)]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// The text is not TOML, or holds a key or value that no policy has.
    #[error("line {line}: {message}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// A mask that names no region.
    #[error("line {line}: mask {name:?} {reason}")]
    Mask {
        /// The line, from 1.
        line: usize,
        /// The mask's name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A valid rule that this recorder does not carry out.
    #[error(
        "line {line}: {what} not supported by this recorder yet, \
         and nothing is recorded under a policy it cannot honour"
    )]
    Unsupported {
        /// The line, from 1.
        line: usize,
        /// The rules, as the sentence's subject.
        what: String,
    },
}
