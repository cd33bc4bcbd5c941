//! Who tells the recorder when a secret comes? A client of its marks listener.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

/// No answer takes longer.
const LIMIT: Duration = Duration::from_secs(60);

/// A connection that tells marks.
pub struct Marks {
    read: BufReader<Box<dyn Read>>,
    write: Box<dyn Write>,
}

impl Marks {
    /// Connects to a Unix socket.
    ///
    /// # Errors
    /// When nobody listens there.
    pub fn at_socket(path: &Path) -> anyhow::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(LIMIT))?;
        Ok(Self {
            read: BufReader::new(Box::new(stream.try_clone()?)),
            write: Box::new(stream),
        })
    }

    /// Connects over TCP and shows a token.
    ///
    /// # Errors
    /// When nobody listens there.
    pub fn at_address(address: SocketAddr, token: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, LIMIT)?;
        stream.set_read_timeout(Some(LIMIT))?;
        let mut marks = Self {
            read: BufReader::new(Box::new(stream.try_clone()?)),
            write: Box::new(stream),
        };
        marks.say(&json!({ "token": token }).to_string())?;
        Ok(marks)
    }

    /// Tells a mark and gives back the answer.
    ///
    /// # Errors
    /// When none comes.
    pub fn tell(&mut self, name: &str) -> anyhow::Result<Value> {
        self.say(&json!({ "mark": name }).to_string())?;
        self.answer()
    }

    /// Says a line.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn say(&mut self, line: &str) -> anyhow::Result<()> {
        Ok(writeln!(self.write, "{line}")?)
    }

    /// The next answer.
    ///
    /// # Errors
    /// When none comes.
    pub fn answer(&mut self) -> anyhow::Result<Value> {
        let mut line = String::new();
        self.read.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }
}
