//! How well does the source do? Told from its pixels and its gaps, since a source that fails may
//! well keep its connection and answer.
//!
//! A screen almost wholly black is told as health alone: it may be meant. One without a single lit
//! pixel, not even a pointer, for as long is no picture of a desktop: it is a gap until something
//! is lit, and loses nothing that could be seen.

use capture::{Framebuffer, GapReason};

use crate::clock::BootTime;

/// A screen is told to be black when it was for this long: the gap is promised within 2 s, on a
/// busy machine too, and screens that are cleared to be painted anew are painted far sooner.
const BLACK_MS: u64 = 1_500;
/// Fewer lit pixels in a thousand than this are a pointer or a caret on nothing.
const LIT_PER_MILLE: u64 = 5;

/// How a recording does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// There is a picture, and something in it.
    Ok,
    /// The screen is black.
    Black,
    /// The source does not answer.
    Stalled,
    /// The source sends more than it may.
    Flood,
    /// The connection is gone.
    Disconnected,
    /// The source lets us in no longer.
    PermissionLost,
    /// Who was to drive the machine was not let in, or said what cannot be recorded.
    DriverRefused,
}

impl State {
    /// The word used in the record and in announcements.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Black => "black",
            Self::Stalled => "stalled",
            Self::Flood => "flood",
            Self::Disconnected => "disconnected",
            Self::PermissionLost => "permission-lost",
            Self::DriverRefused => "driver-refused",
        }
    }

    /// What a gap for `reason` says of the source; `None` where it is not the source's.
    pub(super) const fn of_gap(reason: GapReason) -> Option<Self> {
        match reason {
            GapReason::SourceBlack => Some(Self::Black),
            GapReason::Stalled => Some(Self::Stalled),
            GapReason::BudgetExceeded => Some(Self::Flood),
            GapReason::Disconnected => Some(Self::Disconnected),
            GapReason::PermissionLost => Some(Self::PermissionLost),
            _ => None,
        }
    }
}

/// How much of a screen is lit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Light {
    /// Not one pixel.
    None,
    /// A few: a pointer or a caret.
    Spot,
    /// Enough to be a desktop.
    #[default]
    Lit,
}

impl Light {
    /// Looks at a picture; a lit one is not looked at to its end.
    pub(super) fn of(framebuffer: &Framebuffer) -> Self {
        let enough = (framebuffer.size().area_px() * LIT_PER_MILLE).div_ceil(1000);
        match framebuffer.lit_px(enough) {
            0 => Self::None,
            lit if lit < enough => Self::Spot,
            _ => Self::Lit,
        }
    }
}

/// Watches how long a screen has been black.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// How the picture looks, and since when; `None` before the first.
    look: Option<(Light, BootTime)>,
    /// What was told of a black screen.
    told: Light,
}

impl Watch {
    /// The picture received at `at`.
    pub(super) fn picture(&mut self, at: BootTime, light: Light) {
        if self.look.is_none_or(|(before, _)| before != light) {
            self.look = Some((light, at));
        }
        if light == Light::Lit {
            self.told = Light::Lit;
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to tell.
    pub(super) fn poll_timeout(&self) -> Option<BootTime> {
        let (light, since) = self.look?;
        let news = light != Light::Lit && light != self.told;
        news.then(|| since.plus_ms(BLACK_MS))
    }

    /// What has been black for long enough by `now`: told once.
    pub(super) fn handle_timeout(&mut self, now: BootTime) -> Option<Light> {
        self.poll_timeout().filter(|&due| due <= now)?;
        let (light, _) = self.look?;
        self.told = light;
        Some(light)
    }

    /// Whether nothing has been lit for so long that there is no picture.
    pub(super) fn is_blank(&self) -> bool {
        self.told == Light::None && self.look.is_some_and(|(light, _)| light == Light::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::{Rect, Size};

    fn at(ms: u64) -> BootTime {
        BootTime::from_ms(ms)
    }

    /// Shows `looks` in turn; what is told, and when.
    fn check(looks: &[(u64, Light)], until: u64, expected: &[(u64, Light)]) {
        let mut watch = Watch::default();
        let mut told = Vec::new();
        for &(now, look) in looks.iter().chain([&(until, Light::Lit)]) {
            while let Some(due) = watch.poll_timeout().filter(|&due| due <= at(now)) {
                told.extend(watch.handle_timeout(due).map(|light| (due.ms(), light)));
            }
            watch.picture(at(now), look);
        }
        assert_eq!(told, expected);
    }

    #[test]
    fn a_black_screen_is_told_once_within_two_seconds() {
        use Light::{Lit, None, Spot};
        check(&[(0, None)], 60_000, &[(1_500, None)]);
        check(&[(0, Lit), (5_000, Spot)], 60_000, &[(6_500, Spot)]);
        check(&[(0, None), (100, None)], 60_000, &[(1_500, None)]);
        check(
            &[(0, None), (3_000, Lit), (4_000, None)],
            9_000,
            &[(1_500, None), (5_500, None)],
        );
    }

    #[test]
    fn a_screen_that_is_black_for_a_moment_is_not_told() {
        use Light::{Lit, None, Spot};
        check(&[(0, None), (1_499, Lit)], 60_000, &[]);
        check(
            &[(0, None), (1_000, Spot), (2_000, None), (3_000, Lit)],
            60_000,
            &[],
        );
    }

    #[test]
    fn a_pointer_on_black_is_a_picture_again() {
        let mut watch = Watch::default();
        watch.picture(at(0), Light::None);
        assert!(!watch.is_blank());
        assert_eq!(watch.handle_timeout(at(1_500)), Some(Light::None));
        assert!(watch.is_blank());
        watch.picture(at(2_000), Light::Spot);
        assert!(!watch.is_blank());
    }

    #[test]
    fn light_is_counted_in_pixels() {
        let mut screen = Framebuffer::new(Size::new(100, 100), 0).unwrap();
        assert_eq!(Light::of(&screen), Light::None);
        screen.fill(Rect::new(99, 99, 1, 1), [0, 0, 1, 0]);
        assert_eq!(Light::of(&screen), Light::Spot);
        screen.fill(Rect::new(0, 0, 49, 1), [9; 4]);
        assert_eq!(Light::of(&screen), Light::Lit);
    }
}
