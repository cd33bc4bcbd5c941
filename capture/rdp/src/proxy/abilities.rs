//! What each end says it can do (MS-RDPBCGR section 2.2.7): narrowed to what is read here.
//!
//! Sets are taken and put back as bytes, so that what a driver or a server says in a way of its
//! own reaches the other unchanged. Pictures come as bitmaps, as for a recorder that watches by
//! itself: without drawing orders, codecs and what is kept from one to the next.

use capture::Size;
use ironrdp_core::encode_vec;
use ironrdp_pdu::rdp::capability_sets::{
    BITMAP_CACHE_ENTRIES_NUM, BitmapCache, Brush, CacheDefinition, CacheEntry, CapabilitySet,
    GLYPH_CACHE_NUM, GlyphCache, GlyphSupportLevel, InputFlags, OffscreenBitmapCache, Order,
    OrderFlags, OrderSupportExFlags, SupportLevel, VirtualChannel, VirtualChannelFlags,
};

use crate::limits;

/// The sets that are read or changed (section 2.2.1.13.1.1.1).
mod set {
    pub(super) const GENERAL: u16 = 1;
    pub(super) const BITMAP: u16 = 2;
    pub(super) const ORDER: u16 = 3;
    pub(super) const CONTROL: u16 = 5;
    pub(super) const ACTIVATION: u16 = 7;
    pub(super) const POINTER: u16 = 8;
    pub(super) const SHARE: u16 = 9;
    pub(super) const SOUND: u16 = 12;
    pub(super) const INPUT: u16 = 13;
    pub(super) const FONT: u16 = 14;
    pub(super) const BRUSH: u16 = 15;
    pub(super) const GLYPHS: u16 = 16;
    pub(super) const OFFSCREEN: u16 = 17;
    pub(super) const CHANNELS: u16 = 20;
    pub(super) const FRAGMENTS: u16 = 26;
    pub(super) const LARGE_POINTER: u16 = 27;
}

/// What the machine tells of its desktop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Demand {
    pub(super) share: u32,
    pub(super) size: Size,
    pub(super) input: InputFlags,
}

/// Reads what follows the head of the machine's message, and gives back what the driver is to be
/// told in its place; nothing when it cannot be read.
pub(super) fn demand(body: &[u8]) -> Option<(Demand, Vec<u8>)> {
    let mut message = Message::parse(body, DEMAND_FIXED)?;
    let share = u32::from_le_bytes(*body.first_chunk()?);
    let mut size = None;
    let mut input = InputFlags::empty();
    message.narrow(|kind, set| {
        match kind {
            set::BITMAP => {
                size = Some(Size::new(u16_at(set, 8)?.into(), u16_at(set, 10)?.into()));
            }
            set::INPUT => {
                let flags = InputFlags::from_bits_retain(u16_at(set, 0)?);
                // Measured motion would mean something else than is read here.
                input = flags & READ_INPUT;
                put_u16(set, 0, input.bits())?;
            }
            // Nothing is to be packed on its way through a channel.
            set::CHANNELS => put_u32(set, 0, 0)?,
            set::GENERAL
            | set::ORDER
            | set::CONTROL
            | set::ACTIVATION
            | set::POINTER
            | set::SHARE
            | set::SOUND
            | set::FONT
            | set::BRUSH
            | set::GLYPHS
            | set::OFFSCREEN
            | set::FRAGMENTS
            | set::LARGE_POINTER => {}
            _ => return Some(false),
        }
        Some(true)
    })?;
    let size = size?;
    Some((Demand { share, size, input }, message.write()?))
}

/// Reads what follows the head of the driver's message, and gives back what the machine is to be
/// told in its place; nothing when it cannot be read.
pub(super) fn confirm(body: &[u8]) -> Option<Vec<u8>> {
    let mut message = Message::parse(body, CONFIRM_FIXED)?;
    message.narrow(|kind, set| {
        match kind {
            set::GENERAL => {
                let flags = u16_at(set, 10)?;
                put_u16(set, 10, flags & GENERAL_FLAGS)?;
            }
            set::BITMAP => {
                let flags = set.get_mut(19)?;
                *flags &= SKIP_ALPHA;
            }
            set::INPUT => {
                let flags = u16_at(set, 0)?;
                put_u16(set, 0, flags & READ_INPUT.bits())?;
            }
            set::POINTER => {
                // The second of them is missing where a driver has colour pointers alone.
                for at in [2, 4] {
                    if let Some(kept) = u16_at(set, at) {
                        put_u16(set, at, kept.min(POINTERS))?;
                    }
                }
            }
            set::FRAGMENTS => {
                let len = u32::from_le_bytes(*set.first_chunk()?);
                put_u32(set, 0, len.min(FRAGMENTS_BYTES))?;
            }
            set::LARGE_POINTER => {
                let flags = u16_at(set, 0)?;
                put_u16(set, 0, flags & LARGE_POINTERS)?;
            }
            set::CONTROL | set::ACTIVATION | set::SHARE | set::SOUND | set::FONT => {}
            _ => return Some(false),
        }
        Some(true)
    })?;
    for set in ours() {
        let written = encode_vec(&set).ok()?;
        message.sets.extend(written);
        message.number = message.number.checked_add(1)?;
    }
    message.write()
}

/// What a driver may say of input: all that is read.
const READ_INPUT: InputFlags = InputFlags::SCANCODES
    .union(InputFlags::MOUSEX)
    .union(InputFlags::FASTPATH_INPUT)
    .union(InputFlags::FASTPATH_INPUT_2)
    .union(InputFlags::UNICODE)
    .union(InputFlags::TS_MOUSE_HWHEEL);

/// Fast-path output, long user names, reconnection and bitmaps without a head of their own.
const GENERAL_FLAGS: u16 = 0x0001 | 0x0004 | 0x0008 | 0x0400;

/// Bitmaps may be packed without their fourth channel. With loss they may not.
const SKIP_ALPHA: u8 = 0x08;

/// Pointers of 96 and of 384 pixels.
const LARGE_POINTERS: u16 = 0x0003;

#[allow(clippy::cast_possible_truncation, reason = "checked beside it")]
const POINTERS: u16 = {
    assert!(limits::POINTERS <= u16::MAX as usize);
    limits::POINTERS as u16
};

#[allow(clippy::cast_possible_truncation, reason = "checked beside it")]
const FRAGMENTS_BYTES: u32 = {
    assert!(limits::UPDATE_BYTES <= u32::MAX as usize);
    limits::UPDATE_BYTES as u32
};

/// What is said in place of the driver's sets: that nothing is drawn and nothing kept.
fn ours() -> [CapabilitySet; 6] {
    let none = CacheDefinition {
        entries: 0,
        max_cell_size: 0,
    };
    let nothing = CacheEntry {
        entries: 0,
        max_cell_size: 0,
    };
    [
        CapabilitySet::Order(Order::new(
            OrderFlags::NEGOTIATE_ORDER_SUPPORT | OrderFlags::ZERO_BOUNDS_DELTAS_SUPPORT,
            OrderSupportExFlags::empty(),
            0,
            0,
        )),
        CapabilitySet::BitmapCache(BitmapCache {
            caches: [nothing; BITMAP_CACHE_ENTRIES_NUM],
        }),
        CapabilitySet::Brush(Brush {
            support_level: SupportLevel::Default,
        }),
        CapabilitySet::GlyphCache(GlyphCache {
            glyph_cache: [none; GLYPH_CACHE_NUM],
            frag_cache: none,
            glyph_support_level: GlyphSupportLevel::None,
        }),
        CapabilitySet::OffscreenBitmapCache(OffscreenBitmapCache {
            is_supported: false,
            cache_size: 0,
            cache_entries: 0,
        }),
        CapabilitySet::VirtualChannel(VirtualChannel {
            flags: VirtualChannelFlags::NO_COMPRESSION,
            chunk_size: Some(0), // the server's to say
        }),
    ]
}

/// A message of sets: its fixed part, lengths, the name of who says it, and they.
struct Message<'a> {
    fixed: &'a [u8],
    name: &'a [u8],
    number: u16,
    sets: Vec<u8>,
    rest: &'a [u8],
}

/// The number of the desktop.
const DEMAND_FIXED: usize = 4;
/// And that of who confirms.
const CONFIRM_FIXED: usize = 6;

impl<'a> Message<'a> {
    fn parse(body: &'a [u8], fixed: usize) -> Option<Self> {
        let (fixed, body) = body.split_at_checked(fixed)?;
        let (name_len, body) = split_u16(body)?;
        let (sets_len, body) = split_u16(body)?;
        let (name, body) = body.split_at_checked(name_len.into())?;
        let (sets, rest) = body.split_at_checked(sets_len.into())?;
        let (head, sets) = sets.split_first_chunk::<4>()?;
        Some(Self {
            fixed,
            name,
            number: u16::from_le_bytes(*head.first_chunk()?),
            sets: sets.to_vec(),
            rest,
        })
    }

    /// Keeps the sets that `keep` says, as it leaves them. Nothing when it cannot read one.
    fn narrow(&mut self, mut keep: impl FnMut(u16, &mut [u8]) -> Option<bool>) -> Option<()> {
        let sets = std::mem::take(&mut self.sets);
        let mut left = sets.as_slice();
        let mut kept_number: u16 = 0;
        for _ in 0..self.number {
            let (kind, rest) = split_u16(left)?;
            let (len, rest) = split_u16(rest)?;
            let (set, rest) = rest.split_at_checked(usize::from(len).checked_sub(4)?)?;
            let mut set = set.to_vec();
            left = rest;
            if keep(kind, &mut set)? {
                self.sets.extend(kind.to_le_bytes());
                self.sets.extend(len.to_le_bytes());
                self.sets.extend(set);
                kept_number = kept_number.checked_add(1)?;
            }
        }
        self.number = kept_number;
        Some(())
    }

    fn write(&self) -> Option<Vec<u8>> {
        let name_len = u16::try_from(self.name.len()).ok()?;
        let sets_len = u16::try_from(self.sets.len().checked_add(4)?).ok()?;
        let parts = [
            self.fixed,
            &name_len.to_le_bytes(),
            &sets_len.to_le_bytes(),
            self.name,
            &self.number.to_le_bytes(),
            &[0; 2],
            &self.sets,
            self.rest,
        ];
        Some(parts.concat())
    }
}

fn split_u16(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (head, rest) = bytes.split_first_chunk()?;
    Some((u16::from_le_bytes(*head), rest))
}

fn u16_at(set: &[u8], at: usize) -> Option<u16> {
    split_u16(set.get(at..)?).map(|(value, _)| value)
}

fn put_u16(set: &mut [u8], at: usize, value: u16) -> Option<()> {
    *set.get_mut(at..)?.first_chunk_mut()? = value.to_le_bytes();
    Some(())
}

fn put_u32(set: &mut [u8], at: usize, value: u32) -> Option<()> {
    *set.get_mut(at..)?.first_chunk_mut()? = value.to_le_bytes();
    Some(())
}
