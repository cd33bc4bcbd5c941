//! Trace context: the ids that tie a session to a trace (W3C Trace Context, level 1).

use serde::{Deserialize, Serialize};

/// Why a text is not a trace context id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// Wrong length or a character that is not hexadecimal.
    #[error("{what} must be {digits} hexadecimal digits")]
    Malformed {
        /// Which id.
        what: &'static str,
        /// How many digits it has.
        digits: usize,
    },
    /// All digits are zero, which the specification calls invalid.
    #[error("{what} must not be all zeros")]
    Zero {
        /// Which id.
        what: &'static str,
    },
    /// Not `version-traceid-spanid-flags`.
    #[error("traceparent must look like 00-<32 hex>-<16 hex>-<2 hex>")]
    Traceparent,
}

fn parse_hex<const N: usize>(text: &str, what: &'static str) -> Result<[u8; N], TraceError> {
    let malformed = TraceError::Malformed {
        what,
        digits: 2 * N,
    };
    if text.len() != 2 * N || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(malformed);
    }
    let mut id = [0; N];
    for (byte, pair) in id.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).map_err(|_| malformed.clone())?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| malformed.clone())?;
    }
    if id == [0; N] {
        Err(TraceError::Zero { what })
    } else {
        Ok(id)
    }
}

macro_rules! hex_id {
    ($(#[$doc:meta])* $name:ident, $bytes:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name([u8; $bytes]);

        impl $name {
            /// The id's bytes, in network order.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; $bytes] {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = TraceError;
            fn from_str(text: &str) -> Result<Self, TraceError> {
                parse_hex(text, $what).map(Self)
            }
        }

        impl TryFrom<String> for $name {
            type Error = TraceError;
            fn try_from(text: String) -> Result<Self, TraceError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}

hex_id!(
    /// A trace's id: 16 bytes, not all zero.
    TraceId, 16, "trace_id"
);
hex_id!(
    /// A span's id: 8 bytes, not all zero.
    SpanId, 8, "span_id"
);

/// A `traceparent` header: which trace and span caused this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Traceparent {
    /// The trace.
    pub trace_id: TraceId,
    /// The parent span.
    pub span_id: SpanId,
    /// Flags; bit 0 says the trace is sampled.
    pub flags: u8,
}

impl std::str::FromStr for Traceparent {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let mut parts = text.split('-');
        let (Some(version), Some(trace), Some(span), Some(flags)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(TraceError::Traceparent);
        };
        let hex2 = |text: &str| {
            (text.len() == 2)
                .then(|| u8::from_str_radix(text, 16).ok())
                .flatten()
        };
        // Version 255 is forbidden; later versions may carry more parts, version 0 may not.
        let version = hex2(version)
            .filter(|&v| v != 0xff)
            .ok_or(TraceError::Traceparent)?;
        if version == 0 && parts.next().is_some() {
            return Err(TraceError::Traceparent);
        }
        Ok(Self {
            trace_id: trace.parse()?,
            span_id: span.parse()?,
            flags: hex2(flags).ok_or(TraceError::Traceparent)?,
        })
    }
}

impl TryFrom<String> for Traceparent {
    type Error = TraceError;
    fn try_from(text: String) -> Result<Self, TraceError> {
        text.parse()
    }
}

impl From<Traceparent> for String {
    fn from(parent: Traceparent) -> Self {
        format!(
            "00-{}-{}-{:02x}",
            parent.trace_id, parent.span_id, parent.flags
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn traceparent_round_trips() {
        let parent: Traceparent = EXAMPLE.parse().unwrap();
        assert_eq!(String::from(parent), EXAMPLE);
    }

    #[test]
    fn zero_short_and_foreign_ids_are_refused_by_name() {
        assert_eq!(
            "0".repeat(32).parse::<TraceId>().unwrap_err(),
            TraceError::Zero { what: "trace_id" }
        );
        assert!(
            "4bf9"
                .parse::<TraceId>()
                .unwrap_err()
                .to_string()
                .contains("trace_id")
        );
        assert!("00f067aa0ba902bz".parse::<SpanId>().is_err());
        assert!(format!("{EXAMPLE}-00").parse::<Traceparent>().is_err());
        assert!(
            EXAMPLE
                .replacen("00", "ff", 1)
                .parse::<Traceparent>()
                .is_err()
        );
    }
}
