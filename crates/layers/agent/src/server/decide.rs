//! Decisions of an agent: leafs, statuses, revocations.
//!
//! Measured side, agent process, fed by strangers. Owns the decisions and no sockets: the caller passes the asker's
//! key, which TLS has proven, and the time as seconds since 1970.

use super::book::{Book, By, Endorsed};
use super::checkpoints::Checkpoints;
use super::groups::Groups;
use crate::message::{AgentReply, AgentRequest, MOST_BYTES, RevocationTarget};
use crate::refusal::No;
use crate::roll::Roll;
use bakeoff_layers_base::locks::{lock, read, write};
use bakeoff_layers_credentials::bundle::DomainBundle;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::{Hash, PublicKey, SecretKey, hash};
use bakeoff_layers_credentials::leaf::{NewLeaf, make};
use bakeoff_layers_credentials::name::{Domain, PrincipalName};
use bakeoff_layers_credentials::statement::{IdentityContent, StatusContent, Transfer};
use bakeoff_layers_credentials::{CredentialRefusal, Item};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

/// Longest life of a leaf.
const MOST_LIFE_S: u64 = 24 * 60 * 60;
/// Life of a status: for so long a revoked transfer still works at servers that hear of no revocations.
const STATUS_LIFE_S: u64 = 60 * 60;
/// Allowance for a server's clock that is behind ours.
const SKEW_S: u64 = 30;

/// Items in a message: each takes some 40 bytes.
const PAGE: usize = MOST_BYTES / 40;

/// Keys of the domain: the agent's own, and those that certify names.
#[derive(Debug)]
struct DomainKeys {
    agent: SecretKey,
    ca: Vec<PublicKey>,
}

/// An agent.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) domain: Domain,
    keys: RwLock<Arc<DomainKeys>>,
    roll: Roll,
    groups: Mutex<Groups>,
    book: Mutex<Book>,
    checkpoints: Mutex<Checkpoints>,
    /// Signals a new revocation.
    changed: Condvar,
}

impl Agent {
    pub(super) fn new(
        bundle: DomainBundle,
        key: SecretKey,
        roll: Roll,
        groups: Groups,
        (book, checkpoints): (Book, Checkpoints),
    ) -> Self {
        let DomainBundle { domain, ca, .. } = bundle;
        Self {
            domain,
            keys: RwLock::new(Arc::new(DomainKeys { agent: key, ca })),
            roll,
            groups: Mutex::new(groups),
            book: Mutex::new(book),
            checkpoints: Mutex::new(checkpoints),
            changed: Condvar::new(),
        }
    }

    /// Replaces the keys, by those of a newer bundle.
    pub(super) fn rekey(&self, ca: Vec<PublicKey>, agent: SecretKey) {
        *write(&self.keys) = Arc::new(DomainKeys { agent, ca });
    }

    fn keys(&self) -> Arc<DomainKeys> {
        read(&self.keys).clone()
    }

    /// Replaces the groups.
    pub(super) fn regroup(&self, groups: Groups) {
        *lock(&self.groups) = groups;
    }

    /// Answers a client that has proven to have this key.
    pub(super) fn answer(
        &self,
        peer: PublicKey,
        question: &AgentRequest,
        now_unix_s: u64,
    ) -> Result<AgentReply, No> {
        match question {
            AgentRequest::Login { shown, seconds } => self.login(peer, shown, *seconds, now_unix_s),
            AgentRequest::Endorse(shown) => self.endorse(shown, now_unix_s),
            AgentRequest::Revoke { shown, what } => self.revoke(peer, shown, what, now_unix_s),
            // What there is, and all news, follow from `told`.
            AgentRequest::Subscribe => Ok(AgentReply::Alive(self.book().epoch(), now_unix_s)),
            AgentRequest::Keep { shown, note } => self.keep(peer, shown, note, now_unix_s),
            AgentRequest::Kept(name) => lock(&self.checkpoints).kept(name).map(AgentReply::Kept),
        }
    }

    /// Number of revocations ever made, and the pages that tell servers of those that matter now.
    pub(super) fn told(&self, now_unix_s: u64) -> (u64, Vec<AgentReply>) {
        let (epoch, items) = {
            let book = self.book();
            (book.epoch(), book.told(now_unix_s))
        };
        let page = |items: &[Item], last| AgentReply::Epoch { epoch, items: items.to_vec(), last };
        let mut pages: Vec<AgentReply> = items.chunks(PAGE).map(|items| page(items, false)).collect();
        match pages.last_mut() {
            Some(AgentReply::Epoch { last, .. }) => *last = true,
            _ => pages.push(page(&[], true)),
        }
        (epoch, pages)
    }

    /// Number of revocations ever made, and of those still in force.
    pub(super) fn size(&self) -> (u64, usize) {
        let book = self.book();
        (book.epoch(), book.count())
    }

    /// Waits until there are more revocations than `epoch`, or for `most`; returns their number.
    pub(super) fn wait(&self, epoch: u64, most: Duration) -> u64 {
        let waited = self.changed.wait_timeout_while(self.book(), most, |book| book.epoch() == epoch);
        waited.unwrap_or_else(PoisonError::into_inner).0.epoch()
    }

    fn login(&self, peer: PublicKey, shown: &Hello, seconds: u64, now_unix_s: u64) -> Result<AgentReply, No> {
        if !(1..=MOST_LIFE_S).contains(&seconds) {
            return Err(No::TooLong);
        }
        let (name, statement) = shown.identities.last().ok_or(No::Malformed)?;
        let asker = self.asker(peer, shown, now_unix_s)?;
        let identity = &asker.identity;
        let until_unix_s = asker.until_unix_s.min(now_unix_s.saturating_add(seconds));
        let from = now_unix_s.saturating_sub(SKEW_S).max(until_unix_s.saturating_sub(MOST_LIFE_S));
        // Both the CA and the agent must say so.
        let groups = lock(&self.groups).clone();
        let both = groups.of(name).iter().filter(|group| identity.groups.contains(group));
        let groups: Vec<PrincipalName> = both.cloned().collect();
        let order = NewLeaf {
            identity,
            statement,
            groups: &groups,
            from_unix_s: from.max(identity.from_unix_s),
            until_unix_s,
        };
        let leaf = make(&order, &self.domain, &self.keys().agent)?;
        let key = (peer.thumbprint(), asker.by);
        self.book().see(name, key, identity.until_unix_s, now_unix_s)?;
        Ok(AgentReply::Leaf(leaf))
    }

    fn keep(&self, peer: PublicKey, shown: &Hello, note: &str, now_unix_s: u64) -> Result<AgentReply, No> {
        let server = self.asker(peer, shown, now_unix_s)?.identity;
        lock(&self.checkpoints).keep(&server.name, peer, note)?;
        Ok(AgentReply::Kept(note.to_owned()))
    }

    /// The asker, by the last of the identities shown, which must be this domain's and over the asker's key.
    fn asker(&self, peer: PublicKey, shown: &Hello, now_unix_s: u64) -> Result<Enrolled, No> {
        let (name, _) = shown.identities.last().ok_or(No::Malformed)?;
        if *name.domain() != self.domain {
            return Err(CredentialRefusal::NotItsDomain(format!("the identity of {name}")).into());
        }
        let asker = self.enrolled(shown, now_unix_s)?.pop();
        let asker = asker.filter(|asker| asker.identity.key == peer);
        asker.ok_or_else(|| CredentialRefusal::WrongHolder(format!("the identity of {name}")).into())
    }

    /// The identities of this domain among those shown, in their order; each is valid, not revoked, and on the roll.
    fn enrolled(&self, shown: &Hello, now_unix_s: u64) -> Result<Vec<Enrolled>, No> {
        let (keys, mut opened) = (self.keys(), Vec::<Enrolled>::new());
        for (name, statement) in shown.identities.iter().filter(|(name, _)| *name.domain() == self.domain) {
            let of = || format!("the identity of {name}");
            // A role depends on its owner, who was checked before it.
            let owner = name.owner().map(|owner| find(&opened, &owner));
            let identity = match owner {
                None => IdentityContent::open(statement, name, &keys.ca)?,
                Some(owner) => {
                    let key = owner.map(|owner| owner.identity.key);
                    IdentityContent::open(statement, name, key.as_slice())?
                }
            };
            if now_unix_s < identity.from_unix_s {
                return Err(CredentialRefusal::NotYetValid(of()).into());
            }
            if now_unix_s >= identity.until_unix_s {
                return Err(CredentialRefusal::Expired(of()).into());
            }
            if owner.is_none() && !self.roll.has(name, identity.key) {
                return Err(No::NotEnrolled(name.clone()));
            }
            let statement = hash(statement);
            self.stands(Item::Identity(statement), identity.key.thumbprint(), of)?;
            let (by, until_unix_s) = match owner.flatten() {
                None => (By::Enrolled(identity.key.thumbprint()), identity.until_unix_s),
                Some(owner) => (owner.by, owner.until_unix_s.min(identity.until_unix_s)),
            };
            opened.push(Enrolled { identity, statement, by, until_unix_s });
        }
        Ok(opened)
    }

    fn endorse(&self, shown: &Hello, now_unix_s: u64) -> Result<AgentReply, No> {
        let givers = self.enrolled(shown, now_unix_s)?;
        let mut good: Vec<(Hash, Endorsed)> = Vec::new();
        let mut before: Option<Hash> = None;
        for (name, statement) in &shown.chain {
            let link = hash(statement);
            // Another domain endorses its own links.
            if *name.domain() == self.domain {
                let of = || format!("the transfer of {name}");
                // Nothing that stands before a link says whose key signs it: a stranger could have written that.
                let giver = find(&givers, name).ok_or_else(|| CredentialRefusal::Spliced(of()))?;
                let given = Transfer::open(statement, name, giver.identity.key)?;
                if given.parent != before {
                    return Err(CredentialRefusal::Spliced(of()).into());
                }
                let until_unix_s = given.wish.until_unix_s;
                if now_unix_s >= until_unix_s {
                    return Err(CredentialRefusal::Expired(of()).into());
                }
                self.stands(Item::Transfer(link), given.giver_key, of)?;
                good.push((link, Endorsed { giver: name.clone(), by: giver.by, until_unix_s }));
            }
            before = Some(link);
        }
        if good.is_empty() {
            return Err(No::NoLink);
        }
        let mut book = self.book();
        for (link, endorsed) in &good {
            book.endorse(link, endorsed, now_unix_s)?;
        }
        let status = StatusContent {
            domain: self.domain.clone(),
            made_unix_s: now_unix_s,
            until_unix_s: now_unix_s.saturating_add(STATUS_LIFE_S),
            good: good.into_iter().map(|(link, _)| link).collect(),
            epoch: book.epoch(),
        };
        Ok(AgentReply::Status(status.seal(&self.keys().agent)?))
    }

    /// Refuses a revoked statement or key.
    fn stands(&self, statement: Item, key: Hash, of: impl Fn() -> String) -> Result<(), No> {
        let book = self.book();
        match book.is_revoked(&statement) || book.is_revoked(&Item::Key(key)) {
            true => Err(CredentialRefusal::Revoked(of()).into()),
            false => Ok(()),
        }
    }

    fn revoke(
        &self,
        peer: PublicKey,
        shown: &Hello,
        what: &RevocationTarget,
        now_unix_s: u64,
    ) -> Result<AgentReply, No> {
        // The holder of the agent's key may do everything that the agent may.
        let asker = match peer == self.keys().agent.public() {
            true => None,
            false => Some(self.asker(peer, shown, now_unix_s)?),
        };
        let mut book = self.book();
        let items = self.items(what, asker.as_ref(), &book)?;
        let epoch = book.revoke(&items, asker.map_or(By::Administrator, |asker| asker.by), now_unix_s)?;
        self.changed.notify_all();
        Ok(AgentReply::Done(epoch))
    }

    /// Items to revoke, each with its end, if they are the asker's; no asker is the administrator.
    fn items(
        &self,
        what: &RevocationTarget,
        asker: Option<&Enrolled>,
        book: &Book,
    ) -> Result<Vec<(Item, Option<u64>)>, No> {
        let answers_for = |giver: &PrincipalName| asker.is_some_and(|asker| asker.answers_for(giver));
        let (items, is_own) = match what {
            RevocationTarget::Item(item @ Item::Transfer(transfer)) => {
                let known = book.endorsed(transfer);
                let until = known.map(|known| known.until_unix_s);
                (vec![(*item, until)], known.is_some_and(|known| answers_for(&known.giver)))
            }
            RevocationTarget::Item(item @ Item::Identity(statement)) => {
                let own = asker.filter(|asker| asker.statement == *statement);
                (vec![(*item, own.map(|own| own.identity.until_unix_s))], own.is_some())
            }
            RevocationTarget::Item(item @ Item::Key(key)) => {
                let is_own = asker.is_some_and(|asker| asker.identity.key.thumbprint() == *key);
                (vec![(*item, None)], is_own)
            }
            // Whoever signed it: what is revoked is these bytes, in the asker's own name.
            RevocationTarget::Transfer(bytes) => {
                let said = Transfer::peek(bytes)?;
                if *said.giver.domain() != self.domain {
                    let of = format!("the transfer of {}", said.giver);
                    return Err(CredentialRefusal::NotItsDomain(of).into());
                }
                let item = Item::Transfer(hash(bytes));
                (vec![(item, Some(said.wish.until_unix_s))], answers_for(&said.giver))
            }
            RevocationTarget::Name(name) => {
                let keys: Vec<_> = book.keys(name).map(|key| (Item::Key(key), None)).collect();
                if keys.is_empty() {
                    return Err(No::NeverSeen);
                }
                (keys, answers_for(name))
            }
        };
        if is_own || asker.is_none() { Ok(items) } else { Err(No::NotYours) }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        lock(&self.book)
    }
}

/// A name that is on the roll, or a role whose owner is, as shown by a valid identity.
struct Enrolled {
    identity: IdentityContent,
    /// Hash of the identity's bytes.
    statement: Hash,
    /// The key on the roll, which entries in the book are charged to.
    by: By,
    /// End of its identity, and of its owner's.
    until_unix_s: u64,
}

impl Enrolled {
    /// Whether it may take back what this name gave: its own, or its role's.
    fn answers_for(&self, giver: &PrincipalName) -> bool {
        let name = &self.identity.name;
        giver == name || giver.owner().is_some_and(|owner| owner == *name)
    }
}

fn find<'a>(all: &'a [Enrolled], name: &PrincipalName) -> Option<&'a Enrolled> {
    all.iter().find(|one| one.identity.name == *name)
}

#[cfg(test)]
#[path = "model.rs"]
mod model;
#[cfg(test)]
#[path = "tests.rs"]
mod tests;
