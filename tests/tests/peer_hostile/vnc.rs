//! What can a VNC server that means harm do? Nothing but end its own session.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use pipeline_tests::clock::wait_for;
use pipeline_tests::hostile_server::{
    DESKTOP_SIZE, Peer, RAW, SIZE, TIGHT, ZRLE, opening, rect, server_init, update,
};
use pipeline_tests::mac;
use pipeline_tests::playhead::Home;
use serde_json::Value;

use crate::recorded::{Source, at_once, beside_a_good_session};

const VNC: Source<'_> = Source {
    at: "vnc://",
    options: Vec::new,
    show: Peer::show,
};

fn mac(user: &str) -> String {
    format!("mac://{user}@")
}

/// Bytes that inflate to fifty million.
fn bomb() -> anyhow::Result<Vec<u8>> {
    const MAKE: &str = "import sys, zlib\n\
        sys.stdout.buffer.write(zlib.compress(bytes([1, 1, 2, 3]) + bytes(50_000_000)))";
    let output = Command::new("python3").args(["-c", MAKE]).output()?;
    ensure!(output.status.success() && output.stdout.len() < 100_000);
    Ok(output.stdout)
}

#[test]
fn peer_what_a_hostile_picture_says_ends_its_own_session_only() -> anyhow::Result<()> {
    let bomb = bomb()?;
    let bomb_bytes = u32::try_from(bomb.len())?.to_be_bytes();
    beside_a_good_session(move || {
        VNC.check_gap(
            "a rectangle off the screen",
            ("disconnected", "leaves the screen"),
            |peer| peer.say(&[update(1), rect((1, 0), SIZE, RAW)].concat()),
        )?;
        VNC.check_gap(
            "a compressed rectangle of four gigabytes",
            ("budget-exceeded", "compressed rectangle of"),
            |peer| {
                let head = [update(1), rect((0, 0), (64, 64), ZRLE)].concat();
                peer.say(&[&head[..], &[0xff; 4]].concat())?;
                peer.pour(&[0x55; 4096])
            },
        )?;
        VNC.check_gap(
            "a clipboard of two gigabytes",
            ("budget-exceeded", "clipboard of"),
            |peer| {
                peer.say(&[3, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff])?;
                peer.pour(&[b'a'; 4096])
            },
        )?;
        VNC.check_gap(
            "a zlib bomb",
            ("disconnected", "more than its pixels"),
            move |peer| {
                let head = [update(1), rect((0, 0), (64, 64), ZRLE)].concat();
                peer.say(&[&head[..], &bomb_bytes, &bomb].concat())?;
                peer.hush()
            },
        )?;
        VNC.check_gap(
            "a flood of fills",
            ("budget-exceeded", "pixels a second"),
            |peer| {
                let fill = [&rect((0, 0), SIZE, TIGHT)[..], &[0x80, 1, 2, 3]].concat();
                peer.say(&update(u16::MAX))?;
                peer.pour(&fill.repeat(1000))
            },
        )?;
        VNC.check_gap(
            "a storm of sizes",
            ("budget-exceeded", "changed its size"),
            |peer| {
                let size = |size| [update(1), rect((0, 0), size, DESKTOP_SIZE)].concat();
                peer.pour(&[size((1, 2160)), size((3840, 2160))].concat())
            },
        )?;
        VNC.check_gap(
            "a flood of palettes",
            ("stalled", "does not answer"),
            |peer| {
                let head = [1, 0, 0, 0, 0xff, 0xff];
                peer.pour(&[&head[..], &vec![7; 6 * 65_535]].concat())
            },
        )?;
        VNC.check_gap("a flood of bells", ("stalled", "does not answer"), |peer| {
            peer.pour(&[2; 65_536])
        })
    })
}

#[test]
fn peer_rectangles_of_no_size_are_normal_traffic() -> anyhow::Result<()> {
    let ended = VNC.record(&["--duration", "3s"], |peer| {
        peer.show()?;
        peer.say(&update(2))?;
        peer.say(&rect((0, 0), (0, 0), RAW))?;
        peer.say(&rect((SIZE.0, 0), (0, SIZE.1), RAW))?;
        peer.serve()
    })?;
    let told = format!("{:?}: {:#?}", ended.code, ended.told);
    ensure!(ended.code == Some(0) && ended.gap().is_none(), "{told}");
    Ok(())
}

/// What a server says before the first picture, in the steps in which it may stop.
fn steps() -> Vec<Vec<u8>> {
    let opening = opening();
    [0, 5, 12, 14, 16, 18, 30, 42, 44]
        .into_iter()
        .map(|len| opening[..len].to_vec())
        .collect()
}

#[test]
fn peer_a_server_that_stops_in_its_handshake_is_given_up() -> anyhow::Result<()> {
    beside_a_good_session(|| {
        at_once(steps(), |said| {
            let what = format!("silence after {} bytes", said.len());
            VNC.check_refused(&what, (4, "within 10 s"), move |peer| {
                peer.say(&said)?;
                peer.hush()
            })
        })?;
        for said in steps() {
            let what = format!("an end after {} bytes", said.len());
            VNC.check_refused(&what, (4, "closed the connection"), move |peer| {
                peer.say(&said)
            })?;
        }
        Ok(())
    })
}

#[test]
fn peer_a_hostile_handshake_is_refused_by_name() -> anyhow::Result<()> {
    beside_a_good_session(|| {
        VNC.check_refused("no RFB", (4, "does not speak RFB"), |peer| {
            peer.say(b"HTTP/1.1 200 OK\r\n\r\n")?;
            peer.hush()
        })?;
        let refused = (3, "refused the connection");
        VNC.check_refused("an endless reason", refused, |peer| {
            peer.say(b"RFB 003.008\n\0\xff\xff\xff\xff")?;
            peer.pour(&[b'a'; 65_536])
        })?;
        VNC.check_refused("a name of four gigabytes", (4, "desktop name"), |peer| {
            peer.say(&opening()[..18])?;
            peer.say(&server_init(SIZE, u32::MAX))?;
            peer.pour(&[b'a'; 65_536])
        })?;
        VNC.check_refused("a screen of four gigapixels", (4, "screen size"), |peer| {
            peer.say(&opening()[..18])?;
            peer.say(&server_init((u16::MAX, u16::MAX), 4))?;
            peer.pour(b"desk")
        })
    })
}

#[test]
fn peer_a_message_that_stops_or_breaks_is_a_gap_with_its_reason() -> anyhow::Result<()> {
    let messages = || {
        [
            ("an update", update(1)),
            (
                "a rectangle",
                [update(1), rect((0, 0), (8, 8), RAW)].concat(),
            ),
            ("a clipboard", vec![3, 0, 0, 0, 0, 0, 0, 9, b'a']),
            ("a palette", vec![1, 0, 0, 0, 0, 9, 1]),
            (
                "a compressed rectangle",
                [update(1), rect((0, 0), (8, 8), ZRLE), vec![0, 0, 0, 9, 1]].concat(),
            ),
        ]
    };
    beside_a_good_session(|| {
        for (what, said) in messages() {
            let what = format!("an end inside {what}");
            VNC.check_gap(&what, ("disconnected", "inside a message"), move |peer| {
                peer.say(&said)
            })?;
        }
        at_once(messages(), |(what, said)| {
            VNC.check_gap(what, ("stalled", ""), move |peer| {
                peer.say(&said)?;
                peer.hush()
            })
        })
    })
}

#[test]
fn peer_a_mac_lets_in_who_has_an_account() -> anyhow::Result<()> {
    let home = Home::new()?;
    let password = |text: &str| -> anyhow::Result<String> {
        let file = home.path().join(text);
        fs::write(&file, text)?;
        Ok(file.to_string_lossy().into_owned())
    };
    let check = |user: &str, text: &str, code: i32, words: &str| -> anyhow::Result<()> {
        let options = ["--duration", "1s", "--password-file", &password(text)?];
        let at = &mac(user);
        let ended = Source { at, ..VNC }.record(&options, mac::sign_in)?;
        let said = format!("{:#?}{}", ended.told, ended.said);
        ensure!(
            ended.code == Some(code) && said.contains(words),
            "{user}: {:?}: {said}",
            ended.code
        );
        ensure!(!said.contains(text), "a password is said: {said}");
        Ok(())
    };
    check(mac::USER, mac::PASSWORD, 0, "duration-reached")?;
    check(mac::USER, "guess", 3, "refused the password")?;
    check("eve", mac::PASSWORD, 3, "refused the password")
}

#[test]
fn peer_a_mac_whose_numbers_give_the_password_away_is_refused() -> anyhow::Result<()> {
    let home = Home::new()?;
    let password = home.path().join("password");
    fs::write(&password, "secret")?;
    let password = password.to_string_lossy();
    let options = ["--password-file", &*password];
    let (prime, public) = (mac::prime(), mac::public());
    let at = mac(mac::USER);
    for (prime, public, words) in [
        (&prime - 1_u8, public.clone(), "prime"),
        (&prime >> 600, public, "prime"),
        (prime.clone(), &prime - 1_u8, "public key"),
        (prime.clone(), 1_u8.into(), "public key"),
    ] {
        let ended = Source { at: &at, ..VNC }.record(&options, move |peer| {
            mac::begin(peer, &prime, &public)?;
            peer.hush()
        })?;
        ensure!(
            ended.code == Some(4) && ended.said.contains(words),
            "{:?}: {}",
            ended.code,
            ended.said
        );
    }
    Ok(())
}

#[test]
fn peer_a_black_screen_is_a_gap_until_something_is_lit() -> anyhow::Result<()> {
    use pipeline_tests::desktop::Desktop;
    use pipeline_tests::playhead::Recorder;
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), (320, 240))?;
    let recorder = Recorder::start(&home, &desktop.url(), &[])?;
    let told = home.path().join("recorder.out");
    let wait = |words: &'static str| {
        wait_for(words, Duration::from_secs(20), || {
            Ok(fs::read_to_string(&told)?.contains(words).then_some(()))
        })
    };
    wait("source-black")?;
    desktop.run("xsetroot", &["-solid", "white"])?;
    wait("\"state\":\"ok\"")?;
    recorder.close()?;

    let events: Vec<Value> = fs::read_to_string(&told)?
        .lines()
        .flat_map(serde_json::from_str)
        .collect();
    let gap = events
        .iter()
        .find(|event| event["reason"] == "source-black");
    let from = gap.context("no gap")?["from"].as_u64();
    ensure!(from.is_some_and(|from| from <= 2_000), "{events:#?}");
    Ok(())
}
