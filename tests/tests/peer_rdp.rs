//! Is a machine behind RDP recorded as one behind VNC is? Two real servers, each before the painter's
//! desktop; and every reason not to be let in, told apart.

use std::fs;

use anyhow::{Context as _, ensure};
use pipeline_tests::desktop::{Desktop, Painter};
use pipeline_tests::playhead::{Home, Recorder, Server};
use pipeline_tests::rdp_server::{PASSWORD, RdpServer};
use pipeline_tests::scene::Scene;
use pipeline_tests::schedule::Random;
use pipeline_tests::truth::{LATE_MS, check_moment_late};

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
