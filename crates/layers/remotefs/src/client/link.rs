//! The way to the server: a session, its signs of life, and connections for questions.
//!
//! Measured side, client process, hot. Owns the time for which the kernel may believe what it is told: it ends before the server's
//! does, as it counts from when a ping was *sent*. A thread that has a question takes a connection, writes, reads the answer and
//! gives the connection back; there are as many as threads ask at a time. One more connection is the session's: on it breaks come,
//! and are acknowledged by a thread that waits for no other.
//!
//! When it is lost the kernel is made to forget everything, and a new session begins. Questions wait for it, for a while.

use super::Shown;
use super::counters::{Count, Tally};
use super::kernel::Kernel;
use crate::frame::{Answer, Class, Request};
use crate::lease::Session;
use crate::network::{Cut, Receiver};
use crate::refusal::Refusal;
use crate::stream::Stream;
use bakeoff_layers_base::locks::lock;
use bakeoff_layers_credentials::leaf::until_unix_s;
use bakeoff_layers_credentials::{Refusal as Refused, tls};
use fuser::Errno;
use rustls::ClientConfig;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// How long a question waits for a server that is away.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a connection may take to be made, and a frame from its first byte to its last.
const CONNECTING: Duration = Duration::from_secs(5);
const WHOLE: Duration = Duration::from_secs(60);
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// The same where one did not take the other: other credentials may be there by and by.
const REFUSED: Duration = Duration::from_secs(2);
/// How often credentials are looked at anew, in terms: leafs live for minutes.
const RENEWED_TERMS: u64 = 3;
/// Connections that are kept while nobody asks.
const MOST_IDLE: usize = 15;

/// Why there is no session.
#[derive(Debug, Error)]
pub(super) enum Lost {
    /// Nobody is there, or says something else.
    #[error(transparent)]
    Unreachable(#[from] io::Error),
    /// One of both could not prove who it is.
    #[error("{0}")]
    Unproven(String),
    /// Ours are not there, or are none.
    #[error("{0}")]
    NothingToShow(String),
    /// The server does not take them.
    #[error("{sentence}")]
    Refused { name: String, sentence: String },
}

impl Lost {
    /// Under which name, where credentials are why.
    fn name(&self) -> Option<&str> {
        match self {
            Self::Refused { name, .. } => Some(name),
            Self::NothingToShow(_) => Some("nothing-to-show"),
            Self::Unproven(_) | Self::Unreachable(_) => None,
        }
    }
}

impl From<Cut> for Lost {
    fn from(cut: Cut) -> Self {
        let error = match cut {
            Cut::Io(error) => error,
            other => return Self::Unreachable(io::Error::other(other)),
        };
        match error.downcast::<rustls::Error>() {
            Ok(error) => {
                let named = |refusal: &Refused| format!("{}: {refusal}", refusal.name());
                Self::Unproven(tls::refusal(&error).map_or_else(|| error.to_string(), named))
            }
            Err(error) => Self::Unreachable(error),
        }
    }
}

/// A session of ours.
#[derive(Clone, Debug)]
struct Live {
    session: Session,
    boot: u64,
    term_ms: u64,
    /// Which of our sessions: the first is 1.
    ours: u64,
    says: Arc<Mutex<Stream>>,
    /// What was shown last.
    told: Told,
}

/// What is shown to a server.
#[derive(Clone, Debug, Default)]
struct Told {
    /// By which the server is known, and we are; none without credentials.
    tls: Option<Arc<ClientConfig>>,
    leaf: Vec<u8>,
    credentials: Vec<u8>,
}

/// A connection for questions.
#[derive(Debug)]
struct Connection {
    receiver: Receiver,
    out: Vec<u8>,
    /// Of which of our sessions.
    ours: u64,
}

#[derive(Debug, Default)]
struct State {
    live: Option<Live>,
    idle: Vec<Connection>,
    sessions: u64,
    is_over: bool,
    /// By which name the credentials were refused last; nothing may be read or done then.
    refused: Option<String>,
    /// By which name the server ended the session before.
    ended_as: Option<String>,
}

/// The way to a server.
pub(super) struct Link {
    server: SocketAddr,
    shown: Option<Shown>,
    started: Instant,
    /// Until when the kernel may believe what it is told, in milliseconds since `started`.
    until_ms: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
    kernel: Arc<Kernel>,
    tally: Arc<Tally>,
}

impl Link {
    /// Begins a session, and the threads that keep it.
    pub(super) fn open(
        server: SocketAddr,
        shown: Option<Shown>,
        kernel: Arc<Kernel>,
        tally: Arc<Tally>,
    ) -> Result<Arc<Self>, Lost> {
        let link = Arc::new(Self {
            server,
            shown,
            started: Instant::now(),
            until_ms: AtomicU64::new(0),
            state: Mutex::default(),
            changed: Condvar::new(),
            kernel,
            tally,
        });
        let first = link.begin(None)?;
        let its = link.clone();
        thread::Builder::new().name("callbacks".to_owned()).spawn(move || its.keep(first))?;
        if link.shown.is_some() {
            let its = link.clone();
            thread::Builder::new().name("renewals".to_owned()).spawn(move || its.renew())?;
        }
        let its = link.clone();
        thread::Builder::new().name("pings".to_owned()).spawn(move || its.ping())?;
        Ok(link)
    }

    /// How long the kernel may believe what it is told now.
    pub(super) fn left(&self) -> Duration {
        Duration::from_millis(self.until_ms.load(Ordering::Relaxed).saturating_sub(self.now_ms()))
    }

    /// Asks, and reads the answer.
    pub(super) fn ask<T>(
        &self,
        request: &Request<'_>,
        read: impl FnOnce(Answer<'_>) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (mut connection, limit) = self.connection(deadline)?;
            match connection.exchange(request, limit) {
                Ok(answer) => match answer {
                    // Nothing was done: whatever it is may be asked again.
                    Answer::Error { refusal, .. } if is_of_session(refusal) => thread::sleep(PAUSE),
                    Answer::Error { errno, .. } => {
                        self.give_back(connection);
                        return Err(Errno::from_i32(i32::try_from(errno).unwrap_or(nix::libc::EIO)));
                    }
                    answer => {
                        let read = read(answer);
                        self.give_back(connection);
                        return read;
                    }
                },
                Err(_) if request.may_be_repeated() && Instant::now() < deadline => {}
                // Whether it was done nobody knows.
                Err(_) => return Err(Errno::EIO),
            }
        }
    }

    /// Says that the kernel has forgotten an object.
    pub(super) fn forgot(&self, object: u64, count: u64) {
        let live = self.lock().live.clone();
        if let Some(live) = live {
            live.say(&Request::Forget { object, count });
        }
    }

    /// The mount is gone: the session ends.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        if let Some(live) = state.live.take() {
            live.say(&Request::Bye);
        }
        state.idle.clear();
        self.changed.notify_all();
    }

    /// A new session, after `last`, of which nothing is kept.
    fn begin(&self, last: Option<&Live>) -> Result<(Receiver, Live), Lost> {
        let sent_ms = self.now_ms();
        let (session, boot) = last.map_or((0, 0), |last| (last.session, last.boot));
        let told = self.told()?;
        let credentials = &told.credentials;
        let hello = Request::Hello { class: Class::Callback, session, boot, credentials };
        let (receiver, (boot, session, term_ms)) = self.hello(&hello, told.tls.as_ref())?;
        receiver.stream().socket().set_write_timeout(Some(CONNECTING))?;
        let says = Arc::new(Mutex::new(receiver.stream().clone()));
        let mut state = self.lock();
        state.sessions += 1;
        (state.refused, state.ended_as) = (None, None);
        let live = Live { session, boot, term_ms: term_ms.into(), ours: state.sessions, says, told };
        state.live = Some(live.clone());
        self.until(sent_ms, live.term_ms, live.term_ms);
        self.tally.add(Count::Sessions, 1);
        self.changed.notify_all();
        Ok((receiver, live))
    }

    /// What is shown now.
    fn told(&self) -> Result<Told, Lost> {
        let Some(shown) = &self.shown else { return Ok(Told::default()) };
        let (holder, hello) = (shown.show)().map_err(Lost::NothingToShow)?;
        let config = tls::client(&holder, shown.bundles.clone(), &shown.server);
        let config = config.map_err(|error| Lost::NothingToShow(error.to_string()))?;
        Ok(Told { tls: Some(Arc::new(config)), leaf: holder.leaf, credentials: hello.write() })
    }

    /// Shows what is new before the old ends, so that what is open stays open.
    fn renew(&self) {
        let mut term_ms = 0;
        loop {
            let state = self.lock();
            let every = PAUSE + Duration::from_millis(RENEWED_TERMS * term_ms);
            let waited = self.changed.wait_timeout_while(state, every, |state| !state.is_over);
            let (live, is_over) = {
                let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
                (state.live.clone(), state.is_over)
            };
            if is_over {
                return;
            }
            let Some(live) = live else { continue };
            term_ms = live.term_ms;
            let Ok(told) = self.told() else { continue };
            if (&told.leaf, &told.credentials) == (&live.told.leaf, &live.told.credentials) {
                continue;
            }
            let (session, boot, credentials) = (live.session, live.boot, &told.credentials);
            let hello = Request::Hello { class: Class::Data, session, boot, credentials };
            if self.hello(&hello, told.tls.as_ref()).is_ok()
                && let Some(live) = self.lock().live.as_mut().filter(|now| now.ours == live.ours)
            {
                live.told = told;
            }
        }
    }

    /// Connects and says what for; boot, session and term.
    fn hello(
        &self,
        hello: &Request<'_>,
        tls: Option<&Arc<ClientConfig>>,
    ) -> Result<(Receiver, (u64, Session, u32)), Lost> {
        let socket = TcpStream::connect_timeout(&self.server, CONNECTING)?;
        let stream = match tls {
            None => Stream::plain(socket),
            Some(config) => Stream::client(socket, config.clone())?,
        };
        let mut receiver = Receiver::new(stream)?;
        self.tally.add(Count::Connections, 1);
        let mut out = Vec::new();
        hello.put(&mut out);
        receiver.shake_hands(CONNECTING)?;
        receiver.stream().write_all(&out)?;
        let head = receiver.next(Some(CONNECTING), WHOLE)?;
        match Answer::read(&head, receiver.body()).map_err(io::Error::other)? {
            Answer::Welcome { boot, session, term_ms } => Ok((receiver, (boot, session, term_ms))),
            Answer::Refused { name, sentence } => {
                Err(Lost::Refused { name: name.to_owned(), sentence: sentence.to_owned() })
            }
            _ => Err(Lost::Unreachable(io::ErrorKind::ConnectionRefused.into())),
        }
    }

    /// Hears what the server says, and begins anew when it says nothing any more.
    fn keep(&self, first: (Receiver, Live)) {
        let (mut receiver, mut live) = first;
        loop {
            let _ = self.hear(&mut receiver, &live);
            if self.lock().is_over {
                return;
            }
            self.lose();
            (receiver, live) = loop {
                match self.begin(Some(&live)) {
                    Ok(next) => break next,
                    Err(lost) => self.pause(&lost),
                }
                if self.lock().is_over {
                    return;
                }
            };
        }
    }

    /// Between two attempts. Who is not let in says so at once to whoever asks; who comes too late waits.
    fn pause(&self, lost: &Lost) {
        let mut state = self.lock();
        let pause = match lost.name() {
            None if matches!(lost, Lost::Unproven(_)) => REFUSED,
            None => PAUSE,
            Some(name) => {
                // Who was shown out may have nothing to show any more: why he was says more.
                let name = state.ended_as.clone().unwrap_or_else(|| name.to_owned());
                state.refused = Some(name);
                self.changed.notify_all();
                REFUSED
            }
        };
        drop(self.changed.wait_timeout_while(state, pause, |state| !state.is_over));
    }

    /// Until when the leaf is good by which the session was begun or renewed, in seconds since 1970.
    pub(super) fn leaf_until_unix_s(&self) -> Option<u64> {
        let leaf = self.lock().live.as_ref().map(|live| live.told.leaf.clone())?;
        until_unix_s(&leaf)
    }

    /// Whether there is nobody any more whose session it is.
    pub(super) fn is_logged_out(&self) -> bool {
        self.shown.as_ref().is_some_and(|shown| (shown.is_over)())
    }

    /// Why nothing is read or done now, if the credentials were refused.
    pub(super) fn refused(&self) -> Option<String> {
        self.lock().refused.clone()
    }

    /// What the kernel was told may end without our hearing of it.
    fn lose(&self) {
        let mut state = self.lock();
        state.live = None;
        state.idle.clear();
        self.until_ms.store(0, Ordering::Relaxed);
        drop(state);
        self.tally.add(Count::Lost, 1);
        self.kernel.break_all();
    }

    fn hear(&self, receiver: &mut Receiver, live: &Live) -> Result<(), Cut> {
        let silence = Duration::from_millis(live.term_ms);
        loop {
            let head = receiver.next(Some(silence), WHOLE)?;
            match Answer::read(&head, receiver.body())? {
                Answer::Alive { stamp, left_ms } => self.until(stamp, left_ms, live.term_ms),
                Answer::Break { number, object, what } => {
                    self.tally.add(Count::Breaks, 1);
                    self.kernel.break_it(object, what);
                    live.say(&Request::Ack { number });
                }
                Answer::Changed => self.kernel.break_all(),
                Answer::Refused { name, .. } => {
                    self.lock().ended_as = Some(name.to_owned());
                    return Err(Cut::Closed);
                }
                _ => return Err(Cut::Closed),
            }
        }
    }

    /// The kernel may believe what it is told for `left_ms` from then on, less a tenth of a term: its clock has ticks, and an answer may lie
    /// about for a moment before it gets there.
    fn until(&self, sent_ms: u64, left_ms: u64, term_ms: u64) {
        let until = sent_ms.saturating_add(left_ms).saturating_sub(term_ms / 10);
        self.until_ms.store(until, Ordering::Relaxed);
    }

    fn ping(&self) {
        loop {
            let mut state = self.lock();
            if state.is_over {
                return;
            }
            let every = state.live.as_ref().map_or(PAUSE, |live| Duration::from_millis(live.term_ms / 3));
            state = self.changed.wait_timeout(state, every).unwrap_or_else(PoisonError::into_inner).0;
            if let Some(live) = state.live.clone() {
                drop(state);
                live.say(&Request::Ping { stamp: self.now_ms() });
            }
        }
    }

    /// A connection of the session, and how long an answer on it may take: a change waits for a term before it is begun, and
    /// for one while it is made.
    fn connection(&self, deadline: Instant) -> Result<(Connection, Duration), Errno> {
        let mut state = self.lock();
        loop {
            if state.is_over || Instant::now() >= deadline {
                return Err(Errno::EIO);
            }
            if state.refused.is_some() {
                return Err(Errno::EACCES);
            }
            let Some(live) = state.live.clone() else {
                state = self.changed.wait_timeout(state, PAUSE).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            };
            let limit = PATIENCE + Duration::from_millis(3 * live.term_ms);
            if let Some(connection) = state.idle.pop() {
                return Ok((connection, limit));
            }
            drop(state);
            let (session, boot) = (live.session, live.boot);
            let hello = Request::Hello { class: Class::Data, session, boot, credentials: &[] };
            match self.hello(&hello, live.told.tls.as_ref()) {
                Ok((receiver, _)) => {
                    return Ok((Connection { receiver, out: Vec::new(), ours: live.ours }, limit));
                }
                Err(_) => thread::sleep(PAUSE),
            }
            state = self.lock();
        }
    }

    fn give_back(&self, connection: Connection) {
        let mut state = self.lock();
        let is_ours = state.live.as_ref().is_some_and(|live| live.ours == connection.ours);
        if is_ours && state.idle.len() < MOST_IDLE {
            state.idle.push(connection);
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Live {
    /// A session whose server does not listen any more is found out where it is heard.
    fn say(&self, request: &Request<'_>) {
        let mut out = Vec::new();
        request.put(&mut out);
        let _ = lock(&self.says).write_all(&out);
    }
}

impl Connection {
    fn exchange(&mut self, request: &Request<'_>, limit: Duration) -> Result<Answer<'_>, Cut> {
        self.out.clear();
        request.put(&mut self.out);
        self.receiver.stream().write_all(&self.out)?;
        let head = self.receiver.next(Some(limit), WHOLE)?;
        Ok(Answer::read(&head, self.receiver.body())?)
    }
}

fn is_of_session(refusal: u32) -> bool {
    [Refusal::SessionOver.number(), Refusal::OtherBoot.number()].contains(&refusal)
}
