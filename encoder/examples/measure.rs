//! What a frame costs in CPU time: conversion and coding of typing-like and whole-screen changes
//! at 1080p. CPU time, because wall time says more about what else runs.
//!
//! `cargo run --release -p encoder --example measure [x264|openh264]`
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it measures time and says so"
)]

use std::time::{Duration, Instant};

use capture::{Damage, Framebuffer, MediaTime, Rect, SessionId, Size};
use encoder::{Canvas, Encoder, Redactor, Track, TrackConfig, h264};
use policy::{Marks, Policy};

const SIZE: Size = Size::new(1920, 1080);
const FRAMES: u32 = 300;
const INTERVAL_MS: u64 = 67;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let encoder = match std::env::args().nth(1) {
        Some(word) => word.parse()?,
        None => Encoder::Auto,
    };
    println!("{} at {SIZE}, {FRAMES} frames", encoder.element()?);
    steps(encoder, "typing", |n| {
        let column = n % 150;
        Rect::new(100 + column * 10, 200 + n / 150 * 20, 12, 20)
    })?;
    steps(encoder, "page", |_| Rect::new(200, 100, 960, 900))?;
    steps(encoder, "whole screen", |_| SIZE.rect())?;
    whole(encoder)
}

/// Conversion and coding apart.
fn steps(encoder: Encoder, name: &str, rect: impl Fn(u32) -> Rect) -> Result<(), Failure> {
    let mut screen = page()?;
    let mut canvas = Canvas::new(SIZE);
    canvas.paint(&screen, None, &Damage::of(SIZE.rect()))?;
    let mut redactor = Redactor::new(Policy::default(), Marks::default());
    let mut codec = h264::opener(encoder, 15)(SIZE)?;
    codec.encode(&redactor.redact(&mut canvas), MediaTime::ZERO, true)?;
    let (mut painting, mut bytes, start) = (Duration::ZERO, 0, cpu()?);
    for n in 0..FRAMES {
        let rect = rect(n);
        write_text(&mut screen, rect, n + 1);
        let painted = Instant::now();
        canvas.paint(&screen, None, &Damage::of(rect))?;
        let frame = redactor.redact(&mut canvas);
        painting += painted.elapsed();
        let t = MediaTime::from_ms(u64::from(n + 1) * INTERVAL_MS);
        bytes += codec.encode(&frame, t, (n + 1) % 60 == 0)?.bytes.len();
    }
    println!(
        "{name}: convert {:.2} ms (wall), all {:.2} ms CPU, {} bytes a frame",
        ms(painting),
        ms(cpu()?.saturating_sub(start)),
        bytes / FRAMES as usize
    );
    Ok(())
}

/// The whole track, with thumbnails and sheets, then two idle minutes.
fn whole(encoder: Encoder) -> Result<(), Failure> {
    let config = TrackConfig {
        session: SessionId::new(0, [0; 10]),
        run: 1,
        seq: 0,
        from: MediaTime::ZERO,
        fps_max: 15,
        encoder,
        marks: Marks::default(),
    };
    let mut track = Track::new(config, Policy::default())?;
    let mut screen = page()?;
    let mut out = Vec::new();
    let mut bytes = 0;
    let start = cpu()?;
    let mut t = MediaTime::ZERO;
    for n in 0..FRAMES {
        let rect = Rect::new(100 + n % 150 * 10, 200, 12, 20);
        write_text(&mut screen, rect, n);
        track.frame(t, &screen, None, &Damage::of(rect), &mut out)?;
        bytes += drained(&mut out);
        t = t.plus_ms(INTERVAL_MS);
    }
    let spent = cpu()?.saturating_sub(start);
    println!(
        "track, typing: {:.2} ms CPU a frame, {bytes} bytes",
        ms(spent)
    );
    let start = cpu()?;
    for _ in 0..120 {
        t = t.plus_ms(1000);
        track.proof(t, &mut out)?;
    }
    let bytes = drained(&mut out);
    let spent = cpu()?.saturating_sub(start);
    println!("two still minutes: {spent:.2?} CPU, {bytes} bytes");
    track.end(t, &mut out)?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    for line in status.lines().filter(|line| line.starts_with("VmHWM")) {
        println!("peak memory: {}", line.trim_start_matches("VmHWM:").trim());
    }
    Ok(())
}

fn drained(out: &mut Vec<encoder::Output>) -> usize {
    let mut wal = Vec::new();
    for output in out.drain(..) {
        if let encoder::Output::Append { record, .. } = output {
            // Records of a track always fit.
            let _ = record.encode(&mut wal);
        }
    }
    wal.len()
}

fn page() -> Result<Framebuffer, Failure> {
    let mut screen = Framebuffer::new(SIZE, 1)?;
    write_text(&mut screen, SIZE.rect(), 0);
    Ok(screen)
}

/// Dark blots on white, about as dense as text.
fn write_text(screen: &mut Framebuffer, rect: Rect, seed: u32) {
    for y in rect.y..rect.bottom() {
        for (x, px) in (rect.x..).zip(screen.row_mut(rect.x, y, rect.w).chunks_exact_mut(4)) {
            let cell = (x / 3).wrapping_mul(2_654_435_761) ^ (y / 4 + seed).wrapping_mul(40_503);
            let line = y / 4 % 5 < 3;
            px.fill(if line && cell >> 9 & 3 == 0 { 30 } else { 245 });
        }
    }
}

/// CPU time of this process so far, to 10 ms (proc(5), `utime` and `stime`).
fn cpu() -> Result<Duration, Failure> {
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    let times = after_name.split(' ').skip(11).take(2);
    let ticks: u32 = times.map(str::parse::<u32>).sum::<Result<_, _>>()?;
    Ok(TICK * ticks)
}

fn ms(total: Duration) -> f64 {
    total.as_secs_f64() * 1000.0 / f64::from(FRAMES)
}
