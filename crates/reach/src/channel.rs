//! Channels to far ends: launchers, their standard input and output, beats, and the loss of any of them.
//!
//! Measuring side. Owns the launchers' processes and the threads that read them; a beat and its answer are all that
//! happens while load runs. No exit code of a launcher means anything: a channel that closes before `stopped` is a loss.

use super::error::ReachError;
use super::executable::{self, Executable};
use super::incoming::Incoming;
use super::launch::launched;
use super::lease::{Leases, Loss, LossCause};
use super::message::{Answer, EndInfo, Line, Order, PROTOCOL, PieceOf, Speech, line};
use super::place::Place;
use bakeoff_results::digest;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

/// Time within which all far ends are there.
const THERE_WITHIN: Nanos = Nanos::from_secs(60);
/// Until it is answered a `hello` is said again and again.
const AGAIN: Nanos = Nanos::from_secs(1);
/// Longest time until Ctrl-C or a loss is noticed.
const LOOK: Duration = Duration::from_millis(50);
/// Time to end after `stop`; then launchers are killed.
const STOP_WITHIN: Nanos = Nanos::from_secs(1);
/// Time for the last words of a launcher whose channel closed: on a busy machine they come late.
const LAST_WORDS_WITHIN: Nanos = Nanos::from_secs(3);
/// Bytes that a launcher or a login shell may print before the far end speaks.
const NOISE: usize = 1 << 16;
/// Characters of last words that are shown.
const SHOWN: usize = 300;
/// Most bytes of a piece.
const LARGEST_PIECE: u64 = 1 << 24;

/// How bytes are passed on to a far end: [`Channels::mouth`].
pub type Mouth = Arc<dyn Fn(u32, bool, &[u8]) + Send + Sync>;

/// Where pieces go: what they are of, the bytes before them, and the bytes.
pub type Sink = Box<dyn FnMut(PieceOf, u64, &[u8]) -> io::Result<()> + Send>;

/// All channels to far ends of a kind.
pub struct Channels<S: Speech> {
    shared: Arc<Shared<S>>,
    numbers: AtomicU64,
}

struct Shared<S: Speech> {
    clock: MonotonicClock,
    lease: Nanos,
    peers: Vec<Peer>,
    state: Mutex<State<S>>,
    changed: Condvar,
    sink: Mutex<Option<Sink>>,
}

/// One launcher.
struct Peer {
    place: String,
    trial: String,
    child: Mutex<Child>,
    input: Mutex<Option<ChildStdin>>,
}

impl Peer {
    /// Ends the launcher, if it does not end by itself while it may.
    fn end(&self, may_yet: impl Fn() -> bool) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        while may_yet() && matches!(child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(5));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

struct State<S: Speech> {
    leases: Leases,
    ends: Vec<End<S::Answer>>,
    /// Why a piece could not be kept.
    unkept: Option<String>,
    /// Nothing is to be said any more.
    over: bool,
}

/// State of a far end.
struct End<A> {
    /// Its host, once it has said so.
    host: Option<String>,
    /// By the number of the order.
    answers: BTreeMap<u64, Answer<A>>,
    /// Its launcher's last words.
    said: String,
    /// Nothing more will be said there.
    has_said_all: bool,
    /// The beat that is not answered yet, and when it was sent.
    beat: Option<(u64, Nanos)>,
    /// The shortest round trip.
    trip: Option<Trip>,
}

impl<A> Default for End<A> {
    fn default() -> Self {
        Self {
            host: None,
            answers: BTreeMap::new(),
            said: String::new(),
            has_said_all: false,
            beat: None,
            trip: None,
        }
    }
}

/// A beat and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// From one to the other.
    pub time: Nanos,
    /// The far end's monotonic clock less this one's.
    mono_offset_ns: i64,
    /// The same of the wall clocks.
    pub wall_offset_ns: i64,
}

/// Outcome of waiting for answers.
pub enum Waited<A> {
    /// One a far end.
    All(Vec<A>),
    /// Ctrl-C.
    Interrupted,
}

impl<S: Speech> Shared<S> {
    fn state(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State<S>)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// A channel that is closed says so by itself: its reader notices.
    fn say(&self, end: usize, line: &[u8], raw: &[u8]) {
        let mut input = self.peers[end].input.lock().unwrap_or_else(PoisonError::into_inner);
        put(&mut input, line, raw);
    }

    /// Says it once nothing else is being said there; false: something is until after this moment.
    fn say_by(&self, end: usize, line: &[u8], until: Nanos) -> bool {
        loop {
            if let Ok(mut input) = self.peers[end].input.try_lock() {
                put(&mut input, line, &[]);
                return true;
            }
            if self.clock.now() >= until {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// What a shell that lacks the run's executable is sent; each piece that goes renews the lease.
    fn send_executable(&self, end: usize) -> io::Result<()> {
        let mut input = self.peers[end].input.lock().unwrap_or_else(PoisonError::into_inner);
        let renew = || self.state().leases.heard(end, self.clock.now());
        input.as_mut().map_or(Ok(()), |input| executable::send(input, renew))
    }

    fn kill(&self, end: usize) {
        let mut child = self.peers[end].child.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
    }
}

fn put(input: &mut Option<ChildStdin>, line: &[u8], raw: &[u8]) {
    if let Some(input) = input {
        let _ = input.write_all(line).and_then(|()| input.write_all(raw)).and_then(|()| input.flush());
    }
}

impl<S: Speech> Channels<S> {
    /// Starts all launchers, or asks for them at the socket of whoever calls the places. What they print on standard error
    /// goes to `launcher-N.log` in `logs`.
    ///
    /// # Errors
    /// One cannot be started.
    pub fn open(
        (places, passed_by): (&[Place], Option<&Path>),
        executable: &Executable,
        lease: Nanos,
        logs: Option<&Path>,
        sink: Option<Sink>,
    ) -> Result<Self, ReachError> {
        let clock = MonotonicClock::new();
        let (mut peers, mut ends) = (Vec::new(), Vec::new());
        for place in places {
            let words = match passed_by {
                None => place.words(executable, &S::WORDS),
                Some(socket) => executable::relay(socket, peers.len() + 1),
            };
            let (child, input, output, errors) = launched(place, &words)
                .inspect_err(|_| peers.iter().for_each(|peer: &Peer| peer.end(|| false)))?;
            ends.push((output, errors));
            peers.push(Peer {
                place: place.to_string(),
                trial: place.trial(),
                child: Mutex::new(child),
                input: Mutex::new(Some(input)),
            });
        }
        let state = State {
            leases: Leases::new(peers.len(), THERE_WITHIN, clock.now()),
            ends: peers.iter().map(|_| End::default()).collect(),
            unkept: None,
            over: false,
        };
        let (state, changed, sink) = (Mutex::new(state), Condvar::new(), Mutex::new(sink));
        let shared = Arc::new(Shared { clock, lease, peers, state, changed, sink });
        for (end, (output, errors)) in ends.into_iter().enumerate() {
            let log = logs.map(|logs| logs.join(format!("launcher-{}.log", end + 1)));
            let own = shared.clone();
            thread::spawn(move || note_words(&own, end, errors, log.as_deref()));
            let own = shared.clone();
            thread::spawn(move || hear(&own, end, output));
        }
        Ok(Self { shared, numbers: AtomicU64::new(0) })
    }

    /// Waits until all far ends are there, of the build of `executable`; from then on leases hold.
    ///
    /// # Errors
    /// One is not there within the time, or is of another build; or Ctrl-C.
    pub fn greet(
        &self,
        executable: &Executable,
        interrupted: &AtomicBool,
    ) -> Result<Vec<EndInfo>, ReachError> {
        let n = self.number();
        let lease_ms = self.shared.lease.get() / 1_000_000;
        let build = executable.sha256.clone();
        let words = line(n, &Order::<S::Order>::Hello { protocol: PROTOCOL, build, lease_ms });
        loop {
            let now = self.now();
            (0..self.shared.peers.len()).for_each(|end| {
                self.shared.say_by(end, &words, now);
            });
            let until = now + AGAIN;
            let answered = |state: &State<S>| {
                let named = |end: &End<S::Answer>| end.host.is_some() || end.answers.contains_key(&n);
                state.ends.iter().all(named)
            };
            if self.wait(interrupted, Some(until), answered)? {
                break;
            }
            if interrupted.load(Ordering::Relaxed) {
                return Err(ReachError::Interrupted);
            }
        }
        let mut infos = Vec::new();
        for (end, answer) in self.taken(n).into_iter().enumerate() {
            match answer {
                Answer::Here(info) => infos.push(info),
                other => return Err(self.unfit(end, &other)),
            }
        }
        let now = self.now();
        self.shared.change(|state| {
            state.leases.begin(self.shared.lease, now);
            for (end, info) in state.ends.iter_mut().zip(&infos) {
                end.host = Some(info.host.clone());
            }
        });
        let shared = self.shared.clone();
        thread::spawn(move || pulse(&shared));
        Ok(infos)
    }

    /// Hands bytes over to all far ends.
    ///
    /// # Errors
    /// One refuses them or is lost; or Ctrl-C.
    pub fn hand_over(&self, name: &str, bytes: &[u8], interrupted: &AtomicBool) -> Result<(), ReachError> {
        let take = Order::<S::Order>::Take {
            name: name.to_owned(),
            bytes: bytes.len() as u64,
            sha256: digest::sha256(&[bytes]),
        };
        let n = self.number();
        self.say(n, |_| (take.clone(), bytes));
        if !self.all_answer(n, interrupted)? {
            return Err(ReachError::Interrupted);
        }
        let answers = self.taken(n);
        let refused = answers.iter().enumerate().find(|(_, answer)| !matches!(answer, Answer::Taken));
        refused.map_or(Ok(()), |(end, answer)| Err(self.unfit(end, answer)))
    }

    /// Says the same to all far ends and waits for their answers. After Ctrl-C nothing is said.
    ///
    /// # Errors
    /// One refuses, or is lost.
    pub fn say_to_all(
        &self,
        order: &S::Order,
        interrupted: &AtomicBool,
    ) -> Result<Waited<S::Answer>, ReachError> {
        self.say_to_each(|_| order.clone(), interrupted)
    }

    /// Says something to each far end, by its index, and waits for their answers. After Ctrl-C nothing is said.
    ///
    /// # Errors
    /// One refuses, or is lost.
    pub fn say_to_each(
        &self,
        order: impl Fn(usize) -> S::Order,
        interrupted: &AtomicBool,
    ) -> Result<Waited<S::Answer>, ReachError> {
        if interrupted.load(Ordering::Relaxed) {
            return Ok(Waited::Interrupted);
        }
        let n = self.number();
        self.say(n, |end| (Order::Own(order(end)), &[]));
        Ok(match self.all_answer(n, interrupted)? {
            true => Waited::All(self.own_answers(n)?),
            false => Waited::Interrupted,
        })
    }

    /// Says the same to all far ends and waits for their answers, after Ctrl-C too, which is passed on.
    ///
    /// # Errors
    /// One refuses, or is lost.
    pub fn see_through(
        &self,
        order: &S::Order,
        interrupted: &AtomicBool,
    ) -> Result<Vec<S::Answer>, ReachError> {
        let n = self.number();
        self.say(n, |_| (Order::Own(order.clone()), &[]));
        if !self.all_answer(n, interrupted)? {
            self.say(self.number(), |_| (Order::Interrupt, &[]));
            self.all_answer(n, &AtomicBool::new(false))?;
        }
        self.own_answers(n)
    }

    /// Says bytes of far ends that are called for the one at `end`: their number, whether they are of standard error, and
    /// the bytes; none: they are over.
    pub fn mouth(&self, end: usize) -> Mouth {
        let shared = self.shared.clone();
        Arc::new(move |number, errors, bytes| {
            let order = Order::<S::Order>::Pass { number, errors, bytes: bytes.len() as u64 };
            shared.say(end, &line(0, &order), bytes);
        })
    }

    /// Ends all far ends, and their launchers if these do not end by themselves.
    pub fn stop(&self) {
        if std::mem::replace(&mut self.shared.state().over, true) {
            return;
        }
        let words = line(self.number(), &Order::<S::Order>::Stop);
        let until = self.now() + STOP_WITHIN;
        for end in 0..self.shared.peers.len() {
            if !self.shared.say_by(end, &words, until) {
                self.shared.kill(end);
            }
        }
        let mut state = self.shared.state();
        while !state.leases.all_ended() && self.now() < until {
            state = wait_for(&self.shared.changed, state);
        }
        drop(state);
        let until = self.now() + STOP_WITHIN;
        for peer in &self.shared.peers {
            peer.input.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        self.shared.peers.iter().for_each(|peer| peer.end(|| self.now() < until));
        // It may hold a mouth of these channels, and ends what it called.
        drop(self.shared.sink.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// The moment, by the clock of [`Self::here`].
    pub fn now(&self) -> Nanos {
        self.shared.clock.now()
    }

    /// A moment of a far end's clock, by this one.
    pub fn here(&self, end: usize, there_ns: u64) -> Option<Nanos> {
        let trip = self.shared.state().ends[end].trip?;
        Some(Nanos::new(there_ns.saturating_add_signed(trip.mono_offset_ns.saturating_neg())))
    }

    /// Waits until it is known what a round trip to each takes, for a second at most.
    pub fn measure_trips(&self) {
        let until = self.now() + AGAIN;
        let known = |state: &State<S>| state.ends.iter().all(|end| end.trip.is_some());
        let _ = self.wait(&AtomicBool::new(false), Some(until), known); // a loss is noticed by whoever says something
    }

    /// The shortest round trip to each.
    pub fn trips(&self) -> Vec<Option<Trip>> {
        self.shared.state().ends.iter().map(|end| end.trip).collect()
    }

    fn number(&self) -> u64 {
        self.numbers.fetch_add(2, Ordering::Relaxed) // odd numbers are those of beats
    }

    fn say<'b>(&self, n: u64, of: impl Fn(usize) -> (Order<S::Order>, &'b [u8])) {
        for end in 0..self.shared.peers.len() {
            let (order, raw) = of(end);
            self.shared.say(end, &line(n, &order), raw);
        }
    }

    /// Waits until all have answered; false after Ctrl-C.
    fn all_answer(&self, n: u64, interrupted: &AtomicBool) -> Result<bool, ReachError> {
        let all = |state: &State<S>| state.ends.iter().all(|end| end.answers.contains_key(&n));
        self.wait(interrupted, None, all)
    }

    fn own_answers(&self, n: u64) -> Result<Vec<S::Answer>, ReachError> {
        let own = |(end, answer)| match answer {
            Answer::Own(answer) => Ok(answer),
            other => Err(self.unfit(end, &other)),
        };
        self.taken(n).into_iter().enumerate().map(own).collect()
    }

    /// The answers to an order, all of which are there. Earlier ones are of no use any more.
    fn taken(&self, n: u64) -> Vec<Answer<S::Answer>> {
        let take = |end: &mut End<S::Answer>| {
            let answer = end.answers.remove(&n);
            end.answers.clear();
            answer
        };
        self.shared.state().ends.iter_mut().filter_map(take).collect()
    }

    /// Waits until it is so; false if the time or the run ends before.
    fn wait(
        &self,
        interrupted: &AtomicBool,
        until: Option<Nanos>,
        is_so: impl Fn(&State<S>) -> bool,
    ) -> Result<bool, ReachError> {
        let mut state = self.shared.state();
        loop {
            if is_so(&state) {
                return Ok(true);
            }
            if let Some(why) = state.unkept.take() {
                return Err(ReachError::Unusable(why));
            }
            if let Some(loss) = state.leases.lost(self.now()) {
                drop(state);
                return Err(self.lost(loss));
            }
            if interrupted.load(Ordering::Relaxed) || until.is_some_and(|until| self.now() >= until) {
                return Ok(false);
            }
            state = wait_for(&self.shared.changed, state);
        }
    }

    fn lost(&self, loss: Loss) -> ReachError {
        let mut state = self.shared.state();
        let until = self.now() + LAST_WORDS_WITHIN;
        while !state.ends[loss.end].has_said_all && loss.cause == LossCause::Closed && self.now() < until {
            state = wait_for(&self.shared.changed, state);
        }
        let is_there = state.ends[loss.end].host.is_some();
        drop(state);
        let why = match loss.cause {
            LossCause::Silent(time) => {
                format!("it was silent for {}", Nanos::from_millis(time.get() / 1_000_000))
            }
            LossCause::Closed => "its channel closed before it had said that it stopped".to_owned(),
        };
        if !is_there {
            return self.not_there(loss.end, why);
        }
        ReachError::Lost { end: self.named(loss.end), why, said: self.last_words(loss.end) }
    }

    fn not_there(&self, end: usize, why: String) -> ReachError {
        let said = self.last_words(end);
        let trial = &self.shared.peers[end].trial;
        ReachError::Unusable(format!(
            "{} is not there: {why}. {said} Nothing was sent. Try it by hand: `{trial}`",
            self.named_by_place(end)
        ))
    }

    fn last_words(&self, end: usize) -> String {
        match self.shared.state().ends[end].said.trim() {
            "" => "Its launcher said nothing.".to_owned(),
            said => {
                format!("The last words of its launcher: {}.", said.chars().take(SHOWN).collect::<String>())
            }
        }
    }

    fn named_by_place(&self, end: usize) -> String {
        S::called(end + 1, &self.shared.peers[end].place)
    }

    fn named(&self, end: usize) -> String {
        let host = self.shared.state().ends[end].host.clone();
        let place = &self.shared.peers[end].place;
        S::called(end + 1, &format!("{}, {place}", host.as_deref().unwrap_or("not there")))
    }

    /// An answer other than the one that the order has.
    fn unfit(&self, end: usize, answer: &Answer<S::Answer>) -> ReachError {
        match answer {
            Answer::Refused { why } => {
                ReachError::Unusable(format!("{} refuses: {why}", self.named_by_place(end)))
            }
            other => self.garbage(end, &format!("{other:?}")),
        }
    }

    /// An answer that cannot be used.
    pub fn garbage(&self, end: usize, what: &str) -> ReachError {
        let what: String = what.chars().take(SHOWN).collect();
        ReachError::Unusable(format!("{} answers what no order has as its answer: {what}", self.named(end)))
    }

    /// A complaint about a far end.
    pub fn complaint(&self, end: usize, what: &str) -> ReachError {
        ReachError::Unusable(format!("{} {what}", self.named(end)))
    }
}

impl<S: Speech> Drop for Channels<S> {
    fn drop(&mut self) {
        self.stop();
    }
}

fn wait_for<'s, S: Speech>(changed: &Condvar, state: MutexGuard<'s, State<S>>) -> MutexGuard<'s, State<S>> {
    changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0
}

/// Keeps what a launcher says on standard error, and its last line.
fn note_words<S: Speech>(shared: &Shared<S>, end: usize, errors: ChildStderr, log: Option<&Path>) {
    let mut errors = BufReader::new(errors);
    let mut text = Vec::new();
    while let Ok(1..) = errors.read_until(b'\n', &mut text) {
        let _ = log.map(|log| append(log, &text));
        let words = String::from_utf8_lossy(&text).trim().to_owned();
        if !words.is_empty() {
            shared.change(|state| state.ends[end].said = words);
        }
        text.clear();
    }
    shared.change(|state| state.ends[end].has_said_all = true);
}

fn append(log: &Path, text: &[u8]) -> io::Result<()> {
    log.parent().map_or(Ok(()), fs::create_dir_all)?;
    OpenOptions::new().create(true).append(true).open(log)?.write_all(text)
}

/// Reads what a far end answers. What is printed before its first answer is not its own.
fn hear<S: Speech>(shared: &Shared<S>, end: usize, output: ChildStdout) {
    let renew = || shared.state().leases.heard(end, shared.clock.now());
    let mut incoming = Incoming::new(output, renew);
    let (mut noise, mut is_known) = (0, false);
    while let Ok(Some(text)) = incoming.line() {
        let now = shared.clock.now();
        match serde_json::from_slice::<Line<Answer<S::Answer>>>(&text) {
            Ok(Line { n, say: Answer::Need { machine } }) => {
                if let Err(why) = executable::demand_kind(&machine) {
                    shared.change(|state| answered(state, end, (n, Answer::Refused { why }), now));
                } else if shared.send_executable(end).is_err() {
                    break;
                }
            }
            Ok(Line { say: Answer::Piece { of, at, bytes }, .. }) => {
                if let Err(why) = keep(shared, &mut incoming, (of, at, bytes)) {
                    shared.change(|state| state.unkept = Some(why));
                    break;
                }
            }
            Ok(Line { n, say }) => {
                is_known = true;
                shared.change(|state| answered(state, end, (n, say), now));
            }
            Err(_) if !is_known && noise + text.len() < NOISE => noise += text.len() + 1,
            Err(_) => {
                let words = String::from_utf8_lossy(&text).chars().take(SHOWN).collect::<String>();
                shared.change(|state| state.ends[end].said = format!("`{words}`, which is no answer"));
                break;
            }
        }
    }
    shared.change(|state| state.leases.closed(end));
}

/// Passes a piece on.
fn keep<S: Speech, R: Read, F: Fn()>(
    shared: &Shared<S>,
    incoming: &mut Incoming<R, F>,
    (of, at, bytes): (PieceOf, u64, u64),
) -> Result<(), String> {
    let said = |why: &dyn std::fmt::Display| format!("what came of {of} cannot be kept: {why}");
    if bytes > LARGEST_PIECE {
        return Err(said(&format!("{bytes} bytes are more than a piece has")));
    }
    let piece = incoming.bytes(bytes).map_err(|why| said(&why))?;
    let piece = piece.ok_or_else(|| said(&"the channel closed in the middle of it"))?;
    let mut sink = shared.sink.lock().unwrap_or_else(PoisonError::into_inner);
    let sink = sink.as_mut().ok_or_else(|| said(&"nobody asked for it"))?;
    sink(of.clone(), at, &piece).map_err(|why| said(&why))
}

fn answered<S: Speech>(
    state: &mut State<S>,
    index: usize,
    (n, answer): (u64, Answer<S::Answer>),
    now: Nanos,
) {
    let end = &mut state.ends[index];
    match answer {
        Answer::Beat { mono_ns, wall_ns } => {
            let Some((_, sent)) = end.beat.take_if(|(beat, _)| *beat == n) else { return };
            let trip = Trip::of(sent, now, mono_ns, wall_ns);
            if end.trip.is_none_or(|best| trip.time < best.time) {
                end.trip = Some(trip);
            }
        }
        Answer::Stopped => state.leases.stopped(index),
        other => {
            end.answers.insert(n, other);
        }
    }
}

impl Trip {
    fn of(sent: Nanos, now: Nanos, mono_ns: u64, wall_ns: u64) -> Self {
        let time = now.since(sent);
        let middle = sent.get() + time.get() / 2;
        let wall =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let wall_middle = wall.saturating_sub(time.get() / 2);
        Self {
            time,
            mono_offset_ns: mono_ns.wrapping_sub(middle).cast_signed(),
            wall_offset_ns: wall_ns.wrapping_sub(wall_middle).cast_signed(),
        }
    }
}

/// Says beats until the end, and kills the launcher of a far end that is lost: whoever writes to it goes on.
fn pulse<S: Speech>(shared: &Shared<S>) {
    let every = shared.lease.times(0.25);
    let (mut next, mut n) = (shared.clock.now(), 1);
    loop {
        let mut state = shared.state();
        let now = shared.clock.now();
        let lost = state.leases.lost(now);
        if state.over || lost.is_some() {
            drop(state);
            if let Some(loss) = lost {
                shared.kill(loss.end);
            }
            shared.changed.notify_all();
            return;
        }
        drop(state);
        if now >= next {
            let mut until_next = every;
            for end in 0..shared.peers.len() {
                let now = shared.clock.now();
                shared.state().ends[end].beat = Some((n, now));
                // A transfer that is under way renews the lease as well; but what a round trip takes is known by a beat alone.
                if !shared.say_by(end, &line(n, &Order::<S::Order>::Beat), now) {
                    until_next = every.min(Nanos::from_duration(LOOK));
                }
            }
            (next, n) = (now + until_next, n + 2);
        }
        thread::sleep(LOOK.min(every.as_duration()));
    }
}
