//! The answer to the VNC password challenge (RFC 6143 section 7.2.2).

use capture::Password;
use des::{
    Des,
    cipher::{BlockCipherEncrypt, KeyInit},
};

/// Bytes in a challenge and in its answer.
pub(crate) const CHALLENGE_BYTES: usize = 16;

/// Encrypts the challenge with the password as DES key, of which it gives the first eight bytes.
pub(crate) fn answer(password: &Password, challenge: [u8; CHALLENGE_BYTES]) -> Vec<u8> {
    let mut key = [0; 8];
    for (key, byte) in key.iter_mut().zip(password.as_str().bytes()) {
        // The first implementation read each byte's bits backwards, and all followed it.
        *key = byte.reverse_bits();
    }
    let cipher = Des::new(&key.into());
    let (blocks, _) = challenge.as_chunks::<8>();
    blocks
        .iter()
        .flat_map(|&block| {
            let mut block = block.into();
            cipher.encrypt_block(&mut block);
            block.0
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(password: &str, expected: &str) {
        let challenge = [
            0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd,
            0xee, 0xff,
        ];
        let answer = answer(&Password::new(password.into()), challenge);
        let hex: String = answer.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected, "{password}");
    }

    #[test]
    fn the_challenge_is_answered_as_other_clients_do() {
        check("secret", "f19b50471f60f42298e5c0147db50e1e");
        check("", "74f4ae777aa431e89ca4757b2414f4d7");
    }

    #[test]
    fn only_eight_bytes_of_a_password_count() {
        let challenge = [7; CHALLENGE_BYTES];
        let long = Password::new("12345678 and more".into());
        let short = Password::new("12345678".into());
        assert_eq!(answer(&long, challenge), answer(&short, challenge));
    }
}
