//! How busy was each part of a session, lane by lane?

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::{Path, State},
};
use capture::MediaTime;
use segment::manifest::Activity;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ApiError, params, params::Params};
use crate::{
    archive::Archive,
    recorded::{self, INPUT_KINDS},
};

/// Buckets when the client does not say.
const DEFAULT_BUCKETS: u32 = 2048;
/// More than the pixels of any timeline.
const MAX_BUCKETS: u32 = 16_384;

/// How finely to count.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Buckets {
    /// Into how many equal parts the session is cut: 2048 unless given, at most 16384.
    n: Option<u32>,
}

/// Counts for each of `n` equal parts of `from..to`.
#[derive(Serialize, ToSchema)]
pub(super) struct Density {
    from: u64,
    to: u64,
    n: u32,
    /// `activity`: the largest changed share of the screen, in thousandths. `log`: rows of any
    /// outcome. `recorded allowed asked blocked`: rows of that outcome. `input`: input events.
    lanes: BTreeMap<String, Vec<u32>>,
}

/// How busy each part of a session was.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/density", tag = "sessions",
    params(("session" = String, Path), Buckets),
    responses((status = 200, body = Density), (status = 400), (status = 404)),
)]
pub(super) async fn density(
    State(archive): State<Arc<Archive>>,
    Path(session): Path<String>,
    Params(Buckets { n }): Params<Buckets>,
) -> Result<Json<Density>, ApiError> {
    let n = n.unwrap_or(DEFAULT_BUCKETS);
    if !(1..=MAX_BUCKETS).contains(&n) {
        let problem = format!("must be 1 to {MAX_BUCKETS}");
        return Err(ApiError::parameter("n", problem));
    }
    let (summary, timeline) = params::timeline(&archive, &session).await?;
    let duration = timeline.duration;
    let rows = archive
        .catalog
        .event_density(summary.id, duration, n)
        .await?;
    let buckets = Lane { duration, n };

    let mut lanes = BTreeMap::new();
    let mut log = buckets.empty();
    for outcome in index::row::Outcome::ALL {
        let mut counts = rows.get(outcome.as_str()).cloned().unwrap_or_default();
        counts.resize(log.len(), 0);
        for (all, count) in log.iter_mut().zip(&counts) {
            *all = all.saturating_add(*count);
        }
        lanes.insert(outcome.as_str().to_owned(), counts);
    }
    lanes.insert("log".to_owned(), log);
    lanes.insert("activity".to_owned(), buckets.activity(&timeline.activity));
    let wanted = recorded::Wanted {
        kinds: INPUT_KINDS.to_vec(),
        ..recorded::Wanted::default()
    };
    let input = recorded::read(&archive, summary.id, &wanted).await;
    let input = input.map_err(|error| ApiError::internal(&error))?;
    let input = input.iter().map(|found| found.event.t);
    lanes.insert("input".to_owned(), buckets.count(input));
    Ok(Json(Density {
        from: 0,
        to: duration.ms(),
        n,
        lanes,
    }))
}

/// The session cut into `n` equal parts.
#[derive(Clone, Copy)]
struct Lane {
    duration: MediaTime,
    n: u32,
}

impl Lane {
    fn empty(self) -> Vec<u32> {
        (0..self.n).map(|_| 0).collect()
    }

    /// The part that holds `ms`; `None` past the end.
    fn bucket(self, ms: u64) -> Option<usize> {
        let duration = u128::from(self.duration.ms());
        let ms = u128::from(ms);
        let part = (ms < duration).then(|| ms * u128::from(self.n) / duration)?;
        usize::try_from(part).ok()
    }

    fn count(self, times: impl Iterator<Item = MediaTime>) -> Vec<u32> {
        let mut counts = self.empty();
        for t in times {
            if let Some(count) = self.bucket(t.ms()).and_then(|i| counts.get_mut(i)) {
                *count = count.saturating_add(1);
            }
        }
        counts
    }

    /// A second's share fills every part that the second touches.
    fn activity(self, seconds: &[Activity]) -> Vec<u32> {
        let mut shares = self.empty();
        for &Activity { second, permille } in seconds {
            let start = second.saturating_mul(1000);
            let last = start
                .saturating_add(999)
                .min(self.duration.ms().saturating_sub(1));
            if let (Some(first), Some(last)) = (self.bucket(start), self.bucket(last)) {
                for share in shares.iter_mut().take(last + 1).skip(first) {
                    *share = (*share).max(u32::from(permille));
                }
            }
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(duration_ms: u64, n: u32) -> Lane {
        Lane {
            duration: MediaTime::from_ms(duration_ms),
            n,
        }
    }

    #[test]
    fn each_time_falls_into_one_part() {
        let times = [0, 249, 250, 999, 1000].map(MediaTime::from_ms);
        assert_eq!(lane(1000, 4).count(times.into_iter()), [2, 1, 0, 1]);
    }

    #[test]
    fn a_busy_second_fills_the_parts_it_touches() {
        let seconds = [(0, 100), (1, 300)].map(Activity::from);
        assert_eq!(lane(2000, 4).activity(&seconds), [100, 100, 300, 300]);
        assert_eq!(lane(2000, 1).activity(&seconds), [300]);
        assert_eq!(lane(1200, 2).activity(&seconds), [100, 300]);
    }

    #[test]
    fn a_session_without_length_counts_nothing() {
        let times = [MediaTime::ZERO];
        assert_eq!(lane(0, 2).count(times.into_iter()), [0, 0]);
    }
}
