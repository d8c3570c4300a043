//! Rights of a verified principal to an object: the access list's answer, limited by the scope of each link.
//!
//! Measured side, pure, hot: called for each object without a cached verdict.

use crate::acl::{Acl, names};
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
    scopes: Vec<DelegationScope>,
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
        let link = |Shown { content: link, .. }: Shown<Transfer>| Link {
            giver: link.giver,
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
    pub fn rights(&self, acl: &Acl, path: &[impl AsRef<[u8]>]) -> Operations {
        let listed = acl.decide(&self.who, path).operations;
        self.links.iter().fold(listed, |all, link| all.and(left(&link.scopes, path)))
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
        let narrow = |(_, link): &(usize, &Link)| !left(&link.scopes, path).has(operation);
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
pub type RightsCache = Verdicts<(u32, u64), Operations>;
