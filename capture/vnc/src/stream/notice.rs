//! What an update tells beside pixels: the screen's size, the pointer's shape and place, the
//! desktop's name.

use capture::{Rect, Size, source::SourceEvent};

use super::{Output, Stream};
use crate::{
    encoding,
    error::Error,
    input::Input,
    limits,
    rect::{HEAD_BYTES, Head, cursor, screen},
};

/// How a pointer's shape is written that comes as `encoding`; `None` when it is none.
pub(super) const fn cursor_kind(encoding: i32) -> Option<cursor::Kind> {
    match encoding {
        encoding::CURSOR => Some(cursor::Kind::Masked),
        encoding::X_CURSOR => Some(cursor::Kind::TwoColours),
        encoding::CURSOR_WITH_ALPHA => Some(cursor::Kind::Alpha),
        _ => None,
    }
}

impl Stream {
    pub(super) fn extended_desktop_size(
        &mut self,
        now_ms: u64,
        head: Head,
        input: &mut Input<'_>,
        output: &mut Output<'_>,
    ) -> Result<bool, Error> {
        let list_head = input.peek_array::<{ HEAD_BYTES + screen::LIST_HEAD_BYTES }>();
        let Some([.., screens, _, _, _]) = list_head else {
            return Ok(false);
        };
        let len = HEAD_BYTES.saturating_add(screen::list_bytes(screens));
        if input.peek(len).is_none() {
            return Ok(false);
        }
        input.consume(len);
        let (reason, result) = head.reason_and_result();
        if let Some(size) = screen::announced(reason, result, head.size()) {
            self.resize(now_ms, size, output)?;
        }
        Ok(self.rect_done(Rect::default()))
    }

    /// Servers repeat the size they have; only another one is a change.
    pub(super) fn resize(
        &mut self,
        now_ms: u64,
        size: Size,
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        if size == self.size {
            return Ok(());
        }
        if !self.resizes.spend(now_ms, 1) {
            return Err(Error::ResizeBudget);
        }
        output.framebuffer.resize(size)?;
        self.size = size;
        self.update.resized(output.framebuffer);
        self.painter.resized(size);
        self.pace.resized();
        output.events.push_back(SourceEvent::Resize(size));
        Ok(())
    }

    pub(super) fn cursor(
        &mut self,
        kind: cursor::Kind,
        head: Head,
        input: &mut Input<'_>,
        output: &mut Output<'_>,
    ) -> Result<bool, Error> {
        let pixel_bytes = self.painter.layout().bytes();
        let body_bytes = cursor::body_bytes(kind, head.size(), pixel_bytes)?;
        let len = HEAD_BYTES.saturating_add(body_bytes);
        let Some(body) = input.peek(len).and_then(|bytes| bytes.get(HEAD_BYTES..)) else {
            return Ok(false);
        };
        let shape = cursor::parse(kind, head.size(), head.point(), body, &self.painter)?;
        if shape.is_some() {
            output
                .events
                .push_back(SourceEvent::Cursor { at: None, shape });
        }
        input.consume(len);
        Ok(self.rect_done(Rect::default()))
    }

    pub(super) fn desktop_name(&mut self, input: &mut Input<'_>) -> Result<bool, Error> {
        let Some([.., l0, l1, l2, l3]) = input.peek_array::<{ HEAD_BYTES + 4 }>() else {
            return Ok(false);
        };
        let len_bytes = u32::from_be_bytes([l0, l1, l2, l3]);
        if len_bytes > limits::NAME_BYTES {
            return Err(Error::NameTooLong { len_bytes });
        }
        let len = (HEAD_BYTES + 4).saturating_add(len_bytes as usize);
        let Some(name) = input
            .peek(len)
            .and_then(|bytes| bytes.get(HEAD_BYTES + 4..))
        else {
            return Ok(false);
        };
        self.name = String::from_utf8_lossy(name).into_owned();
        input.consume(len);
        Ok(self.rect_done(Rect::default()))
    }
}
