//! Digests of files: BLAKE3, and SHA-256 for interchange with other tools.
//!
//! Measured side, hot in a layer that hashes when a file is opened. Owns the algorithms and their names; opens
//! nothing. Both digests have 32 bytes, so that a table of them has the same width for either algorithm.

use crate::named;
use crate::named::Named;
use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

/// Bytes read at once: below the 128 KiB from which the C library maps memory anew for each buffer,
/// and enough that BLAKE3 works on sixteen 1 KiB chunks side by side.
const READ_BYTES: usize = 64 * 1024;

named! {
    /// How a digest is made.
    #[derive(Hash)]
    pub enum Algorithm {
        /// BLAKE3, 256 bits: several times as fast where the CPU has no instructions for SHA.
        Blake3 "blake3",
        /// SHA-256, as every other tool has it.
        Sha256 "sha256",
    }
}

impl Algorithm {
    /// The digest of bytes.
    pub fn digest(self, bytes: &[u8]) -> Digest {
        let mut hasher = Hasher::new(self);
        hasher.update(bytes);
        hasher.finish()
    }

    /// The digest of all bytes up to the end, and their number.
    ///
    /// # Errors
    /// The error of reading.
    pub fn digest_reader(self, mut reader: impl Read) -> io::Result<(Digest, u64)> {
        let mut hasher = Hasher::new(self);
        let mut buffer = vec![0; READ_BYTES];
        let mut total_bytes = 0;
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok((hasher.finish(), total_bytes)),
                Ok(length) => {
                    hasher.update(buffer.get(..length).unwrap_or_default());
                    total_bytes += length as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        Self::of_name(name).ok_or(UnknownAlgorithm)
    }
}

/// No algorithm of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown digest algorithm; there are blake3 and sha256")]
pub struct UnknownAlgorithm;

/// Digest in progress.
#[derive(Clone)]
#[allow(
    clippy::large_enum_variant,
    reason = "lives on the stack of one call; a box would cost an allocation"
)]
pub enum Hasher {
    /// See [`Algorithm::Blake3`].
    Blake3(blake3::Hasher),
    /// See [`Algorithm::Sha256`].
    Sha256(aws_lc_rs::digest::Context),
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hasher")
    }
}

impl Hasher {
    /// A digest of no bytes yet.
    pub fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Blake3 => Self::Blake3(blake3::Hasher::new()),
            Algorithm::Sha256 => Self::Sha256(aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256)),
        }
    }

    /// Adds further bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Blake3(hasher) => drop(hasher.update(bytes)),
            Self::Sha256(context) => context.update(bytes),
        }
    }

    /// The digest of all bytes so far.
    pub fn finish(self) -> Digest {
        match self {
            Self::Blake3(hasher) => Digest(*hasher.finalize().as_bytes()),
            Self::Sha256(context) => {
                let mut bytes = [0; Digest::BYTES];
                for (to, from) in bytes.iter_mut().zip(context.finish().as_ref()) {
                    *to = *from;
                }
                Digest(bytes)
            }
        }
    }
}

/// A digest; printed and read as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; Self::BYTES]);

impl Digest {
    /// Its length.
    pub const BYTES: usize = 32;

    /// From 64 lower-case hexadecimal digits; anything else is refused, so that each digest has one spelling.
    pub fn from_hex(text: &[u8]) -> Option<Self> {
        if text.len() != 2 * Self::BYTES {
            return None;
        }
        let mut bytes = [0; Self::BYTES];
        for (byte, pair) in bytes.iter_mut().zip(text.as_chunks::<2>().0) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Some(Self(bytes))
    }

    /// As 64 digits, without an allocation.
    pub fn to_hex(self) -> [u8; 2 * Self::BYTES] {
        let mut text = [0; 2 * Self::BYTES];
        for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = [digit(byte >> 4), digit(byte & 15)];
        }
        text
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.to_hex()))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

const fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

const fn digit(nibble: u8) -> u8 {
    match nibble {
        0..=9 => b'0' + nibble,
        _ => b'a' + nibble - 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published values: FIPS 180-4 ("abc") and the BLAKE3 paper's test vectors (empty input).
    #[test]
    fn digests_are_those_that_everybody_has() {
        let sha = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Algorithm::Sha256.digest(b"abc").to_string(), sha);
        let blake = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
        assert_eq!(Algorithm::Blake3.digest(b"").to_string(), blake);
    }

    #[test]
    fn a_reader_has_the_digest_of_its_bytes_however_long() {
        for algorithm in Algorithm::ALL {
            for length in [0, 1, READ_BYTES - 1, READ_BYTES, 3 * READ_BYTES + 5] {
                let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
                let read = algorithm.digest_reader(bytes.as_slice()).unwrap();
                assert_eq!(read, (algorithm.digest(&bytes), length as u64), "{algorithm} {length}");
            }
        }
    }

    #[test]
    fn a_digest_has_one_spelling() {
        let digest = Algorithm::Blake3.digest(b"x");
        let text = digest.to_string();
        assert_eq!(Digest::from_hex(text.as_bytes()), Some(digest));
        assert_eq!(Digest::from_hex(text.to_uppercase().as_bytes()), None);
        assert_eq!(Digest::from_hex(&text.as_bytes()[1..]), None);
        assert_eq!("md5".parse::<Algorithm>(), Err(UnknownAlgorithm));
        assert_eq!("sha256".parse(), Ok(Algorithm::Sha256));
    }
}
