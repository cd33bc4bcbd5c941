//! Received bytes, taken in whole messages whatever pieces the network delivers them in.

use std::borrow::Cow;

use crate::{error::Error, limits};

/// What has arrived and is not yet consumed: the start of an incomplete message, then the bytes
/// just received. It copies only where a message straddles two deliveries.
pub(crate) struct Pieces<'a> {
    // What `next` puts here is never longer than `limits::MESSAGE_BYTES`.
    held: &'a mut Vec<u8>,
    fresh: &'a [u8],
}

impl<'a> Pieces<'a> {
    pub(crate) const fn new(held: &'a mut Vec<u8>, fresh: &'a [u8]) -> Self {
        Self { held, fresh }
    }

    /// Whether nothing has arrived that was not consumed.
    pub(crate) const fn is_empty(&self) -> bool {
        self.held.is_empty() && self.fresh.is_empty()
    }

    /// Keeps what was not consumed, for who comes to it later.
    pub(crate) fn keep(self) {
        self.held.extend_from_slice(self.fresh);
    }

    /// The next message, once all of it has arrived. `len_of` tells its length from its first
    /// bytes, or `None` while they are too few.
    pub(crate) fn next(
        &mut self,
        len_of: impl Fn(&[u8]) -> Result<Option<usize>, Error>,
    ) -> Result<Option<Cow<'a, [u8]>>, Error> {
        let len_of = |bytes: &[u8]| match len_of(bytes)? {
            Some(0) => Err(Error::Message),
            Some(len_bytes) if len_bytes > limits::MESSAGE_BYTES => {
                Err(Error::MessageTooLong { len_bytes })
            }
            len => Ok(len),
        };
        if self.held.is_empty()
            && let Some(len) = len_of(self.fresh)?
            && let Some((message, rest)) = self.fresh.split_at_checked(len)
        {
            self.fresh = rest;
            return Ok(Some(Cow::Borrowed(message)));
        }
        loop {
            // Without a length, byte by byte: it is told by the first few.
            let len = len_of(self.held)?;
            let missing = len.map_or(1, |len| len.saturating_sub(self.held.len()));
            if let (0, Some(len)) = (missing, len) {
                let rest = self.held.split_off(len);
                return Ok(Some(Cow::Owned(std::mem::replace(self.held, rest))));
            }
            let (now, later) = self.fresh.split_at(missing.min(self.fresh.len()));
            if now.is_empty() {
                return Ok(None);
            }
            self.held.extend_from_slice(now);
            self.fresh = later;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages whose first byte is their length.
    fn len_of(bytes: &[u8]) -> Result<Option<usize>, Error> {
        Ok(bytes.first().map(|&len| usize::from(len)))
    }

    fn check(pieces: &[&[u8]], messages: &[&[u8]]) {
        let mut held = Vec::new();
        let mut found = Vec::new();
        for piece in pieces {
            let mut pieces = Pieces::new(&mut held, piece);
            while let Some(message) = pieces.next(len_of).unwrap() {
                found.push(message.into_owned());
            }
        }
        assert_eq!(found, messages);
        assert!(held.is_empty());
    }

    #[test]
    fn messages_are_found_in_any_pieces() {
        let messages: [&[u8]; 3] = [&[3, 1, 2], &[1], &[2, 9]];
        check(&[&[3, 1, 2, 1, 2, 9]], &messages);
        check(&[&[3], &[1], &[2], &[1], &[2], &[9]], &messages);
        check(&[&[3, 1], &[2, 1, 2], &[9]], &messages);
    }

    #[test]
    fn what_is_kept_comes_first() {
        let mut held = Vec::new();
        let mut pieces = Pieces::new(&mut held, &[1, 2, 9, 3, 0]);
        assert_eq!(pieces.next(len_of).unwrap().unwrap(), [1].as_slice());
        pieces.keep();
        assert_eq!(held, [2, 9, 3, 0]);
        let mut pieces = Pieces::new(&mut held, &[7, 1]);
        for message in [&[2, 9][..], &[3, 0, 7], &[1]] {
            assert_eq!(pieces.next(len_of).unwrap().unwrap(), message);
        }
    }

    #[test]
    fn a_message_of_no_bytes_is_an_error() {
        assert!(Pieces::new(&mut Vec::new(), &[0]).next(len_of).is_err());
    }

    #[test]
    fn a_message_longer_than_the_limit_is_not_waited_for() {
        let mut held = Vec::new();
        let mut pieces = Pieces::new(&mut held, &[1]);
        assert_eq!(
            pieces.next(|_| Ok(Some(limits::MESSAGE_BYTES + 1))),
            Err(Error::MessageTooLong {
                len_bytes: limits::MESSAGE_BYTES + 1
            })
        );
    }
}
