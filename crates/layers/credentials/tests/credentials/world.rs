//! Test world: two domains, each with its CA and agent, people, a role and a server. `examples/costs.rs` uses it,
//! too.

use bakeoff_layers_credentials::bundle::{Bundles, DomainBundle, Draft};
use bakeoff_layers_credentials::grant::SessionGrant;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::{Hash, SecretKey, Serial, hash};
use bakeoff_layers_credentials::leaf::{self, NewLeaf};
use bakeoff_layers_credentials::name::{Domain, PrincipalName};
use bakeoff_layers_credentials::operation::Operations;
use bakeoff_layers_credentials::path::PathPrefix;
use bakeoff_layers_credentials::statement::{
    Audience, DelegationScope, IdentityContent, StatusContent, Transfer, TransferRequest,
};
use bakeoff_layers_credentials::{CredentialRefusal, Revoked, verify};

/// 2026-09-21 14:13:20 UTC.
pub(crate) const NOW: u64 = 1_790_000_000;
pub(crate) const MINUTE: u64 = 60;
pub(crate) const DAY: u64 = 24 * 60 * 60;

pub(crate) fn key() -> SecretKey {
    SecretKey::generate().unwrap()
}

pub(crate) fn scope(path: &str, operations: &str) -> DelegationScope {
    let (path, operations) = (PathPrefix::parse(path).unwrap(), Operations::of_words(operations).unwrap());
    DelegationScope { path, operations }
}

/// A domain.
pub(crate) struct House {
    pub(crate) domain: Domain,
    pub(crate) ca: SecretKey,
    pub(crate) agent: SecretKey,
    pub(crate) root: Vec<u8>,
}

impl House {
    pub(crate) fn new(domain: &str) -> Self {
        let (domain, ca, agent): (Domain, _, _) = (domain.parse().unwrap(), key(), key());
        let root = leaf::make_root(&domain, &agent, NOW - DAY, NOW + 365 * DAY).unwrap();
        Self { domain, ca, agent, root }
    }

    /// A person certified by its CA.
    pub(crate) fn person(&self, name: &str) -> Person {
        Person::new(name, &self.ca)
    }

    /// A leaf valid for a quarter of an hour, since a minute ago; its groups are in its identity, too.
    pub(crate) fn leaf(&self, person: &Person, groups: &[&str]) -> Vec<u8> {
        if groups.is_empty() {
            return self.leaf_over(person, &person.statement, groups);
        }
        let groups_too = groups.iter().map(|group| group.parse().unwrap()).collect();
        let identity = IdentityContent { groups: groups_too, ..person.identity.clone() };
        self.leaf_over(person, &identity.seal(&self.ca).unwrap(), groups)
    }

    /// The same over a person's key, with any bytes for an identity.
    pub(crate) fn leaf_over(&self, person: &Person, statement: &[u8], groups: &[&str]) -> Vec<u8> {
        let groups: Vec<PrincipalName> = groups.iter().map(|group| group.parse().unwrap()).collect();
        let (from_unix_s, until_unix_s) = (NOW - MINUTE, NOW + 15 * MINUTE);
        let order =
            NewLeaf { identity: &person.identity, statement, groups: &groups, from_unix_s, until_unix_s };
        leaf::make(&order, &self.domain, &self.agent).unwrap()
    }

    /// Its agent's status of transfers, for half an hour.
    pub(crate) fn status(&self, good: &[Hash], change: impl FnOnce(&mut StatusContent)) -> (Domain, Vec<u8>) {
        let mut status = StatusContent {
            domain: self.domain.clone(),
            made_unix_s: NOW,
            until_unix_s: NOW + 30 * MINUTE,
            good: good.to_vec(),
            epoch: 7,
        };
        change(&mut status);
        (self.domain.clone(), status.seal(&self.agent).unwrap())
    }

    pub(crate) fn bundle_text(&self, version: u64) -> String {
        let (ca, roots) = ([self.ca.public()], [self.root.clone()]);
        let addresses = ["agent.home.example:7440".to_owned()];
        let draft = Draft {
            domain: &self.domain,
            version,
            not_after_unix_s: NOW + 30 * DAY,
            ca: &ca,
            roots: &roots,
            addresses: &addresses,
        };
        draft.text().unwrap()
    }

    pub(crate) fn bundle(&self) -> DomainBundle {
        DomainBundle::read_unverified(self.bundle_text(1).as_bytes()).unwrap()
    }
}

/// A person with a key and an identity for two months.
pub(crate) struct Person {
    pub(crate) name: PrincipalName,
    pub(crate) key: SecretKey,
    pub(crate) identity: IdentityContent,
    pub(crate) statement: Vec<u8>,
}

impl Person {
    /// A role is certified by its owner's key, everybody else by a CA's.
    pub(crate) fn new(name: &str, certifier: &SecretKey) -> Self {
        let (name, key): (PrincipalName, _) = (name.parse().unwrap(), key());
        let identity = IdentityContent {
            name: name.clone(),
            key: key.public(),
            groups: Vec::new(),
            serial: Serial::random().unwrap(),
            from_unix_s: NOW - DAY,
            until_unix_s: NOW + 60 * DAY,
        };
        let statement = identity.seal(certifier).unwrap();
        Self { name, key, identity, statement }
    }

    pub(crate) fn shown(&self) -> (PrincipalName, Vec<u8>) {
        (self.name.clone(), self.statement.clone())
    }

    /// Hands on to somebody: /p for an hour unless changed, or everything that is held.
    pub(crate) fn gives(
        &self,
        to: &Person,
        held: Option<&Link>,
        change: impl FnOnce(&mut TransferRequest),
    ) -> Link {
        let mut wish = TransferRequest {
            receiver: Some(to.name.clone()),
            key: to.key.public(),
            audience: vec![Audience::parse("*.home.example").unwrap()],
            grants: vec![scope("/p", "read,list,write")],
            from_unix_s: NOW - MINUTE,
            until_unix_s: NOW + 60 * MINUTE,
            hops: 8,
        };
        if let Some(held) = held {
            (wish.grants, wish.hops) = (held.wish.grants.clone(), held.wish.hops - 1);
        }
        change(&mut wish);
        let serial = Serial::random().unwrap();
        let held = held.map(|held| held.statement.as_slice());
        let statement = Transfer::give(&wish, &self.name, &self.key, held, serial).unwrap();
        Link { giver: self.name.clone(), wish, serial, hash: hash(&statement), statement }
    }
}

/// A transfer, and its giver's wish.
pub(crate) struct Link {
    pub(crate) giver: PrincipalName,
    pub(crate) wish: TransferRequest,
    pub(crate) serial: Serial,
    pub(crate) hash: Hash,
    pub(crate) statement: Vec<u8>,
}

impl Link {
    pub(crate) fn shown(&self) -> (PrincipalName, Vec<u8>) {
        (self.giver.clone(), self.statement.clone())
    }
}

pub(crate) struct World {
    pub(crate) home: House,
    pub(crate) partner: House,
    pub(crate) alice: Person,
    pub(crate) bob: Person,
    /// A role of alice.
    pub(crate) editor: Person,
    /// A person of the partner domain, like mallory.
    pub(crate) carol: Person,
    pub(crate) mallory: Person,
    /// A server at home.
    pub(crate) files: Person,
}

impl World {
    pub(crate) fn new() -> Self {
        let (home, partner) = (House::new("home.example"), House::new("partner.example"));
        let alice = home.person("user:alice@home.example");
        Self {
            bob: home.person("user:bob@home.example"),
            editor: Person::new("role:editor.alice@home.example", &alice.key),
            carol: partner.person("user:carol@partner.example"),
            mallory: partner.person("user:mallory@partner.example"),
            files: home.person("node:files@home.example"),
            alice,
            home,
            partner,
        }
    }

    /// A member of a domain shows a leaf and a chain, which alice began and her agent endorsed.
    pub(crate) fn shows(&self, house: &House, holder: &Person, links: &[&Link]) -> Shown {
        let given: Vec<Hash> = links.iter().map(|link| link.hash).collect();
        let endorsed = (!given.is_empty()).then(|| self.home.status(&given, |_| {}));
        Shown {
            leaf: house.leaf(holder, &[]),
            hello: Hello {
                identities: vec![self.alice.shown()],
                chain: links.iter().map(|link| link.shown()).collect(),
                statuses: endorsed.into_iter().collect(),
            },
            bundles: [self.home.bundle(), self.partner.bundle()].into_iter().collect(),
            revoked: Revoked::default(),
            server: self.files.name.clone(),
            now_unix_s: NOW,
            given,
        }
    }

    /// Alice hands on to bob, he to carol, who shows it. Nothing is wrong with it.
    pub(crate) fn handed(&self) -> Shown {
        let first = self.alice.gives(&self.bob, None, |_| {});
        let second = self.bob.gives(&self.carol, Some(&first), |_| {});
        self.shows(&self.partner, &self.carol, &[&first, &second])
    }

    /// Alice hands on through so many links. The last receiver shows it.
    pub(crate) fn handed_through(&self, links: usize) -> Shown {
        let people: Vec<Person> =
            (0..links).map(|number| self.home.person(&format!("user:u{number}@home.example"))).collect();
        let mut chain: Vec<Link> = Vec::new();
        let mut giver = &self.alice;
        for person in &people {
            chain.push(giver.gives(person, chain.last(), |_| {}));
            giver = person;
        }
        self.shows(&self.home, giver, &chain.iter().collect::<Vec<_>>())
    }
}

/// Everything that a server is shown and knows.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) leaf: Vec<u8>,
    pub(crate) hello: Hello,
    pub(crate) bundles: Bundles,
    pub(crate) revoked: Revoked,
    pub(crate) server: PrincipalName,
    pub(crate) now_unix_s: u64,
    /// Hashes of the links, in their order.
    pub(crate) given: Vec<Hash>,
}

impl Shown {
    pub(crate) fn verify(&self) -> Result<SessionGrant, CredentialRefusal> {
        verify(&self.leaf, &self.hello, &self.bundles, &self.revoked, &self.server, self.now_unix_s)
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}
