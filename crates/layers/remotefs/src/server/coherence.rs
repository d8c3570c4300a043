//! Leases with threads, a clock and sockets: questions and changes wait here, and breaks are sent.
//!
//! Measured side, server process, hot. The lease table ([`crate::lease`]) has the rules; here questions and changes
//! wait for it, breaks are sent and sessions ended. Locks are taken in one order: the table's, then the objects'.

use super::counters::{Count, ServerCounters};
use super::error::No;
use super::objects::Objects;
use crate::frame::{BreakScope, ServerReply};
use crate::lease::{
    Break, ChangeNumber, ChangeStart, Key, LeaseOutcome, LeaseTable, NOBODY, ObjectNumber, SessionNumber,
};
use crate::refusal::Refusal;
use crate::stream::Stream;
use bakeoff_layers_base::locks::lock;
use std::collections::HashMap;
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait without a look at the terms.
const LOOK: Duration = Duration::from_secs(1);
/// Limit on connections of one session: its callback connection, fifteen for questions, and one that renews it.
const MOST_OF_SESSION: usize = 17;

/// Callback connection of a session.
#[derive(Debug)]
pub(super) struct Callback(Mutex<Stream>);

impl Callback {
    pub(super) const fn new(stream: Stream) -> Self {
        Self(Mutex::new(stream))
    }

    /// Sends an answer. A client that does not take it delays others no longer than its term.
    pub(super) fn say(&self, answer: &ServerReply<'_>) {
        let mut bytes = Vec::new();
        answer.put(&mut bytes);
        self.send(&bytes);
    }

    /// Sends a frame.
    pub(super) fn send(&self, frame: &[u8]) {
        let stream = lock(&self.0);
        if stream.write_all(frame).is_err() {
            let _ = stream.socket().shutdown(Shutdown::Both);
        }
    }

    fn close(&self) {
        let _ = lock(&self.0).socket().shutdown(Shutdown::Both);
    }
}

#[derive(Debug)]
struct Inner {
    table: LeaseTable,
    seats: HashMap<SessionNumber, SessionEntry>,
}

#[derive(Debug)]
struct SessionEntry {
    callback: Arc<Callback>,
    connections: usize,
}

/// The leases of a server, and the threads that wait for them.
#[derive(Debug)]
pub(super) struct Coherence {
    started: Instant,
    inner: Mutex<Inner>,
    changed: Condvar,
    objects: Arc<Objects>,
    tally: Arc<ServerCounters>,
}

impl Coherence {
    pub(super) fn new(term: Duration, objects: Arc<Objects>, tally: Arc<ServerCounters>) -> Self {
        let table = LeaseTable::new(ms(term), 0);
        let inner = Mutex::new(Inner { table, seats: HashMap::new() });
        Self { started: Instant::now(), inner, changed: Condvar::new(), objects, tally }
    }

    /// Begins a session. `last` is an old one of the same client that ends.
    pub(super) fn open(&self, callback: Arc<Callback>, last: Option<SessionNumber>) -> SessionNumber {
        let mut inner = self.lock();
        if let Some(last) = last {
            self.end(&mut inner, last);
        }
        let session = inner.table.open(self.now_ms());
        inner.seats.insert(session, SessionEntry { callback, connections: 1 });
        self.tally.add(Count::Sessions, 1);
        session
    }

    /// Counts another connection of a session.
    pub(super) fn join(&self, session: SessionNumber) -> Result<(), Refusal> {
        let mut inner = self.lock();
        let seat = inner.seats.get_mut(&session).ok_or(Refusal::SessionOver)?;
        if seat.connections >= MOST_OF_SESSION {
            return Err(Refusal::TooManyOfSession);
        }
        seat.connections += 1;
        Ok(())
    }

    /// Counts one less.
    pub(super) fn leave(&self, session: SessionNumber) {
        match self.lock().seats.get_mut(&session) {
            Some(seat) => seat.connections = seat.connections.saturating_sub(1),
            // It ended before; what it was told of since is dropped, too.
            None => self.objects.end(session),
        }
    }

    /// Drops a session's knowledge of an object.
    pub(super) fn release(&self, session: SessionNumber, object: ObjectNumber) {
        self.lock().table.release(session, object);
    }

    /// Renews a session; returns its time left.
    pub(super) fn renew(&self, session: SessionNumber) -> Option<u64> {
        self.lock().table.renew(self.now_ms(), session)
    }

    pub(super) fn acknowledge(&self, session: SessionNumber, number: u64) {
        self.lock().table.acknowledge(session, number);
        self.changed.notify_all();
    }

    /// Ends a session at its request.
    pub(super) fn bye(&self, session: SessionNumber) {
        let mut inner = self.lock();
        self.end(&mut inner, session);
    }

    /// Whether a session is alive.
    pub(super) fn is_live(&self, session: SessionNumber) -> bool {
        self.lock().seats.contains_key(&session)
    }

    /// Sends an answer to sessions, each in a thread of its own: a slow client delays no other.
    pub(super) fn say_to(&self, sessions: &[SessionNumber], answer: &ServerReply<'_>) {
        let told: Vec<Arc<Callback>> = {
            let inner = self.lock();
            let callback = |session: &SessionNumber| Some(inner.seats.get(session)?.callback.clone());
            sessions.iter().filter_map(callback).collect()
        };
        thread::scope(|scope| {
            for callback in &told {
                // A client that cannot be told keeps nothing beyond its term.
                let _ = thread::Builder::new().spawn_scoped(scope, move || callback.say(answer));
            }
        });
    }

    /// Sends an answer to all sessions.
    pub(super) fn say_to_all(&self, answer: &ServerReply<'_>) {
        let sessions: Vec<SessionNumber> = self.lock().seats.keys().copied().collect();
        self.say_to(&sessions, answer);
    }

    /// Handles a change that no session made: revokes all leases, and answers no question about it until then.
    pub(super) fn has_changed(&self, keys: Vec<Key>) {
        if let Ok((change, _)) = self.settle(NOBODY, &distinct(keys)) {
            drop(Under { coherence: self, change });
        }
    }

    /// Waits until a question about objects may be answered; returns whether the answer may be kept.
    pub(super) fn ask(&self, session: SessionNumber, objects: &[ObjectNumber]) -> Result<bool, No> {
        let mut inner = self.lock();
        loop {
            match inner.table.ask(self.now_ms(), session, objects) {
                LeaseOutcome::Leased => return Ok(true),
                LeaseOutcome::Bare => return Ok(false),
                LeaseOutcome::Over => return Err(Refusal::SessionOver.into()),
                LeaseOutcome::Wait => inner = self.wait(inner),
            }
        }
    }

    /// Makes a change once nobody holds its objects; tells it whether it had to wait. They may differ after the wait:
    /// `keys` is asked again while nobody else can change them.
    pub(super) fn change<T>(
        &self,
        session: SessionNumber,
        keys: impl Fn() -> Result<Vec<Key>, No>,
        make: impl FnOnce(bool) -> Result<T, No>,
    ) -> Result<T, No> {
        let mut has_waited = false;
        loop {
            let wanted = distinct(keys()?);
            let (change, waits) = self.settle(session, &wanted)?;
            let _finished = Under { coherence: self, change };
            has_waited |= waits;
            // A client that reconnected meanwhile may have repeated its request, and gone on from there: the first
            // must not come late.
            self.ask(session, &[])?;
            if distinct(keys()?) == wanted {
                self.tally.add(Count::Changes, 1);
                return make(has_waited);
            }
            has_waited = true;
        }
    }

    /// Number of sessions; ends those whose term is over.
    pub(super) fn sessions(&self) -> usize {
        let mut inner = self.lock();
        self.expire(&mut inner);
        inner.table.sessions()
    }

    /// Revokes the leases of all others, and waits until they have none; returns whether there was a wait.
    fn settle(&self, session: SessionNumber, keys: &[Key]) -> Result<(ChangeNumber, bool), No> {
        let (mut inner, mut has_waited) = (self.lock(), false);
        let (change, breaks) = loop {
            match inner.table.begin(self.now_ms(), session, keys) {
                ChangeStart::Change(change, breaks) => break (change, breaks),
                ChangeStart::Over => return Err(Refusal::SessionOver.into()),
                ChangeStart::Wait => {
                    has_waited = true;
                    inner = self.wait(inner);
                }
            }
        };
        has_waited |= !breaks.is_empty();
        if !breaks.is_empty() {
            let told = |told: &Break| Some((inner.seats.get(&told.session)?.callback.clone(), *told));
            let told: Vec<_> = breaks.iter().filter_map(told).collect();
            drop(inner);
            for (callback, Break { number, object, what, .. }) in told {
                self.tally.add(Count::Breaks, 1);
                callback.say(&ServerReply::Break { number, object, what });
            }
            inner = self.lock();
            while !inner.table.is_settled(change) {
                inner = self.wait(inner);
            }
        }
        Ok((change, has_waited))
    }

    fn wait<'c>(&self, inner: MutexGuard<'c, Inner>) -> MutexGuard<'c, Inner> {
        let now = self.now_ms();
        let next =
            inner.table.next_ms(now).map_or(LOOK, |at| Duration::from_millis(at.saturating_sub(now) + 1));
        let waited = self.changed.wait_timeout(inner, next.min(LOOK));
        let (mut inner, _) = waited.unwrap_or_else(PoisonError::into_inner);
        self.expire(&mut inner);
        inner
    }

    fn expire(&self, inner: &mut Inner) {
        for (session, owed) in inner.table.expire(self.now_ms()) {
            self.tally.refuse(if owed { Refusal::AckMissing } else { Refusal::TermOver });
            self.end(inner, session);
        }
    }

    fn end(&self, inner: &mut Inner, session: SessionNumber) {
        inner.table.end(session);
        if let Some(seat) = inner.seats.remove(&session) {
            seat.callback.close();
        }
        self.objects.end(session);
        self.changed.notify_all();
    }

    fn now_ms(&self) -> u64 {
        ms(self.started.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }
}

/// A change in progress; finished when dropped.
struct Under<'c> {
    coherence: &'c Coherence,
    change: ChangeNumber,
}

impl Drop for Under<'_> {
    fn drop(&mut self) {
        self.coherence.lock().table.finish(self.change);
        self.coherence.changed.notify_all();
    }
}

/// Each object once, with all its changing parts.
fn distinct(keys: Vec<Key>) -> Vec<Key> {
    let mut all: Vec<Key> = Vec::with_capacity(keys.len());
    for (object, what) in keys {
        match all.iter_mut().find(|(other, _)| *other == object) {
            Some((_, known)) => {
                let contents = known.contents || what.contents;
                *known = BreakScope { contents, names: known.names || what.names };
            }
            None => all.push((object, what)),
        }
    }
    all
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
