//! Replay of an audit log: each decision is made again, from the kept evidence, for the time at which it was made.
//!
//! Measured side, cold, pure. Finds decisions that contradict the rules, by a fault of the server or by tampering.
//! Only the server's word stands for two facts: that the peer had the key of the leaf, and that everything was
//! logged.

use super::evidence::shown;
use super::record::{
    AuditOutcome, DENIED, DecisionRecord, DecisionSubject, InForce, LoggedDecision, ObjectPath,
};
use crate::acl::Acl;
use crate::bundle::{Bundles, DomainBundle};
use crate::grant::SessionGrant;
use crate::key::{Hash, hash};
use crate::name::PrincipalName;
use crate::operation::Operations;
use crate::refusal::CredentialRefusal;
use crate::revoked::Revoked;
use crate::verify::verify;
use bakeoff_layers_base::hex::to_hex;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

/// Difference between a logged decision and the replayed one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayDifference {
    /// Missing evidence.
    #[error("evidence {} ({what}) is not there; bring it back from a copy", to_hex(.hash))]
    EvidenceMissing {
        /// Kind of the evidence.
        what: &'static str,
        /// Its hash.
        hash: Hash,
    },
    /// Evidence that does not match its hash.
    #[error("evidence {} ({what}) was changed; bring it back from a copy", to_hex(.hash))]
    EvidenceChanged {
        /// Kind of the evidence.
        what: &'static str,
        /// Its hash.
        hash: Hash,
    },
    /// Malformed evidence.
    #[error("evidence {} cannot be read as {what}; another version of the server wrote it", to_hex(.hash))]
    EvidenceUnreadable {
        /// Kind of the evidence.
        what: &'static str,
        /// Its hash.
        hash: Hash,
    },
    /// Somebody was let in, or had rights, without kept evidence.
    #[error("somebody was let in without anything that he showed being kept")]
    NothingShown,
    /// Let in, though the rules refuse it.
    #[error("let in, and now refused as {now}")]
    LetIn {
        /// Name of the refusal.
        now: &'static str,
    },
    /// Refused, though the rules let it in.
    #[error("refused as {recorded}, and now let in")]
    KeptOut {
        /// Name of the refusal.
        recorded: String,
    },
    /// Refused under another name.
    #[error("refused as {recorded}, and now as {now}")]
    Refusal {
        /// The name in the log.
        recorded: String,
        /// The one found.
        now: &'static str,
    },
    /// Another principal.
    #[error("recorded as {}, and now {now}", .recorded.as_ref().map_or_else(|| "nobody".to_owned(), PrincipalName::to_string))]
    Peer {
        /// Name in the log.
        recorded: Option<PrincipalName>,
        /// Name found.
        now: PrincipalName,
    },
    /// A grant with another end.
    #[error("granted until {recorded}, and now until {now} (seconds since 1970)")]
    Until {
        /// The value in the log.
        recorded: u64,
        /// The value found.
        now: u64,
    },
    /// Other rights.
    #[error("rights were {recorded}, and now are {now}")]
    Rights {
        /// The value in the log.
        recorded: Operations,
        /// The value found.
        now: Operations,
    },
    /// Allowed, without the rights for it.
    #[error("{asked} was allowed, and the rights are {now}")]
    Allowed {
        /// The requested operations.
        asked: Operations,
        /// The rights.
        now: Operations,
    },
    /// Refused, though the rights suffice.
    #[error("{asked} was refused as {DENIED}, and the rights are {now}")]
    Refused {
        /// The requested operations.
        asked: Operations,
        /// The rights.
        now: Operations,
    },
    /// Another rule.
    #[error("allowed by line {recorded} of the access list, and now by line {now}")]
    Line {
        /// The value in the log.
        recorded: u64,
        /// The value found.
        now: u64,
    },
}

/// Base of a grant: what was shown, bundles, revocations.
type Stand = (Hash, Vec<Hash>, Hash);

/// Replays decisions; caches the evidence that it has parsed.
pub struct Replay<'a> {
    server: &'a PrincipalName,
    /// Evidence by its hash.
    fetch: &'a dyn Fn(&Hash) -> Option<Vec<u8>>,
    acls: HashMap<Hash, Rc<Acl>>,
    bundles: HashMap<Vec<Hash>, Rc<Bundles>>,
    revoked: HashMap<Hash, Rc<Revoked>>,
    /// Grants by their base, with the time from which on each is known.
    grants: HashMap<Stand, (u64, Rc<SessionGrant>)>,
    /// Number of strangers' refusals: there is no evidence to replay them from.
    pub strangers: u64,
    /// Number of refusals for reasons other than rights; only their rights were checked.
    pub beside: u64,
}

impl fmt::Debug for Replay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Replay(of {})", self.server)
    }
}

impl<'a> Replay<'a> {
    /// For the log of this server.
    pub fn new(server: &'a PrincipalName, fetch: &'a dyn Fn(&Hash) -> Option<Vec<u8>>) -> Self {
        Self {
            server,
            fetch,
            acls: HashMap::new(),
            bundles: HashMap::new(),
            revoked: HashMap::new(),
            grants: HashMap::new(),
            strangers: 0,
            beside: 0,
        }
    }

    /// Replays a decision.
    ///
    /// # Errors
    /// The first difference.
    pub fn again(&mut self, record: &DecisionRecord) -> Result<(), ReplayDifference> {
        let decision = &record.decision;
        match &decision.about {
            DecisionSubject::NotAdmitted { .. } if decision.shown.is_none() => {
                self.strangers += 1;
                Ok(())
            }
            DecisionSubject::NotAdmitted { refusal } => match self.grant(decision)? {
                // It depends on an agent's clock, which is not kept.
                Ok(_) if CredentialRefusal::ClockSkew(String::new()).name() == refusal => {
                    self.strangers += 1;
                    Ok(())
                }
                Ok(_) => Err(ReplayDifference::KeptOut { recorded: refusal.to_string() }),
                Err(now) if now == refusal => Ok(()),
                Err(now) => Err(ReplayDifference::Refusal { recorded: refusal.to_string(), now }),
            },
            DecisionSubject::Admitted { until_unix_s } => {
                let grant = self.grant(decision)?.map_err(|now| ReplayDifference::LetIn { now })?;
                same_peer(decision, &grant)?;
                let (recorded, now) = (*until_unix_s, grant.expires_unix_s);
                if recorded == now { Ok(()) } else { Err(ReplayDifference::Until { recorded, now }) }
            }
            DecisionSubject::Object { paths, asked, rights, outcome } => {
                self.object(decision, paths, *asked, *rights, outcome)
            }
        }
    }

    fn object(
        &mut self,
        decision: &LoggedDecision,
        paths: &[ObjectPath],
        asked: Operations,
        recorded: Operations,
        outcome: &AuditOutcome,
    ) -> Result<(), ReplayDifference> {
        let grant = self.grant(decision)?;
        let acl = self.acl(&decision.force.acl)?;
        // A client that is refused now has no rights to any object.
        let now = grant.as_ref().map_or_else(|_| Operations::default(), |grant| rights(grant, &acl, paths));
        if let Ok(grant) = &grant {
            same_peer(decision, grant)?;
        }
        if recorded != now {
            return Err(ReplayDifference::Rights { recorded, now });
        }
        let granted = asked.is_within(now);
        match outcome {
            AuditOutcome::Allowed { .. } if !granted => Err(ReplayDifference::Allowed { asked, now }),
            AuditOutcome::Refused { refusal } if granted && refusal == DENIED => {
                Err(ReplayDifference::Refused { asked, now })
            }
            AuditOutcome::Refused { refusal } => {
                self.beside += u64::from(refusal != DENIED);
                Ok(())
            }
            AuditOutcome::Allowed { line } => {
                let first = asked.each().next().zip(paths.first());
                let found = grant
                    .ok()
                    .zip(first)
                    .and_then(|(grant, (operation, path))| grant.line(&acl, path, operation));
                let (recorded, now) = (*line, found.unwrap_or(0) as u64);
                if recorded == now { Ok(()) } else { Err(ReplayDifference::Line { recorded, now }) }
            }
        }
    }

    /// The grant for this evidence, at that time and by those rules; or the name of the refusal.
    fn grant(
        &mut self,
        decision: &LoggedDecision,
    ) -> Result<Result<Rc<SessionGrant>, &'static str>, ReplayDifference> {
        let seen = decision.shown.ok_or(ReplayDifference::NothingShown)?;
        let InForce { bundles, revoked, .. } = &*decision.force;
        let (now, key) = (decision.time_unix_s, (seen, bundles.clone(), *revoked));
        if let Some((from, grant)) = self.grants.get(&key)
            && (*from..grant.expires_unix_s).contains(&now)
        {
            return Ok(Ok(grant.clone()));
        }
        let (leaf, hello) = self.fetch(&seen, "what was shown", shown)?;
        let (bundles, revoked) = (self.bundles(bundles)?, self.revoked(revoked)?);
        let verified = hello.and_then(|hello| verify(&leaf, &hello, &bundles, &revoked, self.server, now));
        Ok(verified.map(Rc::new).map_err(|refusal: CredentialRefusal| refusal.name()).inspect(|grant| {
            self.grants.insert(key, (now, grant.clone()));
        }))
    }

    fn acl(&mut self, of: &Hash) -> Result<Rc<Acl>, ReplayDifference> {
        if let Some(acl) = self.acls.get(of) {
            return Ok(acl.clone());
        }
        let read = |bytes: &[u8]| Acl::of_text(std::str::from_utf8(bytes).ok()?, "the access list").ok();
        let acl = Rc::new(self.fetch(of, "an access list", read)?);
        self.acls.insert(*of, acl.clone());
        Ok(acl)
    }

    fn bundles(&mut self, of: &[Hash]) -> Result<Rc<Bundles>, ReplayDifference> {
        if let Some(bundles) = self.bundles.get(of) {
            return Ok(bundles.clone());
        }
        let read = |bytes: &[u8]| DomainBundle::read_unverified(bytes).ok();
        let bundles: Result<Bundles, ReplayDifference> =
            of.iter().map(|hash| self.fetch(hash, "a trust bundle", read)).collect();
        let bundles = Rc::new(bundles?);
        self.bundles.insert(of.to_vec(), bundles.clone());
        Ok(bundles)
    }

    fn revoked(&mut self, of: &Hash) -> Result<Rc<Revoked>, ReplayDifference> {
        if let Some(revoked) = self.revoked.get(of) {
            return Ok(revoked.clone());
        }
        let read = |bytes: &[u8]| Revoked::of_text(std::str::from_utf8(bytes).ok()?);
        let revoked = Rc::new(self.fetch(of, "a list of what was taken back", read)?);
        self.revoked.insert(*of, revoked.clone());
        Ok(revoked)
    }

    /// Reads evidence, and checks that it matches its hash.
    fn fetch<T>(
        &self,
        of: &Hash,
        what: &'static str,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<T, ReplayDifference> {
        let bytes = (self.fetch)(of).ok_or(ReplayDifference::EvidenceMissing { what, hash: *of })?;
        if hash(&bytes) != *of {
            return Err(ReplayDifference::EvidenceChanged { what, hash: *of });
        }
        read(&bytes).ok_or(ReplayDifference::EvidenceUnreadable { what, hash: *of })
    }
}

fn same_peer(decision: &LoggedDecision, grant: &SessionGrant) -> Result<(), ReplayDifference> {
    if decision.peer.as_ref() == Some(&grant.acts_as) {
        return Ok(());
    }
    Err(ReplayDifference::Peer { recorded: decision.peer.clone(), now: grant.acts_as.clone() })
}

/// Rights to an object under all of its names.
fn rights(grant: &SessionGrant, acl: &Acl, paths: &[ObjectPath]) -> Operations {
    let each = paths.iter().map(|path| grant.rights(acl, path));
    each.reduce(Operations::and).unwrap_or_default()
}
