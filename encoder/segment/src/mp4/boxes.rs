//! Walks the boxes of untrusted bytes: every size is checked, nothing is copied or allocated.
#![warn(clippy::arithmetic_side_effects)]

use super::ReadError;

/// One box: `size u32, type, body`.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoxRef<'a> {
    /// Where it begins, counted as its parent's offset is.
    pub(super) offset: u64,
    pub(super) kind: [u8; 4],
    pub(super) body: &'a [u8],
}

/// The boxes that `bytes` consist of.
#[derive(Clone, Debug)]
pub(super) struct Boxes<'a> {
    bytes: &'a [u8],
    offset: u64,
}

/// `size` and `type`.
const HEADER_BYTES: usize = 8;

impl<'a> Boxes<'a> {
    /// The boxes in `bytes`, the first of which begins at `offset`.
    pub(super) const fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self { bytes, offset }
    }

    /// The next box, which must be of `kind`.
    pub(super) fn expect(&mut self, kind: &'static [u8; 4]) -> Result<BoxRef<'a>, ReadError> {
        let offset = self.offset;
        match self.next().transpose()? {
            Some(found) if found.kind == *kind => Ok(found),
            _ => Err(ReadError::bad(kind, offset, "is not where it should be")),
        }
    }

    /// The first box of `kind` among those left.
    pub(super) fn find(mut self, kind: &'static [u8; 4]) -> Result<BoxRef<'a>, ReadError> {
        let offset = self.offset;
        self.find_map(|found| match found {
            Ok(found) if found.kind != *kind => None,
            other => Some(other),
        })
        .unwrap_or(Err(ReadError::bad(kind, offset, "is missing")))
    }

    /// Requires that no box is left in `parent`.
    pub(super) fn end(mut self, parent: &'static [u8; 4]) -> Result<(), ReadError> {
        let offset = self.offset;
        match self.next() {
            None => Ok(()),
            Some(_) => Err(ReadError::bad(parent, offset, "goes on after its last box")),
        }
    }
}

impl<'a> Iterator for Boxes<'a> {
    type Item = Result<BoxRef<'a>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        let offset = self.offset;
        let Some((found, rest)) = split_box(self.bytes, offset) else {
            self.bytes = &[];
            return Some(Err(ReadError::bad(
                b"    ",
                offset,
                "does not fit its surroundings",
            )));
        };
        let len = self.bytes.len().saturating_sub(rest.len());
        self.offset = offset.saturating_add(u64::try_from(len).unwrap_or(u64::MAX));
        self.bytes = rest;
        Some(Ok(found))
    }
}

/// The box at the start of `bytes` and what follows it. Sizes beyond 32 bits and boxes without a
/// size are not part of the format.
fn split_box(bytes: &[u8], offset: u64) -> Option<(BoxRef<'_>, &[u8])> {
    let (size, rest) = bytes.split_first_chunk()?;
    let (kind, _) = rest.split_first_chunk()?;
    let size = usize::try_from(u32::from_be_bytes(*size)).ok()?;
    let (whole, rest) = bytes.split_at_checked(size)?;
    let body = whole.get(HEADER_BYTES..)?;
    let kind = *kind;
    Some((BoxRef { offset, kind, body }, rest))
}

impl<'a> BoxRef<'a> {
    /// The boxes in it, behind `skip` bytes of fields.
    pub(super) fn children(&self, skip: usize) -> Boxes<'a> {
        let before = skip.saturating_add(HEADER_BYTES);
        let offset = self
            .offset
            .saturating_add(u64::try_from(before).unwrap_or(u64::MAX));
        Boxes::new(self.body.get(skip..).unwrap_or(&[]), offset)
    }

    /// The whole box's length in bytes.
    pub(super) const fn len(&self) -> usize {
        self.body.len().saturating_add(HEADER_BYTES)
    }
}

/// Takes an unsigned big-endian field of `N` bytes off the front.
pub(super) fn take<'a, const N: usize>(fields: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (field, rest) = fields.split_first_chunk()?;
    *fields = rest;
    Some(field)
}

/// Takes a 32-bit field off the front.
pub(super) fn take_u32(fields: &mut &[u8]) -> Option<u32> {
    take(fields).copied().map(u32::from_be_bytes)
}
