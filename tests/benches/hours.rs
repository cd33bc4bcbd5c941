//! What does a recorded hour cost a store? Objects and bytes of a busy and of an idle one, on a
//! simulated clock, coded as they would be.

use std::io::Write as _;

use anyhow::Context as _;
use capture::{Damage, Framebuffer, MediaTime, Rect, SessionId, Size};
use encoder::{Encoder, Output, Track, TrackConfig};
use pipeline_tests::schedule::{Random, Schedule};
use policy::{Marks, Policy};
use segment::{Assembled, Assembly, Sha256, assemble};

const SCREEN: Size = Size::new(1280, 720);
/// So much of a busy hour is recorded, and multiplied.
const BUSY_MS: u64 = 600_000;
const HOUR_MS: u64 = 3_600_000;
/// A source that stands still proves it this often.
const PROOF_MS: usize = 900;
/// What each change replaces: a dialog, a page's part, a few words.
const AREAS: [(u32, u32); 3] = [(640, 360), (320, 180), (160, 32)];

/// What went to the store.
#[derive(Clone, Copy, Default)]
struct Sent {
    puts: u64,
    bytes: u64,
}

struct Recording {
    track: Track,
    out: Vec<Output>,
    wal: Vec<u8>,
    sheet: Option<Vec<u8>>,
    sent: Sent,
}

fn main() -> anyhow::Result<()> {
    let mut recording = Recording::begin()?;
    let mut framebuffer = Framebuffer::new(SCREEN, 1)?;
    let mut random = Random::new(7);
    let mut changes = 0;
    recording.show(0, &framebuffer, SCREEN.rect())?;
    for at in Schedule::new(1, BUSY_MS, vec![]) {
        let area = change(&mut framebuffer, &mut random)?;
        recording.show(at, &framebuffer, area)?;
        changes += 1;
    }
    // The proof of stillness that ends the last busy minute.
    recording.rest(BUSY_MS, BUSY_MS + 1_000)?;
    let busy = recording.sent;
    // A whole idle GOP, after which the encoder rests.
    recording.rest(BUSY_MS + 1_000, BUSY_MS + 125_000)?;
    let before = recording.sent;
    recording.rest(BUSY_MS + 125_000, BUSY_MS + 125_000 + HOUR_MS)?;
    let idle = recording.sent;
    let scale = HOUR_MS / BUSY_MS;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "23 a busy hour at 720p, {} changes: {} PUTs, {} MB",
        changes * scale,
        busy.puts * scale,
        busy.bytes * scale / 1_000_000,
    )?;
    writeln!(
        out,
        "23 an idle hour: {} PUTs, {} bytes; and 2 PUTs a session for its head and its end",
        idle.puts - before.puts,
        idle.bytes - before.bytes,
    )?;
    Ok(())
}

/// Fills a part of the screen with other blocks, as text and pictures do.
fn change(framebuffer: &mut Framebuffer, random: &mut Random) -> anyhow::Result<Rect> {
    const BLOCK_PX: u32 = 8;
    let mut below = |end: u32| u32::try_from(random.within(0..u64::from(end)));
    let (w, h) = AREAS[usize::try_from(below(3)?)?];
    let (x, y) = (below(SCREEN.w - w)?, below(SCREEN.h - h)?);
    for dy in (0..h).step_by(8) {
        for dx in (0..w).step_by(8) {
            let [r, g, b, _] = below(u32::MAX)?.to_be_bytes();
            // Most of a page is its paper.
            let colour = if r < 192 {
                [250, 250, 250, 0]
            } else {
                [b, g, r, 0]
            };
            framebuffer.fill(Rect::new(x + dx, y + dy, BLOCK_PX, BLOCK_PX), colour);
        }
    }
    Ok(Rect::new(x, y, w, h))
}

impl Recording {
    fn begin() -> anyhow::Result<Self> {
        let config = TrackConfig {
            session: SessionId::new(1, [3; 10]),
            run: 1,
            seq: 0,
            from: MediaTime::ZERO,
            fps_max: 15,
            encoder: Encoder::Auto,
            marks: Marks::default(),
        };
        Ok(Self {
            track: Track::new(config, Policy::default())?,
            out: Vec::new(),
            wal: Vec::new(),
            sheet: None,
            sent: Sent::default(),
        })
    }

    fn show(&mut self, at: u64, framebuffer: &Framebuffer, area: Rect) -> anyhow::Result<()> {
        let (t, damage) = (MediaTime::from_ms(at), Damage::of(area));
        self.track
            .frame(t, framebuffer, None, &damage, &mut self.out)?;
        self.send()
    }

    fn rest(&mut self, from: u64, to: u64) -> anyhow::Result<()> {
        for at in (from..to).step_by(PROOF_MS) {
            self.track.proof(MediaTime::from_ms(at), &mut self.out)?;
            self.send()?;
        }
        Ok(())
    }

    /// Counts what is complete as the agent would send it.
    fn send(&mut self) -> anyhow::Result<()> {
        for output in self.out.drain(..) {
            match output {
                Output::Append { record, .. } => record.encode(&mut self.wal)?,
                Output::Sheet { jpeg, .. } => self.sheet = Some(jpeg),
                Output::Sealed { seq } => {
                    let sheet = self.sheet.take();
                    let assembly = Assembly {
                        prev: Sha256::of(&seq.to_be_bytes()),
                        sheet: sheet.as_deref(),
                    };
                    let assembled = assemble(&self.wal, assembly).context("assembling")?;
                    self.wal.clear();
                    let (Assembled::Segment { bytes, .. } | Assembled::Idle { bytes, .. }) =
                        assembled
                    else {
                        continue;
                    };
                    for object in [Some(bytes), sheet].into_iter().flatten() {
                        self.sent.puts += 1;
                        self.sent.bytes += u64::try_from(object.len())?;
                    }
                }
            }
        }
        Ok(())
    }
}
