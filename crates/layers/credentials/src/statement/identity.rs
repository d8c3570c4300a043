//! Identities: a domain, or the owner of a role, certifies the name of a key, for weeks.
//!
//! Measured side, pure.

use super::{MOST_GROUPS, Piece, bytes, confirmation, confirmed, name, open, peek, seal, text, uint};
use crate::key::{PublicKey, SecretKey, Serial};
use crate::name::{PrincipalKind, PrincipalName};
use crate::refusal::CredentialRefusal;
use ciborium::Value;

const LABEL: &[u8] = b"bakeoff-identity/1";
/// Our private claim.
const GROUPS: i64 = -70020;

/// Content of an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityContent {
    /// The name.
    pub name: PrincipalName,
    /// The key that it certifies.
    pub key: PublicKey,
    /// Groups of the name, of its domain: it is in those of them that the agent names, too. A role has none.
    pub groups: Vec<PrincipalName>,
    /// Its number.
    pub serial: Serial,
    /// Start of its validity, in seconds since 1970.
    pub from_unix_s: u64,
    /// End of its validity, in seconds since 1970.
    pub until_unix_s: u64,
}

impl IdentityContent {
    /// Its bytes, signed by the domain's CA, or for a role by its owner.
    ///
    /// # Errors
    /// It would be refused.
    pub fn seal(&self, key: &SecretKey) -> Result<Vec<u8>, CredentialRefusal> {
        let mut claims = vec![
            (1, Value::Text(signer(&self.name))),
            (2, text(&self.name)),
            (4, self.until_unix_s.into()),
            (5, self.from_unix_s.into()),
            (7, Value::Bytes(self.serial.0.to_vec())),
            (8, confirmation(self.key)),
        ];
        if !self.groups.is_empty() {
            claims.push((GROUPS, Value::Array(self.groups.iter().map(text).collect())));
        }
        let of = Piece::of("the identity").by(&self.name);
        let made = seal(LABEL, claims, key, &of)?;
        Self::read(&made, &self.name, &[key.public()], of).map(|_| made)
    }

    /// Opens bytes that claim this name, which one of `keys` must have signed.
    ///
    /// # Errors
    /// It is refused, by name; whether it is valid now is not checked.
    pub fn open(bytes: &[u8], name: &PrincipalName, keys: &[PublicKey]) -> Result<Self, CredentialRefusal> {
        Self::read(bytes, name, keys, Piece::of("the identity").by(name))
    }

    /// Name and key that the bytes claim, whoever signed them.
    ///
    /// # Errors
    /// They are malformed.
    pub fn peek(bytes: &[u8]) -> Result<(PrincipalName, PublicKey), CredentialRefusal> {
        let mut claims = peek(bytes, Piece::of("the identity"))?;
        Ok((claims.take(2, name)?, claims.take(8, confirmed)?))
    }

    pub(crate) fn read(
        statement: &[u8],
        expected: &PrincipalName,
        keys: &[PublicKey],
        of: Piece<'_>,
    ) -> Result<Self, CredentialRefusal> {
        let mut claims = open(LABEL, statement, keys, of)?;
        let signed_by = claims.take(1, |value| value.into_text().ok())?;
        let found = Self {
            name: claims.take(2, name)?,
            until_unix_s: claims.take(4, uint)?,
            from_unix_s: claims.take(5, uint)?,
            serial: claims.take(7, bytes).map(Serial)?,
            key: claims.take(8, confirmed)?,
            groups: if claims.has(GROUPS) { claims.list(GROUPS, MOST_GROUPS, name)? } else { Vec::new() },
        };
        claims.end()?;
        if signed_by != signer(&found.name) || found.name.domain() != expected.domain() {
            return Err(of.refuse(CredentialRefusal::NotItsDomain));
        }
        if found.name != *expected {
            return Err(of.refuse(CredentialRefusal::WrongHolder));
        }
        let foreign = |group: &PrincipalName| group.domain() != found.name.domain();
        if found.groups.iter().any(foreign) {
            return Err(of.refuse(CredentialRefusal::NotItsDomain));
        }
        let no_group = |group: &PrincipalName| group.kind() != PrincipalKind::Group;
        // A role's owner, who signs this, has no say in who is in a group.
        let of_role = found.name.kind() == PrincipalKind::Role && !found.groups.is_empty();
        // A group signs nothing: its members do.
        if found.name.kind() == PrincipalKind::Group || of_role || found.groups.iter().any(no_group) {
            Err(of.refuse(CredentialRefusal::Malformed))
        } else {
            Ok(found)
        }
    }
}

/// Name of the signer of this name's identity, as it stands in it.
fn signer(name: &PrincipalName) -> String {
    name.owner().map_or_else(|| name.domain().to_string(), |owner| owner.to_string())
}
