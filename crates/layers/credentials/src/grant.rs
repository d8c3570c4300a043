//! What a verified principal may do to an object: the access list's answer, and each link's scope of it.
//!
//! Measured side, pure, hot: asked for an operation on an object that no verdict is kept about.

use crate::acl::{Acl, names};
use crate::key::Serial;
use crate::name::{Domain, Name};
use crate::operation::{Operation, Operations};
use crate::statement::{Scope, Transfer, left};
use crate::verify::Item;
use bakeoff_layers_base::verdict::Verdicts;

/// Whom somebody acts for, as whom, and within which scopes.
#[derive(Clone, Debug)]
pub struct Grant {
    /// Whose rights these are: the first giver, or the peer itself.
    pub subject: Name,
    /// Who uses them: the peer of TLS.
    pub acts_as: Name,
    /// Groups that the peer is in, by its agent's word. No giver's: what somebody has through a group he cannot hand on.
    pub groups: Vec<Name>,
    /// When it ends, in seconds since 1970: with the first of all that it stands on.
    pub expires_unix_s: u64,
    /// What it falls with when its domain takes it back.
    pub stands_on: Vec<(Domain, Item)>,
    /// Of each link, who gave it, and what.
    links: Vec<Link>,
    /// By which names access lists know it.
    who: Vec<String>,
}

/// A link of its chain.
#[derive(Clone, Debug)]
struct Link {
    giver: Name,
    serial: Serial,
    until_unix_s: u64,
    scopes: Vec<Scope>,
}

/// How much may be written by a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Which link.
    pub serial: Serial,
    /// How much, in bytes.
    pub most_bytes: u64,
    /// When the link ends, in seconds since 1970.
    pub until_unix_s: u64,
}

/// What may be done to an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// What.
    pub operations: Operations,
    /// The most that may be written under this grant, in bytes; no limit when `None`.
    pub most_bytes: Option<u64>,
}

/// Whether something may be done, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Because {
    /// Whether it may.
    pub granted: bool,
    /// The sentence, without a full stop.
    pub reason: String,
}

impl Grant {
    pub(crate) fn new(
        acts_as: Name,
        groups: Vec<Name>,
        links: Vec<Transfer>,
        expires_unix_s: u64,
        stands_on: Vec<(Domain, Item)>,
    ) -> Self {
        let subject = links.first().map_or_else(|| acts_as.clone(), |first| first.giver.clone());
        let who = names(&subject, &groups);
        let link = |link: Transfer| Link {
            giver: link.giver,
            serial: link.serial,
            until_unix_s: link.wish.until_unix_s,
            scopes: link.wish.grants,
        };
        let links = links.into_iter().map(link).collect();
        Self { subject, acts_as, groups, expires_unix_s, stands_on, links, who }
    }

    /// What may be done to the object at a path.
    pub fn rights(&self, acl: &Acl, path: &[impl AsRef<[u8]>]) -> Rights {
        let all = Rights { operations: acl.decide(&self.who, path).operations, most_bytes: None };
        self.links.iter().fold(all, |all, link| {
            let (operations, most_bytes) = left(&link.scopes, path);
            let least = [all.most_bytes, most_bytes].into_iter().flatten().min();
            Rights { operations: all.operations.and(operations), most_bytes: least }
        })
    }

    /// How much may be written at a path by each link that limits it.
    pub fn limits(&self, path: &[impl AsRef<[u8]>]) -> Vec<Limit> {
        let limit = |link: &Link| {
            let most_bytes = left(&link.scopes, path).1?;
            Some(Limit { serial: link.serial, most_bytes, until_unix_s: link.until_unix_s })
        };
        self.links.iter().filter_map(limit).collect()
    }

    /// Whether a path is on the way to something that it grants: a rule and each link name something there or below.
    pub fn leads(&self, acl: &Acl, path: &[impl AsRef<[u8]>]) -> bool {
        let goes = |scope: &Scope| {
            let mut names = scope.path.names().iter().zip(path);
            names.all(|(own, name)| own.as_bytes() == name.as_ref())
        };
        let given = acl.leads(&self.who, path) || acl.decide(&self.who, path).operations != Operations::NONE;
        given && self.links.iter().all(|link| link.scopes.iter().any(goes))
    }

    /// The nearest line of the list that lets its subject do it, whatever the links say.
    pub fn line(&self, acl: &Acl, path: &[impl AsRef<[u8]>], operation: Operation) -> Option<usize> {
        acl.decide(&self.who, path).line(operation)
    }

    /// Whether one thing may be done to it, and which line or link decided.
    pub fn because(&self, acl: &Acl, path: &[impl AsRef<[u8]>], operation: Operation) -> Because {
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
            return Because { granted: false, reason };
        };
        let narrow = |(_, link): &(usize, &Link)| !left(&link.scopes, path).0.has(operation);
        if let Some((index, Link { giver, .. })) = self.links.iter().enumerate().find(narrow) {
            let reason = format!(
                "{file}:{line} lets {subject} {word} here, but link {} of the chain, which {giver} gave, does not; ask for one \
                 that does",
                index + 1
            );
            return Because { granted: false, reason };
        }
        let through = match self.links.len() {
            0 => String::new(),
            links => format!(", and {} acts so through {links} link(s), of which each does", self.acts_as),
        };
        Because { granted: true, reason: format!("{file}:{line} lets {subject} {word} here{through}") }
    }
}

/// Rights that were decided, by session and object.
pub type Kept = Verdicts<(u32, u64), Rights>;

/// What may be done to an object in a session, kept until the grant ends, or the object or the rules change. `decide`
/// must take the access list itself: what it found before would be kept beyond a change of rules that came between.
pub fn rights(
    kept: &Kept,
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
        let kept = Kept::new(100, 2);
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
