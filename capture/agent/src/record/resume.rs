//! Taking a session up again: which run comes next, and how its media time goes on.

use std::{io, time::Duration};

use anyhow::{Context as _, anyhow};
use capture::{GapReason, MediaTime};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    clock::{self, BootTime},
    delivery::{Delivery, Fault, Places, Position},
    exit::{Failure, Kind},
    spool::{Claim, Epoch, Folder, SetAside},
    wire::Resume,
};

/// A child whose parent died syncs and leaves in less, even on a busy disk.
const LEAVING: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Takes up the unfinished session in `folder`: what is left of it is delivered first. Also says
/// where that ends.
pub(super) async fn resume(
    places: &Places,
    folder: &Folder,
) -> Result<(Resume, Position), Failure> {
    let usage = |text: String| Kind::Usage.because(anyhow!(text));
    let shown = folder.path().display();
    let dead = claim(folder)
        .await
        .map_err(|error| usage(format!("--session: {shown}: {error}")))?;
    let Some(_dead) = dead else {
        return Err(usage(
            "--session: another recorder is still recording this session".into(),
        ));
    };
    if folder
        .ended()
        .map_err(|error| Kind::Internal.because(error))?
        .is_some()
    {
        return Err(usage(
            "--session: this session has ended; start a new one".to_owned(),
        ));
    }
    let store = |fault: Fault| Kind::Store.because(fault);
    let position = watch::Sender::new(Position::START);
    let delivery = Delivery::open(places.clone(), folder.clone(), position).await;
    let Some(mut delivery) = delivery.map_err(store)? else {
        return Err(usage(
            "--session: this session never had a frame; start a new one".to_owned(),
        ));
    };
    let tell = |file: &SetAside| tracing::error!(%file, "Spool file set aside");
    delivery.settle(tell).await.map_err(store)?;
    let position = delivery.position();
    let resume = next_run(folder, &position).map_err(|error| Kind::Internal.because(error))?;
    Ok((resume, position))
}

/// Claims the folder once its recorder is gone: whoever starts one again may be faster than the
/// child of the one before.
async fn claim(folder: &Folder) -> io::Result<Option<Claim>> {
    let deadline = Instant::now() + LEAVING;
    loop {
        let claim = folder.claim_dead()?;
        if claim.is_some() || deadline <= Instant::now() {
            return Ok(claim);
        }
        sleep(LOOK_EVERY).await;
    }
}

/// The run that follows `position`, on this boot or a later one.
pub(super) fn next_run(folder: &Folder, position: &Position) -> anyhow::Result<Resume> {
    let head = folder.head()?.context("the session has no head")?;
    let boot_id = clock::boot_id();
    let epoch = match folder.epoch()? {
        Some(epoch) if epoch.boot_id == boot_id => epoch,
        _ => {
            // The boot clock began anew; only the wall clock still knows how long it has been.
            let elapsed_ms = clock::wall().unix_ms() - head.start.unix_ms();
            let t = MediaTime::from_ms(u64::try_from(elapsed_ms).unwrap_or(0)).max(position.from);
            let epoch = Epoch {
                boot_id,
                at: BootTime::now(),
                t,
            };
            folder.write_epoch(&epoch)?;
            epoch
        }
    };
    Ok(Resume {
        run: position.run + 1,
        seq: position.seq,
        from: position.from,
        epoch,
        last_anchor: position.last_anchor,
        gap: GapReason::RecorderRestarted,
        enforced: false,
    })
}
