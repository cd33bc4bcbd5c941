//! Who operates a desktop in samples and by hand? A VNC client that does what it reads, one
//! command a line, and answers each with `ok`: the first time when it is connected.
//!
//! ```text
//! type DELAY_MS TEXT    key NAME    move X Y    click    wheel STEPS
//! ```
//! A wheel turns down, and up where STEPS is negative. The end of the input is the end of the
//! connection.

use std::io::{BufRead as _, Write as _};
use std::net::SocketAddr;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, bail};
use capture::input::Keysym;
use clap::Parser;
use pipeline_tests::driver::{Driver, keysym};

/// How long a button is held, and between the steps of a wheel: as long as a hand would.
const HOLD: Duration = Duration::from_millis(40);

/// A VNC client that does what it reads.
#[derive(Debug, Parser)]
struct Options {
    /// The server, or the recorder before it.
    address: SocketAddr,
}

fn main() -> anyhow::Result<()> {
    let mut driver = Driver::connect(Options::parse().address, None)?;
    driver.ignore_pictures()?;
    let mut at = (0, 0);
    answer()?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        obey(&mut driver, &mut at, &line).with_context(|| format!("command {line:?}"))?;
        answer()?;
    }
    Ok(())
}

fn answer() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "ok")?;
    out.flush()
}

fn obey(driver: &mut Driver, at: &mut (u16, u16), line: &str) -> anyhow::Result<()> {
    let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
    match command {
        "type" => {
            let (delay_ms, text) = rest.split_once(' ').context("no text")?;
            let delay = Duration::from_millis(delay_ms.parse()?);
            for typed in text.chars() {
                driver.tap(Keysym::of(typed).0)?;
                sleep(delay);
            }
        }
        "key" => drop(driver.tap(named(rest)?)?),
        "move" => {
            let (x, y) = rest.split_once(' ').context("no place")?;
            *at = (x.parse()?, y.parse()?);
            driver.pointer(*at, 0)?;
        }
        "click" => {
            driver.pointer(*at, 1)?;
            sleep(HOLD);
            driver.pointer(*at, 0)?;
        }
        "wheel" => {
            let steps: i8 = rest.parse()?;
            let button = if steps < 0 { 0b0_1000 } else { 0b1_0000 };
            for _ in 0..steps.unsigned_abs() {
                driver.pointer(*at, button)?;
                driver.pointer(*at, 0)?;
                sleep(HOLD);
            }
        }
        _ => bail!("there is no such command"),
    }
    Ok(())
}

fn named(name: &str) -> anyhow::Result<u32> {
    /// X11 numbers the function keys in a row from here.
    const F1: u32 = 0xffbe;
    Ok(match name {
        "Return" => keysym::RETURN,
        "Tab" => keysym::TAB,
        "BackSpace" => keysym::BACKSPACE,
        _ => match name
            .strip_prefix('F')
            .and_then(|number| number.parse().ok())
        {
            Some(number @ 1..=12_u32) => F1 + number - 1,
            _ => bail!("there is no such key"),
        },
    })
}
