//! From objects to a timeline.

use std::collections::HashMap;

use capture::{Anchor, ClockMap, Gap, MediaTime, WallTime};
use segment::manifest::{Fragment, Mask, Repeat};

use super::{
    InitAt, MAX_PLACED, MAX_SAMPLES, ObjectSpans, Placed, ThumbsAt, Timeline, TimelineError,
};

impl Timeline {
    /// The timeline of a session that began at `start`, from its objects in `seq` order.
    /// `end` is its length once it has ended; until then it reaches as far as its objects.
    ///
    /// # Errors
    /// When objects contradict themselves or each other.
    pub fn new(
        start: WallTime,
        end: Option<MediaTime>,
        live: bool,
        objects: Vec<ObjectSpans>,
    ) -> Result<Self, TimelineError> {
        let last = objects.iter().map(|object| object.to).max();
        let duration = end.or(last).unwrap_or(MediaTime::ZERO);
        let fragments = place_all(&objects)?;
        let mut anchors = Vec::new();
        let (mut gaps, mut masks) = (Vec::new(), Vec::new());
        let (mut inits, mut thumbs) = (Vec::new(), Vec::new());
        let mut activity = Vec::new();
        for object in objects {
            let seq = object.seq;
            for anchor in object.anchors {
                // One that two objects share, as at a cut, counts once.
                if anchors.last().is_none_or(|last: &Anchor| last.t < anchor.t) {
                    anchors.push(anchor);
                }
            }
            object
                .gaps
                .into_iter()
                .for_each(|gap| join_gap(&mut gaps, gap));
            object
                .masks
                .into_iter()
                .for_each(|mask| join_mask(&mut masks, mask));
            activity.extend(object.activity);
            thumbs.extend(object.thumbs.map(|thumbs| ThumbsAt { seq, thumbs }));
            inits.extend(object.init.map(|init| InitAt {
                seq,
                codec: init.codec,
                width: init.width,
                height: init.height,
                crop: init.crop,
            }));
        }
        if anchors.is_empty() {
            // Before the first object is in, the head alone ties the clocks.
            anchors.push(start_anchor(start));
        }
        masks.sort_by_key(|mask: &Mask| (mask.from, mask.to));
        Ok(Self {
            duration,
            live,
            inits,
            fragments,
            gaps,
            clock: ClockMap::new(anchors)?,
            masks,
            thumbs,
            activity,
        })
    }
}

/// The anchor that a session's head states: media time was zero at `start`.
#[must_use]
pub const fn start_anchor(start: WallTime) -> Anchor {
    Anchor {
        t: MediaTime::ZERO,
        utc: start,
        error_ms: None,
        step: false,
    }
}

/// Every fragment where it was recorded and where it is repeated, in time order.
fn place_all(objects: &[ObjectSpans]) -> Result<Vec<Placed>, TimelineError> {
    let mut recorded: HashMap<(u64, u32), &Fragment> = HashMap::new();
    let mut placed: Vec<Placed> = Vec::new();
    let mut samples = 0usize;
    for object in objects {
        let seq = object.seq;
        let broken = |problem| TimelineError::Broken { seq, problem };
        let mut push = |place: Placed| {
            if placed.last().is_some_and(|last| place.at < last.to) {
                return Err(broken("a fragment begins before the one before it ends"));
            }
            samples += place.samples.len();
            if placed.len() >= MAX_PLACED || samples > MAX_SAMPLES {
                return Err(TimelineError::TooLong { seq });
            }
            placed.push(place);
            Ok(())
        };
        // Within an object, repeats come before its own fragments.
        for repeat in &object.repeats {
            let Some(fragment) = recorded.get(&(repeat.seq, repeat.fragment)) else {
                return Err(broken(
                    "a repeat names a fragment that no earlier object has",
                ));
            };
            let mut at = repeat.from;
            while at < repeat.to {
                let to = at.plus_ms(fragment.dur).min(repeat.to);
                push(place(fragment, repeat, at, to))?;
                at = to;
            }
        }
        for (n, fragment) in (0u32..).zip(&object.fragments) {
            if !is_sound(fragment) {
                return Err(broken("a fragment's samples do not lie within it"));
            }
            recorded.insert((seq, n), fragment);
            let here = Repeat {
                seq,
                fragment: n,
                from: fragment.t,
                to: fragment.end(),
            };
            push(place(fragment, &here, fragment.t, fragment.end()))?;
        }
    }
    Ok(placed)
}

/// Whether samples begin with the fragment, increase, and begin before its end.
fn is_sound(fragment: &Fragment) -> bool {
    let offsets = || fragment.samples.iter().map(|&(dt, _)| dt);
    offsets().next() == Some(0)
        && offsets().zip(offsets().skip(1)).all(|(a, b)| a < b)
        && offsets().all(|dt| dt < fragment.dur)
        && fragment.t.ms().checked_add(fragment.dur).is_some()
}

fn place(fragment: &Fragment, source: &Repeat, at: MediaTime, to: MediaTime) -> Placed {
    let shown = fragment.samples.iter().map(|&(dt, _)| at.plus_ms(dt));
    Placed {
        seq: source.seq,
        fragment: source.fragment,
        t: fragment.t,
        dur: fragment.dur,
        at,
        to,
        bytes: fragment.len,
        samples: shown.take_while(|&t| t < to).collect(),
    }
}

/// A gap that runs on from one object into the next is one gap.
fn join_gap(gaps: &mut Vec<Gap>, gap: Gap) {
    match gaps.last_mut() {
        Some(last) if last.to == gap.from && last.reason == gap.reason => last.to = gap.to,
        _ => gaps.push(gap),
    }
}

fn join_mask(masks: &mut Vec<Mask>, mask: Mask) {
    // Only the newest few can run on; a page has a handful of masks at a time.
    let same = |last: &&mut Mask| {
        last.to == mask.from
            && last.rect == mask.rect
            && last.rule == mask.rule
            && last.kind == mask.kind
    };
    match masks.iter_mut().rev().take(256).find(same) {
        Some(last) => last.to = mask.to,
        None => masks.push(mask),
    }
}
