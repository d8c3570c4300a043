//! The procedure: the path, then each entrant: fill, peak, rates.
//!
//! Measuring side, the bakeoff process. Owns what is run after what, and that all of it is on disk before
//! the next begins. Looks at figures only to find the peak.

mod achievable;
mod aside;
mod error;
mod filling;
pub(crate) mod launch;
pub(crate) mod load;
pub(crate) mod observer;
pub(crate) mod origin;
pub(crate) mod outage;
pub(crate) mod parts;
mod peak;
pub(crate) mod ports;
pub(crate) mod power;
pub(crate) mod setup;
mod started;
pub(crate) mod steps;
pub(crate) mod tally;

pub use error::CachesError;
pub use parts::PartsError;

use crate::directory::Directory;
use crate::plan::{CachePlan, Course, Entrant, Kind, Peak};
use crate::records::End;
use crate::transactions::{Encode, Log};
use bakeoff_content::mix64;
use bakeoff_experiment::directory::ResultsDir;
use bakeoff_experiment::environment::{self, Placement};
use bakeoff_experiment::run::Scratch;
use bakeoff_robots::ledger::Record;
use bakeoff_units::{Nanos, PerSecond};
use origin::{Origin, Place};
use started::Started;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Who is told how it goes.
pub trait Progress {
    /// What begins now.
    fn stage(&mut self, words: &str);

    /// An interval or a phase has ended.
    fn record(&mut self, record: &Record);
}

/// A bake-off to be run.
pub struct Bakeoff<'a> {
    /// What is to be done.
    pub plan: &'a CachePlan,
    /// Flags that changed the plan, as they were typed.
    pub flags: Vec<String>,
    /// How every request is written down, if it is.
    pub transactions: Option<Encode>,
    /// Set when the user wants to stop.
    pub interrupted: &'a AtomicBool,
}

/// What was fixed before the first request, as far as the procedure needs it.
struct Given<'a> {
    placement: Placement,
    connections: usize,
    transactions: Option<&'a Log>,
}

/// What is there while a bake-off runs.
struct Bench<'a, 'd> {
    plan: &'a CachePlan,
    placement: Placement,
    connections: usize,
    origin: Origin,
    scratch: &'a std::path::Path,
    dir: &'a mut Directory<'d>,
    /// Where every request is written down, if it is.
    transactions: Option<&'a Log>,
    progress: &'a mut dyn Progress,
    interrupted: &'a AtomicBool,
    /// Number of the next run.
    run: u32,
    /// Every run asks for objects of another world.
    world: u64,
    /// Whether the last record says why its entrant could not go on.
    told_failure: bool,
}

impl Bakeoff<'_> {
    /// Runs it into an empty directory. How it ended stands in the directory too; whatever was measured
    /// is there also when this fails.
    ///
    /// # Errors
    /// What kept it from its end.
    pub fn run(&self, dir: &ResultsDir, progress: &mut dyn Progress) -> Result<(), CachesError> {
        let here = |entrant: &Entrant| match entrant.kind {
            Kind::Running { address, .. } => address.ip().is_loopback(),
            Kind::Direct | Kind::Product { .. } => true,
        };
        let loopback = self.plan.entrants.iter().all(here);
        let (mut setup, placement, connections) = setup::setup(self.plan, &self.flags, loopback)?;
        let cores = [&placement.subject[..], &placement.generator].concat();
        let claim = environment::claim(&self.plan.name, &cores);
        setup.warnings.splice(0..0, claim.found().iter().map(|other| other.sentence.clone()));
        let mut directory = Directory::begin(dir, &self.plan.text, &setup)?;
        let log = self.transactions.map(|encode| Log::begin(dir.path(), encode)).transpose()?;
        let given = Given { placement, connections, transactions: log.as_ref() };
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
        dir: &mut Directory<'_>,
        Given { placement, connections, transactions }: Given<'_>,
        progress: &mut dyn Progress,
    ) -> Result<(), CachesError> {
        let scratch = Scratch::create(&mut |words| progress.stage(words))
            .map_err(|why| CachesError::Temporary(why.to_string()))?;
        if let Some(words) = ports::in_words(self.plan, connections) {
            progress.stage(&words);
        }
        progress.stage("starting the origin");
        let place = Place {
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
            run: 0,
            world: fresh_world(self.plan.seed),
            told_failure: false,
        };
        bench.path()?;
        for entrant in &self.plan.entrants {
            bench.entrant(entrant)?;
        }
        Ok(())
    }
}

impl Bench<'_, '_> {
    /// All of one entrant. What it breaks is its own affair: the next one has its turn all the same.
    fn entrant(&mut self, entrant: &Entrant) -> Result<(), CachesError> {
        self.told_failure = false;
        let started = match self.start(entrant) {
            Err(error) if self.is_over(&error) => return Err(error),
            Err(error) => return self.failed(entrant, &error),
            Ok(started) => started,
        };
        let outcome = self.course(&started);
        started.stop();
        match outcome {
            Err(error) if self.is_over(&error) => Err(error),
            Err(error) => self.failed(entrant, &error),
            Ok(()) => Ok(()),
        }
    }

    fn course(&mut self, entrant: &Started) -> Result<(), CachesError> {
        if entrant.is_cache && self.plan.fills() {
            self.fill(entrant)?;
        }
        match &self.plan.course {
            Course::Single(rate) => self.rate(entrant, 1, *rate),
            Course::BestEffort => self.best_effort(entrant),
            Course::Shares { shares, peak, idle } => {
                let peak = match peak {
                    Peak::Given(peak) => *peak,
                    Peak::Searched { first, trials } => self.peak(entrant, *first, *trials)?,
                };
                self.demand_length(peak)?;
                for (at, share) in shares.iter().enumerate() {
                    if at > 0 {
                        self.rest(*idle)?;
                    }
                    let rate = PerSecond::new(peak.get() * share.get()).unwrap_or(peak);
                    self.rate(entrant, at as u32 + 1, rate)?;
                }
                Ok(())
            }
        }
    }

    /// Whether a reply may come from its store: there is one, and it sees what it passes on.
    fn may_hit(&self, entrant: &Started) -> bool {
        entrant.is_cache && !self.plan.tls
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

    fn demand_uninterrupted(&self) -> Result<(), CachesError> {
        if self.interrupted.load(Ordering::Relaxed) { Err(CachesError::Interrupted) } else { Ok(()) }
    }

    /// Whether the whole bake-off ends with it.
    fn is_over(&self, error: &CachesError) -> bool {
        let of_one = matches!(
            error,
            CachesError::Subject(_)
                | CachesError::NotBack(_)
                | CachesError::NoReply { .. }
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
