//! Outages of a bake-off of caches.

use super::points::{rate, ratio, time};
use crate::document::Table;
use crate::figures;
use bakeoff_caches::results::{Downtime, EntrantResults};

/// What stands in [`times`].
const TIMES: &str = "Downtime. From the kill: until it was started again (away), and the first reply of any kind. \
    From the start: until its port took a connection, the first good reply, the first miss and the first hit. Known to: it \
    may have been back so much sooner, as nobody asked in between";

/// What stands in [`losses`].
const LOSSES: &str = "What the outage cost: requests that failed until the first good reply; hit ratios of the \
    phases before and after; and of the objects that it might have kept from before and that were asked for again, those \
    whose first request was a hit";

/// How long it was away, and when it was back; nothing where there was no outage.
pub(super) fn times(entrant: &EntrantResults) -> Table {
    let row = |downtime: &Downtime| {
        [
            named(entrant, downtime),
            time(downtime.away_ns),
            time(downtime.first_reply_ns),
            time(downtime.ready_ns),
            time(downtime.first_good_ns),
            time(downtime.first_miss_ns),
            time(downtime.first_hit_ns),
            time(downtime.known_to_ns),
        ]
    };
    let head = ["outage", "away", "reply", "port", "good", "miss", "hit", "known to"];
    Table::new(head, entrant.downtime.iter().map(row)).captioned(TIMES)
}

/// What was lost in it.
pub(super) fn losses(entrant: &EntrantResults) -> Table {
    let row = |downtime: &Downtime| {
        let classes = downtime.lost.iter().map(|(class, count)| format!("{count} {class}"));
        [
            named(entrant, downtime),
            figures::count(downtime.lost_in_all()),
            ratio(downtime.hit_ratio_before),
            ratio(downtime.hit_ratio_after),
            figures::count(downtime.known_asked),
            figures::count(downtime.known_hits),
            ratio(downtime.survived()),
            classes.collect::<Vec<_>>().join(", "),
        ]
    };
    let head = ["outage", "lost", "hits before", "after", "asked again", "still there", "share", "lost as"];
    Table::new(head, entrant.downtime.iter().map(row)).captioned(LOSSES)
}

/// Its phase, with the rate where there are several, and the pass.
fn named(entrant: &EntrantResults, downtime: &Downtime) -> String {
    let named = match entrant.downtime.iter().any(|other| other.order != downtime.order) {
        true => format!("{} {}", rate(downtime.rate_per_s), downtime.phase),
        false => downtime.phase.clone(),
    };
    named + &downtime.pass.map_or_else(String::new, |pass| format!(" (pass {pass})"))
}
