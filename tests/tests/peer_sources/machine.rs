//! A machine with a screen, as the table needs it: what is on it can be changed and asked for
//! without the source under test.

use std::time::Duration;

use capture::{Point, Size};
use capture_vnc::Config;
use pipeline_tests::{clock::wait_for, process::Process};

use crate::{recorder::Link, screenshot::Screenshot};

const LIMIT: Duration = Duration::from_secs(10);

pub(crate) trait Machine {
    /// Connects to its source, as a recorder does.
    fn connect(&self) -> Box<dyn Link>;

    /// What it says is on its screen, without the pointer.
    fn screenshot(&self) -> Screenshot;

    /// Shows a picture of many colours, another one for each `scene`.
    fn paint(&mut self, scene: u8);

    /// Shows nothing at all.
    fn blacken(&mut self);

    /// Begins to change much of the screen, many times a second and for a second or two.
    fn burst(&mut self);

    /// Sizes that its screen can take.
    fn sizes(&self) -> Vec<Size>;

    /// Gives its screen one of [`sizes`](Self::sizes).
    fn resize(&mut self, size: Size);

    /// Moves the pointer from inside, where the machine has one.
    fn point(&mut self, at: Point);

    /// The process that serves its picture.
    fn server(&mut self) -> &mut Process;

    /// Waits until its screen stands.
    fn settle(&self) {
        let mut before = self.screenshot();
        let stands = || {
            let shown = self.screenshot();
            let same = shown == before;
            before = shown;
            Ok(same.then_some(()))
        };
        wait_for("the picture to stand", LIMIT, stands).unwrap();
    }
}

/// A machine whose source speaks VNC, in whatever way it is asked to.
pub(crate) trait VncMachine: Machine {
    /// Connects to it in this way.
    fn connect_with(&self, config: Config) -> Box<dyn Link>;
}
