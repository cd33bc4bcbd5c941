//! Writes down what a server says, as an input for an oracle.
//!
//! `record_seed ADDR handshake BYTES >FILE`, or `record_seed ADDR decoder BYTES TERMS ENCODING >FILE`

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use capture::{Framebuffer, Size};
use capture_vnc::{Config, Encoding, Session};
use pipeline_fuzz::Opening;

/// A screen on which nothing happens for so long has said what it had to.
const SILENCE: Duration = Duration::from_secs(2);

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (address, most_bytes, opening, config) = match *arguments.as_slice() {
        [address, "handshake", most_bytes] => {
            let opening = Opening {
                terms: 0,
                pieces: 0,
            };
            (address, most_bytes, opening, None)
        }
        [address, "decoder", most_bytes, terms, encoding] => {
            let opening = Opening {
                terms: terms.parse()?,
                pieces: 0,
            };
            let config = Config {
                encodings: vec![named(encoding)?, Encoding::Raw],
                pixel_format: Some(opening.format()),
                ..opening.config()
            };
            (address, most_bytes, opening, Some(config))
        }
        _ => return Err("the arguments are ADDR handshake|decoder BYTES [TERMS ENCODING]".into()),
    };
    let mut seed = vec![opening.terms, opening.pieces];
    seed.extend(record(address, most_bytes.parse()?, config)?);
    std::io::stdout().write_all(&seed)?;
    Ok(())
}

fn named(encoding: &str) -> Result<Encoding, Failure> {
    Ok(match encoding {
        "raw" => Encoding::Raw,
        "hextile" => Encoding::Hextile,
        "tight" => Encoding::Tight,
        "zrle" => Encoding::Zrle,
        other => return Err(format!("no encoding {other}").into()),
    })
}

/// What the server says from the first byte on, or after the handshake if there is a `config`.
fn record(address: &str, most_bytes: usize, config: Option<Config>) -> Result<Vec<u8>, Failure> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(SILENCE))?;
    let from_start = config.is_none();
    let mut session = Session::new(config.unwrap_or_default(), 0);
    let mut screen = Framebuffer::new(Size::new(1, 1), 0)?;
    let mut seed = Vec::new();
    let mut byte = [0];
    // Byte by byte: a message belongs to the seed from its first byte on.
    while seed.len() < most_bytes && socket.read_exact(&mut byte).is_ok() {
        if from_start || session.server_name().is_some() {
            seed.extend(byte);
        }
        session.handle_bytes(0, &byte, &mut screen)?;
        while session.poll_event().is_some() {}
        session.request_update(0);
        while let Some(said) = session.poll_transmit() {
            socket.write_all(&said)?;
        }
    }
    Ok(seed)
}
