//! The event loop: sends requests that are due and takes in events, until the job is over.
//!
//! Measuring side, hot. The loop knows neither workload, pacing, protocol nor the interface to the kernel: those are
//! the source, the [`Flow`], the [`Connection`] and the driver. Sending is in [`ask`], events in [`events`], the end of
//! a request in [`ends`], and the end of the run in [`stop`].

mod ask;
mod between;
mod ends;
mod events;
mod stop;

use crate::batching::{Batching, FEWEST_IN_FLIGHT};
use crate::connection::Manner;
use crate::delay::Delays;
use crate::exchange::Exchange;
use crate::flow::{Flow, RobotPools};
use crate::job::Reuse;
use crate::listener::RequestListener;
use crate::profile::{Profiler, Stage};
use crate::refusals::Refusals;
use crate::sampler::Sampler;
use crate::tls::HandshakeLedger;
use crate::worker::{Worker, WorkerJob, WorkerReport};
use bakeoff_meter::Recorder;
use bakeoff_sys::driver::{SystemCalls, Wait};
use bakeoff_units::{Clock, Nanos};
use bakeoff_workload::{Source, Statuses};
use std::io;
use std::sync::atomic::AtomicBool;

/// A worker that had so many failures one after the other and not one good reply ends the run: the
/// server answers nothing, and asking on would only take time.
pub const GIVE_UP_AFTER: u32 = 200;

/// Period of the checks of time limits, unless connections are very many.
const SWEEP: Nanos = Nanos::from_millis(20);

/// A job being run.
pub(crate) struct Run<'l, 'j, S> {
    worker: &'l mut Worker,
    manner: Manner<'j>,
    source: S,
    terms: Terms<'j>,
    flow: Flow,
    /// The pools, where robots have connections of their own.
    pools: Option<RobotPools<Exchange>>,
    recorder: Recorder,
    batching: Batching,
    in_flight: usize,
    /// Connections that wait for the server to close them.
    lingering: usize,
    /// Attempts to connect that failed in a row, by slot.
    failed_connects: Vec<u8>,
    failures_in_a_row: u32,
    /// The connection whose time limits were looked at last.
    swept: usize,
    /// Requests that go over another connection.
    again: Vec<Exchange>,
    /// When the loop last looked at something that came.
    seen: Nanos,
    stopped: bool,
    gave_up: bool,
    last_reply: Nanos,
    tls: Option<String>,
    handshakes: HandshakeLedger,
    violation: Option<String>,
    sampler: Option<Sampler>,
    /// Lateness by cause, in an open loop.
    delays: Option<Delays>,
    profiler: Profiler,
}

/// Terms of the job, apart from its source and its flow.
struct Terms<'j> {
    start: Nanos,
    end: Option<Nanos>,
    timeout: Nanos,
    refused: Statuses,
    refusals: Refusals,
    interrupted: &'j AtomicBool,
    /// Whether replies may gather, and are stamped.
    batched: bool,
}

impl<'l, 'j, S: Source + RequestListener> Run<'l, 'j, S> {
    pub(crate) fn new(worker: &'l mut Worker, manner: Manner<'j>, job: WorkerJob<'j, S>) -> Self {
        let seats = job.plan.seats();
        let terms = Terms {
            start: job.start,
            end: job.until.map(|until| job.start + until),
            timeout: job.timeout,
            refused: job.refused,
            refusals: job.engine.refusals,
            interrupted: job.interrupted,
            // A connection a request leaves nothing to gather: setting it up is what costs.
            batched: job.engine.batching && manner.target.reuse != Reuse::Never && seats >= FEWEST_IN_FLIGHT,
        };
        let streams = manner.target.protocol.streams();
        // Open connections first, so that a slice does not begin with set-ups.
        let stands = |seat: u32| worker.connections[seat as usize / streams].is_some();
        let pools = job.plan.pools();
        let flow = Flow::new(job.plan, job.start, stands);
        let is_open = flow.is_open();
        let profiler = Profiler::new(manner.clock, job.engine.profile);
        Self {
            failed_connects: vec![0; worker.connections.len()],
            worker,
            manner,
            source: job.source,
            terms,
            flow,
            pools,
            recorder: Recorder::new(),
            batching: Batching::default(),
            in_flight: 0,
            lingering: 0,
            failures_in_a_row: 0,
            swept: 0,
            again: Vec::new(),
            seen: job.start,
            stopped: false,
            gave_up: false,
            last_reply: Nanos::ZERO,
            tls: None,
            handshakes: HandshakeLedger::default(),
            violation: None,
            sampler: job.sample_every.map(|every| Sampler::new(job.start, every, job.until)),
            delays: is_open.then(|| Delays::new(job.start)).flatten(),
            profiler,
        }
    }

    /// Runs to the end; returns the report and the source.
    pub(crate) fn run_to_end(mut self) -> io::Result<(WorkerReport, S)> {
        self.flow.schedule(self.source.upcoming(0));
        let mut sweep_at = self.worker.clock.now() + SWEEP;
        loop {
            let now = self.worker.clock.now();
            self.profiler.begin_turn();
            if let Some(sampler) = &mut self.sampler {
                sampler.note(now, self.in_flight);
            }
            if let Some(delays) = &mut self.delays {
                delays.tick(now);
            }
            self.stop_if_told(now);
            self.start_due(now);
            if self.in_flight == 0 && self.nothing_to_come() {
                return Ok(self.report());
            }
            if now >= sweep_at {
                self.sweep(now);
                sweep_at = now + SWEEP;
            }
            let wait = self.patience(sweep_at);
            self.profiler.lap(Stage::Asking);
            self.profiler.before_wait();
            self.worker.driver.wait(wait)?;
            self.profiler.after_wait();
            self.take_in();
        }
    }

    fn report(self) -> (WorkerReport, S) {
        let report = WorkerReport {
            recorder: self.recorder,
            last_reply: self.last_reply,
            gave_up: self.gave_up,
            tls: self.tls,
            handshakes: self.handshakes,
            violation: self.violation,
            in_flight: self.sampler.map_or_else(Vec::new, Sampler::finish),
            own_lateness: self.delays.map(Delays::finish),
            profile: self.profiler.finish(),
            calls: SystemCalls::default(),
        };
        (report, self.source)
    }

    fn patience(&self, sweep_at: Nanos) -> Wait {
        let now = self.worker.clock.now();
        let next = match &self.pools {
            Some(pools) if pools.is_ready() => Some(Nanos::ZERO),
            _ => self.flow.next_wake().filter(|_| !self.stopped),
        };
        let due = next.map(|next| next.since(now));
        let batch = if self.terms.batched { self.batching.plan(self.in_flight, due) } else { None };
        let until = sweep_at.since(now);
        Wait { at_most: Some(due.map_or(until, |due| due.min(until))), batch }
    }
}
