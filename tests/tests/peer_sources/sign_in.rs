//! Who signs in with a name and a password over TLS (VeNCrypt's X509Plain)? wayvnc alone offers it
//! here without accounts of the system.

use pipeline_tests::{
    certificate::{Authority, Days},
    playhead::Home,
};

use crate::machines::Wayland;

const PORT: u16 = 5964;
const ACCOUNT: (&str, &str) = ("ada", "Kl4vier!");

#[test]
fn peer_wayvnc_lets_in_who_has_an_account() {
    let home = Home::new().unwrap();
    let authority = Authority::new(home.path()).unwrap();
    let certificate = authority
        .issue("desk", "IP:127.0.0.1", Days::Valid)
        .unwrap();
    let _machine = Wayland::secured(PORT, ACCOUNT, &certificate);
    let pin = certificate.pin().unwrap();
    let record = |user: &str, password: &str| {
        let file = home.path().join("password");
        std::fs::write(&file, password).unwrap();
        let url = format!("vnc://{user}@127.0.0.1:{PORT}");
        let to = [
            "record",
            &url,
            "--json",
            "--duration",
            "1s",
            "--tls-pin",
            &pin,
        ];
        let by = ["--password-file", file.to_str().unwrap()];
        let output = home.agent(&[&to[..], &by].concat()).unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!said.contains(ACCOUNT.1), "a password is said");
        (output.status.success(), said)
    };
    let (recorded, said) = record(ACCOUNT.0, ACCOUNT.1);
    assert!(recorded && said.contains("duration-reached"), "{said}");
    // It says that they are welcome, follows that with what lay in its memory, and hangs up.
    for (user, password) in [(ACCOUNT.0, "guess"), ("eve", ACCOUNT.1)] {
        let (recorded, said) = record(user, password);
        assert!(!recorded && !said.contains("started"), "{user}: {said}");
    }
}
