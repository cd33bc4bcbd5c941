//! Messages of a static virtual channel, put together from their chunks (MS-RDPBCGR section
//! 2.2.6.1.1).

use ironrdp_core::{ReadCursor, decode_cursor};
use ironrdp_pdu::rdp::vc::{ChannelControlFlags as Flags, ChannelPduHeader};

use super::ClipboardError;
use crate::limits;

/// One direction of a channel.
#[derive(Default)]
pub(super) struct Chunks {
    whole: Option<Whole>,
}

/// A message, or what of it is kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Whole {
    /// Its first bytes: all of them, if it has no more than [`limits::CLIPBOARD_KEPT_BYTES`].
    // INVARIANT: never longer than that.
    pub(super) kept: Vec<u8>,
    /// How long it is; while it comes, how much is still to come.
    pub(super) len_bytes: u32,
    rest: u32,
}

impl Chunks {
    /// Takes a chunk with its header, and gives the message that it is the last of.
    pub(super) fn add(&mut self, chunk: &[u8]) -> Result<Option<Whole>, ClipboardError> {
        let mut cursor = ReadCursor::new(chunk);
        let header: ChannelPduHeader =
            decode_cursor(&mut cursor).map_err(|_| ClipboardError::Chunks)?;
        let (flags, len_bytes) = (header.flags, header.length);
        if flags.contains(Flags::PACKET_COMPRESSED) {
            return Err(ClipboardError::Compressed);
        }
        if len_bytes > limits::CLIPBOARD_BYTES {
            return Err(ClipboardError::TooLong { len_bytes });
        }
        let begun = self.whole.take();
        let mut whole = match (begun, flags.contains(Flags::FLAG_FIRST)) {
            (None, true) => Whole {
                rest: len_bytes,
                len_bytes,
                ..Whole::default()
            },
            (Some(whole), false) if whole.len_bytes == len_bytes => whole,
            _ => return Err(ClipboardError::Chunks),
        };
        let data = cursor.remaining();
        let came = u32::try_from(data.len()).unwrap_or(u32::MAX);
        let rest = whole.rest.checked_sub(came);
        whole.rest = rest.ok_or(ClipboardError::Chunks)?;
        let room = limits::CLIPBOARD_KEPT_BYTES.saturating_sub(whole.kept.len());
        let kept = data.get(..room).unwrap_or(data);
        whole.kept.extend_from_slice(kept);
        match (flags.contains(Flags::FLAG_LAST), whole.rest) {
            (true, 0) => Ok(Some(whole)),
            (true, _) => Err(ClipboardError::Chunks),
            (false, _) => {
                self.whole = Some(whole);
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const FIRST: u32 = 1;
    const LAST: u32 = 2;

    fn chunk(len_bytes: u32, flags: u32, data: &[u8]) -> Vec<u8> {
        [&len_bytes.to_le_bytes()[..], &flags.to_le_bytes(), data].concat()
    }

    /// `message` in chunks of at most `size`.
    pub(in crate::clipboard) fn cut(message: &[u8], size: usize) -> Vec<Vec<u8>> {
        let last = message.chunks(size).count() - 1;
        let len_bytes = message.len().try_into().unwrap();
        let parts = message.chunks(size).enumerate();
        let cut = parts.map(|(number, data)| {
            let first = if number == 0 { FIRST } else { 0 };
            let last = if number == last { LAST } else { 0 };
            chunk(len_bytes, first | last, data)
        });
        cut.collect()
    }

    fn check(chunks: &[Vec<u8>], expected: Result<Option<&[u8]>, ClipboardError>) {
        let mut taken = Chunks::default();
        let mut last = Ok(None);
        for chunk in chunks {
            last = taken.add(chunk);
        }
        let message = last.map(|whole| whole.map(|whole| whole.kept));
        assert_eq!(message, expected.map(|message| message.map(<[u8]>::to_vec)));
    }

    #[test]
    fn a_message_is_whole_with_its_last_chunk() {
        check(&cut(b"abcdefg", 100), Ok(Some(b"abcdefg")));
        check(&cut(b"abcdefg", 3), Ok(Some(b"abcdefg")));
        check(&cut(b"abcdefg", 3)[..2], Ok(None));
    }

    #[test]
    fn chunks_that_do_not_belong_together_are_refused() {
        let broken = Err(ClipboardError::Chunks);
        check(&[b"short".to_vec()], broken);
        check(&[chunk(3, LAST, b"abc")], broken);
        check(&[chunk(6, FIRST, b"abc"), chunk(6, FIRST, b"abc")], broken);
        check(&[chunk(6, FIRST, b"abc"), chunk(7, LAST, b"def")], broken);
        check(&[chunk(2, FIRST | LAST, b"abc")], broken);
        check(&[chunk(4, FIRST | LAST, b"abc")], broken);
        check(&[chunk(2, FIRST, b"abc")], broken);
    }

    #[test]
    fn compressed_chunks_are_refused() {
        let compressed = chunk(3, FIRST | LAST | 0x20_0000, b"abc");
        check(&[compressed], Err(ClipboardError::Compressed));
    }

    #[test]
    fn a_length_that_nothing_has_is_refused_before_anything_is_held() {
        let len_bytes = limits::CLIPBOARD_BYTES + 1;
        let endless = chunk(len_bytes, FIRST, b"abc");
        check(&[endless], Err(ClipboardError::TooLong { len_bytes }));
    }

    #[test]
    fn a_long_message_is_counted_and_only_its_beginning_kept() {
        let mut chunks = Chunks::default();
        let part = vec![7; 1 << 20];
        let len_bytes = 20 << 20;
        let mut whole = None;
        for number in 0..20 {
            let flags = match number {
                0 => FIRST,
                19 => LAST,
                _ => 0,
            };
            whole = chunks.add(&chunk(len_bytes, flags, &part)).unwrap();
            let held = chunks.whole.as_ref().map_or(0, |whole| whole.kept.len());
            assert!(held <= limits::CLIPBOARD_KEPT_BYTES);
        }
        let whole = whole.unwrap();
        assert_eq!(whole.len_bytes, len_bytes);
        assert_eq!(whole.kept.len(), limits::CLIPBOARD_KEPT_BYTES);
    }
}
