//! `flush`: sends what dead recorders left in the spool and closes their sessions. `record` does
//! the same beside recording.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use capture::MediaTime;
use segment::end::EndReason;
use tokio::task::JoinHandle;

use crate::{
    cli,
    delivery::{Delivery, Places},
    exit::{Failure, Kind},
    spool::Folder,
};

/// Sends every dead spool once and tells what became of each.
pub(crate) async fn flush(options: cli::Places) -> Result<(), Failure> {
    let places = Places::open(&options).await?;
    let folders = Folder::all(&options.spool).context("reading the spool");
    let folders = folders.map_err(|error| Kind::Store.because(error))?;
    let mut failed = 0_usize;
    for (session, folder) in folders {
        match recover(&places, &folder).await {
            Ok(Recovered::Closed(t)) => println!("{session}: sent, {t} long"),
            Ok(Recovered::Nothing) => println!("{session}: nothing was recorded; removed"),
            Ok(Recovered::Living) => println!("{session}: still being recorded; left alone"),
            Err(error) => {
                failed += 1;
                eprintln!("{session}: {error:#}");
            }
        }
    }
    if failed > 0 {
        return Err(Kind::Store.because(anyhow!("{failed} sessions stay in the spool")));
    }
    Ok(())
}

/// Sends every dead spool below `spool` once, while something else goes on.
pub(crate) fn in_background(places: Places, spool: PathBuf) -> JoinHandle<()> {
    tokio::spawn(async move {
        let folders = match Folder::all(&spool) {
            Ok(folders) => folders,
            Err(error) => return tracing::warn!(%error, "Spool not readable"),
        };
        for (session, folder) in folders {
            match recover(&places, &folder).await {
                Ok(Recovered::Closed(t)) => tracing::info!(%session, %t, "Recovered session"),
                Ok(Recovered::Nothing | Recovered::Living) => {}
                Err(error) => tracing::warn!(%session, %error, "Session stays in the spool"),
            }
        }
    })
}

enum Recovered {
    /// All of it is in the store.
    Closed(MediaTime),
    /// There never was a frame.
    Nothing,
    /// Its recorder lives.
    Living,
}

async fn recover(places: &Places, folder: &Folder) -> anyhow::Result<Recovered> {
    let Some(_claim) = folder.claim_dead().context("claiming the spool folder")? else {
        return Ok(Recovered::Living);
    };
    let Some(mut delivery) = Delivery::open(places.clone(), folder.clone()).await? else {
        folder.remove().context("removing an empty spool folder")?;
        return Ok(Recovered::Nothing);
    };
    while delivery.next(u64::MAX).await?.is_some() {}
    // A recorder that closed its session but could not send it has said why it ended.
    let ended = folder.ended().context("reading how the session ended")?;
    delivery
        .end(ended.unwrap_or(EndReason::Crash), ended.is_none())
        .await?;
    folder.remove().context("removing the sent spool folder")?;
    Ok(Recovered::Closed(delivery.position().from))
}
