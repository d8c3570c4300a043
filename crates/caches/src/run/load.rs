//! One run of robots against one address: started, listened to, written down.
//!
//! Measuring side. The robots' thread does the work; this one waits for their records, writes them, and
//! reads what was used elsewhere when a phase ends.

use super::CachesError;
use crate::records::PhaseLine;
use bakeoff_content::world::Model;
use bakeoff_loadgen::{BodyCheck, Job, LocalAddresses, LocalPorts, Pace, Pools, Recording, Station, Target};
use bakeoff_robots::ledger::{INTERVAL, Ledger, Record, Scope};
use bakeoff_robots::phases::EndReason;
use bakeoff_robots::stream::Request;
use bakeoff_robots::{FillGate, Lane, PartsGate, Population, Robots, Setting, Spec, TargetForm};
use bakeoff_units::Nanos;
use bakeoff_workload::Statuses;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often whoever watches is asked while nothing is recorded.
const LOOK: Duration = Duration::from_millis(250);

/// What is asked, of whom, how.
pub(crate) struct Load<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) model: &'a Model,
    pub(crate) address: SocketAddr,
    pub(crate) form: TargetForm,
    pub(crate) host: String,
    pub(crate) connections: usize,
    /// Where connections come from.
    pub(crate) from: &'a LocalAddresses,
    pub(crate) ports: Option<LocalPorts>,
    pub(crate) timeout: Nanos,
    pub(crate) seed: u64,
    pub(crate) world: u64,
    /// Which of the run's robots these are.
    pub(crate) lane: Lane,
    /// Where they wait for others that make the same run.
    pub(crate) parts: Option<&'a PartsGate>,
    /// Whether basic requests are kept, for caches that are simulated.
    pub(crate) keeps_stream: bool,
    pub(crate) cores: &'a [usize],
    pub(crate) interrupted: &'a AtomicBool,
}

/// What is done while robots are at work.
pub(crate) trait Watch {
    /// A record came. A phase's ends with what was used in it.
    fn record(&mut self, record: &Record) -> Result<(), CachesError>;

    /// A phase has ended.
    fn phase(&mut self, phase: Record) -> Result<PhaseLine, CachesError>;

    /// Asked now and then; `gate` ends a phase that waits for it.
    fn look(&mut self, gate: &FillGate) -> Result<(), CachesError>;
}

/// What robots came to.
pub(crate) struct Ended {
    pub(crate) phases: Vec<PhaseLine>,
    /// The basic requests that were answered, where they were kept.
    pub(crate) stream: Vec<Request>,
    pub(crate) lateness_p99_ns: u64,
    pub(crate) busy: f64,
    pub(crate) gave_up: bool,
    /// Why it was broken off, if it was; the rest is what there was until then.
    pub(crate) failed: Option<CachesError>,
}

impl Load<'_> {
    /// Runs to the end of the last phase, or until it is interrupted.
    pub(crate) fn run(&self, watch: &mut dyn Watch) -> Ended {
        let (sender, records) = channel();
        let (gate, stop) = (FillGate::new(), AtomicBool::new(false));
        let ledger = Ledger::new(0, INTERVAL, Nanos::ZERO, sender);
        let (spec, model) = (Arc::new(self.spec.clone()), Arc::new(self.model.clone()));
        let population = Population::new(spec, model, self.setting(&gate));
        let population = match self.parts {
            Some(parts) => population.agreeing(parts.clone()),
            None => population,
        };
        let target = self.target();
        let stream = Arc::new(Mutex::new(Vec::new()));
        let mut robots = Robots::new(population, ledger, &target);
        if self.keeps_stream {
            let stream = stream.clone();
            robots = robots.telling(move |flight, entry| {
                if let Some(request) = Request::answered(flight, entry)
                    && let Ok(mut stream) = stream.lock()
                {
                    stream.push(request);
                }
            });
        }
        let mut phases: Vec<PhaseLine> = Vec::new();
        let (ended, failed) = std::thread::scope(|scope| {
            let working = scope.spawn(|| self.work(target, robots, &stop));
            let failed = self.listen(&records, &gate, &stop, &mut phases, watch);
            let ended = working.join();
            (ended.unwrap_or_else(|_| Err(io::Error::other("the robots' thread panicked"))), failed)
        });
        let (recording, reasons, failed) = match ended {
            Ok((recording, reasons)) => (Some(recording), reasons, failed),
            Err(why) => (None, Vec::new(), failed.or(Some(CachesError::Robots(why)))),
        };
        let named = phases.iter_mut().filter(|line| line.is_of_the_plan());
        for (line, reason) in named.zip(reasons) {
            reason.meaning().clone_into(&mut line.ended);
        }
        let recording = recording.as_ref();
        let lateness = recording.map(|recording| recording.times.lateness.quantile(0.99).get());
        Ended {
            phases,
            stream: stream.lock().map(|mut stream| std::mem::take(&mut *stream)).unwrap_or_default(),
            lateness_p99_ns: lateness.unwrap_or(0),
            busy: recording.map_or(0.0, |recording| recording.counters.generator_busy),
            gave_up: recording.is_some_and(|recording| recording.gave_up),
            failed,
        }
    }

    /// Until the robots have no more to tell; the first error of whoever watches stops them.
    fn listen(
        &self,
        records: &Receiver<Record>,
        gate: &FillGate,
        stop: &AtomicBool,
        phases: &mut Vec<PhaseLine>,
        watch: &mut dyn Watch,
    ) -> Option<CachesError> {
        let mut failed = None;
        loop {
            let told = match records.recv_timeout(LOOK) {
                Ok(record) if record.scope == Scope::Phase => {
                    watch.phase(record).map(|line| phases.push(line))
                }
                Ok(record) => watch.record(&record),
                Err(RecvTimeoutError::Timeout) => watch.look(gate),
                Err(RecvTimeoutError::Disconnected) => return failed,
            };
            if let Err(error) = told {
                failed.get_or_insert(error);
            }
            if failed.is_some() || self.interrupted.load(Ordering::Relaxed) {
                stop.store(true, Ordering::Relaxed);
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
        let job = Job {
            sources: vec![robots],
            robots: Vec::new(),
            pace: self.pace(),
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
            ..Target::plain(self.address, self.host.clone())
        }
    }

    /// As the robots say, but no more connections than there are descriptors for; a part of a run has its share of
    /// both.
    fn pace(&self) -> Pace {
        let share = |of: usize| self.lane.share(of as u64) as usize;
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
            lane: self.lane,
            form: self.form.clone(),
            gate: gate.clone(),
        }
    }
}
