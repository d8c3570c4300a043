//! Check of the `calls` workload.

use super::super::CallsWork;
use super::super::file::CallsSection;
use super::{Checked, Context};
use crate::file::Spanned;
use bakeoff_calls::{CallOperation, Peers};
use bakeoff_units::Nanos;

/// Deeper paths are longer than the kernel takes.
const DEEPEST: u64 = 100;
/// A shorter batch is mostly the reading of clocks.
const SHORTEST: Nanos = Nanos::from_micros(100);

impl Context<'_> {
    pub(super) fn calls_work(&self, w: &CallsSection, slice: Option<&Spanned<u64>>) -> Checked<CallsWork> {
        let help = "take the line out, and say how long a batch is: batch = \"5ms\"";
        self.refuse(slice, "calls come in batches", help)?;
        let all: Vec<CallOperation> = CallOperation::all().collect();
        let work = CallsWork {
            operations: self.operations(&w.operations, &all, &all, CallOperation::word)?,
            depth: self.at_least(w.depth.as_ref(), 8, 0)?,
            batch: self.quantity(&w.batch, "5ms")?,
            peers: self.choice(&w.peers, "place for partners", &Peers::ALL, Peers::ALL[0], Peers::as_str)?,
            time_limit: self.quantity(&w.time_limit, "1min")?,
        };
        let too_deep = w.depth.as_ref().filter(|_| work.depth > DEEPEST);
        self.refuse(too_deep, format!("this must lie between 0 and {DEEPEST}"), "such as 8")?;
        let odd = w.batch.as_ref().filter(|_| work.batch < SHORTEST || work.batch > work.time_limit);
        let what = format!("a batch takes {SHORTEST} at least, and no longer than its time limit");
        self.refuse(odd, what, "such as \"5ms\"")?;
        Ok(work)
    }
}
