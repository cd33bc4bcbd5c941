//! Which pixels may be seen at an instant: the one step between the canvas and everything that
//! reads it.

use capture::{Damage, MediaTime, Rect, Size};
use policy::{Marks, Policy, Region};
use segment::record::MaskRecord;

use crate::{Canvas, i420::I420};

/// A mask covers this many pixels more on each side, for what anti-aliasing smears over its edge.
const MARGIN_PX: u32 = 2;
/// A dark grey: told apart from black, and solid, because blur and pixelation can be undone.
pub(crate) const MASK_YUV: [u8; 3] = [57, 128, 128];

/// The rule on record where it is not known which marks are open, and so nothing is shown.
const UNKNOWN_MARKS: &str = "marks-unknown";

/// Decides the masks for each instant and paints them.
pub struct Redactor {
    policy: Policy,
    marks: Marks,
    screen: Size,
    in_force: Vec<Mask>,
}

/// A mask in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Where it is painted, in true screen pixels: even edges, but for the screen's own.
    pub rect: Rect,
    /// The name of its rule.
    pub rule: String,
    /// Why it applies.
    pub kind: MaskKind,
}

/// Why a mask applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskKind {
    /// The policy names a fixed region.
    Fixed,
    /// A mark said so.
    Mark,
}

impl MaskKind {
    /// The word used in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Mark => "mark",
        }
    }
}

impl Mask {
    /// The record that this mask comes into force, or goes, at `t`.
    #[must_use]
    pub fn record(&self, t: MediaTime) -> MaskRecord {
        MaskRecord {
            t,
            rect: self.rect,
            rule: self.rule.clone(),
            kind: self.kind.as_str().to_owned(),
        }
    }
}

impl Redactor {
    /// Carries out `policy`, with `marks` open.
    #[must_use]
    pub const fn new(policy: Policy, marks: Marks) -> Self {
        Self {
            policy,
            marks,
            screen: Size::new(0, 0),
            in_force: Vec::new(),
        }
    }

    /// Exactly `marks` are open from now on. Gives back where this changes a `screen`.
    pub fn tell(&mut self, marks: &Marks, screen: Size) -> Damage {
        let before = self.masks(screen).to_vec();
        self.marks.clone_from(marks);
        self.in_force = self.decide(screen);
        let after = &self.in_force;
        let gone = before.iter().filter(|mask| !after.contains(mask));
        let new = after.iter().filter(|mask| !before.contains(mask));
        let mut changed = Damage::default();
        gone.chain(new).for_each(|mask| changed.add(mask.rect));
        changed
    }

    /// The masks in force on a `screen`.
    pub fn masks(&mut self, screen: Size) -> &[Mask] {
        if self.screen != screen {
            self.screen = screen;
            self.in_force = self.decide(screen);
        }
        &self.in_force
    }

    fn decide(&self, screen: Size) -> Vec<Mask> {
        let mut masks: Vec<Mask> = Vec::new();
        let mut mask = |region: Region, rule: &str, kind: MaskKind| {
            let rect = grown(region.on(screen), screen);
            // The record tells masks apart by place and rule alone.
            let known = masks.iter().any(|it| it.rect == rect && it.rule == rule);
            if !rect.is_empty() && !known {
                let rule = rule.to_owned();
                masks.push(Mask { rect, rule, kind });
            }
        };
        let (always, between): (Vec<_>, Vec<_>) =
            (self.policy.masks().iter()).partition(|rule| rule.between.is_none());
        for rule in always {
            mask(rule.region, &rule.name, MaskKind::Fixed);
        }
        if self.marks == Marks::Unknown {
            mask(Region::Full, UNKNOWN_MARKS, MaskKind::Mark);
        }
        for rule in between {
            let between = rule.between.as_ref();
            if between.is_some_and(|between| self.marks.is_open(&between.from_mark)) {
                mask(rule.region, &rule.name, MaskKind::Mark);
            }
        }
        masks
    }

    /// The part of `damage` that no mask hides. A change seen by nobody is no change: not even
    /// its time is recorded.
    pub fn visible(&mut self, screen: Size, damage: &Damage) -> Damage {
        let masks = self.masks(screen);
        let mut visible = Damage::default();
        for &rect in damage.rects() {
            if !masks
                .iter()
                .any(|mask| rect.intersection(mask.rect) == rect)
            {
                visible.add(rect);
            }
        }
        visible
    }

    /// Paints the masks in force over whatever was painted since the last call.
    pub fn redact<'a>(&mut self, canvas: &'a mut Canvas) -> RedactedFrame<'a> {
        let unmasked = canvas.take_unmasked();
        let mut passing = Vec::new();
        for mask in self.masks(canvas.screen()) {
            match mask.kind {
                MaskKind::Fixed => canvas.cover(mask.rect, &unmasked, MASK_YUV),
                MaskKind::Mark => passing.push(mask.rect),
            }
        }
        canvas.veil(passing, &unmasked, MASK_YUV);
        RedactedFrame { canvas }
    }
}

/// A region with its margin, rounded outward to whole chroma samples, clipped to the screen.
fn grown(rect: Rect, screen: Size) -> Rect {
    if rect.is_empty() {
        return rect;
    }
    let (x, y) = (
        rect.x.saturating_sub(MARGIN_PX),
        rect.y.saturating_sub(MARGIN_PX),
    );
    let (right, bottom) = (rect.right() + MARGIN_PX, rect.bottom() + MARGIN_PX);
    Rect::new(x, y, right - x, bottom - y)
        .even_outward()
        .intersection(screen.rect())
}

/// A picture whose masks are painted.
///
/// INVARIANT: made by [`Redactor::redact`] alone. Codecs and thumbnails take nothing else, so no
/// pixel that a mask covers can be stored.
pub struct RedactedFrame<'a> {
    canvas: &'a Canvas,
}

impl RedactedFrame<'_> {
    /// The coded size in pixels: even.
    #[must_use]
    pub const fn coded(&self) -> Size {
        self.canvas.coded()
    }

    /// The true screen's size, at the top left of the coded picture.
    #[must_use]
    pub const fn screen(&self) -> Size {
        self.canvas.screen()
    }

    /// The picture's planes, luma and both chroma, rows at multiples of four bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.canvas.planes().bytes()
    }

    pub(crate) fn planes(&self) -> &I420 {
        self.canvas.planes()
    }
}

#[cfg(test)]
mod tests {
    use capture::{Framebuffer, Point, cursor::Cursor, cursor::CursorShape};

    use super::*;

    const WHITE: [u8; 4] = [255; 4];

    fn policy(rect: &str) -> Policy {
        Policy::parse(&format!("[[mask]]\nname = \"m\"\nrect = {rect}\n")).unwrap()
    }

    /// Paints a white screen and checks that masked pixels, and only those, are the mask's colour.
    fn check(size: Size, rect: &str, expected: Rect) {
        let mut redactor = Redactor::new(policy(rect), Marks::default());
        let mut fb = Framebuffer::new(size, 1).unwrap();
        let mut canvas = Canvas::new(size);
        let shape = CursorShape::new(Size::new(9, 9), Point::default(), [255; 9 * 9 * 4].into());
        let cursor = Cursor {
            shape: shape.unwrap(),
            at: Point { x: 5, y: 5 },
        };
        let whole = Damage::of(size.rect());
        for damage in [whole, Damage::of(Rect::new(0, 0, 9, 9)), Damage::default()] {
            fb.fill(size.rect(), WHITE);
            canvas.paint(&fb, Some(&cursor), &damage).unwrap();
            let frame = redactor.redact(&mut canvas);
            for (x, y) in (0..size.w).flat_map(|x| (0..size.h).map(move |y| (x, y))) {
                let masked = frame.planes().pixel(x, y) == MASK_YUV;
                let inside = !Rect::new(x, y, 1, 1).intersection(expected).is_empty();
                assert_eq!(masked, inside, "{size} at {x},{y}");
            }
        }
        assert_eq!(redactor.masks(size)[0].rect, expected);
    }

    #[test]
    fn masks_cover_their_margin_in_whole_chroma_samples() {
        check(Size::new(64, 48), "[11, 9, 8, 6]", Rect::new(8, 6, 14, 12));
    }

    #[test]
    fn masks_cover_odd_edges() {
        check(Size::new(33, 19), "[28, 0, 9, 9]", Rect::new(26, 0, 7, 12));
        check(Size::new(33, 19), "\"full\"", Rect::new(0, 0, 33, 19));
    }

    #[test]
    fn padding_beside_a_masked_edge_is_masked() {
        let size = Size::new(9, 9);
        let mut fb = Framebuffer::new(size, 1).unwrap();
        fb.fill(size.rect(), WHITE);
        let mut canvas = Canvas::new(size);
        canvas.paint(&fb, None, &Damage::of(size.rect())).unwrap();
        let mut redactor = Redactor::new(policy("\"full\""), Marks::default());
        let frame = redactor.redact(&mut canvas);
        let coded = frame.coded();
        for (x, y) in (0..coded.w).flat_map(|x| (0..coded.h).map(move |y| (x, y))) {
            assert_eq!(frame.planes().pixel(x, y), MASK_YUV, "at {x},{y}");
        }
    }

    #[test]
    fn a_change_under_a_mask_is_no_change() {
        let mut redactor = Redactor::new(policy("[10, 10, 20, 20]"), Marks::default());
        let screen = Size::new(64, 48);
        let mut damage = Damage::of(Rect::new(12, 12, 4, 4));
        assert!(redactor.visible(screen, &damage).is_empty());
        damage.add(Rect::new(30, 30, 10, 10));
        let seen = redactor.visible(screen, &damage);
        assert_eq!(seen.bounds(), Rect::new(30, 30, 10, 10));
    }

    #[test]
    fn a_mask_outside_the_screen_is_not_in_force() {
        let mut redactor = Redactor::new(policy("[1600, 0, 320, 40]"), Marks::default());
        assert!(redactor.masks(Size::new(800, 600)).is_empty());
        assert_eq!(redactor.masks(Size::new(1920, 1080)).len(), 1);
    }

    /// A fixed mask and one between marks overlap on a screen of odd size.
    #[test]
    fn a_mask_that_ends_leaves_the_true_picture_and_the_other_masks() {
        let policy = "[[mask]]\nname = \"always\"\nrect = [0, 0, 8, 8]\n\
            [[mask]]\nname = \"vault\"\nrect = [6, 6, 99, 99]\n\
            from_mark = \"a\"\nto_mark = \"b\"\n";
        let mut redactor = Redactor::new(Policy::parse(policy).unwrap(), Marks::default());
        let size = Size::new(33, 19);
        let (always, vault) = (Rect::new(0, 0, 10, 10), Rect::new(4, 4, 29, 15));
        let mut fb = Framebuffer::new(size, 1).unwrap();
        let mut canvas = Canvas::new(size);
        let open = Marks::Open(vec!["a".to_owned()]);
        for (marks, colour) in [
            (Marks::default(), WHITE),
            (open.clone(), WHITE),
            (open, [0, 0, 255, 0]),
            (Marks::default(), [0, 0, 255, 0]),
        ] {
            redactor.tell(&marks, size);
            fb.fill(size.rect(), colour);
            let damage = redactor.visible(size, &Damage::of(size.rect()));
            canvas.paint(&fb, None, &damage).unwrap();
            let frame = redactor.redact(&mut canvas);
            let shown = frame.planes().pixel(32, 0);
            let coded = frame.coded().rect();
            for (x, y) in (0..coded.w).flat_map(|x| (0..coded.h).map(move |y| (x, y))) {
                let inside = |rect: Rect| {
                    // Padding belongs to the edge beside it.
                    let on = Rect::new(x.min(size.w - 1), y.min(size.h - 1), 1, 1);
                    !on.intersection(rect).is_empty()
                };
                let masked = inside(always) || marks.any() && inside(vault);
                let expected = if masked { MASK_YUV } else { shown };
                assert_eq!(
                    frame.planes().pixel(x, y),
                    expected,
                    "at {x},{y} with {marks:?}"
                );
            }
        }
    }
}
