//! Is a machine behind RDP recorded as one behind VNC is? Two real servers, each before the painter's
//! desktop; and every reason not to be let in, told apart.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use pipeline_tests::certificate::{Authority, Days};
use pipeline_tests::clock::utc_ms;
use pipeline_tests::desktop::{Desktop, Painter};
use pipeline_tests::playhead::{Home, Recorder, Server};
use pipeline_tests::rdp_server::{PASSWORD, RdpServer};
use pipeline_tests::scene::Scene;
use pipeline_tests::schedule::Random;
use pipeline_tests::truth::{LATE_MS, check_moment_late};
use rustix::process::Signal;

const SIZE: (u16, u16) = (800, 600);
const MOMENTS: usize = 30;
/// FreeRDP's shadow server looks at its screen 16 times a second, and needs its time to compare.
const SERVER_LATE_MS: u64 = 150;

/// Runs `playhead-agent record` and expects that exit code and those words.
fn refused(home: &Home, arguments: &[&str], code: i32, words: &[&str]) -> anyhow::Result<()> {
    let output = home.agent(&[&["record"], arguments, &["--duration", "5s"]].concat())?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(code) && words.iter().all(|word| said.contains(word)),
        "{arguments:?}: {} and not {code} with {words:?}:\n{said}",
        output.status
    );
    Ok(())
}

/// Records the painter through `server`, and holds random moments to what it painted.
fn check_truth(
    home: Home,
    server: &RdpServer,
    desktop: Desktop,
    options: &[&str],
) -> anyhow::Result<()> {
    let painter = Painter::start(home.path(), &desktop, &["--seconds", "600"])?;
    let recorder = Recorder::start(&home, &server.url(), options)?;
    let scene = Scene {
        recorder,
        painter,
        desktop,
        home,
    };
    let from = scene.work(500)?;
    let to = scene.work(12_000)?;
    let (home, paints) = scene.close()?;

    let serving = Server::start(&home)?;
    let session = serving.only_session()?;
    let head = session.head()?;
    ensure!(head["protocol"] == "rdp", "{head}");
    ensure!(session.gaps()?.is_empty(), "{:?}", session.gaps()?);
    let mut random = Random::new(7);
    for _ in 0..MOMENTS {
        let moment = random.within(from..to - LATE_MS);
        check_moment_late(&session, moment, &paints, SERVER_LATE_MS)?;
    }
    let id = head["id"].as_str().context("no id")?;
    let verified = home.playhead(&["verify", id])?;
    ensure!(verified.status.success(), "{verified:?}");
    Ok(())
}

#[test]
fn peer_xrdp_is_recorded_as_its_desktop_was() -> anyhow::Result<()> {
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), SIZE)?;
    let server = RdpServer::xrdp(home.path(), &desktop)?;
    let url = server.url();
    let (size, password) = (
        format!("{}x{}", SIZE.0, SIZE.1),
        home.path().join("password"),
    );
    fs::write(&password, PASSWORD)?;
    let password = password.to_string_lossy();
    // It asks whoever shows no password for one, on the screen, and takes any.
    let signed_in = ["--password-file", &password, "--rdp-size", &size];
    let tls = [&signed_in[..], &["--rdp-security", "tls"]].concat();
    let pin = server.pin(&home, &tls)?;
    let nla = [&[&url[..], "--tls-pin", &pin], &signed_in[..]].concat();
    refused(&home, &nla, 3, &["--rdp-security tls"])?;
    let pinned = [&tls[..], &["--tls-pin", &pin]].concat();
    check_truth(home, &server, desktop, &pinned)
}

#[test]
fn peer_shadow_is_recorded_as_its_desktop_was() -> anyhow::Result<()> {
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), SIZE)?;
    let server = RdpServer::shadow(home.path(), &desktop)?;
    let url = server.url();
    let file = |password: &str| {
        let path = home.path().join(password);
        fs::write(&path, password)?;
        anyhow::Ok(path.to_string_lossy().into_owned())
    };
    let (right, wrong) = (file(PASSWORD)?, file("a guess")?);
    let right = ["--password-file", &right];
    let wrong = ["--password-file", &wrong];
    let pin = server.pin(&home, &right)?;
    let other = pin.replace(|digit: char| digit.is_ascii_digit(), "a");
    let check = |options: &[&str], word: &str| {
        refused(&home, &[&[url.as_str()], options].concat(), 3, &[word])
    };
    check(
        &[&right[..], &["--tls-pin", &other]].concat(),
        "not the one pinned",
    )?;
    check(&[&wrong[..], &["--tls-pin", &pin]].concat(), "password")?;
    check(&["--tls-pin", &pin], "--password-file")?;
    let tls = [&right[..], &["--tls-pin", &pin, "--rdp-security", "tls"]].concat();
    check(&tls, "--rdp-security nla")?;
    let pinned = [&right[..], &["--tls-pin", &pin]].concat();
    check_truth(home, &server, desktop, &pinned)
}

#[test]
fn peer_rdp_certificates_are_believed_by_root_or_pin() -> anyhow::Result<()> {
    let home = Home::new()?;
    let authority = Authority::new(home.path())?;
    let other = Authority::new(&home.path().join("other"))?;
    let password = home.path().join("password");
    fs::write(&password, PASSWORD)?;
    let password = password.to_string_lossy();
    let desktop = Desktop::start(home.path(), SIZE)?;
    for (name, subject, days, because) in [
        ("good", "IP:127.0.0.1", Days::Valid, None),
        (
            "expired",
            "IP:127.0.0.1",
            Days::Expired,
            Some("it has expired"),
        ),
        (
            "elsewhere",
            "DNS:elsewhere.test",
            Days::Valid,
            Some("it is for another name"),
        ),
    ] {
        let certificate = authority.issue(name, subject, days)?;
        let server = RdpServer::xrdp_as(home.path(), desktop.display, &certificate)?;
        let check = |options: &[&str], roots: &Path, because: Option<&str>| {
            let output = home
                .command("playhead-agent")?
                .args(["record", &server.url(), "--json", "--duration", "1s"])
                .args(["--rdp-security", "tls", "--password-file", &*password])
                .args(options)
                .env("SSL_CERT_FILE", roots)
                .env_remove("SSL_CERT_DIR")
                .output()?;
            let said =
                String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            let (code, words) = because.map_or((0, "ended"), |because| (3, because));
            ensure!(
                output.status.code() == Some(code) && said.contains(words),
                "{name} {options:?}: {}, expected {code} and {words:?}\n{said}",
                output.status
            );
            Ok(())
        };
        check(&[], authority.root(), because)?;
        if because.is_none() {
            check(&[], other.root(), Some("no root of this system"))?;
            let wrong = ["--tls-pin", &other.pin()?];
            check(&wrong, authority.root(), Some("not the one pinned"))?;
        }
        check(&["--tls-pin", &certificate.pin()?], other.root(), None)?;
    }
    Ok(())
}

/// The server, and not its desktop: what is painted meanwhile is what the gap hides.
#[test]
fn peer_xrdp_that_goes_away_and_returns_gives_one_session() -> anyhow::Result<()> {
    /// Reconnecting backs off to some seconds at first, and a machine may be busy.
    const RETURN_MS: u64 = 15_000;
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), SIZE)?;
    let certificate = Authority::new(home.path())?.issue("xrdp", "IP:127.0.0.1", Days::Valid)?;
    let mut server = RdpServer::xrdp_as(home.path(), desktop.display, &certificate)?;
    let password = home.path().join("password");
    fs::write(&password, PASSWORD)?;
    let options = [
        ["--rdp-security", "tls"],
        ["--tls-pin", &certificate.pin()?],
        ["--password-file", &password.to_string_lossy()],
        ["--rdp-size", &format!("{}x{}", SIZE.0, SIZE.1)],
        ["--give-up-after", "1m"],
    ];
    let painter = Painter::start(home.path(), &desktop, &["--seconds", "600"])?;
    let recorder = Recorder::start(&home, &server.url(), options.as_flattened())?;
    let scene = Scene {
        recorder,
        painter,
        desktop,
        home,
    };
    let before = scene.work(2_000)?;
    server.server.signal(Signal::KILL)?;
    let gone = utc_ms();
    server.server.wait(Duration::from_secs(10))?;
    drop(server);
    scene.work(2_000)?;
    let _server = RdpServer::xrdp_as(scene.home.path(), scene.desktop.display, &certificate)?;
    let returned = utc_ms();
    let after = scene.work(RETURN_MS)?;
    let (home, paints) = scene.close()?;

    let serving = Server::start(&home)?;
    let session = serving.only_session()?;
    let gaps = session.gaps()?;
    let started = session.start_ms()?;
    let [(from, to, reason)] = &gaps[..] else {
        anyhow::bail!("{gaps:?}");
    };
    let (from, to) = (started + from, started + to);
    ensure!(reason == "disconnected", "{gaps:?}");
    ensure!(
        from <= gone && returned <= to && to < after,
        "{from}..{to}: {gone}, {returned}"
    );
    for moment in [before, after - LATE_MS] {
        check_moment_late(&session, moment, &paints, SERVER_LATE_MS)?;
    }
    Ok(())
}
