//! Rights of a verified principal to an object: the access list's answer, limited by the scope of each link.
//!
//! Measured side, pure, hot: called for each object without a cached verdict.

use crate::acl::{Acl, names};
use crate::key::Hash;
use crate::name::{Domain, PrincipalName};
use crate::operation::{Operation, Operations};
use crate::revoked::Item;
use crate::statement::{DelegationScope, Shown, Transfer, left};
use bakeoff_layers_base::verdict::Verdicts;

/// Verified grant of a session: whose rights, used by whom, and within which scopes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionGrant {
    /// Principal whose rights these are: the first giver, or the peer itself.
    pub subject: PrincipalName,
    /// Principal that uses them: the peer of TLS.
    pub acts_as: PrincipalName,
    /// Groups of the peer, by its agent's word. A giver's groups do not count: a right that comes from a group cannot
    /// be handed on.
    pub groups: Vec<PrincipalName>,
    /// End of the grant, in seconds since 1970: the earliest of everything that it stands on.
    pub expires_unix_s: u64,
    /// Items whose revocation by their domain ends the grant.
    pub stands_on: Vec<(Domain, Item)>,
    /// Giver and scopes of each link.
    links: Vec<Link>,
    /// Names by which access lists know it.
    who: Vec<String>,
}

/// A link of its transfer chain.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Link {
    giver: PrincipalName,
    hash: Hash,
    until_unix_s: u64,
    scopes: Vec<DelegationScope>,
}

/// Byte limit of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteLimit {
    /// SHA-256 of the link's transfer.
    pub transfer: Hash,
    /// The limit, in bytes.
    pub most_bytes: u64,
    /// End of the link, in seconds since 1970.
    pub until_unix_s: u64,
}

/// Rights to an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// The operations.
    pub operations: Operations,
    /// Limit on bytes written under this grant; `None` for no limit.
    pub most_bytes: Option<u64>,
}

/// Decision on an operation, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationDecision {
    /// Whether it is granted.
    pub granted: bool,
    /// The reason as a sentence, without a full stop.
    pub reason: String,
}

impl SessionGrant {
    pub(crate) fn new(
        acts_as: PrincipalName,
        groups: Vec<PrincipalName>,
        links: Vec<Shown<Transfer>>,
        expires_unix_s: u64,
        stands_on: Vec<(Domain, Item)>,
    ) -> Self {
        let subject = links.first().map_or_else(|| acts_as.clone(), |first| first.content.giver.clone());
        let who = names(&subject, &groups);
        let link = |Shown { content: link, hash }: Shown<Transfer>| Link {
            giver: link.giver,
            hash,
            until_unix_s: link.wish.until_unix_s,
            scopes: link.wish.grants,
        };
        let links = links.into_iter().map(link).collect();
        Self { subject, acts_as, groups, expires_unix_s, stands_on, links, who }
    }

    /// Whether another grant gives the same, until whenever.
    pub fn is_but_for_its_end(&self, other: &Self) -> bool {
        *self == Self { expires_unix_s: self.expires_unix_s, ..other.clone() }
    }

    /// Rights to the object at a path.
    pub fn rights(&self, acl: &Acl, path: &[impl AsRef<[u8]>]) -> Rights {
        let all = Rights { operations: acl.decide(&self.who, path).operations, most_bytes: None };
        self.links.iter().fold(all, |all, link| {
            let (operations, most_bytes) = left(&link.scopes, path);
            let least = [all.most_bytes, most_bytes].into_iter().flatten().min();
            Rights { operations: all.operations.and(operations), most_bytes: least }
        })
    }

    /// Byte limits of the links that have one, at a path.
    pub fn limits(&self, path: &[impl AsRef<[u8]>]) -> Vec<ByteLimit> {
        let limit = |link: &Link| {
            let most_bytes = left(&link.scopes, path).1?;
            Some(ByteLimit { transfer: link.hash, most_bytes, until_unix_s: link.until_unix_s })
        };
        self.links.iter().filter_map(limit).collect()
    }

    /// Whether a path is at or above something that is granted: a rule and each link name a path there or below.
    pub fn leads(&self, acl: &Acl, path: &[impl AsRef<[u8]>]) -> bool {
        let goes = |scope: &DelegationScope| {
            let mut names = scope.path.names().iter().zip(path);
            names.all(|(own, name)| own.as_bytes() == name.as_ref())
        };
        let given = acl.leads(&self.who, path) || acl.decide(&self.who, path).operations != Operations::NONE;
        given && self.links.iter().all(|link| link.scopes.iter().any(goes))
    }

    /// The nearest line of the list that grants this to its subject, regardless of the links.
    pub fn line(&self, acl: &Acl, path: &[impl AsRef<[u8]>], operation: Operation) -> Option<usize> {
        acl.decide(&self.who, path).line(operation)
    }

    /// Whether an operation is granted, and which line or link decided.
    pub fn because(&self, acl: &Acl, path: &[impl AsRef<[u8]>], operation: Operation) -> OperationDecision {
        let decision = acl.decide(&self.who, path);
        let (word, subject, file) = (operation.name(), &self.subject, acl.file());
        let Some(line) = decision.line(operation) else {
            let only =
                decision.only.map_or_else(String::new, |line| format!(", and above line {line} none counts"));
            let group = self.links.first().and_then(|_| acl.line_of_group(subject.domain(), path, operation));
            let group = group.map_or_else(String::new, |line| {
                format!(", and what somebody has through a group, as by line {line}, he cannot hand on")
            });
            let reason =
                format!("no rule of {file} lets {subject} {word} here{only}{group}; ask who keeps that list");
            return OperationDecision { granted: false, reason };
        };
        let narrow = |(_, link): &(usize, &Link)| !left(&link.scopes, path).0.has(operation);
        if let Some((index, Link { giver, .. })) = self.links.iter().enumerate().find(narrow) {
            let reason = format!(
                "{file}:{line} lets {subject} {word} here, but link {} of the chain, which {giver} gave, does not; ask for one \
                 that does",
                index + 1
            );
            return OperationDecision { granted: false, reason };
        }
        let through = match self.links.len() {
            0 => String::new(),
            links => format!(", and {} acts so through {links} link(s), of which each does", self.acts_as),
        };
        OperationDecision {
            granted: true,
            reason: format!("{file}:{line} lets {subject} {word} here{through}"),
        }
    }
}

/// Cached rights, by session and object.
pub type RightsCache = Verdicts<(u32, u64), Rights>;

/// Rights to an object in a session, cached until the grant ends, or the object or the rules change. `decide` must
/// take the access list itself: a list taken before could outlive a change of rules in between.
pub fn rights(
    kept: &RightsCache,
    (session, object): (u32, u64),
    expires_unix_s: u64,
    now_unix_s: u64,
    decide: impl FnOnce() -> Rights,
) -> Rights {
    if now_unix_s >= expires_unix_s {
        return Rights::default();
    }
    if let Some(rights) = kept.look_up(&(session, object), now_unix_s) {
        return rights;
    }
    let ticket = kept.ticket((session, object));
    let rights = decide();
    ticket.keep(rights, Some(expires_unix_s), || true);
    rights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_rights_end_with_the_grant_and_with_the_rules() {
        let kept = RightsCache::new(100, 2);
        let all = Rights { operations: Operations::ALL, most_bytes: None };
        assert_eq!(rights(&kept, (1, 7), 50, 40, || all), all);
        assert_eq!(rights(&kept, (1, 7), 50, 49, || panic!("decided again")), all);
        assert_eq!(rights(&kept, (2, 7), 50, 40, Rights::default), Rights::default(), "another session");
        assert_eq!(rights(&kept, (1, 7), 50, 50, || panic!("decided after the end")), Rights::default());
        let changed = rights(&kept, (1, 8), 50, 40, || {
            kept.new_epoch(|_| {});
            all
        });
        assert_eq!(changed, all);
        assert_eq!(
            rights(&kept, (1, 8), 50, 40, Rights::default),
            Rights::default(),
            "kept from the epoch before"
        );
    }
}
