//! Block of file operations: those of one kind in one slice, one after the other.
//!
//! Measuring side, hot, in a thread of its own on the subjects' cores. The kernel charges its work for an operation to
//! the thread that asks for it, so this thread's CPU is a part of the subject's. It must not decide what is done.

use super::failure::{Class, Failure};
use super::hand::{Check, Hand};
use super::kind::Kind;
use super::steps::Steps;
use super::store::{Ground, Step, Store, TREE, half};
use super::watch::Pulse;
use bakeoff_meter::Histogram;
use bakeoff_plan::Fsync;
use bakeoff_sys::{affinity, thread};
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use std::sync::atomic::{AtomicBool, Ordering};

/// The steps of the block, their ground, and the time limit.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) kind: &'a Kind,
    pub(super) store: &'a Store,
    pub(super) steps: &'a [Step],
    pub(super) fsync: Fsync,
    pub(super) check: Check,
    /// The way to the directory is a part of the first operation.
    pub(super) from_afar: bool,
    pub(super) cores: &'a [usize],
    pub(super) clock: MonotonicClock,
    /// Time after which no operation begins.
    pub(super) until: Nanos,
    pub(super) interrupted: &'a AtomicBool,
}

/// Outcome of a block.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// Operations tried: fewer than steps when time or the user cut it short.
    pub(super) tried: usize,
    /// Steps that failed, with the class.
    pub(super) failed: Vec<(usize, Class)>,
    /// Number of them that the system refused.
    pub(super) refused: u64,
    /// The first of them in words.
    pub(super) first: Option<String>,
    pub(super) bytes: u64,
    /// Time spent in operations.
    pub(super) elapsed: Nanos,
    /// CPU of the thread.
    pub(super) cpu: Nanos,
    pub(super) times: Histogram,
    /// Sums of the steps of first contacts.
    pub(super) steps: Steps,
}

/// Runs the block, in the calling thread.
pub(super) fn run(block: Block<'_>, pulse: &Pulse<'_>) -> Result<Report, Failure> {
    // Missing cores were noticed before the run; here that only costs placement.
    let _ = affinity::pin(block.cores);
    let (way, before_it) = (block.clock.now(), thread::cpu_time());
    let mut hand = Hand::open(&block.store.root, block.fsync, block.check)?;
    let ground = block.store.ground(block.kind);
    if let Some(dir) = ground.dir {
        hand.work_in(dir)?;
    }
    let mut report = Report::default();
    let before = if block.from_afar { before_it } else { thread::cpu_time() };
    for (index, step) in block.steps.iter().enumerate() {
        let start = if block.from_afar && index == 0 { way } else { block.clock.now() };
        if start >= block.until || block.interrupted.load(Ordering::Relaxed) {
            break;
        }
        pulse.at(start);
        let result = perform(&mut hand, &ground, step);
        let took = block.clock.now().since(start);
        report.tried += 1;
        report.elapsed += took;
        match result {
            Ok(bytes) => {
                report.bytes += bytes;
                report.times.record(took);
            }
            Err(failure) => report.fail(index, &failure),
        }
    }
    report.cpu = thread::cpu_time().since(before);
    Ok(report)
}

/// Bytes of contents that were read or written.
fn perform(hand: &mut Hand, ground: &Ground<'_>, step: &Step) -> Result<u64, Failure> {
    match step {
        Step::Open(file) => hand.open_close(&ground.names[*file]),
        Step::Read(file, expected) => hand.read(&ground.names[*file], *expected),
        Step::Write(file, body) => hand.write(&ground.names[*file], *body),
        Step::Create(file, body) => hand.create(&ground.names[*file], *body),
        Step::Append(file, body) => hand.append(&ground.names[*file], *body, half(*body).len()),
        Step::Truncate(file, _) => hand.truncate(&ground.names[*file]),
        Step::Rename(file, to, _) => hand.rename(&ground.names[*file], to),
        Step::Replace(file, beside, [_, body]) => hand.replace(&ground.names[*file], beside, *body),
        Step::Remove(file, _) => hand.remove(&ground.names[*file]),
        Step::Stat(file, size) => hand.stat(&ground.names[*file], *size),
        Step::List => hand.list(ground.dir.unwrap_or(c"."), ground.names.len()),
        Step::Walk(tree) => hand.walk(TREE, tree),
        Step::ReadTree(tree) => hand.read_tree(TREE, tree),
        Step::Copy(copy, tree) => hand.copy(TREE, copy, tree),
    }
}

impl Report {
    /// Adds the report of later steps; `after`: steps before them.
    pub(super) fn add(&mut self, later: Self, after: usize) {
        self.tried += later.tried;
        self.failed.extend(later.failed.into_iter().map(|(step, class)| (after + step, class)));
        self.first = self.first.take().or(later.first);
        self.refused += later.refused;
        self.bytes += later.bytes;
        self.elapsed += later.elapsed;
        self.cpu += later.cpu;
        self.times.merge(&later.times);
        self.note(later.steps);
    }

    /// Adds the steps of a contact.
    pub(super) fn note(&mut self, steps: Steps) {
        for (name, ns) in steps {
            *self.steps.entry(name).or_default() += ns;
        }
    }

    pub(super) fn fail(&mut self, step: usize, failure: &Failure) {
        self.first.get_or_insert_with(|| failure.to_string());
        self.failed.push((step, failure.class));
        self.refused += u64::from(failure.is_refusal());
    }
}
