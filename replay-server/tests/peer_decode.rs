//! Is the picture that comes out of the decoder the one that was asked for?
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

mod fixture;

use capture::{Rect, Size};
use fixture::h264::{encode, read_number};
use replay_server::decode::{Coding, DecodeError, avc::AvcConfig, decode_last};

fn coding(avcc: &[u8], coded: Size, crop: Option<Rect>) -> Coding {
    Coding {
        config: AvcConfig::parse(avcc).unwrap(),
        coded,
        crop,
    }
}

#[test]
fn peer_each_sample_decodes_to_its_own_picture() {
    let size = Size::new(320, 200);
    let numbers: Vec<u32> = (0..60).map(|n| n * 67 % 4096).collect();
    let stream = encode(size, &numbers, &[0]);
    let coding = coding(&stream.avcc, size, None);
    let samples: Vec<&[u8]> = stream.units.iter().map(|(_, unit)| &unit[..]).collect();
    for (i, &number) in numbers.iter().enumerate() {
        let picture = decode_last(&coding, &samples[..=i]).unwrap();
        assert_eq!(picture.size(), size);
        assert_eq!(
            read_number(|x, y| picture.pixel(x, y)),
            number,
            "sample {i}"
        );
    }
}

#[test]
fn peer_colours_come_back_as_painted() {
    let size = Size::new(320, 64);
    let stream = encode(size, &[0b1010_1010_1010], &[0]);
    let coding = coding(&stream.avcc, size, None);
    let picture = decode_last(&coding, &[&stream.units[0].1]).unwrap();
    for (x, painted) in [(8, 235u8), (24, 20)] {
        let [r, g, b] = picture.pixel(x, 8).unwrap();
        for channel in [r, g, b] {
            assert!(channel.abs_diff(painted) <= 6, "{channel} for {painted}");
        }
    }
}

#[test]
fn peer_an_odd_screen_is_cut_to_its_true_size() {
    let coded = Size::new(256, 102);
    let stream = encode(coded, &[1234], &[0]);
    let screen = Rect::new(0, 0, 255, 101);
    let coding = coding(&stream.avcc, coded, Some(screen));
    let picture = decode_last(&coding, &[&stream.units[0].1]).unwrap();
    assert_eq!(picture.size(), Size::new(255, 101));
    assert_eq!(read_number(|x, y| picture.pixel(x, y)), 1234);
}

#[test]
fn peer_damage_is_an_error_and_never_a_picture() {
    let size = Size::new(320, 200);
    let stream = encode(size, &[1, 2, 3], &[0]);
    let coding = coding(&stream.avcc, size, None);
    let whole: Vec<&[u8]> = stream.units.iter().map(|(_, unit)| &unit[..]).collect();
    let mut cut = stream.units[0].1.clone();
    for byte in &mut cut[40..] {
        *byte ^= 0x5a;
    }
    assert!(decode_last(&coding, &[&cut, whole[1]]).is_err());
    assert!(matches!(
        decode_last(&coding, &[]),
        Err(DecodeError::Samples(0))
    ));
    let other = Coding {
        coded: Size::new(640, 400),
        ..coding
    };
    assert!(matches!(
        decode_last(&other, &whole),
        Err(DecodeError::Shape { .. })
    ));
}
