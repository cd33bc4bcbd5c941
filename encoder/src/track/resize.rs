//! A change of size that has not settled yet.

use capture::{Damage, Framebuffer, MediaTime, Size, cursor::Cursor};

use crate::{Canvas, PaintError};

/// A size counts as settled once it has stood this long …
const SETTLED_MS: u64 = 250;
/// … or this long after the first change of a burst, so that dragging a window edge cannot hold
/// the picture back for ever.
const BURST_MS: u64 = 1000;

/// The picture of the new size, painted while the old one is still shown.
pub(super) struct Resize {
    first: MediaTime,
    last: MediaTime,
    canvas: Canvas,
    painted: bool,
}

impl Resize {
    /// The screen took `size` at `t`.
    pub(super) fn begins(t: MediaTime, size: Size) -> Self {
        Self {
            first: t,
            last: t,
            canvas: Canvas::new(size),
            painted: false,
        }
    }

    /// At `t` the screen has `size`, perhaps another one again.
    pub(super) fn goes_on(self, t: MediaTime, size: Size) -> Self {
        if self.canvas.screen() == size {
            return self;
        }
        Self {
            first: self.first,
            ..Self::begins(t, size)
        }
    }

    /// When the new size is shown.
    pub(super) fn due(&self) -> MediaTime {
        let settled = self.last.plus_ms(SETTLED_MS);
        settled.min(self.first.plus_ms(BURST_MS))
    }

    pub(super) fn paint(
        &mut self,
        framebuffer: &Framebuffer,
        cursor: Option<&Cursor>,
        damage: &Damage,
    ) -> Result<(), PaintError> {
        let whole = Damage::of(framebuffer.size().rect());
        let damage = if self.painted { damage } else { &whole };
        self.canvas.paint(framebuffer, cursor, damage)?;
        self.painted = true;
        Ok(())
    }

    pub(super) fn into_canvas(self) -> Canvas {
        self.canvas
    }
}
