//! Key files in openssl's formats, and hashes as hexadecimal text.
//!
//! Measured side, cold. A secret key is read only from a file that nobody but its owner may read.

use bakeoff_layers_base::hex::from_hex;
use bakeoff_layers_base::plain::{self, FileAudience, FileLocation, FileOwner, PathError};
use bakeoff_layers_credentials::Item;
use bakeoff_layers_credentials::key::{NoKey, PublicKey, SecretKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use std::fs::DirBuilder;
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use thiserror::Error;
use zeroize::{Zeroize, Zeroizing};

/// Longest file with a key or a statement.
const MOST_BYTES: u64 = 64 * 1024;

/// Reasons why a file cannot be used.
#[derive(Debug, Error)]
pub enum FileError {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// There is no such file.
    #[error("{}: there is no such file; make one: {make}", path.display())]
    Missing {
        /// Path of the file.
        path: PathBuf,
        /// The command that makes it.
        make: String,
    },
    /// The file exists already.
    #[error("{}: is there already, and is not overwritten; move it away or give another path", .0.display())]
    Exists(PathBuf),
    /// Others may read the secret.
    #[error("{}: others than its owner may read this secret key; chmod 600 it, and think about who has read it", .0.display())]
    Open(PathBuf),
    /// Not a secret key.
    #[error("{}: {error}", path.display())]
    NoSecretKey {
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        error: NoKey,
    },
    /// Not a public key.
    #[error("{}: not a public Ed25519 key in PEM; openssl pkey -in KEY -pubout writes one", .0.display())]
    NoPublicKey(PathBuf),
}

impl FileError {
    /// Names the command that makes the file, if that is what is missing.
    #[must_use]
    pub fn or_make(self, make: impl Into<String>) -> Self {
        match self {
            Self::Io(PathError { path, source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Self::Missing { path, make: make.into() }
            }
            error => error,
        }
    }
}

/// The bytes of a file.
///
/// # Errors
/// It cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    Ok(plain::read_regular(path, FileOwner::Anybody, MOST_BYTES).map_err(PathError::read(path))?)
}

/// Makes a directory that is its owner's alone, if it is not there yet.
pub(crate) fn make_dir(path: &Path) -> Result<(), FileError> {
    Ok(DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(PathError::written(path))?)
}

/// Puts bytes in place of a file.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, bytes: &[u8], reader: FileAudience) -> Result<(), FileError> {
    let written = FileLocation::guarded(path).and_then(|place| place.replace(bytes, reader));
    Ok(written.map_err(PathError::written(path))?)
}

/// Writes a file that must not exist yet.
pub(crate) fn write_new(path: &Path, bytes: &[u8], reader: FileAudience) -> Result<(), FileError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => FileError::Exists(path.to_owned()),
        _ => PathError::written(path)(error).into(),
    };
    FileLocation::guarded(path).and_then(|place| place.put_new(bytes, reader)).map_err(failed)
}

/// A secret key, in PKCS#8, as PEM or plain.
///
/// # Errors
/// Others may read it, or it is no secret key.
pub fn read_secret_key(path: &Path) -> Result<SecretKey, FileError> {
    let file = plain::open_regular(path, FileOwner::Trusted).map_err(PathError::read(path))?;
    if file.metadata().map_err(PathError::read(path))?.mode() & 0o077 != 0 {
        return Err(FileError::Open(path.to_owned()));
    }
    // Large enough for any key at once: a growing buffer would leave copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(4096));
    file.take(4096).read_to_end(&mut bytes).map_err(PathError::read(path))?;
    let key = match PrivatePkcs8KeyDer::from_pem_slice(&bytes) {
        Ok(mut inner) => {
            let key = SecretKey::of_pkcs8(inner.secret_pkcs8_der());
            inner.zeroize();
            key
        }
        Err(_) => SecretKey::of_pkcs8(&bytes),
    };
    key.map_err(|error| FileError::NoSecretKey { path: path.to_owned(), error })
}

/// Writes a secret key in PEM, for its owner alone; the file must not exist yet.
///
/// # Errors
/// The file exists, or cannot be written.
pub fn write_secret_key(path: &Path, key: &SecretKey) -> Result<(), FileError> {
    write_new(path, pem(path, key)?.as_bytes(), FileAudience::Owner)
}

/// The text of a secret key's file.
pub(crate) fn pem(path: &Path, key: &SecretKey) -> Result<Zeroizing<String>, FileError> {
    let bytes = key.to_pkcs8().map_err(|error| FileError::NoSecretKey { path: path.to_owned(), error })?;
    let body = Zeroizing::new(STANDARD.encode(&*bytes));
    let mut text = Zeroizing::new(String::with_capacity(512));
    text.push_str("-----BEGIN PRIVATE KEY-----\n");
    for (index, letter) in body.chars().enumerate() {
        if index > 0 && index % 64 == 0 {
            text.push('\n');
        }
        text.push(letter);
    }
    text.push_str("\n-----END PRIVATE KEY-----\n");
    Ok(text)
}

/// A public key in PEM.
///
/// # Errors
/// It is no public key.
pub fn read_public_key(path: &Path) -> Result<PublicKey, FileError> {
    let info = SubjectPublicKeyInfoDer::from_pem_slice(&read(path)?).ok();
    info.and_then(|info| PublicKey::of_spki(&info)).ok_or_else(|| FileError::NoPublicKey(path.to_owned()))
}

/// The item `identity:HASH`, `transfer:HASH` or `key:THUMBPRINT`, of 64 digits.
pub fn item(text: &str) -> Option<Item> {
    let (kind, hash) = text.split_once(':')?;
    Item::of_parts(kind, of_hex(hash)?)
}

/// Exactly `N` bytes, from hexadecimal digits as people type them.
pub(crate) fn of_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    from_hex(&text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_layers_base::hex::to_hex;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_read_as_it_was_written_and_only_when_it_is_its_owners() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("alice.key");
        let key = SecretKey::generate().unwrap();
        write_secret_key(&path, &key).unwrap();
        assert_eq!(read_secret_key(&path).unwrap().public(), key.public());
        assert!(matches!(write_secret_key(&path, &key), Err(FileError::Exists(_))));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(read_secret_key(&path), Err(FileError::Open(_))));
        let der = dir.path().join("alice.der");
        write(&der, &key.to_pkcs8().unwrap(), FileAudience::Owner).unwrap();
        assert_eq!(read_secret_key(&der).unwrap().public(), key.public());
        assert!(matches!(read_public_key(&der), Err(FileError::NoPublicKey(_))));
    }

    #[test]
    fn of_many_who_write_a_new_file_at_once_one_does_and_its_content_stays() {
        const WRITERS: usize = 8;
        let dir = tempfile::tempdir().unwrap();
        for round in 0..50 {
            let path = dir.path().join(round.to_string());
            let begin = std::sync::Barrier::new(WRITERS);
            let write = |own: u8| {
                begin.wait();
                (own, write_new(&path, &[own; 1000], FileAudience::Owner))
            };
            let done: Vec<(u8, Result<(), FileError>)> = std::thread::scope(|scope| {
                let write = &write;
                let writers: Vec<_> = (0..WRITERS).map(|own| scope.spawn(move || write(own as u8))).collect();
                writers.into_iter().map(|writer| writer.join().unwrap()).collect()
            });
            let (wrote, refused): (Vec<_>, Vec<_>) = done.into_iter().partition(|(_, done)| done.is_ok());
            assert_eq!(wrote.len(), 1, "round {round}: {wrote:?}, {refused:?}");
            assert!(refused.iter().all(|(_, done)| matches!(done, Err(FileError::Exists(_)))), "{refused:?}");
            assert_eq!(std::fs::read(&path).unwrap(), [wrote[0].0; 1000]);
        }
    }

    #[test]
    fn digits_are_bytes_and_nothing_else_is() {
        assert_eq!(of_hex::<2>("0aFf"), Some([0x0a, 0xff]));
        assert!(["", "0a", "0aff0", "0aff00", "0ag0", "+1+1"].iter().all(|text| of_hex::<2>(text).is_none()));
        assert_eq!(of_hex(&to_hex(&[7; 32])), Some([7; 32]));
    }
}
