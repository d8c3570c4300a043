//! Replay of decisions: the same results without changes, and every planted wrong decision found.

use crate::world::{Decider, Handed, Log, NOW, World};
use bakeoff_layers_credentials::audit::{
    AuditOutcome, DecisionRecord, DecisionSubject, Evidence, LoggedDecision, ObjectPath, Replay,
    ReplayDifference, SegmentReader,
};
use bakeoff_layers_credentials::key::{Hash, hash};
use bakeoff_layers_credentials::operation::Operations;
use bakeoff_layers_credentials::{Item, Revoked};
use std::collections::HashSet;

/// Pseudo-random numbers, the same each time (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % most
    }
}

const ACLS: [&str; 3] = [
    "/ allow any@home.example list\n/a allow user:alice@home.example all\n/a/b only user:bob@home.example read,write\n",
    "/ allow group:staff@home.example read\n/a allow user:alice@home.example read,list,write\n/c allow user:carol@home.example all\n",
    "/a/b allow user:alice@home.example read\n/a/b/c only any@home.example read,list\n",
];
const PATHS: [&[&str]; 6] = [&[], &["a"], &["a", "b"], &["a", "b", "c"], &["c"], &["\u{e9}"]];

fn path(names: &[&str]) -> ObjectPath {
    names.iter().map(|name| name.as_bytes().to_vec()).collect()
}

/// A log of more than a thousand decisions of all kinds.
fn random_log(world: &World) -> Log {
    let mut random = Random(20_261_125);
    let mut log = Log::new(&world.keys());
    let mut revoked = Revoked::default();
    let groups = ["group:staff@home.example".parse().unwrap()];
    for session in 0.. {
        if log.frames.len() >= 1000 {
            break;
        }
        if session == 60 {
            // From here on nothing that bob gave or holds counts.
            let key = Item::Key(world.people[1].key.public().thumbprint());
            revoked.add(world.people[1].name.domain(), key);
        }
        let acl = ACLS[random.below(3) as usize];
        let who = random.below(4) as usize;
        let mut through: Vec<usize> = (0..4).filter(|other| *other != who).collect();
        through.truncate(random.below(4) as usize);
        let handed = Handed {
            through,
            path: ["/", "/a", "/a/b"][random.below(3) as usize],
            operations: Operations::of_bits(1 + random.below(127)).unwrap(),
            endorsed: random.below(8) > 0,
        };
        let some_groups = &groups[..random.below(2) as usize];
        let shown = world.shown(who, some_groups, Some(&handed).filter(|handed| !handed.through.is_empty()));
        let decider = Decider { world, acl, revoked: &revoked, epoch: u64::from(session >= 60) };
        // Some come too early or too late.
        let now = NOW - 150 + random.below(400);
        let Some(begun) = decider.session(&mut log, session, &shown, now) else { continue };
        for _ in 0..12 {
            let path = path(PATHS[random.below(6) as usize]);
            let asked = Operations::of_bits(random.below(128) & random.below(128)).unwrap();
            let later = now + random.below(600);
            log.add(&decider.asked(&begun, &path, asked, later));
        }
    }
    log
}

fn records(world: &World, log: &Log) -> Vec<DecisionRecord> {
    let mut records = Vec::new();
    let mut reader = SegmentReader::new(world.keys().start(), Vec::new());
    reader.segment(0, &log.bytes(), |record| records.push(record));
    assert_eq!(reader.end().2, []);
    records
}

/// The differences, each with the number of its record.
fn replayed(world: &World, log: &Log) -> Vec<(u64, ReplayDifference)> {
    let fetch = |hash: &Hash| log.evidence.get(hash).cloned();
    let mut replay = Replay::new(&world.server, &fetch);
    let again =
        |record: DecisionRecord| replay.again(&record).err().map(|difference| (record.number, difference));
    records(world, log).into_iter().filter_map(again).collect()
}

/// The same log, with decisions changed by its writer: its links are right.
fn lying(world: &World, log: &Log, lie: impl Fn(u64, &mut LoggedDecision)) -> Log {
    let mut other = Log::new(&world.keys());
    other.evidence.clone_from(&log.evidence);
    for DecisionRecord { number, mut decision, .. } in records(world, log) {
        lie(number, &mut decision);
        other.add(&decision);
    }
    other
}

#[test]
fn a_thousand_decisions_are_the_same_again_and_each_lie_is_found() {
    let world = World::new();
    let log = random_log(&world);
    assert_eq!(replayed(&world, &log), []);
    let records = records(&world, &log);
    let kinds: HashSet<String> = records
        .iter()
        .map(|record| match &record.decision.about {
            DecisionSubject::Admitted { .. } => "admitted".to_owned(),
            DecisionSubject::NotAdmitted { refusal } => refusal.to_string(),
            DecisionSubject::Object { outcome: AuditOutcome::Allowed { .. }, .. } => "allowed".to_owned(),
            DecisionSubject::Object { outcome: AuditOutcome::Refused { refusal }, .. } => refusal.to_string(),
        })
        .collect();
    for kind in ["admitted", "allowed", "denied", "not-endorsed", "not-yet-valid", "revoked"] {
        assert!(kinds.contains(kind), "{kind} did not come up: {kinds:?}");
    }

    // Somebody gets a right without being entitled to it.
    let refused = |record: &&DecisionRecord| {
        matches!(
            &record.decision.about,
            DecisionSubject::Object { outcome: AuditOutcome::Refused { .. }, .. }
        )
    };
    let victim = records.iter().filter(refused).nth(17).unwrap().number;
    let wider = lying(&world, &log, |number, decision| {
        if let (DecisionSubject::Object { asked, rights, outcome, .. }, true) =
            (&mut decision.about, number == victim)
        {
            *rights = rights.or(*asked);
            *outcome = AuditOutcome::Allowed { line: 1 };
        }
    });
    assert!(
        matches!(replayed(&world, &wider).as_slice(), [(number, ReplayDifference::Rights { .. })] if *number == victim)
    );
    let allowed = lying(&world, &log, |number, decision| {
        if let (DecisionSubject::Object { outcome, .. }, true) = (&mut decision.about, number == victim) {
            *outcome = AuditOutcome::Allowed { line: 1 };
        }
    });
    assert!(
        matches!(replayed(&world, &allowed).as_slice(), [(number, ReplayDifference::Allowed { .. })] if *number == victim)
    );

    // Somebody with revoked credentials is let in.
    let revoked = |record: &&DecisionRecord| matches!(&record.decision.about, DecisionSubject::NotAdmitted { refusal } if refusal == "revoked");
    let victim = records.iter().find(revoked).unwrap().number;
    let let_in = lying(&world, &log, |number, decision| {
        if number == victim {
            decision.about = DecisionSubject::Admitted { until_unix_s: NOW + 900 };
        }
    });
    assert_eq!(replayed(&world, &let_in), [(victim, ReplayDifference::LetIn { now: "revoked" })]);
    let hidden = lying(&world, &log, |number, decision| {
        if number == victim {
            decision.about = DecisionSubject::Admitted { until_unix_s: NOW + 900 };
            decision.shown = None;
        }
    });
    assert_eq!(replayed(&world, &hidden), [(victim, ReplayDifference::NothingShown)]);
}

/// Alice may read. She asks once to read and once to write.
fn small_log(world: &World) -> (Log, LoggedDecision) {
    let mut log = Log::new(&world.keys());
    let revoked = Revoked::default();
    let decider = Decider {
        world,
        acl: "# export\n/a allow user:alice@home.example read\n",
        revoked: &revoked,
        epoch: 0,
    };
    let begun = decider.session(&mut log, 1, &world.shown(0, &[], None), NOW).unwrap();
    for asked in ["read", "write"] {
        let asked = Operations::of_words(asked).unwrap();
        log.add(&decider.asked(&begun, &path(&["a"]), asked, NOW + 1));
    }
    (log, begun.1)
}

#[test]
fn every_other_lie_has_its_name() {
    let world = World::new();
    let (log, _) = small_log(&world);
    let lie = |lie: &dyn Fn(u64, &mut LoggedDecision)| {
        let found = replayed(&world, &lying(&world, &log, lie));
        found.into_iter().map(|(number, difference)| format!("{number} {difference}")).collect::<Vec<_>>()
    };
    let about = |victim: u64, change: fn(&mut DecisionSubject)| {
        lie(&move |number, decision| {
            if number == victim {
                change(&mut decision.about);
            }
        })
    };
    let until = about(0, |about| *about = DecisionSubject::Admitted { until_unix_s: NOW + 901 });
    assert_eq!(
        until,
        [format!("0 granted until {}, and now until {} (seconds since 1970)", NOW + 901, NOW + 900)]
    );
    let kept_out = about(0, |about| *about = DecisionSubject::NotAdmitted { refusal: "spliced".into() });
    assert_eq!(kept_out, ["0 refused as spliced, and now let in"]);
    let line = about(1, |about| {
        if let DecisionSubject::Object { outcome, .. } = about {
            *outcome = AuditOutcome::Allowed { line: 1 };
        }
    });
    assert_eq!(line, ["1 allowed by line 1 of the access list, and now by line 2"]);
    let refused = about(1, |about| {
        if let DecisionSubject::Object { outcome, .. } = about {
            *outcome = AuditOutcome::Refused { refusal: "denied".into() };
        }
    });
    assert_eq!(refused, ["1 read was refused as denied, and the rights are read"]);
    let elsewhere = about(2, |about| {
        if let DecisionSubject::Object { paths, .. } = about {
            paths.clear();
        }
    });
    assert_eq!(elsewhere, ["2 rights were read, and now are nothing"]);
    let another = lie(&|_, decision| decision.peer = Some(world.people[1].name.clone()));
    assert_eq!(another[0], "0 recorded as user:bob@home.example, and now user:alice@home.example");
    assert_eq!(another.len(), 3);
    let late = lie(&|number, decision| decision.time_unix_s += if number == 0 { 901 } else { 0 });
    assert_eq!(late, ["0 let in, and now refused as expired"]);
}

#[test]
fn evidence_that_is_gone_or_changed_is_named() {
    let world = World::new();
    let (mut log, begun) = small_log(&world);
    let whole = log.evidence.clone();
    let shown = begun.shown.unwrap();
    for (of, what) in [
        (shown, "what was shown"),
        (begun.force.acl, "an access list"),
        (begun.force.bundles[0], "a trust bundle"),
        (begun.force.revoked, "a list of what was taken back"),
    ] {
        // The access list is needed for objects alone.
        let count = if of == begun.force.acl { 2 } else { 3 };
        log.evidence.remove(&of);
        let missing = replayed(&world, &log);
        assert_eq!(missing.len(), count, "{missing:?}");
        assert_eq!(missing[0].1, ReplayDifference::EvidenceMissing { what, hash: of });
        log.evidence.insert(of, b"something else".to_vec());
        assert_eq!(replayed(&world, &log)[0].1, ReplayDifference::EvidenceChanged { what, hash: of });
        log.evidence.clone_from(&whole);
    }
}

#[test]
fn evidence_is_the_text_that_an_administrator_has() {
    let world = World::new();
    let bundle = world.bundles.each().next().unwrap();
    let text = Evidence::Bundle(bundle).bytes();
    assert!(text.starts_with(b"bakeoff-trust 1\ndomain home.example\nversion 3\n"));
    let mut revoked = Revoked::default();
    for person in &world.people {
        revoked.add(person.name.domain(), Item::Key(person.key.public().thumbprint()));
        revoked.add(person.name.domain(), Item::Identity(hash(&person.statement)));
    }
    let lines = String::from_utf8(Evidence::Revoked(&revoked).bytes()).unwrap();
    assert_eq!(lines.lines().count(), 8);
    assert!(lines.lines().is_sorted() && lines.starts_with("home.example identity "));
}
