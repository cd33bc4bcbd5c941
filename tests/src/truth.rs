//! Does a frame tell the truth? The rule that a served picture is held to, against the painter.

use anyhow::{Context as _, ensure};
use capture::WallTime;

use crate::code::Code;
use crate::paint_log::{Paint, may_show};
use crate::picture::Picture;
use crate::playhead::Session;

/// One capture interval at 15 frames a second.
const INTERVAL_MS: u64 = 67;
/// Time a paint may take through the VNC server and the recorder on a busy machine.
const DELAY_MS: u64 = 100;
/// From a paint to the moment at which it must be recorded.
pub const LATE_MS: u64 = INTERVAL_MS + DELAY_MS;
/// Two clocks, rounded to the ms and slewed, disagree by less than what counts as a step.
const CLOCKS_MS: u64 = 20;

/// The frame at `utc_ms` must show the newest paint that was certainly recorded by then, or one
/// begun since; and it must say a time of its own that lies between that paint and the question.
///
/// # Errors
/// When the picture shows anything else.
pub fn check_moment(session: &Session<'_>, utc_ms: u64, paints: &[Paint]) -> anyhow::Result<()> {
    check_moment_late(session, utc_ms, paints, 0)
}

/// The same on a machine that is known to have been late by `busy_ms` more than usual.
///
/// # Errors
/// When the picture shows anything else.
pub fn check_moment_late(
    session: &Session<'_>,
    utc_ms: u64,
    paints: &[Paint],
    busy_ms: u64,
) -> anyhow::Result<()> {
    let asked = format!("/frame?format=png&at={}", wall(utc_ms)?);
    check(session, &asked, utc_ms, paints, LATE_MS + busy_ms)
}

/// As [`check_moment`], for a question put in any way that means `utc_ms`.
///
/// # Errors
/// When the picture shows anything else.
pub fn check_answer(
    session: &Session<'_>,
    asked: &str,
    utc_ms: u64,
    paints: &[Paint],
) -> anyhow::Result<()> {
    check(session, asked, utc_ms, paints, LATE_MS)
}

fn check(
    session: &Session<'_>,
    asked: &str,
    utc_ms: u64,
    paints: &[Paint],
    late_ms: u64,
) -> anyhow::Result<()> {
    let answer = session.get(asked)?;
    let code = Picture::of(&answer)?.code()?;
    let expected = may_show(paints, utc_ms, CLOCKS_MS, late_ms);
    check_shown(code, utc_ms, expected).with_context(|| asked.to_owned())?;
    let frame_ms = wall_ms(answer.header("x-playhead-frame-utc")?)?;
    ensure!(
        code.utc_ms <= frame_ms + CLOCKS_MS && frame_ms <= utc_ms + CLOCKS_MS,
        "{asked} gives a frame of {frame_ms} that shows a paint of {}",
        code.utc_ms
    );
    Ok(())
}

/// What a picture for `utc_ms` says must be a paint that it may show.
///
/// # Errors
/// When it says anything else.
pub fn check_code(code: Code, utc_ms: u64, paints: &[Paint]) -> anyhow::Result<()> {
    check_shown(code, utc_ms, may_show(paints, utc_ms, CLOCKS_MS, LATE_MS))
}

fn check_shown(code: Code, utc_ms: u64, expected: &[Paint]) -> anyhow::Result<()> {
    let shows =
        |paint: &Paint| paint.utc_ms == code.utc_ms && paint.n & 0xffff == u64::from(code.n);
    ensure!(
        expected.iter().any(shows),
        "{code:?} at {utc_ms}, expected one of {expected:?}"
    );
    Ok(())
}

/// A time as the API writes it.
///
/// # Errors
/// When it is past the year 9999.
pub fn wall(utc_ms: u64) -> anyhow::Result<WallTime> {
    Ok(WallTime::from_unix_ms(i64::try_from(utc_ms)?))
}

/// Milliseconds since 1970 of a time as the API writes it.
///
/// # Errors
/// When it is no time.
pub fn wall_ms(text: &str) -> anyhow::Result<u64> {
    Ok(u64::try_from(text.parse::<WallTime>()?.unix_ms())?)
}
