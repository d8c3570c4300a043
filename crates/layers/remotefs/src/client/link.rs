//! The way to the server: a session, its signs of life, and connections for questions.
//!
//! Measured side, client process, hot. Owns the time for which the kernel may believe what it is told: it ends before the server's
//! does, as it counts from when a ping was *sent*. A thread that has a question takes a connection, writes, reads the answer and
//! gives the connection back; there are as many as threads ask at a time. One more connection is the session's: on it breaks come,
//! and are acknowledged by a thread that waits for no other. A session's first small questions go there, too ([`Ride`]): who reads one
//! file of a server makes one connection. What is asked first on a connection goes with HELLO, if it may be asked twice.
//!
//! When it is lost the kernel is made to forget everything, and a new session begins. Questions wait for it, for a while.

use super::Shown;
use super::counters::{Count, Tally};
use super::kernel::Kernel;
use crate::frame::{Answer, Class, Head, Request};
use crate::lease::Session;
use crate::network::{Cut, Receiver};
use crate::refusal::Refusal;
use crate::stream::Stream;
use bakeoff_layers_base::locks::lock;
use bakeoff_layers_credentials::leaf::until_unix_s;
use bakeoff_layers_credentials::{Refusal as Refused, tls};
use fuser::Errno;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
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
/// Questions of a session that go on its callback connection, before it has another.
const RIDES: u32 = 4;
/// So long a first session's connection is heard by those who ask, and a break may have to wait.
const YOUNG: Duration = Duration::from_millis(20);
/// The longest that such an answer may take.
const ANSWER: Duration = Duration::from_secs(20);
/// What was gathered for a server before it is asked anything is shown to it for so long.
const GATHERED: Duration = Duration::from_secs(30);

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
    /// What was shown last; shared, as each question takes a copy of the session.
    told: Arc<Told>,
}

/// What is shown to a server.
#[derive(Clone, Debug, Default)]
struct Told {
    /// By which the server is known, and we are; none without credentials.
    tls: Option<Arc<ClientConfig>>,
    leaf: Vec<u8>,
    /// Until when that is good, in seconds since 1970.
    leaf_until_unix_s: Option<u64>,
    credentials: Vec<u8>,
}

/// That, and the beginning of a conversation with the server.
type Gathered = (Told, Option<ClientConnection>);

/// A connection for questions.
#[derive(Debug)]
struct Connection {
    receiver: Receiver,
    out: Vec<u8>,
    /// Of which of our sessions.
    ours: u64,
}

/// An answer, where it came.
enum Heard {
    Here(Head, Connection),
    Beside(Head, Vec<u8>),
}

/// Where the answer goes to a question that was asked on the callback connection.
type Ride = Sender<(Head, Vec<u8>)>;
type Rides = mpsc::Receiver<(Head, Vec<u8>)>;

/// Why there is no answer.
enum Unheard {
    /// Nothing was asked.
    No(Errno),
    /// Whether it was done nobody knows.
    Cut,
}

impl From<Cut> for Unheard {
    fn from(_: Cut) -> Self {
        Self::Cut
    }
}

/// How the first session is begun.
#[derive(Debug, Default)]
enum Start {
    /// Its connection is heard by the thread for it.
    #[default]
    Heard,
    /// By the first question.
    Delayed,
    /// Its connection is with a question that waits.
    Asked,
    /// Its connection is with nobody, for a moment; or it could not be begun.
    Young(Option<(Receiver, Live)>),
}

#[derive(Debug, Default)]
struct State {
    live: Option<Live>,
    idle: Vec<Connection>,
    sessions: u64,
    start: Start,
    ride: Option<Ride>,
    rides_left: u32,
    /// For the first session, and since when it is there.
    gathered: Option<(Instant, Gathered)>,
    /// Why there is no session.
    lost: Option<String>,
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
    /// Begins a session, or has the first question begin it; and the threads that keep it.
    pub(super) fn open(
        server: SocketAddr,
        (shown, is_delayed): (Option<Shown>, bool),
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
            let heard = match self.exchange(request, deadline) {
                Ok(heard) => heard,
                Err(Unheard::No(errno)) => return Err(errno),
                Err(Unheard::Cut) if request.may_be_repeated() && Instant::now() < deadline => continue,
                Err(Unheard::Cut) => return Err(Errno::EIO),
            };
            let read = match heard.answer() {
                // Nothing was done: whatever it is may be asked again.
                Ok(Answer::Error { refusal, .. }) if is_of_session(refusal) => {
                    thread::sleep(PAUSE);
                    continue;
                }
                Ok(Answer::Error { errno, .. }) => {
                    Err(Errno::from_i32(i32::try_from(errno).unwrap_or(nix::libc::EIO)))
                }
                Ok(answer) => read(answer),
                // It was done, and what is said of it is no frame.
                Err(_) => return Err(Errno::EIO),
            };
            if let Heard::Here(_, connection) = heard {
                self.give_back(connection);
            }
            return read;
        }
    }

    fn exchange(&self, request: &Request<'_>, deadline: Instant) -> Result<Heard, Unheard> {
        if let Some(beside) = self.first(request).or_else(|| self.ride(request)) {
            let (head, body) = beside.recv_timeout(ANSWER).map_err(|_| Unheard::Cut)?;
            return Ok(Heard::Beside(head, body));
        }
        let (mut connection, limit, is_asked) = self.connection(request, deadline)?;
        if !is_asked {
            connection.say(request)?;
        }
        let head = connection.receiver.next(Some(limit), WHOLE)?;
        Ok(Heard::Here(head, connection))
    }

    /// Begins the first session, if that is for a question to do; where its answer comes, if it could go with HELLO.
    fn first(&self, request: &Request<'_>) -> Option<Rides> {
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

    /// Asks on the callback connection, if the session is young; where the answer comes.
    fn ride(&self, request: &Request<'_>) -> Option<Rides> {
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

    /// Hears the connection until the answer has come: another thread would have to be woken for it.
    fn hear_answer(&self, (mut receiver, live): (Receiver, Live)) {
        while self.lock().ride.is_some() && self.hear_once(&mut receiver, &live).is_ok() {}
        self.leave(Some((receiver, live)));
    }

    /// Leaves the young session's connection to whoever asks next, or to the thread that hears it.
    fn leave(&self, young: Option<(Receiver, Live)>) {
        self.lock().start = Start::Young(young);
        self.changed.notify_all();
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
        state.ride = None;
        self.changed.notify_all();
    }

    /// A new session, after `last`, of which nothing is kept; its first question may go with HELLO.
    fn begin(&self, last: Option<&Live>, question: Option<&Request<'_>>) -> Result<(Receiver, Live), Lost> {
        let sent_ms = self.now_ms();
        let (session, boot) = last.map_or((0, 0), |last| (last.session, last.boot));
        let gathered = self.lock().gathered.take().filter(|(since, _)| since.elapsed() < GATHERED);
        let (told, tls) = gathered.map_or_else(|| self.gather(), |(_, gathered)| Ok(gathered))?;
        let credentials = &told.credentials;
        let hello = Request::Hello { class: Class::Callback, session, boot, credentials };
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

    /// What is shown now.
    fn told(&self) -> Result<Told, Lost> {
        let Some(shown) = &self.shown else { return Ok(Told::default()) };
        let (holder, hello) = (shown.show)().map_err(Lost::NothingToShow)?;
        let config = tls::client(&holder, shown.bundles.clone(), &shown.server);
        let config = config.map_err(|error| Lost::NothingToShow(error.to_string()))?;
        let leaf_until_unix_s = until_unix_s(&holder.leaf);
        let (tls, credentials) = (Some(Arc::new(config)), hello.write());
        Ok(Told { tls, leaf: holder.leaf, leaf_until_unix_s, credentials })
    }

    /// The same, ready to be said.
    fn gather(&self) -> Result<Gathered, Lost> {
        let told = self.told()?;
        let tls = self.tls(&told)?;
        Ok((told, tls))
    }

    /// What is said first under TLS, keys for it among it; nothing without credentials.
    fn tls(&self, told: &Told) -> Result<Option<ClientConnection>, Lost> {
        let Some(config) = &told.tls else { return Ok(None) };
        let made = ClientConnection::new(config.clone(), ServerName::from(self.server.ip()));
        made.map(Some).map_err(|error| Lost::Unreachable(io::Error::other(error)))
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
            let said = self.tls(&told).and_then(|tls| self.hello(&hello, None, tls));
            if said.is_ok()
                && let Some(live) = self.lock().live.as_mut().filter(|now| now.ours == live.ours)
            {
                live.told = Arc::new(told);
            }
        }
    }

    /// Connects and says what for, and asks what may be asked at once; boot, session and term.
    fn hello(
        &self,
        hello: &Request<'_>,
        question: Option<&Request<'_>>,
        tls: Option<ClientConnection>,
    ) -> Result<(Receiver, (u64, Session, u32)), Lost> {
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
        receiver.shake_hands(CONNECTING)?;
        let shaken = Instant::now();
        receiver.stream().write_all(&out)?;
        let head = receiver.next(Some(CONNECTING), WHOLE)?;
        match Answer::read(&head, receiver.body()).map_err(io::Error::other)? {
            Answer::Welcome { boot, session, term_ms } => {
                if matches!(hello, Request::Hello { class: Class::Callback, .. }) {
                    self.count_steps([began, connected, shaken, Instant::now()]);
                }
                Ok((receiver, (boot, session, term_ms)))
            }
            Answer::Refused { name, sentence } => {
                Err(Lost::Refused { name: name.to_owned(), sentence: sentence.to_owned() })
            }
            _ => Err(Lost::Unreachable(io::ErrorKind::ConnectionRefused.into())),
        }
    }

    /// What a session's beginning took: until there was a connection, until both knew each other, until the server had looked at
    /// the credentials and said so.
    fn count_steps(&self, moments: [Instant; 4]) {
        let counts = [Count::ConnectNs, Count::HandshakeNs, Count::VerifyNs];
        for (count, step) in counts.into_iter().zip(moments.windows(2)) {
            let [from, to] = step else { continue };
            self.tally.add(count, u64::try_from((*to - *from).as_nanos()).unwrap_or(u64::MAX));
        }
    }

    /// Hears what the server says, and begins anew when it says nothing any more.
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

    /// Waits for the session that the first question begins, and until nobody asks there any more; none when it could not.
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

    /// Why there is no session. Who is not let in says so at once to whoever asks; who comes too late waits.
    fn note(&self, lost: &Lost) {
        let mut state = self.lock();
        state.lost = Some(lost.to_string());
        if let Some(name) = lost.name() {
            // Who was shown out may have nothing to show any more: why he was says more.
            let name = state.ended_as.clone().unwrap_or_else(|| name.to_owned());
            state.refused = Some(name);
            self.changed.notify_all();
        }
    }

    /// Between two attempts.
    fn pause(&self, lost: &Lost) {
        self.note(lost);
        let pause = match lost {
            Lost::Unreachable(_) => PAUSE,
            _ => REFUSED,
        };
        drop(self.changed.wait_timeout_while(self.lock(), pause, |state| !state.is_over));
    }

    /// Why there is no session now, for whoever looks at the status: a name where credentials were refused, and a sentence.
    pub(super) fn trouble(&self) -> (Option<String>, Option<String>) {
        let state = self.lock();
        (state.refused.clone(), state.lost.clone())
    }

    /// Until when the leaf is good by which the session was begun or renewed, in seconds since 1970.
    pub(super) fn leaf_until_unix_s(&self) -> Option<u64> {
        self.lock().live.as_ref()?.told.leaf_until_unix_s
    }

    /// Whether there is nobody any more whose session it is.
    pub(super) fn is_logged_out(&self) -> bool {
        self.shown.as_ref().is_some_and(|shown| (shown.is_over)())
    }

    /// What the kernel was told may end without our hearing of it.
    fn lose(&self) {
        let mut state = self.lock();
        state.live = None;
        state.idle.clear();
        state.ride = None;
        self.until_ms.store(0, Ordering::Relaxed);
        drop(state);
        self.tally.add(Count::Lost, 1);
        self.kernel.break_all();
    }

    fn hear_once(&self, receiver: &mut Receiver, live: &Live) -> Result<(), Cut> {
        let silence = Duration::from_millis(live.term_ms);
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
            _ => {
                let ride = self.lock().ride.take().ok_or(Cut::Closed)?;
                // Who asked may have waited too long.
                let _ = ride.send((head, receiver.body().to_vec()));
            }
        }
        Ok(())
    }

    /// The kernel may believe what it is told for `left_ms` from then on, less a tenth of a term: its clock has ticks, and an answer may lie
    /// about for a moment before it gets there.
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
            if let Some(live) = state.live.clone() {
                drop(state);
                live.say(&Request::Ping { stamp: self.now_ms() });
            }
        }
    }

    /// A connection of the session, how long an answer on it may take, and whether it was asked already: a change waits for a term
    /// before it is begun, and for one while it is made.
    fn connection(
        &self,
        request: &Request<'_>,
        deadline: Instant,
    ) -> Result<(Connection, Duration, bool), Unheard> {
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
                return Ok((connection, limit, false));
            }
            drop(state);
            let (session, boot) = (live.session, live.boot);
            let hello = Request::Hello { class: Class::Data, session, boot, credentials: &[] };
            let with = Some(request).filter(|request| request.may_be_repeated());
            match self.tls(&live.told).and_then(|tls| self.hello(&hello, with, tls)) {
                Ok((receiver, _)) => {
                    let connection = Connection { receiver, out: Vec::new(), ours: live.ours };
                    return Ok((connection, limit, with.is_some()));
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

impl State {
    /// The next answer on the callback connection is somebody's; where he gets it.
    fn rides(&mut self) -> Rides {
        let (ride, rides) = mpsc::channel();
        self.ride = Some(ride);
        rides
    }
}

impl Heard {
    fn answer(&self) -> Result<Answer<'_>, Refusal> {
        match self {
            Self::Here(head, connection) => Answer::read(head, connection.receiver.body()),
            Self::Beside(head, body) => Answer::read(head, body),
        }
    }
}

impl Connection {
    fn say(&mut self, request: &Request<'_>) -> Result<(), Unheard> {
        self.out.clear();
        request.put(&mut self.out);
        self.receiver.stream().write_all(&self.out).map_err(|_| Unheard::Cut)
    }
}

fn is_of_session(refusal: u32) -> bool {
    [Refusal::SessionOver.number(), Refusal::OtherBoot.number()].contains(&refusal)
}
