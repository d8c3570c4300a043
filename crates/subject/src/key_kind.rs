//! Kinds of keys in certificates, found in a file and made anew.
//!
//! Measuring side, cold path. Certificates are public; files of keys are never opened here.

use aws_lc_rs::rsa::PublicEncryptingKey;
use rcgen::{
    KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PKCS_RSA_SHA256, RsaKeySize,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{AlgorithmIdentifier, CertificateDer, alg_id};
use std::fmt;
use std::path::Path;

/// Kind and size of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyKind {
    /// ECDSA, P-256.
    P256,
    /// ECDSA, P-384.
    P384,
    /// Ed25519.
    Ed25519,
    /// RSA, 2,048 bits.
    Rsa2048,
    /// RSA, 3,072 bits.
    Rsa3072,
    /// RSA, 4,096 bits.
    Rsa4096,
}

impl KeyKind {
    /// All, ECDSA first, as clients take it where a server has several.
    pub const ALL: [Self; 6] =
        [Self::P256, Self::P384, Self::Ed25519, Self::Rsa2048, Self::Rsa3072, Self::Rsa4096];

    /// The kind of the key in the first certificate of a PEM file.
    ///
    /// # Errors
    /// Why it is not known, in words: the file cannot be read, or the key is of none of these kinds.
    pub fn of_file(path: &Path) -> Result<Self, String> {
        let certificate = CertificateDer::from_pem_file(path).map_err(|error| error.to_string())?;
        let parsed = webpki::EndEntityCert::try_from(&certificate).map_err(|error| error.to_string())?;
        let key = parsed.subject_public_key_info();
        let other =
            || "its key is none of RSA 2048, 3072 and 4096, ECDSA P-256 and P-384, Ed25519".to_owned();
        let has =
            |algorithm: &AlgorithmIdentifier| algorithm_of(&key).is_some_and(|own| own == algorithm.as_ref());
        if has(&alg_id::RSA_ENCRYPTION) {
            let bits = PublicEncryptingKey::from_der(&key).map_err(|_| other())?.key_size_bits();
            let known = [(2048, Self::Rsa2048), (3072, Self::Rsa3072), (4096, Self::Rsa4096)];
            return known.iter().find(|(size, _)| *size == bits).map(|(_, kind)| *kind).ok_or_else(other);
        }
        let known = [
            (alg_id::ECDSA_P256, Self::P256),
            (alg_id::ECDSA_P384, Self::P384),
            (alg_id::ED25519, Self::Ed25519),
        ];
        known.iter().find(|(algorithm, _)| has(algorithm)).map(|(_, kind)| *kind).ok_or_else(other)
    }

    /// Whether it is RSA.
    pub(crate) const fn is_rsa(self) -> bool {
        matches!(self, Self::Rsa2048 | Self::Rsa3072 | Self::Rsa4096)
    }

    /// The word in plans and names of files.
    pub const fn label(self) -> &'static str {
        match self {
            Self::P256 => "p-256",
            Self::P384 => "p-384",
            Self::Ed25519 => "ed25519",
            Self::Rsa2048 => "rsa-2048",
            Self::Rsa3072 => "rsa-3072",
            Self::Rsa4096 => "rsa-4096",
        }
    }

    /// A new key.
    pub(crate) fn generate(self) -> Result<KeyPair, rcgen::Error> {
        let rsa = |size| KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, size);
        match self {
            Self::P256 => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256),
            Self::P384 => KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384),
            Self::Ed25519 => KeyPair::generate_for(&PKCS_ED25519),
            Self::Rsa2048 => rsa(RsaKeySize::_2048),
            Self::Rsa3072 => rsa(RsaKeySize::_3072),
            Self::Rsa4096 => rsa(RsaKeySize::_4096),
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::P256 => "ECDSA P-256",
            Self::P384 => "ECDSA P-384",
            Self::Ed25519 => "Ed25519",
            Self::Rsa2048 => "RSA 2048",
            Self::Rsa3072 => "RSA 3072",
            Self::Rsa4096 => "RSA 4096",
        })
    }
}

/// The kind of a server that has these certificates: of several the one that clients prefer, else why none is known. None:
/// there are no files.
pub fn key_kind_of(certificates: &[impl AsRef<Path>]) -> Option<Result<KeyKind, String>> {
    let all = || certificates.iter().map(|path| KeyKind::of_file(path.as_ref()));
    all().filter_map(Result::ok).min().map(Ok).or_else(|| all().next())
}

/// Contents of the algorithm in a `SubjectPublicKeyInfo`, whose outer length may take several bytes and whose inner one
/// takes one.
fn algorithm_of(key: &[u8]) -> Option<&[u8]> {
    const LONG: u8 = 0x80;
    let length = *key.get(1)?;
    let outer = if length & LONG == 0 { 2 } else { 2 + usize::from(length & !LONG) };
    let inner = usize::from(*key.get(outer + 1)?);
    key.get(outer + 2..outer + 2 + inner)
}
