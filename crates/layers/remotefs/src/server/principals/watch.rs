//! Maintenance of principals while a server runs: agents' notices, changed files, expired grants.
//!
//! Measured side, server process, one thread, cold: ten times a second, and at once after a revocation. It is started
//! before the kernel confines the process to the export, as its files lie elsewhere.

use super::super::coherence::Coherence;
use super::super::{ServeError, Server};
use super::{NotLetIn, Own, Principal, Principals};
use crate::frame::ServerReply;
use crate::lease::SessionNumber;
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_base::locks::{lock, read, write};
use bakeoff_layers_base::plain::{self, FileAudience, FileLocation};
use bakeoff_layers_credentials::acl::Acl;
use bakeoff_layers_credentials::notice::{News, Notice};
use bakeoff_layers_credentials::tls;
use bakeoff_layers_credentials::{Item, MOST_SKEW_S, Revoked};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Longest delay in noticing a signal, or the end of a grant without requests.
const LOOK: Duration = Duration::from_millis(100);
/// Interval of reading the server's own leaf: it lives for minutes.
const OWN_LEAF: Duration = Duration::from_secs(1);
/// Longest access list, and longest list of revocations.
const MOST_BYTES: u64 = 16 << 20;

impl Principals {
    /// Main loop of the thread, until the server is gone.
    pub(super) fn watch(&self, server: &Weak<Server>, notices: &Receiver<Notice>, hup: &AtomicBool) {
        let mut own = Instant::now();
        loop {
            let heard = notices.recv_timeout(LOOK);
            let Some(server) = server.upgrade() else { return };
            match heard {
                Ok(notice) => self.hear(notice, &server.coherence),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK),
            }
            if own.elapsed() >= OWN_LEAF {
                self.read_own_leaf();
                own = Instant::now();
            }
            if hup.swap(false, Ordering::Relaxed) {
                self.read_rules(&server.coherence);
            }
            if self.audit.is_some() && read(&self.rules).force.is_none() {
                self.in_force(&read(&self.revoked), None);
            }
            self.written.save();
            self.forget_the_ended(&server.coherence);
            let over = NotLetIn::Expired("what this session stands on".to_owned());
            self.end(&server.coherence, &over, Principal::is_over);
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

    pub(super) fn read_own_leaf(&self) {
        let Some(holder) = (self.holder)() else { return };
        if read(&self.own).as_ref().is_some_and(|own| own.leaf == holder.leaf) {
            return;
        }
        if let Ok(config) = tls::server(&holder) {
            *write(&self.own) = Some(Own { leaf: holder.leaf, config: Arc::new(config) });
        }
    }

    /// Reads the access list; with faults the previous one stays.
    fn read_rules(&self, coherence: &Coherence) {
        match read_acl(&self.acl_file) {
            Ok(list) => {
                self.in_force(&read(&self.revoked), Some(list));
                self.rules_changed(coherence);
            }
            Err(_) => write(&self.rules).faults += 1,
        }
    }

    /// Writes the revocations. A full disk leaves the old file: the agent sends all of them again to the next start.
    fn write_revoked(&self) {
        let Some(file) = &self.revoked_file else { return };
        let text = read(&self.revoked).text();
        let _ = FileLocation::of(file).and_then(|place| place.replace(text.as_bytes(), FileAudience::Owner));
    }
}

pub(super) fn read_acl(file: &Path) -> Result<(Arc<Acl>, Arc<str>), ServeError> {
    let failed = |error: String| ServeError::Acl { path: file.to_owned(), error };
    let text = plain::read(file, MOST_BYTES).map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8(text).map_err(|_| failed("it is no text in UTF-8".to_owned()))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let acl = Acl::of_text(&text, &name).map_err(|error| failed(error.to_string()))?;
    Ok((Arc::new(acl), text.into()))
}

/// Revocations before this start. An unreadable line is an error, as somebody could be let in wrongly.
pub(super) fn read_revoked(file: Option<&Path>) -> Result<Revoked, ServeError> {
    let Some(file) = file else { return Ok(Revoked::default()) };
    let failed = |error: io::Error| ServeError::Revoked { path: file.to_owned(), error };
    match plain::read(file, MOST_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Revoked::default()),
        Err(error) => Err(failed(error)),
        Ok(bytes) => {
            let text = str::from_utf8(&bytes).ok();
            text.and_then(Revoked::of_text).ok_or_else(|| failed(io::ErrorKind::InvalidData.into()))
        }
    }
}
