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
use crate::{archive::Archive, recorded};

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
    /// outcome. `recorded allowed asked blocked`: rows of that outcome. `input`: acts of input (keys
    /// and buttons that go down, paths, turns of the wheel, clipboards).
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
    let mut input = vec![0u32; n as usize];
    let counted = recorded::acts(&archive, summary.id, |t| {
        count(&mut input, t.ms(), found.duration_ms);
    });
    counted.await?;
    lanes.insert("input".to_owned(), input);
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

/// Counts `t_ms` in that one of the equal parts of `0..duration_ms` it falls into, if any.
fn count(counts: &mut [u32], t_ms: u64, duration_ms: u64) {
    if t_ms >= duration_ms {
        return;
    }
    let part = u128::from(t_ms) * counts.len() as u128 / u128::from(duration_ms);
    let part = usize::try_from(part).ok();
    if let Some(count) = part.and_then(|part| counts.get_mut(part)) {
        *count = count.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_falls_into_one_part() {
        let check = |duration_ms, expected: &[u32]| {
            let mut counts = vec![0; expected.len()];
            for t_ms in [0, 249, 250, 999, 1000] {
                count(&mut counts, t_ms, duration_ms);
            }
            assert_eq!(counts, expected);
        };
        check(1000, &[2, 1, 0, 1]);
        check(0, &[0, 0]);
    }
}
