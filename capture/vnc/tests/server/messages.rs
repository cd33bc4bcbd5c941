//! What a client says once it is let in, and what it is told beside pictures.

use capture::{
    Framebuffer, Point, Size,
    input::{Buttons, Clipboard, Direction, Format, Input, Pointer},
    pixels::PixelFormat,
    source::SourceEvent,
};
use capture_vnc::{Config, DriverError, server};

use crate::pair::{Pair, config, key};

const SIZE: Size = Size::new(8, 8);

/// A client that says bytes, let in and with nothing left to hear.
struct Client {
    session: server::Session,
    desk: Framebuffer,
}

impl Client {
    fn new() -> Self {
        let mut client = Self {
            session: server::Session::new(config(SIZE, None), 0),
            desk: Framebuffer::new(SIZE, 0).unwrap(),
        };
        client.say(b"RFB 003.008\n\x01\x01").unwrap();
        client.hears();
        client
    }

    fn say(&mut self, bytes: &[u8]) -> Result<(), DriverError> {
        self.session.handle_bytes(0, bytes)
    }

    fn hears(&mut self) -> Vec<u8> {
        let mut heard = Vec::new();
        loop {
            self.session.update(&self.desk);
            match self.session.poll_transmit() {
                Some(bytes) => heard.extend(bytes),
                None => return heard,
            }
        }
    }

    fn acts(&mut self) -> Vec<Input> {
        std::iter::from_fn(|| self.session.poll_input()).collect()
    }
}

fn text(direction: Direction, text: &str) -> Clipboard {
    Clipboard {
        direction,
        formats: vec![Format::Text],
        text: Some(text.into()),
        len_bytes: text.len() as u64,
    }
}

#[test]
fn what_our_own_client_does_arrives() {
    let mut pair = Pair::new(SIZE, Config::default());
    pair.client.send_input(&key(true));
    pair.talk();
    assert_eq!(pair.acts, [], "nothing is said before the desktop is known");
    let pointer = Input::Pointer(Pointer {
        at: Point { x: 3, y: 4 },
        buttons: Buttons(0b101),
    });
    let clipboard = Input::Clipboard(text(Direction::ToMachine, "café"));
    let acts = [key(true), pointer, clipboard, key(false)];
    for act in &acts {
        pair.client.send_input(act);
    }
    pair.talk();
    assert_eq!(pair.acts, acts);
}

#[test]
fn our_own_client_and_the_server_exchange_any_text() {
    let mut pair = Pair::new(
        SIZE,
        Config {
            extended_clipboard: true,
            ..Config::default()
        },
    );
    pair.talk();
    for length in [1, 50_000] {
        let theirs = text(Direction::FromMachine, &"дом\n😀".repeat(length));
        pair.server.clipboard(&theirs);
        let ours = Input::Clipboard(text(Direction::ToMachine, &"Ж ".repeat(length)));
        pair.client.send_input(&ours);
        pair.talk();
        assert_eq!(pair.acts.pop(), Some(ours));
        assert!(pair.saw(&SourceEvent::Clipboard(theirs)));
    }
}

/// `SetEncodings` of the extended clipboard alone.
const EXTENDED: [u8; 8] = [2, 0, 0, 1, 0xc0, 0xa1, 0xe5, 0xce];

/// The text of a message that provides one.
fn provided(message: &[u8]) -> String {
    let (head, compressed) = message.split_at(12);
    assert_eq!((head[0], &head[8..]), (3, &[0x10, 0, 0, 1][..]));
    let plain = miniz_oxide::inflate::decompress_to_vec_zlib(compressed).unwrap();
    String::from_utf8(plain[4..].to_vec()).unwrap()
}

#[test]
fn input_is_read_wherever_it_is_cut() {
    let keys = [4, 1, 0, 0, 0, 0, 0, 0x61, 4, 0, 0, 0, 0, 0, 0, 0x61];
    for cut in 0..keys.len() {
        let mut client = Client::new();
        client.say(&keys[..cut]).unwrap();
        client.say(&keys[cut..]).unwrap();
        assert_eq!(client.acts(), [key(true), key(false)]);
    }
}

#[test]
fn what_cannot_be_served_ends_the_session() {
    let mut client = Client::new();
    let kind = 77;
    let unknown = Err(DriverError::UnknownMessage { kind });
    assert_eq!(client.say(&[kind]), unknown);
    assert_eq!(client.say(&[]), unknown);
    let indices = PixelFormat {
        bits_per_pixel: 8,
        true_colour: false,
        ..PixelFormat::BGRX
    };
    let mut client = Client::new();
    let said = [&[0; 4][..], &indices.to_bytes()].concat();
    assert_eq!(client.say(&said), Err(DriverError::ColourMap));
    let mut client = Client::new();
    let said = [&[0; 4][..], &[24; 16]].concat();
    assert!(matches!(
        client.say(&said),
        Err(DriverError::PixelFormat(_))
    ));
}

#[test]
fn another_size_that_a_client_wants_is_refused() {
    let mut client = Client::new();
    // `SetEncodings` of `ExtendedDesktopSize`, and the whole picture.
    client.say(b"\x02\0\0\x01\xff\xff\xfe\xcc").unwrap();
    client.say(b"\x03\0\0\0\0\0\0\x08\0\x08").unwrap();
    client.hears();
    client.say(b"\xfb\0\x05\0\x03\x20\0\0").unwrap();
    assert_eq!(client.hears(), b"", "nothing was asked for");
    client.say(b"\x03\x01\0\0\0\0\0\x08\0\x08").unwrap();
    let head = b"\0\0\0\x01\0\x01\0\x01\0\x08\0\x08\xff\xff\xfe\xcc";
    let screen = b"\x01\0\0\0\0\0\0\0\0\0\0\0\0\x08\0\x08\0\0\0\0";
    assert_eq!(client.hears(), [&head[..], screen].concat());
    client.say(b"\x03\x01\0\0\0\0\0\x08\0\x08").unwrap();
    assert_eq!(client.hears(), b"", "told once");
}

#[test]
fn a_plain_client_gets_the_clipboard_in_latin_1() {
    let mut client = Client::new();
    let machine = text(Direction::FromMachine, "café 😀");
    client.session.clipboard(&machine);
    assert_eq!(client.hears(), b"\x03\0\0\0\0\0\0\x06caf\xe9 ?");
    client.say(b"\x06\0\0\0\0\0\0\x02\xe9\xe8").unwrap();
    let operator = text(Direction::ToMachine, "éè");
    assert_eq!(client.acts(), [Input::Clipboard(operator)]);
}

#[test]
fn an_extended_client_asks_for_the_clipboard_and_gets_it() {
    let mut client = Client::new();
    client.say(&EXTENDED).unwrap();
    let caps = b"\x03\0\0\0\xff\xff\xff\xf8\x1f\0\0\x01\0\x80\0\0";
    assert_eq!(client.hears(), caps);

    let machine = text(Direction::FromMachine, "дом\n😀");
    client.session.clipboard(&machine);
    let notify = b"\x03\0\0\0\xff\xff\xff\xfc\x08\0\0\x01";
    assert_eq!(client.hears(), notify);
    let request = b"\x06\0\0\0\xff\xff\xff\xfc\x02\0\0\x01".repeat(100);
    client.say(&request).unwrap();
    let heard = client.hears();
    assert_eq!(provided(&heard), "дом\r\n😀\0", "once");

    let caps = b"\x06\0\0\0\xff\xff\xff\xf8\x1f\0\0\x01\0\0\0\x20";
    client.say(caps).unwrap();
    client.session.clipboard(&machine);
    assert_eq!(client.hears(), heard, "unasked, as it is short");
    assert_eq!(client.acts(), []);
}

#[test]
fn a_client_that_takes_the_extension_back_gets_latin_1_again() {
    let mut client = Client::new();
    client.say(&EXTENDED).unwrap();
    client.hears();
    client.say(&[2, 0, 0, 0]).unwrap();
    let machine = text(Direction::FromMachine, "café");
    client.session.clipboard(&machine);
    assert_eq!(client.hears(), b"\x03\0\0\0\0\0\0\x04caf\xe9");
}

#[test]
fn a_clients_extended_clipboard_is_asked_for() {
    let mut client = Client::new();
    client.say(&EXTENDED).unwrap();
    client.hears();
    client
        .say(b"\x06\0\0\0\xff\xff\xff\xfc\x08\0\0\x01")
        .unwrap();
    let request = b"\x03\0\0\0\xff\xff\xff\xfc\x02\0\0\x01";
    assert_eq!(client.hears(), request);
    assert_eq!(client.acts(), []);
}

#[test]
fn a_client_that_falls_silent_inside_a_message_is_dropped() {
    let mut client = Client::new();
    assert_eq!(client.session.poll_timeout(), None);
    client.session.handle_bytes(1_000, &[4]).unwrap();
    assert_eq!(client.session.poll_timeout(), Some(16_000));
    let late = Err(DriverError::MessageTimeout);
    assert_eq!(client.session.handle_timeout(16_000), late);
}
