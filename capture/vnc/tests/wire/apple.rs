//! Apple's sign-in, against a server's end of it.

use aes::{
    Aes128,
    cipher::{BlockCipherDecrypt, KeyInit},
};
use capture::Size;
use capture_vnc::{Config, Error, Password, Random};
use md5::{Digest, Md5};
use num_bigint::BigUint;

use crate::{
    client::Client,
    server::{all, server_init},
};

/// The prime of 1024 bits of RFC 2409, section 6.2.
const PRIME: &[u8] = b"FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74\
    020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B302B0A6DF25F1437\
    4FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED\
    EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF";

const SECRET: u64 = 0x1234_5678_9abc_def1;

fn prime() -> BigUint {
    BigUint::parse_bytes(PRIME, 16).unwrap()
}

fn padded(number: &BigUint, len: usize) -> Vec<u8> {
    let bytes = number.to_bytes_be();
    all(&[&vec![0; len - bytes.len()], &bytes])
}

/// What the server begins with.
fn numbers(generator: u16, key_bytes: u16, prime: &BigUint, public: &BigUint) -> Vec<u8> {
    let len = usize::from(key_bytes);
    all(&[
        &generator.to_be_bytes(),
        &key_bytes.to_be_bytes(),
        &padded(prime, len),
        &padded(public, len),
    ])
}

fn server_public() -> BigUint {
    BigUint::from(2_u8).modpow(&SECRET.into(), &prime())
}

/// The name and password in the client's answer.
fn open(answer: &[u8], key_bytes: usize) -> (String, String) {
    let (encrypted, public) = answer.split_at(128);
    assert_eq!(public.len(), key_bytes);
    let shared = BigUint::from_bytes_be(public).modpow(&SECRET.into(), &prime());
    let key: [u8; 16] = Md5::digest(padded(&shared, key_bytes)).into();
    let cipher = Aes128::new(&key.into());
    let blocks = encrypted.as_chunks::<16>().0.iter().flat_map(|&block| {
        let mut block = block.into();
        cipher.decrypt_block(&mut block);
        block.0
    });
    let plain: Vec<u8> = blocks.collect();
    let text = |half: &[u8]| {
        let end = half.iter().position(|&byte| byte == 0).unwrap();
        String::from_utf8(half[..end].to_vec()).unwrap()
    };
    (text(&plain[..64]), text(&plain[64..]))
}

fn account(user: &str, password: &str) -> Config {
    let bytes = std::array::from_fn(|i| u8::try_from(i % 251).unwrap() ^ 0x5a);
    Config {
        user: Some(user.into()),
        password: Some(Password::new(password.into())),
        random: Some(Random::new(bytes)),
        ..Config::default()
    }
}

/// What a Mac says first: its version, and the types it offers.
const OPENING: [u8; 17] = *b"RFB 003.889\n\x04\x1e\x21\x24\x23";

/// A server that knows one account signs in `config`, with numbers of `key_bytes`.
fn sign_in(config: Config, key_bytes: u16) -> Result<(), Error> {
    let mut client = Client::new(config);
    client.hear(&OPENING).unwrap();
    assert_eq!(client.sent(), b"RFB 003.889\n\x1e");
    let numbers = numbers(2, key_bytes, &prime(), &server_public());
    for piece in numbers.chunks(50) {
        client.hear(piece).unwrap();
    }
    let (user, password) = open(&client.sent(), key_bytes.into());
    if (user.as_str(), password.as_str()) == ("ada", "grüße, Welt") {
        client.hear(&[0; 4])?;
        assert_eq!(client.sent(), [1]);
        client.hear(&server_init(Size::new(64, 64), "Mac"))
    } else {
        client.hear(&all(&[&[0, 0, 0, 1], &[0, 0, 0, 2], b"no"]))
    }
}

#[test]
fn the_right_account_is_let_in() {
    assert_eq!(sign_in(account("ada", "grüße, Welt"), 128), Ok(()));
}

#[test]
fn numbers_shorter_than_their_place_are_padded() {
    assert_eq!(sign_in(account("ada", "grüße, Welt"), 200), Ok(()));
}

#[test]
fn a_wrong_account_is_refused() {
    for (user, password) in [("ada", "grüße"), ("eve", "grüße, Welt"), ("", "")] {
        let said = "no".into();
        let refused = Err(Error::PasswordRefused { said });
        assert_eq!(sign_in(account(user, password), 128), refused);
    }
}

/// How a sign-in ends in which the server says `numbers`.
fn check_end(config: Config, numbers: &[u8], expected: Error) {
    let mut client = Client::new(config);
    let heard = client.hear(&all(&[&OPENING, numbers]));
    assert_eq!(heard, Err(expected));
    assert!(client.sent().is_empty());
}

#[test]
fn numbers_that_give_the_secret_away_are_refused() {
    let (prime, public) = (prime(), server_public());
    let config = || account("ada", "secret");
    for key_bytes in [0_u16, 63, 1025, u16::MAX] {
        let head = all(&[&[0, 2], &key_bytes.to_be_bytes()]);
        check_end(config(), &head, Error::AppleKeyLength { key_bytes });
    }
    for bad in [&prime - 1_u8, (&prime >> 513) | BigUint::from(1_u8)] {
        let numbers = numbers(2, 128, &bad, &public);
        check_end(config(), &numbers, Error::ApplePrime);
    }
    for bad in [0_u8.into(), 1_u8.into(), &prime - 1_u8, prime.clone()] {
        let numbers = numbers(2, 128, &prime, &bad);
        check_end(config(), &numbers, Error::AppleKey);
    }
    for generator in [0, 1] {
        let numbers = numbers(generator, 128, &prime, &public);
        check_end(config(), &numbers, Error::AppleGenerator { generator });
    }
}

#[test]
fn what_does_not_fit_is_not_cut() {
    let numbers = numbers(2, 128, &prime(), &server_public());
    for (user, password) in [("u".repeat(64), "p".into()), ("u".into(), "p".repeat(64))] {
        check_end(
            account(&user, &password),
            &numbers,
            Error::CredentialsTooLong,
        );
    }
}

#[test]
fn an_account_is_needed() {
    let nobody = Config {
        user: None,
        ..account("", "secret")
    };
    check_end(nobody, &[], Error::UserRequired);
    let guessable = Config {
        random: None,
        ..account("ada", "secret")
    };
    let offered = vec![30, 33, 36, 35];
    check_end(guessable, &[], Error::SecurityUnsupported { offered });
}

#[test]
fn a_server_without_it_gets_the_password_alone() {
    let mut client = Client::new(account("ada", "secret"));
    client.hear(b"RFB 003.008\n\x02\x01\x02").unwrap();
    assert_eq!(client.sent(), b"RFB 003.008\n\x02");
}
