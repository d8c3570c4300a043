//! Decisions of an agent: leafs, statuses, revocations.
//!
//! Measured side, agent process, fed by strangers. Owns the decisions and no sockets: the caller passes the asker's
//! key, which TLS has proven, and the time as seconds since 1970.

use super::book::Book;
use super::checkpoints::Checkpoints;
use super::groups::Groups;
use crate::message::{AgentReply, AgentRequest, RevocationTarget};
use crate::refusal::No;
use crate::roll::Roll;
use bakeoff_layers_base::locks::lock;
use bakeoff_layers_credentials::bundle::DomainBundle;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::{Hash, PublicKey, SecretKey, Serial, hash};
use bakeoff_layers_credentials::leaf::{NewLeaf, make};
use bakeoff_layers_credentials::name::{Domain, PrincipalName};
use bakeoff_layers_credentials::statement::{IdentityContent, StatusContent, Transfer};
use bakeoff_layers_credentials::{CredentialRefusal, Item};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Longest life of a leaf.
const MOST_LIFE_S: u64 = 24 * 60 * 60;
/// Life of a status: for so long a revoked transfer still works at servers that hear of no revocations.
const STATUS_LIFE_S: u64 = 60 * 60;
/// Allowance for a server's clock that is behind ours.
const SKEW_S: u64 = 30;

/// An agent.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) domain: Domain,
    pub(super) key: SecretKey,
    ca: Vec<PublicKey>,
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
            key,
            ca,
            roll,
            groups: Mutex::new(groups),
            book: Mutex::new(book),
            checkpoints: Mutex::new(checkpoints),
            changed: Condvar::new(),
        }
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
            AgentRequest::Revoke(what) => self.revoke(peer, what),
            AgentRequest::Subscribe => Ok(self.epoch()),
            AgentRequest::Keep { shown, note } => self.keep(peer, shown, note, now_unix_s),
            AgentRequest::Kept(name) => lock(&self.checkpoints).kept(name).map(AgentReply::Kept),
        }
    }

    /// All revoked items.
    pub(super) fn epoch(&self) -> AgentReply {
        let book = self.book();
        AgentReply::Epoch(book.epoch(), book.revoked())
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
        let identities = self.of_peer(peer, shown, now_unix_s)?;
        let identity = identities.last().ok_or(No::Malformed)?;
        let ends = identities.iter().map(|identity| identity.until_unix_s);
        let until_unix_s = ends.fold(now_unix_s.saturating_add(seconds), u64::min);
        let from = now_unix_s.saturating_sub(SKEW_S).max(until_unix_s.saturating_sub(MOST_LIFE_S));
        let groups = lock(&self.groups).clone();
        let order = NewLeaf {
            identity,
            statement,
            groups: groups.of(name),
            from_unix_s: from.max(identity.from_unix_s),
            until_unix_s,
        };
        let leaf = make(&order, &self.domain, &self.key)?;
        self.book().see(name, peer.thumbprint(), identity.until_unix_s)?;
        Ok(AgentReply::Leaf(leaf))
    }

    fn keep(&self, peer: PublicKey, shown: &Hello, note: &str, now_unix_s: u64) -> Result<AgentReply, No> {
        let identities = self.of_peer(peer, shown, now_unix_s)?;
        let server = identities.last().ok_or(No::Malformed)?;
        lock(&self.checkpoints).keep(&server.name, peer, note)?;
        Ok(AgentReply::Kept(note.to_owned()))
    }

    /// The identities of this domain, of which the last is the asker's.
    fn of_peer(&self, peer: PublicKey, shown: &Hello, now_unix_s: u64) -> Result<Vec<IdentityContent>, No> {
        let (name, _) = shown.identities.last().ok_or(No::Malformed)?;
        if *name.domain() != self.domain {
            return Err(CredentialRefusal::NotItsDomain(format!("the identity of {name}")).into());
        }
        let identities = self.identities(shown, now_unix_s)?;
        match identities.last().is_some_and(|identity| identity.key == peer) {
            true => Ok(identities),
            false => Err(CredentialRefusal::WrongHolder(format!("the identity of {name}")).into()),
        }
    }

    /// The identities of this domain among those shown, in their order; each is valid and not revoked.
    fn identities(&self, shown: &Hello, now_unix_s: u64) -> Result<Vec<IdentityContent>, No> {
        let mut opened: Vec<IdentityContent> = Vec::new();
        for (name, statement) in shown.identities.iter().filter(|(name, _)| *name.domain() == self.domain) {
            let of = || format!("the identity of {name}");
            let owner = name.owner();
            let keys = match &owner {
                None => self.ca.clone(),
                Some(owner) => key_of(&opened, owner).into_iter().collect(),
            };
            let identity = IdentityContent::open(statement, name, &keys)?;
            if now_unix_s < identity.from_unix_s {
                return Err(CredentialRefusal::NotYetValid(of()).into());
            }
            if now_unix_s >= identity.until_unix_s {
                return Err(CredentialRefusal::Expired(of()).into());
            }
            // A role depends on its owner, who was checked before it.
            if owner.is_none() && !self.roll.has(name, identity.key) {
                return Err(No::NotEnrolled(name.clone()));
            }
            self.stands(identity.serial, identity.key.thumbprint(), of)?;
            opened.push(identity);
        }
        Ok(opened)
    }

    fn endorse(&self, shown: &Hello, now_unix_s: u64) -> Result<AgentReply, No> {
        let identities = self.identities(shown, now_unix_s)?;
        let mut good: Vec<Transfer> = Vec::new();
        let mut before: Option<(Transfer, Hash)> = None;
        for (giver, statement) in &shown.chain {
            let of = || format!("the transfer of {giver}");
            let link = if *giver.domain() == self.domain {
                let key =
                    before.as_ref().map(|(before, _)| before.wish.key).or_else(|| key_of(&identities, giver));
                let link =
                    Transfer::open(statement, giver, key.ok_or_else(|| CredentialRefusal::Spliced(of()))?)?;
                if link.parent != before.map(|(_, hash)| hash) {
                    return Err(CredentialRefusal::Spliced(of()).into());
                }
                if now_unix_s >= link.wish.until_unix_s {
                    return Err(CredentialRefusal::Expired(of()).into());
                }
                self.stands(link.serial, link.giver_key, of)?;
                good.push(link.clone());
                link
            } else {
                // Another domain endorses its own links; this one only says which key signs the next.
                Transfer::peek(statement)?
            };
            before = Some((link, hash(statement)));
        }
        if good.is_empty() {
            return Err(No::NoLink);
        }
        let mut book = self.book();
        for link in &good {
            book.endorse(link.serial, link.giver_key, link.wish.until_unix_s)?;
        }
        let status = StatusContent {
            domain: self.domain.clone(),
            made_unix_s: now_unix_s,
            until_unix_s: now_unix_s.saturating_add(STATUS_LIFE_S),
            good: good.iter().map(|link| link.serial).collect(),
            epoch: book.epoch(),
        };
        Ok(AgentReply::Status(status.seal(&self.key)?))
    }

    /// Refuses a revoked statement or key.
    fn stands(&self, serial: Serial, key: Hash, of: impl Fn() -> String) -> Result<(), No> {
        let book = self.book();
        match book.is_revoked(&Item::Serial(serial)) || book.is_revoked(&Item::Key(key)) {
            true => Err(CredentialRefusal::Revoked(of()).into()),
            false => Ok(()),
        }
    }

    fn revoke(&self, peer: PublicKey, what: &RevocationTarget) -> Result<AgentReply, No> {
        let mut book = self.book();
        let own = peer.thumbprint();
        // The holder of the agent's key may do everything that the agent may.
        let may = |giver: Option<Hash>| peer == self.key.public() || giver == Some(own);
        let (may, items) = match what {
            RevocationTarget::Item(item @ Item::Serial(serial)) => {
                let known = book.giver(*serial);
                (may(known.map(|(key, _)| key)), vec![(*item, known.map(|(_, until)| until))])
            }
            RevocationTarget::Item(item @ Item::Key(key)) => (may(Some(*key)), vec![(*item, None)]),
            RevocationTarget::Transfer(bytes) => {
                let said = Transfer::peek(bytes)?;
                if *said.giver.domain() != self.domain {
                    return Err(
                        CredentialRefusal::NotItsDomain(format!("the transfer of {}", said.giver)).into()
                    );
                }
                let given = Transfer::open(bytes, &said.giver, peer).is_ok();
                let item = (Item::Serial(said.serial), Some(said.wish.until_unix_s));
                (may(given.then_some(own)), vec![item])
            }
            RevocationTarget::Name(name) => {
                let keys: Vec<Hash> = book.keys(name).collect();
                if keys.is_empty() {
                    return Err(No::NeverSeen);
                }
                (
                    may(keys.contains(&own).then_some(own)),
                    keys.into_iter().map(|key| (Item::Key(key), None)).collect(),
                )
            }
        };
        if !may {
            return Err(No::NotYours);
        }
        let epoch = book.revoke(&items)?;
        self.changed.notify_all();
        Ok(AgentReply::Done(epoch))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        lock(&self.book)
    }
}

fn key_of(identities: &[IdentityContent], name: &PrincipalName) -> Option<PublicKey> {
    identities.iter().find(|identity| identity.name == *name).map(|identity| identity.key)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
