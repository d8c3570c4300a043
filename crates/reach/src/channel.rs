//! Channels to far ends: orders, the wait for their answers, the end, and the loss of any of them.
//!
//! Measuring side. Owns the launchers ([`super::peers`]) and the threads beside them. No exit code of a launcher means
//! anything: a channel that closes before `stopped` is a loss.

use super::error::ReachError;
use super::executable::{self, Executable};
use super::launch::launched;
use super::lease::{Leases, Loss, LossCause};
use super::message::{Answer, EndInfo, Order, PROTOCOL, Speech, line};
use super::peers::{End, Peer, SHOWN, Shared, Sink, State, wait_for};
use super::place::Place;
use super::pulse::pulse;
use super::readers::{hear, note_words};
use super::trip::Trip;
use bakeoff_results::digest;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// Time within which all far ends are there.
const THERE_WITHIN: Nanos = Nanos::from_secs(60);
/// Until it is answered a `hello` is said again and again.
const AGAIN: Nanos = Nanos::from_secs(1);
/// Time to end after `stop`; then launchers are killed.
const STOP_WITHIN: Nanos = Nanos::from_secs(1);
/// Time for the last words of a launcher whose channel closed: on a busy machine they come late.
const LAST_WORDS_WITHIN: Nanos = Nanos::from_secs(3);

/// How bytes are passed on to a far end: [`Channels::mouth`].
pub type Mouth = Arc<dyn Fn(u32, bool, &[u8]) + Send + Sync>;

/// All channels to far ends of a kind.
pub struct Channels<S: Speech> {
    shared: Arc<Shared<S>>,
    numbers: AtomicU64,
}

/// Outcome of waiting for answers.
pub enum Waited<A> {
    /// One a far end.
    All(Vec<A>),
    /// Ctrl-C.
    Interrupted,
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
