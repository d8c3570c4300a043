//! Reading a manifest from its file: bytes, then signature, and only then content.

use super::signature::AdminPublicKey;
use super::{Manifest, ManifestRefusal, SignedComment, parse};
use crate::plain::{self, FileOwner, beside};
use std::io;
use std::path::{Path, PathBuf};

/// Size limit of a signature file; minisign's have about 300 bytes.
const MAX_SIGNATURE_BYTES: u64 = 8 * 1024;

/// Size limit of a manifest, some four million files: it is read before its signature is verified, and anybody may have
/// written it.
const MAX_BYTES: u64 = 512 << 20;

/// Conditions for accepting a manifest.
#[derive(Clone, Debug)]
pub struct TrustConditions<'a> {
    /// Key that must have signed it.
    pub key: &'a AdminPublicKey,
    /// Time at which it must not have expired, in seconds since 1970.
    pub now_unix_s: u64,
    /// Newest version accepted before.
    pub seen_version: u64,
}

/// Reasons for having no manifest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There is no manifest, or no signature.
    #[error("{}: there is no such file; make manifest and signature: bakeoff layer integrity seal DIR --key KEY --out {}", .path.display(), .manifest.display())]
    Missing {
        /// Path of the file.
        path: PathBuf,
        /// Path of the manifest.
        manifest: PathBuf,
    },
    /// A file cannot be read.
    #[error("{}: {source}; a manifest and its signature, of the same name with .minisig behind it, are needed", .path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// It was read, and refused.
    #[error("{}: refused ({}): {refusal}", .path.display(), .refusal.name())]
    Refused {
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        refusal: ManifestRefusal,
    },
}

/// Path of a manifest's signature, for us and for minisign.
pub fn signature_path(manifest: &Path) -> PathBuf {
    beside(manifest, ".minisig")
}

/// Reads a manifest and its signature.
///
/// # Errors
/// A file cannot be read, or it is refused, by name.
pub fn load(path: &Path, trust: &TrustConditions<'_>) -> Result<Manifest, LoadError> {
    let beside = signature_path(path);
    let missing = |error| match error {
        LoadError::File { path: missing, source } if source.kind() == io::ErrorKind::NotFound => {
            LoadError::Missing { path: missing, manifest: path.to_owned() }
        }
        error => error,
    };
    let signature = read(&beside, MAX_SIGNATURE_BYTES).map_err(missing)?;
    let bytes = read(path, MAX_BYTES).map_err(missing)?;
    let refused = |refusal| LoadError::Refused { path: path.to_owned(), refusal };
    let signature =
        String::from_utf8(signature).map_err(|_| refused(ManifestRefusal::UnreadableSignature))?;
    from_bytes(bytes, &signature, trust).map_err(refused)
}

/// The same from bytes already read.
///
/// # Errors
/// It is refused, by name.
pub fn from_bytes(
    bytes: Vec<u8>,
    signature: &str,
    trust: &TrustConditions<'_>,
) -> Result<Manifest, ManifestRefusal> {
    trust.key.verify(&bytes, signature)?;
    let mut manifest = parse::parse(bytes)?;
    manifest.signed = SignedComment::of_signature(signature);
    let header = manifest.header();
    if header.key_id != trust.key.id() {
        return Err(ManifestRefusal::KeyMismatch);
    }
    if header.not_after_unix_s < trust.now_unix_s {
        return Err(ManifestRefusal::Expired { not_after: header.not_after_unix_s });
    }
    if header.version < trust.seen_version {
        return Err(ManifestRefusal::RolledBack { version: header.version, seen: trust.seen_version });
    }
    Ok(manifest)
}

/// Parses bytes without checking their signature: for the fuzz target and for benchmarks.
///
/// # Errors
/// It is refused, by name.
pub fn parse_unverified(bytes: Vec<u8>) -> Result<Manifest, ManifestRefusal> {
    parse::parse(bytes)
}

fn read(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, LoadError> {
    let failed = |source| LoadError::File { path: path.to_owned(), source };
    // Whoever owns it: only a signature makes it a manifest.
    plain::read_regular(path, FileOwner::Anybody, limit_bytes).map_err(failed)
}
