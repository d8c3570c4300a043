//! Statuses: an on-line agent says which transfers of its domain are good, for hours.
//!
//! Measured side, pure. One signature endorses all links of a chain that its domain gave.

use super::{Piece, bytes, open, seal, text, uint};
use crate::key::{PublicKey, SecretKey, Serial};
use crate::name::Domain;
use crate::refusal::Refusal;
use ciborium::Value;

const LABEL: &[u8] = b"bakeoff-status/1";
/// Most transfers that one status names.
const MOST_GOOD: usize = 64;
/// Claims of ours.
const GOOD: i64 = -70010;
const EPOCH: i64 = -70011;

/// What a status says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Whose agent says so.
    pub domain: Domain,
    /// When, in seconds since 1970.
    pub made_unix_s: u64,
    /// From when on it says nothing any more, in seconds since 1970.
    pub until_unix_s: u64,
    /// Which transfers are good.
    pub good: Vec<Serial>,
    /// How many revocations the agent knew of.
    pub epoch: u64,
}

impl Status {
    /// Its bytes, signed by the domain's agent.
    ///
    /// # Errors
    /// It would be refused.
    pub fn seal(&self, key: &SecretKey) -> Result<Vec<u8>, Refusal> {
        let claims = vec![
            (1, text(&self.domain)),
            (4, self.until_unix_s.into()),
            (6, self.made_unix_s.into()),
            (GOOD, Value::Array(self.good.iter().map(|serial| Value::Bytes(serial.0.to_vec())).collect())),
            (EPOCH, self.epoch.into()),
        ];
        let of = Piece::of("the status").by(&self.domain);
        let made = seal(LABEL, claims, key, &of)?;
        Self::read(&made, &self.domain, &[key.public()], of).map(|_| made)
    }

    /// From bytes that say to be of this domain, which one of its agents' `keys` must have signed.
    ///
    /// # Errors
    /// It is refused, by name; whether it is good now is another question.
    pub fn open(bytes: &[u8], domain: &Domain, keys: &[PublicKey]) -> Result<Self, Refusal> {
        Self::read(bytes, domain, keys, Piece::of("the status").by(domain))
    }

    pub(crate) fn read(
        statement: &[u8],
        domain: &Domain,
        keys: &[PublicKey],
        of: Piece<'_>,
    ) -> Result<Self, Refusal> {
        let mut claims = open(LABEL, statement, keys, of)?;
        let found = Self {
            domain: claims.take(1, |value| value.as_text()?.parse().ok())?,
            until_unix_s: claims.take(4, uint)?,
            made_unix_s: claims.take(6, uint)?,
            good: claims.list(GOOD, MOST_GOOD, |value| bytes(value).map(Serial))?,
            epoch: claims.take(EPOCH, uint)?,
        };
        claims.end()?;
        if found.domain != *domain {
            return Err(of.refuse(Refusal::NotItsDomain));
        }
        Ok(found)
    }
}
