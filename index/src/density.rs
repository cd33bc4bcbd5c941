//! How busy is each part of a session? Counts per bucket and lane, for drawing it whole.

use std::collections::BTreeMap;

use capture::{MediaTime, SessionId, WallTime};
use serde::Serialize;

use crate::{Timeline, catalog::Catalog, catalog::CatalogError};

/// The most buckets: more than a screen has pixels.
pub const MAX_BUCKETS: u32 = 8192;

/// A session in `n` equal parts of its length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Density {
    /// The session's length, in milliseconds.
    pub duration_ms: u64,
    /// How many parts there are.
    pub n: u32,
    /// By lane, one number for each part. `activity`: the greatest share of the screen that
    /// changed in a second, in thousandths. `recorded allowed blocked asked`: rows of that
    /// outcome. Lanes without any are left out.
    pub lanes: BTreeMap<String, Vec<u32>>,
}

/// The density of a session in `n` parts (limited to [`MAX_BUCKETS`]); `None` when it is unknown.
///
/// # Errors
/// When the catalogue cannot be asked or the session has no timeline.
pub async fn density(
    catalog: &dyn Catalog,
    session: SessionId,
    n: u32,
    now: WallTime,
) -> Result<Option<Density>, CatalogError> {
    let n = n.clamp(1, MAX_BUCKETS);
    let Some(timeline) = catalog.timeline(session, now).await? else {
        return Ok(None);
    };
    let mut lanes = catalog.event_density(session, timeline.duration, n).await?;
    let activity = activity(&timeline, n);
    if activity.iter().any(|&permille| permille > 0) {
        lanes.insert("activity".to_owned(), activity);
    }
    Ok(Some(Density {
        duration_ms: timeline.duration.ms(),
        n,
        lanes,
    }))
}

/// The greatest activity in each of `n` parts. A second counts in every part it overlaps.
fn activity(timeline: &Timeline, n: u32) -> Vec<u32> {
    let mut lane = vec![0; n as usize];
    for second in &timeline.activity {
        let from = MediaTime::from_ms(second.second.saturating_mul(1000));
        let last = from.plus_ms(999);
        let first = bucket(from, timeline.duration, n);
        let last = bucket(last, timeline.duration, n);
        let end = lane.len().min(last + 1);
        let overlapped = lane.get_mut(first..end);
        for slot in overlapped.into_iter().flatten() {
            *slot = u32::from(second.permille).max(*slot);
        }
    }
    lane
}

/// Which of `n` parts of `0..duration` holds `t`; `n` and more when it lies past the end.
fn bucket(t: MediaTime, duration: MediaTime, n: u32) -> usize {
    let part = u128::from(t.ms()) * u128::from(n) / u128::from(duration.ms().max(1));
    usize::try_from(part).unwrap_or(usize::MAX - 1)
}

#[cfg(test)]
mod tests {
    use segment::manifest::Activity;

    use super::*;
    use crate::timeline::ObjectSpans;

    fn check(activity_at: &[(u64, u16)], duration_ms: u64, n: u32, lane: &[u32]) {
        let object = ObjectSpans {
            to: MediaTime::from_ms(duration_ms),
            activity: activity_at.iter().map(|&a| Activity::from(a)).collect(),
            ..ObjectSpans::default()
        };
        let start = WallTime::from_unix_ms(0);
        let timeline = Timeline::new(start, None, false, vec![object]).unwrap();
        assert_eq!(activity(&timeline, n), lane);
    }

    #[test]
    fn a_bucket_shows_its_busiest_second() {
        check(&[(0, 10), (1, 70), (3, 5)], 4000, 2, &[70, 5]);
    }

    #[test]
    fn a_second_longer_than_a_bucket_fills_them_all() {
        check(&[(1, 9)], 2000, 8, &[0, 0, 0, 0, 9, 9, 9, 9]);
    }

    #[test]
    fn activity_past_the_end_is_left_out() {
        check(&[(9, 9), (u64::MAX, 1)], 2000, 2, &[0, 0]);
        check(&[(0, 9)], 0, 2, &[9, 9]);
    }
}
