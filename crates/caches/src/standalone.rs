//! Standalone robots: one run against an origin that bakeoff did not start, maybe on another machine; or a part of a
//! run that several processes make.
//!
//! Measuring side, the bakeoff process. Starts only the robots, and knows the other side and other parts only by what
//! the origin says of itself and of them. Writes a bake-off's directory with one run in it.

use crate::directory::BakeoffDirectory;
use crate::plan::{CachePlan, RateSchedule};
use crate::records::{BakeoffSetup, End, EntrantRecord, PartRecord, RunPurpose, RunRecord};
use crate::run::load::{Ended, Load, LogOf, Way};
use crate::run::observer::{self, Observer, Sides};
use crate::run::parts::Member;
use crate::run::tally::{Counted, Elsewhere};
use crate::run::{self, BakeoffProgress, CachesError, steps};
use crate::transactions::{Encode, Log};
use bakeoff_content::mix64;
use bakeoff_loadgen::{TlsOptions, Trust};
use bakeoff_results::directory::ResultsDir;
use bakeoff_robots::{Spec, Worker};
use bakeoff_subject::ProxyMode;
use bakeoff_units::{Nanos, PerSecond};
use bakeoff_wire::parts::{Part, PartSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Robots that ask at the rate of their plan, or as fast as replies come.
pub struct Standalone<'a> {
    /// The plan of their content and phases.
    pub plan: &'a CachePlan,
    /// The origin's address.
    pub origin: SocketAddr,
    /// The cache before it, and the form of its requests; `None`: none.
    pub cache: Option<(SocketAddr, ProxyMode)>,
    /// The part of the run that they are, if several processes make it.
    pub parts: Option<Parts>,
    /// Flags that changed the plan, as they were typed.
    pub flags: Vec<String>,
    /// Format of the log of every request in the directory, if there is one.
    pub transactions: Option<Encode>,
    /// Set when the user wants to stop.
    pub interrupted: &'a AtomicBool,
}

/// One of several processes or machines whose robots make a run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// This part.
    pub part: Part,
    /// Time that it waits for the others, at the start and at the end of a phase.
    pub wait: Nanos,
}

/// Reasons why a plan cannot be run by standalone robots.
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

/// The set-up, fixed before the first request.
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
    /// Whole seconds by which the origin's clock is ahead, by its Date; `None` if it has none.
    ///
    /// # Errors
    /// There is no origin with a world.
    pub fn clock_ahead_s(&self) -> Result<Option<i64>, CachesError> {
        self.elsewhere()?.tally().map(|(_, ahead)| ahead)
    }

    /// Their rate; `None`: as fast as replies come.
    ///
    /// # Errors
    /// The plan cannot be run by standalone robots.
    pub fn rate(&self) -> Result<Option<PerSecond>, NotStandalone> {
        match self.plan.schedule {
            _ if self.plan.has_outage() => Err(NotStandalone::Outage),
            RateSchedule::Single(rate) => Ok(Some(rate)),
            RateSchedule::BestEffort => Ok(None),
            RateSchedule::Shares { .. } => Err(NotStandalone::Rates),
        }
    }

    /// Runs to the end of the last phase, or until it is interrupted; requests until then are in the record. With `log`
    /// everything is written as it happens.
    ///
    /// # Errors
    /// Anything that kept it from its end.
    /// What kept it from its end.
    pub fn run(
        &self,
        log: Option<&ResultsDir>,
        progress: &mut dyn BakeoffProgress,
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
        // Other parts need not wait for one that has broken off.
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
        setup: &mut BakeoffSetup,
        progress: &mut dyn BakeoffProgress,
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

    /// Number of phases to agree on.
    fn steps(&self) -> u32 {
        u32::try_from(self.plan.phases().len()).unwrap_or(u32::MAX)
    }

    fn written(
        &self,
        rate: Option<PerSecond>,
        setup: &BakeoffSetup,
        fixed: &Fixed,
        log: Option<&ResultsDir>,
        progress: &mut dyn BakeoffProgress,
    ) -> Result<RunRecord, CachesError> {
        let mut directory =
            log.map(|dir| BakeoffDirectory::begin(dir, &self.plan.text, setup)).transpose()?;
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

    /// Refuses a run without one good reply, which says nothing, and one whose cache is gone at the end, which says
    /// little.
    ///
    /// # Errors
    /// It was such a run.
    pub fn demand_replies(&self, record: &RunRecord) -> Result<(), CachesError> {
        steps::demand_replies(record)?;
        self.cache.map_or(Ok(()), |_| steps::demand_life(record))?;
        self.cache.map_or(Ok(()), |(address, _)| steps::demand_there(record, address))
    }

    /// The origin, with TLS as its plan says. Any certificate will do: replies are judged byte by byte.
    fn elsewhere(&self) -> Result<Elsewhere, CachesError> {
        let tls = self.plan.tls.then(|| TlsOptions::new(Trust::Anyone).load()).transpose()?;
        Ok(Elsewhere { address: self.origin, names: self.plan.names, tls })
    }

    /// Whether all servers are on this machine.
    fn is_near(&self) -> bool {
        let is_near = |address: SocketAddr| address.ip().is_loopback();
        is_near(self.origin) && self.cache.is_none_or(|(address, _)| is_near(address))
    }

    fn ask(
        &self,
        rate: Option<PerSecond>,
        fixed: &Fixed,
        mut directory: Option<&mut BakeoffDirectory<'_>>,
        progress: &mut dyn BakeoffProgress,
    ) -> Result<RunRecord, CachesError> {
        let spec = self.plan.robots_at(rate);
        if let Some(directory) = &directory {
            directory.begins(0, self.beginning(rate), &spec)?;
        }
        let log = observer::Log { run: 0, dir: directory.as_deref_mut(), progress };
        // The fill of a store and the usage of a cache cannot be seen from here.
        let is_forward = self.cache.is_some_and(|(_, mode)| mode == ProxyMode::Forward);
        let sides = Sides { origin: &fixed.origin, cache: None, is_forward };
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
            think: self.plan.think.as_ref(),
            way: Way::new(fixed.origin.address, self.cache, fixed.origin.tls.as_ref()),
            connections: fixed.connections,
            from: &self.plan.from,
            ports: self.plan.ports,
            timeout: self.plan.timeout,
            last_replies: self.plan.last_replies(),
            seed: mix64(self.plan.seed),
            world: fixed.world,
            worker: self.worker(),
            parts: fixed.member.as_ref().map(|member| &member.gate),
            keeps_stream: false,
            keeps_trace: false,
            log: fixed.transactions.as_ref().map(|log| LogOf { log, run: 0, entrant: self.name() }),
            cores: &fixed.cores,
            interrupted: self.interrupted,
        }
    }

    /// Name of the entrant.
    fn name(&self) -> String {
        self.cache.map_or_else(|| "none".to_owned(), |(address, _)| address.to_string())
    }

    /// The robots of the run that run here: each part makes objects of its own, at its share of the rate.
    fn worker(&self) -> Worker {
        let of_part = |part: Part| Worker::new(u32::from(part.number()) - 1, part.of().into());
        self.parts.and_then(|parts| of_part(parts.part)).unwrap_or(Worker::ONLY)
    }

    /// An empty record of a run.
    fn beginning(&self, rate: Option<PerSecond>) -> RunRecord {
        let of_part = |rate: PerSecond| rate.get() / f64::from(self.worker().count());
        let entrant = EntrantRecord { name: self.name(), ..EntrantRecord::default() };
        let purpose = rate
            .map_or(RunPurpose::BestEffort, |rate| RunPurpose::Rate { order: 1, rate_per_s: of_part(rate) });
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

/// Has robots run while another thread keeps them in step with the other parts. Returns the parts that they went on
/// without.
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

/// Marks the robots as ended, however they end: the thread that keeps them in step would else never end.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}
