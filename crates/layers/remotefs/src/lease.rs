//! Leases: state machine that decides which clients may keep an answer, and for how long.
//!
//! Measured side, server process, hot: two steps of it a request. Pure: time comes in as milliseconds, nothing is
//! sent and nobody waits here. Owns the one rule: **a cached answer is used only while the server has promised to say
//! when it ends**.
//!
//! A session that gets an answer holds a lease of the object. All leases of a session end with its term, which pings
//! renew. A change first revokes the leases of all others, but of attributes alone interrupts them: each is sent a
//! break and owes an acknowledgement. Until all have come the change is not made, and until it is made no question
//! about the object is answered, except those of sessions that owe. They are answered without a lease, as a kernel may
//! have to read a page before it can forget it. A session that owes is not renewed; so a change waits for a term at
//! most, and then the session is over.
//!
//! A server that has just started does not know the leases of its predecessor: it makes no change for one term.

use crate::frame::BreakScope;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A session's number.
pub type SessionNumber = u32;
/// An object's number.
pub type ObjectNumber = u64;
/// A change's number.
pub type ChangeNumber = u64;

/// An object that a change is about, and the parts that change.
pub type Key = (ObjectNumber, BreakScope);

/// Break: a part of an object that a session must forget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Break {
    /// The session.
    pub session: SessionNumber,
    /// Number for the acknowledgement.
    pub number: u64,
    /// The object.
    pub object: ObjectNumber,
    /// The parts of it.
    pub what: BreakScope,
}

/// Result of asking a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// It may be answered, and the answer kept.
    Leased,
    /// It may be answered, and the answer not kept.
    Bare,
    /// An object of it is being changed.
    Wait,
    /// The session is over.
    Over,
}

/// Result of beginning a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeStart {
    /// These sessions must be told; once it is settled, the change may be made.
    Change(ChangeNumber, Vec<Break>),
    /// An object of it is being changed, or it is too early after the start.
    Wait,
    /// The session is over.
    Over,
}

#[derive(Debug)]
struct Live {
    ends_ms: u64,
    holds: HashSet<ObjectNumber>,
    owes: BTreeMap<u64, (ChangeNumber, ObjectNumber)>,
}

#[derive(Debug)]
struct Pending {
    by: SessionNumber,
    objects: Vec<ObjectNumber>,
    waits_for: usize,
}

/// In place of a session: a program that changes something past the server.
pub const NOBODY: SessionNumber = 0;

/// All leases of a server.
#[derive(Debug)]
pub struct LeaseTable {
    term_ms: u64,
    /// Time from which changes are made.
    changes_from_ms: u64,
    /// The last number given to anything.
    last: u64,
    live: BTreeMap<SessionNumber, Live>,
    holders: HashMap<ObjectNumber, BTreeSet<SessionNumber>>,
    changing: HashMap<ObjectNumber, ChangeNumber>,
    pending: HashMap<ChangeNumber, Pending>,
}

impl LeaseTable {
    /// A table without sessions, of a server that starts at `now_ms`.
    pub fn new(term_ms: u64, now_ms: u64) -> Self {
        Self {
            term_ms,
            changes_from_ms: now_ms.saturating_add(term_ms),
            last: 0,
            live: BTreeMap::new(),
            holders: HashMap::new(),
            changing: HashMap::new(),
            pending: HashMap::new(),
        }
    }

    /// Begins a session, for one term.
    pub fn open(&mut self, now_ms: u64) -> SessionNumber {
        // Skips numbers in use: after four thousand million sessions they repeat.
        let session = loop {
            let next = (self.next() & u64::from(SessionNumber::MAX)) as SessionNumber;
            if next != NOBODY && !self.live.contains_key(&next) {
                break next;
            }
        };
        let live = Live {
            ends_ms: now_ms.saturating_add(self.term_ms),
            holds: HashSet::new(),
            owes: BTreeMap::new(),
        };
        self.live.insert(session, live);
        session
    }

    /// Renews a session at its ping; returns the time left, or `None` if it is over. A session that owes gets no more
    /// time.
    pub fn renew(&mut self, now_ms: u64, session: SessionNumber) -> Option<u64> {
        let live = self.live.get_mut(&session).filter(|live| live.ends_ms > now_ms)?;
        if live.owes.is_empty() {
            live.ends_ms = now_ms.saturating_add(self.term_ms);
        }
        Some(live.ends_ms.saturating_sub(now_ms))
    }

    /// A question of a session about objects.
    pub fn ask(&mut self, now_ms: u64, session: SessionNumber, objects: &[ObjectNumber]) -> LeaseOutcome {
        let Some(live) = self.live.get_mut(&session).filter(|live| live.ends_ms > now_ms) else {
            return LeaseOutcome::Over;
        };
        let mut asked = LeaseOutcome::Leased;
        for object in objects {
            let under = self.changing.get(object).and_then(|change| self.pending.get(change));
            match under {
                Some(pending) if pending.by != session => {
                    if !live.owes.values().any(|(_, owed)| owed == object) {
                        return LeaseOutcome::Wait;
                    }
                    asked = LeaseOutcome::Bare;
                }
                _ => {}
            }
        }
        if asked == LeaseOutcome::Leased {
            for object in objects {
                live.holds.insert(*object);
                self.holders.entry(*object).or_default().insert(session);
            }
        }
        asked
    }

    /// Begins a session's change of objects; each is named once. [`NOBODY`]'s are changed already, so they do not
    /// wait their turn.
    pub fn begin(&mut self, now_ms: u64, session: SessionNumber, keys: &[Key]) -> ChangeStart {
        let is_made = session == NOBODY;
        if !is_made && self.live.get(&session).is_none_or(|live| live.ends_ms <= now_ms) {
            return ChangeStart::Over;
        }
        let taken = keys.iter().any(|(object, _)| self.changing.contains_key(object));
        if taken || (!is_made && now_ms < self.changes_from_ms) {
            return ChangeStart::Wait;
        }
        let change = self.next();
        let mut breaks = Vec::new();
        for (object, what) in keys {
            self.changing.insert(*object, change);
            let mut holders = self.holders.remove(object).unwrap_or_default();
            let others: Vec<SessionNumber> =
                holders.iter().copied().filter(|other| *other != session).collect();
            // A session that forgets attributes alone keeps the rest, and must hear of its next change.
            let keeps_rest = !what.contents && !what.names;
            holders.retain(|one| *one == session || keeps_rest);
            if !holders.is_empty() {
                self.holders.insert(*object, holders);
            }
            for other in others {
                let number = self.next();
                if let Some(live) = self.live.get_mut(&other) {
                    if !keeps_rest {
                        live.holds.remove(object);
                    }
                    live.owes.insert(number, (change, *object));
                    breaks.push(Break { session: other, number, object: *object, what: *what });
                }
            }
        }
        let objects = keys.iter().map(|(object, _)| *object).collect();
        self.pending.insert(change, Pending { by: session, objects, waits_for: breaks.len() });
        ChangeStart::Change(change, breaks)
    }

    /// Drops a session's lease of an object.
    pub fn release(&mut self, session: SessionNumber, object: ObjectNumber) {
        if self.live.get_mut(&session).is_some_and(|live| live.holds.remove(&object)) {
            self.unhold(session, object);
        }
    }

    /// Acknowledges a break. An unknown number changes nothing.
    pub fn acknowledge(&mut self, session: SessionNumber, number: u64) {
        let owed = self.live.get_mut(&session).and_then(|live| live.owes.remove(&number));
        if let Some((change, _)) = owed {
            self.one_less(change);
        }
    }

    /// Whether nobody else holds an object of the change.
    pub fn is_settled(&self, change: ChangeNumber) -> bool {
        self.pending.get(&change).is_none_or(|pending| pending.waits_for == 0)
    }

    /// Ends a change, made or failed.
    pub fn finish(&mut self, change: ChangeNumber) {
        for object in self.pending.remove(&change).into_iter().flat_map(|pending| pending.objects) {
            self.changing.remove(&object);
        }
    }

    /// Ends a session.
    pub fn end(&mut self, session: SessionNumber) {
        let Some(live) = self.live.remove(&session) else { return };
        live.holds.iter().for_each(|object| self.unhold(session, *object));
        for (change, _) in live.owes.into_values() {
            self.one_less(change);
        }
    }

    /// Ends the sessions whose term is over; returns them, and whether they owed.
    pub fn expire(&mut self, now_ms: u64) -> Vec<(SessionNumber, bool)> {
        let over = self.live.iter().filter(|(_, live)| live.ends_ms <= now_ms);
        let over: Vec<_> = over.map(|(session, live)| (*session, !live.owes.is_empty())).collect();
        over.iter().for_each(|(session, _)| self.end(*session));
        over
    }

    /// Time of the next event that comes by the clock alone: a term ends, or the first change may be made.
    pub fn next_ms(&self, now_ms: u64) -> Option<u64> {
        let first = Some(self.changes_from_ms).filter(|from| *from > now_ms);
        self.live.values().map(|live| live.ends_ms).chain(first).min()
    }

    /// Number of sessions.
    pub fn sessions(&self) -> usize {
        self.live.len()
    }

    fn unhold(&mut self, session: SessionNumber, object: ObjectNumber) {
        if let Some(holders) = self.holders.get_mut(&object) {
            holders.remove(&session);
            if holders.is_empty() {
                self.holders.remove(&object);
            }
        }
    }

    fn one_less(&mut self, change: ChangeNumber) {
        if let Some(pending) = self.pending.get_mut(&change) {
            pending.waits_for = pending.waits_for.saturating_sub(1);
        }
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}
