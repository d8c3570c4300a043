//! Load of one run: robots against one address, started, listened to, and recorded.
//!
//! Measuring side. The robots' thread does the work; this one waits for their records, writes them, and reads the usage
//! of other processes when a phase ends.

use super::error::CachesError;
use super::listeners::{Keeps, Kept, with_listeners};
use super::outage::Trace;
use crate::records::{PhaseLine, Tls};
use crate::transactions::{Batcher, Fate, Log, Logged, RunContext, Writer};
use bakeoff_content::Distribution;
use bakeoff_content::world::Model;
use bakeoff_loadgen::{
    BodyCheck, LocalAddresses, LocalPorts, Pace, Pools, Recording, Station, StationJob, Target, TlsSettings,
};
use bakeoff_results::directory::DirectoryError;
use bakeoff_robots::ledger::{Beat, INTERVAL, Ledger, LedgerRecord, RecordScope};
use bakeoff_robots::phases::EndReason;
use bakeoff_robots::stream::StreamRequest;
use bakeoff_robots::{FillGate, PartsGate, Population, Robots, Setting, Spec, TargetForm, Worker};
use bakeoff_subject::ProxyMode;
use bakeoff_units::Nanos;
use bakeoff_workload::Statuses;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Interval at which the watch looks while nothing is recorded.
const LOOK: Duration = Duration::from_millis(250);

/// The requests, their target and their settings.
pub(crate) struct Load<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) model: &'a Model,
    /// The origin's think time, of kinds that have none of their own.
    pub(crate) think: Option<&'a Distribution>,
    pub(crate) way: Way,
    pub(crate) connections: usize,
    /// Local addresses of connections.
    pub(crate) from: &'a LocalAddresses,
    pub(crate) ports: Option<LocalPorts>,
    pub(crate) timeout: Nanos,
    /// Time that replies are awaited after the last phase.
    pub(crate) last_replies: Nanos,
    pub(crate) seed: u64,
    pub(crate) world: u64,
    /// The robots of the run that run here.
    pub(crate) worker: Worker,
    /// Gate at which they wait for others that make the same run.
    pub(crate) parts: Option<&'a PartsGate>,
    /// Whether requests are kept for caches that are simulated.
    pub(crate) keeps_stream: bool,
    /// Whether the outcome of every request is kept, for outages.
    pub(crate) keeps_trace: bool,
    /// The log of every request, if there is one.
    pub(crate) log: Option<LogOf<'a>>,
    pub(crate) cores: &'a [usize],
    pub(crate) interrupted: &'a AtomicBool,
}

/// The log of transactions, and the run that these belong to.
pub(crate) struct LogOf<'a> {
    pub(crate) log: &'a Log,
    pub(crate) run: u32,
    pub(crate) entrant: String,
}

/// Path of requests to an origin.
pub(crate) struct Way {
    origin: SocketAddr,
    /// The proxy that is asked in its place, or for a tunnel to it.
    proxy: Option<(SocketAddr, ProxyMode)>,
    /// Settings of TLS to it; `None`: without. A proxy is then asked for a tunnel.
    tls: Option<TlsSettings>,
}

impl Way {
    /// The path through the proxy before it, if there is one.
    pub(crate) fn new(
        origin: SocketAddr,
        proxy: Option<(SocketAddr, ProxyMode)>,
        tls: Option<&TlsSettings>,
    ) -> Self {
        Self { origin, proxy, tls: tls.cloned() }
    }

    fn form(&self) -> TargetForm {
        match self.proxy {
            Some((_, ProxyMode::Forward)) if self.tls.is_none() => {
                TargetForm::Absolute(self.origin.to_string())
            }
            _ => TargetForm::Origin,
        }
    }

    /// Its certificate is for its address.
    fn target(&self) -> Target {
        let host = self.origin.to_string();
        match (&self.tls, self.proxy) {
            (Some(tls), proxy) => Target {
                via: proxy.map(|(proxy, _)| proxy),
                tls: Some((tls.clone(), self.origin.ip().into())),
                ..Target::plain(self.origin, host)
            },
            (None, Some((proxy, _))) => Target::plain(proxy, host),
            (None, None) => Target::plain(self.origin, host),
        }
    }
}

/// TLS figures of the run, if there was any.
fn tls(recording: &Recording) -> Option<Tls> {
    let counts = recording.handshakes.counts()?;
    Some(Tls {
        agreed: recording.tls.clone(),
        full: counts.full,
        resumed: counts.resumed,
        failed: counts.failed,
        stands_p50_ns: recording.times.connect.quantile(0.5).get(),
        handshake_p50_ns: recording.times.handshake.quantile(0.5).get(),
    })
}

/// Observer of robots at work.
pub(crate) trait Watch {
    /// A record came. At a phase's end the usage in it is added.
    fn record(&mut self, record: &LedgerRecord) -> Result<(), CachesError>;

    /// Length of a beat, if its records are wanted.
    fn beat(&self) -> Option<Beat>;

    /// A phase has ended, or was cut short: its line is kept even if its usage cannot be read.
    fn phase(&mut self, phase: LedgerRecord) -> (PhaseLine, Result<(), CachesError>);

    /// The phase has ended as it should, and the next begins.
    fn turn(&mut self, ended: &str) -> Result<(), CachesError>;

    /// Called now and then; `gate` ends a phase that waits for it.
    fn look(&mut self, gate: &FillGate) -> Result<(), CachesError>;
}

/// Controls of the other threads that can be used from here.
#[derive(Clone, Copy)]
struct Hands<'a> {
    gate: &'a FillGate,
    stop: &'a AtomicBool,
    fate: Option<&'a Fate>,
}

/// Outcome of the robots' run.
pub(crate) struct Ended {
    pub(crate) phases: Vec<PhaseLine>,
    /// The requests by which caches may have come to know objects, if they were kept.
    pub(crate) stream: Vec<StreamRequest>,
    /// The outcome of every request, if it was kept.
    pub(crate) trace: Trace,
    /// The written part of its log of transactions, if they were logged.
    pub(crate) logged: Option<Logged>,
    pub(crate) lateness_p99_ns: u64,
    pub(crate) busy: f64,
    pub(crate) gave_up: bool,
    pub(crate) tls: Option<Tls>,
    /// Reason why it was broken off, if it was; the rest is the data until then.
    pub(crate) failed: Option<CachesError>,
}

impl Load<'_> {
    /// Runs to the end of the last phase, or until it is interrupted.
    pub(crate) fn run(&self, watch: &mut dyn Watch) -> Ended {
        let (sender, records) = channel();
        let (gate, stop) = (FillGate::new(), AtomicBool::new(false));
        let ledger = Ledger::new(0, INTERVAL, Nanos::ZERO, sender).with_beats(watch.beat());
        let (spec, model) = (Arc::new(self.spec.clone()), Arc::new(self.model.clone()));
        let setting = self.setting(&gate);
        let (batcher, writer) = self.log_of(setting.start_unix).unzip();
        let population = Population::new(spec, model, setting);
        let population = match self.parts {
            Some(parts) => population.agreeing(parts.clone()),
            None => population,
        };
        let target = self.target();
        let kept = Arc::new(Mutex::new(Kept::default()));
        let keeps = Keeps { stream: self.keeps_stream, trace: self.keeps_trace };
        let robots = Robots::new(population, ledger, &target).waiting_at_most(self.last_replies);
        let robots = robots.thinking(self.think.cloned());
        let robots = with_listeners(robots, keeps, kept.clone(), batcher);
        let fate = writer.as_ref().map(Writer::fate);
        let mut phases: Vec<PhaseLine> = Vec::new();
        let (ended, failed, logged) = std::thread::scope(|scope| {
            let writing = writer.map(|writer| scope.spawn(|| writer.write()));
            let working = scope.spawn(|| self.work(target, robots, &stop));
            let hands = Hands { gate: &gate, stop: &stop, fate: fate.as_ref() };
            let failed = self.listen(&records, hands, &mut phases, watch);
            let ended = working.join();
            let ended = ended.unwrap_or_else(|_| Err(io::Error::other("the robots' thread panicked")));
            (ended, failed, writing.map(ScopedJoinHandle::join))
        });
        let (logged, unwritten) = logged.map(written).unzip();
        let failed = failed.or(unwritten.flatten());
        let (recording, reasons, failed) = match ended {
            Ok((recording, reasons)) => (Some(recording), reasons, failed),
            Err(why) => (None, Vec::new(), failed.or(Some(CachesError::Robots(why)))),
        };
        let named = phases.iter_mut().filter(|line| line.is_of_the_plan());
        for (line, reason) in named.zip(reasons) {
            line.ended = Some(reason);
        }
        let recording = recording.as_ref();
        let kept = kept.lock().map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default();
        let lateness = recording.map(|recording| recording.times.lateness.quantile(0.99).get());
        Ended {
            phases,
            stream: kept.stream,
            trace: kept.trace,
            logged,
            lateness_p99_ns: lateness.unwrap_or(0),
            busy: recording.map_or(0.0, |recording| recording.counters.generator_busy),
            gave_up: recording.is_some_and(|recording| recording.gave_up),
            tls: recording.and_then(tls),
            failed,
        }
    }

    /// Both ends of the log of transactions, if there is one.
    fn log_of(&self, began_unix: Nanos) -> Option<(Batcher, Writer)> {
        let LogOf { log, run, entrant } = self.log.as_ref()?;
        Some(log.open(RunContext {
            run: *run,
            entrant: entrant.clone(),
            phases: self.spec.phases.iter().map(|phase| phase.name.clone()).collect(),
            kinds: self.model.kinds().iter().map(|kind| kind.name.clone()).collect(),
            began_unix,
        }))
    }

    /// Listens until the robots have no more records; the first error of the watch or the writer stops them.
    fn listen(
        &self,
        records: &Receiver<LedgerRecord>,
        hands: Hands<'_>,
        phases: &mut Vec<PhaseLine>,
        watch: &mut dyn Watch,
    ) -> Option<CachesError> {
        let mut failed = None;
        loop {
            let told = match records.recv_timeout(LOOK) {
                Ok(record) if record.scope == RecordScope::Phase => {
                    let ended = record.phase.clone();
                    let goes_on = failed.is_none() && !self.interrupted.load(Ordering::Relaxed);
                    let (line, read) = watch.phase(record);
                    phases.push(line);
                    read.and_then(|()| if goes_on { watch.turn(&ended) } else { Ok(()) })
                }
                Ok(record) => watch.record(&record),
                Err(RecvTimeoutError::Timeout) => watch.look(hands.gate),
                Err(RecvTimeoutError::Disconnected) => return failed,
            };
            if let Err(error) = told {
                failed.get_or_insert(error);
            }
            let unwritten = hands.fate.is_some_and(Fate::has_failed);
            if failed.is_some() || unwritten || self.interrupted.load(Ordering::Relaxed) {
                hands.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    /// On a thread of its own.
    fn work(
        &self,
        target: Target,
        robots: Robots,
        stop: &AtomicBool,
    ) -> io::Result<(Recording, Vec<EndReason>)> {
        let mut station = Station::new(target, 1, self.cores.to_vec())?;
        let job = StationJob {
            sources: vec![robots],
            robots: Vec::new(),
            pace: self.pace(),
            begins: None,
            timeout: self.timeout,
            until: None,
            check: BodyCheck::Full,
            refused: Statuses::default(),
            interrupted: stop,
        };
        let (recording, robots) = station.run_heard(job)?;
        let mut reasons = Vec::new();
        for robots in robots {
            let population = robots.finish();
            reasons.extend(population.schedule().ended().iter().map(|ended| ended.why));
        }
        Ok((recording, reasons))
    }

    fn target(&self) -> Target {
        Target {
            reuse: self.spec.reuse(self.seed),
            from: self.from.clone(),
            ports: self.ports,
            idle_timeout: self.spec.idle_timeout,
            ..self.way.target()
        }
    }

    /// As the robots' plan says, but no more connections than there are descriptors for; a part of a run has its share
    /// of both.
    fn pace(&self) -> Pace {
        let share = |of: usize| self.worker.share(of as u64) as usize;
        match self.spec.pace() {
            Pace::Sourced { connections } => {
                Pace::Sourced { connections: share(connections).min(self.connections) }
            }
            Pace::Pooled(pools) => Pace::Pooled(Pools { robots: share(pools.robots), ..pools }),
            other => other,
        }
    }

    fn setting(&self, gate: &FillGate) -> Setting {
        let start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Setting {
            world: self.world,
            seed: self.seed,
            start_unix: Nanos::from_duration(start),
            worker: self.worker,
            form: self.way.form(),
            gate: gate.clone(),
        }
    }
}

/// The part that the writer has written, and the error that kept it from the rest.
fn written(joined: std::thread::Result<(Logged, Option<DirectoryError>)>) -> (Logged, Option<CachesError>) {
    match joined {
        Ok((logged, failed)) => (logged, failed.map(CachesError::from)),
        Err(_) => {
            let why = io::Error::other("the thread that writes transactions panicked");
            (Logged::default(), Some(CachesError::System(why)))
        }
    }
}
