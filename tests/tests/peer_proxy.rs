//! Does the recording proxy stand between driver and machine without either noticing, and stop what
//! it cannot record?

use std::time::Duration;

use anyhow::{Context as _, ensure};
use pipeline_tests::certificate::{Authority, Days};
use pipeline_tests::clock::wait_for;
use pipeline_tests::desktop::{Desktop, free_display, obfuscated};
use pipeline_tests::driver::Driver;
use pipeline_tests::marks::Marks;
use pipeline_tests::playhead::{Home, Proxy, Server};
use pipeline_tests::process::{children_of, signal_id};
use pipeline_tests::rfb::ScriptedServer;
use rustix::process::Signal;

const PATIENCE: Duration = Duration::from_secs(30);
const TOKEN: &str = "0123456789abcdef";

#[test]
fn peer_a_vnc_password_passes_end_to_end() -> anyhow::Result<()> {
    let home = Home::new()?;
    let desktop = Desktop::start_secured(home.path(), (320, 240), "right")?;
    let own = home.path().join("own");
    std::fs::write(&own, "right\n")?;
    let own = own.to_string_lossy();
    let mut proxy = Proxy::start(&home, &desktop.url(), &["--password-file", &own])?;

    let refused = Driver::connect(proxy.address, Some("wrong"));
    let said = refused
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    ensure!(said.contains("refused"), "the driver hears {said:?}");
    let ended = proxy.wait_for("ended", 1)?;
    ensure!(ended[0]["reason"] == "driver-refused", "{ended:?}");

    let driver = Driver::connect(proxy.address, Some("right"))?;
    ensure!(driver.size == (320, 240), "{:?}", driver.size);
    drop(driver);
    let ended = proxy.wait_for("ended", 2)?;
    ensure!(ended[1]["reason"] == "driver-left", "{ended:?}");
    proxy.close()
}

/// The proxy signs in to the machine, and the driver to the proxy, with the same password.
#[test]
fn peer_an_encrypted_machine_is_driven_through_plain_vnc() -> anyhow::Result<()> {
    let home = Home::new()?;
    let own = home.path().join("own");
    std::fs::write(&own, "right\n")?;
    let passwords = home.path().join("passwd");
    std::fs::write(&passwords, obfuscated("right")?)?;
    let authority = Authority::new(home.path())?;
    let certificate = authority.issue("good", "IP:127.0.0.1", Days::Valid)?;
    let (cert, key) = certificate.files();
    let (own, passwords) = (own.to_string_lossy(), passwords.to_string_lossy());
    let options = [
        ["-SecurityTypes", "X509Vnc"],
        ["-PasswordFile", &passwords],
        ["-X509Cert", &cert],
        ["-X509Key", &key],
    ];
    let (display, size) = (free_display()?, (320, 240));
    let desktop = Desktop::start_with(home.path(), display, size, &options.concat())?;
    let pin = certificate.pin()?;
    let options = ["--tls-pin", &pin, "--password-file", &own];
    let mut proxy = Proxy::start(&home, &desktop.url(), &options)?;

    let refused = Driver::connect(proxy.address, Some("wrong"));
    ensure!(refused.is_err(), "any password is taken");
    let ended = proxy.wait_for("ended", 1)?;
    ensure!(ended[0]["reason"] == "driver-refused", "{ended:?}");

    let mut driver = Driver::connect(proxy.address, Some("right"))?;
    ensure!(driver.size == size, "{:?}", driver.size);
    driver.ignore_pictures()?;
    driver.key(0x61, true)?;
    drop(driver);
    let ended = proxy.wait_for("ended", 2)?;
    ensure!(ended[1]["reason"] == "driver-left", "{ended:?}");
    let id = ended[1]["session"]
        .as_str()
        .context("no session")?
        .to_owned();
    proxy.close()?;

    let playhead = Server::start(&home)?;
    let session = playhead.session(&id);
    ensure!(session.gaps()?.is_empty(), "{:?}", session.gaps()?);
    let recorded = session.recorded("key")?;
    ensure!(recorded.len() == 2, "a key down and up: {recorded:?}");
    Ok(())
}

#[test]
fn peer_what_cannot_be_read_ends_the_session_and_says_so() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ScriptedServer::start(false)?;
    let mut proxy = Proxy::start(&home, &server.url(), &["--once"])?;
    let mut driver = Driver::connect(proxy.address, None)?;
    driver.key(0x61, true)?;
    driver.send(&[99, 0, 0, 0])?;
    driver.wait_for_end()?;
    let ended = proxy.wait_for("ended", 1)?;
    ensure!(ended[0]["reason"] == "driver-refused", "{ended:?}");
    let health = proxy.events("health")?;
    ensure!(health[0]["detail"].to_string().contains("99"), "{health:?}");
    ensure!(proxy.process.wait(PATIENCE)?.success(), "a clean end");
    ensure!(server.keys() == [0x61], "what came before was passed on");

    let playhead = Server::start(&home)?;
    let session = playhead.only_session()?;
    let recorded = session.recorded("health,key")?;
    let health = recorded.iter().find(|event| event.kind == "health");
    let health = health.context("no health event")?;
    ensure!(health.data["state"] == "driver-refused", "{health:?}");
    ensure!(
        recorded.iter().any(|event| event.kind == "key"),
        "{recorded:?}"
    );
    Ok(())
}

#[test]
fn peer_each_driver_has_a_session_of_its_own() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ScriptedServer::start(false)?;
    let mut proxy = Proxy::start(&home, &server.url(), &[])?;
    let mut first = Driver::connect(proxy.address, None)?;
    let mut second = Driver::connect(proxy.address, None)?;
    for (driver, key) in [(&mut first, 0x61), (&mut second, 0x62)] {
        driver.key(key, true)?;
        ensure!(driver.receive()? == [2], "the server's bell");
    }
    // The first driver leaves, the second is cut off by the end of the proxy.
    drop(first);
    proxy.wait_for("ended", 1)?;
    let said = proxy.events("started")?;
    proxy.close()?;
    second.wait_for_end()?;
    ensure!(said.len() == 2, "{said:?}");

    let playhead = Server::start(&home)?;
    let sessions = playhead.json("/api/v1/sessions")?;
    let mut keys = Vec::new();
    for session in sessions["sessions"].as_array().context("no sessions")? {
        let session = playhead.session(session["id"].as_str().context("no id")?);
        ensure!(session.head()?["ended"] != false, "{:?}", session.head()?);
        // A key held down is let go when its driver is gone.
        let recorded = session.recorded("key")?;
        let downs: Vec<bool> = recorded
            .iter()
            .map(|key| key.data["down"] == true)
            .collect();
        ensure!(downs == [true, false], "{recorded:?}");
        keys.push(session.id);
    }
    ensure!(keys.len() == 2, "{keys:?}");
    Ok(())
}

#[test]
fn peer_a_driver_is_cut_off_when_its_recorder_dies() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ScriptedServer::start(false)?;
    let mut proxy = Proxy::start(&home, &server.url(), &["--once"])?;
    let mut driver = Driver::connect(proxy.address, None)?;
    driver.key(0x61, true)?;
    ensure!(driver.receive()? == [2], "the server's bell");
    let children = children_of(proxy.process.id())?;
    signal_id(*children.first().context("no child")?, Signal::KILL)?;
    driver.wait_for_end()?;
    let ended = proxy.wait_for("ended", 1)?;
    ensure!(ended[0]["reason"] == "crash", "{ended:?}");
    Ok(())
}

#[test]
fn peer_marks_need_the_token() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ScriptedServer::start(false)?;
    let token = home.path().join("token");
    std::fs::write(&token, format!("{TOKEN}\n"))?;
    let token = token.to_string_lossy();
    let options = [
        "--once",
        "--marks",
        "127.0.0.1:18290",
        "--marks-token-file",
        &token,
    ];
    let proxy = Proxy::start(&home, &server.url(), &options)?;
    let address = "127.0.0.1:18290".parse()?;
    let refused = Marks::at_address(address, "0123456789abcdeF")?.answer()?;
    ensure!(refused["ok"] == false, "{refused}");

    let mut marks = Marks::at_address(address, TOKEN)?;
    let early = marks.tell("step.0")?;
    ensure!(early["ok"] == true && early["t"].is_null(), "{early}");
    let driver = Driver::connect(proxy.address, None)?;
    let told = marks.tell("step.1")?;
    ensure!(told["ok"] == true && told["t"].is_u64(), "{told}");
    marks.say("nonsense")?;
    ensure!(marks.answer()?["ok"] == false, "nonsense is no mark");
    ensure!(marks.tell("step.2")?["ok"] == true, "and does no harm");
    drop(driver);
    let mut proxy = proxy;
    ensure!(proxy.process.wait(PATIENCE)?.success(), "a clean end");

    let playhead = Server::start(&home)?;
    let session = playhead.only_session()?;
    let recorded = session.recorded("mark")?;
    let names: Vec<&str> = recorded
        .iter()
        .filter_map(|mark| mark.data["name"].as_str())
        .collect();
    ensure!(names == ["step.1", "step.2"], "{names:?}");
    ensure!(recorded[0].origin == "driver", "{recorded:?}");
    ensure!(
        Some(recorded[0].t) == told["t"].as_u64(),
        "{recorded:?}, {told}"
    );
    wait_for("an empty spool", PATIENCE, || {
        let left = std::fs::read_dir(home.path().join("spool"))?.count();
        Ok((left == 0).then_some(()))
    })
}
