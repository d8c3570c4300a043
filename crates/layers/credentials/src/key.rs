//! Keys (Ed25519), hashes of them (SHA-256) and serial numbers.
//!
//! Measured side, pure except for random numbers. One key signs statements and speaks TLS: signed messages of the two
//! never look alike. Must not print a secret.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use bakeoff_layers_base::hex::to_hex;
use ciborium::Value;
use std::fmt;
use webpki::EndEntityCert;
use zeroize::Zeroizing;

/// A SHA-256 hash.
pub type Hash = [u8; 32];

/// Prefix of an Ed25519 key in certificates (RFC 8410), up to its 32 bytes.
const SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The SHA-256 of bytes.
pub fn hash(bytes: &[u8]) -> Hash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}

/// Reasons for having no key or number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoKey {
    /// The random source failed.
    #[error("the machine gives no random numbers; look why, there is no doing without")]
    Random,
    /// Not an Ed25519 key.
    #[error(
        "not an Ed25519 key in PKCS#8; make one with this program, or with openssl genpkey -algorithm ed25519"
    )]
    Format,
}

/// The public half of a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// From its bytes (RFC 8032).
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// From a SubjectPublicKeyInfo, the form in certificates and openssl's files.
    pub fn of_spki(info: &[u8]) -> Option<Self> {
        info.strip_prefix(&SPKI)?.try_into().ok().map(Self)
    }

    /// Its bytes.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Its SHA-256 thumbprint (RFC 9679), by which statements name it.
    pub fn thumbprint(&self) -> Hash {
        hash(&crate::cbor::write(&self.to_cose()))
    }

    /// Whether this key signed this message.
    pub fn signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(message, signature).is_ok()
    }

    /// As a COSE_Key (RFC 9053 section 7.2): type OKP, curve Ed25519, x.
    pub(crate) fn to_cose(self) -> Value {
        let pairs = [(1, Value::from(1)), (-1, Value::from(6)), (-2, Value::Bytes(self.0.to_vec()))];
        Value::Map(pairs.into_iter().map(|(label, value)| (Value::from(label), value)).collect())
    }

    /// From a COSE_Key with these three and nothing else.
    pub(crate) fn of_cose(value: &Value) -> Option<Self> {
        let (_, x) = value.as_map()?.get(2)?;
        let key = Self(x.as_bytes()?.as_slice().try_into().ok()?);
        (key.to_cose() == *value).then_some(key)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", to_hex(&self.0))
    }
}

/// A signing key.
pub struct SecretKey {
    pair: Ed25519KeyPair,
    public: PublicKey,
}

impl SecretKey {
    /// A new key.
    ///
    /// # Errors
    /// The random source failed.
    pub fn generate() -> Result<Self, NoKey> {
        Ed25519KeyPair::generate().map_err(|_| NoKey::Random).and_then(Self::of)
    }

    /// From PKCS#8.
    ///
    /// # Errors
    /// It is no such key.
    pub fn of_pkcs8(bytes: &[u8]) -> Result<Self, NoKey> {
        Ed25519KeyPair::from_pkcs8_maybe_unchecked(bytes).map_err(|_| NoKey::Format).and_then(Self::of)
    }

    /// From its 32 random bytes (RFC 8032).
    ///
    /// # Errors
    /// They are not 32 bytes.
    pub fn of_seed(seed: &[u8]) -> Result<Self, NoKey> {
        Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| NoKey::Format).and_then(Self::of)
    }

    /// As PKCS#8, in the version that openssl reads, too.
    ///
    /// # Errors
    /// The library cannot write it.
    pub fn to_pkcs8(&self) -> Result<Zeroizing<Vec<u8>>, NoKey> {
        let document = self.pair.to_pkcs8v1().map_err(|_| NoKey::Format)?;
        Ok(Zeroizing::new(document.as_ref().to_vec()))
    }

    fn of(pair: Ed25519KeyPair) -> Result<Self, NoKey> {
        let public = pair.public_key().as_ref().try_into().map_err(|_| NoKey::Format)?;
        Ok(Self { pair, public: PublicKey(public) })
    }

    /// Its public half.
    pub const fn public(&self) -> PublicKey {
        self.public
    }

    pub(crate) const fn public_bytes(&self) -> &[u8; 32] {
        self.public.bytes()
    }

    /// Its signature of a message.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(of {:?})", self.public)
    }
}

/// A random number in a statement: two that say the same differ. Nothing is found by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Serial(pub [u8; 16]);

impl Serial {
    /// A new one.
    ///
    /// # Errors
    /// The random source failed.
    pub fn random() -> Result<Self, NoKey> {
        let mut bytes = [0; 16];
        aws_lc_rs::rand::fill(&mut bytes).map_err(|_| NoKey::Random)?;
        Ok(Self(bytes))
    }
}

impl fmt::Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The key of a certificate.
pub(crate) fn key_of(certificate: &EndEntityCert<'_>) -> Option<PublicKey> {
    PublicKey::of_spki(&certificate.subject_public_key_info())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_what_others_take_it_for() {
        // RFC 8032 section 7.1, test 2.
        let hex = |text: &str| -> Vec<u8> {
            (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
        };
        let public = hex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
        let signature = hex("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
             085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
        let key = PublicKey::new(public.clone().try_into().unwrap());
        assert!(key.signed(&[0x72], &signature) && !key.signed(&[0x73], &signature));
        let thumb = [hex("a301012006215820"), public].concat();
        assert_eq!((key.thumbprint(), PublicKey::of_cose(&key.to_cose())), (hash(&thumb), Some(key)));
    }

    #[test]
    fn a_key_comes_back_from_pkcs8_and_is_not_printed() {
        let key = SecretKey::generate().unwrap();
        let bytes = key.to_pkcs8().unwrap();
        let again = SecretKey::of_pkcs8(&bytes).unwrap();
        assert!(again.public().signed(b"x", &key.sign(b"x")));
        assert_eq!(SecretKey::of_pkcs8(&bytes[1..]).err(), Some(NoKey::Format));
        let seed = to_hex(&bytes[16..48]);
        assert!(!format!("{key:?}").contains(&seed));
    }
}
