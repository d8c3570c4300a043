//! Who sessions are: let in by credentials, watched until these end.
//!
//! Measured side, server process; letting in is once a connection and fed by strangers, finding a session's principal is hot. Owns what changes
//! while the server runs: its own leaf, the access list, what was taken back. One thread of its own looks after these, and ends sessions
//! whose grant is over, by the date or by the clock that nobody sets. That thread is started before the kernel holds the
//! process to the export, as its files lie elsewhere.

use super::No;
use super::coherence::Coherence;
use super::{Credentials, ServeError, Server};
use crate::frame::Answer;
use crate::lease::{Object as Number, Session};
use crate::refusal::Refusal;
use crate::stream::Peer;
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_base::plain::{self, For, Place};
use bakeoff_layers_credentials::acl::Acl;
use bakeoff_layers_credentials::bundle::Bundles;
use bakeoff_layers_credentials::grant::{Grant, Kept};
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::{PublicKey, Serial};
use bakeoff_layers_credentials::name::{Domain, Name};
use bakeoff_layers_credentials::notice::{News, Notice};
use bakeoff_layers_credentials::tls::{self, Holder};
use bakeoff_layers_credentials::{Item, Refusal as NotLetIn, Revoked, verify};
use rustls::ServerConfig;
use signal_hook::consts::SIGHUP;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// How late the end of a grant may be noticed where no request does; and a signal.
const LOOK: Duration = Duration::from_millis(100);
/// How often the server's own leaf is read again: it lives for minutes.
const OWN_LEAF: Duration = Duration::from_secs(1);
/// Connections of one principal, by its key: a mount has one for callbacks and fifteen for questions.
const MOST_OF_PRINCIPAL: usize = 16;
/// Verdicts that are kept, in parts that do not wait for each other.
const KEPT: (usize, usize) = (1 << 18, 16);
/// Longest access list, and longest list of what was taken back.
const MOST_BYTES: u64 = 16 << 20;

/// Whose a session is.
#[derive(Debug)]
pub(super) struct Principal {
    pub(super) session: Session,
    pub(super) key: PublicKey,
    pub(super) grant: Grant,
    /// When the grant ends by the clock that nobody sets; never, where that is too far away.
    ends: Option<Instant>,
}

impl Principal {
    fn is_over(&self) -> bool {
        self.ends.is_some_and(|ends| Instant::now() >= ends) || now_unix_s() >= self.grant.expires_unix_s
    }
}

/// The server's own leaf, and TLS with it.
struct Own {
    leaf: Vec<u8>,
    config: Arc<ServerConfig>,
}

/// The access list, and how often it could not be read again.
struct Rules {
    acl: Arc<Acl>,
    faults: u64,
}

/// All sessions' principals, and what they are judged by.
pub(super) struct Principals {
    name: Name,
    holder: Box<dyn Fn() -> Option<Holder> + Send + Sync>,
    bundles: Arc<Bundles>,
    acl_file: PathBuf,
    revoked_file: Option<PathBuf>,
    own: RwLock<Option<Own>>,
    rules: RwLock<Rules>,
    revoked: RwLock<(Revoked, BTreeSet<String>)>,
    sessions: RwLock<HashMap<Session, Arc<Principal>>>,
    /// Connections of each key.
    seats: Mutex<HashMap<PublicKey, usize>>,
    /// What was written under each transfer that limits it, since the server was started.
    written: Mutex<HashMap<Serial, u64>>,
    silent: Mutex<BTreeSet<Domain>>,
    refused: Mutex<BTreeMap<&'static str, u64>>,
    /// What was decided, by session and object.
    pub(super) kept: Kept,
}

impl Principals {
    /// Of a server that starts, and the thread that looks after them, which begins when it is told of the server.
    pub(super) fn start(
        credentials: Credentials,
        server: Receiver<Weak<Server>>,
    ) -> Result<Arc<Self>, ServeError> {
        let Credentials { name, holder, bundles, acl: acl_file, notices, revoked: revoked_file } = credentials;
        let acl = Arc::new(read_acl(&acl_file)?);
        let revoked = read_revoked(revoked_file.as_deref())?;
        let principals = Arc::new(Self {
            name,
            holder,
            bundles,
            acl_file,
            revoked_file,
            own: RwLock::new(None),
            rules: RwLock::new(Rules { acl, faults: 0 }),
            revoked: RwLock::new(revoked),
            sessions: RwLock::default(),
            seats: Mutex::default(),
            written: Mutex::default(),
            silent: Mutex::default(),
            refused: Mutex::default(),
            kept: Kept::new(KEPT.0, KEPT.1),
        });
        principals.read_own_leaf();
        if principals.config().is_none() {
            return Err(ServeError::NoLeaf(principals.name.to_string()));
        }
        let hup = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGHUP, hup.clone())?;
        let its = principals.clone();
        let watching = move || {
            if let Ok(server) = server.recv() {
                its.watch(&server, &notices, &hup);
            }
        };
        thread::Builder::new().name("principals".to_owned()).spawn(watching)?;
        Ok(principals)
    }

    /// TLS with the leaf of now, if there is one.
    pub(super) fn config(&self) -> Option<Arc<ServerConfig>> {
        read(&self.own).as_ref().map(|own| own.config.clone())
    }

    /// The access list of now.
    pub(super) fn acl(&self) -> Arc<Acl> {
        read(&self.rules).acl.clone()
    }

    /// Lets in who shows credentials; `open` makes the session. What is taken back meanwhile waits, and then ends it.
    pub(super) fn admit(
        &self,
        peer: &Peer,
        credentials: &[u8],
        open: impl FnOnce() -> Session,
    ) -> Result<Session, NotLetIn> {
        let hello = Hello::read(credentials)?;
        let revoked = read(&self.revoked);
        let now_unix_s = now_unix_s();
        let grant = verify(&peer.leaf, &hello, &self.bundles, &revoked.0, &self.name, now_unix_s)?;
        let left = Duration::from_secs(grant.expires_unix_s.saturating_sub(now_unix_s));
        let session = open();
        let principal = Principal { session, key: peer.key, grant, ends: Instant::now().checked_add(left) };
        write(&self.sessions).insert(session, Arc::new(principal));
        Ok(session)
    }

    /// Whose a session is, while its grant lasts.
    pub(super) fn of(&self, session: Session) -> Result<Arc<Principal>, Refusal> {
        let principal = read(&self.sessions).get(&session).cloned();
        principal.filter(|principal| !principal.is_over()).ok_or(Refusal::SessionOver)
    }

    /// One connection more of a principal, until the seat is left.
    pub(super) fn sit(&self, key: PublicKey) -> Result<Seat<'_>, Refusal> {
        let mut seats = lock(&self.seats);
        let taken = seats.entry(key).or_insert(0);
        if *taken >= MOST_OF_PRINCIPAL {
            return Err(Refusal::TooManyOfPrincipal);
        }
        *taken += 1;
        Ok(Seat { principals: self, key })
    }

    /// Counts somebody who is not let in, or no more.
    pub(super) fn refuse(&self, refusal: &NotLetIn) {
        *lock(&self.refused).entry(refusal.name()).or_insert(0) += 1;
    }

    /// Counts bytes that are to be written under each of these transfers, unless one would be above its limit.
    pub(super) fn count(&self, limits: &[(Serial, u64)], bytes: u64) -> Result<(), No> {
        let mut written = lock(&self.written);
        let above = |(serial, most): &(Serial, u64)| {
            written.get(serial).copied().unwrap_or(0).saturating_add(bytes) > *most
        };
        if limits.iter().any(above) {
            return Err(Refusal::OverLimit.into());
        }
        let serials: BTreeSet<[u8; 16]> = limits.iter().map(|(serial, _)| serial.0).collect();
        for serial in serials {
            *written.entry(Serial(serial)).or_insert(0) += bytes;
        }
        Ok(())
    }

    /// What was decided about an object is void.
    pub(super) fn void(&self, object: Number) {
        for session in read(&self.sessions).keys() {
            self.kept.void(&(*session, object), || {});
        }
    }

    /// What was decided about anything is void, and no kernel keeps what it was told.
    pub(super) fn rules_changed(&self, coherence: &Coherence) {
        self.kept.new_epoch(|_| {});
        let sessions: Vec<Session> = read(&self.sessions).keys().copied().collect();
        coherence.say_to(&sessions, &Answer::Changed);
    }

    /// Lines of the status.
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "name {}\nprincipals {}\nacl-faults {}\n",
            self.name,
            lock(&self.seats).len(),
            read(&self.rules).faults
        );
        // A string takes all that is written to it.
        for domain in &*lock(&self.silent) {
            let _ = writeln!(text, "ola-silent {domain}");
        }
        for (name, count) in &*lock(&self.refused) {
            let _ = writeln!(text, "refused.credentials.{name} {count}");
        }
        text
    }

    /// Until the server is gone.
    fn watch(&self, server: &Weak<Server>, notices: &Receiver<Notice>, hup: &AtomicBool) {
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
            self.forget_the_ended(&server.coherence);
            let over = NotLetIn::Expired("what this session stands on".to_owned());
            self.end(&server.coherence, &over, Principal::is_over);
        }
    }

    fn hear(&self, notice: Notice, coherence: &Coherence) {
        let items = match notice.what {
            News::Alive => {
                lock(&self.silent).remove(&notice.domain);
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
            let new = |item: &&Item| !revoked.0.holds(&notice.domain, item);
            let new: Vec<Item> = items.iter().filter(new).copied().collect();
            if new.is_empty() {
                return;
            }
            for item in new {
                revoked.0.add(&notice.domain, item);
                revoked.1.insert(line(&notice.domain, &item));
            }
        }
        self.kept.new_epoch(|_| {});
        let revoked = read(&self.revoked);
        let falls = |principal: &Principal| {
            principal.grant.stands_on.iter().any(|(domain, item)| revoked.0.holds(domain, item))
        };
        self.end(coherence, &NotLetIn::Revoked("what this session stands on".to_owned()), falls);
        drop(revoked);
        self.write_revoked();
    }

    /// Ends sessions: first here, for all of them, and then they are told.
    fn end(&self, coherence: &Coherence, why: &NotLetIn, ends: impl Fn(&Principal) -> bool) {
        let ended: Vec<Session> = {
            let mut sessions = write(&self.sessions);
            let ended: Vec<_> = sessions.values().filter(|one| ends(one)).map(|one| one.session).collect();
            ended.iter().for_each(|session| drop(sessions.remove(session)));
            ended
        };
        if ended.is_empty() {
            return;
        }
        ended.iter().for_each(|_| self.refuse(why));
        coherence.say_to(&ended, &Answer::Refused { name: why.name(), sentence: &why.to_string() });
        ended.iter().for_each(|session| coherence.bye(*session));
    }

    /// Sessions that ended otherwise are known here still, and what was decided for them takes room.
    fn forget_the_ended(&self, coherence: &Coherence) {
        let mut sessions = write(&self.sessions);
        let before = sessions.len();
        sessions.retain(|session, _| coherence.is_live(*session));
        if sessions.len() < before {
            self.kept.new_epoch(|_| {});
        }
    }

    fn read_own_leaf(&self) {
        let Some(holder) = (self.holder)() else { return };
        if read(&self.own).as_ref().is_some_and(|own| own.leaf == holder.leaf) {
            return;
        }
        if let Ok(config) = tls::server(&holder) {
            *write(&self.own) = Some(Own { leaf: holder.leaf, config: Arc::new(config) });
        }
    }

    /// With faults the list of before stays.
    fn read_rules(&self, coherence: &Coherence) {
        match read_acl(&self.acl_file) {
            Ok(acl) => {
                write(&self.rules).acl = Arc::new(acl);
                self.rules_changed(coherence);
            }
            Err(_) => write(&self.rules).faults += 1,
        }
    }

    /// A disk that is full leaves the old one: the agent says all of it again to the next start.
    fn write_revoked(&self) {
        let Some(file) = &self.revoked_file else { return };
        let text = read(&self.revoked).1.iter().fold(String::new(), |text, line| text + line + "\n");
        let _ = Place::of(file).and_then(|place| place.replace(text.as_bytes(), For::Owner));
    }
}

/// A connection of a principal.
pub(super) struct Seat<'p> {
    principals: &'p Principals,
    key: PublicKey,
}

impl Drop for Seat<'_> {
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

fn read_acl(file: &Path) -> Result<Acl, ServeError> {
    let failed = |error: String| ServeError::Acl { path: file.to_owned(), error };
    let text = plain::read(file, MOST_BYTES).map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8(text).map_err(|_| failed("it is no text in UTF-8".to_owned()))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Acl::of_text(&text, &name).map_err(|error| failed(error.to_string()))
}

/// What is taken back, as a line: `home.example serial 0123...`.
fn line(domain: &Domain, item: &Item) -> String {
    let (kind, bytes) = match item {
        Item::Serial(serial) => ("serial", &serial.0[..]),
        Item::Key(hash) => ("key", &hash[..]),
    };
    let hex = bytes.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    format!("{domain} {kind} {hex}")
}

fn of_line(line: &str) -> Option<(Domain, Item)> {
    let [domain, kind, hex]: [&str; 3] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect::<Option<_>>()?;
    let item = match kind {
        "serial" => Item::Serial(Serial(bytes.try_into().ok()?)),
        "key" => Item::Key(bytes.try_into().ok()?),
        _ => return None,
    };
    Some((domain.parse().ok()?, item))
}

/// What was taken back before this start. A line that cannot be read is no reason to let somebody in.
fn read_revoked(file: Option<&Path>) -> Result<(Revoked, BTreeSet<String>), ServeError> {
    let (mut revoked, mut lines) = (Revoked::default(), BTreeSet::new());
    let Some(file) = file else { return Ok((revoked, lines)) };
    let failed = |error: io::Error| ServeError::Revoked { path: file.to_owned(), error };
    let bytes = match plain::read(file, MOST_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((revoked, lines)),
        bytes => bytes.map_err(failed)?,
    };
    for text in String::from_utf8_lossy(&bytes).lines() {
        let (domain, item) = of_line(text).ok_or_else(|| failed(io::ErrorKind::InvalidData.into()))?;
        revoked.add(&domain, item);
        lines.insert(line(&domain, &item));
    }
    Ok((revoked, lines))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_back_comes_back_from_its_line() {
        let domain: Domain = "home.example".parse().unwrap();
        for item in [Item::Serial(Serial([0xa5; 16])), Item::Key([7; 32])] {
            assert_eq!(of_line(&line(&domain, &item)), Some((domain.clone(), item)));
        }
        for bad in ["", "home.example", "home.example serial 00", "home.example key zz", "A serial", "a b c d"] {
            assert_eq!(of_line(bad), None, "{bad}");
        }
    }
}
