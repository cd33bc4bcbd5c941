//! What can an RDP server that means harm do? Nothing but end its own session.

use std::io;

use anyhow::ensure;
use pipeline_tests::clock::pass_until_utc_ms;
use pipeline_tests::clock::utc_ms;
use pipeline_tests::hostile_rdp::{
    BITMAP, CACHED_POINTER, CHANNELS, CONFIRM, DEMAND, DESKTOP, LARGE_POINTER, LICENCE,
    NEW_POINTER, Part, SIZE, ZEROS, begin, bitmap, black, control, data, demand, encrypt,
    error_info, fast, hear_message, messages, options, packed, packet, part, redirection, resize,
    show, to_channel,
};
use pipeline_tests::hostile_server::Peer;

use crate::recorded::{Source, at_once, beside_a_good_session};

const RDP: Source<'_> = Source {
    at: "rdp://ada@",
    options,
    show,
};

type Script = Box<dyn Fn(&mut Peer) -> io::Result<()> + Send + Sync>;

/// Says `bytes` and leaves the client waiting.
fn says(bytes: Vec<u8>) -> Script {
    Box::new(move |peer| {
        peer.say(&bytes)?;
        peer.hush()
    })
}

/// Says `bytes` again and again.
fn pours(bytes: Vec<u8>) -> Script {
    Box::new(move |peer| peer.pour(&bytes))
}

fn garbage() -> Vec<u8> {
    (0..=255).cycle().take(4096).collect()
}

#[test]
fn peer_rdp_a_server_that_stops_in_its_handshake_is_given_up() -> anyhow::Result<()> {
    let steps = [0, CONFIRM, 2, 3, CHANNELS, 6, LICENCE, DEMAND, 9, DESKTOP];
    beside_a_good_session(|| {
        at_once(steps, |count| {
            let words = match count {
                DESKTOP => "showed nothing for 10 s",
                _ => "within 10 s",
            };
            RDP.check_refused(&format!("silence after {count}"), (4, words), move |peer| {
                begin(peer, count)?;
                peer.hush()
            })
        })?;
        at_once(steps, |count| {
            let what = format!("an end after {count}");
            RDP.check_refused(&what, (4, "closed the connection"), move |peer| {
                begin(peer, count)
            })
        })
    })
}

#[test]
fn peer_rdp_a_hostile_handshake_is_refused_by_name() -> anyhow::Result<()> {
    let longest = |body: &[u8]| [&[3, 0, 0xff, 0xff][..], body].concat();
    // What is said after so many messages of a good handshake, and what comes of it.
    let cases: Vec<(&str, usize, (i32, &str), Script)> = vec![
        (
            "no RDP",
            0,
            (4, "does not speak RDP"),
            says(b"HTTP/1.1 200 OK\r\n\r\n".into()),
        ),
        (
            "the longest of messages",
            0,
            (4, "does not speak RDP"),
            pours(longest(&[0; 60_000])),
        ),
        (
            "garbage for settings",
            1,
            (4, "exchange of settings"),
            says(garbage()),
        ),
        (
            "garbage for channels",
            3,
            (4, "exchange of settings"),
            says(garbage()),
        ),
        (
            "garbage for a licence",
            CHANNELS,
            (4, "licensing"),
            says(garbage()),
        ),
        (
            "garbage for a desktop",
            LICENCE,
            (4, "exchange of capabilities"),
            says(garbage()),
        ),
        (
            "garbage at last",
            DEMAND,
            (4, "exchange of capabilities"),
            says(garbage()),
        ),
        (
            "settings of four gigabytes",
            1,
            (4, "exchange of settings"),
            pours(packet(
                0xffff,
                &[&[0x7f, 0x66, 0x84][..], &[0xff; 60_000]].concat(),
            )),
        ),
        (
            "a licence of the longest",
            CHANNELS,
            (4, "licensing"),
            pours(to_channel(
                1003,
                0x3fff,
                &[&[0x80, 0, 0, 0, 1, 3, 0xff, 0xff][..], &[0xff; 16_000]].concat(),
            )),
        ),
        (
            "a desktop of four gigapixels",
            LICENCE,
            (4, "screen size"),
            says([demand((65_535, 65_535)), messages()[DEMAND..].concat()].concat()),
        ),
        (
            "no licence",
            LICENCE - 1,
            (3, "gave no licence"),
            says(no_licence()),
        ),
        (
            "a user who may not",
            LICENCE,
            (3, "denied"),
            says(error_info(7)),
        ),
        (
            "a session of another's",
            LICENCE,
            (4, "took it over"),
            says(error_info(5)),
        ),
        (
            "a server elsewhere",
            LICENCE,
            (3, "another one"),
            says(redirection()),
        ),
    ];
    beside_a_good_session(|| {
        at_once(cases, |(what, count, expected, attack)| {
            RDP.check_refused(what, expected, move |peer| {
                begin(peer, count)?;
                attack(peer)
            })
        })?;
        let unencrypted = [messages()[0], b"in clear"].concat();
        RDP.check_refused(
            "words in clear",
            (4, "before the connection was"),
            move |peer| {
                hear_message(peer)?;
                peer.say(&unencrypted)?;
                peer.hush()
            },
        )?;
        RDP.check_refused("garbage for TLS", (4, "does not speak TLS"), |peer| {
            hear_message(peer)?;
            peer.say(messages()[0])?;
            peer.hear(1)?;
            peer.say(&garbage())?;
            peer.hush()
        })?;
        RDP.check_refused(
            "an end within a message",
            (4, "closed the connection"),
            |peer| {
                hear_message(peer)?;
                peer.say(messages()[0])?;
                encrypt(peer)?;
                peer.say(&messages()[1][..50])
            },
        )
    })
}

/// The licence that was given, refused.
fn no_licence() -> Vec<u8> {
    let given = messages()[LICENCE - 1];
    let (head, codes) = given.split_at(given.len() - 12);
    let invalid_client_and_total_abort = [8, 0, 0, 0, 1, 0, 0, 0];
    [head, &invalid_client_and_total_abort, &codes[8..]].concat()
}

#[test]
fn peer_rdp_what_a_hostile_server_shows_ends_its_own_session_only() -> anyhow::Result<()> {
    const BUDGET: &str = "budget-exceeded";
    const BROKEN: &str = "disconnected";
    let black = black(u32::from(SIZE.0) * u32::from(SIZE.1));
    let whole = |data: &[u8]| part(BITMAP, Part::Single, &bitmap((0, 0), SIZE, data));
    let words = |words: &[u16]| {
        words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let bomb = packed(BITMAP, Part::Next, &ZEROS).repeat(1_200);
    let cases: Vec<(&str, (&str, &str), Script)> = vec![
        ("garbage", (BROKEN, "broken"), says(garbage())),
        (
            "a picture off the screen",
            (BROKEN, "leaves the screen"),
            says(part(
                BITMAP,
                Part::Single,
                &bitmap((600, 600), SIZE, &black),
            )),
        ),
        (
            "a picture that is cut short",
            (BROKEN, "picture is corrupt"),
            says(whole(&black[3..])),
        ),
        (
            "a picture that runs over",
            (BROKEN, "picture is corrupt"),
            says(whole(&[&black[..], &black].concat())),
        ),
        (
            "a storm of sizes",
            (BUDGET, "changed its size"),
            pours([resize((64, 2160)), resize((3840, 2160))].concat()),
        ),
        (
            "a size of four gigapixels",
            (BUDGET, "screen size"),
            says(resize((65_535, 65_535))),
        ),
        (
            "an endless update",
            (BUDGET, "update is longer"),
            Box::new(|peer| {
                peer.say(&part(BITMAP, Part::First, &[0; 32_000]))?;
                peer.pour(&part(BITMAP, Part::Next, &[0; 32_000]))
            }),
        ),
        (
            "a bomb",
            (BUDGET, "update is longer"),
            says([packed(BITMAP, Part::First, &ZEROS), bomb].concat()),
        ),
        (
            "corrupt packing",
            (BROKEN, "compressed data"),
            says(packed(BITMAP, Part::Single, &[0xff; 40])),
        ),
        (
            "a pointer of four gigapixels",
            (BUDGET, "pointer of"),
            says(part(
                LARGE_POINTER,
                Part::Single,
                &words(&[32, 0, 0, 0, 65_535, 65_535, 0, 0, 0, 0]),
            )),
        ),
        (
            "a pointer of no number",
            (BROKEN, "pointer has number"),
            says(part(
                NEW_POINTER,
                Part::Single,
                &words(&[1, 400, 0, 0, 1, 1, 2, 2, 0, 0]),
            )),
        ),
        (
            "a pointer never shown",
            (BROKEN, "pointer has number"),
            says(part(CACHED_POINTER, Part::Single, &[0xff; 2])),
        ),
        (
            "a channel that nobody asked for",
            (BROKEN, "message is broken"),
            says(to_channel(1009, 12, &[0xff; 12])),
        ),
        (
            "a length within that lies",
            (BROKEN, "message is broken"),
            says(to_channel(1003, 0x3fff, &[0x17; 12])),
        ),
        (
            "a length of the desktop's that lies",
            (BROKEN, "message is broken"),
            says(to_channel(1003, 8, &[0xff, 0xff, 0x17, 0, 0, 0, 0, 0])),
        ),
        (
            "an update of another kind",
            (BROKEN, "of the kind 4"),
            says(part(4, Part::Single, &[0; 64])),
        ),
        (
            "an end of part",
            (BROKEN, "lacks its beginning"),
            says(part(BITMAP, Part::Last, &[0; 64])),
        ),
        (
            "an end in mid-message",
            (BROKEN, "inside a message"),
            Box::new(|peer| peer.say(&fast(&[0; 64])[..30])),
        ),
        (
            "an end in mid-update",
            (BROKEN, "inside a message"),
            Box::new(|peer| peer.say(&part(BITMAP, Part::First, &[0; 64]))),
        ),
    ];
    beside_a_good_session(|| {
        at_once(cases, |(what, expected, attack)| {
            RDP.check_gap(what, expected, attack)
        })
    })
}

/// Pictures that cost a few bytes each: they are painted no faster than they are recorded, or who
/// paints faster than most meets the bound on that.
#[test]
fn peer_rdp_a_flood_of_pictures_slows_itself_down() -> anyhow::Result<()> {
    const SIDE: u16 = 128;
    let black = black(u32::from(SIDE) * u32::from(SIDE));
    let flood = part(BITMAP, Part::Single, &bitmap((0, 0), (SIDE, SIDE), &black)).repeat(2_000);
    let ended = RDP.record(&["--duration", "1s"], move |peer| {
        show(peer)?;
        peer.pour(&flood)
    })?;
    let gap = ended.gap().map(|(reason, _)| reason);
    let expected = gap.is_none_or(|reason| reason == "budget-exceeded");
    ensure!(ended.code == Some(0) && expected, "{:#?}", ended.told);
    ended.check_memory("a flood of pictures")
}

/// Bytes that come, and never come to anything.
#[test]
fn peer_rdp_a_picture_that_stops_or_trickles_is_a_stall() -> anyhow::Result<()> {
    let trickles = |begin: Vec<u8>, byte: Vec<u8>| -> Script {
        Box::new(move |peer| {
            peer.say(&begin)?;
            loop {
                peer.say(&byte)?;
                pass_until_utc_ms(utc_ms() + 500);
            }
        })
    };
    let cases: Vec<(&str, Script)> = vec![
        ("silence", says(Vec::new())),
        ("silence in a message", says(fast(&[0; 64])[..30].to_vec())),
        (
            "silence in a change of size",
            says(control(0x16, &[0xea, 3, 1, 0, 1, 0, 0])),
        ),
        (
            "a message that trickles",
            trickles(vec![0, 0xff, 0xff], vec![0]),
        ),
        (
            "a slow message that trickles",
            trickles(vec![3, 0, 0xff, 0xff], vec![0]),
        ),
        (
            "an update that trickles",
            trickles(
                part(BITMAP, Part::First, &[0]),
                part(BITMAP, Part::Next, &[0]),
            ),
        ),
        ("words that show nothing", pours(error_info(0).repeat(100))),
    ];
    beside_a_good_session(|| {
        at_once(cases, |(what, attack)| {
            RDP.check_gap(what, ("stalled", ""), attack)
        })
    })
}

#[test]
fn peer_rdp_why_a_server_ends_the_session_is_told() -> anyhow::Result<()> {
    let goodbye = [3, 0, 0, 9, 2, 0xf0, 0x80, 0x21, 0x80];
    let cases: Vec<(Vec<u8>, &str, &str)> = vec![
        (error_info(0x5), "taken-over", "another client"),
        (error_info(0x3), "permission-lost", "idleness"),
        (error_info(0x4), "permission-lost", "limit of time"),
        (error_info(0x1), "permission-lost", "by a tool"),
        (error_info(0xb), "permission-lost", "by a tool"),
        (error_info(0x7), "permission-lost", "denied"),
        (error_info(0x102), "permission-lost", "no licence"),
        (error_info(0x2), "disconnected", "logged off"),
        (error_info(0xc), "disconnected", "logged off"),
        (error_info(0x19), "disconnected", "shuts down"),
        (error_info(0x6), "disconnected", "code 0x6"),
        (goodbye.into(), "disconnected", "no reason was given"),
        (redirection(), "permission-lost", "another one"),
        (
            data(38, &logon_refused()),
            "permission-lost",
            "may not connect",
        ),
    ];
    at_once(cases, |(said, reason, words)| {
        RDP.check_gap(words, (reason, words), move |peer| {
            peer.say(&error_info(0))?; // that all is well is no end
            peer.say(&said)?;
            peer.hush()
        })
    })
}

/// That the user's session is refused (section 2.2.10.1.1.4.1.1).
fn logon_refused() -> Vec<u8> {
    const EXTENDED: u32 = 3;
    const HAS_ERRORS: u32 = 2;
    const NO_PERMISSION: u32 = 0xffff_fffa;
    let info = [&18_u16.to_le_bytes()[..], &HAS_ERRORS.to_le_bytes()].concat();
    let errors = [8, NO_PERMISSION, 0].map(u32::to_le_bytes);
    [
        &EXTENDED.to_le_bytes()[..],
        &info,
        errors.as_flattened(),
        &[0; 570],
    ]
    .concat()
}
