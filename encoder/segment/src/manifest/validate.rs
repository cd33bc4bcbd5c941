//! What must hold within a manifest, whatever its file contains.

use capture::MediaTime;

use super::{Fragment, Manifest, Span};

/// A manifest that contradicts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule} (at {at})")]
pub struct InvalidManifest {
    /// The rule that it breaks.
    pub rule: &'static str,
    /// Where in the session.
    pub at: MediaTime,
}

fn must(holds: bool, at: MediaTime, rule: &'static str) -> Result<(), InvalidManifest> {
    if holds {
        Ok(())
    } else {
        Err(InvalidManifest { rule, at })
    }
}

impl Span {
    /// Checks that gaps, repeats and masks lie within the span, and that gaps and repeats are in
    /// order and do not overlap.
    ///
    /// # Errors
    /// Names the first rule that is broken.
    pub fn validate(&self) -> Result<(), InvalidManifest> {
        self.stretches().map(drop)
    }

    /// The gaps and repeats, in order.
    fn stretches(&self) -> Result<Vec<(MediaTime, MediaTime)>, InvalidManifest> {
        must(
            self.from <= self.to,
            self.from,
            "the span ends before it begins",
        )?;
        let gaps = self.gaps.iter().map(|gap| (gap.from, gap.to));
        let repeats = self.repeats.iter().map(|repeat| (repeat.from, repeat.to));
        let mut stretches: Vec<_> = gaps.chain(repeats).collect();
        stretches.sort_unstable();
        self.ordered(&stretches)?;
        let inside = |from, to| self.from <= from && from < to && to <= self.to;
        for mask in &self.masks {
            must(
                inside(mask.from, mask.to),
                mask.from,
                "a mask lies outside the span",
            )?;
        }
        Ok(stretches)
    }

    /// Checks that `stretches` follow each other within the span.
    fn ordered(&self, stretches: &[(MediaTime, MediaTime)]) -> Result<(), InvalidManifest> {
        let mut end = self.from;
        for &(from, to) in stretches {
            must(
                end <= from,
                from,
                "a stretch begins before the one before it ends",
            )?;
            must(from < to, from, "a stretch ends before it begins")?;
            end = to;
        }
        must(end <= self.to, end, "a stretch ends after the span")
    }
}

impl Manifest {
    /// Checks that the manifest agrees with itself: the span as [`Span::validate`] does; that the
    /// fragments follow each other without a hole in time, beside gaps and repeats; and that
    /// init, fragments and events follow each other in the file.
    ///
    /// # Errors
    /// Names the first rule that is broken.
    pub fn validate(&self) -> Result<(), InvalidManifest> {
        let mut stretches = self.span.stretches()?;
        let from = self.span.from;
        let (first, last) =
            self.fragments
                .first()
                .zip(self.fragments.last())
                .ok_or(InvalidManifest {
                    rule: "a segment has no fragment",
                    at: from,
                })?;
        let mut t = first.t;
        let mut offset = self.init.len;
        must(self.init.offset == 0, from, "the init part is not first")?;
        for fragment in &self.fragments {
            must(
                fragment.t == t,
                fragment.t,
                "fragments leave a hole in time",
            )?;
            must(
                fragment.offset == offset,
                t,
                "fragments leave a hole in the file",
            )?;
            fragment.validate()?;
            t = fragment.end();
            offset = fragment.byte_range().end;
        }
        must(
            self.events.offset == offset,
            t,
            "the events box is not behind the fragments",
        )?;
        stretches.push((first.t, last.end()));
        stretches.sort_unstable();
        self.span.ordered(&stretches)?;
        let (size, screen) = (self.init.coded(), self.init.crop.unwrap_or_default());
        must(size.area_px() > 0, from, "the picture has no pixels")?;
        must(
            screen.fits(size),
            from,
            "the crop is not within the coded picture",
        )
    }
}

impl Fragment {
    fn validate(&self) -> Result<(), InvalidManifest> {
        let starts = self.samples.iter().map(|&(dt, _)| dt);
        let ends = starts.clone().skip(1).chain([self.dur]);
        must(
            self.t.ms().checked_add(self.dur).is_some(),
            self.t,
            "time overflows",
        )?;
        must(
            starts.clone().next() == Some(0),
            self.t,
            "a fragment does not begin with a sample",
        )?;
        must(
            starts.zip(ends).all(|(from, to)| from < to),
            self.t,
            "a sample ends before it begins",
        )
    }
}
