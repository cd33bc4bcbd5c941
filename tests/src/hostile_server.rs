//! What does a server that means harm do? One that a test scripts, byte by byte: of VNC (RFC 6143)
//! here, of RDP in `hostile_rdp`.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A listening server whose connections all follow one script.
#[derive(Debug)]
pub struct HostileServer {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl HostileServer {
    /// Listens on loopback, on a port that the system chooses, and plays `script` to each client.
    ///
    /// # Errors
    /// When it cannot listen.
    pub fn start(
        script: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let stopped = Arc::new(AtomicBool::new(false));
        let (stop, script) = (Arc::clone(&stopped), Arc::new(script));
        let accepting = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let script = Arc::clone(&script);
                // It ends when the client hangs up, which breaks any script.
                std::thread::spawn(move || {
                    let mut peer = Peer {
                        stream: Stream::Plain(stream),
                    };
                    script(&mut peer)?;
                    // Said to its end before it is closed, whatever the client says meanwhile.
                    peer.end()?;
                    peer.hush()
                });
            }
        });
        Ok(Self {
            address,
            stopped,
            accepting: Some(accepting),
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HostileServer {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        let woken = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take().filter(|_| woken.is_ok()) {
            let _ = accepting.join();
        }
    }
}

/// The screen's sides in px.
pub const SIZE: (u16, u16) = (1024, 768);

/// Encodings, by their numbers.
pub const RAW: i32 = 0;
/// Tight.
pub const TIGHT: i32 = 7;
/// ZRLE.
pub const ZRLE: i32 = 16;
/// The screen's new size.
pub const DESKTOP_SIZE: i32 = -223;

/// What a server says first to a client that needs no password, up to the desktop's name.
#[must_use]
pub fn opening() -> Vec<u8> {
    let head = b"RFB 003.008\n\x01\x01\0\0\0\0";
    [&head[..], &server_init(SIZE, 4), b"desk"].concat()
}

/// `ServerInit` without the name.
#[must_use]
pub fn server_init((width, height): (u16, u16), name_bytes: u32) -> Vec<u8> {
    let format = [32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0];
    let (width, height) = (width.to_be_bytes(), height.to_be_bytes());
    [&width[..], &height, &format, &name_bytes.to_be_bytes()].concat()
}

/// The head of an update of `count` rectangles.
#[must_use]
pub fn update(count: u16) -> Vec<u8> {
    [[0, 0], count.to_be_bytes()].concat()
}

/// The head of a rectangle.
#[must_use]
pub fn rect(at: (u16, u16), size: (u16, u16), encoding: i32) -> Vec<u8> {
    let numbers = [at.0, at.1, size.0, size.1].map(u16::to_be_bytes);
    [numbers.as_flattened(), &encoding.to_be_bytes()].concat()
}

/// The client, as its server sees it.
#[derive(Debug)]
pub struct Peer {
    stream: Stream,
}

#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Peer {
    /// Encrypts what is said and heard from here on, as a server with that certificate.
    ///
    /// # Errors
    /// When the client does not agree to it, or has hung up.
    pub fn encrypt(&mut self, as_whom: Arc<ServerConfig>) -> io::Result<()> {
        let Stream::Plain(socket) = &self.stream else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut socket = socket.try_clone()?;
        let mut tls = ServerConnection::new(as_whom).map_err(io::Error::other)?;
        while tls.is_handshaking() {
            tls.complete_io(&mut socket)?;
        }
        self.stream = Stream::Encrypted(Box::new(StreamOwned::new(tls, socket)));
        Ok(())
    }

    /// Says `bytes`.
    ///
    /// # Errors
    /// When the client has hung up, as of every method here.
    pub fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.stream {
            Stream::Plain(socket) => socket.write_all(bytes),
            Stream::Encrypted(stream) => {
                stream.write_all(bytes)?;
                stream.flush()
            }
        }
    }

    /// Hears so many bytes.
    ///
    /// # Errors
    /// When the client has hung up.
    pub fn hear(&mut self, len: usize) -> io::Result<Vec<u8>> {
        let mut heard = vec![0; len];
        match &mut self.stream {
            Stream::Plain(socket) => socket.read_exact(&mut heard)?,
            Stream::Encrypted(stream) => stream.read_exact(&mut heard)?,
        }
        Ok(heard)
    }

    /// Says `piece` until the client hangs up.
    ///
    /// # Errors
    /// Then.
    pub fn pour(&mut self, piece: &[u8]) -> io::Result<()> {
        // What an encrypted client says meanwhile is little enough to lie unheard.
        if let Stream::Plain(socket) = &self.stream {
            let mut heard = socket.try_clone()?;
            std::thread::spawn(move || io::copy(&mut heard, &mut io::sink()));
        }
        loop {
            self.say(piece)?;
        }
    }

    /// Says nothing until the client hangs up.
    ///
    /// # Errors
    /// When the connection breaks instead.
    pub fn hush(&mut self) -> io::Result<()> {
        match &mut self.stream {
            Stream::Plain(socket) => io::copy(socket, &mut io::sink()),
            Stream::Encrypted(stream) => io::copy(stream, &mut io::sink()),
        }
        .map(|_| ())
    }

    /// Has said all.
    fn end(&mut self) -> io::Result<()> {
        match &mut self.stream {
            Stream::Plain(socket) => socket.shutdown(Shutdown::Write),
            Stream::Encrypted(stream) => {
                stream.conn.send_close_notify();
                stream.flush()?;
                stream.sock.shutdown(Shutdown::Write)
            }
        }
    }

    /// Lets the client in and shows it a picture that it has taken when this returns.
    ///
    /// # Errors
    /// When the client has hung up.
    pub fn show(&mut self) -> io::Result<()> {
        self.say(&opening())?;
        self.hear(12 + 1 + 1)?; // its version, its choice, ClientInit
        self.serve_until_taken()
    }

    /// Answers as a good server of a still picture does, for as long as the client asks.
    ///
    /// # Errors
    /// When the client has hung up.
    pub fn serve(&mut self) -> io::Result<()> {
        loop {
            self.serve_until_taken()?;
        }
    }

    fn serve_until_taken(&mut self) -> io::Result<()> {
        loop {
            match self.hear(1)?.as_slice() {
                [0] => drop(self.hear(19)?),
                [2] => {
                    let head = self.hear(3)?;
                    let count = u16::from_be_bytes([head[1], head[2]]);
                    self.hear(4 * usize::from(count))?;
                }
                [3] => {
                    let asked = self.hear(9)?;
                    if asked[0] != 0 {
                        return Ok(());
                    }
                    let side = |at: usize| u16::from_be_bytes([asked[at], asked[at + 1]]);
                    let (width, height) = (side(5), side(7));
                    let pixels = usize::from(width) * usize::from(height);
                    self.say(&update(1))?;
                    self.say(&rect((side(1), side(3)), (width, height), RAW))?;
                    self.say(&[40, 120, 200, 0].repeat(pixels))?;
                }
                _ => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
    }
}
