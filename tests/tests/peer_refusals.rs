//! Does every bad input end with its own code and a sentence that says what is wrong?

use std::fs;

use anyhow::{Context as _, ensure};
use pipeline_tests::desktop::Desktop;
use pipeline_tests::playhead::{Home, Server};
use pipeline_tests::scene::Scene;

/// Runs `playhead-agent record` and expects that exit code and those words on standard error.
fn check_record(home: &Home, arguments: &[&str], code: i32, words: &[&str]) -> anyhow::Result<()> {
    let all = [&["record"], arguments, &["--duration", "5s"]].concat();
    let output = home.agent(&all)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(
        output.status.code() == Some(code),
        "{arguments:?}: {}\n{said}",
        output.status
    );
    for word in words {
        ensure!(
            said.contains(word),
            "{arguments:?} does not say {word:?}:\n{said}"
        );
    }
    Ok(())
}

#[test]
fn peer_a_recording_that_cannot_start_says_why() -> anyhow::Result<()> {
    let home = Home::new()?;
    check_record(&home, &["gopher://127.0.0.1"], 2, &["gopher"])?;
    check_record(&home, &["vnc://127.0.0.1:1"], 4, &["127.0.0.1:1"])?;

    let desktop = Desktop::start(home.path(), (320, 240))?;
    let url = desktop.url();
    let broken = home.path().join("broken.toml");
    fs::write(&broken, "[[mask]]\nname = \"ok\"\nrect = [1, 2, 3]\n")?;
    check_record(
        &home,
        &[&url, "--policy", &broken.to_string_lossy()],
        6,
        &["broken.toml", "3"],
    )?;
    check_record(
        &home,
        &[&url, "--policy", "/nowhere/policy.toml"],
        6,
        &["/nowhere/policy.toml"],
    )?;

    // Below a file no folder can be made, not even by root.
    let file = home.path().join("file");
    fs::write(&file, "")?;
    let store = format!("file://{}/store", file.display());
    check_record(&home, &[&url, "--store", &store], 5, &["store"])?;
    ensure!(
        !home.path().join("store/v1").exists(),
        "a refused recording left objects"
    );
    Ok(())
}

#[test]
fn peer_a_refused_password_is_told_apart() -> anyhow::Result<()> {
    let home = Home::new()?;
    let desktop = Desktop::start_secured(home.path(), (320, 240), "right")?;
    let given = home.path().join("given");
    let password_file = given.to_string_lossy();

    fs::write(&given, "wrong\n")?;
    check_record(
        &home,
        &[&desktop.url(), "--password-file", &password_file],
        3,
        &["password"],
    )?;
    check_record(&home, &[&desktop.url()], 3, &["password"])?;
    fs::write(&given, "right\n")?;
    check_record(
        &home,
        &[&desktop.url(), "--password-file", &password_file],
        0,
        &[],
    )
}

#[test]
fn peer_the_server_refuses_by_name_and_changes_nothing() -> anyhow::Result<()> {
    let scene = Scene::start((320, 240), &["--run", "r-refusals"])?;
    scene.work(1_000)?;
    let (home, _) = scene.close()?;
    let server = Server::start(&home)?;
    let session = server.only_session()?;
    let before = session.head()?;

    let own = format!("/api/v1/sessions/{}", session.id);
    let asked = [
        (
            format!("{own}/frame?t=99999999"),
            400,
            "time_outside_session",
        ),
        (format!("{own}/frame?t=soon"), 400, "t"),
        (format!("{own}/frame"), 400, "t"),
        (format!("{own}/frame?at=yesterday"), 400, "at"),
        (format!("{own}/events?limit=x"), 400, "limit"),
        (
            "/api/v1/sessions/no-such/timeline".to_owned(),
            404,
            "session",
        ),
        ("/api/v1/resolve?trace_id=xyz".to_owned(), 400, "trace_id"),
        ("/api/v1/resolve?event=no-such".to_owned(), 404, ""),
    ];
    for (path, status, word) in asked {
        let answer = server.get(&path)?;
        ensure!(
            answer.status == status,
            "{path}: {} {}",
            answer.status,
            answer.text()
        );
        let error = answer.json()?["error"].clone();
        ensure!(
            error["code"].is_string() && error["message"].is_string(),
            "{path}: {error}"
        );
        ensure!(
            error.to_string().contains(word),
            "{path} does not name {word}: {error}"
        );
    }

    let rows = "{\"time\":\"2026-11-30T09:14:03.250Z\",\"text\":\"good\",\"run\":\"r-refusals\"}\n\
                {\"time\":\"yesterday\",\"text\":\"bad\"}\n{\"time\":\n\
                {\"time\":\"2026-11-30T09:14:03.250Z\",\"text\":\"bad\",\"trace_id\":\"0000\"}\n";
    let answer = server.post_rows(rows)?;
    let counts = answer.json()?;
    let refused = counts["refused"].as_array().context("refused")?;
    let lines: Vec<_> = refused
        .iter()
        .filter_map(|row| row["line"].as_u64())
        .collect();
    ensure!(
        answer.status == 207 && counts["accepted"] == 1 && lines == [2, 3, 4],
        "{counts}"
    );

    let oversized = server.post_rows(&"x".repeat(9 << 20))?;
    ensure!(
        oversized.status == 413,
        "9 MiB of rows: {}",
        oversized.status
    );
    ensure!(
        session.head()? == before,
        "a refused question changed the session"
    );
    Ok(())
}

#[test]
fn peer_commands_end_with_a_sentence() -> anyhow::Result<()> {
    let scene = Scene::start((320, 240), &[])?;
    scene.work(1_000)?;
    let (home, _) = scene.close()?;
    let id = Server::start(&home)?.only_session()?.id;

    let rows = home.path().join("rows.ndjson");
    fs::write(
        &rows,
        "{\"time\":\"2026-11-30T09:14:03.250Z\",\"text\":\"good\"}\nnonsense\n",
    )?;
    let imported = home.playhead(&["events", "import", &rows.to_string_lossy()])?;
    let said = String::from_utf8_lossy(&[imported.stdout, imported.stderr].concat()).into_owned();
    ensure!(
        imported.status.code() == Some(1) && said.contains('2'),
        "import: {said}"
    );

    let file = home.path().join("frame.png");
    let file = file.to_string_lossy();
    for (arguments, word) in [
        (
            vec!["frame", &id, "--at", "9:00:00", "-o", &file],
            "outside",
        ),
        (vec!["frame", &id, "--at", "noon", "-o", &file], "noon"),
        (vec!["show", "no-such"], "no-such"),
        (vec!["resolve", "--trace", "xyz"], "trace"),
    ] {
        let output = home.playhead(&arguments)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(!output.status.success(), "{arguments:?} ends well");
        ensure!(
            said.contains(word) && !said.contains("panicked"),
            "{arguments:?}: {said}"
        );
    }
    Ok(())
}
