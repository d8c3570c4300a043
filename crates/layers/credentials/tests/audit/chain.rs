//! Tampering with an audit log: records changed, removed, swapped, cut off, and whole logs made anew.

use crate::world::{Log, NOW, World};
use bakeoff_layers_credentials::Revoked;
use bakeoff_layers_credentials::audit::{
    AuditFaultKind, AuditOutcome, Checkpoint, CheckpointKeys, DecisionRecord, DecisionSubject, LogEnd,
    LoggedDecision, SegmentReader,
};
use bakeoff_layers_credentials::operation::Operations;
use proptest::prelude::*;

const RECORDS: u64 = 12;

/// A log of some records, which need not be valid.
fn log(world: &World) -> Log {
    let mut log = Log::new(&world.keys());
    let force = log.force(7, "/ allow any@home.example read\n", &world.bundles, &Revoked::default());
    for number in 0..RECORDS {
        let path = vec![b"projects".to_vec(), format!("file {number}").into_bytes(), vec![0xff, 0x00]];
        let outcome = match number % 2 {
            0 => AuditOutcome::Allowed { line: number },
            _ => AuditOutcome::Refused { refusal: "denied".into() },
        };
        let rights = Operations::ALL;
        let about = match number % 4 {
            0 => DecisionSubject::Admitted { until_unix_s: NOW + number },
            1 => DecisionSubject::NotAdmitted { refusal: "spliced".into() },
            _ => DecisionSubject::Object {
                paths: vec![path, vec![]],
                asked: Operations::NONE,
                rights,
                outcome,
            },
        };
        log.add(&LoggedDecision {
            time_unix_s: NOW,
            session: 3,
            peer: (number % 3 > 0).then(|| world.people[0].name.clone()),
            shown: (number % 5 > 0).then_some([5; 32]),
            force: force.clone(),
            about,
        });
    }
    log
}

/// Findings in a segment, and its end.
fn read(
    bytes: &[u8],
    keys: &CheckpointKeys,
    checkpoints: &[Checkpoint],
) -> (LogEnd, Option<u64>, Vec<AuditFaultKind>, Vec<DecisionRecord>) {
    let mut records = Vec::new();
    let mut reader = SegmentReader::new(keys.start(), checkpoints.to_vec());
    reader.segment(0, bytes, |record| records.push(record));
    let (end, half, findings) = reader.end();
    let wrong = findings.into_iter().map(|finding| finding.wrong).collect();
    (end, half.map(|half| half.bytes), wrong, records)
}

fn wrong(bytes: &[u8], keys: &CheckpointKeys, checkpoints: &[Checkpoint]) -> Vec<AuditFaultKind> {
    read(bytes, keys, checkpoints).2
}

#[test]
fn what_was_written_is_read_and_has_one_spelling() {
    let world = World::new();
    let log = log(&world);
    let (end, half, wrong, records) = read(&log.bytes(), &world.keys(), &[Checkpoint(log.ends[4])]);
    assert_eq!((end, half, wrong.as_slice()), (log.ends[11], None, [].as_slice()));
    assert_eq!(records.len() as u64, RECORDS);
    let mut again = Log::new(&world.keys());
    records.iter().for_each(|record| again.add(&record.decision));
    assert_eq!(again.bytes(), log.bytes());
    let record = &log.frames[2][4..log.frames[2].len() - 32];
    assert_eq!(DecisionRecord::read(record).as_ref(), Some(&records[2]));
    assert_eq!(DecisionRecord::read(&[record, &[0]].concat()), None, "trailing bytes");
    assert_eq!(DecisionRecord::read(&record[..record.len() - 1]), None);
}

#[test]
fn a_changed_byte_is_found_at_its_record() {
    let world = World::new();
    let log = log(&world);
    for victim in [0, 5, 10] {
        let place = log.of_frames(&[]).len() + log.frames[..victim].concat().len();
        for offset in 0..log.frames[victim].len() {
            for bit in [0, 7] {
                let mut bytes = log.bytes();
                bytes[place + offset] ^= 1 << bit;
                let (_, half, wrong, _) = read(&bytes, &world.keys(), &[]);
                if offset < 4 {
                    assert!(!wrong.is_empty() || half.is_some(), "a length, {victim} {offset}");
                } else {
                    assert_eq!(wrong, [AuditFaultKind::Changed(victim as u64)], "{victim} {offset} {bit}");
                }
            }
        }
    }
}

#[test]
fn a_removed_a_repeated_and_a_swapped_record_are_told_apart() {
    let world = World::new();
    let log = log(&world);
    let frames: Vec<&[u8]> = log.frames.iter().map(Vec::as_slice).collect();
    let with = |change: &dyn Fn(&mut Vec<&[u8]>)| {
        let mut frames = frames.clone();
        change(&mut frames);
        wrong(&log.of_frames(&frames), &world.keys(), &[Checkpoint(log.ends[11])])
    };
    for (at, number) in (0..11).zip(0..) {
        assert_eq!(
            with(&|frames| {
                frames.remove(at);
            }),
            [AuditFaultKind::Removed { first: number, last: number }]
        );
        assert_eq!(with(&|frames| frames.insert(at + 1, frames[at])), [AuditFaultKind::Repeated(number)]);
        for (other, found) in (at + 1..12).zip(number + 1..) {
            let swapped = with(&|frames| frames.swap(at, other));
            assert_eq!(swapped, [AuditFaultKind::Swapped { expected: number, found }]);
        }
    }
    assert_eq!(with(&|frames| drop(frames.drain(3..8))), [AuditFaultKind::Removed { first: 3, last: 7 }]);
    assert_eq!(with(&|frames| frames.truncate(9)), [AuditFaultKind::Cut { have: 9, said: 12 }]);
    assert_eq!(with(&|frames| frames.clear()), [AuditFaultKind::Cut { have: 0, said: 12 }]);
}

#[test]
fn a_log_that_was_made_anew_is_found_by_a_checkpoint_from_elsewhere() {
    let world = World::new();
    let log = log(&world);
    let elsewhere = Checkpoint(log.ends[7]);
    // An attacker who can write to the log omits a record and makes all links anew, but has no key to sign with.
    let records = read(&log.bytes(), &world.keys(), &[]).3;
    let anew = |kept: &dyn Fn(u64) -> bool| {
        let mut anew = Log::new(&world.keys());
        records.iter().filter(|record| kept(record.number)).for_each(|record| anew.add(&record.decision));
        anew.bytes()
    };
    let without = anew(&|number| number != 2);
    assert_eq!(wrong(&without, &world.keys(), &[]), [], "its links are right");
    assert_eq!(
        wrong(&without, &world.keys(), std::slice::from_ref(&elsewhere)),
        [AuditFaultKind::Rewritten(8)]
    );
    let shorter = anew(&|number| number < 5);
    assert_eq!(wrong(&shorter, &world.keys(), &[elsewhere]), [AuditFaultKind::Cut { have: 5, said: 8 }]);

    let of_another = CheckpointKeys { server: "node:mail@home.example".parse().unwrap(), ..world.keys() };
    assert_eq!(wrong(&log.bytes(), &of_another, &[]), [AuditFaultKind::OtherStart(0)]);
}

#[test]
fn segments_hang_on_each_other() {
    let world = World::new();
    let log = log(&world);
    let frames: Vec<&[u8]> = log.frames.iter().map(Vec::as_slice).collect();
    let segments = [
        log.of_frames(&frames[..4]),
        [log.ends[3].head(), frames[4..9].concat()].concat(),
        [log.ends[8].head(), frames[9..].concat()].concat(),
    ];
    let wrong = |segments: &[&[u8]]| {
        let mut reader = SegmentReader::new(world.keys().start(), vec![Checkpoint(log.ends[11])]);
        segments.iter().zip(0..).for_each(|(segment, number)| reader.segment(number, segment, drop));
        reader.end().2.into_iter().map(|finding| (finding.segment, finding.wrong)).collect::<Vec<_>>()
    };
    let [first, second, third] = segments.each_ref().map(Vec::as_slice);
    assert_eq!(wrong(&[first, second, third]), []);
    assert_eq!(wrong(&[first, third]), [(1, AuditFaultKind::Removed { first: 4, last: 8 })]);
    assert_eq!(wrong(&[second, third]), [(0, AuditFaultKind::Removed { first: 0, last: 3 })]);
    let cut = &second[..second.len() - 1];
    let found = [(1, AuditFaultKind::HalfWithin(8)), (2, AuditFaultKind::Removed { first: 8, last: 8 })];
    assert_eq!(wrong(&[first, cut, third]), found);
    assert_eq!(wrong(&[first, first, third])[0], (1, AuditFaultKind::OtherStart(4)));
    assert_eq!(wrong(&[first, &second[1..], third])[0], (1, AuditFaultKind::NoHead));
}

#[test]
fn a_crash_at_any_byte_leaves_a_half_record_and_nothing_wrong() {
    let world = World::new();
    let log = log(&world);
    let (bytes, last) = (log.bytes(), log.frames[11].len());
    for cut in 1..=last {
        let (end, half, wrong, _) =
            read(&bytes[..bytes.len() - cut], &world.keys(), &[Checkpoint(log.ends[10])]);
        let rest = (last - cut) as u64;
        assert_eq!((end, half), (log.ends[10], (rest > 0).then_some(rest)));
        assert_eq!(wrong, []);
    }
    // A file system extended the file before writing to it.
    let grown = [&bytes[..bytes.len() - last], &vec![0; last]].concat();
    assert_eq!(read(&grown, &world.keys(), &[]).1, Some(last as u64));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Any content of the directory is read to its end, and no more is found than is reported.
    #[test]
    fn arbitrary_bytes_are_read_without_harm(head: bool, size: u64, bytes: Vec<u8>) {
        let keys = CheckpointKeys { server: "node:files@home.example".parse().unwrap(), keys: Vec::new() };
        let chain = LogEnd { size, ..keys.start() };
        let bytes = if head { [chain.head(), bytes].concat() } else { bytes };
        let mut reader = SegmentReader::new(chain, Vec::new());
        reader.segment(0, &bytes, drop);
        let (end, _, findings) = reader.end();
        prop_assert!(end.size >= size || !findings.is_empty());
        let _ = DecisionRecord::read(&bytes);
    }
}
