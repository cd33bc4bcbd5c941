//! What could someone do who took over the process that reads a hostile peer's bytes? And does the
//! recorder need more than an ordinary user has?

use std::fs;
use std::process::Command;

use anyhow::{Context as _, ensure};
use pipeline_tests::desktop::Desktop;
use pipeline_tests::playhead::{Home, Recorder};
use pipeline_tests::process::{children_of, program};

/// The value of a line `Name: value` of a file of proc(5).
fn field(text: &str, name: &str) -> anyhow::Result<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    Ok(line.context(name.to_owned())?.trim().to_owned())
}

#[test]
fn peer_the_child_has_only_what_recording_needs() -> anyhow::Result<()> {
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), (320, 240))?;
    // What the parent holds, and a descriptor that somebody forgot to close.
    let mut command = Command::new("sh");
    let ready = home.path().join("recording");
    command
        .args(["-c", "exec 9</etc/passwd; exec \"$@\"", "sh"])
        .arg(program("playhead-agent")?)
        .args(["record", &desktop.url(), "--ready-file"])
        .arg(&ready)
        .env("PLAYHEAD_HOME", home.path())
        .env("PLAYHEAD_PASSWORD", "hunter2")
        .env("AWS_SECRET_ACCESS_KEY", "hunter2");
    let recorder = Recorder::watch(&home, &ready, &mut command)?;
    let child = *children_of(recorder.process.id())?
        .first()
        .context("no child")?;
    let proc = |file: &str| fs::read_to_string(format!("/proc/{child}/{file}"));

    let status = proc("status")?;
    ensure!(field(&status, "NoNewPrivs:")? == "1", "{status}");
    ensure!(field(&status, "Seccomp:")? == "2", "{status}");
    let limits = proc("limits")?;
    for (name, most) in [
        ("Max core file size", 0),
        ("Max open files", 256),
        ("Max address space", 4 << 30),
        ("Max file size", 1 << 30),
    ] {
        let limit: u64 = field(&limits, name)?
            .split_whitespace()
            .next()
            .context("no limit")?
            .parse()?;
        ensure!(limit <= most, "{name}: {limit}");
    }
    let environment = proc("environ")?;
    ensure!(!environment.contains("hunter2"), "{environment}");
    for descriptor in fs::read_dir(format!("/proc/{child}/fd"))? {
        let file = fs::read_link(descriptor?.path())?;
        let file = file.to_string_lossy();
        let inside = file.starts_with(&*home.path().to_string_lossy());
        let unnamed = ["pipe:", "socket:", "anon_inode:"];
        ensure!(
            inside || unnamed.iter().any(|kind| file.starts_with(kind)),
            "the child holds {file}"
        );
    }
    recorder.close()
}

#[test]
fn peer_an_ordinary_user_records_on_a_read_only_root() -> anyhow::Result<()> {
    // One writable folder, of `nobody`'s; the user whose number is 65534 everywhere.
    const ENTER: &str = "set -e\n\
        mount -t tmpfs -o mode=0755 tmpfs \"$1\"\n\
        chown 65534:65534 \"$1\"\n\
        mount -o remount,bind,ro /\n\
        home=$1; shift\n\
        exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs \
        env PLAYHEAD_HOME=\"$home\" HOME=/nonexistent \"$@\"";
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), (320, 240))?;
    desktop.run("xsetroot", &["-solid", "white"])?;
    let folder = home.path().join("nobody");
    fs::create_dir(&folder)?;
    if !Command::new("unshare")
        .args(["-m", "true"])
        .status()?
        .success()
    {
        println!("not shown: this user may make no mount namespace");
        return Ok(());
    }

    // The program itself may lie where `nobody` cannot look.
    let agent = std::env::temp_dir().join(format!("playhead-agent-{}", std::process::id()));
    fs::copy(program("playhead-agent")?, &agent)?;
    let path = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", ENTER, "sh", &path(&folder), &path(&agent)])
        .args(["record", &desktop.url(), "--json", "--duration", "1s"])
        .output();
    fs::remove_file(&agent)?;
    let output = output?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    ensure!(output.status.success(), "{}\n{said}", output.status);
    ensure!(said.contains("\"reason\":\"duration-reached\""), "{said}");
    ensure!(!said.contains("not confined"), "{said}");
    Ok(())
}

#[test]
fn peer_a_source_that_lets_us_in_no_longer_is_told() -> anyhow::Result<()> {
    use pipeline_tests::desktop::obfuscated;
    let home = Home::new()?;
    let passwords = home.path().join("passwd");
    let given = home.path().join("given");
    fs::write(&passwords, obfuscated("before")?)?;
    fs::write(&given, "before\n")?;
    let file = passwords.to_string_lossy();
    let options = ["-SecurityTypes", "VncAuth", "-PasswordFile", &*file];
    let display = pipeline_tests::desktop::free_display()?;
    let desktop = Desktop::start_with(home.path(), display, (320, 240), &options)?;
    let password = given.to_string_lossy();
    let recorder = Recorder::start(&home, &desktop.url(), &["--password-file", &password])?;
    fs::write(&passwords, obfuscated("after")?)?;
    drop(desktop);
    let _desktop = Desktop::start_with(home.path(), display, (320, 240), &options)?;

    let status = recorder.ended()?;
    let told = fs::read_to_string(home.path().join("recorder.out"))?;
    for words in [
        "\"reason\":\"disconnected\"",
        "\"state\":\"permission-lost\"",
        "server refused the password",
        "\"reason\":\"source-lost\"",
    ] {
        ensure!(told.contains(words), "{words} is not told: {told}");
    }
    ensure!(status.success(), "{status}: {told}");
    Ok(())
}
