//! TLS handshakes, arm by arm: what was asked for, offered and achieved, and their CPU.

use crate::document::{Section, Table};
use crate::figures::{self, NONE};
use crate::reading::Reading;

/// Of the arms that made handshakes while they were measured.
pub(crate) fn section(reading: &Reading<'_>) -> Section {
    let rows = reading.arms().filter_map(|arm| row(reading, arm));
    let head = ["arm", "handshakes", "asked", "offered", "accepted", "resumed", "full CPU", "resumed CPU"];
    Section::new("TLS handshakes").detail().table(Table::new(head, rows)).note(
        "Resumed: the share that went on with an earlier session. Asked: what the plan wants of it, and an arm \
         that is off is invalid, or warned of in a search for peaks. Offered: the client had a session to go on with; accepted: the server took it. \
         The last two columns are CPU of the generator for a full and for a resumed handshake.",
    )
}

fn row(reading: &Reading<'_>, arm: &str) -> Option<Vec<String>> {
    let result = reading.arm(arm)?;
    let made = result.handshakes.as_ref()?;
    let share = |share: Option<f64>| share.map_or_else(|| NONE.to_owned(), figures::share);
    let cpu = |ns: Option<f64>| ns.map_or_else(|| NONE.to_owned(), |ns| figures::value("ns", ns));
    Some(vec![
        arm.to_owned(),
        figures::count(made.completed()),
        share(result.subject.client.as_ref().and_then(|client| client.resume)),
        share(made.offered_share()),
        share(made.accepted_share()),
        share(made.resumed_share()),
        cpu(made.full_cpu()),
        cpu(made.resumed_cpu()),
    ])
}
