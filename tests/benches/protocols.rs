//! What does a machine behind RDP cost to record, compared with the same behind VNC? One desktop and
//! its painter, recorded over both side by side in one run: xrdp shows what the VNC server has.

use std::fs;
use std::io::Write as _;
use std::time::Duration;

use pipeline_tests::clock::{pass_until_utc_ms, utc_ms};
use pipeline_tests::cost::{cpu, resident_kib};
use pipeline_tests::desktop::{Desktop, Painter};
use pipeline_tests::playhead::{Home, Recorder};
use pipeline_tests::rdp_server::{PASSWORD, RdpServer};

const WORK_MS: u64 = 40_000;

fn main() -> anyhow::Result<()> {
    let (home, other) = (Home::new()?, Home::new()?);
    let desktop = Desktop::start(home.path(), (1920, 1080))?;
    let server = RdpServer::xrdp(home.path(), &desktop)?;
    let password = home.path().join("password");
    fs::write(&password, PASSWORD)?;
    let signs_in = [
        "--rdp-security",
        "tls",
        "--rdp-size",
        "1920x1080",
        "--password-file",
        &password.display().to_string(),
    ];
    let pin = server.pin(&home, &signs_in)?;
    let options = [&signs_in[..], &["--tls-pin", &pin]].concat();
    let _painter = Painter::start(home.path(), &desktop, &["--seconds", "600"])?;
    let vnc = Recorder::start(&home, &desktop.url(), &[])?;
    let rdp = Recorder::start(&other, &server.url(), &options)?;

    let ids = [vnc.process.id(), rdp.process.id()];
    let before = [cpu(ids[0])?, cpu(ids[1])?];
    pass_until_utc_ms(utc_ms() + WORK_MS);
    let took = [cpu(ids[0])? - before[0], cpu(ids[1])? - before[1]];
    let resident = [resident_kib(ids[0])?, resident_kib(ids[1])?];
    rdp.close()?;
    vnc.close()?;

    let worked = Duration::from_millis(WORK_MS);
    let mut out = std::io::stdout().lock();
    for (name, took, kib) in [("VNC", took[0], resident[0]), ("RDP", took[1], resident[1])] {
        let share = 100.0 * took.as_secs_f64() / worked.as_secs_f64();
        let mib = kib / 1024;
        writeln!(out, "{name}: {share:.1} % of a core, {mib} MiB")?;
    }
    let ratio = took[1].as_secs_f64() / took[0].as_secs_f64();
    writeln!(out, "CPU over RDP: {ratio:.2} times that over VNC")?;
    Ok(())
}
