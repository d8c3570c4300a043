//! Procedure of a bake-off: the path, then turn by turn an entrant: fill, peak, rates.
//!
//! Measuring side, the bakeoff process. Owns the order of runs, and that each is on disk before the next begins. Looks
//! at figures only to find the peak.

mod achievable;
mod bench;
mod duration;
mod error;
mod filling;
pub(crate) mod launch;
mod listeners;
pub(crate) mod load;
pub(crate) mod observer;
pub(crate) mod origin;
pub(crate) mod outage;
pub(crate) mod parts;
mod peak;
pub(crate) mod ports;
pub(crate) mod power;
mod progress;
mod resume;
pub(crate) mod setup;
mod started;
pub(crate) mod steps;
pub(crate) mod tally;

pub use duration::Takes;
pub use error::{CachesError, PartsError};
pub use progress::BakeoffProgress;

use crate::directory::{BakeoffDirectory, StoredBakeoff};
use crate::plan::{CachePlan, Entrant, EntrantKind, EntrantTurn, PeakSource, RateSchedule};
use crate::records::End;
use crate::transactions::{Encode, Log};
use bakeoff_content::mix64;
use bakeoff_experiment::environment::{self, Placement};
use bakeoff_experiment::run::Scratch;
use bakeoff_results::directory::ResultsDir;
use bakeoff_sys::affinity::Pinned;
use bakeoff_units::{Nanos, PerSecond, Ratio};
use bench::Bench;
use origin::{Origin, StartContext};
use resume::Done;
use started::Started;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A bake-off to be run.
pub struct Bakeoff<'a> {
    /// The plan to run.
    pub plan: &'a CachePlan,
    /// Flags that changed the plan, as they were typed.
    pub flags: Vec<String>,
    /// Format of the log of every request, if there is one.
    pub transactions: Option<Encode>,
    /// Set when the user wants to stop.
    pub interrupted: &'a AtomicBool,
}

/// The set-up, as far as the procedure needs it.
struct Given<'a> {
    placement: Placement,
    connections: usize,
    transactions: Option<&'a Log>,
    done: Done,
    /// Number of the next run.
    run: u32,
}

impl Bakeoff<'_> {
    /// Runs it into an empty directory. Its end is recorded in the directory too; all measurements are there even if
    /// this fails.
    ///
    /// # Errors
    /// Anything that kept it from its end.
    pub fn run(&self, dir: &ResultsDir, progress: &mut dyn BakeoffProgress) -> Result<(), CachesError> {
        let (mut setup, placement, connections) = setup::setup(self.plan, &self.flags, self.is_local())?;
        let _pinned = Pinned::to(&placement.generator).map_err(CachesError::System)?;
        setup.entrants = self.plan.taking_part().into_iter().map(|entrant| entrant.name).collect();
        setup.turns = self.plan.turns();
        let claim = self.claim(&placement);
        setup.warnings.splice(0..0, claim.found().iter().map(|other| other.sentence.clone()));
        let directory = BakeoffDirectory::begin(dir, &self.plan.text, &setup)?;
        let log = self.transactions.map(|encode| Log::begin(dir.path(), encode)).transpose()?;
        let given =
            Given { placement, connections, transactions: log.as_ref(), done: Done::default(), run: 0 };
        self.to_its_end(directory, given, progress)
    }

    /// Goes on with a bake-off that was broken off: measures what its directory does not have.
    ///
    /// # Errors
    /// As [`Bakeoff::run`].
    pub fn resume(
        &self,
        dir: &ResultsDir,
        stored: StoredBakeoff,
        progress: &mut dyn BakeoffProgress,
    ) -> Result<(), CachesError> {
        let (_, placement, connections) = setup::setup(self.plan, &self.flags, self.is_local())?;
        let _pinned = Pinned::to(&placement.generator).map_err(CachesError::System)?;
        let _claim = self.claim(&placement);
        let directory = BakeoffDirectory::go_on(dir, &stored)?;
        let run = u32::try_from(stored.runs.len()).unwrap_or(u32::MAX);
        let given = Given { placement, connections, transactions: None, done: Done::of(&stored.runs), run };
        self.to_its_end(directory, given, progress)
    }

    /// Whether all who take part are on this machine.
    fn is_local(&self) -> bool {
        self.plan.entrants.iter().all(|entrant| match entrant.kind {
            EntrantKind::Running { address, .. } => address.ip().is_loopback(),
            EntrantKind::Direct | EntrantKind::Product { .. } => true,
        })
    }

    fn claim(&self, placement: &Placement) -> environment::MachineClaim {
        environment::claim(&self.plan.name, &[&placement.subject[..], &placement.generator].concat())
    }

    fn to_its_end(
        &self,
        mut directory: BakeoffDirectory<'_>,
        given: Given<'_>,
        progress: &mut dyn BakeoffProgress,
    ) -> Result<(), CachesError> {
        let result = self.procedure(&mut directory, given, progress);
        let how = match &result {
            Ok(()) => End::Complete,
            Err(_) if self.interrupted.load(Ordering::Relaxed) => End::Interrupted,
            Err(error) => End::Failed(error.to_string()),
        };
        let written = directory.end(&how);
        result.and(written.map_err(CachesError::from))
    }

    fn procedure(
        &self,
        dir: &mut BakeoffDirectory<'_>,
        Given { placement, connections, transactions, done, run }: Given<'_>,
        progress: &mut dyn BakeoffProgress,
    ) -> Result<(), CachesError> {
        let scratch = Scratch::create(&mut |words| progress.stage(words))
            .map_err(|why| CachesError::Temporary(why.to_string()))?;
        if let Some(words) = ports::in_words(self.plan, connections) {
            progress.stage(&words);
        }
        if let Some(takes) = Takes::of(self.plan) {
            progress.stage(&format!("it takes {takes}"));
        }
        progress.stage("starting the origin");
        let place = StartContext {
            scratch: scratch.path(),
            cores: &placement.generator,
            port: self.plan.origin_port,
            interrupted: self.interrupted,
        };
        let origin = Origin::begin(self.plan, &place)?;
        let mut bench = Bench {
            plan: self.plan,
            placement,
            connections,
            origin,
            scratch: scratch.path(),
            dir,
            transactions,
            progress,
            interrupted: self.interrupted,
            done,
            run,
            world: fresh_world(self.plan.seed),
            pass: None,
            peaks: BTreeMap::new(),
            told_failure: false,
        };
        bench.path()?;
        bench.turns()
    }
}

impl Bench<'_, '_> {
    fn turns(&mut self) -> Result<(), CachesError> {
        let (all, turns) = (self.plan.taking_part(), self.plan.turns());
        for (at, turn) in turns.iter().enumerate() {
            let Some(entrant) = all.iter().find(|entrant| entrant.name == turn.entrant) else { continue };
            let Some(rates) = self.done.left(turn, self.plan.passes) else { continue };
            if turns.len() > 1 {
                let (pass, passes) = (turn.pass, self.plan.passes);
                self.progress.stage(&format!(
                    "turn {} of {}, pass {pass} of {passes}: {entrant}",
                    at + 1,
                    turns.len()
                ));
            }
            self.turn(entrant, &EntrantTurn { rates, ..turn.clone() })?;
        }
        Ok(())
    }

    /// The turn of one entrant in a pass. A failure ends only this turn: the next entrant has its turn all the same.
    fn turn(&mut self, entrant: &Entrant, turn: &EntrantTurn) -> Result<(), CachesError> {
        self.told_failure = false;
        self.pass = (self.plan.passes > 1).then_some(turn.pass);
        let started = match self.start(entrant) {
            Err(error) if self.is_over(&error) => return Err(error),
            Err(error) => return self.failed(entrant, &error),
            Ok(started) => started,
        };
        let outcome = self.schedule(&started, entrant, &turn.rates);
        started.stop();
        match outcome {
            Err(error) if self.is_over(&error) => Err(error),
            Err(error) => self.failed(entrant, &error),
            Ok(()) => Ok(()),
        }
    }

    fn schedule(&mut self, started: &Started, entrant: &Entrant, order: &[u32]) -> Result<(), CachesError> {
        if started.is_cache && self.plan.fills() {
            self.fill(started)?;
        }
        match &self.plan.schedule {
            RateSchedule::Single(rate) => self.rate(started, 1, *rate),
            RateSchedule::BestEffort => self.best_effort(started),
            RateSchedule::Shares { shares, peak, idle } => {
                let peak = self.peak_of(started, entrant.subject(), *peak)?;
                self.demand_length(peak)?;
                self.rates(started, peak, shares, order, *idle)
            }
        }
    }

    /// The peak that the plan gives, or that was found before, or the result of a search now.
    fn peak_of(
        &mut self,
        started: &Started,
        subject: &str,
        peak: PeakSource,
    ) -> Result<PerSecond, CachesError> {
        let (first, trials) = match peak {
            PeakSource::Given(peak) => return Ok(peak),
            PeakSource::Searched { first, trials } => (first, trials),
        };
        if let Some(found) = self.peaks.get(subject) {
            return Ok(*found);
        }
        let made = self.done.trials(subject);
        let found = self.peak(started, first, trials, &made)?;
        self.peaks.insert(subject.to_owned(), found);
        Ok(found)
    }

    /// Runs shares of a peak, given by their indices from 1, in this order.
    fn rates(
        &mut self,
        started: &Started,
        peak: PerSecond,
        shares: &[Ratio],
        order: &[u32],
        idle: Nanos,
    ) -> Result<(), CachesError> {
        let mut before = false;
        for place in order {
            let Some(share) = place.checked_sub(1).and_then(|at| shares.get(at as usize)) else { continue };
            if std::mem::replace(&mut before, true) {
                self.rest(idle)?;
            }
            let rate = PerSecond::new(peak.get() * share.get()).unwrap_or(peak);
            self.rate(started, *place, rate)?;
        }
        Ok(())
    }

    /// Time without requests, between two rates.
    fn rest(&mut self, idle: Nanos) -> Result<(), CachesError> {
        self.progress.stage(&format!("idle for {idle}"));
        let until = Instant::now() + idle.as_duration();
        while Instant::now() < until {
            self.demand_uninterrupted()?;
            std::thread::sleep(Duration::from_millis(100).min(until - Instant::now()));
        }
        self.demand_uninterrupted()
    }

    /// Whether the whole bake-off ends with it.
    fn is_over(&self, error: &CachesError) -> bool {
        let of_one = matches!(
            error,
            CachesError::Subject(_)
                | CachesError::NotBack(_)
                | CachesError::NoReply { .. }
                | CachesError::Gone { .. }
                | CachesError::Away { .. }
                | CachesError::TooShort(_)
        );
        !of_one || self.interrupted.load(Ordering::Relaxed)
    }
}

/// The number of a world that no cache has seen before.
pub(crate) fn fresh_world(seed: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    mix64(mix64(now.as_nanos() as u64 ^ u64::from(std::process::id()) << 32) ^ seed)
}
