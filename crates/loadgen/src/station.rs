//! Station: all workers towards one target. Threads are started for a job and end with it; connections stay.

use crate::delay::OwnLateness;
use crate::engine::Engine;
use crate::flow::Plan;
use crate::job::{Pace, Protocol, StationJob, Target};
use crate::lanes::Lanes;
use crate::listener::RequestListener;
use crate::profile::Profile;
use crate::sampler;
use crate::tls::HandshakeLedger;
use crate::worker::{Worker, WorkerJob, WorkerReport};
use bakeoff_meter::{Recorder, SliceCounters, Times};
use bakeoff_sys::driver::{Driver, SystemCalls};
use bakeoff_sys::namespace::Namespace;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use bakeoff_workload::Source;
use std::io;
use std::thread;

/// The generator towards one target.
pub struct Station {
    target: Target,
    cores: Vec<usize>,
    network: Option<Namespace>,
    lanes: Lanes,
    /// One a lane.
    workers: Vec<Worker>,
    clock: MonotonicClock,
    engine: Engine,
}

/// Results of a job.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Histograms.
    pub times: Times,
    /// Client-side counters, the generator's CPU and how busy its busiest thread was. The rest is
    /// zero or absent.
    pub counters: SliceCounters,
    /// The run was ended early because nothing but failures came back.
    pub gave_up: bool,
    /// The TLS parameters agreed on, when a handshake was made in this job.
    pub tls: Option<String>,
    /// The server's first violation of HTTP/2, in words.
    pub violation: Option<String>,
    /// TLS handshakes of this job: asked for, achieved, and their CPU.
    pub handshakes: HandshakeLedger,
    /// Requests in flight at equal intervals from the start on, where that was requested.
    pub in_flight: Vec<u32>,
    /// The generator's system calls.
    pub calls: SystemCalls,
    /// Open loop: lateness without the moments at which other programs had the generator's core, where the kernel
    /// counts those.
    pub own_lateness: Option<OwnLateness>,
    /// Profile of the generator's own time, where that was requested.
    pub profile: Option<Profile>,
}

impl Recording {
    /// Adds what another generator did at the same time: counts and histograms. The busiest thread is that of either.
    pub fn add_beside(&mut self, other: &Self) {
        let busy = self.counters.generator_busy.max(other.counters.generator_busy);
        self.counters.add_beside(&other.counters);
        self.counters.generator_busy = busy;
        self.times.merge(&other.times);
        self.gave_up |= other.gave_up;
        self.tls = self.tls.take().or_else(|| other.tls.clone());
        self.violation = self.violation.take().or_else(|| other.violation.clone());
        self.handshakes.merge(&other.handshakes);
    }
}

/// The interface to the kernel, as results name it.
pub const DRIVER: &str = "epoll";

/// Threads start their work together, so long after they were made.
const HEAD_START: Nanos = Nanos::from_micros(300);

impl Station {
    /// A station with `threads` workers, thread i pinned to `cores[i % len]` (not pinned without
    /// cores).
    ///
    /// # Errors
    /// When no event queue can be made, mostly for want of descriptors.
    pub fn new(target: Target, threads: usize, cores: Vec<usize>) -> io::Result<Self> {
        Self::with(target, Lanes::all(threads), cores, Engine::default())
    }

    /// The same with settings, and with the lanes of one generator among several. Whether the kernel keeps to a range of ports by itself is looked at in the network of
    /// the caller.
    ///
    /// # Errors
    ///
    /// As [`Station::new`].
    pub fn with(target: Target, lanes: Lanes, cores: Vec<usize>, engine: Engine) -> io::Result<Self> {
        let clock = MonotonicClock::new();
        let mut workers = Vec::with_capacity(lanes.count());
        for lane in lanes.numbers() {
            workers.push(Worker::new(Driver::new(clock)?, clock, (lane, lanes.of()), target.ports));
        }
        Ok(Self { target, cores, network: None, lanes, workers, clock, engine })
    }

    /// The same, with its connections made in another network than bakeoff's own.
    #[must_use]
    pub fn inside(mut self, network: Option<Namespace>) -> Self {
        self.network = network;
        self
    }

    /// The lanes of its threads.
    pub const fn lanes(&self) -> Lanes {
        self.lanes
    }

    /// The target of requests.
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// Closes all connections.
    pub fn disconnect(&mut self) {
        self.workers.iter_mut().for_each(Worker::disconnect);
    }

    /// Runs a job; returns when nothing is in flight any more.
    ///
    /// # Errors
    /// When the event queue fails, or the network cannot be entered. Failures of requests are
    /// counted, not returned.
    pub fn run<S: Source>(&mut self, job: StationJob<'_, S>) -> io::Result<Recording> {
        self.run_workers(job.unheard(), None).map(|(recording, _)| recording)
    }

    /// The same, and takes the number of requests in flight every so often until the job's end. In
    /// an open loop a request that waits for a free connection is not yet among them.
    ///
    /// # Errors
    /// As [`Station::run`].
    pub fn run_sampled<S: Source>(&mut self, job: StationJob<'_, S>, every: Nanos) -> io::Result<Recording> {
        self.run_workers(job.unheard(), Some(every)).map(|(recording, _)| recording)
    }

    /// The same, and tells the sources how each of their requests ended; they come back in the order in
    /// which they were given.
    ///
    /// # Errors
    /// As [`Station::run`]; also for HTTP/2, whose heads are not kept.
    pub fn run_heard<S: Source + RequestListener>(
        &mut self,
        job: StationJob<'_, S>,
    ) -> io::Result<(Recording, Vec<S>)> {
        self.run_workers(job, None)
    }

    /// Both: sources that listen, and the number in flight every so often.
    ///
    /// # Errors
    /// As [`Station::run_heard`].
    pub fn run_heard_sampled<S: Source + RequestListener>(
        &mut self,
        job: StationJob<'_, S>,
        every: Nanos,
    ) -> io::Result<(Recording, Vec<S>)> {
        self.run_workers(job, Some(every))
    }

    fn run_workers<S: Source + RequestListener>(
        &mut self,
        job: StationJob<'_, S>,
        sample_every: Option<Nanos>,
    ) -> io::Result<(Recording, Vec<S>)> {
        if S::LISTENS && self.target.protocol != Protocol::Http1 {
            return Err(unsupported("a source that listens needs HTTP/1.1: heads of HTTP/2 are not kept"));
        }
        if matches!(job.pace, Pace::Pooled(_)) && self.target.protocol != Protocol::Http1 {
            return Err(unsupported("robots with connections of their own need HTTP/1.1"));
        }
        if self.target.via.is_some() && self.target.protocol != Protocol::Http1 {
            return Err(unsupported("tunnels through a proxy are for HTTP/1.1"));
        }
        let start = job.begins.map_or_else(|| self.clock.now() + HEAD_START, |at| self.clock.at(at));
        let streams = self.target.protocol.streams();
        let plans = plans(job.pace, &job.robots, self.lanes, streams);
        let (target, cores, network) = (&self.target, &self.cores, self.network.as_ref());
        let engine = self.engine;
        let reports: Vec<io::Result<(WorkerReport, Nanos, S)>> = thread::scope(|scope| {
            let work = self.workers.iter_mut().zip(job.sources).zip(plans).enumerate();
            let threads: Vec<_> = work
                .map(|(index, ((worker, source), plan))| {
                    let worker_job = WorkerJob {
                        source,
                        plan,
                        start,
                        timeout: job.timeout,
                        until: job.until,
                        check: job.check,
                        refused: job.refused,
                        sample_every,
                        interrupted: job.interrupted,
                        engine,
                    };
                    let core = (!cores.is_empty()).then(|| cores[index % cores.len()]);
                    scope.spawn(move || run_worker(worker, target, worker_job, core, network))
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| {
                    thread.join().unwrap_or_else(|_| Err(io::Error::other("a generator thread panicked")))
                })
                .collect()
        });
        let done =
            reports.into_iter().map(|worker| worker.map(|(report, cpu, source)| ((report, cpu), source)));
        let (told, sources): (Vec<_>, Vec<S>) = done.collect::<io::Result<_>>()?;
        let mut recording = sum_up(told, start);
        // Refusals are listed also where there were none.
        for label in engine.refusals.labels() {
            recording.counters.refused.entry(label).or_insert(0);
        }
        Ok((recording, sources))
    }
}

fn unsupported(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, why)
}

fn plans(pace: Pace, robots: &[usize], lanes: Lanes, streams: usize) -> Vec<Plan> {
    let part = |all: usize, lane| all / lanes.of() + usize::from(lane < all % lanes.of());
    let share = |all: usize, lane| part(all, lane).max(1) * streams;
    match pace {
        Pace::Closed { think, spread, connections } => {
            let plan = |(worker, lane)| {
                let robots = robots.get(worker).copied().unwrap_or(0);
                let seats = connections.map(|all| share(all, lane)).filter(|seats| *seats < robots);
                Plan::Closed { think, spread, robots, seats }
            };
            lanes.numbers().enumerate().map(plan).collect()
        }
        Pace::Open { pacers, connections } => {
            let pacers = pacers.into_iter().zip(lanes.numbers());
            pacers.map(|(pacer, lane)| Plan::Open { pacer, seats: share(connections, lane) }).collect()
        }
        Pace::Sourced { connections } => {
            lanes.numbers().map(|lane| Plan::Sourced { seats: share(connections, lane) }).collect()
        }
        Pace::Pooled(pools) => {
            let each = pools.each.max(1);
            lanes.numbers().map(|lane| Plan::Pooled { robots: part(pools.robots, lane), each }).collect()
        }
    }
}

fn run_worker<S: Source + RequestListener>(
    worker: &mut Worker,
    target: &Target,
    job: WorkerJob<'_, S>,
    core: Option<usize>,
    network: Option<&Namespace>,
) -> io::Result<(WorkerReport, Nanos, S)> {
    if let Some(network) = network {
        network.enter()?; // for the life of this thread
    }
    if let Some(core) = core {
        // A core that is gone is noticed before the run; here it only costs placement.
        let _ = bakeoff_sys::affinity::pin(&[core]);
    }
    bakeoff_sys::thread::wake_sharply();
    let before = bakeoff_sys::thread::cpu_time();
    let (report, source) = worker.run(target, job)?;
    Ok((report, bakeoff_sys::thread::cpu_time().since(before), source))
}

fn sum_up(reports: Vec<(WorkerReport, Nanos)>, start: Nanos) -> Recording {
    let mut recorder = Recorder::new();
    let (mut cpu, mut busiest, mut end) = (Nanos::ZERO, Nanos::ZERO, start);
    let (mut gave_up, mut tls, mut violation, mut in_flight) = (false, None, None, Vec::new());
    let (mut calls, mut handshakes) = (SystemCalls::default(), HandshakeLedger::default());
    let (mut own_lateness, mut profile) = (None, None);
    for (report, worker_cpu) in reports {
        recorder.merge(&report.recorder);
        cpu += worker_cpu;
        busiest = busiest.max(worker_cpu);
        end = end.max(report.last_reply);
        gave_up |= report.gave_up;
        tls = tls.or(report.tls);
        violation = violation.or(report.violation);
        sampler::add(&mut in_flight, &report.in_flight);
        calls.add(&report.calls);
        if let Some(more) = &report.own_lateness {
            own_lateness.get_or_insert_with(OwnLateness::default).add(more);
        }
        if let Some(more) = &report.profile {
            profile.get_or_insert_with(Profile::default).add(more);
        }
        handshakes.merge(&report.handshakes);
    }
    let (times, mut counters) = recorder.finish();
    let wall = end.since(start);
    counters.wall_ns = wall.get();
    counters.generator_cpu_ns = cpu.get();
    counters.generator_busy =
        if wall == Nanos::ZERO { 0.0 } else { busiest.get() as f64 / wall.get() as f64 };
    Recording {
        times,
        counters,
        gave_up,
        tls,
        violation,
        handshakes,
        in_flight,
        calls,
        own_lateness,
        profile,
    }
}
