//! The same files through a reader that is not ours.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use capture::Size;
use segment::{Manifest, mp4};

use crate::recording::{close, init, ms, open, sample, segment};

/// Four hours into a session: `tfdt` needs more than 32 bits.
const FROM_MS: u64 = 50_000_000;
/// How long each picture stands. Ten make a GOP.
const DURATIONS_MS: [u64; 20] = [
    1, 40, 999, 1000, 66, 67, 1, 1, 500, 123, 1000, 1000, 1000, 7, 333, 334, 250, 16, 17, 1000,
];

/// Pictures of a moving test card, as H.264.
struct Coded {
    avcc: Vec<u8>,
    /// Access units with 4-byte lengths, and whether each is an IDR picture.
    pictures: Vec<(bool, Vec<u8>)>,
}

/// Has FFmpeg encode as many pictures as there are durations, ten to a GOP.
fn coded() -> Coded {
    let annex_b = run(Command::new("ffmpeg")
        .args(["-v", "error", "-f", "lavfi"])
        .args(["-i", "testsrc=size=320x240:rate=10:duration=2"])
        .args([
            "-c:v",
            "libx264",
            "-preset",
            "veryfast",
            "-tune",
            "zerolatency",
        ])
        .args(["-pix_fmt", "yuv420p", "-g", "10", "-threads", "1"])
        .args(["-bsf:v", "h264_metadata=aud=insert", "-f", "h264", "-"]));
    let mut parameters: [Vec<u8>; 2] = Default::default();
    let mut pictures: Vec<(bool, Vec<u8>)> = Vec::new();
    for nal in nal_units(&annex_b) {
        match nal[0] & 0x1f {
            7 => parameters[0] = nal.to_vec(),
            8 => parameters[1] = nal.to_vec(),
            9 => pictures.push((false, Vec::new())),
            kind => {
                let (key, picture) = pictures.last_mut().expect("a delimiter comes first");
                *key |= kind == 5;
                picture.extend(u32::try_from(nal.len()).unwrap().to_be_bytes());
                picture.extend(nal);
            }
        }
    }
    let [sps, pps] = parameters;
    let avcc = mp4_atom::Avcc {
        ext: (sps[1] >= 100).then(mp4_atom::AvccExt::default),
        ..mp4_atom::Avcc::new(&sps, &pps).unwrap()
    };
    let mut bytes = Vec::new();
    mp4_atom::Atom::encode_body(&avcc, &mut bytes).unwrap();
    Coded {
        avcc: bytes,
        pictures,
    }
}

/// Splits a byte stream (ITU-T H.264, Annex B) at its start codes.
fn nal_units(stream: &[u8]) -> Vec<&[u8]> {
    let starts: Vec<usize> = (0..stream.len().saturating_sub(3))
        .filter(|&at| stream[at..].starts_with(&[0, 0, 1]))
        .collect();
    let ends = starts.iter().skip(1).copied().chain([stream.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| {
            let nal = &stream[start + 3..end];
            let trailing = nal.iter().rev().take_while(|byte| **byte == 0).count();
            &nal[..nal.len() - trailing]
        })
        .collect()
}

/// A segment of those pictures, standing irregularly long.
fn recorded() -> (Vec<u8>, Manifest) {
    let Coded { avcc, pictures } = coded();
    assert_eq!(pictures.len(), DURATIONS_MS.len());
    let mut t = FROM_MS;
    let mut records = vec![open(t), init(Size::new(320, 240), &avcc)];
    for ((key, picture), dur) in pictures.iter().zip(DURATIONS_MS) {
        records.push(sample(t, *key, 1, picture));
        t += dur;
    }
    records.push(close(t));
    segment(&records)
}

fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("ffmpeg is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    output.stdout
}

fn written(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Decodes a whole file, which must not give cause for complaint.
fn decoded(path: &Path, output: &[&str]) -> String {
    let output = run(Command::new("ffmpeg")
        .args(["-v", "error", "-xerror", "-i"])
        .arg(path)
        .args(["-enc_time_base", "1:90000"])
        .args(output)
        .arg("-"));
    String::from_utf8(output).unwrap()
}

/// One hash for each decoded picture.
fn picture_hashes(path: &Path) -> Vec<String> {
    decoded(path, &["-f", "framemd5"])
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.rsplit(',').next().unwrap().trim().to_owned())
        .collect()
}

#[test]
fn peer_ffmpeg_sees_every_time_to_the_tick_and_decodes_without_complaint() {
    let (file, manifest) = recorded();
    mp4::check(&file).unwrap();
    assert_eq!(manifest.fragments.len(), 2);
    let path = written("whole.mp4", &file);

    // FFmpeg adds up durations to find when the next packet is; the stream's is the last's end.
    let seen = run(Command::new("ffprobe")
        .args(["-v", "error", "-of", "csv=p=0", "-show_packets"])
        .args([
            "-show_entries",
            "packet=pts,dts,flags:stream=start_pts,duration_ts",
        ])
        .arg(&path));
    let mut t = FROM_MS;
    let mut expected = String::new();
    for (n, dur) in DURATIONS_MS.iter().enumerate() {
        let flags = if n % 10 == 0 { "K_" } else { "__" };
        expected += &format!("{0},{0},{flags}\n", t * 90);
        t += dur;
    }
    expected += &format!("{},{}\n", FROM_MS * 90, t * 90);
    assert_eq!(String::from_utf8(seen).unwrap(), expected);

    assert_eq!(decoded(&path, &["-f", "null"]), "");
    assert_eq!(picture_hashes(&path).len(), DURATIONS_MS.len());
}

#[test]
fn peer_ffmpeg_decodes_a_placed_repetition_to_the_same_pictures() {
    let (file, manifest) = recorded();
    let second = &manifest.fragments[1];
    let init = mp4::part(&file, manifest.init.byte_range()).unwrap();
    let gop = mp4::part(&file, second.byte_range()).unwrap();
    // Three samples of a second each, and 3 of the next sample's 7 ms.
    let placed = mp4::place(gop, ms(FROM_MS * 2), ms(FROM_MS * 2 + 3003)).unwrap();
    let path = written("placed.mp4", &[init, &placed].concat());

    let whole = picture_hashes(&written("original.mp4", &file));
    assert_eq!(picture_hashes(&path), whole[10..14]);
}

#[test]
fn peer_ffmpeg_names_the_same_codec_and_colours() {
    let (file, manifest) = recorded();
    let path = written("codec.mp4", &file);
    let stream = run(Command::new("ffprobe")
        .args(["-v", "error", "-of", "csv=p=0", "-select_streams", "v"])
        .args(["-show_entries"])
        .arg("stream=profile,level,width,height,color_range,color_space,time_base")
        .arg(&path));
    let stream = String::from_utf8(stream).unwrap();
    assert_eq!(manifest.init.codec, "avc1.64000b");
    assert_eq!(stream.trim(), "High,320,240,11,tv,bt709,1/90000");
}
