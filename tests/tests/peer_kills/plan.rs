//! Who is killed, where, doing what, and when? All of it follows from a seed.

use std::fmt;

use pipeline_tests::schedule::Random;

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Victim {
    /// The process that decodes and encodes.
    Child,
    /// The process that delivers.
    Parent,
    /// Both at once, so that neither can say a last word.
    Both,
}

/// Where the recording goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A file store.
    Folder,
    /// S3.
    Bucket,
}

/// What goes on at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum During {
    /// The screen changes.
    Work,
    /// Nothing changes.
    Rest,
    /// A secret is open, and its mask is up.
    Secret,
    /// The store is away.
    Outage,
}

/// Who finds what a dead parent left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finder {
    /// `flush`.
    Flush,
    /// The next recorder, beside its own session.
    Next,
    /// A recorder that goes on with the session.
    Resume,
}

/// One kill.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kill {
    pub(crate) n: u64,
    pub(crate) victim: Victim,
    pub(crate) place: Place,
    pub(crate) during: During,
    /// After the first durable frame.
    pub(crate) after_ms: u64,
    pub(crate) finder: Finder,
}

/// The earliest and the latest moment: within the first GOP and past it.
const AFTER_MS: std::ops::Range<u64> = 100..9_000;

impl Kill {
    /// The `n`th of a run.
    pub(crate) fn new(seed: u64, n: u64) -> Self {
        let mut random = Random::new(seed ^ n << 48);
        Self {
            n,
            victim: [Victim::Child, Victim::Parent, Victim::Both][choose(n, 3)],
            place: [Place::Folder, Place::Bucket][choose(n, 2)],
            during: [During::Work, During::Rest, During::Secret, During::Outage]
                [choose(random.within(0..4), 4)],
            after_ms: random.within(AFTER_MS),
            finder: [Finder::Flush, Finder::Next, Finder::Resume][choose(random.within(0..3), 3)],
        }
    }
}

fn choose(n: u64, of: u64) -> usize {
    usize::try_from(n % of).unwrap_or_default()
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            n,
            victim,
            place,
            during,
            after_ms,
            finder,
        } = self;
        write!(
            f,
            "kill {n}, {victim:?} at {place:?} during {during:?}, after {after_ms} ms"
        )?;
        if *victim != Victim::Child {
            write!(f, ", then {finder:?}")?;
        }
        Ok(())
    }
}
