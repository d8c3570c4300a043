//! Columns of a row of the log of transactions, in their order, with their units and meanings.
//!
//! Measuring side, cold: on the writer's thread. One table; the file and its notes are made from it.

use super::{RunContext, Transaction};
use bakeoff_robots::judge::{Hit, ReplyFault, RequestKind, RequestOutcome};

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name, which ends in its unit if it has one.
    pub name: &'static str,
    /// Its unit; empty if it has none.
    pub unit: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// Type of its values, and how they are read.
    pub cells: Cells,
}

/// Type of the values of a column.
#[derive(Clone, Copy, Debug)]
pub enum Cells {
    /// Whole numbers that mostly lie near those of the rows beside them.
    Moments(fn(&RunContext, &Transaction) -> u64),
    /// Whole numbers; some rows may have none.
    Counts(fn(&RunContext, &Transaction) -> Option<u64>),
    /// All 64 bits of a number that is no count.
    Bits(fn(&Transaction) -> u64),
    /// Yes or no.
    Yes(fn(&Transaction) -> bool),
    /// One of a few words; some rows may have none.
    Words(for<'r> fn(&'r RunContext, &Transaction) -> Option<&'r str>),
    /// Any number of words.
    Lists(fn(&Transaction) -> Vec<&'static str>),
}

/// Every column. Moments are since the run began.
pub static COLUMNS: [Column; 29] = [
    column("run", "", "its line in runs.jsonl, from 0", Cells::Counts(|of, _| Some(of.run.into()))),
    column("entrant", "", "who was asked", Cells::Words(|of, _| Some(&of.entrant))),
    column(
        "run_began_unix_ns",
        "ns",
        "when the run began, since 1970",
        Cells::Moments(|of, _| of.began_unix.get()),
    ),
    column("phase", "", "the phase in which it ended; none after the last", Cells::Words(phase)),
    column(
        "due_phase",
        "",
        "the phase in which it was due",
        Cells::Words(|of, row| name(&of.phases, row.due_phase)),
    ),
    column("robot", "", "who asked", Cells::Counts(|_, row| Some(row.robot.into()))),
    column("due_ns", "ns", "when it was due", Cells::Moments(|_, row| row.due.get())),
    column("sent_ns", "ns", "when it was sent", Cells::Moments(|_, row| row.sent.get())),
    column(
        "first_byte_ns",
        "ns",
        "when the first byte of the reply came; done_ns where none did",
        Cells::Moments(|_, row| row.first_byte.get()),
    ),
    column(
        "done_ns",
        "ns",
        "when the last byte came, or when it had failed",
        Cells::Moments(|_, row| row.done.get()),
    ),
    column("kind", "", "the kind of request", Cells::Words(|_, row| kind(row))),
    column("method", "", "its method", Cells::Words(|_, row| Some(row.method.as_str()))),
    column("stamp", "", "the request's stamp", Cells::Bits(|row| row.stamp)),
    column("object_world", "", "the object: its world", Cells::Bits(|row| row.object.world)),
    column("object_server", "", "its server", Cells::Counts(|_, row| Some(row.object.server.into()))),
    column(
        "object_kind",
        "",
        "its kind of content",
        Cells::Words(|of, row| of.kinds.get(usize::from(row.object.kind)).map(String::as_str)),
    ),
    column("object_number", "", "its number in world, server and kind", Cells::Bits(|row| row.object.number)),
    column("cachable", "", "whether caches may keep the reply", Cells::Yes(|row| row.cachable)),
    column("repeated", "", "whether the object had been asked for before", Cells::Yes(|row| row.repeat)),
    column("embedded", "", "whether a page embeds it", Cells::Yes(|row| row.embedded)),
    column("offered", "", "whether an ideal cache would have had it", Cells::Yes(|row| row.offered)),
    column("status", "", "the status, where a head came", Cells::Counts(|_, row| row.status.map(u64::from))),
    column("outcome", "", "good, failed, or aborted by the robot", Cells::Words(|_, row| Some(outcome(row)))),
    column("error", "", "the class of a failure; none where faults are the reason", Cells::Words(error)),
    column(
        "hit",
        "",
        "hit, miss, revalidated, or none that a stamp tells",
        Cells::Words(|_, row| Some(hit(row))),
    ),
    column("faults", "", "what is wrong with the reply, or worth counting", Cells::Lists(faults)),
    column(
        "request_bytes",
        "B",
        "the request, head and body",
        Cells::Counts(|_, row| Some(row.request_bytes)),
    ),
    column(
        "reply_bytes",
        "B",
        "the reply, head and body; 0 of failures",
        Cells::Counts(|_, row| Some(row.reply_bytes)),
    ),
    column(
        "connection_reused",
        "",
        "whether its connection had carried others",
        Cells::Yes(|row| row.reused),
    ),
];

const fn column(name: &'static str, unit: &'static str, meaning: &'static str, cells: Cells) -> Column {
    Column { name, unit, meaning, cells }
}

fn name(names: &[String], at: u16) -> Option<&str> {
    names.get(usize::from(at)).map(String::as_str)
}

fn phase<'r>(of: &'r RunContext, row: &Transaction) -> Option<&'r str> {
    name(&of.phases, row.phase?)
}

fn kind(row: &Transaction) -> Option<&'static str> {
    RequestKind::LABELS.get(usize::from(row.kind)).copied()
}

/// Wrong replies are failures, as in the phases' sums.
const fn outcome(row: &Transaction) -> &'static str {
    match row.outcome {
        RequestOutcome::Good => "good",
        RequestOutcome::Aborted => "aborted",
        RequestOutcome::Wrong | RequestOutcome::Failed(_) => "failed",
    }
}

fn error<'r>(_: &'r RunContext, row: &Transaction) -> Option<&'r str> {
    match row.outcome {
        RequestOutcome::Failed(class) => Some(class.as_str()),
        RequestOutcome::Good | RequestOutcome::Aborted | RequestOutcome::Wrong => None,
    }
}

const fn hit(row: &Transaction) -> &'static str {
    match row.hit {
        Hit::Hit => "hit",
        Hit::Miss => "miss",
        Hit::Revalidated => "revalidated",
        Hit::Unknown => "none",
    }
}

fn faults(row: &Transaction) -> Vec<&'static str> {
    row.faults.iter().map(ReplyFault::label).collect()
}
