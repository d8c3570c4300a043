//! Tests of `extract`: cases whose answer is known.

use super::*;
use crate::judge::{FaultSet, Hit, InGzip, ReplyJudgement, RequestOutcome};
use crate::ledger::{Ledger, LedgerEntry, RecordScope};
use bakeoff_meter::ErrorClass;
use std::sync::mpsc::channel;

/// Two hits of 10 ms, two misses of 30 ms, a failure; all waited 2 ms; in 2 seconds.
fn record(change: impl Fn(&mut ReplyJudgement)) -> LedgerRecord {
    let (sender, records) = channel();
    let mut ledger = Ledger::new(0, Nanos::ZERO, Nanos::ZERO, sender);
    ledger.begin_phase("meas", Nanos::ZERO);
    for turn in 0..5 {
        let mut judged = ReplyJudgement {
            kind: RequestKind::Basic,
            outcome: if turn < 4 { RequestOutcome::Good } else { RequestOutcome::Failed(ErrorClass::Reset) },
            hit: if turn < 2 { Hit::Hit } else { Hit::Miss },
            cachable: true,
            repeat: turn < 2,
            offered: turn < 2,
            in_gzip: InGzip::NotAsked,
            fetched_for: None,
            is_due: false,
            faults: FaultSet::NONE,
        };
        change(&mut judged);
        let (due, took) = (Nanos::from_millis(100 * turn), if turn < 2 { 10 } else { 30 });
        let sent = due + Nanos::from_millis(2);
        ledger.asked(due);
        let entry = LedgerEntry {
            judged,
            status: (turn < 4).then_some(200),
            due,
            sent,
            first_byte: sent + Nanos::from_millis(1),
            done: sent + Nanos::from_millis(took),
            request_bytes: 300,
            reply_bytes: 1000,
            reused: turn > 0,
            resent: turn == 1,
            refreshed: 0,
            id: b"",
            head: b"",
        };
        ledger.ended(&entry, Vec::new);
    }
    ledger.finish(Nanos::from_secs(2));
    records.iter().find(|record| record.scope == RecordScope::Phase).unwrap()
}

fn value(record: &LedgerRecord, name: &str) -> String {
    let found: Vec<_> = lines(record).into_iter().filter(|line| line.name == name).collect();
    assert_eq!(found.len(), 1, "{name}");
    found[0].value.clone()
}

#[test]
fn lines_are_written_as_lx_does() {
    let text = text(&record(|_| ()));
    for line in [
        "name:                            meas",
        "baseline.req.rate:               2.50 # differs: counted when it was handed out to be sent",
        "baseline.rptm.count:             4",
        "baseline.rptm.mean:              20.000",
        "baseline.rptm.rel_dev:           50.00",
        "hit.ratio.obj:                   50.00",
        "hit.rptm.hist:                    # differs: from the moment it was due",
        "rep_status_code.200.rptm.count:  4",
        "log.count:                       1",
    ] {
        assert!(text.contains(&format!("{line}\n")), "{line}\n{text}");
    }
}

#[test]
fn values_are_those_of_the_record_in_lx_s_units() {
    let record = record(|_| ());
    for (name, expected) in [
        ("baseline.rep.rate", "2.00"),
        ("baseline.rptm.std_dev", "10.000"),
        ("baseline.rptm.sum", "80.000"),
        ("hit.rptm.mean", "10.000"),
        ("miss.rptm.max", "30.000"),
        ("fill.size.sum", "2000.00"),
        ("offered.hit.ratio.byte", "50.00"),
        ("reload.rptm.mean", "-1.00"),
        ("reload.size.sum", "0.00"),
        ("xact.started", "5"),
        ("xact.finished", "5"),
        ("err_xact.ratio", "20.00"),
        ("retr_xact.count", "1"),
        ("errors.count", "1"),
        ("url.recurrence.ratio", "40.00"),
        ("url.unique.count", "3"),
        ("conn.use.mean", "5.00"),
        ("duration", "2.00"),
        ("first_resp_byte_read.mean", "1.000"),
        ("response.mean", "22.000"),
        // 2 x 12 ms, 3 x 32 ms in flight; 4 x 2 ms waiting; over 2 s.
        ("xact.level.mean", "0.06"),
        ("wait.level.mean", "0.00"),
    ] {
        assert_eq!(value(&record, name), expected, "{name}");
    }
}

#[test]
fn names_are_unique_and_remarks_stand_where_the_meaning_is_another() {
    let plain = lines(&record(|_| ()));
    let names: std::collections::BTreeSet<_> = plain.iter().map(|line| &line.name).collect();
    assert_eq!(names.len(), plain.len());
    let differs =
        |lines: &[ExtractLine], name: &str| lines.iter().find(|line| line.name == name).unwrap().differs;
    assert_eq!(differs(&plain, "baseline.rptm.mean"), None);
    assert_eq!(differs(&plain, "hit.ratio.obj"), None);
    assert_eq!(differs(&plain, "response.p99"), Some(NOT_IN_LX));
    let validated = lines(&record(|judged| judged.hit = Hit::Revalidated));
    assert_eq!(differs(&validated, "hit.ratio.obj"), Some(VALIDATED_TOO));
    assert_eq!(differs(&validated, "hit.rptm.mean"), Some(VALIDATED_TOO));
}

#[test]
fn notes_are_no_errors_and_faults_are() {
    let record =
        record(|judged| judged.faults = [ReplyFault::FalseMiss, ReplyFault::StaleHit].into_iter().collect());
    assert_eq!(value(&record, "errors.count"), "6");
    assert_eq!(value(&record, "note.false-miss.count"), "5");
    let rows = lines(&record).into_iter().find(|line| line.name == "errors.tbl").unwrap().rows;
    assert_eq!(rows, ["      5  83.33 \"stale-hit\"", "      1  16.67 \"reset\""]);
}

#[test]
fn lx_1_0_has_other_names_for_the_same_figures() {
    let record = record(|_| ());
    for (name, expected) in [
        ("log_cnt", "1"),
        ("req_rate", "2.50"),
        ("rep_rate", "2.00"),
        ("resp_tm_mean", "20.000"),
        ("req_dhr", "50.00"),
        ("rep_dhr", "50.00"),
        ("err_cnt", "1"),
        ("err_pct", "20.00"),
    ] {
        assert_eq!(value(&record, name), expected, "{name}");
    }
    let named = |record: &LedgerRecord, name: &str| lines(record).iter().any(|line| line.name == name);
    assert!(!named(&record, "conn_ttl_mean"), "a connection carried several requests");
    let mut short = record.clone();
    (short.sums.connections_opened, short.sums.connections_reused) = (5, 0);
    for name in ["conn_ttl_mean", "conn.ttl.mean"] {
        assert_eq!(value(&short, name), value(&short, "baseline.rptm.mean"));
    }
}
