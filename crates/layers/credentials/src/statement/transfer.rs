//! Transfers: a principal delegates part of its rights to another key, for a time.
//!
//! Measured side, pure. Owns the content of a transfer, and the rule that it is narrower than the one it follows
//! from; verifiers and givers call the same function.

use super::{Claims, Piece, bytes, confirmation, confirmed, name, open, or_null, peek, seal, text, uint};
use crate::key::{Hash, PublicKey, SecretKey, Serial, hash};
use crate::name::{Domain, PrincipalName};
use crate::operation::Operations;
use crate::path::PathPrefix;
use crate::refusal::CredentialRefusal;
use ciborium::Value;
use std::fmt;

const LABEL: &[u8] = b"bakeoff-transfer/1";
/// Limit on servers or domains that it is for.
const MOST_AUDIENCES: usize = 16;
/// Limit on grants in it.
const MOST_GRANTS: usize = 16;
/// Limit on the number of times it may be handed on.
pub(crate) const MOST_HOPS: u8 = 8;
/// Our private claims, in the range for private use (RFC 8392 section 9.1).
const GRANTS: i64 = -70001;
const HOPS: i64 = -70002;
const PARENT: i64 = -70003;
const GIVER_KEY: i64 = -70004;

/// Servers that a transfer is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audience {
    /// One server.
    Server(PrincipalName),
    /// All servers of a domain.
    Domain(Domain),
}

impl Audience {
    /// From a name, or from `*.` and a domain.
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("*.") {
            Some(domain) => domain.parse().ok().map(Self::Domain),
            None => text.parse().ok().map(Self::Server),
        }
    }

    fn holds(&self, server: &PrincipalName) -> bool {
        match self {
            Self::Server(own) => own == server,
            Self::Domain(own) => own == server.domain(),
        }
    }
}

impl fmt::Display for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(name) => write!(f, "{name}"),
            Self::Domain(domain) => write!(f, "*.{domain}"),
        }
    }
}

/// Unit of delegation: operations on a path and everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelegationScope {
    /// The path.
    pub path: PathPrefix,
    /// The operations.
    pub operations: Operations,
}

impl DelegationScope {
    fn is_within(&self, held: &Self) -> bool {
        held.path.covers(self.path.names()) && self.operations.is_within(held.operations)
    }

    fn of_value(value: Value) -> Option<Self> {
        let parts: [Value; 3] = value.into_array().ok()?.try_into().ok()?;
        // The third is a limit on bytes, which is not offered.
        let [path, operations, Value::Null] = parts else { return None };
        let names = path.into_array().ok()?.into_iter().map(|name| name.into_text().ok());
        Some(Self {
            path: PathPrefix::of(names.collect::<Option<_>>()?)?,
            operations: Operations::of_bits(uint(operations)?)?,
        })
    }

    fn to_value(&self) -> Value {
        let names = self.path.names().iter().map(|name| Value::Text(name.clone())).collect();
        Value::Array(vec![Value::Array(names), self.operations.bits().into(), Value::Null])
    }
}

/// Request for a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferRequest {
    /// Name of the receiver, if it is known.
    pub receiver: Option<PrincipalName>,
    /// Key of the receiver.
    pub key: PublicKey,
    /// Servers that it is for.
    pub audience: Vec<Audience>,
    /// The delegated scopes.
    pub grants: Vec<DelegationScope>,
    /// Start, in seconds since 1970.
    pub from_unix_s: u64,
    /// End, in seconds since 1970.
    pub until_unix_s: u64,
    /// Number of times that the receiver may have it handed on.
    pub hops: u8,
}

/// Content of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The giver.
    pub giver: PrincipalName,
    /// Thumbprint of the giver's key.
    pub giver_key: Hash,
    /// Scopes, receiver and times.
    pub wish: TransferRequest,
    /// Its number.
    pub serial: Serial,
    /// SHA-256 of the giver's own transfer, if the giver hands on delegated rights.
    pub parent: Option<Hash>,
}

impl Transfer {
    /// Makes a transfer of the giver's own rights, or of a part of the transfer that the giver holds.
    ///
    /// # Errors
    /// Every verifier would refuse it: wider or longer than the held one, or the held one belongs to another.
    pub fn give(
        wish: &TransferRequest,
        giver: &PrincipalName,
        key: &SecretKey,
        held: Option<&[u8]>,
        serial: Serial,
    ) -> Result<Vec<u8>, CredentialRefusal> {
        let of = Piece::of("the transfer").by(giver);
        let given = Self {
            giver: giver.clone(),
            giver_key: key.public().thumbprint(),
            wish: wish.clone(),
            serial,
            parent: held.map(hash),
        };
        if let Some(held) = held {
            let held = Self::of_claims(peek(held, Piece::of("the held transfer"))?)?;
            let named = held.wish.receiver.as_ref().is_none_or(|receiver| receiver == giver);
            if held.wish.key != key.public() || !named {
                return Err(Piece::of("the held transfer").refuse(CredentialRefusal::WrongHolder));
            }
            given.is_narrower(&held, &of)?;
        }
        let made = seal(LABEL, given.claims(), key, &of)?;
        // Reads the result back: limits and forms stand in the reader alone.
        Self::read(&made, giver, key.public(), of).map(|_| made)
    }

    /// Opens bytes that this giver must have signed with this key.
    ///
    /// # Errors
    /// It is refused, by name; whether it is valid now and follows from another is not checked.
    pub fn open(bytes: &[u8], giver: &PrincipalName, key: PublicKey) -> Result<Self, CredentialRefusal> {
        Self::read(bytes, giver, key, Piece::of("the transfer").by(giver))
    }

    /// Content of bytes, whoever signed them: for its receiver, who may hand it on.
    ///
    /// # Errors
    /// They are malformed.
    pub fn peek(bytes: &[u8]) -> Result<Self, CredentialRefusal> {
        Self::of_claims(peek(bytes, Piece::of("the transfer"))?)
    }

    /// The same, as a piece of the shown credentials.
    pub(crate) fn read(
        statement: &[u8],
        giver: &PrincipalName,
        key: PublicKey,
        of: Piece<'_>,
    ) -> Result<Self, CredentialRefusal> {
        let found = Self::of_claims(open(LABEL, statement, &[key], of)?)?;
        if found.giver != *giver {
            return Err(of.refuse(CredentialRefusal::WrongHolder));
        }
        if found.giver_key != key.thumbprint() {
            return Err(of.refuse(CredentialRefusal::Spliced));
        }
        if found.wish.hops > MOST_HOPS { Err(of.refuse(CredentialRefusal::TooDeep)) } else { Ok(found) }
    }

    /// Whether it is for this server.
    pub(crate) fn is_for(&self, server: &PrincipalName) -> bool {
        self.wish.audience.iter().any(|audience| audience.holds(server))
    }

    /// Refuses it unless it hands on no more than `held` does, for no longer.
    pub(crate) fn is_narrower(&self, held: &Self, of: &Piece<'_>) -> Result<(), CredentialRefusal> {
        let inside = |own: &DelegationScope| held.wish.grants.iter().any(|held| own.is_within(held));
        if self.wish.hops >= held.wish.hops || !self.wish.grants.iter().all(inside) {
            return Err(of.refuse(CredentialRefusal::Widened));
        }
        if self.wish.until_unix_s > held.wish.until_unix_s {
            return Err(of.refuse(CredentialRefusal::LongerLived));
        }
        Ok(())
    }

    fn of_claims(mut claims: Claims<'_>) -> Result<Self, CredentialRefusal> {
        let audience = |value: Value| value.as_text().and_then(Audience::parse);
        let found = Self {
            giver: claims.take(1, name)?,
            wish: TransferRequest {
                receiver: claims.take(2, or_null(name))?,
                audience: claims.list(3, MOST_AUDIENCES, audience)?,
                until_unix_s: claims.take(4, uint)?,
                from_unix_s: claims.take(5, uint)?,
                key: claims.take(8, confirmed)?,
                grants: claims.list(GRANTS, MOST_GRANTS, DelegationScope::of_value)?,
                hops: claims.take(HOPS, |value| uint(value)?.try_into().ok())?,
            },
            serial: claims.take(7, bytes).map(Serial)?,
            parent: claims.take(PARENT, or_null(bytes))?,
            giver_key: claims.take(GIVER_KEY, bytes)?,
        };
        claims.end()?;
        Ok(found)
    }

    fn claims(&self) -> Vec<(i64, Value)> {
        let wish = &self.wish;
        vec![
            (1, text(&self.giver)),
            (2, wish.receiver.as_ref().map_or(Value::Null, text)),
            (3, Value::Array(wish.audience.iter().map(text).collect())),
            (4, wish.until_unix_s.into()),
            (5, wish.from_unix_s.into()),
            (7, Value::Bytes(self.serial.0.to_vec())),
            (8, confirmation(wish.key)),
            (GRANTS, Value::Array(wish.grants.iter().map(DelegationScope::to_value).collect())),
            (HOPS, wish.hops.into()),
            (PARENT, self.parent.map_or(Value::Null, |hash| Value::Bytes(hash.to_vec()))),
            (GIVER_KEY, Value::Bytes(self.giver_key.to_vec())),
        ]
    }
}

/// Operations that the scopes of one transfer leave at a path.
pub(crate) fn left(scopes: &[DelegationScope], path: &[impl AsRef<[u8]>]) -> Operations {
    let here = scopes.iter().filter(|scope| scope.path.covers(path));
    here.fold(Operations::NONE, |all, scope| all.or(scope.operations))
}
