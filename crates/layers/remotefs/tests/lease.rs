//! Leases under random interleavings, in virtual time: no client gets, or keeps, anything older than any client was
//! told before; and every change ends.

#![allow(clippy::unwrap_used)] // a test that cannot set up has failed

use bakeoff_layers_remotefs::frame::BreakScope;
use bakeoff_layers_remotefs::lease::{
    Break, ChangeNumber, ChangeStart, LeaseOutcome, LeaseTable, ObjectNumber, SessionNumber,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap, VecDeque};

const TERM_MS: u64 = 100;
const OBJECTS: u64 = 2;
const CLIENTS: usize = 3;

/// Possible events.
#[derive(Clone, Debug)]
enum Step {
    /// A client reads: from its cache if it may, otherwise it asks.
    Read(usize, ObjectNumber),
    /// The server reads for a question that it may answer, and sends the answer.
    Answer(usize),
    /// The oldest answer in transit arrives.
    Arrive(usize),
    /// A client begins to change objects.
    Change(usize, Vec<ObjectNumber>),
    /// The server makes a settled change, and answers.
    Make,
    /// The oldest break in transit is received, and acknowledged.
    Hear(usize),
    /// The client pings. The ping may be lost, as may the answer.
    Ping(usize, bool),
    /// Time passes.
    Wait(u64),
    /// The client vanishes, for ever or until it returns with nothing kept.
    Anew(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let (client, object) = (0..CLIENTS, 0..OBJECTS);
    prop_oneof![
        6 => (client.clone(), object.clone()).prop_map(|(client, object)| Step::Read(client, object)),
        6 => client.clone().prop_map(Step::Answer),
        6 => client.clone().prop_map(Step::Arrive),
        3 => (client.clone(), prop::collection::vec(object, 1..=2)).prop_map(|(client, mut objects)| {
            objects.sort_unstable();
            objects.dedup();
            Step::Change(client, objects)
        }),
        6 => Just(Step::Make),
        6 => client.clone().prop_map(Step::Hear),
        3 => (client.clone(), any::<bool>()).prop_map(|(client, heard)| Step::Ping(client, heard)),
        2 => (1..TERM_MS / 2).prop_map(Step::Wait),
        1 => client.prop_map(Step::Anew),
    ]
}

#[derive(Clone, Copy, Debug)]
struct OnItsWay {
    object: ObjectNumber,
    version: u64,
    leased: bool,
    /// Number of breaks received when it asked.
    asked_at: u64,
}

#[derive(Debug, Default)]
struct Client {
    session: SessionNumber,
    /// Time until which the kernel may keep it.
    until_ms: u64,
    cache: HashMap<ObjectNumber, (u64, u64)>,
    allowed: VecDeque<(ObjectNumber, bool, u64)>,
    answers: VecDeque<OnItsWay>,
    breaks: VecDeque<Break>,
    heard: u64,
    broken: HashMap<ObjectNumber, u64>,
}

struct World {
    now_ms: u64,
    table: LeaseTable,
    clients: Vec<Client>,
    /// Versions at the server, and the newest version told to anybody.
    versions: BTreeMap<ObjectNumber, u64>,
    told: BTreeMap<ObjectNumber, u64>,
    changes: VecDeque<(ChangeNumber, SessionNumber, Vec<ObjectNumber>, u64)>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            now_ms: TERM_MS,
            table: LeaseTable::new(TERM_MS, 0),
            clients: Vec::new(),
            versions: (0..OBJECTS).map(|object| (object, 0)).collect(),
            told: (0..OBJECTS).map(|object| (object, 0)).collect(),
            changes: VecDeque::new(),
        };
        for _ in 0..CLIENTS {
            let client = world.fresh();
            world.clients.push(client);
        }
        world
    }

    fn fresh(&mut self) -> Client {
        let session = self.table.open(self.now_ms);
        Client { session, until_ms: self.now_ms + TERM_MS, ..Client::default() }
    }

    /// A client is told a version: nobody was told a newer one before.
    fn tell(&mut self, object: ObjectNumber, version: u64) {
        let newest = self.told.get_mut(&object).unwrap();
        assert!(version >= *newest, "object {object}: {version} is told after {newest}");
        *newest = version;
    }

    fn take(&mut self, step: &Step) {
        let now = self.now_ms;
        match step {
            Step::Read(at, object) => {
                let client = &mut self.clients[*at];
                if let Some((version, until)) = client.cache.get(object).copied()
                    && now < until
                {
                    return self.tell(*object, version);
                }
                match self.table.ask(now, client.session, &[*object]) {
                    LeaseOutcome::Leased => client.allowed.push_back((*object, true, client.heard)),
                    LeaseOutcome::Bare => client.allowed.push_back((*object, false, client.heard)),
                    LeaseOutcome::Wait | LeaseOutcome::Over => {}
                }
            }
            Step::Answer(at) => {
                let client = &mut self.clients[*at];
                let Some((object, leased, asked_at)) = client.allowed.pop_front() else { return };
                let version = self.versions[&object];
                client.answers.push_back(OnItsWay { object, version, leased, asked_at });
            }
            Step::Arrive(at) => {
                let client = &mut self.clients[*at];
                let Some(answer) = client.answers.pop_front() else { return };
                let broken = client.broken.get(&answer.object).copied().unwrap_or(0);
                if answer.leased && broken <= answer.asked_at {
                    client.cache.insert(answer.object, (answer.version, client.until_ms));
                }
                // It was asked before it came, so it may be older than others' answers meanwhile.
                let newest = self.told.get_mut(&answer.object).unwrap();
                *newest = (*newest).max(answer.version);
            }
            Step::Change(at, objects) => {
                let session = self.clients[*at].session;
                let keys: Vec<_> = objects.iter().map(|object| (*object, BreakScope::default())).collect();
                if let ChangeStart::Change(change, breaks) = self.table.begin(now, session, &keys) {
                    for told in breaks {
                        let client = self.clients.iter_mut().find(|client| client.session == told.session);
                        client.unwrap().breaks.push_back(told);
                    }
                    self.changes.push_back((change, session, objects.clone(), now));
                }
            }
            Step::Make => self.make(),
            Step::Hear(at) => {
                let client = &mut self.clients[*at];
                let Some(told) = client.breaks.pop_front() else { return };
                client.heard += 1;
                client.broken.insert(told.object, client.heard);
                client.cache.remove(&told.object);
                self.table.acknowledge(client.session, told.number);
            }
            Step::Ping(at, heard) => {
                let client = &mut self.clients[*at];
                if let Some(left) = self.table.renew(now, client.session)
                    && *heard
                {
                    client.until_ms = now + left;
                }
            }
            Step::Wait(ms) => {
                self.now_ms += ms;
                self.expire();
            }
            Step::Anew(at) => {
                self.table.end(self.clients[*at].session);
                self.clients[*at] = self.fresh();
            }
        }
    }

    fn make(&mut self) {
        let Some(at) = self.changes.iter().position(|(change, ..)| self.table.is_settled(*change)) else {
            return;
        };
        let (change, session, objects, _) = self.changes.remove(at).unwrap();
        for object in objects {
            let version = self.versions[&object] + 1;
            self.versions.insert(object, version);
            // The client that made it knows it, and keeps nothing older.
            for client in self.clients.iter_mut().filter(|client| client.session == session) {
                client.cache.remove(&object);
                client.heard += 1;
                client.broken.insert(object, client.heard);
            }
            self.tell(object, version);
        }
        self.table.finish(change);
    }

    /// A client that was silent for too long begins anew once it notices.
    fn expire(&mut self) {
        for (session, _) in self.table.expire(self.now_ms) {
            let at = self.clients.iter().position(|client| client.session == session).unwrap();
            let until = self.clients[at].until_ms;
            assert!(until <= self.now_ms, "a session ends while its client believes in it");
            let kept = std::mem::take(&mut self.clients[at].cache);
            self.clients[at] = self.fresh();
            // Its cache has expired by itself.
            assert!(kept.values().all(|(_, until)| *until <= self.now_ms));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nobody_is_told_anything_older_and_every_change_ends(steps in prop::collection::vec(step(), 1..120)) {
        let mut world = World::new();
        for step in &steps {
            world.take(step);
            let late = world.changes.iter().find(|(change, .., begun)| {
                !world.table.is_settled(*change) && world.now_ms > begun + TERM_MS
            });
            prop_assert!(late.is_none(), "a change waits for longer than a term: {late:?}");
        }
        // Everything in progress ends by time alone.
        world.take(&Step::Wait(TERM_MS));
        while !world.changes.is_empty() {
            let before = world.changes.len();
            world.make();
            prop_assert!(world.changes.len() < before, "a change never settles");
        }
    }
}

fn key(object: ObjectNumber) -> [(ObjectNumber, BreakScope); 1] {
    [(object, BreakScope { contents: true, names: false })]
}

fn begun(begun: ChangeStart) -> (ChangeNumber, Vec<Break>) {
    match begun {
        ChangeStart::Change(change, breaks) => (change, breaks),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_holder_is_told_and_waited_for_and_others_wait_meanwhile() {
    let mut table = LeaseTable::new(TERM_MS, 0);
    let [writer, holder, other] = [(); 3].map(|()| table.open(TERM_MS));
    let now = TERM_MS + 1;
    assert_eq!(table.ask(now, holder, &[7]), LeaseOutcome::Leased);
    let (change, breaks) = begun(table.begin(now, writer, &key(7)));
    assert_eq!(breaks.iter().map(|told| (told.session, told.object)).collect::<Vec<_>>(), [(holder, 7)]);
    assert!(!table.is_settled(change));
    assert_eq!(table.ask(now, other, &[7]), LeaseOutcome::Wait);
    assert_eq!(table.ask(now, holder, &[7]), LeaseOutcome::Bare, "its page may be locked");
    assert_eq!(table.begin(now, other, &key(7)), ChangeStart::Wait);
    assert_eq!(table.ask(now, other, &[8]), LeaseOutcome::Leased, "another object is another matter");
    table.acknowledge(other, breaks[0].number);
    assert!(!table.is_settled(change), "nobody acknowledges for another");
    table.acknowledge(holder, breaks[0].number);
    table.acknowledge(holder, breaks[0].number);
    assert!(table.is_settled(change));
    assert_eq!(table.ask(now, holder, &[7]), LeaseOutcome::Wait, "it is not made yet");
    table.finish(change);
    assert_eq!(table.ask(now, holder, &[7]), LeaseOutcome::Leased);
    assert_eq!(begun(table.begin(now, holder, &key(7))).1, [], "it had none but its own");
}

/// Its kernel forgets attributes alone: pages and names stay, and somebody must tell when they change.
#[test]
fn who_is_told_of_attributes_alone_is_told_of_the_next_change_too() {
    let mut table = LeaseTable::new(TERM_MS, 0);
    let [writer, holder] = [(); 2].map(|()| table.open(TERM_MS));
    table.ask(TERM_MS, holder, &[7]);
    for keys in [[(7, BreakScope::default())], [(7, BreakScope::default())], key(7)] {
        let (change, breaks) = begun(table.begin(TERM_MS, writer, &keys));
        assert_eq!(breaks.len(), 1);
        table.acknowledge(holder, breaks[0].number);
        table.finish(change);
    }
    assert_eq!(begun(table.begin(TERM_MS, writer, &key(7))).1, [], "it keeps nothing");
}

#[test]
fn who_owes_is_not_renewed_and_dropped_after_the_term() {
    let mut table = LeaseTable::new(TERM_MS, 0);
    let [writer, holder] = [(); 2].map(|()| table.open(TERM_MS));
    assert_eq!(table.renew(150, holder), Some(100));
    table.ask(150, holder, &[7]);
    assert_eq!(table.renew(199, writer), Some(100));
    let (change, _) = begun(table.begin(199, writer, &key(7)));
    assert_eq!(table.renew(240, holder), Some(10), "no more than before");
    assert_eq!(table.expire(249), []);
    assert!(!table.is_settled(change));
    assert_eq!(table.expire(250), [(holder, true)]);
    assert!(table.is_settled(change));
    assert_eq!(table.renew(250, holder), None);
    assert_eq!(
        (table.ask(250, holder, &[8]), table.begin(250, holder, &key(8))),
        (LeaseOutcome::Over, ChangeStart::Over)
    );
}

#[test]
fn a_server_makes_no_change_until_its_forerunners_leases_are_over() {
    let mut table = LeaseTable::new(TERM_MS, 0);
    let session = table.open(50);
    assert_eq!(table.begin(99, session, &key(7)), ChangeStart::Wait);
    assert_eq!(table.next_ms(99), Some(100));
    assert_eq!(table.ask(99, session, &[7]), LeaseOutcome::Leased, "reading is another matter");
    begun(table.begin(100, session, &key(7)));
}

#[test]
fn nothing_stays_of_who_is_gone() {
    let mut table = LeaseTable::new(TERM_MS, 0);
    let [one, two] = [(); 2].map(|()| table.open(TERM_MS));
    table.ask(TERM_MS, one, &[7, 8, 9]);
    table.release(one, 8);
    assert_eq!(begun(table.begin(TERM_MS, two, &key(8))).1, [], "it was released");
    table.end(one);
    assert_eq!(begun(table.begin(TERM_MS, two, &key(7))).1, []);
    assert_eq!(table.sessions(), 1);
}
