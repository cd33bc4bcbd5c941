//! What can an RDP server say that no real one here does? This one says what xrdp 0.9.21 once said,
//! as far as a test wants, and then what the test makes up (MS-RDPBCGR).
//!
//! It hears of its client only what it must: neither what it answers nor what it asks for matters to
//! a server that plays a record.

use std::io;
use std::sync::{Arc, LazyLock};

use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::certificate::{Authority, Days};
use crate::hostile_server::Peer;

/// What it says: a handshake over TLS alone, then part of a picture of [`SIZE`].
const SAID: &[u8] = include_bytes!("../../capture/rdp/tests/replay/xrdp.bin");
/// The desktop's sides in px.
pub const SIZE: (u16, u16) = (640, 480);

/// How many messages say what the connection is secured with; then it is encrypted.
pub const CONFIRM: usize = 1;
/// How many messages it takes to have agreed on channels.
pub const CHANNELS: usize = 5;
/// How many messages it takes to have given a licence.
pub const LICENCE: usize = 7;
/// How many messages it takes to have told of the desktop.
pub const DEMAND: usize = 8;
/// How many messages it takes to have agreed on the desktop.
pub const DESKTOP: usize = 12;

/// Whom the server is for as long as the test runs, and its certificate's pin.
static IDENTITY: LazyLock<anyhow::Result<(Arc<ServerConfig>, String)>> = LazyLock::new(|| {
    let folder = tempfile::tempdir()?;
    let authority = Authority::new(folder.path())?;
    let certificate = authority.issue("hostile", "IP:127.0.0.1", Days::Valid)?;
    let (cert, key) = certificate.files();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_file(cert)?],
            PrivateKeyDer::from_pem_file(key)?,
        )?;
    Ok((Arc::new(config), certificate.pin()?))
});

/// What a recorder is told to get as far as the attack.
///
/// # Panics
/// When openssl makes no certificate.
#[must_use]
pub fn options() -> Vec<String> {
    let (_, pin) = IDENTITY.as_ref().expect("openssl must be installed");
    ["--rdp-security", "tls", "--tls-pin", pin]
        .map(str::to_owned)
        .into()
}

/// The messages of the handshake.
#[must_use]
pub fn messages() -> Vec<&'static [u8]> {
    let mut rest = SAID;
    let cut = std::iter::from_fn(|| {
        let len = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
        let (message, after) = rest.split_at(len);
        rest = after;
        Some(message)
    });
    cut.take(DESKTOP).collect()
}

/// Says so many messages of the handshake, encrypted from the second on.
///
/// # Errors
/// When the client has hung up, as of every function here.
pub fn begin(peer: &mut Peer, count: usize) -> io::Result<()> {
    if count == 0 {
        return Ok(());
    }
    hear_message(peer)?;
    let messages = messages();
    peer.say(messages[0])?;
    encrypt(peer)?;
    peer.say(&messages[CONFIRM..count].concat())
}

/// Encrypts what is said from here on.
///
/// # Errors
/// When the client does not agree to it.
pub fn encrypt(peer: &mut Peer) -> io::Result<()> {
    let identity = IDENTITY.as_ref();
    let identity = identity.map_err(|error| io::Error::other(error.to_string()))?;
    peer.encrypt(Arc::clone(&identity.0))
}

/// Says all there is, up to a picture that the client has taken when this returns: it asks for more.
///
/// # Errors
/// When the client has hung up.
pub fn show(peer: &mut Peer) -> io::Result<()> {
    const REFRESH: u8 = 33;
    begin(peer, DESKTOP)?;
    let handshake: usize = messages().iter().map(|message| message.len()).sum();
    peer.say(&SAID[handshake..])?;
    loop {
        let heard = hear_message(peer)?;
        // Its kind stands before its compression, the body's length and the body of one rectangle.
        if heard.len() > 40 && heard[heard.len() - 16] == REFRESH {
            return Ok(());
        }
    }
}

/// A message of the client's.
///
/// # Errors
/// When the client has hung up.
pub fn hear_message(peer: &mut Peer) -> io::Result<Vec<u8>> {
    let head = peer.hear(4)?;
    let len = usize::from(u16::from_be_bytes([head[2], head[3]]));
    let body = peer.hear(len.saturating_sub(head.len()))?;
    Ok([head, body].concat())
}

fn length(bytes: &[u8]) -> u16 {
    u16::try_from(bytes.len()).expect("a test's message is short")
}

/// A message with this body, whose length is said to be `len` (TPKT and X.224).
#[must_use]
pub fn packet(len: u16, body: &[u8]) -> Vec<u8> {
    let [high, low] = len.to_be_bytes();
    [&[3, 0, high, low, 2, 0xf0, 0x80], body].concat()
}

/// A message to a channel, 1003 being the desktop's (T.125), of which `len` bytes are said to follow.
#[must_use]
pub fn to_channel(channel: u16, len: u16, data: &[u8]) -> Vec<u8> {
    let [high, low] = channel.to_be_bytes();
    let [len_high, len_low] = (len | 0x8000).to_be_bytes();
    let head = [0x68, 0, 1, high, low, 0x70, len_high, len_low];
    let body = [&head[..], data].concat();
    packet(length(&body) + 7, &body)
}

/// A message about the desktop (section 2.2.8.1.1.1.1).
#[must_use]
pub fn control(kind: u16, body: &[u8]) -> Vec<u8> {
    let words = [length(body) + 6, kind, 0x03ea].map(u16::to_le_bytes);
    let data = [words.as_flattened(), body].concat();
    to_channel(1003, length(&data), &data)
}

/// A message of that kind in the desktop's session (section 2.2.8.1.1.1.2).
#[must_use]
pub fn data(kind: u8, body: &[u8]) -> Vec<u8> {
    let [len_low, len_high] = (length(body) + 18).to_le_bytes();
    let head = [0xea, 3, 1, 0, 0, 1, len_low, len_high, kind, 0, 0, 0];
    control(0x17, &[&head[..], body].concat())
}

/// Why the server will end the session (section 2.2.5.1.1).
#[must_use]
pub fn error_info(code: u32) -> Vec<u8> {
    data(47, &code.to_le_bytes())
}

/// Sends the client to another server (section 2.2.13.3.1), which it names.
#[must_use]
pub fn redirection() -> Vec<u8> {
    let name: Vec<u8> = "elsewhere\0"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let name = [&u32::from(length(&name)).to_le_bytes()[..], &name].concat();
    let words = [0, 0x0400, length(&name) + 12].map(u16::to_le_bytes);
    let (session, names_target) = (7_u32.to_le_bytes(), 1_u32.to_le_bytes());
    control(
        0x0a,
        &[words.as_flattened(), &session, &names_target, &name, &[0]].concat(),
    )
}

/// What tells of the desktop, of another size.
#[must_use]
pub fn demand((width, height): (u16, u16)) -> Vec<u8> {
    let mut demand = messages()[LICENCE].to_vec();
    let said = [SIZE.0, SIZE.1].map(u16::to_le_bytes);
    let found = demand
        .windows(4)
        .position(|bytes| bytes == said.as_flattened());
    let at = found.expect("xrdp told its size");
    demand[at..at + 4].copy_from_slice([width, height].map(u16::to_le_bytes).as_flattened());
    demand
}

/// Gives the desktop another size: it is agreed on anew.
#[must_use]
pub fn resize(size: (u16, u16)) -> Vec<u8> {
    let deactivate = control(0x16, &[0xea, 3, 1, 0, 1, 0, 0]);
    [
        &deactivate[..],
        &demand(size),
        &messages()[DEMAND..].concat(),
    ]
    .concat()
}

/// A part of an update, in fast-path (section 2.2.9.1.2).
#[must_use]
pub fn part(code: u8, part: Part, data: &[u8]) -> Vec<u8> {
    fast(&[&[code | part as u8], &length(data).to_le_bytes()[..], data].concat())
}

/// A part of an update that is packed as a whole, and does not refer to what was before it.
#[must_use]
pub fn packed(code: u8, part: Part, packed: &[u8]) -> Vec<u8> {
    const FROM_NOTHING_BY_MPPC: u8 = 0xe1;
    let head = [code | part as u8 | 0x80, FROM_NOTHING_BY_MPPC];
    fast(&[&head[..], &length(packed).to_le_bytes(), packed].concat())
}

/// Which part of an update it is.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub enum Part {
    /// All of it.
    Single = 0,
    /// The last.
    Last = 0x10,
    /// The first.
    First = 0x20,
    /// One in between.
    Next = 0x30,
}

/// A fast-path message.
#[must_use]
pub fn fast(body: &[u8]) -> Vec<u8> {
    let [high, low] = (length(body) + 3).to_be_bytes();
    [&[0, high | 0x80, low], body].concat()
}

/// Updates, by their codes: pictures.
pub const BITMAP: u8 = 1;
/// A pointer that was shown before.
pub const CACHED_POINTER: u8 = 10;
/// A pointer.
pub const NEW_POINTER: u8 = 11;
/// A pointer that may be large.
pub const LARGE_POINTER: u8 = 12;

/// An update of one picture at `at`, of 16 bits a pixel.
#[must_use]
pub fn bitmap(at: (u16, u16), size: (u16, u16), data: &[u8]) -> Vec<u8> {
    const PACKED: u16 = 0x0401;
    let (right, bottom) = (at.0 + size.0 - 1, at.1 + size.1 - 1);
    let place = [at.0, at.1, right, bottom];
    let words = [size.0, size.1, 16, PACKED, length(data)];
    let words = [&[1, 1][..], &place, &words].concat();
    let words = words.into_iter().flat_map(u16::to_le_bytes);
    words.chain(data.iter().copied()).collect()
}

/// The pixels of a black picture, packed: runs of the background.
#[must_use]
pub fn black(pixels: u32) -> Vec<u8> {
    const RUN: u32 = 65_535;
    let mut packed = [0xf0, 0xff, 0xff].repeat(usize::try_from(pixels / RUN).unwrap_or(0));
    let [low, high, ..] = (pixels % RUN).to_le_bytes();
    packed.extend([0xf0, low, high]);
    packed
}

/// Seven bytes that MPPC unpacks to sixty thousand zeros (RFC 2118, as section 3.1.8.4.2 has it).
pub const ZEROS: [u8; 7] = zeros();

const fn zeros() -> [u8; 7] {
    // A zero; then a copy, from one byte before, of 60 000: fourteen ones, a zero and fifteen bits.
    let bits = (0b111_1100_0001 << 30) | (0x7ffe << 15) | (60_000_u64 - 32_768);
    let [_, a, b, c, d, e, f, g] = (bits << 7).to_be_bytes();
    [a, b, c, d, e, f, g]
}
