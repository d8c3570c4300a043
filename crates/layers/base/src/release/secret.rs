//! Secret that wraps a sealed key: a passphrase or a key file.
//!
//! Measured side, cold. Owns how a wrapping key is derived from either. Argon2id with the second recommended setting
//! of RFC 9106 (64 MiB, three passes; one lane, as the store's user may have one core). It makes a guess as expensive
//! as the owner's machine can bear.

use super::ReleaseRefusal;
use crate::plain::{self, FileAudience, FileLocation, FileOwner, PathError};
use argon2::{Algorithm, Argon2, Params, Version};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use aws_lc_rs::rand;
use bakeoff_sys::secret::SecretBytes;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use zeroize::{Zeroize, Zeroizing};

/// Words for the two kinds.
pub(super) const PASSPHRASE: &str = "passphrase";
pub(super) const KEY_FILE: &str = "key file";

/// Bytes of a key file's key; the file has twice as many digits.
pub const KEY_FILE_BYTES: usize = 32;

/// Cost parameters of stretching a passphrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) memory_kib: u32,
    pub(super) passes: u32,
    pub(super) lanes: u32,
}

impl Stretch {
    /// RFC 9106, section 4, second choice, on one lane.
    pub(super) const USUAL: Self = Self { memory_kib: 65_536, passes: 3, lanes: 1 };
    /// Limit on these parameters: we never write a sealed key with more, and it would only eat memory.
    pub(super) const MOST: Self = Self { memory_kib: 1 << 20, passes: 16, lanes: 16 };
}

/// Secret of the owner.
pub enum Secret {
    /// A typed passphrase.
    Passphrase(SecretBytes),
    /// The key of a key file.
    KeyFile(SecretBytes),
}

impl Secret {
    /// A passphrase, without the line end it may have been typed with. The buffer passed in is wiped.
    ///
    /// # Errors
    /// No memory may be locked for it.
    pub fn passphrase(mut typed: Vec<u8>) -> Result<Self, ReleaseRefusal> {
        let end = typed.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
        let kept = SecretBytes::copy_of(typed.get(..end).unwrap_or_default()).map_err(ReleaseRefusal::Memory);
        typed.zeroize();
        kept.map(Self::Passphrase)
    }

    /// Reads a key file that only its owner may read.
    ///
    /// # Errors
    /// It cannot be read, others can read it, or it is no key file.
    pub fn key_file(path: &Path) -> Result<Self, ReleaseRefusal> {
        let failed = |error| ReleaseRefusal::from(PathError::read(path)(error));
        let file = plain::open_regular(path, FileOwner::Trusted).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ReleaseRefusal::MissingKeyFile(path.to_owned()),
            _ => failed(error),
        })?;
        if file.metadata().map_err(failed)?.mode() & 0o077 != 0 {
            return Err(ReleaseRefusal::OpenKeyFile(path.to_owned()));
        }
        // A full buffer means that the file may be longer.
        let mut room = SecretBytes::zeroed(2 * KEY_FILE_BYTES + 8).map_err(ReleaseRefusal::Memory)?;
        let length = read_all(&file, &mut room).map_err(failed)?;
        let mut key = SecretBytes::zeroed(KEY_FILE_BYTES).map_err(ReleaseRefusal::Memory)?;
        let digits = room.get(..length).filter(|whole| whole.len() < room.len()).unwrap_or_default();
        match crate::hex::fill_from_hex(digits.trim_ascii_end(), &mut key) {
            Some(()) => Ok(Self::KeyFile(key)),
            None => Err(ReleaseRefusal::NoKeyFile(path.to_owned())),
        }
    }

    /// The word for it.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Passphrase(_) => PASSPHRASE,
            Self::KeyFile(_) => KEY_FILE,
        }
    }

    /// The wrapping key.
    pub(super) fn stretch(&self, salt: &[u8], stretch: Stretch) -> Result<SecretBytes, ReleaseRefusal> {
        let mut key = SecretBytes::zeroed(32).map_err(ReleaseRefusal::Memory)?;
        match self {
            Self::Passphrase(words) => {
                let params = Params::new(stretch.memory_kib, stretch.passes, stretch.lanes, Some(32))
                    .map_err(|_| ReleaseRefusal::Cipher)?;
                Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
                    .hash_password_into(words, salt, &mut key)
                    .map_err(|_| ReleaseRefusal::Cipher)?;
            }
            Self::KeyFile(bytes) => derive(bytes, salt, b"bakeoff key file 1", &mut key)?,
        }
        Ok(key)
    }
}

/// Reads to the end of the file, or until the buffer is full; returns the number of bytes.
fn read_all(mut file: &File, room: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = room.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// HKDF-SHA-256 of a secret into 32 bytes for one purpose.
pub(super) fn derive(
    secret: &[u8],
    salt: &[u8],
    purpose: &[u8],
    out: &mut [u8],
) -> Result<(), ReleaseRefusal> {
    let prk = Salt::new(HKDF_SHA256, salt).extract(secret);
    prk.expand(&[purpose], HKDF_SHA256).and_then(|okm| okm.fill(out)).map_err(|_| ReleaseRefusal::Cipher)
}

/// Writes a new key file that only its owner may read; there must be none.
///
/// # Errors
/// The file exists, or cannot be written.
pub fn make_key_file(path: &Path) -> Result<(), ReleaseRefusal> {
    let mut key = Zeroizing::new([0_u8; KEY_FILE_BYTES]);
    rand::fill(key.as_mut_slice()).map_err(|_| ReleaseRefusal::Cipher)?;
    let line = Zeroizing::new(format!("{}\n", crate::hex::to_hex(key.as_slice())));
    let written =
        FileLocation::guarded(path).and_then(|place| place.put_new(line.as_bytes(), FileAudience::Owner));
    Ok(written.map_err(PathError::written(path))?)
}
