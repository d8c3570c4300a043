//! Principals of sessions: admitted by credentials, watched until these end, and logged.
//!
//! Measured side, server process; admission is once a connection and fed by strangers, finding a session's principal
//! is hot. Owns what changes while the server runs: its own leaf, the access list, revocations. A thread of its own
//! ([`watch`]) keeps these up to date, and ends sessions whose grant has ended, by the date or by the monotonic
//! clock.

mod files;
pub(super) mod watch;

use super::audit::AuditLog;
use super::coherence::Coherence;
use super::error::ServeError;
use super::options::Credentials;
use crate::frame::ServerReply;
use crate::lease::{ObjectNumber, SessionNumber};
use crate::refusal::Refusal;
use crate::stream::Peer;
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_base::locks::{lock, read, write};
use bakeoff_layers_base::plain::FileLocation;
use bakeoff_layers_credentials::acl::Acl;
use bakeoff_layers_credentials::audit::{
    DecisionSubject, Evidence, InForce, LoggedDecision, peer as peer_of,
};
use bakeoff_layers_credentials::bundle::Bundles;
use bakeoff_layers_credentials::grant::{RightsCache, SessionGrant};
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::{Hash, PublicKey};
use bakeoff_layers_credentials::name::{Domain, PrincipalName};
use bakeoff_layers_credentials::notice::Notice;
use bakeoff_layers_credentials::operation::Operations;
use bakeoff_layers_credentials::tls::{self, Holder};
use bakeoff_layers_credentials::{CredentialRefusal as NotLetIn, Revoked, verify, verify_node};
use files::{read_acl, read_revoked};
use rustls::ServerConfig;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

/// Limit on connections of one principal from one machine: sixteen mounts, each with one connection for callbacks and
/// fifteen for questions.
const MOST_OF_PRINCIPAL: usize = 256;
/// Limit on objects whose use by a session is remembered.
const MOST_USED: usize = 1 << 16;
/// Limit on cached verdicts, and number of parts that do not wait for each other.
const KEPT: (usize, usize) = (1 << 18, 16);

/// A key, and the machine that it is used on.
type KeyAt = (PublicKey, IpAddr);

/// Principal of a session.
#[derive(Debug)]
pub(super) struct Principal {
    pub(super) session: SessionNumber,
    pub(super) key: PublicKey,
    pub(super) grant: SessionGrant,
    /// Leaf and HELLO, for a judgement by newer bundles.
    papers: (Vec<u8>, Vec<u8>),
    /// Hash of its credentials as evidence.
    shown: Option<Hash>,
    /// End of the grant by the monotonic clock; `None` if that is too far away.
    ends: Option<Instant>,
    /// Operations on objects that the log has.
    used: Arc<Mutex<HashMap<ObjectNumber, Operations>>>,
}

impl Principal {
    fn is_over(&self) -> bool {
        self.ends.is_some_and(|ends| Instant::now() >= ends) || now_unix_s() >= self.grant.expires_unix_s
    }
}

/// The server's own leaf, and its TLS configuration.
struct Own {
    leaf: Vec<u8>,
    config: Arc<ServerConfig>,
}

/// Reasons for not admitting a client.
pub(super) enum NotAdmitted {
    /// Its credentials are refused.
    Credentials(NotLetIn),
    /// Reasons independent of its credentials.
    Here(Refusal),
}

/// Rules in force.
#[derive(Clone)]
pub(super) struct Rules {
    /// The access list.
    pub(super) acl: Arc<Acl>,
    text: Arc<str>,
    /// Bundles of the trusted domains.
    bundles: Arc<Bundles>,
    /// Their name in the log; `None` without a log, or if its disk is full.
    force: Option<Arc<InForce>>,
    epoch: u64,
    /// Number of failed attempts to read the list again.
    faults: u64,
}

/// Rules that were read again at SIGHUP.
struct ReadAgain {
    list: (Arc<Acl>, Arc<str>),
    bundles: Arc<Bundles>,
}

/// Principals of all sessions, and the rules for them.
pub(super) struct Principals {
    name: PrincipalName,
    holder: Box<dyn Fn() -> Option<Holder> + Send + Sync>,
    read_bundles: Box<dyn Fn() -> Option<Arc<Bundles>> + Send + Sync>,
    acl_file: PathBuf,
    revoked_file: Option<FileLocation>,
    own: RwLock<Option<Own>>,
    rules: RwLock<Rules>,
    /// Locked before the rules, if both are.
    revoked: RwLock<Revoked>,
    sessions: RwLock<HashMap<SessionNumber, Arc<Principal>>>,
    /// Number of connections of each key from each machine.
    seats: Mutex<HashMap<KeyAt, usize>>,
    audit: Option<AuditLog>,
    silent: Mutex<BTreeSet<Domain>>,
    /// Domains whose agents' clocks differ from ours: nobody is admitted by their word, as it could have expired.
    astray: Mutex<BTreeSet<Domain>>,
    refused: Mutex<BTreeMap<&'static str, u64>>,
    /// Cached decisions, by session and object.
    pub(super) kept: RightsCache,
}

impl Principals {
    /// For a server that starts, with the notices that are to be heard.
    fn open(credentials: Credentials) -> Result<(Arc<Self>, Receiver<Notice>), ServeError> {
        let Credentials { name, holder, bundles, read_bundles, .. } = credentials;
        let Credentials { acl: acl_file, notices, audit, keep, revoked: revoked_file, .. } = credentials;
        let (acl, text) = read_acl(&acl_file)?;
        let own = holder().ok_or_else(|| ServeError::NoLeaf(name.to_string()))?;
        let proven = verify_node(&own.leaf, &bundles, &name, now_unix_s());
        proven.map_err(|why| ServeError::Unproven { name: name.clone(), why })?;
        let audit = audit.map(|dir| AuditLog::open(&dir, own.key, &name, keep));
        let audit = audit.transpose().map_err(ServeError::Audit)?;
        let (revoked, revoked_place) = read_revoked(revoked_file.as_deref())?;
        let principals = Arc::new(Self {
            name,
            holder,
            read_bundles,
            acl_file,
            revoked_file: revoked_place,
            own: RwLock::new(None),
            rules: RwLock::new(Rules { acl, text, bundles, force: None, epoch: 0, faults: 0 }),
            revoked: RwLock::new(revoked),
            sessions: RwLock::default(),
            seats: Mutex::default(),
            audit,
            silent: Mutex::default(),
            astray: Mutex::default(),
            refused: Mutex::default(),
            kept: RightsCache::new(KEPT.0, KEPT.1),
        });
        principals.read_own_leaf();
        principals.in_force(&read(&principals.revoked), None);
        if principals.config().is_none() {
            return Err(ServeError::NoLeaf(principals.name.to_string()));
        }
        Ok((principals, notices))
    }

    /// Takes the present leaf, if it is another one.
    fn read_own_leaf(&self) {
        let Some(holder) = (self.holder)() else { return };
        if read(&self.own).as_ref().is_some_and(|own| own.leaf == holder.leaf) {
            return;
        }
        if let Ok(config) = tls::server(&holder) {
            *write(&self.own) = Some(Own { leaf: holder.leaf, config: Arc::new(config) });
        }
    }

    /// TLS configuration with the present leaf, if there is one.
    pub(super) fn config(&self) -> Option<Arc<ServerConfig>> {
        read(&self.own).as_ref().map(|own| own.config.clone())
    }

    /// The rules in force.
    pub(super) fn rules(&self) -> Rules {
        read(&self.rules).clone()
    }

    /// Admits a client by its credentials; `open` begins the session. A revocation meanwhile waits, and then ends it.
    pub(super) fn admit(
        &self,
        peer: &Peer,
        credentials: &[u8],
        open: impl FnOnce() -> SessionNumber,
    ) -> Result<SessionNumber, NotAdmitted> {
        let (revoked, now_unix_s) = (read(&self.revoked), now_unix_s());
        let rules = self.rules();
        let verified = |hello| verify(&peer.leaf, &hello, &rules.bundles, &revoked, &self.name, now_unix_s);
        let found = Hello::read(credentials).and_then(verified).and_then(|grant| self.in_step(grant));
        // Strangers' credentials are not kept: they could fill the disk.
        let peer_name = match &found {
            Ok(grant) => Some(grant.acts_as.clone()),
            Err(_) => peer_of(&peer.leaf, &rules.bundles, now_unix_s),
        };
        let evidence = Evidence::Shown { leaf: &peer.leaf, hello: credentials };
        let kept = self.audit.as_ref().filter(|_| peer_name.is_some());
        let shown = kept.map(|log| log.evidence(&evidence)).transpose().map_err(NotAdmitted::Here)?;
        let grant = match found {
            Ok(grant) => grant,
            Err(why) => {
                let about = || DecisionSubject::NotAdmitted { refusal: why.name().into() };
                let who = (0, peer_name.as_ref(), shown);
                self.log(who, &rules, now_unix_s, about).map_err(NotAdmitted::Here)?;
                return Err(NotAdmitted::Credentials(why));
            }
        };
        // A session that could not be logged has no principal, and may do nothing until its term is over.
        let session = open();
        let about = || DecisionSubject::Admitted { until_unix_s: grant.expires_unix_s };
        let who = (session, peer_name.as_ref(), shown);
        self.log(who, &rules, now_unix_s, about).map_err(NotAdmitted::Here)?;
        let left = Duration::from_secs(grant.expires_unix_s.saturating_sub(now_unix_s));
        let ends = Instant::now().checked_add(left);
        let papers = (peer.leaf.clone(), credentials.to_vec());
        let mut sessions = write(&self.sessions);
        let used = sessions.get(&session).map(|before| before.used.clone()).unwrap_or_default();
        let principal = Principal { session, key: peer.key, grant, papers, shown, ends, used };
        sessions.insert(session, Arc::new(principal));
        Ok(session)
    }

    /// The grant, unless an agent that it stands on has a clock that differs from ours.
    fn in_step(&self, grant: SessionGrant) -> Result<SessionGrant, NotLetIn> {
        let astray = lock(&self.astray);
        let found = grant.stands_on.iter().find(|(domain, _)| astray.contains(domain));
        match found {
            Some((domain, _)) => Err(NotLetIn::ClockSkew(format!("the clock of the agent of {domain}"))),
            None => Ok(grant),
        }
    }

    /// Renews a running session's credentials: later answers stand on these.
    pub(super) fn renew(
        &self,
        peer: &Peer,
        credentials: &[u8],
        session: SessionNumber,
    ) -> Result<(), NotAdmitted> {
        let now = || read(&self.sessions).get(&session).cloned();
        let before = now();
        self.admit(peer, credentials, || session)?;
        // Mostly only their end is another: verdicts by the ones before end with those.
        if !before.zip(now()).is_some_and(|(before, now)| before.grant.is_but_for_its_end(&now.grant)) {
            self.kept.new_epoch(|_| {});
        }
        Ok(())
    }

    /// Logs by `log` that a session uses an object so, unless the log has that.
    pub(super) fn uses<E>(
        &self,
        who: &Principal,
        (object, asked): (ObjectNumber, Operations),
        log: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let is_there = |used: &Operations| asked.is_within(*used);
        if self.audit.is_none() || lock(&who.used).get(&object).is_some_and(is_there) {
            return Ok(());
        }
        log()?;
        let mut used = lock(&who.used);
        if used.len() >= MOST_USED {
            used.clear();
        }
        let before = used.entry(object).or_default();
        *before = before.or(asked);
        Ok(())
    }

    /// Logs the decision on a session's request.
    pub(super) fn decided(
        &self,
        who: &Principal,
        rules: &Rules,
        about: impl FnOnce() -> DecisionSubject,
    ) -> Result<(), Refusal> {
        let of = (who.session, Some(&who.grant.acts_as), who.shown);
        self.log(of, rules, now_unix_s(), about)
    }

    fn log(
        &self,
        (session, peer, shown): (SessionNumber, Option<&PrincipalName>, Option<Hash>),
        rules: &Rules,
        time_unix_s: u64,
        about: impl FnOnce() -> DecisionSubject,
    ) -> Result<(), Refusal> {
        let Some(log) = &self.audit else { return Ok(()) };
        let force = rules.force.clone().ok_or(Refusal::AuditFull)?;
        let (peer, about) = (peer.cloned(), about());
        log.decided(&LoggedDecision { time_unix_s, session, peer, shown, force, about })
    }

    /// Puts rules in force, and into the log. If its disk is full nothing is decided until it accepts them.
    fn in_force(&self, revoked: &Revoked, read_again: Option<ReadAgain>) {
        let mut rules = write(&self.rules);
        if let Some(ReadAgain { list: (acl, text), bundles }) = read_again {
            (rules.acl, rules.text, rules.bundles) = (acl, text, bundles);
        }
        rules.epoch += 1;
        let named = |log: &AuditLog| log.in_force(rules.epoch, &rules.text, &rules.bundles, revoked).ok();
        rules.force = self.audit.as_ref().and_then(named);
    }

    /// Ends the log at the end of the process: all decisions are on the disk.
    pub(super) fn close(&self) {
        if let Some(log) = &self.audit {
            log.close();
        }
    }

    /// Principal of a session, while its grant lasts.
    pub(super) fn of(&self, session: SessionNumber) -> Result<Arc<Principal>, Refusal> {
        let principal = read(&self.sessions).get(&session).cloned();
        principal.filter(|principal| !principal.is_over()).ok_or(Refusal::SessionOver)
    }

    /// Counts another connection of a principal, until the result is dropped.
    pub(super) fn sit(&self, key: KeyAt) -> Result<Admission<'_>, Refusal> {
        let mut seats = lock(&self.seats);
        let taken = seats.entry(key).or_insert(0);
        if *taken >= MOST_OF_PRINCIPAL {
            return Err(Refusal::TooManyOfPrincipal);
        }
        *taken += 1;
        Ok(Admission { principals: self, key })
    }

    /// Counts a client that is not admitted, or no longer.
    pub(super) fn refuse(&self, refusal: &NotLetIn) {
        *lock(&self.refused).entry(refusal.name()).or_insert(0) += 1;
    }

    /// Voids decisions about an object.
    pub(super) fn void(&self, object: ObjectNumber) {
        for session in read(&self.sessions).keys() {
            self.kept.void(&(*session, object), || {});
        }
    }

    /// Voids all decisions, and has kernels drop their caches.
    pub(super) fn rules_changed(&self, coherence: &Coherence) {
        self.kept.new_epoch(|_| {});
        let sessions: Vec<SessionNumber> = read(&self.sessions).keys().copied().collect();
        coherence.say_to(&sessions, &ServerReply::Changed);
    }

    /// Lines of the status.
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "name {}\nprincipals {}\nacl-faults {}\n",
            self.name,
            lock(&self.seats).keys().map(|(key, _)| key).collect::<HashSet<_>>().len(),
            read(&self.rules).faults
        );
        // Writing to a string cannot fail.
        for domain in &*lock(&self.silent) {
            let _ = writeln!(text, "ola-silent {domain}");
        }
        for domain in &*lock(&self.astray) {
            let _ = writeln!(text, "clock-skew {domain}");
        }
        for (name, count) in &*lock(&self.refused) {
            let _ = writeln!(text, "refused.credentials.{name} {count}");
        }
        text + &self.audit.as_ref().map_or_else(String::new, AuditLog::status)
    }
}

/// A connection of a principal.
pub(super) struct Admission<'p> {
    principals: &'p Principals,
    key: KeyAt,
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        let mut seats = lock(&self.principals.seats);
        if let Some(taken) = seats.get_mut(&self.key) {
            *taken = taken.saturating_sub(1);
            if *taken == 0 {
                seats.remove(&self.key);
            }
        }
    }
}
