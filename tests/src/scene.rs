//! The usual scene: a desktop with the painter on it, and a recorder of both.

use std::time::Duration;

use crate::clock::{pass_until_utc_ms, utc_ms, wait_for};
use crate::desktop::{Desktop, Painter};
use crate::paint_log::Paint;
use crate::playhead::{Home, Recorder};
use crate::truth::LATE_MS;

/// The painter paints at least this often outside its idle spans.
const NEXT_PAINT: Duration = Duration::from_secs(5);

/// Everything that runs while something is recorded. Dropped from top to bottom.
#[derive(Debug)]
pub struct Scene {
    /// `playhead-agent record`.
    pub recorder: Recorder,
    /// The painter.
    pub painter: Painter,
    /// The desktop it paints on.
    pub desktop: Desktop,
    /// Where the recording goes.
    pub home: Home,
}

impl Scene {
    /// A desktop of `size` px whose painter paints for ten minutes, and its recorder.
    ///
    /// # Errors
    /// When a part does not come up.
    pub fn start(size: (u16, u16), record: &[&str]) -> anyhow::Result<Self> {
        Self::start_in(Home::new()?, size, record)
    }

    /// The same, recorded into `home`.
    ///
    /// # Errors
    /// When a part does not come up.
    pub fn start_in(home: Home, size: (u16, u16), record: &[&str]) -> anyhow::Result<Self> {
        let desktop = Desktop::start(home.path(), size)?;
        let painter = Painter::start(home.path(), &desktop, &["--seconds", "600"])?;
        let recorder = Recorder::start(&home, &desktop.url(), record)?;
        Ok(Self {
            recorder,
            painter,
            desktop,
            home,
        })
    }

    /// Lets the painter work on for `ms`, and until a paint after that is surely recorded.
    /// Returns the moment.
    ///
    /// # Errors
    /// When it stopped painting.
    pub fn work(&self, ms: u64) -> anyhow::Result<u64> {
        let until = utc_ms() + ms;
        pass_until_utc_ms(until);
        let painted = wait_for("the next paint", NEXT_PAINT, || {
            let last = self.painter.paints()?.last().copied();
            Ok(last.filter(|last| until <= last.utc_ms))
        })?;
        pass_until_utc_ms(painted.painted_ms + LATE_MS);
        Ok(utc_ms())
    }

    /// Closes the recording, then ends the desktop.
    ///
    /// # Errors
    /// When the recorder does not close cleanly.
    pub fn close(self) -> anyhow::Result<(Home, Vec<Paint>)> {
        self.recorder.close()?;
        let paints = self.painter.paints()?;
        Ok((self.home, paints))
    }
}
