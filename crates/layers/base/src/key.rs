//! Signing keys of administrators, in the format of minisign.
//!
//! Measured side, cold. Owns making, reading and writing of key pairs, with or without a passphrase; other modules
//! sign with them. Reads keys that `minisign -G` made with a passphrase, and `minisign` reads keys made here. Must
//! not prompt: the caller passes the passphrase.

use crate::plain::{self, FileAudience, FileLocation, FileOwner, PathError};
use minisign::{KeyPair, SecretKeyBox};
use std::io;
use std::path::{Path, PathBuf};

pub use minisign::SecretKey;

/// Size limit of a key file; minisign's have some 300 bytes.
pub(crate) const MOST_BYTES: u64 = 8 * 1024;

/// Errors of making, reading and writing keys.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A key is already there: it is never overwritten.
    #[error("{}: there is a key already, and it is not overwritten; move it away or give another name", .0.display())]
    Exists(PathBuf),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] PathError),
    /// There is no secret key.
    #[error("{}: there is no such file; make one: {}", .0.display(), pair(.0, &.0.with_extension("pub")))]
    NoSecret(PathBuf),
    /// There is no public key.
    #[error(
        "{}: there is no such file; it is made with its secret key: {}",
        .0.display(),
        pair(&.0.with_extension("key"), .0)
    )]
    NoPublic(PathBuf),
    /// No minisign key.
    #[error("{}: not a secret key of minisign with its checksum ({why}); `minisign -G -W` writes keys without one: make one with a passphrase, or with `bakeoff layer integrity keygen`", .path.display())]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// The error of minisign.
        why: String,
    },
    /// No public key of minisign.
    #[error("{}: not a public key of minisign; `bakeoff layer integrity keygen` makes a pair", .0.display())]
    NoPublicKey(PathBuf),
    /// It has a passphrase and none was given.
    #[error("{}: the key has a passphrase; give it with --passphrase-file FILE", .0.display())]
    Locked(PathBuf),
    /// The key has another passphrase.
    #[error("{}: wrong passphrase", .0.display())]
    WrongPassphrase(PathBuf),
    /// The random source or the derivation failed.
    #[error("no key could be made: {0}")]
    Making(String),
}

/// The command that makes a pair of keys at these paths.
fn pair(secret: &Path, public: &Path) -> String {
    format!("bakeoff layer integrity keygen --key {} --pub {}", secret.display(), public.display())
}

/// Makes a key pair: the secret key, which only its owner may read, and the public key. Without a passphrase anybody
/// who reads the file can sign.
///
/// # Errors
/// One of the files exists or cannot be written; then neither is left behind.
pub fn generate(secret: &Path, public: &Path, passphrase: Option<String>) -> Result<(), KeyError> {
    let making = |error: minisign::PError| KeyError::Making(error.to_string());
    let pair = match passphrase {
        Some(passphrase) => KeyPair::generate_encrypted_keypair(Some(passphrase)),
        None => KeyPair::generate_unencrypted_keypair(),
    }
    .map_err(making)?;
    let secret_text = pair.sk.to_box(None).map_err(making)?.into_string();
    let public_text = pair.pk.to_box().map_err(making)?.into_string();
    write_new(secret, FileAudience::Owner, &secret_text)?;
    write_new(public, FileAudience::Everybody, &public_text)
        .inspect_err(|_| drop(FileLocation::guarded(secret).and_then(|place| place.remove())))
}

/// Reads a secret key.
///
/// # Errors
/// It is no key, or not this passphrase's.
pub fn read_secret(path: &Path, passphrase: Option<String>) -> Result<SecretKey, KeyError> {
    let text =
        plain::read_text(path, FileOwner::Trusted, MOST_BYTES).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => KeyError::NoSecret(path.to_owned()),
            _ => PathError::read(path)(source).into(),
        })?;
    let format = |error: minisign::PError| KeyError::Format { path: path.to_owned(), why: error.to_string() };
    let parse = || SecretKeyBox::from_string(&text).map_err(format);
    // Without a passphrase the library would prompt at the terminal.
    if let Ok(open) = parse()?.into_unencrypted_secret_key() {
        return Ok(open);
    }
    match passphrase {
        None => {
            let bytes = text.lines().nth(1).unwrap_or_default();
            // "EdSc": Ed25519, wrapped by scrypt. Anything else is no key at all.
            if bytes.starts_with("RWRT") {
                Err(KeyError::Locked(path.to_owned()))
            } else {
                parse()?.into_unencrypted_secret_key().map_err(format)
            }
        }
        Some(passphrase) => {
            parse()?.into_secret_key(Some(passphrase)).map_err(|_| KeyError::WrongPassphrase(path.to_owned()))
        }
    }
}

fn write_new(path: &Path, reader: FileAudience, text: &str) -> Result<(), KeyError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => KeyError::Exists(path.to_owned()),
        _ => PathError::written(path)(source).into(),
    };
    FileLocation::guarded(path).and_then(|place| place.put_new(text.as_bytes(), reader)).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_for_its_owner_only_and_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let (secret, public) = (dir.path().join("a.key"), dir.path().join("a.pub"));
        generate(&secret, &public, None).unwrap();
        assert_eq!(std::fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
        read_secret(&secret, None).unwrap();
        assert!(matches!(generate(&secret, &public, None), Err(KeyError::Exists(_))));
        std::fs::remove_file(&secret).unwrap();
        assert!(matches!(generate(&secret, &public, None), Err(KeyError::Exists(_))));
        assert!(!secret.exists(), "half a key pair was left behind");
    }

    #[test]
    fn a_passphrase_is_needed_and_must_be_the_right_one() {
        let dir = tempfile::tempdir().unwrap();
        let (secret, public) = (dir.path().join("a.key"), dir.path().join("a.pub"));
        generate(&secret, &public, Some("right".to_owned())).unwrap();
        assert!(matches!(read_secret(&secret, None), Err(KeyError::Locked(_))));
        let wrong = read_secret(&secret, Some("wrong".to_owned()));
        assert!(matches!(wrong, Err(KeyError::WrongPassphrase(_))));
        read_secret(&secret, Some("right".to_owned())).unwrap();
        std::fs::write(&secret, "untrusted comment: x\nnonsense\n").unwrap();
        assert!(matches!(read_secret(&secret, None), Err(KeyError::Format { .. })));
    }
}
