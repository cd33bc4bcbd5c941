//! Received bytes, taken in whole fields whatever pieces the network delivers them in.

/// What has arrived and is not yet consumed: the start of an incomplete field, then the bytes
/// just received. It copies only where a field straddles two deliveries.
pub(crate) struct Input<'a> {
    // INVARIANT: never longer than the longest field asked for (of a server's
    // `limits::RECEIVE_BYTES`, of a driver's `limits::DRIVER_CLIPBOARD_BYTES` and its head) or
    // what was kept for a later turn (`limits::EARLY_BYTES`).
    held: &'a mut Vec<u8>,
    fresh: &'a [u8],
}

/// A held buffer larger than this is freed once consumed.
const KEEP_CAPACITY_BYTES: usize = 4096;

impl<'a> Input<'a> {
    pub(crate) const fn new(held: &'a mut Vec<u8>, fresh: &'a [u8]) -> Self {
        Self { held, fresh }
    }

    /// The next `n` bytes, still unconsumed; `None` until all of them have arrived.
    ///
    /// The caller has checked `n` against the limits: it is what gets buffered.
    pub(crate) fn peek(&mut self, n: usize) -> Option<&[u8]> {
        if self.held.is_empty() && n <= self.fresh.len() {
            return self.fresh.get(..n);
        }
        let missing = n.saturating_sub(self.held.len()).min(self.fresh.len());
        let (now, later) = self.fresh.split_at(missing);
        self.held.extend_from_slice(now);
        self.fresh = later;
        self.held.get(..n)
    }

    /// As [`peek`](Self::peek), of a length known to the compiler.
    pub(crate) fn peek_array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.peek(N)?.first_chunk().copied()
    }

    /// Consumes the next `N` bytes.
    pub(crate) fn take_array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let array = self.peek_array()?;
        self.consume(N);
        Some(array)
    }

    /// Whatever has arrived of the next `max` bytes, still unconsumed; empty when nothing has.
    pub(crate) fn available(&self, max: usize) -> &[u8] {
        let from = if self.held.is_empty() {
            self.fresh
        } else {
            self.held.as_slice()
        };
        from.get(..max).unwrap_or(from)
    }

    /// Keeps what has arrived for the time when it is asked for; says how much that is.
    pub(crate) fn keep(self) -> usize {
        self.held.extend_from_slice(self.fresh);
        self.held.len()
    }

    /// Drops `n` bytes that were peeked at.
    pub(crate) fn consume(&mut self, n: usize) {
        if self.held.is_empty() {
            self.fresh = self.fresh.get(n..).unwrap_or_default();
            return;
        }
        self.held.drain(..n.min(self.held.len()));
        if self.held.is_empty() && self.held.capacity() > KEEP_CAPACITY_BYTES {
            *self.held = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_in_pieces_is_joined() {
        let mut held = Vec::new();
        assert_eq!(Input::new(&mut held, &[1, 2]).take_array::<3>(), None);
        let mut input = Input::new(&mut held, &[3, 4]);
        assert_eq!(input.take_array(), Some([1, 2, 3]));
        assert_eq!(input.available(9), [4]);
    }

    #[test]
    fn a_longer_look_keeps_what_was_seen() {
        let mut held = Vec::new();
        let mut input = Input::new(&mut held, &[1, 2, 3]);
        assert_eq!(input.peek(1), Some([1].as_slice()));
        assert_eq!(input.peek(4), None);
        assert_eq!(held, [1, 2, 3]);
        let mut input = Input::new(&mut held, &[4, 5]);
        assert_eq!(input.peek(4), Some([1, 2, 3, 4].as_slice()));
        input.consume(4);
        assert_eq!(input.available(2), [5]);
    }

    #[test]
    fn a_large_buffer_is_given_back() {
        let mut held = Vec::new();
        Input::new(&mut held, &[0; 100_000]).peek(100_001);
        Input::new(&mut held, &[0]).peek(100_001);
        Input::new(&mut held, &[]).consume(100_001);
        assert_eq!(held.capacity(), 0);
    }
}
