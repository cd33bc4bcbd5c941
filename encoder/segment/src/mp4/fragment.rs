//! A fragment, `moof mdat`: one closed GOP whose first sample is the only sync sample.

use capture::MediaTime;
use mp4_atom::{Encode, Mfhd, Moof, Tfdt, Tfhd, Traf, Trun, TrunEntry};

use super::{WriteError, field};

/// The only track.
pub(super) const TRACK: u32 = 1;
/// Sample flags of an IDR picture: depends on no other (ISO/IEC 14496-12, 8.8.3.1).
pub(super) const SYNC: u32 = 0x0200_0000;
/// Sample flags of any other picture: depends on others, is no sync sample.
pub(super) const NON_SYNC: u32 = 0x0101_0000;
/// `size` and `type` before a box's content.
const HEADER_BYTES: usize = 8;

/// Appends a fragment that begins at `at`, of samples given as duration in ticks and access unit.
pub(crate) fn write(
    out: &mut Vec<u8>,
    at: MediaTime,
    samples: &[(u32, &[u8])],
) -> Result<(), WriteError> {
    let entries: Vec<TrunEntry> = samples
        .iter()
        .enumerate()
        .map(|(n, (duration, bytes))| {
            Ok(TrunEntry {
                duration: Some(*duration),
                size: Some(field("sample_size", bytes.len())?),
                flags: (n == 0).then_some(SYNC),
                cts: None,
            })
        })
        .collect::<Result<_, WriteError>>()?;
    let media: usize = samples.iter().map(|(_, bytes)| bytes.len()).sum();
    let mdat = field("mdat size", media.saturating_add(HEADER_BYTES))?;

    let mut moof = moof(at, entries);
    let start = out.len();
    moof.encode(out)?;
    // The data lies behind the moof, whose length only its encoding tells.
    let data_offset = out.len() - start + HEADER_BYTES;
    set_data_offset(&mut moof, field("data_offset", data_offset)?)?;
    out.truncate(start);
    moof.encode(out)?;

    out.reserve(media.saturating_add(HEADER_BYTES));
    out.extend_from_slice(&mdat.to_be_bytes());
    out.extend_from_slice(b"mdat");
    for (_, bytes) in samples {
        out.extend_from_slice(bytes);
    }
    Ok(())
}

fn moof(at: MediaTime, entries: Vec<TrunEntry>) -> Moof {
    Moof {
        mfhd: Mfhd {
            // Must grow from fragment to fragment, across segments and repetitions too: so does `t`.
            sequence_number: u32::try_from(at.ms().saturating_add(1)).unwrap_or(u32::MAX),
        },
        traf: vec![Traf {
            tfhd: Tfhd {
                track_id: TRACK,
                default_sample_flags: Some(NON_SYNC),
                default_base_is_moof: true,
                ..Tfhd::default()
            },
            tfdt: Some(Tfdt {
                base_media_decode_time: at.ticks(),
            }),
            trun: vec![Trun {
                data_offset: Some(0),
                samples: entries.into(),
            }],
            ..Traf::default()
        }],
    }
}

fn set_data_offset(moof: &mut Moof, bytes: u32) -> Result<(), WriteError> {
    let offset = i32::try_from(bytes).map_err(|_| WriteError::Field {
        field: "data_offset",
        value: bytes.into(),
    })?;
    let runs = moof.traf.iter_mut().flat_map(|traf| &mut traf.trun);
    runs.for_each(|run| run.data_offset = Some(offset));
    Ok(())
}
