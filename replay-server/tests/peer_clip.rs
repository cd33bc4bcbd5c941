//! Is a clip exactly what was asked for: its first picture, its length, and nothing from before?
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

mod fixture;

use std::process::Command;

use axum::{
    body::Body,
    http::{Method, Request, StatusCode, header},
};
use bytes::Bytes;
use capture::Size;
use fixture::{
    h264::read_number,
    server::Server,
    session::{
        DURATION_MS, FIRST, FIRST_MS, Fixture, GAP_MS, IDLE_MS, SECOND, SECOND_MS, number_at,
    },
};
use http_body_util::BodyExt;
use replay_server::http::{LocalNames, router};
use segment::mp4::{fragment_samples, part, read_manifest};
use serde_json::Value;
use tower::ServiceExt;

/// How close the first picture of a clip is to the one `/frame` shows, where it was coded anew.
/// Both are converted to RGB, by different programs; copied pictures measure 60 dB.
const MIN_PSNR_DB: f64 = 45.0;

/// What the fixture shows, sample by sample: when, and the picture's number; none in the gap.
fn samples() -> Vec<(u64, Option<u32>)> {
    let [idle_from, idle_to] = IDLE_MS;
    let idle = (idle_from..idle_to).step_by(1_000);
    let shown = FIRST_MS.into_iter().chain(idle).chain(SECOND_MS);
    let mut all: Vec<_> = shown.map(|t| (t, Some(number_at(t)))).collect();
    let gap = (GAP_MS[0]..GAP_MS[1]).step_by(1_000);
    all.extend(gap.map(|t| (t, None)));
    all.sort_unstable();
    all
}

/// What a clip of it shows: a sample that had begun before begins with the clip.
fn expected(from: u64, to: u64) -> Vec<(u64, Option<u32>)> {
    let samples = samples();
    let last = samples.iter().rposition(|&(t, _)| t <= from).unwrap();
    let in_gap = (GAP_MS[0]..GAP_MS[1]).contains(&from);
    let mut shown: Vec<_> = if in_gap {
        // A card's seconds are counted from where it begins to be shown.
        let card = (from..GAP_MS[1]).step_by(1_000).map(|t| (t, None));
        let after = samples.iter().copied().filter(|&(t, _)| GAP_MS[1] <= t);
        card.chain(after).collect()
    } else {
        samples[last..].to_vec()
    };
    shown[0].0 = from;
    shown.retain(|&(t, _)| t < to);
    shown
        .into_iter()
        .map(|(t, number)| (t - from, number))
        .collect()
}

/// A clip in a file.
struct Clip {
    folder: tempfile::TempDir,
    bytes: Bytes,
}

impl Clip {
    async fn of(fixture: &Fixture, query: &str) -> Self {
        let (status, _, bytes) = ask(fixture, Method::GET, query).await;
        assert_eq!(status, StatusCode::OK, "{query}");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("clip.mp4"), &bytes).unwrap();
        Self { folder, bytes }
    }

    /// Runs a program on the file, which must have nothing to complain of.
    fn run(&self, program: &str, args: &str) -> Vec<u8> {
        let output = Command::new(program)
            .args(args.split(' '))
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.success() && told.is_empty(),
            "{program}: {told}"
        );
        output.stdout
    }

    fn probe(&self) -> Value {
        let args = "-v error -show_streams -show_format -show_packets -of json clip.mp4";
        serde_json::from_slice(&self.run("ffprobe", args)).unwrap()
    }

    /// Where its last sample ends; no sample may begin but where the one before ended.
    fn end_ticks(&self) -> u64 {
        let (mut rest, mut end) = (&self.bytes[..], 0);
        let mut fragment = 0..0;
        while !rest.is_empty() {
            let size = u32::from_be_bytes(*rest.first_chunk().unwrap()) as usize;
            let (at, kind) = (self.bytes.len() - rest.len(), &rest[4..8]);
            match kind {
                b"moof" => fragment.start = at,
                b"mdat" => {
                    fragment.end = at + size;
                    for sample in fragment_samples(&self.bytes[fragment.clone()]).unwrap() {
                        assert_eq!(sample.t_ticks, end);
                        end += u64::from(sample.duration_ticks);
                    }
                }
                _ => assert_eq!(end, 0, "what comes first is the head"),
            }
            rest = &rest[size..];
        }
        end
    }

    /// Each picture, decoded.
    fn pictures(&self, size: Size) -> Vec<Vec<u8>> {
        let args = "-v error -xerror -i clip.mp4 -fps_mode passthrough -enc_time_base 1:90000 \
                    -f rawvideo -pix_fmt rgb24 -";
        let pixels = self.run(
            "ffmpeg",
            &args.split_whitespace().collect::<Vec<_>>().join(" "),
        );
        let one = (size.w * size.h * 3) as usize;
        assert_eq!(pixels.len() % one, 0, "pictures of {size}");
        pixels.chunks(one).map(<[u8]>::to_vec).collect()
    }
}

async fn ask(
    fixture: &Fixture,
    method: Method,
    query: &str,
) -> (StatusCode, axum::http::HeaderMap, Bytes) {
    let uri = format!("/api/v1/sessions/{}/{query}", fixture.session);
    let request = Request::builder().method(method).uri(uri);
    let router = router(fixture.archive.clone(), LocalNames::loopback());
    let response = router
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (head.status, head.headers, body)
}

fn pixel(rgb: &[u8], size: Size, x: u32, y: u32) -> Option<[u8; 3]> {
    let at = (y * size.w + x) as usize * 3;
    rgb.get(at..at + 3)?.try_into().ok()
}

fn psnr_db(a: &[u8], b: &[u8]) -> f64 {
    let squares = a
        .iter()
        .zip(b)
        .map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2));
    let mean = squares.sum::<f64>() / f64::from(u32::try_from(a.len()).unwrap());
    10.0 * (255.0 * 255.0 / mean.max(1e-6)).log10()
}

/// A clip of `from..to` on a canvas of `size`, where the second screen lies at `second`.
async fn check(fixture: &Fixture, [from, to]: [u64; 2], size: Size, second: [u32; 2]) -> Clip {
    let clip = Clip::of(fixture, &format!("clip.mp4?from={from}&to={to}")).await;
    let expected = expected(from, to);

    let probe = clip.probe();
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    let packets = probe["packets"].as_array().unwrap();
    let times: Vec<_> = packets.iter().map(|p| number(&p["pts"]).unwrap()).collect();
    let begin: Vec<u64> = expected.iter().map(|(t, _)| 90 * t).collect();
    assert_eq!(times, begin, "{from}..{to}");
    assert_eq!(clip.end_ticks(), 90 * (to - from), "{from}..{to}");
    let duration: f64 = probe["format"]["duration"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let asked = f64::from(u32::try_from(to - from).unwrap()) / 1000.0;
    assert!(
        (duration - asked).abs() < 0.000_02,
        "{duration} s for {asked} s"
    );

    let pictures = clip.pictures(size);
    let numbers: Vec<Option<u32>> = pictures
        .iter()
        .map(|rgb| {
            let at = match pixel(rgb, size, 4, size.h - 4).unwrap()[0] {
                20..36 => return None, // a card
                0..10 => second,       // black beside the smaller screen
                _ => [0, 0],
            };
            Some(read_number(|x, y| pixel(rgb, size, x + at[0], y + at[1])))
        })
        .collect();
    let shown: Vec<Option<u32>> = expected.iter().map(|&(_, number)| number).collect();
    assert_eq!(numbers, shown, "{from}..{to}");

    if shown[0].is_some() {
        let (_, _, frame) = ask(fixture, Method::GET, &format!("frame?format=png&t={from}")).await;
        let frame = image::load_from_memory(&frame).unwrap().into_rgb8();
        let at = if frame.width() == FIRST.w {
            [0, 0]
        } else {
            second
        };
        let first: Vec<u8> = frame
            .enumerate_pixels()
            .flat_map(|(x, y, _)| pixel(&pictures[0], size, x + at[0], y + at[1]).unwrap())
            .collect();
        let psnr = psnr_db(&first, frame.as_raw());
        assert!(psnr >= MIN_PSNR_DB, "{psnr:.1} dB at {from}");
    }
    clip
}

#[tokio::test]
async fn peer_a_clip_is_exact_wherever_it_is_cut() {
    let fixture = Fixture::record(vec![]).await;
    for span in [
        [0, 9_000],
        [1_100, 8_600],   // 7.5 s from the middle of a fragment
        [3_000, 4_000],   // a whole fragment
        [3_032, 3_034],   // two pictures, a millisecond each
        [699, 700],       // one
        [8_200, 20_700],  // over repetitions
        [14_321, 15_500], // within one
        [20_100, 29_000], // into the gap
        [25_000, 26_500], // within it
    ] {
        check(&fixture, span, FIRST, [0, 0]).await;
    }
    // Over the gap to the other screen, which lies in the middle of the larger.
    check(&fixture, [20_100, 31_500], FIRST, [32, 48]).await;
    check(&fixture, [29_500, 31_500], SECOND.even(), [0, 0]).await;
    check(&fixture, [30_005, DURATION_MS], SECOND.even(), [0, 0]).await;
}

#[tokio::test]
async fn peer_nothing_from_before_the_start_is_in_the_file() {
    let fixture = Fixture::record(vec![]).await;
    let clip = check(&fixture, [1_100, 8_600], FIRST, [0, 0]).await;
    let keys = segment::key::SessionKeys::new(fixture.session, fixture::session::start());
    let stored = fixture.folder.path().join("store").join(keys.segment(0));
    let stored = std::fs::read(stored).unwrap();
    let manifest = read_manifest(&stored).unwrap();
    let fragment = |n: usize| {
        let fragment = &manifest.fragments[n];
        fragment_samples(part(&stored, fragment.byte_range()).unwrap()).unwrap()
    };
    let holds = |bytes: &[u8]| {
        clip.bytes
            .windows(bytes.len())
            .any(|window| window == bytes)
    };
    for sample in fragment(0) {
        // The first bytes of a picture are those of its header, which others may share.
        let body = &sample.bytes[sample.bytes.len() / 2..];
        assert!(!holds(body), "the sample at {}", sample.t_ticks / 90);
    }
    for sample in fragment(1).iter().chain(&fragment(2)) {
        assert!(holds(sample.bytes), "the sample at {}", sample.t_ticks / 90);
    }
    let media = clip
        .bytes
        .windows(4)
        .position(|window| window == b"moof")
        .unwrap();
    let head = &clip.bytes[..media];
    assert!(
        !head
            .windows(4)
            .any(|window| window == b"edts" || window == b"elst")
    );
}

#[tokio::test]
async fn peer_a_clip_without_an_end_is_the_session_from_its_first_picture() {
    let fixture = Fixture::record(vec![]).await;
    let clip = Clip::of(&fixture, "clip.mp4").await;
    let probe = clip.probe();
    assert_eq!(probe["format"]["duration"], "32.000000");
    let tags = &probe["format"]["tags"];
    assert_eq!(tags["creation_time"], "2026-11-30T09:00:00.000000Z");
    let told = tags["description"].as_str().unwrap();
    assert!(told.contains(&fixture.session.to_string()), "{told}");
    assert!(
        told.contains("0:00:00.000 (2026-11-30T09:00:00.000Z)"),
        "{told}"
    );
    let stream = &probe["streams"][0];
    for (field, value) in [
        ("profile", "High"),
        ("color_space", "bt709"),
        ("color_range", "tv"),
    ] {
        assert_eq!(stream[field], value, "{stream}");
    }
}

#[tokio::test]
async fn peer_ten_reconnects_in_a_minute_make_one_clip() {
    let fixture = Fixture::reconnecting().await;
    let [from, to] = [1_234, 59_321];
    let clip = Clip::of(&fixture, &format!("clip.mp4?from={from}&to={to}")).await;
    let probe = clip.probe();
    assert_eq!(probe["format"]["duration"], "58.087000");
    let pictures = clip.pictures(FIRST);
    let is_card = |rgb: &Vec<u8>| pixel(rgb, FIRST, 4, FIRST.h - 4).unwrap()[0] < 36;
    let runs = pictures.chunk_by(|a, b| is_card(a) == is_card(b));
    let runs: Vec<bool> = runs.map(|run| is_card(&run[0])).collect();
    let ten_gaps: Vec<bool> = (0..20).map(|n| n % 2 == 1).collect();
    assert_eq!(runs, ten_gaps);
}

#[tokio::test]
async fn peer_a_clip_is_offered_as_a_file_and_bad_ones_are_refused() {
    let fixture = Fixture::record(vec![]).await;
    for method in [Method::GET, Method::HEAD] {
        let (status, headers, body) = ask(&fixture, method.clone(), "clip.mp4?from=40&to=50").await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(body.is_empty(), method == Method::HEAD);
        let text = |name| {
            headers
                .get(name)
                .map_or("", |value| value.to_str().unwrap())
        };
        assert_eq!(text(header::CONTENT_TYPE), "video/mp4");
        assert_eq!(text(header::ACCEPT_RANGES), "none");
        assert_eq!(text(header::CONTENT_LENGTH), "");
        assert_eq!(text(header::CACHE_CONTROL), "no-store");
        let name = format!(
            "attachment; filename=\"playhead-{}-40-50.mp4\"",
            fixture.session
        );
        assert_eq!(text(header::CONTENT_DISPOSITION), name);
    }
    for (query, code, field) in [
        ("from=32000", "time_outside_session", "from"),
        ("to=32001", "time_outside_session", "to"),
        ("from=5&to=5", "bad_parameter", "to:"),
        ("from=6&to=5", "bad_parameter", "to:"),
        ("from=-1", "bad_parameter", "from"),
        ("from=noon", "bad_parameter", "from"),
        ("gap=no", "bad_parameter", "gap"),
    ] {
        let (status, _, body) = ask(&fixture, Method::GET, &format!("clip.mp4?{query}")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{query}");
        let body: Value = serde_json::from_slice(&body).unwrap();
        let error = &body["error"];
        assert_eq!(error["code"], code, "{query}: {error}");
        let told = error["field"]
            .as_str()
            .unwrap_or(error["message"].as_str().unwrap());
        assert!(told.contains(field), "{query}: {error}");
    }
    let places = fixture.archive.clips.available_permits();
    let _all = fixture
        .archive
        .clips
        .try_acquire_many(u32::try_from(places).unwrap())
        .unwrap();
    let (status, headers, _) = ask(&fixture, Method::GET, "clip.mp4").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(headers.contains_key(header::RETRY_AFTER));
}

#[tokio::test]
async fn peer_a_damaged_fragment_breaks_the_clip_off() {
    let fixture = Fixture::record(vec![]).await;
    let keys = segment::key::SessionKeys::new(fixture.session, fixture::session::start());
    let stored = fixture.folder.path().join("store").join(keys.segment(2));
    let whole = std::fs::read(&stored).unwrap();
    let manifest = read_manifest(&whole).unwrap();
    let fragment = usize::try_from(manifest.fragments[0].offset).unwrap();
    let mut broken = whole;
    broken[fragment..fragment + 8].fill(0xff);
    std::fs::remove_file(&stored).unwrap();
    std::fs::write(&stored, broken).unwrap();
    let places = fixture.archive.clips.available_permits();
    let uri = format!("/api/v1/sessions/{}/clip.mp4?from=20000", fixture.session);
    let request = Request::get(uri).body(Body::empty()).unwrap();
    let router = router(fixture.archive.clone(), LocalNames::loopback());
    let response = router.oneshot(request).await.unwrap();
    assert!(response.into_body().collect().await.is_err());
    let places = u32::try_from(places).unwrap();
    let all = fixture.archive.clips.acquire_many(places).await;
    assert!(all.is_ok(), "its place is free again");
}

#[tokio::test]
async fn peer_chromium_plays_a_clip_across_a_gap_and_another_screen() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clip.mjs");
    let fixture = Fixture::record(vec![]).await;
    let server = Server::start(&fixture);
    let [from, to] = [1_100, 2_900];
    let plays = |[from, to]: [u64; 2], last: u32| {
        let url = format!(
            "{}/api/v1/sessions/{}/clip.mp4?from={from}&to={to}",
            server.site, fixture.session
        );
        let output = Command::new("node")
            .args([script, &url, &last.to_string()])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{told}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let found = plays([from, to], number_at(to - 1));
    assert_eq!(found["fault"], Value::Null);
    assert_eq!(found["size"], serde_json::json!([FIRST.w, FIRST.h]));
    assert_eq!(found["first"], number_at(from));
    assert_eq!(found["last"], number_at(to - 1));
    let asked = f64::from(u32::try_from(to - from).unwrap()) / 1000.0;
    for length in ["duration", "ended"] {
        let seconds = found[length].as_f64().unwrap();
        assert!((seconds - asked).abs() < 0.001, "{length}: {seconds} s");
    }

    // A second of repetition, the gap, and two of the other screen, which lies on black.
    let found = plays([20_500, DURATION_MS], 0);
    assert_eq!(found["fault"], Value::Null);
    assert_eq!(found["first"], number_at(20_500));
    assert_eq!(found["last"], 0);
    assert_eq!(found["duration"], 11.5);
    assert_eq!(found["ended"], 11.5);
}
