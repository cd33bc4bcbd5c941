//! How a clip lies in its file: `ftyp moov (moof mdat)*`, written from front to back.
//!
//! It is built like a segment, so that recorded fragments go into it as they are; what differs is
//! that its time begins at 0, its length is known at once, and it says what it shows.

use capture::{MediaTime, Size, WallTime};
use mp4_atom::{Atom, Avcc, Desc, Encode, FourCC, Hdlr, Ilst, Mehd, Meta, Udta};

use super::{WriteError, fragment, init};

/// From the epoch of MP4, 1904-01-01, to that of Unix, in seconds.
const EPOCH_S: i64 = 2_082_844_800;

/// What players need before a clip's first fragment.
#[derive(Clone, Copy, Debug)]
pub struct ClipHead<'a> {
    /// The coded size in pixels.
    pub coded: Size,
    /// The `AVCDecoderConfigurationRecord` with the parameters of all its fragments.
    pub avcc: &'a [u8],
    /// How long it is.
    pub duration: MediaTime,
    /// What the wall clock showed at its first picture.
    pub start: WallTime,
    /// What it shows, in a sentence for people.
    pub description: &'a str,
}

impl ClipHead<'_> {
    /// Its bytes, `ftyp moov`.
    ///
    /// # Errors
    /// When the parameters do not parse, or the size does not fit.
    pub fn to_bytes(&self) -> Result<Vec<u8>, WriteError> {
        let avcc = Avcc::decode_body(&mut &*self.avcc).map_err(WriteError::Avcc)?;
        let mut moov = init::moov(self.coded, avcc)?;
        let (ticks, made) = (self.duration.ticks(), mp4_seconds(self.start));
        moov.mvhd.duration = ticks;
        moov.mvhd.creation_time = made;
        for track in &mut moov.trak {
            track.tkhd.duration = ticks;
            track.tkhd.creation_time = made;
            track.mdia.mdhd.duration = ticks;
            track.mdia.mdhd.creation_time = made;
        }
        if let Some(extends) = &mut moov.mvex {
            extends.mehd = Some(Mehd {
                fragment_duration: ticks,
            });
        }
        moov.udta = Some(said(self.description));

        let mut bytes = Vec::new();
        init::ftyp().encode(&mut bytes)?;
        moov.encode(&mut bytes)?;
        Ok(bytes)
    }
}

fn mp4_seconds(time: WallTime) -> u64 {
    let seconds = time.unix_ms().div_euclid(1000).saturating_add(EPOCH_S);
    u64::try_from(seconds).unwrap_or(0)
}

/// `udta meta(mdir) ilst desc`: where players look for what a file shows.
fn said(description: &str) -> Udta {
    let list = Ilst {
        desc: Some(Desc {
            country_indicator: 0,
            language_indicator: 0,
            text: description.into(),
        }),
        ..Ilst::default()
    };
    let mut meta = Meta {
        hdlr: Hdlr {
            handler: FourCC::new(b"mdir"),
            name: String::new(),
        },
        items: Vec::new(),
    };
    meta.push(list);
    Udta {
        meta: Some(meta),
        ..Udta::default()
    }
}

/// A picture coded anew: how long it is shown, in milliseconds, and its access unit.
pub type Coded = (u64, Vec<u8>);

/// A fragment at `at` of `pictures`, the first of which is an IDR picture.
///
/// # Errors
/// When a length or duration does not fit its field.
pub fn clip_fragment(at: MediaTime, pictures: &[Coded]) -> Result<Vec<u8>, WriteError> {
    let mut samples: Vec<(u32, &[u8])> = Vec::with_capacity(pictures.len());
    for (duration_ms, bytes) in pictures {
        let ticks = MediaTime::from_ms(*duration_ms).ticks();
        samples.push((super::field("sample_duration", ticks)?, bytes));
    }
    let mut out = Vec::new();
    fragment::write(&mut out, at, &samples)?;
    Ok(out)
}
