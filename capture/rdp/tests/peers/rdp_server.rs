//! RDP servers that show a desktop.

use std::{fs, net::TcpStream, path::Path, process::Command};

use tempfile::TempDir;

use crate::{
    clock::wait_for,
    desktop::{Desktop, Processes},
};

/// A server, its folder and its port.
pub(crate) struct RdpServer {
    pub(crate) port: u16,
    pub(crate) processes: Processes,
    _folder: TempDir,
}

/// What is to be let in where sign-in comes first.
pub(crate) const USER: &str = "ada";
pub(crate) const PASSWORD: &str = "correct horse";

impl RdpServer {
    /// xrdp, which takes its picture from the desktop's VNC server.
    pub(crate) fn xrdp(desktop: &Desktop, globals: &str) -> Self {
        let folder = TempDir::new().unwrap();
        certificate(folder.path());
        fs::create_dir_all("/run/xrdp").unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let config = format!(
            "[Globals]\nini_version=1\nfork=false\nport=tcp://127.0.0.1:{port}\n\
             security_layer=tls\ncrypt_level=high\ncertificate={cert}\nkey_file={key}\n\
             ssl_protocols=TLSv1.2, TLSv1.3\nautorun=desk\nbitmap_cache=true\n\
             bitmap_compression=true\nmax_bpp=32\nnew_cursors=true\nuse_fastpath=both\nallow_channels=true\n{globals}\n\
             [Logging]\nLogFile={log}\nLogLevel=INFO\nEnableSyslog=false\n[Channels]\ncliprdr=true\n\
             [desk]\nname=desk\nlib=libvnc.so\nip=127.0.0.1\nport={vnc}\nusername=na\npassword=na\n",
            port = desktop.rdp_port(),
            cert = at("cert.pem"),
            key = at("key.pem"),
            log = at("xrdp.log"),
            vnc = desktop.vnc_port(),
        );
        fs::write(at("xrdp.ini"), config).unwrap();
        let mut command = Command::new("xrdp");
        command.args(["--nodaemon", "--config", &at("xrdp.ini")]);
        Self::start(desktop.rdp_port(), folder, &mut command)
    }

    /// FreeRDP's shadow server, which shows the desktop itself. `options` say how to sign in.
    pub(crate) fn shadow(desktop: &Desktop, options: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let sam = folder.path().join("sam");
        fs::write(
            &sam,
            format!("{USER}:::{}:::\n", nt_hash(PASSWORD, folder.path())),
        )
        .unwrap();
        let mut command = Command::new("freerdp-shadow-cli");
        command
            .env("HOME", folder.path())
            .env("DISPLAY", desktop.display())
            .arg(format!("/port:{}", desktop.rdp_port()))
            .arg("/bind-address:127.0.0.1")
            .arg(format!("/sam-file:{}", sam.display()))
            .args(options);
        Self::start(desktop.rdp_port(), folder, &mut command)
    }

    fn start(port: u16, folder: TempDir, command: &mut Command) -> Self {
        let mut processes = Processes::default();
        processes.spawn(command);
        wait_for("the RDP port", || {
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        Self {
            port,
            processes,
            _folder: folder,
        }
    }
}

/// Without sign-in, whoever comes is let in.
pub(crate) const OPEN: &[&str] = &["-auth", "/sec:tls"];
/// Network level authentication.
pub(crate) const NLA: &[&str] = &["+auth", "/sec:nla"];

/// Makes `cert.pem` and `key.pem` in a folder.
pub(crate) fn certificate(folder: &Path) {
    let made = Command::new("openssl")
        .args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        ])
        .args([
            "-subj",
            "/CN=localhost",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
        ])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "openssl must be installed");
}

/// MD4 of the password in UTF-16, in hexadecimal.
fn nt_hash(password: &str, folder: &Path) -> String {
    let file = folder.join("utf16");
    let utf16: Vec<u8> = password.encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(&file, utf16).unwrap();
    let hashed = Command::new("openssl")
        .args([
            "dgst",
            "-provider",
            "legacy",
            "-provider",
            "default",
            "-md4",
            "-r",
        ])
        .arg(&file)
        .output()
        .unwrap();
    let hashed = String::from_utf8(hashed.stdout).unwrap();
    hashed.split_whitespace().next().unwrap().to_owned()
}
