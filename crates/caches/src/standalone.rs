//! Robots by themselves: one run against an origin that somebody else has started, maybe on another machine; or a part
//! of one that several processes make.
//!
//! Measuring side, the bakeoff process. Starts nothing but the robots and knows the other side by what the
//! origin says of itself alone, and of other parts. What it writes is a bake-off's directory with one run in it.

use crate::directory::Directory;
use crate::plan::{CachePlan, Course};
use crate::records::{End, EntrantRecord, PartRecord, Purpose, RunRecord, Setup};
use crate::run::load::{Ended, Load, LogOf, Way};
use crate::run::observer::{self, Counted, Elsewhere, Observer, Sides};
use crate::run::parts::Member;
use crate::run::{self, CachesError, Progress, steps};
use crate::transactions::{Encode, Log};
use bakeoff_content::mix64;
use bakeoff_experiment::directory::ResultsDir;
use bakeoff_loadgen::{TlsOptions, Trust};
use bakeoff_robots::{Lane, Spec};
use bakeoff_subject::ProxyMode;
use bakeoff_units::{Nanos, PerSecond};
use bakeoff_wire::parts::{Part, PartSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Robots that ask at the rate of their plan, or as fast as replies come.
pub struct Standalone<'a> {
    /// What they ask for and how.
    pub plan: &'a CachePlan,
    /// Who sends what was asked for.
    pub origin: SocketAddr,
    /// What stands before it, and how it takes requests; `None`: nothing.
    pub cache: Option<(SocketAddr, ProxyMode)>,
    /// Which part of the run they are, where several processes make it.
    pub parts: Option<Parts>,
    /// Flags that changed the plan, as they were typed.
    pub flags: Vec<String>,
    /// How every request is written down in the directory, if it is.
    pub transactions: Option<Encode>,
    /// Set when the user wants to stop.
    pub interrupted: &'a AtomicBool,
}

/// One of several processes or machines whose robots make a run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Which one.
    pub part: Part,
    /// How long it waits for the others, at the start and at the end of a phase.
    pub wait: Nanos,
}

/// Why robots do not ask by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotStandalone {
    /// There are several rates.
    #[error("robots by themselves ask at one rate, and this plan has shares of a peak; take one with `rate`")]
    Rates,
    /// A cache is to be killed and started again.
    #[error(
        "robots by themselves start no cache and kill none, and a phase of this plan is an outage; run it with \
         `bakeoff run`"
    )]
    Outage,
}

/// What was fixed before the first request.
struct Fixed {
    origin: Elsewhere,
    cores: Vec<usize>,
    connections: usize,
    transactions: Option<Log>,
    world: u64,
    /// This process among the parts of the run.
    member: Option<Member>,
}

impl Standalone<'_> {
    /// How far the origin's clock is ahead, in whole seconds, as its Date says; `None` where it has none.
    ///
    /// # Errors
    /// There is no origin with a world.
    pub fn clock_ahead_s(&self) -> Result<Option<i64>, CachesError> {
        self.elsewhere()?.tally().map(|(_, ahead)| ahead)
    }

    /// The rate that they ask at; `None`: as fast as replies come.
    ///
    /// # Errors
    /// The plan is none for robots by themselves.
    pub fn rate(&self) -> Result<Option<PerSecond>, NotStandalone> {
        match self.plan.course {
            _ if self.plan.has_outage() => Err(NotStandalone::Outage),
            Course::Single(rate) => Ok(Some(rate)),
            Course::BestEffort => Ok(None),
            Course::Shares { .. } => Err(NotStandalone::Rates),
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
        let (mut setup, placement, connections) = run::setup::setup(self.plan, &self.flags, self.is_near())?;
        if let Some(words) = run::ports::in_words(self.plan, connections) {
            progress.stage(&words);
        }
        let origin = self.elsewhere()?;
        let member = self.parts.map(|Parts { part, wait }| Member::new(&origin, part, self.plan, wait));
        let world = match &member {
            Some(member) => mix64(self.gather(member, &mut setup, progress)?),
            None => run::fresh_world(self.plan.seed),
        };
        let transactions = log.zip(self.transactions).map(|(dir, encode)| Log::begin(dir.path(), encode));
        let transactions = transactions.transpose()?;
        let fixed = Fixed { origin, cores: placement.generator, connections, transactions, world, member };
        let result = self.written(rate, &setup, &fixed, log, progress);
        // Parts that wait for one that has broken off need not.
        if let Some(member) = &fixed.member
            && member.gate.reached() < self.steps()
        {
            member.leave();
        }
        result
    }

    /// Waits for the other parts; the number of their run.
    fn gather(
        &self,
        member: &Member,
        setup: &mut Setup,
        progress: &mut dyn Progress,
    ) -> Result<u64, CachesError> {
        let run = member.gather(self.interrupted, progress)?;
        let part = member.part();
        setup.part = Some(PartRecord { number: part.number(), of: part.of(), run });
        setup.warnings.push(format!(
            "part {part} of a run: rates, replies and hits are of this part alone; what the origin sent went to all \
             parts, so that there is no two-sided hit ratio"
        ));
        Ok(run)
    }

    /// How many phases there are to agree on.
    fn steps(&self) -> u32 {
        u32::try_from(self.plan.phases().len()).unwrap_or(u32::MAX)
    }

    fn written(
        &self,
        rate: Option<PerSecond>,
        setup: &Setup,
        fixed: &Fixed,
        log: Option<&ResultsDir>,
        progress: &mut dyn Progress,
    ) -> Result<RunRecord, CachesError> {
        let mut directory = log.map(|dir| Directory::begin(dir, &self.plan.text, setup)).transpose()?;
        let result = self.ask(rate, fixed, directory.as_mut(), progress);
        let how = match &result {
            _ if self.interrupted.load(Ordering::Relaxed) => End::Interrupted,
            Ok(_) => End::Complete,
            Err(error) => End::Failed(error.to_string()),
        };
        let written = directory.map_or(Ok(()), |directory| directory.end(&how));
        let record = result?;
        written?;
        Ok(record)
    }

    /// A run without one good reply says nothing, and one at whose end nobody is there little.
    ///
    /// # Errors
    /// It was such a run.
    pub fn demand_replies(&self, record: &RunRecord) -> Result<(), CachesError> {
        steps::demand_replies(record)?;
        self.cache.map_or(Ok(()), |(address, _)| steps::demand_there(record, address))
    }

    /// The origin, with TLS as its plan says. Any certificate will do: what comes is judged byte by byte.
    fn elsewhere(&self) -> Result<Elsewhere, CachesError> {
        let tls = self.plan.tls.then(|| TlsOptions::new(Trust::Anyone).load()).transpose()?;
        Ok(Elsewhere { address: self.origin, tls })
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
        if let Some(directory) = &directory {
            directory.begins(0, self.beginning(rate), &spec)?;
        }
        let log = observer::Log { run: 0, dir: directory.as_deref_mut(), progress };
        // Whether a store is full cannot be seen from here, nor what a cache used.
        let sides = Sides { origin: &fixed.origin, cache: None };
        let mut observer = Observer::begin(log, &spec, sides, None)?;
        let load = self.load(&spec, fixed);
        let (mut ended, without) = match &fixed.member {
            None => (load.run(&mut observer), PartSet::default()),
            Some(member) => in_step(member, || load.run(&mut observer)),
        };
        let learnt = observer.finish();
        let failed = ended.failed.take();
        let mut record = self.record(rate, learnt.clock_ahead_s, ended);
        record.without = without.numbers().collect();
        if let Some(why) = &failed {
            (record.ended, record.failed) = (steps::BROKEN_OFF.to_owned(), Some(why.to_string()));
        }
        if let Some(directory) = directory {
            directory.run(&record)?;
        }
        failed.map_or(Ok(record), Err)
    }

    fn load<'l>(&'l self, spec: &'l Spec, fixed: &'l Fixed) -> Load<'l> {
        Load {
            spec,
            model: &self.plan.model,
            way: Way::new(fixed.origin.address, self.cache, fixed.origin.tls.as_ref()),
            connections: fixed.connections,
            from: &self.plan.from,
            ports: self.plan.ports,
            timeout: self.plan.timeout,
            last_replies: self.plan.last_replies(),
            seed: mix64(self.plan.seed),
            world: fixed.world,
            lane: self.lane(),
            parts: fixed.member.as_ref().map(|member| &member.gate),
            keeps_stream: false,
            keeps_trace: false,
            log: fixed.transactions.as_ref().map(|log| LogOf { log, run: 0, entrant: self.name() }),
            cores: &fixed.cores,
            interrupted: self.interrupted,
        }
    }

    /// Who is asked.
    fn name(&self) -> String {
        self.cache.map_or_else(|| "none".to_owned(), |(address, _)| address.to_string())
    }

    /// Which of the run's robots are here: each part makes objects of its own, at its share of the rate.
    fn lane(&self) -> Lane {
        let of_part = |part: Part| Lane::new(u32::from(part.number()) - 1, part.of().into());
        self.parts.and_then(|parts| of_part(parts.part)).unwrap_or(Lane::ONLY)
    }

    /// Of a run of which nothing is known yet.
    fn beginning(&self, rate: Option<PerSecond>) -> RunRecord {
        let of_part = |rate: PerSecond| rate.get() / f64::from(self.lane().count());
        let entrant = EntrantRecord { name: self.name(), version: None, config: None };
        let purpose =
            rate.map_or(Purpose::BestEffort, |rate| Purpose::Rate { order: 1, rate_per_s: of_part(rate) });
        RunRecord::of(entrant, purpose)
    }

    fn record(&self, rate: Option<PerSecond>, clock_ahead_s: Option<i64>, ended: Ended) -> RunRecord {
        RunRecord {
            ended: steps::words(&ended),
            lateness_p99_ns: ended.lateness_p99_ns,
            robots_busy: ended.busy,
            clock_ahead_s,
            transactions: ended.logged,
            tls: ended.tls,
            phases: ended.phases,
            ..self.beginning(rate)
        }
    }
}

/// Has robots run while another thread keeps them in step with the other parts. Which they went on without.
fn in_step(member: &Member, run: impl FnOnce() -> Ended) -> (Ended, PartSet) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let keeping = scope.spawn(|| member.keep_in_step(&is_over));
        let over = Over(&is_over);
        let ended = run();
        drop(over);
        (ended, keeping.join().unwrap_or_default())
    })
}

/// Says that robots have ended, however they did: whoever keeps them in step would else never end.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}
