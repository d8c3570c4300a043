//! Fuzz targets of the robots: reply heads that they judge, and plans that they read.

use bakeoff_robots::judge::{
    Accepts, Freshness, JudgedRequest, Known, ReceivedReply, RequestKind, RequestOutcome, Truth, Weight,
    judge,
};
use bakeoff_robots::spec::Spec;
use bakeoff_units::Nanos;
use bakeoff_wire::stamp::{Upload, Words};

/// Time of the request, in seconds since 1970: the one that the dates in the seeds assume.
const NOW: u64 = 784_111_777;

/// Any head at all is judged, and what fails has a reason.
///
/// The first byte chooses the request, the second the object; the rest is the head.
pub fn heads(data: &[u8]) {
    let [kind, object, head @ ..] = data else { return };
    let kind = match kind % 9 {
        0 => RequestKind::Basic,
        1 => RequestKind::Ims200,
        2 => RequestKind::Ims304,
        3 => RequestKind::Reload,
        4 => RequestKind::Range { first: 0, last: 9 },
        5 => RequestKind::Range { first: u64::MAX, last: 0 },
        6 => RequestKind::Head,
        7 => RequestKind::Post,
        _ => RequestKind::Abort,
    };
    let freshness = Freshness::Until(NOW + 500);
    let known = Known { version: 5, last_modified: Some(NOW - 500), etag: 0xe, freshness };
    let cachable = object & 1 == 0;
    let body_bytes = [0, 100, u64::MAX][usize::from(object >> 1) % 3];
    let asked = JudgedRequest {
        stamp: 0xabc,
        kind,
        repeat: object & 0x80 != 0,
        accepts: [Accepts::Anything, Accepts::Gzip, Accepts::Identity][usize::from(object >> 5) % 3],
        upload: Upload::default(),
        words: &Words::default(),
        id: b"w1",
        media_type: b"text/plain",
        object: None,
        truth: Truth {
            body_bytes,
            cachable,
            gzip: object & 0x20 != 0,
            at_sent: known,
            between: known,
            at_done: known,
        },
        begun_unix: Nanos::from_secs(NOW - 60),
        sent_unix: Nanos::from_secs(NOW),
        done_unix: Nanos::from_secs(NOW + 1),
        fetch: None,
    };
    let judged = judge(&asked, &ReceivedReply { head, body_bytes: 100, ..ReceivedReply::default() });
    assert_eq!(judged.outcome == RequestOutcome::Wrong, judged.faults.weight() == Weight::Fails);
    assert!(!matches!(judged.outcome, RequestOutcome::Failed(_)), "a whole reply: {judged:?}");
}

/// A text is a plan for robots that has phases which end, or it is refused with a message.
pub fn plan(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Spec::from_toml(text) {
        Ok(spec) => {
            assert!(!spec.phases.is_empty(), "nothing is done");
            for phase in spec.phases.iter() {
                let goal = phase.goal;
                let counts = goal.transactions.is_some() || goal.fill_bytes.is_some();
                assert!(
                    counts || goal.duration.is_some() || goal.lock.is_some(),
                    "{}: never ends",
                    phase.name
                );
            }
            let shares = [spec.recurrence, spec.embedded, spec.byte_hit_discrimination, spec.accept_gzip];
            assert!(shares.iter().all(|share| share.get() <= 1.0), "more than all");
        }
        Err(error) => assert!(!error.to_string().trim().is_empty(), "a refusal without words"),
    }
}
