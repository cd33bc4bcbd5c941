//! The init part, `ftyp moov`: what a player needs before any fragment.
//!
//! It depends on the coded size and the encoder's parameters alone, so segments recorded with the
//! same parameters have the same init bytes.

use capture::{MediaTime, Size};
use mp4_atom::{
    Atom, Avc1, Avcc, Codec, Colr, Dinf, Dref, DrefEntry, Encode, FourCC, Ftyp, Hdlr, Mdhd, Mdia,
    Minf, Moov, Mvex, Mvhd, Stbl, Stco, Stsd, Tkhd, Trak, Trex, Url, Visual, Vmhd,
};

use super::{
    WriteError,
    fragment::{NON_SYNC, TRACK},
};
use crate::record::InitRecord;

/// Ticks in a second: the timescale of the movie and its track.
const TIMESCALE: u32 = 90_000;
const _: () = assert!(TIMESCALE as u64 == 1000 * MediaTime::TICKS_PER_MS);

/// Appends `ftyp moov` to `out` and gives the codec's name, such as `avc1.640028` (RFC 6381).
pub(crate) fn write(out: &mut Vec<u8>, init: &InitRecord) -> Result<String, WriteError> {
    let avcc = Avcc::decode_body(&mut init.avcc.as_slice()).map_err(WriteError::Avcc)?;
    if avcc.length_size != 4 {
        let length_size = avcc.length_size;
        return Err(WriteError::LengthSize { length_size });
    }
    ftyp().encode(out)?;
    moov(init.coded, avcc)?.encode(out)?;
    codec(&init.avcc).ok_or(WriteError::Avcc(mp4_atom::Error::OutOfBounds))
}

/// The codec's name (RFC 6381): profile, constraints and level behind the record's version.
pub(super) fn codec(avcc: &[u8]) -> Option<String> {
    match *avcc {
        [_, profile, constraints, level, ..] => {
            Some(format!("avc1.{profile:02x}{constraints:02x}{level:02x}"))
        }
        _ => None,
    }
}

pub(super) fn ftyp() -> Ftyp {
    Ftyp {
        major_brand: FourCC::new(b"iso6"),
        minor_version: 0,
        compatible_brands: [b"iso6", b"cmfc", b"avc1", b"mp41"]
            .map(FourCC::new)
            .to_vec(),
    }
}

pub(super) fn moov(coded: Size, avcc: Avcc) -> Result<Moov, WriteError> {
    let px = |px| u16::try_from(px).map_err(|_| WriteError::Size { size: coded });
    let (width, height) = (px(coded.w)?, px(coded.h)?);
    Ok(Moov {
        mvhd: Mvhd {
            timescale: TIMESCALE,
            rate: 1.into(),
            volume: 1.into(),
            next_track_id: TRACK + 1,
            ..Mvhd::default()
        },
        mvex: Some(Mvex {
            mehd: None,
            trex: vec![Trex {
                track_id: TRACK,
                default_sample_description_index: 1,
                default_sample_flags: NON_SYNC,
                ..Trex::default()
            }],
        }),
        trak: vec![Trak {
            tkhd: Tkhd {
                track_id: TRACK,
                enabled: true,
                in_movie: true,
                width: width.into(),
                height: height.into(),
                ..Tkhd::default()
            },
            mdia: mdia(avc1(width, height, avcc)),
            ..Trak::default()
        }],
        ..Moov::default()
    })
}

fn mdia(sample_entry: Avc1) -> Mdia {
    Mdia {
        mdhd: Mdhd {
            timescale: TIMESCALE,
            language: "und".into(),
            ..Mdhd::default()
        },
        hdlr: Hdlr {
            handler: FourCC::new(b"vide"),
            name: "Screen".into(),
        },
        minf: Minf {
            vmhd: Some(Vmhd::default()),
            dinf: Dinf {
                dref: Dref {
                    entries: vec![DrefEntry::Url(Url::default())],
                },
            },
            stbl: Stbl {
                stsd: Stsd {
                    codecs: vec![Codec::Avc1(sample_entry)],
                },
                stco: Some(Stco::default()),
                ..Stbl::default()
            },
            ..Minf::default()
        },
    }
}

fn avc1(width: u16, height: u16, avcc: Avcc) -> Avc1 {
    // BT.709 (1 in all three registries of ITU-T H.273) in limited range, as the canvas holds it.
    let bt709 = Colr::Nclx {
        colour_primaries: 1,
        transfer_characteristics: 1,
        matrix_coefficients: 1,
        full_range_flag: false,
    };
    Avc1 {
        visual: Visual {
            data_reference_index: 1,
            width,
            height,
            ..Visual::default()
        },
        avcc,
        colr: Some(bt709),
        ..Avc1::default()
    }
}
