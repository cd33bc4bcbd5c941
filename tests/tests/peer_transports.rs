//! Is a source recorded however it is reached, and refused by name when either side does not
//! believe the other? Real servers: Xvnc, and websockify before it.

use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use pipeline_tests::certificate::{Authority, Days};
use pipeline_tests::clock::utc_ms;
use pipeline_tests::desktop::{Desktop, free_display, obfuscated};
use pipeline_tests::playhead::Home;
use pipeline_tests::process::Process;

const UNREACHABLE: i32 = 4;
const REFUSED: i32 = 3;

/// Records `url` for a moment and expects that exit code, and those words if it is refused. Nothing
/// that is secret may show, in what it says or in what it keeps.
fn check(
    home: &Home,
    url: &str,
    options: &[&str],
    roots: &Path,
    (code, word): (i32, &str),
) -> anyhow::Result<()> {
    let output = home
        .command("playhead-agent")?
        .args(["record", url, "--json", "--duration", "1s"])
        .args(options)
        .env("SSL_CERT_FILE", roots)
        .env_remove("SSL_CERT_DIR")
        .env("PLAYHEAD_LOG", "trace")
        .output()?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    ensure!(
        output.status.code() == Some(code) && said.contains(word),
        "{url} {options:?}: {}, expected {code} and {word:?}\n{said}",
        output.status
    );
    let secret = url.split_once("token=").map(|(_, token)| token);
    for secret in secret.into_iter().chain([SECRET]) {
        ensure!(!said.contains(secret), "{url}: a secret is said\n{said}");
        for head in home.objects("session.json")? {
            let kept = fs::read_to_string(&head)?;
            ensure!(!kept.contains(secret), "{url}: a secret is kept\n{kept}");
        }
    }
    Ok(())
}

/// What is in each password file and header.
const SECRET: &str = "Kl4vier!";

fn write(home: &Home, name: &str, text: &str) -> anyhow::Result<String> {
    let file = home.path().join(name);
    fs::write(&file, text)?;
    Ok(file.to_string_lossy().into_owned())
}

/// An Xvnc that shows something, with these options.
fn desktop(home: &Home, options: &[&str]) -> anyhow::Result<Desktop> {
    Desktop::start_with(home.path(), free_display()?, (320, 240), options)
}

#[test]
fn peer_certificates_are_believed_by_root_or_pin() -> anyhow::Result<()> {
    let home = Home::new()?;
    let authority = Authority::new(home.path())?;
    let other = Authority::new(&home.path().join("other"))?;
    let roots = authority.root();
    let good = authority.issue("good", "IP:127.0.0.1", Days::Valid)?;
    let expired = authority.issue("expired", "IP:127.0.0.1", Days::Expired)?;
    let elsewhere = authority.issue("elsewhere", "DNS:elsewhere.test", Days::Valid)?;
    let passwords = home.path().join("passwd");
    fs::write(&passwords, obfuscated(SECRET)?)?;
    let passwords = passwords.to_string_lossy();
    let right = write(&home, "right", SECRET)?;
    let wrong = write(&home, "wrong", "guess")?;
    let with_right = ["--tls", "--password-file", &right];

    for (certificate, kind) in [
        (&good, "X509Vnc"),
        (&expired, "X509Vnc"),
        (&elsewhere, "X509Vnc"),
    ] {
        let (cert, key) = certificate.files();
        let options = [
            &["-SecurityTypes", kind, "-PasswordFile", &passwords][..],
            &["-X509Cert", &cert, "-X509Key", &key],
            &["-BlacklistThreshold", "100"],
        ];
        let desktop = desktop(&home, &options.concat())?;
        let url = desktop.url();
        let check =
            |options: &[&str], roots: &Path, expected| check(&home, &url, options, roots, expected);
        let pin = certificate.pin()?;
        let pinned = ["--tls-pin", &pin, "--password-file", &right];
        let because = match certificate.name() {
            "expired" => "it has expired",
            "elsewhere" => "it is for another name",
            _ => {
                check(&with_right, roots, (0, "ended"))?;
                check(
                    &["--tls", "--password-file", &wrong],
                    roots,
                    (REFUSED, "password"),
                )?;
                check(&["--tls"], roots, (REFUSED, "asks for a password"))?;
                check(&["--password-file", &right], roots, (REFUSED, "give --tls"))?;
                let other_pin = ["--tls-pin", &other.pin()?, "--password-file", &right];
                check(&other_pin, roots, (REFUSED, "not the one pinned"))?;
                check(
                    &with_right,
                    other.root(),
                    (REFUSED, "no root of this system"),
                )?;
                check(&pinned, other.root(), (0, "ended"))?;
                continue;
            }
        };
        check(&with_right, roots, (REFUSED, because))?;
        check(&pinned, roots, (0, "ended"))?;
    }
    Ok(())
}

#[test]
fn peer_encryption_may_need_no_sign_in_but_never_goes_without_a_certificate() -> anyhow::Result<()>
{
    let home = Home::new()?;
    let authority = Authority::new(home.path())?;
    let (cert, key) = authority
        .issue("good", "IP:127.0.0.1", Days::Valid)?
        .files();
    let files = ["-X509Cert", &*cert, "-X509Key", &key];
    for (kind, expected) in [
        ("X509None", (0, "ended")),
        ("TLSNone", (REFUSED, "without a certificate")),
        ("None", (REFUSED, "none of them supported")),
    ] {
        let options = [&["-SecurityTypes", kind][..], &files].concat();
        let desktop = desktop(&home, &options)?;
        check(
            &home,
            &desktop.url(),
            &["--tls"],
            authority.root(),
            expected,
        )?;
    }
    Ok(())
}

#[test]
fn peer_a_socket_of_this_machine_is_recorded() -> anyhow::Result<()> {
    let home = Home::new()?;
    let socket = home.path().join("desk socket?");
    let socket = socket.to_string_lossy();
    let options = ["-SecurityTypes", "None", "-rfbunixpath", &socket];
    let desktop = desktop(&home, &options)?;
    let nowhere = home.path().join("nowhere");
    check(
        &home,
        &format!("unix:{socket}"),
        &[],
        &nowhere,
        (0, "ended"),
    )?;
    drop(desktop);
    let gone = (UNREACHABLE, "cannot connect");
    check(
        &home,
        &format!("unix:{}", nowhere.display()),
        &[],
        &nowhere,
        gone,
    )
}

/// A websockify on the first free port, and that port.
fn websockify(home: &Home, options: &[&str], target: &[&str]) -> anyhow::Result<(Process, u16)> {
    let port = (18_250..=18_269_u16)
        .find(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
        .context("ports 18250 to 18269 are in use")?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut command = Command::new("websockify");
    command.args(options).arg(address.to_string()).args(target);
    let mut process = Process::start("websockify", home.path(), &mut command)?;
    process.wait_until("websockify", Duration::from_secs(20), || {
        TcpStream::connect(address).is_ok()
    })?;
    Ok((process, port))
}

/// A token for websockify's own plugin, good until `until_s` (UTC).
fn token(key: &str, port: u16, until_s: u64) -> anyhow::Result<String> {
    const SIGN: &str = "import sys\n\
        from jwcrypto import jwt\n\
        key, port, until = sys.stdin.read().split()\n\
        claims = {'host': '127.0.0.1', 'port': port, 'exp': int(until)}\n\
        token = jwt.JWT(header={'alg': 'HS256'}, claims=claims)\n\
        token.make_signed_token(jwt.JWK(kty='oct', k=key))\n\
        print(token.serialize())";
    let mut python = Command::new("/usr/bin/python3")
        .args(["-c", SIGN])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = python.stdin.take().context("no input")?;
    write!(input, "{key} {port} {until_s}")?;
    drop(input);
    let output = python.wait_with_output()?;
    ensure!(output.status.success(), "python3-jwcrypto signs no token");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

#[test]
fn peer_a_websocket_is_opened_by_a_good_token_only() -> anyhow::Result<()> {
    let home = Home::new()?;
    let desktop = desktop(&home, &["-SecurityTypes", "None"])?;
    let key = "c2l4dGVlbi1ieXRlcy1vZi1rZXktbWF0ZXJpYWwtMTI";
    let key_file = write(&home, "key", key)?;
    let plugin = ["--token-plugin", "JWTTokenApi", "--token-source", &key_file];
    let (_websockify, port) = websockify(&home, &plugin, &[])?;
    let roots = home.path().join("none");

    let rfb = 5900 + desktop.display;
    let now_s = utc_ms() / 1000;
    let hangs_up = (UNREACHABLE, "token is wrong or has expired");
    for (token, expected) in [
        (token(key, rfb, now_s + 600)?, (0, "ended")),
        (token(key, rfb, now_s - 60)?, hangs_up),
        ("forged.forged.forged".to_owned(), hangs_up),
    ] {
        let url = format!("ws://127.0.0.1:{port}/?token={token}");
        check(&home, &url, &[], &roots, expected)?;
    }
    Ok(())
}

#[test]
fn peer_an_encrypted_websocket_is_opened_by_a_header() -> anyhow::Result<()> {
    let home = Home::new()?;
    let authority = Authority::new(home.path())?;
    let other_authority = Authority::new(&home.path().join("other-authority"))?;
    let (cert, key) = authority
        .issue("good", "IP:127.0.0.1", Days::Valid)?
        .files();
    let desktop = desktop(&home, &["-SecurityTypes", "None"])?;
    let account = format!("ada:{SECRET}");
    let options = [
        &["--auth-plugin", "BasicHTTPAuth", "--auth-source", &account][..],
        &["--ssl-only", "--cert", &cert, "--key", &key],
    ];
    let target = format!("127.0.0.1:{}", 5900 + desktop.display);
    let (_websockify, port) = websockify(&home, &options.concat(), &[&target])?;

    // ada:Kl4vier! and ada:guess.
    let right = write(&home, "right", "Authorization: Basic YWRhOktsNHZpZXIh\n")?;
    let wrong = write(&home, "wrong", "Authorization: Basic YWRhOmd1ZXNz\n")?;
    let other = write(&home, "other", "Sec-WebSocket-Protocol: mqtt\n")?;
    let none = write(&home, "none", "Sec-WebSocket-Protocol:\n")?;
    let broken = write(&home, "broken", "hunter2\n")?;
    let url = format!("wss://127.0.0.1:{port}/desk");
    let roots = authority.root();
    let nowhere = home.path().join("nowhere");
    for (options, roots, expected) in [
        (&["--header-file", &right][..], roots, (0, "ended")),
        (&["--header-file", &wrong], roots, (REFUSED, "HTTP 401")),
        (&[], roots, (REFUSED, "HTTP 401")),
        (
            &["--header-file", &right],
            other_authority.root(),
            (REFUSED, "not believed"),
        ),
        (&["--header-file", &broken], roots, (2, "line 1")),
    ] {
        check(&home, &url, options, roots, expected)?;
    }
    let open = format!("127.0.0.1:{}", 5900 + desktop.display);
    let (_open, port) = websockify(&home, &[], &[&open])?;
    let url = format!("ws://127.0.0.1:{port}/");
    let disagrees = (UNREACHABLE, "HTTP 400");
    check(&home, &url, &["--header-file", &other], &nowhere, disagrees)?;
    check(
        &home,
        &url,
        &["--header-file", &none],
        &nowhere,
        (0, "ended"),
    )?;
    // What answers is no web server at all.
    let url = format!("ws://{open}/");
    check(
        &home,
        &url,
        &[],
        &nowhere,
        (UNREACHABLE, "does not speak WebSocket"),
    )
}
