//! Asking, proving and stalling, seen from the server's end.

use capture::{GapReason, Rect, Size, source::SourceEvent};
use capture_vnc::{Config, Error, limits};

use crate::{
    client::Client,
    server::{extended_desktop_size, raw, update},
};

const SIZE: Size = Size::new(64, 32);
const WHOLE: [u8; 10] = [3, 0, 0, 0, 0, 0, 0, 64, 0, 32];
const CHANGES: [u8; 10] = [3, 1, 0, 0, 0, 0, 0, 64, 0, 32];
const FIRST_PIXEL: [u8; 10] = [3, 0, 0, 0, 0, 0, 0, 1, 0, 1];
const GREY: [u8; 3] = [7; 3];

/// A client that has its first picture and waits for changes, at 0 ms.
fn waiting() -> Client {
    let mut client = Client::connected(SIZE);
    client.hear(&update(&[raw(SIZE.rect(), GREY)])).unwrap();
    client.request();
    assert_eq!(client.sent(), CHANGES);
    client.events();
    client
}

fn first_pixel() -> Vec<u8> {
    update(&[raw(Rect::new(0, 0, 1, 1), GREY)])
}

#[test]
fn the_next_picture_comes_only_when_asked_for() {
    let mut client = Client::connected(SIZE);
    client.hear(&update(&[raw(SIZE.rect(), GREY)])).unwrap();
    client.wait_until(50_000).unwrap();
    assert!(client.sent().is_empty());
    client.request();
    client.request();
    assert_eq!(client.sent(), CHANGES);
}

#[test]
fn a_still_picture_is_proven_each_second() {
    let mut client = waiting();
    for second in 1..=5 {
        client.wait_until(second * 1000).unwrap();
        assert_eq!(client.sent(), FIRST_PIXEL);
        client.hear(&first_pixel()).unwrap();
        assert_eq!(client.events(), [SourceEvent::Proof]);
        assert_eq!(client.session.last_proof_ms(), Some(second * 1000));
        assert_eq!(client.sent(), CHANGES, "that answered both requests");
    }
}

#[test]
fn a_proof_may_be_asked_for_before_it_is_due() {
    let mut client = waiting();
    client.wait_until(300).unwrap();
    client.request_proof();
    client.request_proof();
    assert_eq!(client.sent(), FIRST_PIXEL);
    client.hear(&first_pixel()).unwrap();
    assert_eq!(client.events(), [SourceEvent::Proof]);
    assert_eq!(client.session.last_proof_ms(), Some(300));
}

#[test]
fn a_proof_asked_for_with_an_update_in_hand_is_of_all_there_is() {
    let mut client = waiting();
    client.hear(&update(&[raw(SIZE.rect(), GREY)])).unwrap();
    client.request_proof();
    assert_eq!(client.sent(), [CHANGES, FIRST_PIXEL].concat());
}

#[test]
fn the_first_picture_is_the_proof_asked_for_before_it() {
    let mut client = Client::connected(SIZE);
    client.request_proof();
    assert!(client.sent().is_empty());
    client.hear(&update(&[raw(SIZE.rect(), GREY)])).unwrap();
    assert_eq!(client.session.last_proof_ms(), Some(0));
}

#[test]
fn changes_that_come_with_the_pixel_are_an_update_too() {
    let mut client = waiting();
    client.wait_until(1000).unwrap();
    let rects = [
        raw(Rect::new(0, 0, 1, 1), GREY),
        raw(Rect::new(9, 9, 2, 2), GREY),
    ];
    client.hear(&update(&rects)).unwrap();
    let events = client.events();
    assert!(
        matches!(
            events.as_slice(),
            [SourceEvent::Update { .. }, SourceEvent::Proof]
        ),
        "{events:?}"
    );
}

#[test]
fn a_size_notice_before_the_pixel_proves_nothing_yet() {
    let mut client = waiting();
    client.wait_until(1000).unwrap();
    client.sent();
    client
        .hear(&update(&[extended_desktop_size(SIZE)]))
        .unwrap();
    assert_eq!(client.events(), []);
    assert_eq!(client.sent(), CHANGES, "the notice may have used it up");
    client.hear(&first_pixel()).unwrap();
    assert_eq!(client.events(), [SourceEvent::Proof]);
}

#[test]
fn a_server_that_stops_answering_is_stalled_and_may_resume() {
    let mut client = waiting();
    let asked_ms = Config::default().proof_every_ms;
    let stalled_ms = asked_ms + limits::STALL_MS;
    client.wait_until(asked_ms).unwrap();
    assert_eq!(client.session.poll_timeout(), Some(stalled_ms));
    client.wait_until(stalled_ms - 1).unwrap();
    assert!(!client.session.is_stalled(client.now_ms));
    client.wait_until(stalled_ms).unwrap();
    assert!(client.session.is_stalled(client.now_ms));
    assert_eq!(client.session.last_proof_ms(), Some(0));

    client.wait_until(500_000).unwrap();
    client.sent();
    client.hear(&first_pixel()).unwrap();
    assert!(!client.session.is_stalled(client.now_ms));
    assert_eq!(client.events(), [SourceEvent::Proof]);
    assert_eq!(client.session.last_proof_ms(), Some(500_000));
}

#[test]
fn a_first_picture_that_never_comes_is_a_stall() {
    let mut client = Client::connected(SIZE);
    client.wait_until(limits::STALL_MS).unwrap();
    assert!(client.session.is_stalled(client.now_ms));
    assert_eq!(client.session.last_proof_ms(), None);
}

#[test]
fn silence_inside_a_message_ends_the_session() {
    let mut client = waiting();
    let wire = update(&[raw(SIZE.rect(), GREY)]);
    let (some, _) = wire.split_at(100);
    client.hear(some).unwrap();
    assert!(client.session.is_inside_message());
    client.wait_until(limits::MESSAGE_SILENCE_MS - 1).unwrap();
    let ended = client.wait_until(limits::MESSAGE_SILENCE_MS).unwrap_err();
    assert_eq!(ended, Error::MessageTimeout);
    assert_eq!(ended.reason(), GapReason::Stalled);
}

#[test]
fn the_whole_picture_is_checked_after_a_minute_of_rest() {
    let mut client = waiting();
    let mut asked_whole_at = None;
    while asked_whole_at.is_none() && client.now_ms < 120_000 {
        client.wait_until(client.now_ms + 100).unwrap();
        let sent = client.sent();
        if sent == FIRST_PIXEL {
            client.hear(&first_pixel()).unwrap();
        }
        if sent == WHOLE {
            asked_whole_at = Some(client.now_ms);
        }
    }
    assert_eq!(asked_whole_at, Some(60_000));
}
