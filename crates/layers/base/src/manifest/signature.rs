//! Signatures in minisign's format; `minisign -Vm site.manifest -p admin.pub` verifies them, too.

use super::ManifestRefusal;
use crate::key::{KeyError, MOST_BYTES, SecretKey};
use crate::plain::{self, FileOwner, PathError};
use std::io::ErrorKind;
use std::path::Path;

/// The public half of an administrator's key.
#[derive(Clone, Debug)]
pub struct AdminPublicKey {
    key: minisign_verify::PublicKey,
    id: u64,
    bytes: [u8; 32],
}

impl AdminPublicKey {
    /// Reads a public key file in minisign's format.
    ///
    /// # Errors
    /// It cannot be read, or is no key.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let text =
            plain::read_text(path, FileOwner::Trusted, MOST_BYTES).map_err(|source| match source.kind() {
                ErrorKind::NotFound => KeyError::NoPublic(path.to_owned()),
                _ => PathError::read(path)(source).into(),
            })?;
        Self::parse(&text).ok_or_else(|| KeyError::NoPublicKey(path.to_owned()))
    }

    /// From the text of such a file.
    pub fn parse(text: &str) -> Option<Self> {
        let line = text.lines().nth(1)?;
        let key = minisign_verify::PublicKey::from_base64(line).ok()?;
        let number = minisign::PublicKey::from_base64(line).ok()?;
        // Algorithm (2 bytes), number (8), key (32).
        let bytes = number.to_bytes().get(10..).and_then(|bytes| bytes.try_into().ok())?;
        Some(Self { key, id: key_id(number.keynum()), bytes })
    }

    /// The bytes of the Ed25519 key.
    pub const fn bytes(&self) -> [u8; 32] {
        self.bytes
    }

    /// The number of the key.
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// Verifies that `signature` is this key's, over exactly these bytes.
    ///
    /// # Errors
    /// The signature's fault, by name.
    pub fn verify(&self, bytes: &[u8], signature: &str) -> Result<(), ManifestRefusal> {
        use minisign_verify::Error;
        let signature = minisign_verify::Signature::decode(signature)
            .map_err(|_| ManifestRefusal::UnreadableSignature)?;
        self.key.verify(bytes, &signature, false).map_err(|error| match error {
            Error::UnexpectedKeyId => ManifestRefusal::WrongKey,
            Error::UnexpectedAlgorithm | Error::UnsupportedAlgorithm => ManifestRefusal::UnreadableSignature,
            _ => ManifestRefusal::BadSignature,
        })
    }
}

/// The number of a secret key.
pub fn id_of(secret: &SecretKey) -> u64 {
    key_id(secret.keynum())
}

/// The bytes of the public half, if the secret half is really there. It is tested by signing, since a file that calls
/// itself a secret key could hold the public half and nothing else.
pub fn proven_public(secret: &SecretKey) -> Option<[u8; 32]> {
    const TRY: &[u8] = b"bakeoff: is this half there?";
    let own = minisign::PublicKey::from_secret_key(secret).ok()?;
    let public = AdminPublicKey::parse(&format!("untrusted comment:\n{}\n", own.to_base64()))?;
    public.verify(TRY, &sign(TRY, secret, "").ok()?).ok()?;
    Some(public.bytes())
}

/// Signs bytes: the text of a signature file.
///
/// # Errors
/// The system has no random numbers.
pub fn sign(bytes: &[u8], secret: &SecretKey, trusted_comment: &str) -> Result<String, KeyError> {
    let made = minisign::sign(None, secret, bytes, Some(trusted_comment), None);
    made.map(|signature| signature.into_string()).map_err(|error| KeyError::Making(error.to_string()))
}

fn key_id(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |id, byte| id << 8 | u64::from(*byte))
}
