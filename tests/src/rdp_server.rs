//! What speaks RDP? Servers from two code bases, each before a desktop.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::certificate::{Authority, Certificate, Days};
use crate::desktop::Desktop;
use crate::playhead::Home;
use crate::process::Process;

/// Ports lie this far above a desktop's display.
const PORT: u16 = 3_300;
const START: Duration = Duration::from_secs(30);

/// Whom a server lets in that asks first.
pub const USER: &str = "ada";
/// That user's password.
pub const PASSWORD: &str = "correct horse";

/// A running server.
#[derive(Debug)]
pub struct RdpServer {
    /// The server, to be stopped, continued or killed.
    pub server: Process,
    address: SocketAddr,
}

impl RdpServer {
    /// xrdp before the desktop's VNC server. It lets in whoever comes, and has TLS alone.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn xrdp(folder: &Path, desktop: &Desktop) -> anyhow::Result<Self> {
        let certificate = Authority::new(folder)?.issue("xrdp", "DNS:localhost", Days::Valid)?;
        Self::xrdp_as(folder, desktop.display, &certificate)
    }

    /// xrdp, with that certificate.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn xrdp_as(folder: &Path, display: u16, certificate: &Certificate) -> anyhow::Result<Self> {
        let address = address(display);
        let (cert, key) = certificate.files();
        fs::create_dir_all("/run/xrdp")?;
        let config = format!(
            "[Globals]\nini_version=1\nfork=false\nport=tcp://{address}\nsecurity_layer=tls\n\
             crypt_level=high\ncertificate={cert}\nkey_file={key}\n\
             ssl_protocols=TLSv1.2, TLSv1.3\nautorun=desk\nbitmap_compression=true\n\
             bulk_compression=true\nmax_bpp=32\nnew_cursors=true\nuse_fastpath=both\nallow_channels=true\n\
             [Logging]\nLogFile={log}\nLogLevel=INFO\nEnableSyslog=false\n[Channels]\ncliprdr=true\n\
             [desk]\nname=desk\nlib=libvnc.so\nip=127.0.0.1\nport={vnc}\nusername=na\npassword=na\n",
            log = folder.join("xrdp-server.log").display(),
            vnc = 5_900 + display,
        );
        let file = folder.join("xrdp.ini");
        fs::write(&file, config)?;
        let mut command = Command::new("xrdp");
        command.arg("--nodaemon").arg("--config").arg(&file);
        Self::start("xrdp", folder, address, &mut command)
    }

    /// FreeRDP's shadow server, which shows the desktop itself and lets in [`USER`] alone, by
    /// network level authentication.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn shadow(folder: &Path, desktop: &Desktop) -> anyhow::Result<Self> {
        Self::shadow_at(folder, desktop.display)
    }

    /// The same, on that display.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn shadow_at(folder: &Path, display: u16) -> anyhow::Result<Self> {
        let address = address(display);
        let sam = folder.join("sam");
        fs::write(&sam, format!("{USER}:::{}:::\n", nt_hash(folder)?))?;
        let mut command = Command::new("freerdp-shadow-cli");
        command
            .env("HOME", folder)
            .env("DISPLAY", format!(":{display}"))
            .arg(format!("/port:{}", address.port()))
            .args(["/bind-address:127.0.0.1", "+auth", "/sec:nla"])
            .arg(format!("/sam-file:{}", sam.display()));
        Self::start("shadow", folder, address, &mut command)
    }

    fn start(
        name: &str,
        folder: &Path,
        address: SocketAddr,
        command: &mut Command,
    ) -> anyhow::Result<Self> {
        let mut server = Process::start(name, folder, command)?;
        server.wait_until(name, START, || TcpStream::connect(address).is_ok())?;
        Ok(Self { server, address })
    }

    /// The pin that a recorder names which does not believe the certificate.
    ///
    /// # Errors
    /// When it is not refused for that.
    pub fn pin(&self, home: &Home, options: &[&str]) -> anyhow::Result<String> {
        let url = self.url();
        let asked = [&["record", &url, "--duration", "5s"], options].concat();
        let output = home.agent(&asked)?;
        let said = String::from_utf8_lossy(&output.stderr);
        let unbelieved = said.contains("no root of this system vouches for it");
        ensure!(output.status.code() == Some(3) && unbelieved, "{said}");
        let (_, pin) = said.split_once("--tls-pin ").context("no pin")?;
        Ok(pin.split_whitespace().next().unwrap_or_default().to_owned())
    }

    /// The port it listens on.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.address.port()
    }

    /// What the recorder is given.
    #[must_use]
    pub fn url(&self) -> String {
        format!("rdp://{USER}@{}", self.address)
    }
}

fn address(display: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, PORT + display).into()
}

/// MD4 of the password in UTF-16, in hexadecimal.
fn nt_hash(folder: &Path) -> anyhow::Result<String> {
    let file = folder.join("utf16");
    let utf16: Vec<u8> = PASSWORD.encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(&file, utf16)?;
    let hashed = Command::new("openssl")
        .args("dgst -provider legacy -provider default -md4 -r".split(' '))
        .arg(&file)
        .output()?;
    ensure!(hashed.status.success(), "openssl has no MD4: {hashed:?}");
    let hashed = String::from_utf8(hashed.stdout)?;
    Ok(hashed
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned())
}
