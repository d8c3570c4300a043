//! Robots by themselves: one run against an origin that somebody else has started, maybe on another machine.
//!
//! Measuring side, the bakeoff process. Starts nothing but the robots and knows the other side by what the
//! origin says of itself alone. What it writes is a bake-off's directory with one run in it.

use crate::directory::Directory;
use crate::plan::CachePlan;
use crate::records::{EntrantRecord, Purpose, RunRecord, Setup};
use crate::run::load::{Ended, Load};
use crate::run::observer::{Log, Observer, Sides};
use crate::run::tally::tally;
use crate::run::{self, CachesError, Progress, steps};
use crate::{Bakeoff, plan::Course};
use bakeoff_content::mix64;
use bakeoff_experiment::directory::ResultsDir;
use bakeoff_robots::{Spec, TargetForm};
use bakeoff_subject::ProxyMode;
use bakeoff_units::PerSecond;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Robots that ask at the rate of their plan, or as fast as replies come.
pub struct Apart<'a> {
    /// What they ask for and how.
    pub plan: &'a CachePlan,
    /// Who sends what was asked for.
    pub origin: SocketAddr,
    /// What stands before it, and how it takes requests; `None`: nothing.
    pub cache: Option<(SocketAddr, ProxyMode)>,
    /// Flags that changed the plan, as they were typed.
    pub flags: Vec<String>,
    /// Set when the user wants to stop.
    pub interrupted: &'a AtomicBool,
}

/// Why robots do not ask by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("robots by themselves ask at one rate, and this plan has shares of a peak; take one with `rate`")]
pub struct NotOneRate;

/// What was fixed before the first request.
struct Fixed {
    setup: Setup,
    cores: Vec<usize>,
    connections: usize,
}

impl Apart<'_> {
    /// How far the origin's clock is ahead, in whole seconds, as its Date says; `None` where it has none.
    ///
    /// # Errors
    /// There is no origin with a world.
    pub fn clock_ahead_s(&self) -> Result<Option<i64>, CachesError> {
        tally(self.origin).map(|(_, ahead)| ahead)
    }

    /// The rate that they ask at; `None`: as fast as replies come.
    ///
    /// # Errors
    /// The plan has several.
    pub fn rate(&self) -> Result<Option<PerSecond>, NotOneRate> {
        match self.plan.course {
            Course::Single(rate) => Ok(Some(rate)),
            Course::BestEffort => Ok(None),
            Course::Shares { .. } => Err(NotOneRate),
        }
    }

    /// Runs to the end of the last phase, or until it is interrupted; what was asked until then is in the
    /// record. With `log` everything is written as it happens.
    ///
    /// # Errors
    /// What kept it from its end.
    pub fn run(
        &self,
        log: Option<&ResultsDir>,
        progress: &mut dyn Progress,
    ) -> Result<RunRecord, CachesError> {
        let rate = self.rate().map_err(|why| CachesError::Own(why.to_string()))?;
        let bakeoff = Bakeoff { plan: self.plan, flags: self.flags.clone(), interrupted: self.interrupted };
        let (setup, placement, connections) = bakeoff.setup(self.is_near())?;
        let fixed = Fixed { setup, cores: placement.generator, connections };
        let mut directory =
            log.map(|dir| Directory::begin(dir, &self.plan.text, &fixed.setup)).transpose()?;
        let result = self.ask(rate, &fixed, directory.as_mut(), progress);
        let how = match &result {
            _ if self.interrupted.load(Ordering::Relaxed) => "interrupted".to_owned(),
            Ok(_) => "complete".to_owned(),
            Err(error) => error.to_string(),
        };
        let written = directory.map_or(Ok(()), |directory| directory.end(&how));
        let record = result?;
        written?;
        Ok(record)
    }

    /// A run without one good reply says nothing.
    ///
    /// # Errors
    /// It was such a run.
    pub fn demand_replies(record: &RunRecord) -> Result<(), CachesError> {
        steps::demand_replies(record)
    }

    /// Whether all that is asked is on this machine.
    fn is_near(&self) -> bool {
        let is_near = |address: SocketAddr| address.ip().is_loopback();
        is_near(self.origin) && self.cache.is_none_or(|(address, _)| is_near(address))
    }

    fn ask(
        &self,
        rate: Option<PerSecond>,
        fixed: &Fixed,
        mut directory: Option<&mut Directory<'_>>,
        progress: &mut dyn Progress,
    ) -> Result<RunRecord, CachesError> {
        let spec = self.plan.robots_at(rate);
        let log = Log { run: 0, dir: directory.as_deref_mut(), progress };
        // Whether a store is full cannot be seen from here, nor what a cache used.
        let sides = Sides { origin: &self.origin, cache: None };
        let mut observer = Observer::begin(log, &spec, sides, None)?;
        let mut ended = self.load(&spec, fixed).run(&mut observer);
        let learnt = observer.finish();
        let failed = ended.failed.take();
        let mut record = self.record(rate, learnt.clock_ahead_s, ended);
        if let Some(why) = &failed {
            (record.ended, record.failed) = (steps::BROKEN_OFF.to_owned(), Some(why.to_string()));
        }
        if let Some(directory) = directory {
            directory.run(&record)?;
        }
        failed.map_or(Ok(record), Err)
    }

    fn load<'l>(&'l self, spec: &'l Spec, fixed: &'l Fixed) -> Load<'l> {
        let authority = self.origin.to_string();
        Load {
            spec,
            model: &self.plan.model,
            address: self.cache.map_or(self.origin, |(address, _)| address),
            form: match self.cache {
                Some((_, ProxyMode::Forward)) => TargetForm::Absolute(authority.clone()),
                _ => TargetForm::Origin,
            },
            host: authority,
            connections: fixed.connections,
            timeout: self.plan.timeout,
            seed: mix64(self.plan.seed),
            world: run::fresh_world(self.plan.seed),
            keeps_stream: false,
            cores: &fixed.cores,
            interrupted: self.interrupted,
        }
    }

    fn record(&self, rate: Option<PerSecond>, clock_ahead_s: Option<i64>, ended: Ended) -> RunRecord {
        let name = self.cache.map_or_else(|| "none".to_owned(), |(address, _)| address.to_string());
        RunRecord {
            entrant: EntrantRecord { name, version: None, config: None },
            purpose: rate
                .map_or(Purpose::BestEffort, |rate| Purpose::Rate { order: 1, rate_per_s: rate.get() }),
            store: None,
            store_unreadable: None,
            ended: steps::words(&ended),
            failed: None,
            lateness_p99_ns: ended.lateness_p99_ns,
            robots_busy: ended.busy,
            achievable: None,
            clock_ahead_s,
            phases: ended.phases,
        }
    }
}
