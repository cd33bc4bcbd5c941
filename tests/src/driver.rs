//! Who operates the recorded machine? A VNC client that types, clicks and pastes, and notes when.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use capture::input::Keysym;
use des::Des;
use des::cipher::{BlockCipherEncrypt as _, KeyInit as _};

use crate::clock::utc_ms;

/// No answer takes longer.
const LIMIT: Duration = Duration::from_secs(60);

/// Keysyms that tests press.
pub mod keysym {
    #![allow(missing_docs, reason = "their names say what they are")]
    pub const BACKSPACE: u32 = 0xff08;
    pub const TAB: u32 = 0xff09;
    pub const RETURN: u32 = 0xff0d;
    pub const CONTROL: u32 = 0xffe3;
}

/// A connected VNC client. What the server sends is read and forgotten.
#[derive(Debug)]
pub struct Driver {
    stream: TcpStream,
    /// The screen's size when it connected.
    pub size: (u16, u16),
    listener: Option<JoinHandle<u64>>,
}

impl Driver {
    /// Connects and signs in.
    ///
    /// # Errors
    /// When the server refuses, with what it says.
    pub fn connect(at: SocketAddr, password: Option<&str>) -> anyhow::Result<Self> {
        let mut stream = TcpStream::connect_timeout(&at, LIMIT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LIMIT))?;
        let greeting: [u8; 12] = take(&mut stream)?;
        ensure!(greeting.starts_with(b"RFB 003"), "no RFB server");
        stream.write_all(b"RFB 003.008\n")?;
        let [count] = take(&mut stream)?;
        if count == 0 {
            bail!("refused: {}", reason(&mut stream)?);
        }
        let mut kinds = vec![0; count.into()];
        stream.read_exact(&mut kinds)?;
        let kind = if password.is_some() { 2 } else { 1 };
        ensure!(kinds.contains(&kind), "only {kinds:?} are offered");
        stream.write_all(&[kind])?;
        if let Some(password) = password {
            let challenge = take(&mut stream)?;
            stream.write_all(&answer(password, challenge))?;
        }
        if take::<4>(&mut stream)? != [0; 4] {
            bail!("refused: {}", reason(&mut stream)?);
        }
        stream.write_all(&[1])?;
        let [w0, w1, h0, h1]: [u8; 4] = take(&mut stream)?;
        let _pixel_format: [u8; 16] = take(&mut stream)?;
        let _name = reason(&mut stream)?;
        let size = (u16::from_be_bytes([w0, w1]), u16::from_be_bytes([h0, h1]));
        stream.write_all(&encodings(&[RAW, DESKTOP_SIZE, EXTENDED_CLIPBOARD]))?;
        Ok(Self {
            stream,
            size,
            listener: None,
        })
    }

    /// Reads and forgets what the server sends from now on, until it closes the connection.
    ///
    /// # Errors
    /// When the connection is gone already.
    pub fn ignore_pictures(&mut self) -> anyhow::Result<()> {
        let mut stream = self.stream.try_clone()?;
        stream.set_read_timeout(None)?;
        self.listener = Some(std::thread::spawn(move || {
            std::io::copy(&mut stream, &mut std::io::sink()).unwrap_or(0)
        }));
        Ok(())
    }

    /// Reads until the server has sent these bytes.
    ///
    /// # Errors
    /// When it does not.
    pub fn wait_for_bytes(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let mut heard = Vec::new();
        while !heard.ends_with(bytes) {
            heard.extend(take::<1>(&mut self.stream)?);
        }
        Ok(())
    }

    /// Waits until the server has closed the connection.
    ///
    /// # Errors
    /// When it does not.
    pub fn wait_for_end(mut self) -> anyhow::Result<()> {
        let Some(listener) = self.listener.take() else {
            // What is still on its way is of no interest; the end of it is.
            let ended = std::io::copy(&mut self.stream, &mut std::io::sink());
            return ended.map(drop).or_else(|error| {
                let reset = error.kind() == std::io::ErrorKind::ConnectionReset;
                reset.then_some(()).context(error)
            });
        };
        crate::clock::wait_for("the end of the driver's connection", LIMIT, || {
            Ok(listener.is_finished().then_some(()))
        })
    }

    /// Presses or releases a key. Gives back when, in ms since 1970.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn key(&mut self, keysym: u32, down: bool) -> anyhow::Result<u64> {
        let [a, b, c, d] = keysym.to_be_bytes();
        self.send(&[4, down.into(), 0, 0, a, b, c, d])
    }

    /// Types a text, and gives back when its first and its last key went down.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn text(&mut self, text: &str) -> anyhow::Result<(u64, u64)> {
        let mut times = Vec::new();
        for typed in text.chars() {
            let keysym = Keysym::of(typed).0;
            times.push(self.key(keysym, true)?);
            self.key(keysym, false)?;
        }
        let first = times.first().context("no text")?;
        let last = times.last().context("no text")?;
        Ok((*first, *last))
    }

    /// Presses and releases a key.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn tap(&mut self, keysym: u32) -> anyhow::Result<u64> {
        let pressed = self.key(keysym, true)?;
        self.key(keysym, false)?;
        Ok(pressed)
    }

    /// Moves the pointer there with these buttons down, one bit each.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn pointer(&mut self, (x, y): (u16, u16), buttons: u8) -> anyhow::Result<u64> {
        let ([x0, x1], [y0, y1]) = (x.to_be_bytes(), y.to_be_bytes());
        self.send(&[5, buttons, x0, x1, y0, y1])
    }

    /// Clicks there with the left button. Gives back when it went down.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn click(&mut self, at: (u16, u16)) -> anyhow::Result<u64> {
        self.pointer(at, 0)?;
        let pressed = self.pointer(at, 1)?;
        self.pointer(at, 0)?;
        Ok(pressed)
    }

    /// Turns the wheel down there by so many steps.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn wheel_down(&mut self, at: (u16, u16), steps: u8) -> anyhow::Result<()> {
        for _ in 0..steps {
            self.pointer(at, 0b1_0000)?;
            self.pointer(at, 0)?;
        }
        Ok(())
    }

    /// Puts Latin-1 text on the machine's clipboard, the classic way.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn paste_latin1(&mut self, text: &[u8]) -> anyhow::Result<u64> {
        let mut message = vec![6, 0, 0, 0];
        message.extend(u32::try_from(text.len())?.to_be_bytes());
        message.extend(text);
        self.send(&message)
    }

    /// Puts any text on the machine's clipboard, by the extended clipboard of rfbproto.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn paste_unicode(&mut self, text: &str) -> anyhow::Result<u64> {
        /// "Here is", and "a text".
        const PROVIDE_TEXT: u32 = 0x1000_0001;
        let mut content = u32::try_from(text.len() + 1)?.to_be_bytes().to_vec();
        content.extend(text.as_bytes());
        content.push(0);
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(&content, 6);
        let length = i32::try_from(packed.len() + 4)?;
        let mut message = vec![6, 0, 0, 0];
        message.extend((-length).to_be_bytes());
        message.extend(PROVIDE_TEXT.to_be_bytes());
        message.extend(packed);
        self.send(&message)
    }

    /// Takes back that it knows the extended clipboard: what the machine copies comes unasked then.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn take_classic_clipboard(&mut self) -> anyhow::Result<u64> {
        self.send(&encodings(&[RAW, DESKTOP_SIZE]))
    }

    /// Sends bytes as they are. Gives back when.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn send(&mut self, bytes: &[u8]) -> anyhow::Result<u64> {
        let now = utc_ms();
        self.stream.write_all(bytes)?;
        Ok(now)
    }

    /// Reads the next bytes that the server sends.
    ///
    /// # Errors
    /// When they do not come.
    pub fn receive<const N: usize>(&mut self) -> anyhow::Result<[u8; N]> {
        take(&mut self.stream)
    }
}

impl Drop for Driver {
    /// Closes the connection, whoever still reads from it.
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

const RAW: u32 = 0;
const DESKTOP_SIZE: u32 = 0xffff_ff21;
const EXTENDED_CLIPBOARD: u32 = 0xc0a1_e5ce;

/// `SetEncodings`: how pixels may come, and what else a server may do.
fn encodings(these: &[u32]) -> Vec<u8> {
    let count = u8::try_from(these.len()).unwrap_or(u8::MAX);
    let numbers = these.iter().flat_map(|number| number.to_be_bytes());
    [2, 0, 0, count].into_iter().chain(numbers).collect()
}

fn take<const N: usize>(stream: &mut TcpStream) -> anyhow::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A sentence with its length.
fn reason(stream: &mut TcpStream) -> anyhow::Result<String> {
    let length = u32::from_be_bytes(take(stream)?);
    let mut text = vec![0; length.min(4096).try_into()?];
    stream.read_exact(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The challenge under the password, each of whose bytes is taken backwards (RFC 6143, 7.2.2).
fn answer(password: &str, challenge: [u8; 16]) -> Vec<u8> {
    let mut key = [0; 8];
    for (place, byte) in key.iter_mut().zip(password.bytes()) {
        *place = byte.reverse_bits();
    }
    let cipher = Des::new(&key.into());
    let (blocks, _) = challenge.as_chunks::<8>();
    let sealed = blocks.iter().flat_map(|&block| {
        let mut block = block.into();
        cipher.encrypt_block(&mut block);
        block.0
    });
    sealed.collect()
}
