//! Apple's sign-in, security type 30: a key agreed on by Diffie and Hellman's exchange encrypts
//! the user's name and password. It hides them from who only listens; who stands between can
//! read them.

use aes::{
    Aes128,
    cipher::{BlockCipherEncrypt, KeyInit},
};
use capture::Password;
use md5::{Digest, Md5};
use num_bigint::BigUint;

use super::Random;
use crate::error::Error;

/// Bytes of our private key: its 256 bits outlast the 128 of the key they guard.
pub(crate) const SECRET_BYTES: usize = 32;

/// The name and the password take half of these each, both ended by a zero.
pub(crate) const CREDENTIALS_BYTES: usize = 128;
const HALF_BYTES: usize = CREDENTIALS_BYTES / 2;

const AES_BLOCK_BYTES: usize = 16;

/// Bytes of a prime: shorter is broken, longer serves only to keep us busy.
const KEY_BYTES: std::ops::RangeInclusive<u16> = 64..=1024;

/// The shortest prime, counted without zeros in front.
const PRIME_BITS: u64 = 512;

/// What a server begins with: how long its numbers are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    generator: u16,
    key_bytes: u16,
}

impl Head {
    pub(crate) const BYTES: usize = 4;

    /// # Errors
    /// When the numbers are too short or too long.
    pub(crate) fn parse([g0, g1, l0, l1]: [u8; Self::BYTES]) -> Result<Self, Error> {
        let key_bytes = u16::from_be_bytes([l0, l1]);
        if !KEY_BYTES.contains(&key_bytes) {
            return Err(Error::AppleKeyLength { key_bytes });
        }
        Ok(Self {
            generator: u16::from_be_bytes([g0, g1]),
            key_bytes,
        })
    }

    /// Bytes of the prime, and of the server's public key after it.
    pub(crate) fn key_bytes(self) -> usize {
        self.key_bytes.into()
    }
}

/// The encrypted name and password, then our public key.
///
/// # Errors
/// When the server's numbers would give a key that others can guess, or name and password are
/// too long.
pub(crate) fn answer(
    head: Head,
    prime: &[u8],
    server_public: &[u8],
    (user, password): (&str, &Password),
    Random(random): &Random,
) -> Result<Vec<u8>, Error> {
    let (secret, padding) = random.split_at(SECRET_BYTES);
    let mut credentials = padding.to_vec();
    for (half, text) in { credentials.chunks_mut(HALF_BYTES) }.zip([user, password.as_str()]) {
        let ended = half.get_mut(..=text.len());
        let ended = ended.ok_or(Error::CredentialsTooLong)?;
        ended.fill(0);
        for (byte, text) in ended.iter_mut().zip(text.bytes()) {
            *byte = text;
        }
    }

    let prime = BigUint::from_bytes_be(prime);
    let server_public = BigUint::from_bytes_be(server_public);
    check_numbers(head.generator, &prime, &server_public)?;
    let secret = BigUint::from_bytes_be(secret);
    let public = BigUint::from(head.generator).modpow(&secret, &prime);
    let shared = server_public.modpow(&secret, &prime);

    let key: [u8; AES_BLOCK_BYTES] = Md5::digest(padded(&shared, head.key_bytes())).into();
    let cipher = Aes128::new(&key.into());
    let (blocks, _) = credentials.as_chunks_mut::<AES_BLOCK_BYTES>();
    for block in blocks {
        let mut encrypted = (*block).into();
        cipher.encrypt_block(&mut encrypted);
        *block = encrypted.0;
    }
    credentials.extend(padded(&public, head.key_bytes()));
    Ok(credentials)
}

fn check_numbers(generator: u16, prime: &BigUint, server_public: &BigUint) -> Result<(), Error> {
    let one = BigUint::from(1_u8);
    if prime.bits() < PRIME_BITS || !prime.bit(0) {
        return Err(Error::ApplePrime);
    }
    if generator <= 1 {
        return Err(Error::AppleGenerator { generator });
    }
    if *server_public <= one || *server_public >= prime - &one {
        return Err(Error::AppleKey);
    }
    Ok(())
}

/// A number of `len` bytes, zeros in front. A remainder of the prime is never longer.
fn padded(number: &BigUint, len: usize) -> Vec<u8> {
    let bytes = number.to_bytes_be();
    let mut padded = vec![0; len.saturating_sub(bytes.len())];
    padded.extend(bytes);
    padded
}
