//! HELLO message: statements that the holder of a leaf shows beside it, once a connection.
//!
//! Measured side, pure, fed by strangers. Owns how pieces are put together and their limits. A name beside each
//! statement says whose key opens it, so that nothing in it is believed before; the opened statement must contain the
//! same name.

use crate::bundle::MOST_KEYS;
use crate::cbor;
use crate::name::{Domain, PrincipalName};
use crate::refusal::{CredentialRefusal, Piece};
use ciborium::Value;
use std::str::FromStr;

/// Longest HELLO.
pub const MOST_BYTES: usize = 64 * 1024;
/// Limit on links of a chain.
pub const MOST_LINKS: usize = 8;
/// Limit on identities, and on statuses.
const MOST_BESIDE: usize = 10;
/// Limit on signature checks for one HELLO: every key of a domain is tried for every identity and status, for the
/// leaf and for the identity in it; a link has one.
const MOST_SIGNATURES: usize = 64;
const _: () = assert!((2 * MOST_BESIDE + 2) * MOST_KEYS + MOST_LINKS <= MOST_SIGNATURES);

/// Content of a HELLO.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// Identities of givers and of roles' owners, with their names; an owner's comes before that of the role.
    pub identities: Vec<(PrincipalName, Vec<u8>)>,
    /// Transfers, with their givers, from the first giver to the holder.
    pub chain: Vec<(PrincipalName, Vec<u8>)>,
    /// Statuses, with their domains.
    pub statuses: Vec<(Domain, Vec<u8>)>,
}

impl Hello {
    /// Reads a HELLO.
    ///
    /// # Errors
    /// It is refused, by name.
    pub fn read(bytes: &[u8]) -> Result<Self, CredentialRefusal> {
        let of = Piece::of("HELLO");
        let value = cbor::read(bytes, MOST_BYTES, &of)?;
        let lists: Option<[Value; 3]> = value.into_array().ok().and_then(|lists| lists.try_into().ok());
        let [identities, chain, statuses] = lists.ok_or_else(|| of.refuse(CredentialRefusal::Malformed))?;
        let hello = Self {
            identities: pairs(identities, &of)?,
            chain: pairs(chain, &of)?,
            statuses: pairs(statuses, &of)?,
        };
        hello.check().map(|()| hello)
    }

    /// Its bytes.
    pub fn write(&self) -> Vec<u8> {
        fn list<T: ToString>(of: &[(T, Vec<u8>)]) -> Value {
            let pair = |(whose, bytes): &(T, Vec<u8>)| {
                Value::Array(vec![Value::Text(whose.to_string()), Value::Bytes(bytes.clone())])
            };
            Value::Array(of.iter().map(pair).collect())
        }
        cbor::write(&Value::Array(vec![list(&self.identities), list(&self.chain), list(&self.statuses)]))
    }

    /// Refuses a HELLO that exceeds a limit.
    pub(crate) fn check(&self) -> Result<(), CredentialRefusal> {
        if self.chain.len() > MOST_LINKS {
            return Err(Piece::of("the chain").refuse(CredentialRefusal::TooDeep));
        }
        if self.identities.len().max(self.statuses.len()) > MOST_BESIDE {
            return Err(Piece::of("HELLO").refuse(CredentialRefusal::TooLarge));
        }
        Ok(())
    }
}

fn pairs<T: FromStr>(list: Value, of: &Piece<'_>) -> Result<Vec<(T, Vec<u8>)>, CredentialRefusal> {
    let pair = |value: Value| {
        let [whose, bytes]: [Value; 2] = value.into_array().ok()?.try_into().ok()?;
        Some((whose.as_text()?.parse().ok()?, bytes.into_bytes().ok()?))
    };
    let pairs: Option<Vec<_>> = list.into_array().ok().and_then(|list| list.into_iter().map(pair).collect());
    pairs.ok_or_else(|| of.refuse(CredentialRefusal::Malformed))
}
