//! Exhaustive search through what a domain's members, strangers and thieves can ask an agent for, in any order.
//!
//! The agent is the real one, and the moves are its own messages: a new message, or another field in one, does not
//! compile until it has a place here. Each is sent in every state that can be reached, and every answer is held against
//! three promises: no right without the keys of CA, agent and holder; nothing revoked but by its owner or the
//! administrator; no revocation or endorsement of an owner prevented by others. A state is what the agent's book has.

use super::super::book::Limits;
use super::*;
use bakeoff_layers_base::hex::to_hex;
use bakeoff_layers_credentials::bundle::Bundles;
use bakeoff_layers_credentials::key::Serial;
use bakeoff_layers_credentials::operation::Operations;
use bakeoff_layers_credentials::path::PathPrefix;
use bakeoff_layers_credentials::statement::{Audience, DelegationScope, TransferRequest};
use bakeoff_layers_credentials::{Revoked, verify};
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

const NOW: u64 = 1_764_000_000;
const SERVER: &str = "node:files@home.example";
/// So small that an attack on the room for entries takes two messages.
const LIMITS: Limits = Limits { all: 4, reserved: 2, each: 1 };

/// Refusals that depend on statements, keys and the roll alone.
const BEFORE_THE_BOOK: [&str; 5] = ["malformed", "wrong-holder", "bad-signature", "not-enrolled", "spliced"];

/// Principals with a key each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Who {
    Alice,
    Bob,
    /// Has the CA's key, and a key of his own that no roll has.
    Thief,
    /// Has the agent's key: the administrator, or whoever stole it.
    Agent,
}

const ALL: [Who; 4] = [Who::Alice, Who::Bob, Who::Thief, Who::Agent];

/// Everything that can be shown, made beforehand: a finite world.
struct Cast {
    dir: tempfile::TempDir,
    bundles: Bundles,
    keys: Vec<(Who, SecretKey)>,
    /// Alice's and bob's identities, and one that the thief made in alice's name.
    identities: [(PrincipalName, Vec<u8>); 3],
    /// Alice's transfer to bob; two of bob's, one more than he has room for; the thief's in alice's name to bob, plain
    /// and behind a link of another domain that he signed himself.
    transfers: Vec<Given>,
}

/// A transfer within the statements that are shown with it.
struct Given {
    by: Who,
    hello: Hello,
    item: Item,
    bytes: Vec<u8>,
}

/// A move: a message and the key that sends it.
struct Move {
    by: Who,
    message: AgentRequest,
}

/// Promise that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Broken {
    RightWithoutItsKeys,
    RevokedByAnother,
    RevocationPrevented,
    EndorsementPrevented,
}

/// Lines of the agent's book, in any order.
type State = BTreeSet<String>;

impl Cast {
    /// `thief_enrolled` is the control: then the first promise must be found broken.
    fn new(thief_enrolled: bool) -> Self {
        // In memory, where there is such a place: thousands of books are written.
        let memory = ["/dev/shm"].into_iter().find(|place| Path::new(place).is_dir());
        let dir = memory.map_or_else(tempfile::tempdir, tempfile::tempdir_in).unwrap();
        let at = dir.path().join("ca");
        let terms = crate::authority::Terms { agents: &[], until_unix_s: NOW + 999_999, passphrase: None };
        crate::authority::init(&"home.example".parse().unwrap(), &at, terms, NOW).unwrap();
        let bundles = crate::trust::read(&at.join("trust")).unwrap();
        let agent = crate::read_secret_key(&at.join("ola/agent.key")).unwrap();
        let ca = crate::read_secret_key(&at.join("ca.key")).unwrap();
        let [alice, bob, thief, other] = [0; 4].map(|_| SecretKey::generate().unwrap());
        let [a, b]: [PrincipalName; 2] =
            ["user:alice@home.example", "user:bob@home.example"].map(|name| name.parse().unwrap());
        let eve: PrincipalName = "user:eve@site.example".parse().unwrap();
        let identity = |name: &PrincipalName, key: &SecretKey| {
            let identity = IdentityContent {
                name: name.clone(),
                key: key.public(),
                groups: Vec::new(),
                serial: Serial([7; 16]),
                from_unix_s: NOW - 60,
                until_unix_s: NOW + 9000,
            };
            (name.clone(), identity.seal(&ca).unwrap())
        };
        let identities = [identity(&a, &alice), identity(&b, &bob), identity(&a, &thief)];
        let roll = Roll::of(&at.join("ola"));
        roll.add(&a, alice.public()).unwrap();
        roll.add(&b, bob.public()).unwrap();
        if thief_enrolled {
            roll.add(&a, thief.public()).unwrap();
        }
        let give = |giver: &PrincipalName,
                    key: &SecretKey,
                    to: (&PrincipalName, &SecretKey),
                    held: Option<&[u8]>,
                    hops| {
            let wish = TransferRequest {
                receiver: Some(to.0.clone()),
                key: to.1.public(),
                audience: vec![Audience::parse(SERVER).unwrap()],
                grants: vec![DelegationScope { path: PathPrefix::default(), operations: Operations::ALL }],
                from_unix_s: NOW - 1,
                until_unix_s: NOW + 5000,
                hops,
            };
            // All with one number: it must mean nothing.
            Transfer::give(&wish, giver, key, held, Serial([7; 16])).unwrap()
        };
        let given = |by, shown: usize, before: Option<Vec<u8>>, bytes: Vec<u8>| {
            let giver = identities[shown].0.clone();
            let chain = before.into_iter().map(|junk| (eve.clone(), junk)).chain([(giver, bytes.clone())]);
            let hello = Hello {
                identities: vec![identities[shown].clone()],
                chain: chain.collect(),
                statuses: Vec::new(),
            };
            Given { by, hello, item: Item::Transfer(hash(&bytes)), bytes }
        };
        let junk = give(&eve, &other, (&a, &thief), None, 2);
        let transfers = vec![
            given(Who::Alice, 0, None, give(&a, &alice, (&b, &bob), None, 0)),
            given(Who::Bob, 1, None, give(&b, &bob, (&a, &alice), None, 0)),
            given(Who::Bob, 1, None, give(&b, &bob, (&a, &alice), None, 1)),
            given(Who::Thief, 2, None, give(&a, &thief, (&b, &bob), None, 0)),
            given(Who::Thief, 0, Some(junk.clone()), give(&a, &thief, (&b, &bob), Some(&junk), 1)),
        ];
        let keys = vec![(Who::Alice, alice), (Who::Bob, bob), (Who::Thief, thief), (Who::Agent, agent)];
        Self { dir, bundles, keys, identities, transfers }
    }

    fn ola(&self) -> PathBuf {
        self.dir.path().join("ca/ola")
    }

    fn key(&self, who: Who) -> &SecretKey {
        &self.keys.iter().find(|(own, _)| *own == who).unwrap().1
    }

    fn shown(&self, identity: Option<usize>) -> Hello {
        let identities = identity.map(|index| self.identities[index].clone()).into_iter().collect();
        Hello { identities, ..Hello::default() }
    }

    /// Every message of the code's, by everybody, with everything that there is to show.
    fn moves(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        for by in ALL {
            for shown in [None, Some(0), Some(1), Some(2)] {
                moves.push(Move {
                    by,
                    message: AgentRequest::Login { shown: self.shown(shown), seconds: 900 },
                });
                for what in self.targets() {
                    moves.push(Move { by, message: AgentRequest::Revoke { shown: self.shown(shown), what } });
                }
            }
        }
        // Whoever asks for a status proves nothing by it.
        let endorse =
            |given: &Given| Move { by: Who::Thief, message: AgentRequest::Endorse(given.hello.clone()) };
        moves.extend(self.transfers.iter().map(endorse));
        // An administrator who revokes at random makes many states and no other kind of state.
        moves.retain(|step| match &step.message {
            AgentRequest::Revoke { shown, what } if step.by == Who::Agent => {
                shown.identities.is_empty() && *what == self.first()
            }
            _ => true,
        });
        moves
    }

    /// Alice's transfer, as she shows it to revoke it.
    fn first(&self) -> RevocationTarget {
        RevocationTarget::Transfer(self.transfers[0].bytes.clone())
    }

    fn targets(&self) -> Vec<RevocationTarget> {
        let statements = self.identities.iter().map(|(_, bytes)| Item::Identity(hash(bytes)));
        let keys =
            [Who::Alice, Who::Bob, Who::Thief].map(|who| Item::Key(self.key(who).public().thumbprint()));
        let given = self.transfers.iter().map(|given| given.item);
        let items = statements.chain(keys).chain(given).map(RevocationTarget::Item);
        let shown = self.transfers.iter().map(|given| RevocationTarget::Transfer(given.bytes.clone()));
        let names = [0, 1].map(|index| RevocationTarget::Name(self.identities[index].0.clone()));
        items.chain(shown).chain(names).collect()
    }

    /// An agent with this book.
    fn agent(&self, state: &State) -> Agent {
        let book = self.ola().join("book");
        fs::write(&book, state.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        let domain = "home.example".parse().unwrap();
        let own = crate::read_secret_key(&self.ola().join("agent.key")).unwrap();
        let kept = (Book::open(&book, LIMITS, NOW).unwrap(), Checkpoints::below(&self.ola()).unwrap());
        let roll = Roll::of(&self.ola());
        Agent::new(self.bundles.get(&domain).unwrap().clone(), own, roll, Groups::default(), kept)
    }

    /// The book that is on the disk. The epoch only counts.
    fn book(&self) -> State {
        let text = fs::read_to_string(self.ola().join("book")).unwrap();
        text.lines().filter(|line| !line.starts_with("epoch ")).map(str::to_owned).collect()
    }

    /// Sends everything in one state; returns the states that follow, and the promises that do not hold.
    fn step(&self, state: &State, moves: &[Move]) -> (Vec<State>, Vec<Broken>) {
        let (mut next, mut broken) = (Vec::new(), Vec::new());
        let (mut leafs, mut statuses) = (Vec::new(), Vec::new());
        let mut agent = self.agent(state);
        for step in moves {
            let reply = agent.answer(self.key(step.by).public(), &step.message, NOW);
            match (&step.message, &reply) {
                (AgentRequest::Login { .. }, Ok(AgentReply::Leaf(leaf))) => {
                    leafs.push((step.by, leaf.clone()))
                }
                (AgentRequest::Endorse(shown), Ok(AgentReply::Status(status))) => {
                    statuses.push((shown.clone(), status.clone()));
                }
                (AgentRequest::Login { .. }, Err(_)) => {}
                (AgentRequest::Endorse(shown), Err(_)) => {
                    let first = &self.transfers[0];
                    if *shown == first.hello && !self.is_gone(state, &[first.item]) {
                        broken.push(Broken::EndorsementPrevented);
                    }
                }
                (AgentRequest::Revoke { what, shown }, Err(_)) => {
                    let by_alice = step.by == Who::Alice && *shown == self.shown(Some(0));
                    let is_due = by_alice && !self.is_gone(state, &[]) || step.by == Who::Agent;
                    if *what == self.first() && is_due && !self.is_full(state, step.by) {
                        broken.push(Broken::RevocationPrevented);
                    }
                }
                (AgentRequest::Revoke { .. }, Ok(AgentReply::Done(_))) => {}
                // They change nothing that a right depends on, and are not among the moves.
                (AgentRequest::Subscribe | AgentRequest::Keep { .. } | AgentRequest::Kept(_), _)
                | (_, Ok(_)) => panic!("{:?}: {reply:?}", step.message),
            }
            let after = self.book();
            if after != *state {
                assert!(reply.is_ok(), "what was refused changed something");
                let new = after.difference(state).filter(|line| line.starts_with("revoked "));
                broken.extend(
                    new.filter(|line| !self.is_owners(line, step.by)).map(|_| Broken::RevokedByAnother),
                );
                next.push(after);
                agent = self.agent(state);
            }
        }
        broken.extend(self.wrong_rights(&leafs, &statuses).then_some(Broken::RightWithoutItsKeys));
        (next, broken)
    }

    /// Whether alice's key, her identity or one of these items is revoked.
    fn is_gone(&self, state: &State, items: &[Item]) -> bool {
        let own = [
            Item::Key(self.key(Who::Alice).public().thumbprint()),
            Item::Identity(hash(&self.identities[0].1)),
        ];
        let revoked = |item: &Item| state.iter().any(|line| line.starts_with(&format!("revoked {item} ")));
        own.iter().chain(items).any(revoked)
    }

    /// Whether somebody has used up the room for his own revocations.
    fn is_full(&self, state: &State, by: Who) -> bool {
        let own = match by {
            Who::Agent => "administrator".to_owned(),
            by => to_hex(&self.key(by).public().thumbprint()),
        };
        let charged =
            |line: &&String| line.starts_with("revoked ") && line.contains(&format!(" {own} {NOW} "));
        let most = if by == Who::Agent { LIMITS.reserved } else { LIMITS.each };
        state.iter().filter(charged).count() >= most
    }

    /// Whether a line of the book revokes something that is this one's to revoke.
    fn is_owners(&self, line: &str, by: Who) -> bool {
        let is = |item: Item| line.starts_with(&format!("revoked {item} "));
        let key = [Who::Alice, Who::Bob]
            .into_iter()
            .find(|who| is(Item::Key(self.key(*who).public().thumbprint())));
        let identity = self.identities.iter().position(|(_, bytes)| is(Item::Identity(hash(bytes))));
        let given = self.transfers.iter().find(|given| is(given.item)).map(|given| match given.by {
            // The thief gave it in alice's name.
            Who::Thief => Who::Alice,
            by => by,
        });
        let identity = identity.and_then(|index| [Some(Who::Alice), Some(Who::Bob), None][index]);
        by == Who::Agent || key.or(given).or(identity) == Some(by)
    }

    /// Whether a server lets the thief in, or anybody by what the thief gave: with each leaf and each chain that the
    /// agent gave out, at a server that has heard of no revocation.
    fn wrong_rights(&self, leafs: &[(Who, Vec<u8>)], statuses: &[(Hello, Vec<u8>)]) -> bool {
        let server: PrincipalName = SERVER.parse().unwrap();
        let lets_in = |leaf: &[u8], hello: &Hello| {
            verify(leaf, hello, &self.bundles, &Revoked::default(), &server, NOW).is_ok()
        };
        let of_thief = |hello: &Hello| {
            self.transfers.iter().any(|given| given.by == Who::Thief && given.hello == *hello)
        };
        leafs.iter().any(|(holder, leaf)| {
            let by_chain = statuses.iter().any(|(shown, status)| {
                let statuses = vec![("home.example".parse().unwrap(), status.clone())];
                let is_wrong = *holder == Who::Thief || of_thief(shown);
                is_wrong && lets_in(leaf, &Hello { statuses, ..shown.clone() })
            });
            by_chain || *holder == Who::Thief && lets_in(leaf, &Hello::default())
        })
    }

    /// Goes through all states, or until all of these were found; returns their number, and the broken promises.
    fn search(&self, wanted: &[Broken]) -> (usize, HashSet<Broken>) {
        // What is refused without a look at the book is refused in every state.
        let mut moves = self.moves();
        moves.retain(|step| {
            let reply = self.agent(&State::new()).answer(self.key(step.by).public(), &step.message, NOW);
            reply.err().is_none_or(|no| !BEFORE_THE_BOOK.contains(&no.name()))
        });
        let start = self.agent(&State::new());
        // Alice and bob have logged in: without that there are the same states again, but for who can be named.
        for (by, shown) in [(Who::Alice, 0), (Who::Bob, 1)] {
            let login = AgentRequest::Login { shown: self.shown(Some(shown)), seconds: 900 };
            start.answer(self.key(by).public(), &login, NOW).unwrap();
        }
        let start = self.book();
        let (mut known, mut left) = (BTreeSet::from([start.clone()]), vec![start]);
        let mut broken = HashSet::new();
        while let Some(state) = left.pop() {
            let (next, found) = self.step(&state, &moves);
            broken.extend(found);
            if !wanted.is_empty() && wanted.iter().all(|one| broken.contains(one)) {
                break;
            }
            left.extend(next.into_iter().filter(|after| known.insert(after.clone())));
        }
        (known.len(), broken)
    }
}

#[test]
fn in_no_order_of_messages_does_anybody_get_or_take_what_is_anothers() {
    let (states, broken) = Cast::new(false).search(&[]);
    assert!(broken.is_empty() && states > 100, "{broken:?} in {states} states");
}

/// With his key on the roll a thief of the CA's key has both: the search must find what he can do.
#[test]
fn the_search_finds_a_thief_who_is_on_the_roll() {
    let wanted = [Broken::RightWithoutItsKeys, Broken::RevokedByAnother];
    let (_, broken) = Cast::new(true).search(&wanted);
    assert!(wanted.iter().all(|one| broken.contains(one)), "{broken:?}");
}
