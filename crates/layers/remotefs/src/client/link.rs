//! Link to the server: a session, its pings, and connections for questions.
//!
//! Measured side, client process, hot. Owns the time for which the kernel may keep answers. It ends before the
//! server's time does, as it counts from when a ping was *sent*. A thread with a question takes a connection, writes,
//! reads the answer and gives the connection back; there are as many connections as threads that ask at a time. One
//! more connection is the session's: it carries breaks, which a thread acknowledges that waits for no other. A
//! session's first small questions go there, too ([`Ride`]): reading one file of a server takes one connection. The
//! first question of a connection goes with HELLO, if it may be asked twice.
//!
//! A lost link makes the kernel forget everything, and a new session begins. Questions wait for it, for a while.

use super::counters::{ClientCounters, Count};
use super::kernel::Kernel;
use super::shown::Shown;
use crate::frame::{ClientRequest, ConnectionPurpose, MessageHead, ServerReply};
use crate::lease::SessionNumber;
use crate::network::{Cut, Receiver};
use crate::refusal::Refusal;
use crate::stream::Stream;
use bakeoff_layers_base::locks::lock;
use bakeoff_layers_credentials::leaf::until_unix_s;
use bakeoff_layers_credentials::{CredentialRefusal, tls};
use fuser::Errno;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use std::collections::HashMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Time for which a question waits for a server that is away.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time limit for making a connection and for a whole beginning on it, and for a frame from its first byte to its last.
const CONNECTING: Duration = Duration::from_secs(5);
const WHOLE: Duration = Duration::from_secs(60);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// The same if one side refused the other: other credentials may be there later.
const REFUSED: Duration = Duration::from_secs(2);
/// Interval of checks for new credentials, in terms: leafs live for minutes.
const RENEWED_TERMS: u64 = 3;
/// Limit on idle connections.
const MOST_IDLE: usize = 15;
/// Number of a session's questions that go on its callback connection, before it has another.
const RIDES: u32 = 4;
/// Time for which the asking threads read a first session's connection, and a break may have to wait.
const YOUNG: Duration = Duration::from_millis(20);
/// Time limit for such an answer.
const ANSWER: Duration = Duration::from_secs(20);
/// Longest time for which credentials, gathered before the first question, are used.
const GATHERED: Duration = Duration::from_secs(30);

/// Reasons for having no session.
#[derive(Debug, Error)]
pub(super) enum Lost {
    /// The server cannot be reached, or does not speak the protocol.
    #[error(transparent)]
    Unreachable(#[from] io::Error),
    /// One side could not prove its identity.
    #[error("{0}")]
    Unproven(String),
    /// Our credentials are missing, or malformed.
    #[error("{0}")]
    NothingToShow(String),
    /// The server refuses our credentials.
    #[error("{sentence}")]
    Refused { name: String, sentence: String },
}

impl Lost {
    /// Name of the refusal, if credentials are the reason.
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
                let named = |refusal: &CredentialRefusal| format!("{}: {refusal}", refusal.name());
                Self::Unproven(tls::refusal(&error).map_or_else(|| error.to_string(), named))
            }
            Err(error) => Self::Unreachable(error),
        }
    }
}

/// A session of ours.
#[derive(Clone, Debug)]
struct Live {
    session: SessionNumber,
    boot: u64,
    term_ms: u64,
    /// Number of the session among ours: the first is 1.
    ours: u64,
    says: Arc<Mutex<Stream>>,
    /// Credentials shown last; shared, as each question takes a copy of the session.
    told: Arc<ShownCredentials>,
}

/// Credentials shown to a server.
#[derive(Clone, Debug, Default)]
struct ShownCredentials {
    /// Our TLS identity, and the server's expected one; `None` without credentials.
    tls: Option<Arc<ClientConfig>>,
    leaf: Vec<u8>,
    /// Their expiry, in seconds since 1970.
    leaf_until_unix_s: Option<u64>,
    credentials: Vec<u8>,
}

/// The credentials, and the beginning of a TLS connection to the server.
type Gathered = (ShownCredentials, Option<ClientConnection>);

/// A connection for questions.
#[derive(Debug)]
struct Connection {
    receiver: Receiver,
    out: Vec<u8>,
    /// Number of our session.
    ours: u64,
}

/// Result of waiting for an answer.
enum ReplyWait {
    Here(MessageHead, Connection),
    Beside(MessageHead, Vec<u8>),
}

/// Receiver of the answer to a question on the callback connection.
type Ride = Sender<(MessageHead, Vec<u8>)>;
type Rides = mpsc::Receiver<(MessageHead, Vec<u8>)>;

/// Reasons for having no answer.
enum Unheard {
    /// The question was not sent.
    No(Errno),
    /// It is unknown whether it was carried out.
    Cut,
}

impl From<Cut> for Unheard {
    fn from(_: Cut) -> Self {
        Self::Cut
    }
}

/// Progress of the first session.
#[derive(Debug, Default)]
enum Start {
    /// Its thread reads its connection.
    #[default]
    Heard,
    /// The first question will begin it.
    Delayed,
    /// A waiting question reads its connection.
    Asked,
    /// Nobody reads its connection at the moment; or it could not be begun.
    Young(Option<(Receiver, Live)>),
}

#[derive(Debug, Default)]
struct State {
    live: Option<Live>,
    idle: Vec<Connection>,
    /// Questions under way, by number.
    asking: HashMap<u64, Underway>,
    asked: u64,
    sessions: u64,
    start: Start,
    ride: Option<Ride>,
    rides_left: u32,
    /// Credentials for the first session, with the time of their gathering.
    gathered: Option<(Instant, Gathered)>,
    /// Reason for having no session.
    lost: Option<String>,
    is_over: bool,
    /// Name of the last refusal of the credentials; nothing may be read or done then.
    refused: Option<String>,
    /// Name of the refusal with which the server ended the last session.
    ended_as: Option<String>,
}

/// The link to a server.
pub(super) struct Link {
    server: SocketAddr,
    shown: Option<Shown>,
    started: Instant,
    /// Time until which the kernel may keep answers, in milliseconds since `started`.
    until_ms: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
    kernel: Arc<Kernel>,
    tally: Arc<ClientCounters>,
}

impl Link {
    /// Begins a session, or leaves that to the first question; and starts the threads that keep it.
    pub(super) fn open(
        server: SocketAddr,
        (shown, is_delayed): (Option<Shown>, bool),
        kernel: Arc<Kernel>,
        tally: Arc<ClientCounters>,
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
        let first = match is_delayed {
            true => {
                let gathered = Some((Instant::now(), link.gather()?));
                *link.lock() = State { start: Start::Delayed, gathered, ..State::default() };
                None
            }
            false => Some(link.begin(None, None)?),
        };
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

    /// Time for which the kernel may keep an answer given now.
    pub(super) fn left(&self) -> Duration {
        Duration::from_millis(self.until_ms.load(Ordering::Relaxed).saturating_sub(self.now_ms()))
    }

    /// Asks a question, and reads the answer.
    pub(super) fn ask<T>(
        &self,
        request: &ClientRequest<'_>,
        read: impl FnOnce(ServerReply<'_>) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let heard = match self.exchange(request, deadline) {
                Ok(heard) => heard,
                Err(Unheard::No(errno)) => return Err(errno),
                Err(Unheard::Cut) if request.may_be_repeated() && Instant::now() < deadline => continue,
                Err(Unheard::Cut) => return Err(Errno::EIO),
            };
            let read = match heard.answer() {
                // Nothing was done: any question may be asked again.
                Ok(ServerReply::Error { refusal, .. }) if is_of_session(refusal) => {
                    thread::sleep(PAUSE);
                    continue;
                }
                Ok(ServerReply::Error { errno, .. }) => {
                    Err(Errno::from_i32(i32::try_from(errno).unwrap_or(nix::libc::EIO)))
                }
                Ok(answer) => read(answer),
                // It was done, but the answer is malformed.
                Err(_) => return Err(Errno::EIO),
            };
            if let ReplyWait::Here(_, connection) = heard {
                self.give_back(connection);
            }
            return read;
        }
    }

    fn exchange(&self, request: &ClientRequest<'_>, deadline: Instant) -> Result<ReplyWait, Unheard> {
        if let Some(beside) = self.first(request).or_else(|| self.ride(request)) {
            let (head, body) = beside.recv_timeout(ANSWER).map_err(|_| Unheard::Cut)?;
            return Ok(ReplyWait::Beside(head, body));
        }
        let (mut connection, limit, is_asked, _asking) = self.connection(request, deadline)?;
        if !is_asked {
            connection.say(request)?;
        }
        let head = connection.receiver.next(Some(limit), WHOLE)?;
        Ok(ReplyWait::Here(head, connection))
    }

    /// Begins the first session, if that is left to a question; returns the receiver of the answer, if the question
    /// could go with HELLO.
    fn first(&self, request: &ClientRequest<'_>) -> Option<Rides> {
        let rides = {
            let mut state = self.lock();
            if !matches!(state.start, Start::Delayed) {
                return None;
            }
            state.start = Start::Asked;
            request.is_small().then(|| state.rides())
        };
        match self.begin(None, rides.is_some().then_some(request)) {
            Ok(begun) if rides.is_some() => self.hear_answer(begun),
            Ok(begun) => self.leave(Some(begun)),
            Err(lost) => {
                self.note(&lost);
                self.lock().ride = None;
                self.leave(None);
            }
        }
        rides
    }

    /// Asks on the callback connection, if the session is young; returns the receiver of the answer.
    fn ride(&self, request: &ClientRequest<'_>) -> Option<Rides> {
        let (live, rides, young) = {
            let mut state = self.lock();
            let may =
                request.is_small() && state.rides_left > 0 && state.ride.is_none() && state.idle.is_empty();
            let live = state.live.clone().filter(|_| may)?;
            let young = match &mut state.start {
                Start::Young(young) => young.take(),
                _ => None,
            };
            if young.is_some() {
                state.start = Start::Asked;
            }
            state.rides_left -= 1;
            (live, state.rides(), young)
        };
        live.say(request);
        if let Some(young) = young {
            self.hear_answer(young);
        }
        Some(rides)
    }

    /// Reads the connection until the answer has come: another thread would have to be woken for it.
    fn hear_answer(&self, (mut receiver, live): (Receiver, Live)) {
        while self.lock().ride.is_some() && self.hear_once(&mut receiver, &live).is_ok() {}
        self.leave(Some((receiver, live)));
    }

    /// Leaves the young session's connection to the next question, or to the thread that reads it.
    fn leave(&self, young: Option<(Receiver, Live)>) {
        self.lock().start = Start::Young(young);
        self.changed.notify_all();
    }

    /// Tells the server that the kernel has forgotten an object, as far as this session's server mentioned it.
    pub(super) fn forgot(&self, object: u64, count: u64) {
        // The session comes first: if it is lost meanwhile, the next one must not hear of this.
        let live = self.lock().live.clone();
        let count = self.kernel.forgot(object, count);
        if let Some(live) = live.filter(|_| count > 0) {
            live.say(&ClientRequest::Forget { object, count });
        }
    }

    /// Ends the session, as the mount is gone.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        if let Some(live) = state.live.take() {
            live.say(&ClientRequest::Bye);
        }
        state.abort();
        state.asking.values().for_each(Underway::cut);
        self.changed.notify_all();
    }

    /// Begins a new session, after `last`, of which nothing is kept; its first question may go with HELLO.
    fn begin(
        &self,
        last: Option<&Live>,
        question: Option<&ClientRequest<'_>>,
    ) -> Result<(Receiver, Live), Lost> {
        let sent_ms = self.now_ms();
        let (session, boot) = last.map_or((0, 0), |last| (last.session, last.boot));
        let gathered = self.lock().gathered.take().filter(|(since, _)| since.elapsed() < GATHERED);
        let (told, tls) = gathered.map_or_else(|| self.gather(), |(_, gathered)| Ok(gathered))?;
        let credentials = &told.credentials;
        let hello = ClientRequest::Hello { class: ConnectionPurpose::Callback, session, boot, credentials };
        let (receiver, (boot, session, term_ms)) = self.hello(&hello, question, tls)?;
        receiver.stream().socket().set_write_timeout(Some(CONNECTING))?;
        let says = Arc::new(Mutex::new(receiver.stream().clone()));
        let mut state = self.lock();
        state.sessions += 1;
        (state.refused, state.ended_as, state.lost) = (None, None, None);
        state.rides_left = RIDES;
        let live =
            Live { session, boot, term_ms: term_ms.into(), ours: state.sessions, says, told: Arc::new(told) };
        state.live = Some(live.clone());
        self.until(sent_ms, live.term_ms, live.term_ms);
        self.tally.add(Count::Sessions, 1);
        self.changed.notify_all();
        Ok((receiver, live))
    }

    /// The present credentials.
    fn told(&self) -> Result<ShownCredentials, Lost> {
        let Some(shown) = &self.shown else { return Ok(ShownCredentials::default()) };
        let (holder, hello) = (shown.show)().map_err(Lost::NothingToShow)?;
        let config = tls::client(&holder, (shown.bundles)(), &shown.server);
        let config = config.map_err(|error| Lost::NothingToShow(error.to_string()))?;
        let leaf_until_unix_s = until_unix_s(&holder.leaf);
        let (tls, credentials) = (Some(Arc::new(config)), hello.write());
        Ok(ShownCredentials { tls, leaf: holder.leaf, leaf_until_unix_s, credentials })
    }

    /// The same, with a TLS connection begun.
    fn gather(&self) -> Result<Gathered, Lost> {
        let told = self.told()?;
        let tls = self.tls(&told)?;
        Ok((told, tls))
    }

    /// First message of TLS with its keys; `None` without credentials.
    fn tls(&self, told: &ShownCredentials) -> Result<Option<ClientConnection>, Lost> {
        let Some(config) = &told.tls else { return Ok(None) };
        let made = ClientConnection::new(config.clone(), ServerName::from(self.server.ip()));
        made.map(Some).map_err(|error| Lost::Unreachable(io::Error::other(error)))
    }

    /// Shows new credentials before the old expire, so that open files stay open.
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
            let hello = ClientRequest::Hello { class: ConnectionPurpose::Data, session, boot, credentials };
            let said = self.tls(&told).and_then(|tls| self.hello(&hello, None, tls));
            if said.is_ok()
                && let Some(live) = self.lock().live.as_mut().filter(|now| now.ours == live.ours)
            {
                live.told = Arc::new(told);
            }
        }
    }

    /// Connects, says HELLO, and asks the first question if possible; returns boot, session and term.
    fn hello(
        &self,
        hello: &ClientRequest<'_>,
        question: Option<&ClientRequest<'_>>,
        tls: Option<ClientConnection>,
    ) -> Result<(Receiver, (u64, SessionNumber, u32)), Lost> {
        let began = Instant::now();
        let socket = TcpStream::connect_timeout(&self.server, CONNECTING)?;
        let connected = Instant::now();
        let stream = match tls {
            None => Stream::plain(socket),
            Some(tls) => Stream::client(socket, tls),
        };
        let mut receiver = Receiver::new(stream)?;
        self.tally.add(Count::Connections, 1);
        let mut out = Vec::new();
        hello.put(&mut out);
        if let Some(question) = question {
            question.put(&mut out);
        }
        let left = || CONNECTING.saturating_sub(began.elapsed());
        receiver.shake_hands(left())?;
        let shaken = Instant::now();
        receiver.stream().write_all(&out)?;
        let head = receiver.next(Some(left()), left())?;
        match ServerReply::read(&head, receiver.body()).map_err(io::Error::other)? {
            ServerReply::Welcome { boot, session, term_ms } => {
                if matches!(hello, ClientRequest::Hello { class: ConnectionPurpose::Callback, .. }) {
                    self.count_steps([began, connected, shaken, Instant::now()]);
                }
                Ok((receiver, (boot, session, term_ms)))
            }
            ServerReply::Refused { name, sentence } => {
                Err(Lost::Refused { name: name.to_owned(), sentence: sentence.to_owned() })
            }
            ServerReply::Error { refusal, .. } => {
                let known = (refusal as usize).checked_sub(1).and_then(|at| Refusal::ALL.get(at).copied());
                Err(Lost::Unreachable(known.map_or(io::ErrorKind::InvalidData.into(), io::Error::other)))
            }
            _ => Err(Lost::Unreachable(io::ErrorKind::ConnectionRefused.into())),
        }
    }

    /// Counts the time of each step of a session's beginning: the connection, the TLS handshake, and the server's
    /// check of the credentials.
    fn count_steps(&self, moments: [Instant; 4]) {
        let counts = [Count::ConnectNs, Count::HandshakeNs, Count::VerifyNs];
        for (count, step) in counts.into_iter().zip(moments.windows(2)) {
            let [from, to] = step else { continue };
            self.tally.add(count, u64::try_from((*to - *from).as_nanos()).unwrap_or(u64::MAX));
        }
    }

    /// Reads what the server sends, and begins a new session when it falls silent.
    fn keep(&self, first: Option<(Receiver, Live)>) {
        let mut next = first.or_else(|| self.arrived());
        let mut last = None;
        loop {
            if self.lock().is_over {
                return;
            }
            let (mut receiver, live) = match next.take() {
                Some(next) => next,
                None => match self.begin(last.as_ref(), None) {
                    Ok(next) => next,
                    Err(lost) => {
                        self.pause(&lost);
                        continue;
                    }
                },
            };
            while self.hear_once(&mut receiver, &live).is_ok() {}
            if self.lock().is_over {
                return;
            }
            self.lose();
            last = Some(live);
        }
    }

    /// Waits for the session that the first question begins, and until no question uses it any more; `None` if it
    /// could not be begun.
    fn arrived(&self) -> Option<(Receiver, Live)> {
        let is_away = |state: &mut State| !state.is_over && !matches!(state.start, Start::Young(_));
        let waited = self.changed.wait_while(self.lock(), is_away);
        drop(waited.map(|state| self.changed.wait_timeout_while(state, YOUNG, |state| !state.is_over)));
        let waited = self.changed.wait_while(self.lock(), is_away);
        match std::mem::take(&mut waited.unwrap_or_else(PoisonError::into_inner).start) {
            Start::Young(arrived) => arrived,
            _ => None,
        }
    }

    /// Records why there is no session. A refusal fails waiting questions at once; otherwise they go on waiting.
    fn note(&self, lost: &Lost) {
        let mut state = self.lock();
        state.lost = Some(lost.to_string());
        if let Some(name) = lost.name() {
            // A client that was expelled may have nothing left to show: the server's reason says more.
            let name = state.ended_as.clone().unwrap_or_else(|| name.to_owned());
            state.refused = Some(name);
            self.changed.notify_all();
        }
    }

    /// Waits between two attempts.
    fn pause(&self, lost: &Lost) {
        self.note(lost);
        let pause = match lost {
            Lost::Unreachable(_) => PAUSE,
            _ => REFUSED,
        };
        drop(self.changed.wait_timeout_while(self.lock(), pause, |state| !state.is_over));
    }

    /// Reason why there is no session now, for the status: a name if credentials were refused, and a sentence.
    pub(super) fn trouble(&self) -> (Option<String>, Option<String>) {
        let state = self.lock();
        (state.refused.clone(), state.lost.clone())
    }

    /// Expiry of the leaf by which the session was begun or renewed, in seconds since 1970.
    pub(super) fn leaf_until_unix_s(&self) -> Option<u64> {
        self.lock().live.as_ref()?.told.leaf_until_unix_s
    }

    /// Whether the session's user has logged out.
    pub(super) fn is_logged_out(&self) -> bool {
        self.shown.as_ref().is_some_and(|shown| (shown.is_over)())
    }

    /// Handles the loss of the server: changes are no longer announced to us.
    fn lose(&self) {
        let mut state = self.lock();
        state.live = None;
        state.abort();
        self.until_ms.store(0, Ordering::Relaxed);
        drop(state);
        self.tally.add(Count::Lost, 1);
        self.kernel.lost();
    }

    fn hear_once(&self, receiver: &mut Receiver, live: &Live) -> Result<(), Cut> {
        // A term counts from when a ping was sent, not from when its answer came over a slow wire: from then on others may
        // change what is mapped here.
        let head = receiver.next(Some(self.left()), WHOLE)?;
        match ServerReply::read(&head, receiver.body())? {
            ServerReply::Alive { stamp, left_ms } => self.until(stamp, left_ms, live.term_ms),
            ServerReply::Break { number, object, what } => {
                self.tally.add(Count::Breaks, 1);
                let live = live.clone();
                let ack = move || live.say(&ClientRequest::Ack { number });
                self.kernel.break_it(object, what, Box::new(ack));
            }
            ServerReply::Changed => self.kernel.break_all(&()),
            ServerReply::Refused { name, .. } => {
                self.lock().ended_as = Some(name.to_owned());
                return Err(Cut::Closed);
            }
            _ => {
                let ride = self.lock().ride.take().ok_or(Cut::Closed)?;
                // The asking thread may have given up.
                let _ = ride.send((head, receiver.body().to_vec()));
            }
        }
        Ok(())
    }

    /// Lets the kernel keep answers for `left_ms` from then on, less a tenth of a term: its clock has ticks, and an
    /// answer may be delayed before it gets there.
    fn until(&self, sent_ms: u64, left_ms: u64, term_ms: u64) {
        let until = sent_ms.saturating_add(left_ms).saturating_sub(term_ms / 10);
        self.until_ms.store(until, Ordering::Relaxed);
    }

    fn ping(&self) {
        loop {
            let state = self.lock();
            let every = state.live.as_ref().map_or(PAUSE, |live| Duration::from_millis(live.term_ms / 3));
            let waited = self.changed.wait_timeout_while(state, every, |state| !state.is_over);
            let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if state.is_over {
                return;
            }
            state.cut_overdue(Instant::now());
            if let Some(live) = state.live.clone() {
                drop(state);
                live.say(&ClientRequest::Ping { stamp: self.now_ms() });
            }
        }
    }

    /// A connection of the session, the time limit of an answer on it, and whether the request was sent on it
    /// already. A change waits up to a term before it begins, and up to another while it is made.
    fn connection(
        &self,
        request: &ClientRequest<'_>,
        deadline: Instant,
    ) -> Result<(Connection, Duration, bool, Asking<'_>), Unheard> {
        let mut state = self.lock();
        loop {
            if state.is_over || Instant::now() >= deadline {
                return Err(Unheard::No(Errno::EIO));
            }
            if state.refused.is_some() {
                return Err(Unheard::No(Errno::EACCES));
            }
            let Some(live) = state.live.clone() else {
                state = self.changed.wait_timeout(state, PAUSE).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            };
            let limit = PATIENCE + Duration::from_millis(3 * live.term_ms);
            if let Some(connection) = state.idle.pop() {
                let asking = self.asking(&mut state, &connection, (request, deadline));
                return Ok((connection, limit, false, asking));
            }
            drop(state);
            let (session, boot) = (live.session, live.boot);
            let hello =
                ClientRequest::Hello { class: ConnectionPurpose::Data, session, boot, credentials: &[] };
            let with = Some(request).filter(|request| request.may_be_repeated());
            match self.tls(&live.told).and_then(|tls| self.hello(&hello, with, tls)) {
                Ok((receiver, _)) => {
                    let connection = Connection { receiver, out: Vec::new(), ours: live.ours };
                    state = self.lock();
                    if state.live.as_ref().is_some_and(|now| now.ours == live.ours) {
                        let asking = self.asking(&mut state, &connection, (request, deadline));
                        return Ok((connection, limit, with.is_some(), asking));
                    }
                }
                Err(_) => {
                    thread::sleep(PAUSE);
                    state = self.lock();
                }
            }
        }
    }

    /// Notes that a connection has a question under way, until the result is dropped.
    fn asking<'l>(
        &'l self,
        state: &mut State,
        connection: &Connection,
        (request, deadline): (&ClientRequest<'_>, Instant),
    ) -> Asking<'l> {
        let (stream, may_be_repeated) = (connection.receiver.stream().clone(), request.may_be_repeated());
        state.asked += 1;
        state.asking.insert(state.asked, Underway { stream, may_be_repeated, deadline, is_lost: false });
        Asking { link: self, number: state.asked }
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
    /// A session whose server does not listen any more is noticed by its reader.
    fn say(&self, request: &ClientRequest<'_>) {
        let mut out = Vec::new();
        request.put(&mut out);
        let _ = lock(&self.says).write_all(&out);
    }
}

impl State {
    /// Ends all connections. Whoever may ask again hears at once: a page that is being read is locked, and nothing can
    /// be dropped or unmounted that waits for it. The server may still say whether it did what may not be repeated.
    fn abort(&mut self) {
        self.idle.clear();
        self.ride = None;
        for question in self.asking.values_mut() {
            question.is_lost = true;
            if question.may_be_repeated {
                question.cut();
            }
        }
        self.cut_overdue(Instant::now());
    }

    /// Ends what was left when the session was lost, and has had its time.
    fn cut_overdue(&self, now: Instant) {
        let is_overdue = |question: &&Underway| question.is_lost && question.deadline <= now;
        self.asking.values().filter(is_overdue).for_each(Underway::cut);
    }

    /// Receiver for the next answer on the callback connection.
    fn rides(&mut self) -> Rides {
        let (ride, rides) = mpsc::channel();
        self.ride = Some(ride);
        rides
    }
}

/// A question under way on a connection.
#[derive(Debug)]
struct Underway {
    stream: Stream,
    may_be_repeated: bool,
    /// Time limit of its answer if its session is lost, and whether it is.
    deadline: Instant,
    is_lost: bool,
}

impl Underway {
    fn cut(&self) {
        let _ = self.stream.socket().shutdown(Shutdown::Both);
    }
}

/// Entry of a question under way, until this is dropped.
struct Asking<'l> {
    link: &'l Link,
    number: u64,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.link.lock().asking.remove(&self.number);
    }
}

impl ReplyWait {
    fn answer(&self) -> Result<ServerReply<'_>, Refusal> {
        match self {
            Self::Here(head, connection) => ServerReply::read(head, connection.receiver.body()),
            Self::Beside(head, body) => ServerReply::read(head, body),
        }
    }
}

impl Connection {
    fn say(&mut self, request: &ClientRequest<'_>) -> Result<(), Unheard> {
        self.out.clear();
        request.put(&mut self.out);
        self.receiver.stream().write_all(&self.out).map_err(|_| Unheard::Cut)
    }
}

fn is_of_session(refusal: u32) -> bool {
    [Refusal::SessionOver.number(), Refusal::OtherBoot.number()].contains(&refusal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    /// A server that hangs is not heard for a term, and then its session is lost.
    #[test]
    fn a_question_waits_for_a_lost_session_no_longer_than_for_any() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut state, now) = (State::default(), Instant::now());
        let mut asks = |number: u64, may_be_repeated: bool, deadline: Instant| {
            let own = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let stream = Stream::plain(own);
            state.asking.insert(number, Underway { stream, may_be_repeated, deadline, is_lost: false });
            let other = listener.accept().unwrap().0;
            other.set_nonblocking(true).unwrap();
            other
        };
        let later = now + PATIENCE;
        let mut ends = [asks(1, true, later), asks(2, false, now), asks(3, false, later)];
        let mut are_cut = || ends.each_mut().map(|end| matches!(end.read(&mut [0]), Ok(0)));
        assert_eq!(are_cut(), [false; 3]);
        state.abort();
        assert_eq!(are_cut(), [true, true, false]);
        state.cut_overdue(later);
        assert_eq!(are_cut(), [true; 3]);
    }
}
