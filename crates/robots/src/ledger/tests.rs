//! Tests of `ledger`: cases whose answer is known.

use super::*;
use crate::judge::{Hit, InGzip, ReplyFault, ReplyJudgement, RequestKind, RequestOutcome};
use bakeoff_meter::ErrorClass;
use std::sync::mpsc::{Receiver, channel};

const GOOD: ReplyJudgement = ReplyJudgement {
    kind: RequestKind::Basic,
    outcome: RequestOutcome::Good,
    hit: Hit::Miss,
    cachable: true,
    repeat: false,
    offered: false,
    in_gzip: InGzip::NotAsked,
    fetched_for: None,
    is_due: false,
    faults: FaultSet::NONE,
};

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// Due at `due`, sent 10 ms later, answered `took` ms after that, 1000 bytes.
fn entry(judged: ReplyJudgement, due: u64, took: u64) -> LedgerEntry<'static> {
    LedgerEntry {
        judged,
        status: Some(200),
        due: ms(due),
        sent: ms(due + 10),
        first_byte: ms(due + 10 + took / 2),
        done: ms(due + 10 + took),
        request_bytes: 300,
        reply_bytes: 1000,
        reused: false,
        resent: false,
        refreshed: 0,
        id: b"w1",
        head: b"HTTP/1.1 200 OK\r\n\r\n",
    }
}

fn ledger() -> (Ledger, Receiver<LedgerRecord>) {
    let (sender, records) = channel();
    (Ledger::new(0, Nanos::ZERO, Nanos::ZERO, sender), records)
}

fn enter(ledger: &mut Ledger, entry: &LedgerEntry<'_>) {
    ledger.asked(entry.due);
    ledger.ended(entry, || b"GET / HTTP/1.1\r\n".to_vec());
}

fn of(records: Vec<LedgerRecord>, scope: RecordScope) -> Vec<LedgerRecord> {
    records.into_iter().filter(|record| record.scope == scope).collect()
}

#[test]
fn hits_misses_and_bytes_come_to_known_ratios() {
    let (mut ledger, records) = ledger();
    let hit = ReplyJudgement { hit: Hit::Hit, repeat: true, offered: true, ..GOOD };
    enter(&mut ledger, &entry(GOOD, 0, 100));
    enter(&mut ledger, &entry(hit, 1, 20));
    enter(&mut ledger, &LedgerEntry { reply_bytes: 2000, ..entry(hit, 2, 40) });
    enter(&mut ledger, &entry(ReplyJudgement { hit: Hit::Revalidated, ..hit }, 3, 60));
    enter(&mut ledger, &entry(ReplyJudgement { cachable: false, ..GOOD }, 4, 100));
    enter(&mut ledger, &entry(ReplyJudgement { kind: RequestKind::Reload, ..GOOD }, 5, 100));
    ledger.finish(ms(1000));
    let run = of(records.iter().collect(), RecordScope::Run).remove(0).sums;
    assert_eq!((run.asked, run.finished, run.good, run.failed), (6, 6, 6, 0));
    assert_eq!(run.document_hit_ratio(), Some(0.6));
    assert_eq!(run.byte_hit_ratio(), Some(4000.0 / 6000.0));
    assert_eq!(run.offered_document_hit_ratio(), Some(0.6));
    assert_eq!(
        (run.hits.traffic.count(), run.revalidated.traffic.count(), run.misses.traffic.count()),
        (2, 1, 2)
    );
    assert_eq!((run.fill.count(), run.cachable.count(), run.uncachable.count()), (1, 4, 1));
    assert_eq!((run.kinds[3].count(), run.replies.traffic.count()), (1, 6));
    assert_eq!(run.replies.response.count(), 6);
    let hits = run.hits.traffic;
    assert_eq!((hits.response_ns.mean(), hits.service_ns.mean()), (Some(40e6), Some(30e6)));
    assert_eq!((run.waited_ns.mean(), run.new_objects), (Some(10e6), 3));
    assert_eq!((run.connections_opened, run.statuses[&200].count()), (6, 6));
}

#[test]
fn failures_are_counted_and_in_no_time() {
    let (mut ledger, records) = ledger();
    let failed = ReplyJudgement { outcome: RequestOutcome::Failed(ErrorClass::Reset), ..GOOD };
    let wrong = ReplyJudgement {
        outcome: RequestOutcome::Wrong,
        faults: [ReplyFault::WrongBytes].into_iter().collect(),
        ..GOOD
    };
    enter(&mut ledger, &LedgerEntry { status: None, ..entry(failed, 0, 1) });
    enter(&mut ledger, &LedgerEntry { reused: true, ..entry(failed, 0, 1) });
    enter(&mut ledger, &entry(wrong, 0, 1));
    enter(&mut ledger, &entry(ReplyJudgement { outcome: RequestOutcome::Aborted, ..GOOD }, 0, 1));
    ledger.finish(ms(1000));
    let run = of(records.iter().collect(), RecordScope::Run).remove(0).sums;
    assert_eq!((run.good, run.failed, run.aborted, run.finished), (0, 3, 1, 4));
    assert_eq!(run.errors["reset"], 2);
    let kept: Vec<_> = run.failures.iter().map(|kept| (kept.class.as_str(), kept.reply.as_str())).collect();
    assert_eq!(kept, [("reset", "HTTP/1.1 200 OK\r\n\r\n")], "the first of a class, once");
    assert_eq!(run.faults[&ReplyFault::WrongBytes], 1);
    assert_eq!(run.replies.response.count(), 0);
    assert_eq!(run.error_ratio(), Some(0.75));
    assert_eq!((run.connections_opened, run.connections_reused), (2, 1));
    assert_eq!(run.document_hit_ratio(), None);
}

/// Times in s, good replies and replies so far of each record.
fn course(records: &[LedgerRecord], scope: RecordScope) -> Vec<(u64, u64, u64, u64)> {
    let of_scope = of(records.to_vec(), scope);
    let times = |record: &LedgerRecord| [record.began_ns, record.ended_ns].map(|ns| ns / 1_000_000);
    let line = |record: &LedgerRecord| {
        let [began, ended] = times(record);
        (began, ended, record.sums.good, record.progress)
    };
    of_scope.iter().map(line).collect()
}

#[test]
fn beats_are_told_beside_intervals_and_change_none_of_them() {
    let run = |beat: Option<&str>| {
        let (ledger, records) = ledger();
        let mut ledger = ledger.with_beats(beat.map(|every| every.parse().unwrap()));
        ledger.begin_phase("warm", Nanos::ZERO);
        for due in [0, 100, 900, 2_500, 5_100, 6_900] {
            enter(&mut ledger, &entry(GOOD, due, 90));
        }
        ledger.begin_phase("meas", ms(7_200));
        enter(&mut ledger, &entry(GOOD, 7_200, 90));
        ledger.finish(ms(8_000));
        records.iter().collect::<Vec<_>>()
    };
    let (with, without) = (run(Some("1s")), run(None));
    let beats = [
        (0, 1_000, 2, 2),
        (1_000, 2_000, 1, 3), // ended at 1 s sharp
        (2_000, 3_000, 1, 4),
        (3_000, 4_000, 0, 4),
        (4_000, 5_000, 0, 4),
        (5_000, 6_000, 1, 5),
        (6_000, 7_000, 0, 5),
        (7_000, 7_200, 1, 6), // the phase ends
        (7_200, 8_000, 1, 7),
    ];
    assert_eq!(course(&with, RecordScope::Beat), beats);
    assert_eq!(course(&without, RecordScope::Beat), []);
    let others = |records: &[LedgerRecord]| -> Vec<String> {
        let others = records.iter().filter(|record| record.scope != RecordScope::Beat);
        others.map(|record| serde_json::to_string(record).unwrap()).collect()
    };
    assert_eq!(others(&with), others(&without), "what is stored has no beat in it");
}

#[test]
fn intervals_are_cut_by_time_and_by_phases() {
    let (mut ledger, records) = ledger();
    ledger.begin_phase("warm", Nanos::ZERO);
    enter(&mut ledger, &entry(GOOD, 0, 90)); // done at 100 ms
    enter(&mut ledger, &entry(GOOD, 11_000, 90)); // in the third interval
    ledger.begin_phase("meas", ms(12_000));
    ledger.tick(ms(17_000));
    ledger.finish(ms(17_000));
    let seen: Vec<_> = records
        .iter()
        .map(|record| {
            (
                record.scope,
                record.phase,
                record.number,
                record.began_ns / 1_000_000,
                record.ended_ns / 1_000_000,
                record.sums.good,
                record.progress,
            )
        })
        .collect();
    let expected = [
        (RecordScope::Interval, "warm", 1, 0, 5_000, 1, 1),
        (RecordScope::Interval, "warm", 2, 5_000, 10_000, 0, 1),
        (RecordScope::Interval, "warm", 3, 10_000, 12_000, 1, 2),
        (RecordScope::Phase, "warm", 3, 0, 12_000, 2, 2),
        (RecordScope::Interval, "meas", 4, 12_000, 17_000, 0, 2),
        (RecordScope::Phase, "meas", 4, 12_000, 17_000, 0, 2),
        (RecordScope::Run, "", 4, 0, 17_000, 2, 2),
    ];
    let expected = expected.map(|(scope, phase, number, began, ended, good, progress)| {
        (scope, phase.to_owned(), number, began, ended, good, progress)
    });
    assert_eq!(seen, expected);
}

#[test]
fn what_is_in_flight_is_carried_over_phases() {
    let (mut ledger, records) = ledger();
    ledger.begin_phase("a", Nanos::ZERO);
    ledger.asked(ms(1000));
    ledger.begin_phase("b", ms(3000));
    ledger.ended(&entry(GOOD, 1000, 2990), Vec::new);
    ledger.finish(ms(5000));
    let records: Vec<_> = records.iter().collect();
    let levels: Vec<_> = of(records.clone(), RecordScope::Phase).iter().map(|r| r.sums.in_flight).collect();
    assert_eq!((levels[0].area, levels[0].last), (2e9, 1));
    assert_eq!((levels[1].area, levels[1].last, levels[1].started), (1e9, 0, 0));
    let run = &of(records, RecordScope::Run)[0];
    assert_eq!(run.sums.in_flight.mean(run.span()), Some(0.6));
    assert_eq!((run.asked_per_second(), run.replies_per_second()), (Some(0.2), Some(0.2)));
}

#[test]
fn the_first_example_of_a_fault_is_kept_whole_and_no_other() {
    let (mut ledger, records) = ledger();
    let stale =
        ReplyJudgement { hit: Hit::Hit, faults: [ReplyFault::StaleHit].into_iter().collect(), ..GOOD };
    enter(&mut ledger, &entry(stale, 0, 10));
    ledger.ended(&entry(stale, 6000, 10), || unreachable!("only the first is written"));
    ledger.finish(ms(7000));
    let records: Vec<_> = records.iter().collect();
    assert_eq!(records.iter().map(|r| r.sums.examples.len()).collect::<Vec<_>>(), [1, 0, 1, 1]);
    let example = &records[0].sums.examples[0];
    assert_eq!(
        (example.fault, example.object.as_str(), example.done_ns),
        (ReplyFault::StaleHit, "w1", 20_000_000)
    );
    assert_eq!(
        (example.request.as_str(), example.reply.as_str()),
        ("GET / HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\n\r\n")
    );
    assert_eq!(records[3].sums.faults[&ReplyFault::StaleHit], 2);
}

#[test]
fn records_are_stored_and_read_again() {
    let (mut ledger, records) = ledger();
    ledger.begin_phase("warm", Nanos::ZERO);
    let hit = ReplyJudgement {
        hit: Hit::Hit,
        faults: [ReplyFault::StaleHit, ReplyFault::RangeIgnored].into_iter().collect(),
        ..GOOD
    };
    enter(&mut ledger, &entry(hit, 0, 10));
    ledger.finish(ms(500));
    for record in records.iter() {
        let text = serde_json::to_string(&record).unwrap();
        let read: LedgerRecord = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert_eq!(read.sums.hits.response.buckets(), record.sums.hits.response.buckets());
        assert!(text.contains("\"basic\":{") && text.contains("\"stale-hit\":1"));
    }
}

#[test]
fn pages_are_in_the_period_that_runs_and_records_without_them_are_read() {
    let (mut ledger, records) = ledger();
    ledger.begin_phase("warm", Nanos::ZERO);
    ledger.page_ended(false, 3, ms(30));
    ledger.page_ended(false, 1, ms(10));
    ledger.page_ended(true, 2, ms(900));
    ledger.begin_phase("meas", ms(1000));
    ledger.page_ended(false, 1, ms(20));
    ledger.finish(ms(2000));
    let records: Vec<_> = records.iter().collect();
    let pages = |scope| of(records.clone(), scope).into_iter().map(|record| record.sums.pages);
    let counts: Vec<_> =
        pages(RecordScope::Phase).map(|pages| (pages.good, pages.failed, pages.objects)).collect();
    assert_eq!(counts, [(2, 1, 4), (1, 0, 1)]);
    let run = pages(RecordScope::Run).next().unwrap();
    assert_eq!((run.response_ns.mean(), run.response.count()), (Some(20e6), 3));
    let mut older = serde_json::to_value(&records[0]).unwrap();
    older["sums"].as_object_mut().unwrap().remove("pages").unwrap();
    let read: LedgerRecord = serde_json::from_value(older).unwrap();
    assert_eq!((read.sums.pages.good, read.sums.pages.response.count()), (0, 0));
}

#[test]
fn nobody_need_listen() {
    let (mut ledger, records) = ledger();
    drop(records);
    enter(&mut ledger, &entry(GOOD, 0, 10));
    ledger.finish(ms(20_000));
}
