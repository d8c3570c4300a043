//! Statements: claims (RFC 8392) under a signature (COSE_Sign1, RFC 9052).
//!
//! Measured side, pure, fed by strangers. Owns the envelope, which is common to all, and the extraction of claims.
//! The signature is checked over the received bytes before any claim is looked at. The kind of a statement is signed
//! with it (`external_aad`), so that none can stand for another. A claim that no reader extracts is refused: it could
//! be a restriction.

mod identity;
mod status;
mod transfer;

pub use identity::IdentityContent;
pub use status::StatusContent;
pub(crate) use transfer::left;
pub use transfer::{Audience, DelegationScope, Transfer, TransferRequest};

use crate::cbor;
use crate::key::{Hash, PublicKey, SecretKey, hash};
use crate::name::PrincipalName;
use crate::refusal::{CredentialRefusal, Piece};
use ciborium::Value;
use coset::{AsCborValue, CoseSign1, CoseSign1Builder, HeaderBuilder, TaggedCborSerializable, iana};

/// Longest statement.
pub(crate) const MOST_BYTES: usize = 4096;

/// Limit on groups of a name.
pub(crate) const MOST_GROUPS: usize = 32;

/// The one protected header: `{1: -8}`, algorithm EdDSA.
const HEADER: [u8; 3] = [0xa1, 0x01, 0x27];

/// Content of an opened statement, with the SHA-256 of its bytes.
#[derive(Clone, Debug)]
pub(crate) struct Shown<T> {
    pub(crate) content: T,
    pub(crate) hash: Hash,
}

impl<T> Shown<T> {
    pub(crate) fn of(statement: &[u8], content: T) -> Self {
        Self { content, hash: hash(statement) }
    }
}

/// Opens a statement that one of `keys` must have signed.
fn open<'a>(
    label: &[u8],
    bytes: &[u8],
    keys: &[PublicKey],
    of: Piece<'a>,
) -> Result<Claims<'a>, CredentialRefusal> {
    let statement = envelope(bytes, &of)?;
    let signed = |key: &PublicKey| {
        let check = |signature: &[u8], message: &[u8]| key.signed(message, signature).then_some(()).ok_or(());
        statement.verify_signature(label, check).is_ok()
    };
    if !keys.iter().any(signed) {
        return Err(of.refuse(CredentialRefusal::BadSignature));
    }
    Claims::read(statement.payload.as_deref().unwrap_or_default(), of)
}

/// The same without checking the signature: for its holder, who wants to see its content.
fn peek<'a>(bytes: &[u8], of: Piece<'a>) -> Result<Claims<'a>, CredentialRefusal> {
    Claims::read(envelope(bytes, &of)?.payload.as_deref().unwrap_or_default(), of)
}

fn envelope(bytes: &[u8], of: &Piece<'_>) -> Result<CoseSign1, CredentialRefusal> {
    let Value::Tag(CoseSign1::TAG, inner) = cbor::read(bytes, MOST_BYTES, of)? else {
        return Err(of.refuse(CredentialRefusal::Malformed));
    };
    let parts = inner.as_array().map(Vec::as_slice);
    let Some([Value::Bytes(header), Value::Map(more), Value::Bytes(_), Value::Bytes(_)]) = parts else {
        return Err(of.refuse(CredentialRefusal::Malformed));
    };
    if header.as_slice() != HEADER || !more.is_empty() {
        let other = header.starts_with(&HEADER[..2]) && header.as_slice() != HEADER;
        return Err(of.refuse(if other {
            CredentialRefusal::UnknownAlgorithm
        } else {
            CredentialRefusal::OddHeader
        }));
    }
    CoseSign1::from_cbor_value(*inner).map_err(|_| of.refuse(CredentialRefusal::Malformed))
}

/// Signs claims, which must be in the order of their keys' bytes.
fn seal(
    label: &[u8],
    claims: Vec<(i64, Value)>,
    key: &SecretKey,
    of: &Piece<'_>,
) -> Result<Vec<u8>, CredentialRefusal> {
    let claims = claims.into_iter().map(|(key, value)| (Value::from(key), value)).collect();
    let statement = CoseSign1Builder::new()
        .protected(HeaderBuilder::new().algorithm(iana::Algorithm::EdDSA).build())
        .payload(cbor::write(&Value::Map(claims)))
        .create_signature(label, |message| key.sign(message))
        .build();
    statement.to_tagged_vec().map_err(|_| of.refuse(CredentialRefusal::Malformed))
}

/// Claims of a statement, extracted one by one.
struct Claims<'a> {
    left: Vec<(Value, Value)>,
    of: Piece<'a>,
}

impl<'a> Claims<'a> {
    fn read(payload: &[u8], of: Piece<'a>) -> Result<Self, CredentialRefusal> {
        match cbor::read(payload, MOST_BYTES, &of)? {
            Value::Map(left) => Ok(Self { left, of }),
            _ => Err(of.refuse(CredentialRefusal::Malformed)),
        }
    }

    /// Extracts a claim that must be present and be accepted by `read`.
    fn take<T>(&mut self, label: i64, read: impl FnOnce(Value) -> Option<T>) -> Result<T, CredentialRefusal> {
        let at = self.left.iter().position(|(key, _)| *key == Value::from(label));
        let value = at.map(|at| self.left.remove(at).1);
        value.and_then(read).ok_or_else(|| self.of.refuse(CredentialRefusal::Malformed))
    }

    /// Whether a claim is there.
    fn has(&self, label: i64) -> bool {
        self.left.iter().any(|(key, _)| *key == Value::from(label))
    }

    /// The same for a list of 1 to `most`.
    fn list<T>(
        &mut self,
        label: i64,
        most: usize,
        read: impl FnMut(Value) -> Option<T>,
    ) -> Result<Vec<T>, CredentialRefusal> {
        let items = self.take(label, |value| value.into_array().ok().filter(|items| !items.is_empty()))?;
        if items.len() > most {
            return Err(self.of.refuse(CredentialRefusal::TooLarge));
        }
        let read: Option<Vec<T>> = items.into_iter().map(read).collect();
        read.ok_or_else(|| self.of.refuse(CredentialRefusal::Malformed))
    }

    /// Checks that no claim is left: an unknown one is refused.
    fn end(self) -> Result<(), CredentialRefusal> {
        if self.left.is_empty() { Ok(()) } else { Err(self.of.refuse(CredentialRefusal::UnknownClaim)) }
    }
}

pub(crate) fn uint(value: Value) -> Option<u64> {
    value.into_integer().ok()?.try_into().ok()
}

pub(crate) fn bytes<const N: usize>(value: Value) -> Option<[u8; N]> {
    value.into_bytes().ok()?.try_into().ok()
}

pub(crate) fn name(value: Value) -> Option<PrincipalName> {
    value.as_text()?.parse().ok()
}

/// Makes a reader that also accepts null.
pub(crate) fn or_null<T>(read: impl FnOnce(Value) -> Option<T>) -> impl FnOnce(Value) -> Option<Option<T>> {
    move |value| if value.is_null() { Some(None) } else { read(value).map(Some) }
}

/// The key that a holder must prove to have: `{1: COSE_Key}` (RFC 8747).
fn confirmed(value: Value) -> Option<PublicKey> {
    match value.as_map()?.as_slice() {
        [(label, key)] if *label == Value::from(1) => PublicKey::of_cose(key),
        _ => None,
    }
}

fn confirmation(key: PublicKey) -> Value {
    Value::Map(vec![(Value::from(1), key.to_cose())])
}

fn text(value: impl std::fmt::Display) -> Value {
    Value::Text(value.to_string())
}

/// Checks that it is now within two times, in seconds since 1970; the second is the first one outside.
pub(crate) fn within(from: u64, until: u64, now: u64, of: &Piece<'_>) -> Result<(), CredentialRefusal> {
    if now < from {
        return Err(of.refuse(CredentialRefusal::NotYetValid));
    }
    if now < until { Ok(()) } else { Err(of.refuse(CredentialRefusal::Expired)) }
}
