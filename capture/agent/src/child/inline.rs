//! Records a machine whose only connection is its driver's: the relay shows what the machine says.
//!
//! One driver's connection is one session. Nobody connects again: who is disconnected begins
//! another.

use anyhow::Context as _;

use super::{
    connection::Connection,
    drive::{self, Outcome},
    finish, hang_up,
    inbox::{Departure, Inbox, StopCause},
    meanwhile,
    recording::Recording,
    relay::Coming,
    reports::Reports,
};
use crate::wire::{Report, Spec};

/// Records what comes until either side has gone or recording is to stop.
pub(super) async fn record(
    spec: &Spec,
    coming: Coming,
    mut inbox: Inbox,
    reports: &Reports,
) -> anyhow::Result<()> {
    let mut recording = Recording::new(spec, reports)?;
    let watched = match meanwhile(coming, &mut recording, &mut inbox).await? {
        Err((cause, at)) => return finish(&mut recording, cause, at),
        Ok(came) => match came.context("waiting for the driver")? {
            Ok(watched) => watched,
            Err(departure) => {
                tell_early(departure, reports);
                return Ok(());
            }
        },
    };
    let connection = Connection::watching(watched, &spec.source)?;
    match drive::drive(connection, &mut recording, &mut inbox).await? {
        Outcome::Stopped(StopCause::Asked(reason), _) if !recording.started() => {
            reports.send(&Report::NotDriven {
                reason,
                detail: "there was no picture yet".to_owned(),
            });
            Ok(())
        }
        Outcome::Stopped(cause, at) => finish(&mut recording, cause, at),
        Outcome::Lost(lost) => {
            recording.gap(lost.reason, &lost.detail)?;
            let at = hang_up(&mut recording, &mut inbox).await?;
            let departure = inbox.departure().unwrap_or(Departure::Lost(lost));
            if !recording.started() {
                tell_early(departure, reports);
                return Ok(());
            }
            let cause = recording.left(&departure)?;
            finish(&mut recording, cause, at)
        }
    }
}

/// Tells why nothing was recorded.
fn tell_early(departure: Departure, reports: &Reports) {
    let reason = departure.reason();
    reports.send(&match departure {
        Departure::Lost(lost) => Report::Refused {
            refusal: lost.refusal(),
            detail: lost.detail,
        },
        Departure::Refused(detail) => Report::NotDriven { reason, detail },
        Departure::Left | Departure::Stopped => Report::NotDriven {
            reason,
            detail: "driver has gone".to_owned(),
        },
    });
}
