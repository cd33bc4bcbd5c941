//! How does a Mac let a user in? The server's end of Apple's sign-in (security type 30).

use std::io;

use aes::{
    Aes128,
    cipher::{BlockCipherDecrypt as _, KeyInit as _},
};
use md5::{Digest as _, Md5};
use num_bigint::BigUint;

use crate::hostile_server::{Peer, SIZE, server_init};

/// The one account there is.
pub const USER: &str = "ada";
/// Its password.
pub const PASSWORD: &str = "grüße, Welt";

const KEY_BYTES: u16 = 128;
const SECRET: u64 = 0x1234_5678_9abc_def1;

/// The prime of 1024 bits of RFC 2409, section 6.2.
#[must_use]
pub fn prime() -> BigUint {
    const PRIME: &[u8] = b"FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74\
        020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B302B0A6DF25F1437\
        4FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED\
        EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF";
    BigUint::parse_bytes(PRIME, 16).unwrap_or_default()
}

/// A public key that goes with [`prime`].
#[must_use]
pub fn public() -> BigUint {
    BigUint::from(2_u8).modpow(&SECRET.into(), &prime())
}

/// Begins the sign-in with these numbers.
///
/// # Errors
/// When the client has hung up.
pub fn begin(peer: &mut Peer, prime: &BigUint, public: &BigUint) -> io::Result<()> {
    peer.say(b"RFB 003.889\n\x04\x1e\x21\x24\x23")?;
    peer.hear(12 + 1)?;
    peer.say(&[[0, 2], KEY_BYTES.to_be_bytes()].concat())?;
    peer.say(&[padded(prime), padded(public)].concat())
}

/// Lets the account in and serves it a picture; any other is refused.
///
/// # Errors
/// When the client has hung up.
pub fn sign_in(peer: &mut Peer) -> io::Result<()> {
    begin(peer, &prime(), &public())?;
    let answer = peer.hear(128 + usize::from(KEY_BYTES))?;
    let (encrypted, public) = answer.split_at(128);
    let shared = BigUint::from_bytes_be(public).modpow(&SECRET.into(), &prime());
    let key: [u8; 16] = Md5::digest(padded(&shared)).into();
    let cipher = Aes128::new(&key.into());
    let mut plain = Vec::new();
    for &block in encrypted.as_chunks::<16>().0 {
        let mut block = block.into();
        cipher.decrypt_block(&mut block);
        plain.extend(block.0);
    }
    let known = [(USER, &plain[..64]), (PASSWORD, &plain[64..])];
    if known
        .iter()
        .any(|(text, half)| !half.starts_with(&[text.as_bytes(), &[0]].concat()))
    {
        return peer.say(b"\0\0\0\x01\0\0\0\x02no");
    }
    peer.say(&[0; 4])?;
    peer.hear(1)?;
    peer.say(&server_init(SIZE, 3))?;
    peer.say(b"Mac")?;
    peer.serve()
}

fn padded(number: &BigUint) -> Vec<u8> {
    let bytes = number.to_bytes_be();
    let zeros = vec![0; usize::from(KEY_BYTES).saturating_sub(bytes.len())];
    [zeros, bytes].concat()
}
