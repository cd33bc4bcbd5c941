//! What does the recording proxy cost a driver? The time from a key to the server's answer, direct
//! and through the proxy, by turns in one run.

use std::io::Write as _;
use std::time::Duration;

use pipeline_tests::clock::monotonic;
use pipeline_tests::driver::Driver;
use pipeline_tests::playhead::{Home, Proxy};
use pipeline_tests::rfb::ScriptedServer;

const KEYS: usize = 4_000;
const BELL: [u8; 1] = [2];

fn main() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ScriptedServer::start(false)?;
    let proxy = Proxy::start(&home, &server.url(), &[])?;
    let mut direct = Driver::connect(server.address, None)?;
    let mut relayed = Driver::connect(proxy.address, None)?;
    let (mut direct_took, mut relayed_took) = (Vec::new(), Vec::new());
    for _ in 0..KEYS {
        direct_took.push(round_trip(&mut direct)?);
        relayed_took.push(round_trip(&mut relayed)?);
    }
    drop(relayed);
    proxy.close()?;
    let (direct, relayed) = (median(direct_took), median(relayed_took));
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "key to answer, median: direct {direct:.1?}, through the proxy {relayed:.1?}"
    )?;
    writeln!(
        out,
        "added by the proxy, there and back: {:.1?} (goal < 300 µs)",
        relayed.saturating_sub(direct)
    )?;
    Ok(())
}

fn round_trip(driver: &mut Driver) -> anyhow::Result<Duration> {
    let began = monotonic();
    driver.key(0x61, true)?;
    let answer = driver.receive()?;
    let took = began.elapsed();
    anyhow::ensure!(answer == BELL, "the server answered {answer:?}");
    driver.key(0x61, false)?;
    Ok(took)
}

fn median(mut took: Vec<Duration>) -> Duration {
    took.sort();
    took[took.len() / 2]
}
