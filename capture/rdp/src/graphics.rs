//! What a server draws (MS-RDPBCGR sections 2.2.9.1.1.3 and 2.2.9.1.2): updates, put together,
//! unpacked and painted.
//!
//! IronRDP has a stage that does this, too. It drops pictures that are broken and goes on, paints
//! first and tells how much it was afterwards, and keeps as many pointers as a server numbers. A
//! recorder must not show a picture as whole that lacks a part, and must know what a message costs
//! before it pays; so here IronRDP's decoders are called one by one.

mod picture;
mod pointer;

use std::borrow::Cow;

use ironrdp_bulk::BulkCompressor;
use ironrdp_core::{ReadCursor, decode_cursor};
use ironrdp_pdu::{
    fast_path::{FastPathHeader, FastPathUpdate, FastPathUpdatePdu, Fragmentation, UpdateCode},
    slow_path::{self, GraphicsUpdateType},
};

pub(crate) use self::pointer::arrow;
use self::{picture::Pictures, pointer::Pointers};
use crate::{error::Error, limits, stream::Output};

/// What has been told of pictures and pointers that later updates refer to.
#[derive(Default)]
pub(crate) struct Graphics {
    pictures: Pictures,
    pointers: Pointers,
    /// An update of which parts are missing.
    // INVARIANT: not longer than `limits::UPDATE_BYTES`.
    begun: Option<(UpdateCode, Vec<u8>)>,
}

impl Graphics {
    /// Whether an update has begun and not ended.
    pub(crate) const fn is_inside_update(&self) -> bool {
        self.begun.is_some()
    }

    /// Draws all that a fast-path message holds.
    pub(crate) fn fast_path(
        &mut self,
        message: &[u8],
        bulk: &mut Option<BulkCompressor>,
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        for_each_part(message, bulk, |part, data| {
            let update = join(&mut self.begun, part.update_code, part.fragmentation, data)?;
            update.map_or(Ok(()), |update| {
                self.draw(part.update_code, &update, output)
            })
        })
    }

    fn draw(
        &mut self,
        code: UpdateCode,
        data: &[u8],
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        match code {
            // Of a time when several clients shared one stream.
            UpdateCode::Synchronize => return Ok(()),
            UpdateCode::Orders | UpdateCode::SurfaceCommands => {
                return Err(Error::UpdateUnknown { code: code.as_u8() });
            }
            _ => {}
        }
        match FastPathUpdate::decode_with_code(data, code).map_err(|_| Error::Message)? {
            FastPathUpdate::Bitmap(update) => self.pictures.paint(&update, output),
            FastPathUpdate::Palette(colours) => self.pictures.palette.update(colours),
            FastPathUpdate::Pointer(update) => {
                let colours = self.pictures.palette.colours();
                self.pointers.update(&update, colours, output)
            }
            FastPathUpdate::Orders(_) | FastPathUpdate::SurfaceCommands(_) => Err(Error::Message),
        }
    }

    /// Draws an update that came the slow way.
    pub(crate) fn slow_path(&mut self, data: &[u8], output: &mut Output<'_>) -> Result<(), Error> {
        let mut rest = ReadCursor::new(data);
        let kind = slow_path::read_graphics_update_type(&mut rest).map_err(|_| Error::Message)?;
        match kind {
            GraphicsUpdateType::Bitmap => {
                let update = slow_path::decode_slow_path_bitmap(&mut rest);
                self.pictures
                    .paint(&update.map_err(|_| Error::Message)?, output)
            }
            GraphicsUpdateType::Palette => self.pictures.palette.update(data),
            GraphicsUpdateType::Synchronize => Ok(()),
            GraphicsUpdateType::Orders => Err(Error::UpdateUnknown { code: 0 }),
        }
    }

    /// Takes a pointer that came the slow way.
    pub(crate) fn slow_path_pointer(
        &mut self,
        data: &[u8],
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        let update = slow_path::decode_slow_path_pointer(&mut ReadCursor::new(data));
        let colours = self.pictures.palette.colours();
        self.pointers
            .update(&update.map_err(|_| Error::Message)?, colours, output)
    }
}

/// Takes a fast-path message of a desktop that is no more. What is packed later refers to it.
pub(crate) fn pass_by(message: &[u8], bulk: &mut Option<BulkCompressor>) -> Result<(), Error> {
    for_each_part(message, bulk, |_, _| Ok(()))
}

/// Takes the parts of updates in a fast-path message one by one, each with its data unpacked.
fn for_each_part(
    message: &[u8],
    bulk: &mut Option<BulkCompressor>,
    mut take: impl FnMut(&FastPathUpdatePdu<'_>, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut rest = ReadCursor::new(message);
    let head = decode_cursor::<FastPathHeader>(&mut rest).map_err(|_| Error::Message)?;
    if !head.flags.is_empty() {
        return Err(Error::Message); // encrypted, within what is encrypted
    }
    while !rest.is_empty() {
        let part = decode_cursor::<FastPathUpdatePdu<'_>>(&mut rest).map_err(|_| Error::Message)?;
        let flags = part.compression_flags.map_or(0, |flags| flags.bits());
        let kind = part.compression_type.map_or(0, |kind| kind.as_u8());
        let data = match flags {
            0 => part.data,
            _ => unpack(part.data, flags | kind, bulk)?,
        };
        take(&part, data)?;
    }
    Ok(())
}

/// Unpacks data that is packed as `flags` say.
pub(crate) fn unpack<'a>(
    data: &'a [u8],
    flags: u8,
    bulk: &'a mut Option<BulkCompressor>,
) -> Result<&'a [u8], Error> {
    let bulk = bulk.as_mut().ok_or(Error::Compression)?;
    let unpacked = bulk.decompress(data, u32::from(flags));
    unpacked.map_err(|_| Error::Compression)
}

/// Adds a part to the update that has `begun`; gives the update once it is whole.
fn join<'a>(
    begun: &mut Option<(UpdateCode, Vec<u8>)>,
    code: UpdateCode,
    part: Fragmentation,
    data: &'a [u8],
) -> Result<Option<Cow<'a, [u8]>>, Error> {
    match (part, begun.as_mut()) {
        (Fragmentation::Single, None) => return Ok(Some(Cow::Borrowed(data))),
        (Fragmentation::First, None) => *begun = Some((code, data.to_vec())),
        (Fragmentation::Next | Fragmentation::Last, Some((of, update))) if *of == code => {
            if update.len().saturating_add(data.len()) > limits::UPDATE_BYTES {
                return Err(Error::UpdateTooLong);
            }
            update.extend_from_slice(data);
        }
        _ => return Err(Error::UpdateParts),
    }
    match part {
        Fragmentation::Last => Ok(begun.take().map(|(_, update)| Cow::Owned(update))),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Fragmentation::{First, Last, Next, Single};

    fn check(parts: &[(Fragmentation, UpdateCode)], expected: Result<Option<usize>, Error>) {
        let mut begun = None;
        let mut last = Ok(None);
        for &(part, code) in parts {
            last = join(&mut begun, code, part, &[7; 10]).map(|whole| whole.map(|data| data.len()));
        }
        assert_eq!(last, expected);
    }

    #[test]
    fn an_update_is_whole_with_its_last_part() {
        let code = UpdateCode::Bitmap;
        check(&[(Single, code)], Ok(Some(10)));
        check(&[(First, code), (Next, code)], Ok(None));
        check(&[(First, code), (Next, code), (Last, code)], Ok(Some(30)));
    }

    #[test]
    fn parts_that_do_not_belong_together_are_refused() {
        let (code, other) = (UpdateCode::Bitmap, UpdateCode::NewPointer);
        check(&[(Next, code)], Err(Error::UpdateParts));
        check(&[(First, code), (Last, other)], Err(Error::UpdateParts));
        check(&[(First, code), (Single, code)], Err(Error::UpdateParts));
        check(&[(First, code), (First, code)], Err(Error::UpdateParts));
    }

    #[test]
    fn an_update_does_not_grow_for_ever() {
        let mut begun = None;
        let part = vec![0; limits::UPDATE_BYTES / 2];
        let mut add = |of| join(&mut begun, UpdateCode::Bitmap, of, &part).map(|_| ());
        assert_eq!(add(First), Ok(()));
        assert_eq!(add(Next), Ok(()));
        assert_eq!(add(Next), Err(Error::UpdateTooLong));
    }
}
