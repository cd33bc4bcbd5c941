//! From how MP4 stores H.264 to how a decoder reads it: length-prefixed units become a byte
//! stream with start codes (ISO/IEC 14496-15 section 5.3, ITU-T H.264 Annex B).

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

/// A stream's parameters: its parameter sets as a byte stream, and how samples state lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvcConfig {
    parameter_sets: Vec<u8>,
    length_bytes: usize,
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
        reader.take(3)?; // profile, compatibility, level: the sequence parameter set says them
        let length_bytes = usize::from(reader.u8()? & 0b11) + 1;
        let mut parameter_sets = Vec::new();
        let sequence_sets = reader.u8()? & 0b1_1111;
        reader.append_units(sequence_sets, &mut parameter_sets)?;
        let picture_sets = reader.u8()?;
        reader.append_units(picture_sets, &mut parameter_sets)?;
        Ok(Self {
            parameter_sets,
            length_bytes,
        })
    }

    /// The byte stream of one sample. `first` puts the parameter sets before it, as the first
    /// sample of a fragment needs.
    ///
    /// # Errors
    /// When a unit's length passes the sample's end.
    pub fn byte_stream(&self, sample: &[u8], first: bool) -> Result<Vec<u8>, AvcError> {
        let mut stream = Vec::with_capacity(sample.len() + self.parameter_sets.len() + 16);
        if first {
            stream.extend_from_slice(&self.parameter_sets);
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

    fn append_units(&mut self, count: u8, stream: &mut Vec<u8>) -> Result<(), AvcError> {
        for _ in 0..count {
            let length = self.take(2)?;
            let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
            stream.extend_from_slice(&START_CODE);
            stream.extend_from_slice(self.take(length)?);
        }
        Ok(())
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
    fn a_unit_past_the_end_is_refused() {
        let config = AvcConfig::parse(&AVCC).unwrap();
        let sample = [0, 0, 0, 1, 0x65, 0xff, 0xff, 0xff, 0xff, 0];
        let error = AvcError::Sample { offset: 5 };
        assert_eq!(config.byte_stream(&sample, false), Err(error));
    }
}
