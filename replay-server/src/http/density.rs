//! How busy was each part of a session, lane by lane?

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::{Path, State},
};
use index::{density, row::Outcome};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ApiError, error::unknown_session, params, params::Params};
use crate::{
    archive::Archive,
    recorded::{self, INPUT_KINDS},
};

/// Buckets when the client does not say.
const DEFAULT_BUCKETS: u32 = 2048;

/// How finely to count.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Buckets {
    /// Into how many equal parts the session is cut: 2048 unless given, at most 8192.
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
    if !(1..=density::MAX_BUCKETS).contains(&n) {
        let problem = format!("must be 1 to {}", density::MAX_BUCKETS);
        return Err(ApiError::parameter("n", problem));
    }
    let summary = params::session(&archive, &session).await?;
    let found = density::density(&*archive.catalog, summary.id, n, (archive.now)()).await?;
    let mut found = found.ok_or_else(|| unknown_session(&summary.id))?;
    let mut lanes = BTreeMap::new();
    let mut log = vec![0u32; n as usize];
    for outcome in Outcome::ALL {
        let counts = lane(&mut found, outcome.as_str());
        for (all, count) in log.iter_mut().zip(&counts) {
            *all = all.saturating_add(*count);
        }
        lanes.insert(outcome.as_str().to_owned(), counts);
    }
    lanes.insert("log".to_owned(), log);
    lanes.insert("activity".to_owned(), lane(&mut found, "activity"));
    let wanted = recorded::Wanted {
        kinds: INPUT_KINDS.to_vec(),
        ..recorded::Wanted::default()
    };
    let input = recorded::read(&archive, summary.id, &wanted).await;
    let input = input.map_err(|error| ApiError::internal(&error))?;
    let times = input.iter().map(|found| found.event.t.ms());
    lanes.insert("input".to_owned(), count(times, found.duration_ms, n));
    Ok(Json(Density {
        from: 0,
        to: found.duration_ms,
        n,
        lanes,
    }))
}

/// The lane `name`, which `found` leaves out when nothing is in it.
fn lane(found: &mut density::Density, name: &str) -> Vec<u32> {
    let lane = found.lanes.remove(name);
    lane.unwrap_or_else(|| vec![0; found.n as usize])
}

/// How many of `times_ms` fall into each of `n` equal parts of `0..duration_ms`.
fn count(times_ms: impl Iterator<Item = u64>, duration_ms: u64, n: u32) -> Vec<u32> {
    let mut counts = vec![0u32; n as usize];
    for t_ms in times_ms.filter(|&t_ms| t_ms < duration_ms) {
        let part = u128::from(t_ms) * u128::from(n) / u128::from(duration_ms);
        let part = usize::try_from(part).ok();
        if let Some(count) = part.and_then(|part| counts.get_mut(part)) {
            *count = count.saturating_add(1);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_falls_into_one_part() {
        let times = [0, 249, 250, 999, 1000];
        assert_eq!(count(times.into_iter(), 1000, 4), [2, 1, 0, 1]);
        assert_eq!(count(times.into_iter(), 0, 2), [0, 0]);
    }
}
