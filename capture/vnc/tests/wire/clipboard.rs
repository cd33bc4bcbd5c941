//! The extended clipboard of a desktop, where it was asked for.

use capture::{
    Size,
    input::{Clipboard, Direction, Format, Input},
    source::SourceEvent,
};
use capture_vnc::{ClipboardError, Config, Error, limits};
use miniz_oxide::deflate::compress_to_vec_zlib;

use crate::{
    client::Client,
    server::{all, cut_text},
};

/// Every action, and a form.
const CAPS: [u8; 4] = [0x1f, 0, 0, 1];
const REQUEST_TEXT: [u8; 4] = [0x02, 0, 0, 1];

fn asking() -> Client {
    let config = Config {
        extended_clipboard: true,
        ..Config::default()
    };
    Client::connected_with(config, Size::new(8, 8))
}

/// A message of the extended clipboard.
fn extended(flags: [u8; 4], rest: &[u8]) -> Vec<u8> {
    let body = all(&[&flags, rest]);
    cut_text(-i32::try_from(body.len()).unwrap(), &body)
}

fn provide(text: &str) -> Vec<u8> {
    let len = u32::try_from(text.len() + 1).unwrap().to_be_bytes();
    let content = all(&[&len, text.as_bytes(), &[0]]);
    extended([0x10, 0, 0, 1], &compress_to_vec_zlib(&content, 6))
}

fn holds(formats: &[Format], text: Option<&str>, len_bytes: u64) -> SourceEvent {
    SourceEvent::Clipboard(Clipboard {
        direction: Direction::FromMachine,
        formats: formats.into(),
        text: text.map(Into::into),
        len_bytes,
    })
}

/// What the client answers to one message, and tells of it.
fn check(says: &[u8], answer: &[u8], events: &[SourceEvent]) {
    let mut client = asking();
    client.hear(says).unwrap();
    assert_eq!(client.sent(), answer);
    assert_eq!(client.events(), events);
}

#[test]
fn a_desktop_that_speaks_it_hears_what_is_taken() {
    let taken = limits::CLIPBOARD_KEPT_BYTES.to_be_bytes();
    let answer = all(&[&[6, 0, 0, 0], &(-8_i32).to_be_bytes(), &CAPS, &taken]);
    check(&extended(CAPS, &[0, 1, 0, 0]), &answer, &[]);
}

#[test]
fn new_text_is_asked_for_and_told_in_unicode() {
    let answer = all(&[&[6, 0, 0, 0], &(-4_i32).to_be_bytes(), &REQUEST_TEXT]);
    check(&extended([0x08, 0, 0, 5], &[]), &answer, &[]);
    let text = "дом\r\n😀";
    check(
        &provide(text),
        &[],
        &[holds(&[Format::Text], Some("дом\n😀"), 11)],
    );
}

#[test]
fn content_without_text_is_told_by_its_forms() {
    let forms = [Format::Html, Format::Image];
    check(
        &extended([0x08, 0, 0, 0b1100], &[]),
        &[],
        &[holds(&forms, None, 0)],
    );
    check(&extended([0x08, 0, 0, 0], &[]), &[], &[holds(&[], None, 0)]);
}

#[test]
fn a_watcher_has_nothing_to_give() {
    check(&extended(REQUEST_TEXT, &[]), &[], &[]);
    check(&extended([0x04, 0, 0, 0], &[]), &[], &[]);
}

#[test]
fn text_that_is_sent_is_announced_or_given() {
    let text = "дом";
    let sent = Input::Clipboard(Clipboard {
        direction: Direction::ToMachine,
        formats: vec![Format::Text],
        text: Some(text.into()),
        len_bytes: 6,
    });
    let latin = all(&[&[6, 0, 0, 0, 0, 0, 0, 3], b"???"]);
    let notify = all(&[&[6, 0, 0, 0], &(-4_i32).to_be_bytes(), &[0x08, 0, 0, 1]]);
    let mut provided = provide(text);
    provided[0] = 6;
    for (takes_bytes, announced) in [
        (None, latin),
        (Some(5_u32), notify),
        (Some(6), provided.clone()),
    ] {
        let mut client = asking();
        if let Some(takes_bytes) = takes_bytes {
            client
                .hear(&extended(CAPS, &takes_bytes.to_be_bytes()))
                .unwrap();
            client.sent();
        }
        client.session.send_input(&sent);
        client.hear(&[]).unwrap();
        assert_eq!(client.sent(), announced);
        if takes_bytes.is_some() {
            client.hear(&extended(REQUEST_TEXT, &[]).repeat(9)).unwrap();
            assert_eq!(client.sent(), provided, "once");
        }
    }
}

#[test]
fn a_text_too_long_to_keep_is_told_by_its_length() {
    let long = extended([0x10, 0, 0, 1], &vec![7; 2 << 20]);
    let len_bytes = (2 << 20) + 4;
    let told = holds(&[Format::Text], None, len_bytes);
    check(&all(&[&long, &[2]]), &[], &[told, SourceEvent::Bell]);
}

#[test]
fn latin_text_is_taken_as_before() {
    check(
        &cut_text(1, &[0xe9]),
        &[],
        &[holds(&[Format::Text], Some("é"), 2)],
    );
}

#[test]
fn what_cannot_be_read_ends_the_session() {
    for (flags, error) in [
        ([0x10, 0, 0, 1], ClipboardError::Zlib),
        ([0, 0, 0, 1], ClipboardError::Action { flags: 1 }),
    ] {
        let heard = asking().hear(&extended(flags, &[9; 9]));
        assert_eq!(heard, Err(Error::Clipboard(error)));
    }
}
