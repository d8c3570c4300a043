//! Records of the audit log: a decision, its principal, and the evidence for it.
//!
//! Measured side, hot when written: once for each decision that is not cached. Owns the layout of the fields. A
//! record names its evidence by hashes ([`super::Evidence`]); the principal is also written in words.

use crate::cbor;
use crate::key::Hash;
use crate::name::PrincipalName;
use crate::operation::Operations;
use crate::refusal::Piece;
use crate::statement::{bytes, name, or_null, uint};
use ciborium::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// Longest record.
pub const MOST_BYTES: usize = 256 * 1024;
/// The refusal for a right that neither list nor chain grants; other refusals are logged but not replayed.
pub const DENIED: &str = "denied";

/// An object's names, from the root down.
pub type ObjectPath = Vec<Vec<u8>>;

/// Rules in force at a decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InForce {
    /// Number of changes since the server began.
    pub epoch: u64,
    /// The access list.
    pub acl: Hash,
    /// The trust bundles.
    pub bundles: Vec<Hash>,
    /// The revocations.
    pub revoked: Hash,
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedDecision {
    /// Time in seconds since 1970, as given to the verifier.
    pub time_unix_s: u64,
    /// The session's number at the server.
    pub session: u32,
    /// Principal: the name in the leaf, if it could be verified.
    pub peer: Option<PrincipalName>,
    /// Leaf and HELLO; `None` if nobody known here signed the leaf: strangers cannot fill the disk.
    pub shown: Option<Hash>,
    /// The rules in force.
    pub force: Arc<InForce>,
    /// The decision itself.
    pub about: DecisionSubject,
}

/// Subject and result of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecisionSubject {
    /// HELLO: let in.
    Admitted {
        /// End of the grant, in seconds since 1970.
        until_unix_s: u64,
    },
    /// HELLO: not let in.
    NotAdmitted {
        /// The name of the refusal.
        refusal: Cow<'static, str>,
    },
    /// A request for an object.
    Object {
        /// The names by which the server knows it: one, or several for a file with hard links. All of them must grant
        /// it.
        paths: Vec<ObjectPath>,
        /// The requested operations.
        asked: Operations,
        /// Rights of the session to it: cached, and used until the grant ends or the rules change.
        rights: Operations,
        /// The result.
        outcome: AuditOutcome,
    },
}

/// Result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditOutcome {
    /// Allowed.
    Allowed {
        /// The line of the access list that grants the first requested operation at the first path; 0 if nothing is
        /// requested.
        line: u64,
    },
    /// Refused.
    Refused {
        /// The name of the refusal.
        refusal: Cow<'static, str>,
    },
}

/// A decision in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionRecord {
    /// Its number, from 0.
    pub number: u64,
    /// Number of strangers' refusals before it that were not written, as there were too many a second.
    pub unwritten: u64,
    /// The decision.
    pub decision: LoggedDecision,
}

/// Keys of the fields.
mod field {
    pub(super) const NUMBER: i64 = 1;
    pub(super) const UNWRITTEN: i64 = 2;
    pub(super) const TIME: i64 = 3;
    pub(super) const SESSION: i64 = 4;
    pub(super) const PEER: i64 = 5;
    pub(super) const SHOWN: i64 = 6;
    pub(super) const EPOCH: i64 = 7;
    pub(super) const ACL: i64 = 8;
    pub(super) const BUNDLES: i64 = 9;
    pub(super) const REVOKED: i64 = 10;
    pub(super) const UNTIL: i64 = 11;
    pub(super) const REFUSAL: i64 = 12;
    pub(super) const PATHS: i64 = 13;
    pub(super) const ASKED: i64 = 14;
    pub(super) const GRANTED: i64 = 15;
    /// A limit on bytes, which is not offered.
    pub(super) const MOST_WRITTEN: i64 = 16;
    pub(super) const LINE: i64 = 17;
}

impl LoggedDecision {
    /// The bytes of a record with this number.
    pub(super) fn write(&self, number: u64, unwritten: u64) -> Vec<u8> {
        let force = &*self.force;
        let hash = |hash: &Hash| Value::Bytes(hash.to_vec());
        let mut fields = Vec::with_capacity(16);
        let mut put = |field: i64, value: Value| fields.push((Value::from(field), value));
        put(field::NUMBER, number.into());
        put(field::UNWRITTEN, unwritten.into());
        put(field::TIME, self.time_unix_s.into());
        put(field::SESSION, self.session.into());
        put(field::PEER, self.peer.as_ref().map_or(Value::Null, |peer| Value::Text(peer.to_string())));
        put(field::SHOWN, self.shown.as_ref().map_or(Value::Null, hash));
        put(field::EPOCH, force.epoch.into());
        put(field::ACL, hash(&force.acl));
        put(field::BUNDLES, Value::Array(force.bundles.iter().map(hash).collect()));
        put(field::REVOKED, hash(&force.revoked));
        let refused = |refusal: &Cow<'static, str>| Value::Text(refusal.to_string());
        match &self.about {
            DecisionSubject::Admitted { until_unix_s } => put(field::UNTIL, (*until_unix_s).into()),
            DecisionSubject::NotAdmitted { refusal } => put(field::REFUSAL, refused(refusal)),
            DecisionSubject::Object { paths, asked, rights, outcome } => {
                if let AuditOutcome::Refused { refusal } = outcome {
                    put(field::REFUSAL, refused(refusal));
                }
                let path = |path: &ObjectPath| Value::Array(path.iter().cloned().map(Value::Bytes).collect());
                put(field::PATHS, Value::Array(paths.iter().map(path).collect()));
                put(field::ASKED, asked.bits().into());
                put(field::GRANTED, rights.bits().into());
                put(field::MOST_WRITTEN, Value::Null);
                if let AuditOutcome::Allowed { line } = outcome {
                    put(field::LINE, (*line).into());
                }
            }
        }
        cbor::write(&Value::Map(fields))
    }
}

impl DecisionRecord {
    /// Reads a record; accepts only its one canonical form.
    pub fn read(record: &[u8]) -> Option<Self> {
        let value = cbor::read(record, MOST_BYTES, &Piece::of("the record")).ok()?;
        let mut fields = Fields(value.into_map().ok()?);
        let record = Self {
            number: fields.take(field::NUMBER, uint)?,
            unwritten: fields.take(field::UNWRITTEN, uint)?,
            decision: LoggedDecision {
                time_unix_s: fields.take(field::TIME, uint)?,
                session: fields.take(field::SESSION, |value| uint(value)?.try_into().ok())?,
                peer: fields.take(field::PEER, or_null(name))?,
                shown: fields.take(field::SHOWN, or_null(bytes))?,
                force: Arc::new(InForce {
                    epoch: fields.take(field::EPOCH, uint)?,
                    acl: fields.take(field::ACL, bytes)?,
                    bundles: fields.take(field::BUNDLES, |value| list(value, bytes))?,
                    revoked: fields.take(field::REVOKED, bytes)?,
                }),
                about: fields.about()?,
            },
        };
        fields.0.is_empty().then_some(record)
    }
}

/// Fields of a record, taken out one by one.
struct Fields(Vec<(Value, Value)>);

impl Fields {
    fn take<T>(&mut self, field: i64, read: impl FnOnce(Value) -> Option<T>) -> Option<T> {
        let at = self.0.iter().position(|(key, _)| *key == Value::from(field))?;
        read(self.0.remove(at).1)
    }

    fn has(&self, field: i64) -> bool {
        self.0.iter().any(|(key, _)| *key == Value::from(field))
    }

    fn about(&mut self) -> Option<DecisionSubject> {
        if self.has(field::UNTIL) {
            return Some(DecisionSubject::Admitted { until_unix_s: self.take(field::UNTIL, uint)? });
        }
        let refusal = match self.has(field::REFUSAL) {
            true => Some(Cow::Owned(self.take(field::REFUSAL, |value| value.into_text().ok())?)),
            false => None,
        };
        if !self.has(field::PATHS) {
            return refusal.map(|refusal| DecisionSubject::NotAdmitted { refusal });
        }
        let path = |value| list(value, |name| name.into_bytes().ok());
        let paths = self.take(field::PATHS, |value| list(value, path))?;
        let operations = |value| Operations::of_bits(uint(value)?);
        let asked = self.take(field::ASKED, operations)?;
        let rights = self.take(field::GRANTED, operations)?;
        self.take(field::MOST_WRITTEN, |value| value.is_null().then_some(()))?;
        let outcome = match refusal {
            Some(refusal) => AuditOutcome::Refused { refusal },
            None => AuditOutcome::Allowed { line: self.take(field::LINE, uint)? },
        };
        Some(DecisionSubject::Object { paths, asked, rights, outcome })
    }
}

fn list<T>(value: Value, read: impl FnMut(Value) -> Option<T>) -> Option<Vec<T>> {
    value.into_array().ok()?.into_iter().map(read).collect()
}
