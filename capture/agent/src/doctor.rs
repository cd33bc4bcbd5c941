//! `doctor`: can this machine record, and if not, what is to be fixed?

use anyhow::{Context as _, anyhow};
use capture::{Framebuffer, Size};
use encoder::{Encoder, h264};

use crate::{
    child, cli, clock,
    delivery::Places,
    exit::{Failure, Kind},
    keymap,
};

/// Checks everything that recording needs and prints a line for each.
pub(crate) async fn doctor(options: cli::Doctor) -> Result<(), Failure> {
    let mut failed = 0_usize;
    let mut tell = |what: &str, found: anyhow::Result<String>| match found {
        Ok(detail) => println!("ok    {what}: {detail}"),
        Err(error) => {
            failed += 1;
            println!("FAIL  {what}: {error:#}");
        }
    };
    tell("encoder", encoder());
    tell("spool", spool(&options.places));
    tell("clock", Ok(clock()));
    tell("keyboards", Ok(keyboards()));
    match Places::open(&options.places).await {
        Ok(places) => {
            tell("store", Ok(places.store.url().to_owned()));
            let written = places.catalog.probe().await;
            let url = || places.catalog.url().to_owned();
            tell("catalogue", written.map(|()| url()).map_err(Into::into));
        }
        Err(failure) => tell("store and catalogue", Err(failure.into_cause())),
    }
    if let Some(source) = &options.url {
        let found = match options.secret.read() {
            Ok(access) => child::try_source(source, &access).await,
            Err(error) => Err(error),
        };
        tell("source", found);
    }
    if failed == 0 {
        Ok(())
    } else {
        Err(Kind::Internal.because(anyhow!("{failed} of the checks failed")))
    }
}

/// Codes one small picture with the encoder that `record` would use.
fn encoder() -> anyhow::Result<String> {
    let framebuffer = Framebuffer::new(Size::new(64, 64), 0)?;
    h264::try_out(Encoder::Auto, &framebuffer)
        .context("install GStreamer's x264enc (plugins ugly) or openh264enc (plugins bad)")
}

fn spool(places: &cli::Places) -> anyhow::Result<String> {
    let folder = places.spool.display();
    std::fs::create_dir_all(&places.spool)
        .with_context(|| format!("cannot create {folder}; choose another with --spool"))?;
    let probe = places.spool.join(".probe");
    std::fs::write(&probe, b"probe")
        .and_then(|()| std::fs::remove_file(&probe))
        .with_context(|| format!("cannot write in {folder}; choose another with --spool"))?;
    Ok(folder.to_string())
}

/// An undisciplined clock does not stop a recording; its links to logs then have no stated error.
fn clock() -> String {
    match clock::wall_error_ms() {
        Some(error_ms) => format!("synchronised, off by at most {error_ms} ms"),
        None => "not synchronised: links from logs will have no stated error; run an NTP client"
            .to_owned(),
    }
}

/// Layouts that are not installed do not stop a recording; what is typed is then less surely told.
fn keyboards() -> String {
    const GERMAN: u32 = 0x407;
    match keymap::of_layout(GERMAN) {
        Ok(_) => "layouts are installed".to_owned(),
        Err(error) => format!("what drivers of rdp:// type counts as typed in America: {error}"),
    }
}
