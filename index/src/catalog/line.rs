//! A row of a catalogue as text, on its way to who compares it: a few at a time, so that a catalogue
//! of any size takes no more memory than a small one.

use tokio::sync::mpsc;

/// Lines sent at once: some hundred kilobytes.
const BATCH_LINES: usize = 512;
/// Batches under way: one is read while the next is made.
const BATCHES: usize = 2;

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its table.
    pub table: &'static str,
    /// The table's number, and what names the row in it, in the order in which lines come.
    pub key: (u32, Vec<u8>),
    /// How much of `text` names the row.
    pub name_bytes: usize,
    /// Its fields as `name=value`.
    pub text: String,
}

impl Line {
    /// The fields that name the row.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text.get(..self.name_bytes).unwrap_or(&self.text)
    }
}

/// Where a catalogue gives its lines.
#[derive(Debug)]
pub struct Sender {
    batch: Vec<Line>,
    batches: mpsc::Sender<Vec<Line>>,
}

/// Where they come out, in the order of their keys.
#[derive(Debug)]
pub struct Lines {
    batch: std::vec::IntoIter<Line>,
    batches: mpsc::Receiver<Vec<Line>>,
}

/// A way for lines.
#[must_use]
pub fn channel() -> (Sender, Lines) {
    let (sender, receiver) = mpsc::channel(BATCHES);
    let sender = Sender {
        batch: Vec::with_capacity(BATCH_LINES),
        batches: sender,
    };
    let lines = Lines {
        batch: Vec::new().into_iter(),
        batches: receiver,
    };
    (sender, lines)
}

impl Sender {
    /// Gives one line, where blocking is allowed. `false` when nobody listens.
    pub fn send(&mut self, line: Line) -> bool {
        self.batch.push(line);
        self.batch.len() < BATCH_LINES || self.flush()
    }

    /// That was all.
    pub fn finish(mut self) {
        self.flush();
    }

    fn flush(&mut self) -> bool {
        let next = Vec::with_capacity(BATCH_LINES);
        let batch = std::mem::replace(&mut self.batch, next);
        self.batches.blocking_send(batch).is_ok()
    }
}

impl Lines {
    /// The next line; `None` after the last.
    pub async fn next(&mut self) -> Option<Line> {
        loop {
            if let Some(line) = self.batch.next() {
                return Some(line);
            }
            self.batch = self.batches.recv().await?.into_iter();
        }
    }
}
