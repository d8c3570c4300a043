//! Leases: who may keep what he was told, and until when.
//!
//! Measured side, server process, hot: two steps of it a request. A pure state machine: time comes in as milliseconds,
//! nothing is sent and nobody waits here. Owns the one rule: **a cached answer is used only while the server has promised
//! to say when it ends**.
//!
//! Whoever is answered holds a lease of the object. All leases of a session end with its term, which pings renew. A change
//! first takes the leases of all others away: each is sent a break and owes an acknowledgement. Until all have come the change
//! is not made, and until it is made nobody is answered about the object, but those who owe: they are answered without a lease,
//! as a kernel may have to read a page before it can forget it. A session that owes is not renewed; so a change waits for a term at
//! most, and then the session is over.
//!
//! A server that has just started knows of no leases that its forerunner gave out: it makes no change for one term.

use crate::frame::What;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A session's number.
pub type Session = u32;
/// An object's number.
pub type Object = u64;
/// A change's number.
pub type Change = u64;

/// An object that a change is about, and what of it.
pub type Key = (Object, What);

/// What a session is told to forget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Break {
    /// Who.
    pub session: Session,
    /// To be acknowledged by this.
    pub number: u64,
    /// Which object.
    pub object: Object,
    /// What of it.
    pub what: What,
}

/// What becomes of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It may be answered, and the answer kept.
    Leased,
    /// It may be answered, and the answer not kept.
    Bare,
    /// An object of it is being changed.
    Wait,
    /// The session is over.
    Over,
}

/// What becomes of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// These must be told; then, when it is settled, it may be made.
    Change(Change, Vec<Break>),
    /// An object of it is being changed, or it is too early.
    Wait,
    /// The session is over.
    Over,
}

#[derive(Debug)]
struct Live {
    ends_ms: u64,
    holds: HashSet<Object>,
    owes: BTreeMap<u64, (Change, Object)>,
}

#[derive(Debug)]
struct Pending {
    by: Session,
    objects: Vec<Object>,
    waits_for: usize,
}

/// In place of a session: whoever changes something past the server.
pub const NOBODY: Session = 0;

/// All leases of a server.
#[derive(Debug)]
pub struct Table {
    term_ms: u64,
    /// From when on changes are made.
    changes_from_ms: u64,
    /// The last number that was given out, of whatever.
    last: u64,
    live: BTreeMap<Session, Live>,
    holders: HashMap<Object, BTreeSet<Session>>,
    changing: HashMap<Object, Change>,
    pending: HashMap<Change, Pending>,
}

impl Table {
    /// Without sessions, of a server that starts at `now_ms`.
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

    /// A new session, for one term.
    pub fn open(&mut self, now_ms: u64) -> Session {
        // A number that is taken is passed over: after four thousand million sessions they come again.
        let session = loop {
            let next = (self.next() & u64::from(Session::MAX)) as Session;
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

    /// The session pings: how long it has now, or `None` when it is over. One that owes has no more than before.
    pub fn renew(&mut self, now_ms: u64, session: Session) -> Option<u64> {
        let live = self.live.get_mut(&session).filter(|live| live.ends_ms > now_ms)?;
        if live.owes.is_empty() {
            live.ends_ms = now_ms.saturating_add(self.term_ms);
        }
        Some(live.ends_ms.saturating_sub(now_ms))
    }

    /// The session asks about objects.
    pub fn ask(&mut self, now_ms: u64, session: Session, objects: &[Object]) -> Asked {
        let Some(live) = self.live.get_mut(&session).filter(|live| live.ends_ms > now_ms) else {
            return Asked::Over;
        };
        let mut asked = Asked::Leased;
        for object in objects {
            let under = self.changing.get(object).and_then(|change| self.pending.get(change));
            match under {
                Some(pending) if pending.by != session => {
                    if !live.owes.values().any(|(_, owed)| owed == object) {
                        return Asked::Wait;
                    }
                    asked = Asked::Bare;
                }
                _ => {}
            }
        }
        if asked == Asked::Leased {
            for object in objects {
                live.holds.insert(*object);
                self.holders.entry(*object).or_default().insert(session);
            }
        }
        asked
    }

    /// The session wants to change objects; each is named once. [`NOBODY`]'s are changed already, so it does not wait for its turn.
    pub fn begin(&mut self, now_ms: u64, session: Session, keys: &[Key]) -> Begun {
        let is_made = session == NOBODY;
        if !is_made && self.live.get(&session).is_none_or(|live| live.ends_ms <= now_ms) {
            return Begun::Over;
        }
        let taken = keys.iter().any(|(object, _)| self.changing.contains_key(object));
        if taken || (!is_made && now_ms < self.changes_from_ms) {
            return Begun::Wait;
        }
        let change = self.next();
        let mut breaks = Vec::new();
        for (object, what) in keys {
            self.changing.insert(*object, change);
            let holders = self.holders.remove(object).unwrap_or_default();
            if holders.contains(&session) {
                self.holders.insert(*object, BTreeSet::from([session]));
            }
            for other in holders.into_iter().filter(|other| *other != session) {
                let number = self.next();
                if let Some(live) = self.live.get_mut(&other) {
                    live.holds.remove(object);
                    live.owes.insert(number, (change, *object));
                    breaks.push(Break { session: other, number, object: *object, what: *what });
                }
            }
        }
        let objects = keys.iter().map(|(object, _)| *object).collect();
        self.pending.insert(change, Pending { by: session, objects, waits_for: breaks.len() });
        Begun::Change(change, breaks)
    }

    /// The session keeps nothing of an object any more.
    pub fn release(&mut self, session: Session, object: Object) {
        if self.live.get_mut(&session).is_some_and(|live| live.holds.remove(&object)) {
            self.unhold(session, object);
        }
    }

    /// A break is acknowledged. One that nobody was sent changes nothing.
    pub fn acknowledge(&mut self, session: Session, number: u64) {
        let owed = self.live.get_mut(&session).and_then(|live| live.owes.remove(&number));
        if let Some((change, _)) = owed {
            self.one_less(change);
        }
    }

    /// Nobody holds what it changes.
    pub fn is_settled(&self, change: Change) -> bool {
        self.pending.get(&change).is_none_or(|pending| pending.waits_for == 0)
    }

    /// It was made, or failed.
    pub fn finish(&mut self, change: Change) {
        for object in self.pending.remove(&change).into_iter().flat_map(|pending| pending.objects) {
            self.changing.remove(&object);
        }
    }

    /// The session is over: it says so, or its term is.
    pub fn end(&mut self, session: Session) {
        let Some(live) = self.live.remove(&session) else { return };
        live.holds.iter().for_each(|object| self.unhold(session, *object));
        for (change, _) in live.owes.into_values() {
            self.one_less(change);
        }
    }

    /// Ends the sessions whose term is over, and says which, and whether they owed.
    pub fn expire(&mut self, now_ms: u64) -> Vec<(Session, bool)> {
        let over = self.live.iter().filter(|(_, live)| live.ends_ms <= now_ms);
        let over: Vec<_> = over.map(|(session, live)| (*session, !live.owes.is_empty())).collect();
        over.iter().for_each(|(session, _)| self.end(*session));
        over
    }

    /// When something may come about that nobody says: a term is over, or the first change may be made.
    pub fn next_ms(&self, now_ms: u64) -> Option<u64> {
        let first = Some(self.changes_from_ms).filter(|from| *from > now_ms);
        self.live.values().map(|live| live.ends_ms).chain(first).min()
    }

    /// Sessions that there are.
    pub fn sessions(&self) -> usize {
        self.live.len()
    }

    fn unhold(&mut self, session: Session, object: Object) {
        if let Some(holders) = self.holders.get_mut(&object) {
            holders.remove(&session);
            if holders.is_empty() {
                self.holders.remove(&object);
            }
        }
    }

    fn one_less(&mut self, change: Change) {
        if let Some(pending) = self.pending.get_mut(&change) {
            pending.waits_for = pending.waits_for.saturating_sub(1);
        }
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}
