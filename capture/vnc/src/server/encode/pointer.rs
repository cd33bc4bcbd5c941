//! The pointer's place and shape, of which either may be known first.

use capture::{
    Point, Rect, Size,
    cursor::{Cursor, CursorShape},
};

/// What is known of the pointer.
#[derive(Default)]
pub(in crate::server) struct Pointer {
    at: Option<Point>,
    shape: Option<CursorShape>,
    /// Both, once known.
    cursor: Option<Cursor>,
}

impl Pointer {
    /// Takes what has changed.
    pub(in crate::server) fn set(&mut self, at: Option<Point>, shape: Option<CursorShape>) {
        self.at = at.or(self.at);
        self.shape = shape.or(self.shape.take());
        self.cursor = { self.at.zip(self.shape.clone()) }.map(|(at, shape)| Cursor { shape, at });
    }

    pub(in crate::server) const fn shape(&self) -> Option<&CursorShape> {
        self.shape.as_ref()
    }

    /// What it covers; nothing while it cannot be painted.
    pub(in crate::server) fn rect_on(&self, size: Size) -> Rect {
        self.cursor
            .as_ref()
            .map(|cursor| cursor.rect_on(size))
            .unwrap_or_default()
    }

    /// Paints it over a row of pixels.
    pub(super) fn blend_row(&self, x: u32, y: u32, row: &mut [u8]) {
        if let Some(cursor) = &self.cursor {
            cursor.blend_row(x, y, row);
        }
    }
}
