//! Between how MP4 stores H.264 and how codecs speak it: length-prefixed units and a byte stream
//! with start codes (ISO/IEC 14496-15 section 5.3, ITU-T H.264 Annex B).

/// What comes before every unit in a byte stream.
const START_CODE: [u8; 4] = [0, 0, 0, 1];

/// Bytes that are not H.264 as MP4 stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AvcError {
    /// The decoder configuration ends early or has an unknown version.
    #[error("the decoder configuration (avcC) is not valid at byte {offset}")]
    Config {
        /// Where reading stopped.
        offset: usize,
    },
    /// A unit's length passes the end of its sample.
    #[error("a unit in the sample passes its end at byte {offset}")]
    Sample {
        /// Where that unit begins.
        offset: usize,
    },
}

/// A stream's parameters: its parameter sets, and how samples state lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvcConfig {
    /// Profile, constraints and level.
    profile: [u8; 3],
    length_bytes: usize,
    sequence_sets: Vec<Vec<u8>>,
    picture_sets: Vec<Vec<u8>>,
}

impl AvcConfig {
    /// Reads an `AVCDecoderConfigurationRecord`.
    ///
    /// # Errors
    /// When it is cut short, or its version is not 1.
    pub fn parse(avcc: &[u8]) -> Result<Self, AvcError> {
        let mut reader = Reader { bytes: avcc, at: 0 };
        if reader.u8()? != 1 {
            return Err(AvcError::Config { offset: 0 });
        }
        let profile = [reader.u8()?, reader.u8()?, reader.u8()?];
        let length_bytes = usize::from(reader.u8()? & 0b11) + 1;
        let sequence_sets = reader.u8()? & 0b1_1111;
        let sequence_sets = reader.units(sequence_sets)?;
        let picture_sets = reader.u8()?;
        let picture_sets = reader.units(picture_sets)?;
        Ok(Self {
            profile,
            length_bytes,
            sequence_sets,
            picture_sets,
        })
    }

    /// The parameters of a stream of 4-byte lengths with these sets; `None` when one is none.
    #[must_use]
    pub fn of(sequence_set: &[u8], picture_set: &[u8]) -> Option<Self> {
        let profile = *sequence_set.get(1..)?.first_chunk()?;
        (!picture_set.is_empty()).then(|| Self {
            profile,
            length_bytes: 4,
            sequence_sets: vec![sequence_set.to_vec()],
            picture_sets: vec![picture_set.to_vec()],
        })
    }

    /// The parameters of a stream that holds samples of both, whose sets have different numbers.
    #[must_use]
    pub fn beside(mut self, other: Self) -> Self {
        let [profile, constraints, level] = other.profile;
        // High decodes all the lower profiles; a constraint holds when both keep it.
        self.profile[0] = self.profile[0].max(profile);
        self.profile[1] &= constraints;
        self.profile[2] = self.profile[2].max(level);
        self.sequence_sets.extend(other.sequence_sets);
        self.picture_sets.extend(other.picture_sets);
        self
    }

    /// A number that no parameter set has; `None` when all are taken (H.264 7.4.2.1.1: 0 to 31).
    #[must_use]
    pub fn free_number(&self) -> Option<u8> {
        // A sequence set's number comes after its header, profile, constraints and level, a picture
        // set's right after its header.
        let sequence = self.sequence_sets.iter().map(|set| (set, 4));
        let picture = self.picture_sets.iter().map(|set| (set, 1));
        let taken: Vec<u32> = sequence
            .chain(picture)
            .filter_map(|(set, header)| exp_golomb(set.get(header..)?))
            .collect();
        (0..=31).find(|&number| !taken.contains(&u32::from(number)))
    }

    /// The `AVCDecoderConfigurationRecord` of 4:2:0 pictures of 8 bits.
    #[must_use]
    pub fn to_avcc(&self) -> Vec<u8> {
        let mut avcc = vec![1];
        avcc.extend(self.profile);
        avcc.push(0b1111_1100 | u8::try_from(self.length_bytes - 1).unwrap_or(3));
        put_units(&mut avcc, 0b1110_0000, &self.sequence_sets);
        put_units(&mut avcc, 0, &self.picture_sets);
        if self.profile[0] >= HIGH {
            // chroma_format 4:2:0, both bit depths 8, no extensions, each under its reserved bits.
            avcc.extend([0b1111_1101, 0b1111_1000, 0b1111_1000, 0]);
        }
        avcc
    }

    /// The byte stream of one sample. `first` puts the parameter sets before it, as the first
    /// sample of a fragment needs.
    ///
    /// # Errors
    /// When a unit's length passes the sample's end.
    pub fn byte_stream(&self, sample: &[u8], first: bool) -> Result<Vec<u8>, AvcError> {
        let mut stream = Vec::with_capacity(sample.len() + 256);
        if first {
            for set in self.sequence_sets.iter().chain(&self.picture_sets) {
                stream.extend_from_slice(&START_CODE);
                stream.extend_from_slice(set);
            }
        }
        let mut offset = 0;
        while offset < sample.len() {
            let error = AvcError::Sample { offset };
            let (length, rest) = sample[offset..]
                .split_at_checked(self.length_bytes)
                .ok_or(error)?;
            let length = length.iter().fold(0, |n, &b| n << 8 | usize::from(b));
            let unit = rest.get(..length).ok_or(error)?;
            stream.extend_from_slice(&START_CODE);
            stream.extend_from_slice(unit);
            offset += self.length_bytes + length;
        }
        Ok(stream)
    }
}

/// The first profile whose record says chroma and bit depth (ISO/IEC 14496-15 5.3.3.1.2).
const HIGH: u8 = 100;

/// The unsigned Exp-Golomb number that `bits` begin with (H.264 9.1); `None` past 16 bits.
fn exp_golomb(bits: &[u8]) -> Option<u32> {
    let bit = |n: usize| {
        bits.get(n / 8)
            .map(|byte| u32::from(byte >> (7 - n % 8) & 1))
    };
    let zeros = (0..16).take_while(|&n| bit(n) == Some(0)).count();
    let digits = (zeros..=2 * zeros).map(bit);
    let value: Option<u32> = digits.into_iter().try_fold(0, |n, bit| Some(n << 1 | bit?));
    value?.checked_sub(1)
}

/// Appends how many `units` there are, under the bits of `reserved`, and each with its length.
fn put_units(avcc: &mut Vec<u8>, reserved: u8, units: &[Vec<u8>]) {
    avcc.push(reserved | u8::try_from(units.len()).unwrap_or(u8::MAX));
    for unit in units {
        let length = u16::try_from(unit.len()).unwrap_or(u16::MAX);
        avcc.extend(length.to_be_bytes());
        avcc.extend(&unit[..usize::from(length)]);
    }
}

/// The units of a byte stream (H.264 Annex B), without their start codes.
pub fn units(stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    let starts: Vec<usize> = stream
        .windows(3)
        .enumerate()
        .filter_map(|(at, window)| (window == [0, 0, 1]).then_some(at))
        .collect();
    let ends: Vec<usize> = starts
        .iter()
        .copied()
        .skip(1)
        .chain([stream.len()])
        .collect();
    starts.into_iter().zip(ends).map(|(start, end)| {
        let unit = &stream[start + 3..end];
        // The next start code may have a zero more, and a unit never ends in one.
        let zeros = unit.iter().rev().take_while(|&&byte| byte == 0).count();
        &unit[..unit.len() - zeros]
    })
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], AvcError> {
        let taken = self.bytes[self.at..].get(..len);
        let taken = taken.ok_or(AvcError::Config { offset: self.at })?;
        self.at += len;
        Ok(taken)
    }

    fn u8(&mut self) -> Result<u8, AvcError> {
        self.take(1).map(|byte| byte[0])
    }

    fn units(&mut self, count: u8) -> Result<Vec<Vec<u8>>, AvcError> {
        let unit = |_| {
            let length = self.take(2)?;
            let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
            self.take(length).map(<[u8]>::to_vec)
        };
        (0..count).map(unit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AVCC: [u8; 16] = [
        1, 0x64, 0, 0x28, 0xff, 0xe1, 0, 3, 0x67, 1, 2, 1, 0, 2, 0x68, 9,
    ];

    #[test]
    fn a_first_sample_carries_the_parameter_sets() {
        let config = AvcConfig::parse(&AVCC).unwrap();
        let stream = config.byte_stream(&[0, 0, 0, 2, 0x65, 7], true).unwrap();
        let expected = [
            0, 0, 0, 1, 0x67, 1, 2, 0, 0, 0, 1, 0x68, 9, 0, 0, 0, 1, 0x65, 7,
        ];
        assert_eq!(stream, expected);
    }

    #[test]
    fn every_cut_of_a_configuration_is_refused() {
        for len in 0..AVCC.len() {
            assert!(AvcConfig::parse(&AVCC[..len]).is_err(), "cut at {len}");
        }
    }

    #[test]
    fn two_streams_share_a_configuration_under_numbers_of_their_own() {
        let recorded = AvcConfig::parse(&AVCC).unwrap();
        assert_eq!(recorded.free_number(), Some(0));
        let number_0 = AvcConfig::of(&[0x67, 100, 0, 40, 0b1000_0000], &[0x68, 0b1100_0000]);
        let number_0 = number_0.unwrap();
        assert_eq!(number_0.free_number(), Some(1));
        let number_1 = AvcConfig::of(&[0x67, 66, 0xc0, 31, 0b0100_0000], &[0x68, 0b0101_0000]);
        let both = number_0.beside(number_1.unwrap());
        assert_eq!(both.free_number(), Some(2));
        let avcc = both.to_avcc();
        assert_eq!(avcc[..6], [1, 100, 0, 40, 0xff, 0xe2]);
        assert_eq!(AvcConfig::parse(&avcc), Ok(both));
    }

    #[test]
    fn a_byte_stream_falls_into_its_units() {
        let stream = [
            0, 0, 0, 1, 0x67, 1, 0, 0, 1, 0x65, 9, 0, 0, 2, 0, 0, 0, 1, 0x41, 3,
        ];
        let found: Vec<&[u8]> = units(&stream).collect();
        assert_eq!(found, [&[0x67, 1][..], &[0x65, 9, 0, 0, 2], &[0x41, 3]]);
        assert_eq!(units(&[1, 2]).count(), 0);
    }

    #[test]
    fn a_unit_past_the_end_is_refused() {
        let config = AvcConfig::parse(&AVCC).unwrap();
        let sample = [0, 0, 0, 1, 0x65, 0xff, 0xff, 0xff, 0xff, 0];
        let error = AvcError::Sample { offset: 5 };
        assert_eq!(config.byte_stream(&sample, false), Err(error));
    }
}
