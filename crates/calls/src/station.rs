//! Station: the setup of one operation that is repeated, and its batches.
//!
//! Measuring side. `run` is the hot part, everything else is cold. A station leaves nothing behind when it
//! is dropped but files in the place's directory.

use crate::CallClock;
use crate::failure::{Done, OperationFailure};
use crate::partner::Partner;
use bakeoff_sys::{cpu_clock, process};
use bakeoff_units::Nanos;

/// One operation, ready to be made.
pub(crate) trait Station {
    /// Prepares a batch of so many.
    fn before(&mut self, _count: u64) -> Done {
        Ok(())
    }

    /// The batch: the operation so many times.
    fn run(&mut self, count: u64) -> Done;

    /// Removes the leftovers of a batch.
    fn after(&mut self) -> Done {
        Ok(())
    }

    /// The partner that answers.
    fn partner(&self) -> Option<&Partner> {
        None
    }
}

/// Cost of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchCost {
    /// By the clock.
    pub ticks: u64,
    /// CPU of this process, its children and its partner; `None` where it cannot be read.
    pub cpu: Option<Nanos>,
}

/// Makes a batch, timed.
pub(crate) fn batch(station: &mut dyn Station, count: u64, clock: CallClock) -> Done<BatchCost> {
    let prepared = station.before(count);
    let before = spent(station);
    let start = clock.ticks();
    let run = prepared.and_then(|()| station.run(count));
    let ticks = clock.ticks() - start;
    let cpu = before.and_then(|before| Some(spent(station)?.since(before)));
    let after = station.after();
    run.and(after).map(|()| BatchCost { ticks, cpu })
}

fn spent(station: &dyn Station) -> Option<Nanos> {
    let partner = match station.partner() {
        Some(partner) => cpu_clock::process(partner.pid()).ok()?,
        None => Nanos::ZERO,
    };
    let children = process::children_used().ok()?;
    Some(cpu_clock::own_process().ok()? + children.user + children.system + partner)
}

/// Checks that a write or a read was complete.
pub(crate) fn all(doing: &'static str, wanted: usize) -> impl Fn(Result<usize, nix::Error>) -> Done {
    move |result| match result.map_err(OperationFailure::of(doing))? {
        done if done == wanted => Ok(()),
        done => Err(OperationFailure::Wrong(format!("{doing}: {done} of {wanted} bytes"))),
    }
}
