//! How does any player watch a session? Its timeline as an HLS media playlist (RFC 8216,
//! version 7; api.md, `hls/index.m3u8`).
//!
//! Gaps collapse: what follows one comes at once after a discontinuity, so only the program date
//! of each segment maps back to session time.

use std::fmt::Write;

use capture::{ClockMap, Gap, MediaTime};
use index::{
    Timeline,
    timeline::{InitAt, Placed},
};

/// A fragment ends after 60 s at the latest; a live playlist must not change this number.
const TARGET_DURATION_S: u64 = 60;

/// Which part of a session to play. It is rounded outward to whole fragments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clip {
    /// From here; `None` for the start.
    pub from: Option<MediaTime>,
    /// Up to here; `None` for the end, which in a live session has not come.
    pub to: Option<MediaTime>,
}

/// The playlist of `clip`, with media addressed from the folder `hls` beside `media`.
#[must_use]
pub fn playlist(timeline: &Timeline, clip: Clip) -> String {
    let clock = &timeline.clock;
    let from = clip.from.unwrap_or(MediaTime::ZERO);
    let to = clip.to.unwrap_or(MediaTime::from_ms(u64::MAX));
    let overlaps = |start: MediaTime, end: MediaTime| start < to && from < end;
    let placed: Vec<&Placed> = timeline
        .fragments
        .iter()
        .filter(|placed| overlaps(placed.at, placed.to))
        .collect();
    let gaps = timeline
        .gaps
        .iter()
        .filter(|gap| overlaps(gap.from, gap.to));
    let grows = timeline.live && to > timeline.duration;

    let mut text = String::with_capacity(256 + placed.len() * 128);
    head(&mut text, &placed, grows);
    if let (Some(from), Some(first)) = (clip.from, placed.first()) {
        let offset = seconds(from.ms_since(first.at));
        line(
            &mut text,
            &format!("#EXT-X-START:TIME-OFFSET={offset},PRECISE=YES"),
        );
    }
    for gap in gaps {
        line(&mut text, &date_range(gap, clock));
    }
    let mut before: Option<&Placed> = None;
    for placed in placed {
        segment(&mut text, timeline, before, placed);
        before = Some(placed);
    }
    if !grows {
        line(&mut text, "#EXT-X-ENDLIST");
    }
    text
}

fn head(text: &mut String, placed: &[&Placed], grows: bool) {
    let longest_ms = placed
        .iter()
        .map(|placed| placed.to.ms_since(placed.at))
        .max();
    // RFC 8216 4.3.3.1 compares durations rounded to the nearest second.
    let target_s = (longest_ms.unwrap_or(0) + 500) / 1000;
    let target_s = target_s.max(TARGET_DURATION_S);
    let kind = if grows { "EVENT" } else { "VOD" };
    line(text, "#EXTM3U");
    line(text, "#EXT-X-VERSION:7");
    line(text, &format!("#EXT-X-TARGETDURATION:{target_s}"));
    line(text, "#EXT-X-MEDIA-SEQUENCE:0");
    line(text, &format!("#EXT-X-PLAYLIST-TYPE:{kind}"));
    line(text, "#EXT-X-INDEPENDENT-SEGMENTS");
}

/// One fragment, and what changed since the one `before` it.
fn segment(text: &mut String, timeline: &Timeline, before: Option<&Placed>, placed: &Placed) {
    if before.is_some_and(|before| breaks(timeline, before, placed)) {
        line(text, "#EXT-X-DISCONTINUITY");
    }
    let Placed { seq, fragment, .. } = placed;
    if before.is_none_or(|before| before.seq != *seq) {
        line(text, &format!("#EXT-X-MAP:URI=\"../media/{seq}/init.mp4\""));
    }
    let utc = timeline.clock.utc_at(placed.at);
    let duration = seconds(placed.to.ms_since(placed.at));
    line(text, &format!("#EXT-X-PROGRAM-DATE-TIME:{utc}"));
    line(text, &format!("#EXTINF:{duration},"));
    let place = if placed.is_original() {
        String::new()
    } else {
        format!("?at={}&to={}", placed.at.ms(), placed.to.ms())
    };
    line(text, &format!("../media/{seq}/{fragment}.m4s{place}"));
}

/// Whether a player must start anew between the two: time is missing, or the picture changes
/// its coding.
fn breaks(timeline: &Timeline, before: &Placed, placed: &Placed) -> bool {
    let coding = |placed: &Placed| {
        let found = timeline.inits.iter().find(|init| init.seq == placed.seq);
        found.map(|init| {
            let InitAt {
                codec,
                width,
                height,
                crop,
                ..
            } = init;
            (codec, width, height, crop)
        })
    };
    before.to != placed.at || (before.seq != placed.seq && coding(before) != coding(placed))
}

fn date_range(gap: &Gap, clock: &ClockMap) -> String {
    format!(
        "#EXT-X-DATERANGE:ID=\"gap-{from}\",CLASS=\"playhead.gap\",START-DATE=\"{utc}\",\
         DURATION={duration},X-REASON=\"{reason}\",X-FROM-MS={from},X-TO-MS={to}",
        from = gap.from.ms(),
        to = gap.to.ms(),
        utc = clock.utc_at(gap.from),
        duration = seconds(gap.to.ms_since(gap.from)),
        reason = gap.reason,
    )
}

/// Decimal seconds, exact to the millisecond.
fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

fn line(text: &mut String, line: &str) {
    // Writing to a `String` does not fail.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use capture::{GapReason, WallTime};
    use expect_test::{Expect, expect};
    use index::timeline::start_anchor;

    use super::*;

    fn ms(ms: u64) -> MediaTime {
        MediaTime::from_ms(ms)
    }

    fn placed(seq: u64, fragment: u32, t: u64, at: u64, to: u64) -> Placed {
        Placed {
            seq,
            fragment,
            t: ms(t),
            dur: to - at,
            at: ms(at),
            to: ms(to),
            bytes: 1000,
            samples: vec![ms(at)],
        }
    }

    fn init(seq: u64, width: u32) -> InitAt {
        InitAt {
            seq,
            codec: "avc1.640028".into(),
            width,
            height: 720,
            crop: None,
        }
    }

    /// Ten seconds, an idle stretch of a repeated fragment, a gap, and then another size.
    fn timeline() -> Timeline {
        let start = start_anchor(WallTime::from_unix_ms(1_796_029_200_000));
        Timeline {
            duration: ms(150_001),
            live: false,
            inits: vec![init(0, 1280), init(1, 1280), init(3, 800)],
            fragments: vec![
                placed(0, 0, 0, 0, 10_007),
                placed(1, 0, 10_007, 10_007, 70_007),
                placed(1, 0, 10_007, 70_007, 90_250),
                placed(3, 0, 120_000, 120_000, 150_001),
            ],
            gaps: vec![Gap {
                from: ms(90_250),
                to: ms(120_000),
                reason: GapReason::Disconnected,
            }],
            clock: ClockMap::new(vec![start]).unwrap(),
            masks: vec![],
            thumbs: vec![],
            activity: vec![],
        }
    }

    fn check(timeline: &Timeline, clip: Clip, expected: &Expect) {
        expected.assert_eq(&playlist(timeline, clip));
    }

    #[test]
    fn a_whole_session_with_a_repeat_a_gap_and_another_size() {
        check(
            &timeline(),
            Clip::default(),
            &expect![[r##"
            #EXTM3U
            #EXT-X-VERSION:7
            #EXT-X-TARGETDURATION:60
            #EXT-X-MEDIA-SEQUENCE:0
            #EXT-X-PLAYLIST-TYPE:VOD
            #EXT-X-INDEPENDENT-SEGMENTS
            #EXT-X-DATERANGE:ID="gap-90250",CLASS="playhead.gap",START-DATE="2026-11-30T09:01:30.250Z",DURATION=29.750,X-REASON="disconnected",X-FROM-MS=90250,X-TO-MS=120000
            #EXT-X-MAP:URI="../media/0/init.mp4"
            #EXT-X-PROGRAM-DATE-TIME:2026-11-30T09:00:00.000Z
            #EXTINF:10.007,
            ../media/0/0.m4s
            #EXT-X-MAP:URI="../media/1/init.mp4"
            #EXT-X-PROGRAM-DATE-TIME:2026-11-30T09:00:10.007Z
            #EXTINF:60.000,
            ../media/1/0.m4s
            #EXT-X-PROGRAM-DATE-TIME:2026-11-30T09:01:10.007Z
            #EXTINF:20.243,
            ../media/1/0.m4s?at=70007&to=90250
            #EXT-X-DISCONTINUITY
            #EXT-X-MAP:URI="../media/3/init.mp4"
            #EXT-X-PROGRAM-DATE-TIME:2026-11-30T09:02:00.000Z
            #EXTINF:30.001,
            ../media/3/0.m4s
            #EXT-X-ENDLIST
        "##]],
        );
    }

    #[test]
    fn a_clip_rounds_outward_and_says_where_it_truly_starts() {
        let clip = Clip {
            from: Some(ms(71_500)),
            to: Some(ms(80_000)),
        };
        check(
            &timeline(),
            clip,
            &expect![[r##"
            #EXTM3U
            #EXT-X-VERSION:7
            #EXT-X-TARGETDURATION:60
            #EXT-X-MEDIA-SEQUENCE:0
            #EXT-X-PLAYLIST-TYPE:VOD
            #EXT-X-INDEPENDENT-SEGMENTS
            #EXT-X-START:TIME-OFFSET=1.493,PRECISE=YES
            #EXT-X-MAP:URI="../media/1/init.mp4"
            #EXT-X-PROGRAM-DATE-TIME:2026-11-30T09:01:10.007Z
            #EXTINF:20.243,
            ../media/1/0.m4s?at=70007&to=90250
            #EXT-X-ENDLIST
        "##]],
        );
    }

    #[test]
    fn a_live_session_has_no_end() {
        let timeline = Timeline {
            live: true,
            duration: ms(10_007),
            fragments: vec![placed(0, 0, 0, 0, 10_007)],
            gaps: vec![],
            ..timeline()
        };
        check(
            &timeline,
            Clip::default(),
            &expect![[r##"
            #EXTM3U
            #EXT-X-VERSION:7
            #EXT-X-TARGETDURATION:60
            #EXT-X-MEDIA-SEQUENCE:0
            #EXT-X-PLAYLIST-TYPE:EVENT
            #EXT-X-INDEPENDENT-SEGMENTS
            #EXT-X-MAP:URI="../media/0/init.mp4"
            #EXT-X-PROGRAM-DATE-TIME:2026-11-30T09:00:00.000Z
            #EXTINF:10.007,
            ../media/0/0.m4s
        "##]],
        );
    }
}
