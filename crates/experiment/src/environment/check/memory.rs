//! Checks of memory and storage activity beside a measurement.

use super::{CheckInput, Judged, Level};
use bakeoff_units::{Bytes, Ratio};

/// Share of memory. Less is pages that nothing has touched for long, which every old machine has.
const MOST_SWAP: f64 = 0.01;
/// Share of the last 10 s. Waiting for memory is rare on a machine that has enough.
const MOST_MEMORY_PRESSURE: f64 = 0.01;
/// Share of the last 10 s.
const MOST_IO_PRESSURE: f64 = 0.1;

pub(super) fn swap(asked: &CheckInput<'_>) -> Option<Judged> {
    let used = asked.seen.swap_used?;
    let memory = asked.seen.memory.map_or(0, Bytes::get);
    let found = format!("{used} of memory are swapped out");
    if used.get() as f64 <= MOST_SWAP * memory as f64 {
        return Some(Judged::ok(found));
    }
    Some(Judged::but(
        found,
        Level::Spoils,
        "at most a hundredth of the memory",
        "a page that comes back in the middle of a slice is time that no server spent",
        "Free memory, then `swapoff -a && swapon -a`.",
    ))
}

pub(super) fn numa(asked: &CheckInput<'_>) -> Option<Judged> {
    let (nodes, on) = (asked.seen.tuning.numa_nodes?, asked.seen.tuning.numa_balancing.unwrap_or(false));
    match (nodes, on) {
        (0 | 1, _) => Some(Judged::ok("there is one memory node")),
        (nodes, false) => Some(Judged::ok(format!("pages stay on their memory node ({nodes} nodes)"))),
        (nodes, true) => Some(Judged::but(
            format!("the kernel moves pages between {nodes} memory nodes"),
            Level::Note,
            "off",
            "it makes page faults to learn who uses what, and a subject's memory may move in the middle of a run",
            "`sysctl kernel.numa_balancing=0`.",
        )),
    }
}

pub(super) fn huge_pages(asked: &CheckInput<'_>) -> Option<Judged> {
    let mode = asked.seen.tuning.huge_pages.as_deref()?;
    let found = format!("transparent huge pages: {mode}");
    if mode != "always" {
        return Some(Judged::ok(found));
    }
    Some(Judged::but(
        found,
        Level::Note,
        "madvise or never",
        "which start of a server gets huge pages is luck, and its cost moves with it",
        "`echo madvise > /sys/kernel/mm/transparent_hugepage/enabled` as root, until the next boot.",
    ))
}

pub(super) fn pressure(asked: &CheckInput<'_>) -> Option<Judged> {
    waited(
        asked.seen.tuning.memory_pressure?,
        "memory",
        MOST_MEMORY_PRESSURE,
        "Free memory: `top` names who has it.",
    )
}

pub(super) fn io_pressure(asked: &CheckInput<'_>) -> Option<Judged> {
    waited(asked.seen.tuning.io_pressure?, "storage", MOST_IO_PRESSURE, "`iotop` names who reads and writes.")
}

fn waited(share: Ratio, on: &str, most: f64, how: &str) -> Option<Judged> {
    let found = format!("some task waited for {on} {share} of the last 10 s");
    if share.get() <= most {
        return Some(Judged::ok(found));
    }
    let wanted = format!("at most {}", Ratio::new(most).unwrap_or_default());
    Some(Judged::but(found, Level::Note, wanted, "servers that wait for it are measured as slow", how))
}
