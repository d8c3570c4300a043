//! Statuses: an on-line agent states which transfers of its domain are good, for hours.
//!
//! Measured side, pure. One signature endorses all links of a chain that the agent's domain gave.

use super::{Piece, bytes, open, seal, text, uint};
use crate::key::{Hash, PublicKey, SecretKey};
use crate::name::Domain;
use crate::refusal::CredentialRefusal;
use ciborium::Value;

const LABEL: &[u8] = b"bakeoff-status/2";
/// Limit on transfers that one status names.
const MOST_GOOD: usize = 64;
/// Our private claims.
const GOOD: i64 = -70010;
const EPOCH: i64 = -70011;

/// Content of a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusContent {
    /// Domain of the agent.
    pub domain: Domain,
    /// Time at which it was made, in seconds since 1970.
    pub made_unix_s: u64,
    /// End of its validity, in seconds since 1970.
    pub until_unix_s: u64,
    /// The good transfers, each by the SHA-256 of its bytes.
    pub good: Vec<Hash>,
    /// Number of revocations known to the agent.
    pub epoch: u64,
}

impl StatusContent {
    /// Its bytes, signed by the domain's agent.
    ///
    /// # Errors
    /// It would be refused.
    pub fn seal(&self, key: &SecretKey) -> Result<Vec<u8>, CredentialRefusal> {
        let claims = vec![
            (1, text(&self.domain)),
            (4, self.until_unix_s.into()),
            (6, self.made_unix_s.into()),
            (GOOD, Value::Array(self.good.iter().map(|hash| Value::Bytes(hash.to_vec())).collect())),
            (EPOCH, self.epoch.into()),
        ];
        let of = Piece::of("the status").by(&self.domain);
        let made = seal(LABEL, claims, key, &of)?;
        Self::read(&made, &self.domain, &[key.public()], of).map(|_| made)
    }

    /// Opens bytes that claim this domain, which one of its agents' `keys` must have signed.
    ///
    /// # Errors
    /// It is refused, by name; whether it is valid now is not checked.
    pub fn open(bytes: &[u8], domain: &Domain, keys: &[PublicKey]) -> Result<Self, CredentialRefusal> {
        Self::read(bytes, domain, keys, Piece::of("the status").by(domain))
    }

    pub(crate) fn read(
        statement: &[u8],
        domain: &Domain,
        keys: &[PublicKey],
        of: Piece<'_>,
    ) -> Result<Self, CredentialRefusal> {
        let mut claims = open(LABEL, statement, keys, of)?;
        let found = Self {
            domain: claims.take(1, |value| value.as_text()?.parse().ok())?,
            until_unix_s: claims.take(4, uint)?,
            made_unix_s: claims.take(6, uint)?,
            good: claims.list(GOOD, MOST_GOOD, bytes)?,
            epoch: claims.take(EPOCH, uint)?,
        };
        claims.end()?;
        if found.domain != *domain {
            return Err(of.refuse(CredentialRefusal::NotItsDomain));
        }
        Ok(found)
    }
}
