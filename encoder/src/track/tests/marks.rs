//! Masks that marks begin and end: what any codec is given, and what FFmpeg makes of it.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use capture::{GapReason, Rect, Size};
use policy::Marks;

use super::{
    SIZE,
    rig::{Object, Rig, Show, check, objects},
};
use crate::{Encoder, redact::MASK_YUV};

/// The whole screen, between two marks.
pub(super) const VAULT: &str = "[[mask]]\nname = \"vault\"\nrect = \"full\"\n\
    from_mark = \"vault.open\"\nto_mark = \"vault.shut\"\n";
const OPEN: &[&str] = &["vault.open"];

/// When a codec was given masked pictures, and when others.
fn masked(rig: &Rig) -> (Vec<u64>, Vec<u64>) {
    let seen = rig.seen();
    let (masked, open): (Vec<_>, Vec<_>) =
        seen.into_iter().partition(|&(_, pixel)| pixel == MASK_YUV);
    let times = |seen: Vec<(u64, [u8; 3])>| seen.into_iter().map(|(t, _)| t).collect();
    (times(masked), times(open))
}

/// From and to of the masks of an object.
fn spans(object: &Object) -> Vec<(u64, u64)> {
    let masks = object.span.masks.iter();
    masks
        .map(|mask| {
            assert_eq!((mask.rule.as_str(), mask.kind.as_str()), ("vault", "mark"));
            (mask.from.ms(), mask.to.ms())
        })
        .collect()
}

#[test]
fn a_mark_masks_from_its_own_instant_to_its_end() {
    let mut rig = Rig::new(SIZE).with_policy(VAULT);
    rig.change(0);
    rig.proof(700);
    rig.marks(1_200, OPEN);
    rig.change(1_500);
    rig.proof(2_300);
    rig.marks(2_600, &[]);
    assert_eq!(masked(&rig), (vec![1_200, 2_200], vec![0, 1_000, 2_600]));
    let pixels: Vec<_> = rig.seen().into_iter().map(|(_, pixel)| pixel).collect();
    assert_ne!(
        pixels[0], pixels[4],
        "what changed under the mask is shown after it"
    );
    let recorded = check(rig.end(2_700));
    assert_eq!(spans(&recorded.objects[0]), [(1_200, 2_600)]);
    let from: Vec<u64> = recorded.shows.iter().map(Show::from).collect();
    assert_eq!(
        from,
        [0, 1_200, 2_600],
        "no picture refers to one across a mark"
    );
}

#[test]
fn a_mark_is_in_force_from_the_earliest_instant_on() {
    let mut rig = Rig::new(SIZE).with_policy(VAULT);
    rig.change(500);
    let earliest = rig.track.earliest().ms();
    assert_eq!(earliest, 501, "the picture of its own ms stands recorded");
    rig.marks(earliest, OPEN);
    let recorded = check(rig.end(600));
    assert_eq!(spans(&recorded.objects[0]), [(earliest, 600)]);
}

#[test]
fn what_changes_no_mask_changes_nothing() {
    let mut rig = Rig::new(SIZE).with_policy(VAULT);
    rig.change(0);
    rig.marks(300, &["secret.begin"]);
    rig.marks(400, &[]);
    assert_eq!(rig.coded(), 1);
    check(rig.end(500));
}

#[test]
fn a_mark_ends_idle() {
    let mut rig = Rig::new(SIZE).with_policy(VAULT);
    rig.change(0);
    rig.still_until(130_000);
    rig.marks(130_400, OPEN);
    rig.still_until(131_000);
    rig.marks(131_100, &[]);
    let coded = masked(&rig).0;
    assert_eq!(coded, [130_400]);
    let recorded = check(rig.end(131_200));
    assert_eq!(
        recorded.shows[2],
        Show::Repeat {
            from: 120_000,
            to: 130_400,
            seq: 1,
            fragment: 0
        }
    );
    assert_eq!(
        spans(recorded.objects.last().unwrap()),
        [(130_400, 131_100)]
    );
}

#[test]
fn a_masked_picture_may_rest_and_each_object_says_so() {
    let mut rig = Rig::new(SIZE).with_policy(VAULT);
    rig.change(0);
    rig.marks(500, OPEN);
    rig.still_until(200_000);
    let (_, unmasked) = masked(&rig);
    assert_eq!(unmasked, [0]);
    let recorded = check(rig.end(200_100));
    assert!(matches!(recorded.shows.last(), Some(Show::Repeat { .. })));
    for object in &recorded.objects[1..] {
        let span = (object.span.from.ms(), object.span.to.ms());
        assert_eq!(spans(object), [span]);
    }
}

#[test]
fn a_mark_in_a_gap_masks_the_picture_that_ends_it() {
    let mut rig = Rig::new(SIZE).with_policy(VAULT);
    rig.change(0);
    rig.gap(500, GapReason::Disconnected);
    rig.marks(900, OPEN);
    rig.change(3_000);
    rig.marks(3_200, &[]);
    assert_eq!(masked(&rig), (vec![3_000], vec![0, 3_200]));
    check(rig.end(3_300));
}

#[test]
fn a_new_size_is_masked_from_its_first_picture() {
    let mut rig = Rig::new(SIZE).with_policy(VAULT);
    rig.change(0);
    rig.resize(500, Size::new(81, 61));
    rig.marks(600, OPEN);
    rig.proof(1_400);
    rig.change(1_500);
    rig.marks(1_600, &[]);
    assert_eq!(masked(&rig), (vec![600, 750], vec![0, 1_600]));
    let recorded = check(rig.end(1_700));
    assert_eq!(objects(&recorded), [(0, 750), (750, 1_700)]);
    assert_eq!(spans(&recorded.objects[1]), [(750, 1_600)]);
}

#[test]
fn a_run_begins_with_the_marks_that_are_open() {
    let open = Marks::Open(vec!["vault.open".to_owned()]);
    let mut rig = Rig::new(SIZE).with_marks(VAULT, open);
    rig.change(0);
    assert_eq!(masked(&rig), (vec![0], vec![]));
    let recorded = check(rig.end(500));
    assert_eq!(spans(&recorded.objects[0]), [(0, 500)]);
    assert!(recorded.thumbs.iter().all(|px| px.abs_diff(48) < 10));
}

#[test]
fn a_run_that_does_not_know_its_marks_shows_nothing_until_told() {
    let mut rig = Rig::new(SIZE).with_marks("", Marks::Unknown);
    rig.change(0);
    rig.change(400);
    rig.marks(700, &[]);
    assert_eq!(masked(&rig), (vec![0], vec![700]));
    let recorded = check(rig.end(800));
    let mask = &recorded.objects[0].span.masks[0];
    assert_eq!(
        (mask.rule.as_str(), mask.kind.as_str()),
        ("marks-unknown", "mark")
    );
    assert_eq!((mask.from.ms(), mask.to.ms()), (0, 700));
}

/// How far coding takes a pixel off the mask's colour, beside what is not masked. Text that were
/// left at this contrast, 5 %, could not be read.
const BLUR: u8 = 12;
const SCREEN: Size = Size::new(160, 96);
/// What the policy below hides, with the margin of a mask.
const HIDDEN: Rect = Rect {
    x: 30,
    y: 30,
    w: 68,
    h: 36,
};

/// Something like text where the mask will be, another one each time.
fn scribble(rig: &mut Rig, at: u64) {
    let rect = Rect::new(32, 32, 64, 32);
    for (n, x) in (rect.x..rect.right()).step_by(2).enumerate() {
        let shade = if (n as u64 + at / 100).is_multiple_of(2) {
            255
        } else {
            0
        };
        let line = Rect::new(x, rect.y, 2, rect.h);
        rig.framebuffer().fill(line, [shade; 4]);
    }
    rig.show(at, rect);
}

/// A picture as FFmpeg decodes it, and when it is shown.
struct Decoded {
    t: u64,
    luma: Vec<u8>,
}

fn decode(object: &Object) -> Vec<Decoded> {
    let manifest = segment::mp4::check(&object.file).unwrap();
    let fragments = manifest.fragments.iter();
    let times = fragments.flat_map(|fragment| {
        let samples = fragment.samples.iter();
        samples.map(|&(dt, _)| fragment.t.ms() + dt)
    });
    let mut ffmpeg = Command::new("ffmpeg")
        .args(["-v", "error", "-f", "mp4", "-i", "pipe:0"])
        .args(["-fps_mode", "passthrough", "-f", "rawvideo"])
        .args(["-pix_fmt", "yuv420p", "pipe:1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("ffmpeg is installed");
    let mut stdin = ffmpeg.stdin.take().unwrap();
    let file = object.file.clone();
    let fed = std::thread::spawn(move || stdin.write_all(&file));
    let output = ffmpeg.wait_with_output().unwrap();
    fed.join().unwrap().unwrap();
    let picture_bytes = usize::try_from(SCREEN.area_px()).unwrap() * 3 / 2;
    let times: Vec<u64> = times.collect();
    assert_eq!(output.stdout.len(), picture_bytes * times.len());
    let pictures = output.stdout.chunks_exact(picture_bytes);
    let luma = pictures.map(|picture| picture[..picture_bytes * 2 / 3].to_vec());
    times
        .into_iter()
        .zip(luma)
        .map(|(t, luma)| Decoded { t, luma })
        .collect()
}

/// The furthest that any pixel in `rect` is from the mask's colour.
fn off_mask(picture: &Decoded, rect: Rect) -> u8 {
    let rows = (rect.y..rect.bottom()).map(|y| (y * SCREEN.w + rect.x) as usize);
    let pixels = rows.flat_map(|start| &picture.luma[start..start + rect.w as usize]);
    let distances = pixels.map(|&px| px.abs_diff(MASK_YUV[0]));
    distances.max().unwrap_or_default()
}

#[test]
fn peer_ffmpeg_finds_nothing_under_a_mark_in_any_picture() {
    let policy = VAULT.replace("\"full\"", "[32, 32, 64, 32]");
    for encoder in [Encoder::X264, Encoder::Openh264] {
        let mut rig = Rig::coded_by(SCREEN, encoder, &policy);
        rig.change(0);
        for n in 1..5 {
            scribble(&mut rig, n * 100);
        }
        rig.marks(500, OPEN);
        for n in 6..20 {
            scribble(&mut rig, n * 100);
            rig.change_in(n * 100 + 50, Rect::new(100, 4, 40, 20));
        }
        rig.marks(2_000, &[]);
        for n in 21..25 {
            scribble(&mut rig, n * 100);
        }
        let recorded = check(rig.end(2_500));
        let pictures = decode(&recorded.objects[0]);
        for picture in &pictures {
            let off = off_mask(picture, HIDDEN);
            let t = picture.t;
            if (500..2_000).contains(&t) {
                assert!(off <= BLUR, "{encoder}: a pixel is off by {off} at {t} ms");
            } else if 0 < t {
                assert!(off > 100, "{encoder}: the check is blind at {t} ms");
            }
        }
        let at = |t| pictures.iter().any(|picture| picture.t == t);
        assert!(at(500) && at(650) && at(2_000), "{encoder}");
    }
}
