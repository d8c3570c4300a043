//! Test world: a domain with some people, a server, and a log in memory as a server writes it.

use bakeoff_layers_credentials::acl::Acl;
use bakeoff_layers_credentials::audit::{
    AuditOutcome, CheckpointKeys, DENIED, DecisionSubject, Evidence, InForce, LogEnd, LoggedDecision,
    ObjectPath,
};
use bakeoff_layers_credentials::bundle::{Bundles, DomainBundle, Draft};
use bakeoff_layers_credentials::grant::SessionGrant;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::{Hash, SecretKey, Serial, hash};
use bakeoff_layers_credentials::leaf::{NewLeaf, make, make_root};
use bakeoff_layers_credentials::name::{Domain, PrincipalName};
use bakeoff_layers_credentials::operation::Operations;
use bakeoff_layers_credentials::path::PathPrefix;
use bakeoff_layers_credentials::statement::{
    Audience, DelegationScope, IdentityContent, StatusContent, Transfer, TransferRequest,
};
use bakeoff_layers_credentials::{Revoked, verify};
use std::collections::HashMap;
use std::sync::Arc;

/// Time of all events, in seconds since 1970.
pub(crate) const NOW: u64 = 1_800_000_000;

pub(crate) struct Person {
    pub(crate) name: PrincipalName,
    pub(crate) key: SecretKey,
    pub(crate) identity: IdentityContent,
    pub(crate) statement: Vec<u8>,
}

pub(crate) struct World {
    domain: Domain,
    agent: SecretKey,
    pub(crate) server: PrincipalName,
    pub(crate) server_key: SecretKey,
    pub(crate) bundles: Bundles,
    pub(crate) people: Vec<Person>,
}

/// A chain of transfers, each of which hands on these operations below this path.
pub(crate) struct Handed {
    pub(crate) through: Vec<usize>,
    pub(crate) path: &'static str,
    pub(crate) operations: Operations,
    pub(crate) endorsed: bool,
}

impl World {
    pub(crate) fn new() -> Self {
        let domain: Domain = "home.example".parse().unwrap();
        let (ca, agent) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
        let root = make_root(&domain, &agent, NOW - 1000, NOW + 1_000_000).unwrap();
        let draft = Draft {
            domain: &domain,
            version: 3,
            not_after_unix_s: NOW + 1_000_000,
            ca: &[ca.public()],
            roots: &[root],
            addresses: &["agent.home.example:7440".to_owned()],
        };
        let bundle = DomainBundle::read_unverified(draft.text().unwrap().as_bytes()).unwrap();
        let person = |name: &str| {
            let key = SecretKey::generate().unwrap();
            let identity = IdentityContent {
                name: format!("user:{name}@home.example").parse().unwrap(),
                key: key.public(),
                groups: vec!["group:staff@home.example".parse().unwrap()],
                serial: Serial::random().unwrap(),
                from_unix_s: NOW - 1000,
                until_unix_s: NOW + 500_000,
            };
            let statement = identity.seal(&ca).unwrap();
            Person { name: identity.name.clone(), key, identity, statement }
        };
        Self {
            agent,
            server: "node:files@home.example".parse().unwrap(),
            server_key: SecretKey::generate().unwrap(),
            bundles: [bundle].into_iter().collect(),
            people: ["alice", "bob", "carol", "dave"].map(person).into(),
            domain,
        }
    }

    pub(crate) fn keys(&self) -> CheckpointKeys {
        CheckpointKeys { server: self.server.clone(), keys: vec![self.server_key.public()] }
    }

    /// Leaf and HELLO of a person.
    pub(crate) fn shown(
        &self,
        who: usize,
        groups: &[PrincipalName],
        handed: Option<&Handed>,
    ) -> (Vec<u8>, Vec<u8>) {
        let person = &self.people[who];
        let order = NewLeaf {
            identity: &person.identity,
            statement: &person.statement,
            groups,
            from_unix_s: NOW - 100,
            until_unix_s: NOW + 900,
        };
        let leaf = make(&order, &self.domain, &self.agent).unwrap();
        let hello = handed.map_or_else(Hello::default, |handed| self.handed(who, handed));
        (leaf, hello.write())
    }

    fn handed(&self, last: usize, handed: &Handed) -> Hello {
        let mut hello = Hello::default();
        let mut good = Vec::new();
        let ways: Vec<usize> = handed.through.iter().copied().chain([last]).collect();
        let first = &self.people[ways[0]];
        hello.identities.push((first.name.clone(), first.statement.clone()));
        for (index, pair) in ways.windows(2).enumerate() {
            let (giver, receiver) = (&self.people[pair[0]], &self.people[pair[1]]);
            let wish = TransferRequest {
                receiver: Some(receiver.name.clone()),
                key: receiver.key.public(),
                audience: vec![Audience::Server(self.server.clone())],
                grants: vec![DelegationScope {
                    path: PathPrefix::parse(handed.path).unwrap(),
                    operations: handed.operations,
                }],
                from_unix_s: NOW - 50,
                until_unix_s: NOW + 600,
                hops: 7 - u8::try_from(index).unwrap(),
            };
            let serial = Serial::random().unwrap();
            let held = hello.chain.last().map(|(_, statement)| statement.clone());
            let link = Transfer::give(&wish, &giver.name, &giver.key, held.as_deref(), serial).unwrap();
            good.push(hash(&link));
            hello.chain.push((giver.name.clone(), link));
        }
        if handed.endorsed {
            let status = StatusContent {
                domain: self.domain.clone(),
                made_unix_s: NOW - 10,
                until_unix_s: NOW + 300,
                good,
                epoch: 1,
            };
            hello.statuses.push((self.domain.clone(), status.seal(&self.agent).unwrap()));
        }
        hello
    }
}

/// A log with its evidence, and the records by their frames.
pub(crate) struct Log {
    chain: LogEnd,
    head: Vec<u8>,
    pub(crate) frames: Vec<Vec<u8>>,
    /// End of the log after each record.
    pub(crate) ends: Vec<LogEnd>,
    pub(crate) evidence: HashMap<Hash, Vec<u8>>,
}

impl Log {
    pub(crate) fn new(keys: &CheckpointKeys) -> Self {
        let chain = keys.start();
        Self { chain, head: chain.head(), frames: Vec::new(), ends: Vec::new(), evidence: HashMap::new() }
    }

    pub(crate) fn keep(&mut self, evidence: &Evidence<'_>) -> Hash {
        let bytes = evidence.bytes();
        let name = hash(&bytes);
        self.evidence.insert(name, bytes);
        name
    }

    pub(crate) fn force(
        &mut self,
        epoch: u64,
        acl: &str,
        bundles: &Bundles,
        revoked: &Revoked,
    ) -> Arc<InForce> {
        let bundles: Vec<&DomainBundle> = bundles.each().collect();
        Arc::new(InForce {
            epoch,
            acl: self.keep(&Evidence::Acl(acl)),
            bundles: bundles.into_iter().map(|bundle| self.keep(&Evidence::Bundle(bundle))).collect(),
            revoked: self.keep(&Evidence::Revoked(revoked)),
        })
    }

    pub(crate) fn add(&mut self, decision: &LoggedDecision) {
        let mut frame = Vec::new();
        self.chain.add(decision, 0, &mut frame).unwrap();
        self.frames.push(frame);
        self.ends.push(self.chain);
    }

    /// The one segment of these frames.
    pub(crate) fn of_frames(&self, frames: &[&[u8]]) -> Vec<u8> {
        [&[self.head.as_slice()][..], frames].concat().concat()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.of_frames(&self.frames.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }
}

/// Rules of a server, and its decisions.
pub(crate) struct Decider<'a> {
    pub(crate) world: &'a World,
    pub(crate) acl: &'a str,
    pub(crate) revoked: &'a Revoked,
    pub(crate) epoch: u64,
}

impl Decider<'_> {
    /// Handles a HELLO: logs the decision and returns the grant.
    pub(crate) fn session(
        &self,
        log: &mut Log,
        session: u32,
        (leaf, hello): &(Vec<u8>, Vec<u8>),
        now: u64,
    ) -> Option<(SessionGrant, LoggedDecision)> {
        let world = self.world;
        let granted = Hello::read(hello)
            .and_then(|hello| verify(leaf, &hello, &world.bundles, self.revoked, &world.server, now));
        let (about, peer) = match &granted {
            Ok(grant) => (
                DecisionSubject::Admitted { until_unix_s: grant.expires_unix_s },
                Some(grant.acts_as.clone()),
            ),
            Err(refusal) => (DecisionSubject::NotAdmitted { refusal: refusal.name().into() }, None),
        };
        let decision = LoggedDecision {
            time_unix_s: now,
            session,
            peer,
            shown: Some(log.keep(&Evidence::Shown { leaf, hello })),
            force: log.force(self.epoch, self.acl, &world.bundles, self.revoked),
            about,
        };
        log.add(&decision);
        granted.ok().map(|grant| (grant, decision))
    }

    /// Handles a request for an object.
    pub(crate) fn asked(
        &self,
        (grant, begun): &(SessionGrant, LoggedDecision),
        path: &ObjectPath,
        asked: Operations,
        now: u64,
    ) -> LoggedDecision {
        let acl = Acl::of_text(self.acl, "export.acl").unwrap();
        let rights = match now < grant.expires_unix_s {
            true => grant.rights(&acl, path),
            false => Operations::default(),
        };
        let line = asked.each().next().and_then(|first| grant.line(&acl, path, first)).unwrap_or(0) as u64;
        let outcome = match asked.is_within(rights) {
            true => AuditOutcome::Allowed { line },
            false => AuditOutcome::Refused { refusal: DENIED.into() },
        };
        let about = DecisionSubject::Object { paths: vec![path.clone()], asked, rights, outcome };
        LoggedDecision { time_unix_s: now, about, ..begun.clone() }
    }
}
