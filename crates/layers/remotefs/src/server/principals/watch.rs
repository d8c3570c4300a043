//! Maintenance of principals while a server runs: agents' notices, changed files, expired grants.
//!
//! Measured side, server process, one thread, cold: ten times a second, and at once after a revocation. It is started
//! before the kernel confines the process to the export, as its files lie elsewhere.

use super::super::coherence::Coherence;
use super::super::error::ServeError;
use super::super::options::Credentials;
use super::files::read_acl;
use super::{NotLetIn, Principal, Principals, ReadAgain};
use crate::frame::ServerReply;
use crate::lease::SessionNumber;
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_base::locks::{lock, read, write};
use bakeoff_layers_base::plain::FileAudience;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::notice::{News, Notice};
use bakeoff_layers_credentials::{Item, MOST_SKEW_S, verify};
use signal_hook::consts::SIGHUP;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Longest delay in noticing a signal, or the end of a grant without requests.
const LOOK: Duration = Duration::from_millis(100);
/// Interval of reading the server's own leaf: it lives for minutes.
const OWN_LEAF: Duration = Duration::from_secs(1);

/// The principals of a server that starts, with the thread that maintains them, which begins once it is given the
/// server's leases.
pub(in super::super) fn start(
    credentials: Credentials,
    coherence: Receiver<Weak<Coherence>>,
) -> Result<Arc<Principals>, ServeError> {
    let (principals, notices) = Principals::open(credentials)?;
    let hup = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGHUP, hup.clone())?;
    let its = principals.clone();
    let watching = move || {
        if let Ok(coherence) = coherence.recv() {
            its.watch(&coherence, &notices, &hup);
        }
    };
    thread::Builder::new().name("principals".to_owned()).spawn(watching)?;
    Ok(principals)
}

impl Principals {
    /// Main loop of the thread, until the server is gone, and with it its leases.
    fn watch(&self, coherence: &Weak<Coherence>, notices: &Receiver<Notice>, hup: &AtomicBool) {
        let mut own = Instant::now();
        loop {
            let heard = notices.recv_timeout(LOOK);
            let Some(coherence) = coherence.upgrade() else { return };
            match heard {
                Ok(notice) => self.hear(notice, &coherence),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK),
            }
            if own.elapsed() >= OWN_LEAF {
                self.read_own_leaf();
                own = Instant::now();
            }
            if hup.swap(false, Ordering::Relaxed) {
                self.read_rules(&coherence);
            }
            if self.audit.is_some() && read(&self.rules).force.is_none() {
                self.in_force(&read(&self.revoked), None);
            }
            self.forget_the_ended(&coherence);
            let over = NotLetIn::Expired("what this session stands on".to_owned());
            self.end(&coherence, &over, Principal::is_over);
        }
    }

    fn hear(&self, notice: Notice, coherence: &Coherence) {
        let items = match notice.what {
            News::Alive(its_unix_s) => {
                lock(&self.silent).remove(&notice.domain);
                let mut astray = lock(&self.astray);
                match its_unix_s.abs_diff(now_unix_s()) > MOST_SKEW_S {
                    true => astray.insert(notice.domain),
                    false => astray.remove(&notice.domain),
                };
                return;
            }
            News::Silent => {
                lock(&self.silent).insert(notice.domain);
                return;
            }
            News::Revoked(items) => items,
        };
        {
            let mut revoked = write(&self.revoked);
            let new = |item: &&Item| !revoked.holds(&notice.domain, item);
            let new: Vec<Item> = items.iter().filter(new).copied().collect();
            if new.is_empty() {
                return;
            }
            new.into_iter().for_each(|item| revoked.add(&notice.domain, item));
            self.in_force(&revoked, None);
        }
        self.kept.new_epoch(|_| {});
        let revoked = read(&self.revoked);
        let falls = |principal: &Principal| {
            principal.grant.stands_on.iter().any(|(domain, item)| revoked.holds(domain, item))
        };
        self.end(coherence, &NotLetIn::Revoked("what this session stands on".to_owned()), falls);
        drop(revoked);
        self.write_revoked();
    }

    /// Ends sessions: first all of them here, and then they are told.
    fn end(&self, coherence: &Coherence, why: &NotLetIn, ends: impl Fn(&Principal) -> bool) {
        let ended: Vec<SessionNumber> = {
            let mut sessions = write(&self.sessions);
            let ended: Vec<_> = sessions.values().filter(|one| ends(one)).map(|one| one.session).collect();
            ended.iter().for_each(|session| drop(sessions.remove(session)));
            ended
        };
        if ended.is_empty() {
            return;
        }
        ended.iter().for_each(|_| self.refuse(why));
        coherence.say_to(&ended, &ServerReply::Refused { name: why.name(), sentence: &why.to_string() });
        ended.iter().for_each(|session| coherence.bye(*session));
    }

    /// Forgets sessions that ended otherwise, as they and their decisions take room.
    fn forget_the_ended(&self, coherence: &Coherence) {
        let mut sessions = write(&self.sessions);
        let before = sessions.len();
        sessions.retain(|session, _| coherence.is_live(*session));
        if sessions.len() < before {
            self.kept.new_epoch(|_| {});
        }
    }

    /// Reads access list and trust bundles; with faults in one of them the previous ones of both stay.
    fn read_rules(&self, coherence: &Coherence) {
        let Some((list, bundles)) = read_acl(&self.acl_file).ok().zip((self.read_bundles)()) else {
            write(&self.rules).faults += 1;
            return;
        };
        self.in_force(&read(&self.revoked), Some(ReadAgain { list, bundles }));
        self.judge_again(coherence);
        self.rules_changed(coherence);
    }

    /// Ends the sessions that the bundles in force would not begin: a key that they stand on is out.
    fn judge_again(&self, coherence: &Coherence) {
        let (bundles, now_unix_s) = (self.rules().bundles, now_unix_s());
        let fault = |principal: &Principal| {
            let (leaf, hello) = &principal.papers;
            let revoked = read(&self.revoked);
            let judged = Hello::read(hello)
                .and_then(|hello| verify(leaf, &hello, &bundles, &revoked, &self.name, now_unix_s));
            judged.err().map(|why| (principal.session, why))
        };
        let all: Vec<_> = read(&self.sessions).values().cloned().collect();
        for (session, why) in all.iter().filter_map(|principal| fault(principal)) {
            self.end(coherence, &why, |principal| principal.session == session);
        }
    }

    /// Writes the revocations. A full disk leaves the old file: the agent sends all of them again to the next start.
    fn write_revoked(&self) {
        let Some(file) = &self.revoked_file else { return };
        let text = read(&self.revoked).text();
        let _ = file.replace(text.as_bytes(), FileAudience::Owner);
    }
}
