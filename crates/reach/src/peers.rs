//! Launchers, and what is known of the far end behind each: answers, last words, lease, round trip.
//!
//! Measuring side. Shared by whoever gives orders, the threads that read, and the pulse. Owns the way in which a line is
//! written, which two of them may want at once.

use super::executable;
use super::lease::Leases;
use super::message::{Answer, PieceOf, Speech};
use super::trip::Trip;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::{Child, ChildStdin};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Longest time until Ctrl-C or a loss is noticed.
pub(super) const LOOK: Duration = Duration::from_millis(50);
/// Characters of last words that are shown.
pub(super) const SHOWN: usize = 300;

/// Where pieces go: what they are of, the bytes before them, and the bytes.
pub type Sink = Box<dyn FnMut(PieceOf, u64, &[u8]) -> io::Result<()> + Send>;

/// The launchers of a kind of far ends, and what is known of each end.
pub(super) struct Shared<S: Speech> {
    pub(super) clock: MonotonicClock,
    pub(super) lease: Nanos,
    pub(super) peers: Vec<Peer>,
    pub(super) state: Mutex<State<S>>,
    pub(super) changed: Condvar,
    pub(super) sink: Mutex<Option<Sink>>,
}

/// One launcher.
pub(super) struct Peer {
    pub(super) place: String,
    pub(super) trial: String,
    pub(super) child: Mutex<Child>,
    pub(super) input: Mutex<Option<ChildStdin>>,
}

impl Peer {
    /// Ends the launcher, if it does not end by itself while it may.
    pub(super) fn end(&self, may_yet: impl Fn() -> bool) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        while may_yet() && matches!(child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(5));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// What is known now.
pub(super) struct State<S: Speech> {
    pub(super) leases: Leases,
    pub(super) ends: Vec<End<S::Answer>>,
    /// Why a piece could not be kept.
    pub(super) unkept: Option<String>,
    /// Nothing is to be said any more.
    pub(super) over: bool,
}

/// State of a far end.
pub(super) struct End<A> {
    /// Its host, once it has said so.
    pub(super) host: Option<String>,
    /// By the number of the order.
    pub(super) answers: BTreeMap<u64, Answer<A>>,
    /// Its launcher's last words.
    pub(super) said: String,
    /// Nothing more will be said there.
    pub(super) has_said_all: bool,
    /// The beat that is not answered yet, and when it was sent.
    pub(super) beat: Option<(u64, Nanos)>,
    /// The shortest round trip.
    pub(super) trip: Option<Trip>,
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

impl<S: Speech> Shared<S> {
    pub(super) fn state(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut State<S>)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// A channel that is closed says so by itself: its reader notices.
    pub(super) fn say(&self, end: usize, line: &[u8], raw: &[u8]) {
        let mut input = self.peers[end].input.lock().unwrap_or_else(PoisonError::into_inner);
        put(&mut input, line, raw);
    }

    /// Says it once nothing else is being said there; false: something is until after this moment.
    pub(super) fn say_by(&self, end: usize, line: &[u8], until: Nanos) -> bool {
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
    pub(super) fn send_executable(&self, end: usize) -> io::Result<()> {
        let mut input = self.peers[end].input.lock().unwrap_or_else(PoisonError::into_inner);
        let renew = || self.state().leases.heard(end, self.clock.now());
        input.as_mut().map_or(Ok(()), |input| executable::send(input, renew))
    }

    pub(super) fn kill(&self, end: usize) {
        let mut child = self.peers[end].child.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
    }
}

fn put(input: &mut Option<ChildStdin>, line: &[u8], raw: &[u8]) {
    if let Some(input) = input {
        let _ = input.write_all(line).and_then(|()| input.write_all(raw)).and_then(|()| input.flush());
    }
}

/// Waits for a change, but no longer than until the next look.
pub(super) fn wait_for<'s, S: Speech>(
    changed: &Condvar,
    state: MutexGuard<'s, State<S>>,
) -> MutexGuard<'s, State<S>> {
    changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0
}
