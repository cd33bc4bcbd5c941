//! `flush`: sends what dead recorders left in the spool and closes their sessions. `record` does
//! the same beside recording.

use std::{io, path::PathBuf};

use anyhow::{Context as _, anyhow};
use capture::MediaTime;
use segment::end::EndReason;
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    cli,
    delivery::{Delivery, Places, Position, retry::FaultKind},
    exit::{Failure, Kind},
    spool::Folder,
};

/// Sends every dead spool once and tells what became of each.
pub(crate) async fn flush(options: cli::Places) -> Result<(), Failure> {
    let places = Places::open(&options).await?;
    let folders = Folder::all(&options.spool).context("reading the spool");
    let folders = folders.map_err(|error| Kind::Store.because(error))?;
    let (mut failed, mut set_aside) = (0_usize, 0_usize);
    for (session, folder) in folders {
        let mut tell = |what: &str| {
            set_aside += 1;
            eprintln!("{session}: {what}");
        };
        match recover(&places, &folder, &mut tell).await {
            Ok(Recovered::Closed(t)) => println!("{session}: sent, {t} long"),
            Ok(Recovered::Nothing) => println!("{session}: nothing was recorded; removed"),
            Ok(Recovered::Living) => println!("{session}: still being recorded; left alone"),
            Ok(Recovered::SetAside) => {}
            Err(error) => {
                failed += 1;
                eprintln!("{session}: {error:#}");
            }
        }
    }
    let problem = match (failed, set_aside) {
        (0, 0) => return Ok(()),
        (0, _) => format!("{set_aside} set aside; the rest is sent"),
        (_, 0) => format!("{failed} sessions stay in the spool"),
        (..) => format!("{failed} sessions stay in the spool, {set_aside} set aside"),
    };
    Err(Kind::Store.because(anyhow!(problem)))
}

/// Sends every dead spool below `spool` once, while something else goes on.
pub(crate) fn in_background(places: Places, spool: PathBuf) -> JoinHandle<()> {
    tokio::spawn(async move {
        let folders = match Folder::all(&spool) {
            Ok(folders) => folders,
            Err(error) => return tracing::warn!(%error, "Spool not readable"),
        };
        for (session, folder) in folders {
            let mut tell = |what: &str| tracing::error!(%session, what, "Set aside");
            match recover(&places, &folder, &mut tell).await {
                Ok(Recovered::Closed(t)) => tracing::info!(%session, %t, "Recovered session"),
                Ok(_) => {}
                Err(error) => {
                    let error = format!("{error:#}");
                    tracing::warn!(%session, error, "Session stays in the spool");
                }
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
    /// It can never be sent.
    SetAside,
}

async fn recover(
    places: &Places,
    folder: &Folder,
    tell: &mut impl FnMut(&str),
) -> anyhow::Result<Recovered> {
    let Some(_claim) = folder.claim_dead().context("claiming the spool folder")? else {
        return Ok(Recovered::Living);
    };
    if let Err(error) = folder.head()
        && [io::ErrorKind::InvalidData, io::ErrorKind::UnexpectedEof].contains(&error.kind())
    {
        return set_aside(folder, &format!("its head cannot be read: {error}"), tell);
    }
    let position = watch::Sender::new(Position::START);
    let mut delivery = match Delivery::open(places.clone(), folder.clone(), position).await {
        Ok(Some(delivery)) => delivery,
        Ok(None) => {
            folder.remove().context("removing an empty spool folder")?;
            return Ok(Recovered::Nothing);
        }
        Err(fault) if fault.kind == FaultKind::Taken => {
            return set_aside(folder, &format!("{:#}", fault.cause), tell);
        }
        Err(fault) => return Err(fault.into()),
    };
    delivery.settle(|file| tell(&file.to_string())).await?;
    // A recorder that closed its session but could not send it has said why it ended.
    let ended = folder.ended().context("reading how the session ended")?;
    let end = delivery.end(ended.unwrap_or(EndReason::Crash), ended.is_none());
    match end.await {
        Err(fault) if fault.kind == FaultKind::Taken => {
            return set_aside(folder, &format!("{:#}", fault.cause), tell);
        }
        end => end?,
    }
    delivery.end_rows().await?;
    folder.remove().context("removing the sent spool folder")?;
    Ok(Recovered::Closed(delivery.position().from))
}

fn set_aside(folder: &Folder, why: &str, tell: &mut impl FnMut(&str)) -> anyhow::Result<Recovered> {
    let dir = folder.set_all_aside().context("setting it aside")?;
    tell(&format!("set aside as {}: {why}", dir.display()));
    Ok(Recovered::SetAside)
}
