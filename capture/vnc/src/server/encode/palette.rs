//! The few colours that most of a screen is made of.

use crate::layout::Pixel;

/// Colours that an index of seven bits counts, so that each can be a run.
const RUN_COLOURS: usize = 127;

/// Runs of equal pixels, across the ends of rows, none of them empty.
pub(super) fn runs(pixels: &[Pixel]) -> impl Iterator<Item = (Pixel, usize)> {
    pixels
        .chunk_by(|a, b| a == b)
        .filter_map(|run| Some((*run.first()?, run.len())))
}

/// The colours of a tile or rectangle, as far as they can be counted.
pub(super) struct Palette {
    pub(super) colours: Vec<Pixel>,
    /// Whether every colour is among them.
    pub(super) is_whole: bool,
    /// Where each colour is, found by its hash.
    // INVARIANT: at most `RUN_COLOURS` of the slots are taken, so a search ends.
    slots: [Option<u8>; 256],
}

impl Default for Palette {
    fn default() -> Self {
        Self {
            colours: Vec::new(),
            is_whole: true,
            slots: [None; 256],
        }
    }
}

impl Palette {
    pub(super) fn add(&mut self, colour: Pixel) {
        if !self.is_whole {
            return;
        }
        let slot = self.slot(colour);
        let index = u8::try_from(self.colours.len()).unwrap_or(u8::MAX);
        match self.slots.get_mut(usize::from(slot)) {
            Some(free @ None) if self.colours.len() < RUN_COLOURS => {
                *free = Some(index);
                self.colours.push(colour);
            }
            Some(None) => self.is_whole = false,
            Some(Some(_)) | None => {}
        }
    }

    pub(super) fn index(&self, colour: Pixel) -> u8 {
        let slot = usize::from(self.slot(colour));
        self.slots.get(slot).copied().flatten().unwrap_or_default()
    }

    /// The slot that holds `colour`, or the free one where it belongs.
    fn slot(&self, colour: Pixel) -> u8 {
        // Multiplied by the golden ratio, every bit reaches the uppermost.
        let [mut slot, ..] = u32::from_le_bytes(colour)
            .wrapping_mul(0x9e37_79b9)
            .to_be_bytes();
        while let Some(Some(index)) = self.slots.get(usize::from(slot))
            && self.colours.get(usize::from(*index)) != Some(&colour)
        {
            slot = slot.wrapping_add(1);
        }
        slot
    }

    /// Appends the indices of a row from the high bit down, `in_byte` of them to a byte, the last
    /// one filled with zeros.
    pub(super) fn pack(&self, row: &[Pixel], in_byte: usize, out: &mut Vec<u8>) {
        let bits = u32::try_from(8 / in_byte).unwrap_or(8);
        let shifted = |byte: u8, by: u32| byte.checked_shl(by).unwrap_or_default();
        for pixels in row.chunks(in_byte) {
            let missing = in_byte - pixels.len();
            let packed =
                { pixels.iter() }.fold(0, |byte, &pixel| shifted(byte, bits) | self.index(pixel));
            out.push((0..missing).fold(packed, |byte, _| shifted(byte, bits)));
        }
    }
}
