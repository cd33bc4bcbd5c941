//! What does the recording see and hear, and when may the driver do something?

use capture::{
    Size,
    input::{Button, Input, Key},
    source::SourceEvent,
};
use capture_rdp::{
    Error,
    proxy::{DriverError, End, RelayError},
};

use crate::played::{Played, config, dialogue};

fn typed(played: &Played) -> String {
    let typed = played.acts.iter().filter_map(|act| match act {
        Input::Key(Key {
            keysym, down: true, ..
        }) => keysym.char(),
        _ => None,
    });
    typed.collect()
}

#[test]
fn what_was_shown_and_done_is_told() {
    let mut played = Played::open();
    played.play(|_, _, _| false);
    assert_eq!(typed(&played), "ab", "{:?}", played.acts);
    let wheel = |act: &Input| matches!(act, Input::Pointer(pointer) if pointer.buttons.iter().any(|held| held == Button::Wheel { dx: 0, dy: -1 }));
    assert!(played.acts.iter().any(wheel), "{:?}", played.acts);
    let sizes: Vec<Size> = (played.events.iter())
        .filter_map(|event| match event {
            SourceEvent::Start { size, .. } | SourceEvent::Resize(size) => Some(*size),
            _ => None,
        })
        .collect();
    assert_eq!(sizes, [Size::new(640, 480), Size::new(800, 600)]);
    assert!(played.events.contains(&SourceEvent::Proof));
    let dropped: Vec<_> = (played.relay.dropped())
        .map(|one| (one.name.as_str(), one.driver_messages, one.server_messages))
        .collect();
    assert_eq!(dropped, [("drdynvc", 0, 1)]);
}

#[test]
fn a_driver_sees_the_desktop_before_it_operates_it() {
    let mut played = Played::new(config(None));
    let is_input = |_, end, bytes: &[u8]| end == End::Driver && bytes[0] != 3;
    let at = played.play(is_input);
    assert!(played.relay.is_established());
    assert!(played.relay.wants_bytes(End::Driver));
    let (told, input) = (played.to_server.len(), dialogue()[at].1);
    played.hear(End::Driver, input).unwrap();
    assert_eq!((played.to_server.len(), played.acts.len()), (told, 0));
    assert!(!played.relay.wants_bytes(End::Driver));
    assert!(played.relay.wants_bytes(End::Server));

    played.relay.let_through();
    played.drain();
    assert_eq!(&played.to_server[told..], input);
    assert!(played.relay.wants_bytes(End::Driver));
}

#[test]
fn a_driver_that_is_not_let_through_still_agrees_on_another_size() {
    let mut played = Played::new(config(None));
    played.play(|_, _, _| false);
    let operates = |act: &Input| matches!(act, Input::Key(_) | Input::Pointer(_));
    assert!(!played.acts.iter().any(operates), "{:?}", played.acts);
    let resized = SourceEvent::Resize(Size::new(800, 600));
    assert!(played.events.contains(&resized), "{:?}", played.events);
}

#[test]
fn who_watches_asks_the_machine_and_says_nothing_else() {
    let mut played = Played::open();
    played.play(|_, _, _| false);
    // The whole of the new desktop: a message with one area in it.
    assert!(
        played.asked.ends_with(&[0x1f, 3, 0x57, 2]),
        "{:?}",
        played.asked
    );
    let told = played.to_server.len();
    let asked = std::mem::take(&mut played.asked);
    played.relay.ask(&asked);
    played.drain();
    assert_eq!(&played.to_server[told..], asked);
}

/// A message of the driver about the desktop, of a kind.
fn about_desktop(kind: u8, compression: u8, body: &[u8]) -> Vec<u8> {
    message(&said(kind, compression, body))
}

fn said(kind: u8, compression: u8, body: &[u8]) -> Vec<u8> {
    let len = u16::try_from(18 + body.len()).unwrap();
    let mut said = len.to_le_bytes().to_vec();
    said.extend([0x17, 0, 0xf0, 3, 0xea, 3, 1, 0, 0, 1]);
    said.extend((len - 14).to_le_bytes());
    said.extend([kind, compression, 0, 0]);
    said.extend(body);
    said
}

fn message(said: &[u8]) -> Vec<u8> {
    let len = u16::try_from(said.len()).unwrap();
    let mut message = vec![3, 0];
    message.extend((len + 15).to_be_bytes());
    message.extend([2, 0xf0, 0x80, 0x64, 0, 7, 3, 0xeb, 0x70]);
    message.extend((len | 0x8000).to_be_bytes());
    message.extend(said);
    message
}

/// One key that is pressed, by its place.
fn key(place: u8) -> Vec<u8> {
    let event = [0, 0, 0, 0, 4, 0, 0, 0, place, 0, 0, 0];
    [&[1, 0, 0, 0][..], &event].concat()
}

#[test]
fn nothing_hides_behind_a_message() {
    let refresh = [1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 9, 0];
    let both = [said(33, 0, &refresh), said(28, 0, &key(0x1e)), vec![0, 0]].concat();
    let mut played = Played::open();
    played.play(|_, _, _| false);
    let (told, acts) = (played.to_server.len(), played.acts.len());
    played.hear(End::Driver, &message(&both)).unwrap();
    assert_eq!(played.acts.len(), acts + 1);
    let apart = [
        about_desktop(33, 0, &refresh),
        about_desktop(28, 0, &key(0x1e)),
    ]
    .concat();
    // Short lengths are written in one byte.
    assert_eq!(played.to_server.len() - told, apart.len() - 2);

    let mut held = Played::new(config(None));
    held.play(|_, end, bytes| end == End::Driver && bytes[0] != 3);
    held.hear(End::Driver, &message(&both)).unwrap();
    assert_eq!(held.acts.len(), 0);
    assert!(!held.relay.wants_bytes(End::Driver));
}

#[test]
fn a_window_out_of_sight_does_not_end_the_picture() {
    let mut played = Played::open();
    played.play(|_, _, _| false);
    let told = played.to_server.len();
    played
        .hear(End::Driver, &about_desktop(35, 0, &[0; 4]))
        .unwrap();
    assert_eq!(played.to_server.len(), told);
    let shown = [1, 0, 0, 0, 0, 0, 0, 0, 0x1f, 3, 0x57, 2];
    played
        .hear(End::Driver, &about_desktop(35, 0, &shown))
        .unwrap();
    let asked = &played.to_server[told..];
    assert!(asked.ends_with(&shown), "{asked:?}");
    assert_eq!(asked[asked.len() - 16], 33, "a refresh");
}

#[test]
fn what_is_not_known_of_a_driver_ends_it() {
    let check = |message: &[u8], expected: DriverError| {
        let mut played = Played::open();
        played.play(|_, _, _| false);
        let told = played.to_server.len();
        let heard = played.hear(End::Driver, message);
        assert_eq!(heard, Err(expected.into()));
        assert_eq!(played.to_server.len(), told, "nothing of it is forwarded");
    };
    check(
        &about_desktop(99, 0, &[]),
        DriverError::Unexpected { kind: 99 },
    );
    check(&about_desktop(28, 0x20, &[0; 4]), DriverError::Compressed);
    check(&about_desktop(28, 0, &[9, 9]), DriverError::Message);
    let longer = [key(0x1e), vec![0]].concat();
    check(&about_desktop(28, 0, &longer), DriverError::Message);
    let mut in_pieces = about_desktop(28, 0, &key(0x1e));
    in_pieces[12] = 0x60;
    check(&in_pieces, DriverError::Message);
    let mut behind = about_desktop(28, 0, &key(0x1e));
    behind.extend([0; 20]);
    behind[3] += 20;
    check(&behind, DriverError::Message);
    check(&[3, 0, 0, 8, 2, 0xf0, 0x80, 0x28], DriverError::Message);
    check(&[4, 0], DriverError::Message);
}

#[test]
fn why_the_machine_ends_it_is_told_to_the_driver_first() {
    let mut played = Played::open();
    played.play(|_, _, _| false);
    let told = played.to_driver.len();
    let taken_over = 5_u32.to_le_bytes();
    let mut message = about_desktop(47, 0, &taken_over);
    message[7] = 0x68;
    let ended = played.hear(End::Server, &message);
    let RelayError::Server(error @ Error::Ended(_)) = ended.unwrap_err() else {
        panic!("not ended")
    };
    assert_eq!(error, Error::Ended(capture_rdp::End::TakenOver));
    assert_eq!(&played.to_driver[told..], message);
}

#[test]
fn the_machine_can_be_asked_after_the_driver_has_said_goodbye() {
    let mut played = Played::open();
    played.play(|_, _, _| false);
    let told = played.to_server.len();
    let goodbye = [3, 0, 0, 9, 2, 0xf0, 0x80, 0x21, 0x80];
    played.hear(End::Driver, &goodbye).unwrap();
    assert!(played.relay.has_left());
    let input = about_desktop(28, 0, &key(0x1e));
    played.hear(End::Driver, &input).unwrap();
    assert_eq!(played.to_server.len(), told, "nothing goes on");
    let asked = std::mem::take(&mut played.asked);
    assert!(!asked.is_empty());
    played.relay.ask(&asked);
    played.drain();
    assert_eq!(&played.to_server[told..], asked);
}
