//! Steps of the procedure: path, fill, a rate.
//!
//! Measuring side, cold. Owns that every run is recorded with its measurements, also when it is broken off.

use super::bench::Bench;
use super::error::CachesError;
use super::filling::Filling;
use super::load::{Ended, Load, LogOf, Way};
use super::observer::{Learnt, Log, Observer, Sides};
use super::power::Power;
use super::started::Started;
use super::{achievable, outage};
use crate::plan::{CachePlan, Entrant, PeakSource, RateSchedule};
use crate::records::{EntrantRecord, INTERRUPTED, NOBODY, PhaseLine, RunPurpose, RunRecord, Store};
use bakeoff_content::mix64;
use bakeoff_content::world::Model;
use bakeoff_meter::ErrorClass;
use bakeoff_robots::stream::{hits_before_fetch, slow_hits};
use bakeoff_robots::{Spec, Worker};
use bakeoff_subject::{ProxyMode, StoreReading};
use bakeoff_units::{Nanos, PerSecond};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Robots that measure the speed of the path.
pub(super) const CROWD: usize = 32;
/// Numbers of robots, one run after the other.
const ON_THE_WAY: [usize; 2] = [CROWD, 1];
/// Longest and shortest time of each measurement of the path; in between it takes the measured time of a run.
const PATH_TIME: Nanos = Nanos::from_secs(3);
const SHORTEST_PATH_TIME: Nanos = Nanos::from_millis(250);

/// A run's work for the robots.
#[derive(Clone, Copy)]
pub(super) struct Work<'w> {
    pub(super) spec: &'w Spec,
    pub(super) model: &'w Model,
    /// Whether caches are simulated with its requests.
    pub(super) keeps_stream: bool,
    /// A store is filled, and is full at the latest when the origin has sent this much.
    pub(super) enough_bytes: Option<u64>,
}

impl<'w> Work<'w> {
    /// Phases that end by themselves, and no simulation.
    pub(super) const fn plain(spec: &'w Spec, model: &'w Model) -> Self {
        Self { spec, model, keeps_stream: false, enough_bytes: None }
    }
}

impl Bench<'_, '_> {
    /// Measures the path to the origin, without a cache and without think time.
    pub(super) fn path(&mut self) -> Result<(), CachesError> {
        let direct = Started::direct(NOBODY, self.origin.address);
        let plan = self.plan;
        let time = way_time(plan);
        for robots in ON_THE_WAY {
            if self.done.has_path(robots) {
                continue;
            }
            self.progress.stage(&format!("the way to the origin, {robots} robots"));
            let text = format!(
                "[robots]\nrobots = {robots}\n[[phase]]\nname = \"path\"\ngoal = {{ duration = \"{}ms\" }}\n",
                time.get() / 1_000_000
            );
            let spec = Spec::from_toml(&text).map_err(|why| CachesError::Own(why.to_string()))?;
            self.asked(&direct, Work::plain(&spec, &plan.quick), RunPurpose::Path { robots })?;
        }
        Ok(())
    }

    /// Fills the store: until it is full and evicts objects, or as much was fetched as makes sure.
    pub(super) fn fill(&mut self, entrant: &Started) -> Result<(), CachesError> {
        let plan = self.plan;
        let Some(fill) = &plan.fill else { return Ok(()) };
        self.progress.stage(&format!("{}: filling its store", entrant.record.name));
        // The capacity of a cache that runs already is not known; the plan's room is all there is to go by.
        let capacity = entrant.capacity_bytes.unwrap_or_else(|| self.room_bytes());
        let enough = (capacity as f64 * fill.times) as u64;
        let work = Work { enough_bytes: Some(enough), ..Work::plain(&fill.robots, &plan.quick) };
        self.asked(entrant, work, RunPurpose::Fill)?;
        Ok(())
    }

    /// Measures a rate; `order` is its index in the plan, from 1.
    pub(super) fn rate(&mut self, entrant: &Started, order: u32, rate: PerSecond) -> Result<(), CachesError> {
        self.progress.stage(&format!("{}: {rate}", entrant.record.name));
        let spec = self.plan.robots_at(rate);
        self.measured(entrant, &spec, RunPurpose::Rate { order, rate_per_s: rate.get() })
    }

    /// Measures robots that ask as fast as replies come.
    pub(super) fn best_effort(&mut self, entrant: &Started) -> Result<(), CachesError> {
        self.progress.stage(&format!("{}: as fast as replies come", entrant.record.name));
        let spec = self.plan.robots_at(None::<PerSecond>);
        self.measured(entrant, &spec, RunPurpose::BestEffort)
    }

    fn measured(&mut self, entrant: &Started, spec: &Spec, purpose: RunPurpose) -> Result<(), CachesError> {
        let plan = self.plan;
        let work = Work { keeps_stream: self.may_hit(entrant), ..Work::plain(spec, &plan.model) };
        self.asked(entrant, work, purpose)?;
        Ok(())
    }

    /// Runs against an entrant and records it.
    fn asked(
        &mut self,
        entrant: &Started,
        work: Work<'_>,
        purpose: RunPurpose,
    ) -> Result<RunRecord, CachesError> {
        self.asked_and_judged(entrant, work, purpose, |_, purpose| purpose)
    }

    /// The same if the purpose depends on the outcome. Its record has the reason for a break-off, and the measurements
    /// until then.
    pub(super) fn asked_and_judged(
        &mut self,
        entrant: &Started,
        work: Work<'_>,
        purpose: RunPurpose,
        judge: impl FnOnce(&RunRecord, RunPurpose) -> RunPurpose,
    ) -> Result<RunRecord, CachesError> {
        self.demand_uninterrupted()?;
        self.dir.begins(self.run, self.beginning(entrant, purpose.clone()), work.spec)?;
        let (mut ended, learnt) = self.listened(entrant, work)?;
        // An interruption is no failure.
        let failed = ended.failed.take().filter(|_| !self.interrupted.load(Ordering::Relaxed));
        let mut record = self.record(entrant, ended, learnt, failed.as_ref());
        let failed = match failed {
            None if !self.interrupted.load(Ordering::Relaxed) => {
                let outside = entrant.is_cache && entrant.running().is_none();
                let there = || if outside { demand_there(&record, entrant.address) } else { Ok(()) };
                let lives = || if entrant.is_cache { demand_life(&record) } else { Ok(()) };
                demand_replies(&record).and_then(|()| there()).and_then(|()| lives()).err()
            }
            other => other,
        };
        record.failed = failed.as_ref().map(ToString::to_string);
        record.purpose = judge(&record, purpose);
        self.write(&record)?;
        self.demand_uninterrupted()?;
        failed.map_or(Ok(record), Err)
    }

    /// Runs robots against an entrant.
    fn listened(&mut self, entrant: &Started, work: Work<'_>) -> Result<(Ended, Learnt), CachesError> {
        let (cores, world) = (self.placement.generator.clone(), self.next_world());
        let load = self.load(entrant, work, &cores, world);
        let filling = work.enough_bytes.map(|enough| Filling::begin(entrant, enough, &self.origin));
        let log = Log { run: self.run, dir: Some(self.dir), progress: self.progress };
        let is_forward = entrant.is_cache && entrant.mode == ProxyMode::Forward;
        let sides = Sides { origin: &self.origin, cache: entrant.running(), is_forward };
        let power = Power::of(work.spec, entrant.running(), self.interrupted);
        let observer = Observer::begin(log, work.spec, sides, filling.transpose()?)?;
        let mut observer = observer.switching(power);
        let ended = load.run(&mut observer);
        Ok((ended, observer.finish()))
    }

    fn load<'l>(&self, entrant: &Started, work: Work<'l>, cores: &'l [usize], world: u64) -> Load<'l>
    where
        Self: 'l,
    {
        let proxy = entrant.is_cache.then_some((entrant.address, entrant.mode));
        Load {
            spec: work.spec,
            model: work.model,
            think: self.plan.think.as_ref(),
            way: Way::new(self.origin.address, proxy, self.origin.tls.as_ref()),
            connections: self.connections,
            from: &self.plan.from,
            ports: self.plan.ports,
            timeout: self.plan.timeout,
            last_replies: self.plan.last_replies(),
            seed: mix64(self.plan.seed ^ u64::from(self.run)),
            world,
            worker: Worker::ONLY,
            parts: None,
            keeps_stream: work.keeps_stream,
            keeps_trace: work.spec.phases.iter().any(|phase| phase.outage),
            log: self.log_of(entrant),
            cores,
            interrupted: self.interrupted,
        }
    }

    fn log_of<'l>(&self, entrant: &Started) -> Option<LogOf<'l>>
    where
        Self: 'l,
    {
        let log = self.transactions?;
        Some(LogOf { log, run: self.run, entrant: entrant.record.name.clone() })
    }

    /// An empty record of a run.
    fn beginning(&self, entrant: &Started, purpose: RunPurpose) -> RunRecord {
        let (second_of, pass) = (entrant.second_of.clone(), self.pass);
        RunRecord { second_of, pass, ..RunRecord::of(entrant.record.clone(), purpose) }
    }

    /// The record of a run that has ended. The gauge is read here once more, but not of an entrant that has failed or
    /// is away.
    fn record(
        &mut self,
        entrant: &Started,
        mut ended: Ended,
        learnt: Learnt,
        failed: Option<&CachesError>,
    ) -> RunRecord {
        let is_away = learnt.switched.last().is_some_and(|switched| switched.ready.is_none());
        let gauge = if failed.is_none() && !is_away { entrant.gauge() } else { None };
        let (store, unreadable) = match gauge {
            Some(Ok(reading)) => (Some(Store::from(reading)), None),
            Some(Err(why)) => (None, Some(why.to_string())),
            None => (None, None),
        };
        if let Some(why) = &unreadable {
            entrant.tell_unreadable(why, self.progress);
        }
        achievable::put(&mut ended.phases, &ended.stream, entrant.capacity_bytes);
        RunRecord {
            hits_before_fetch: hits_before_fetch(&ended.stream),
            slow_hits: slow_hits(&ended.stream),
            store,
            store_unreadable: learnt.unreadable.or(unreadable),
            ended: match failed {
                _ if self.interrupted.load(Ordering::Relaxed) => INTERRUPTED.to_owned(),
                Some(_) => BROKEN_OFF.to_owned(),
                None => words(&ended),
            },
            lateness_p99_ns: ended.lateness_p99_ns,
            robots_busy: ended.busy,
            clock_ahead_s: learnt.clock_ahead_s,
            outages: outage::of(&ended.trace, &learnt.switched),
            transactions: ended.logged,
            tls: ended.tls,
            phases: ended.phases,
            ..self.beginning(entrant, RunPurpose::Fill)
        }
    }

    fn write(&mut self, record: &RunRecord) -> Result<(), CachesError> {
        self.told_failure = record.failed.is_some();
        self.run += 1;
        Ok(self.dir.run(record)?)
    }

    /// Notes that an entrant could not go on, if its last run does not say so.
    pub(super) fn failed(&mut self, entrant: &Entrant, error: &CachesError) -> Result<(), CachesError> {
        self.progress.stage(&format!("{entrant}: {error}"));
        if self.told_failure {
            return Ok(());
        }
        let nobody = EntrantRecord { name: entrant.name.clone(), ..EntrantRecord::default() };
        self.write(&RunRecord {
            ended: "failed".to_owned(),
            failed: Some(error.to_string()),
            second_of: entrant.second_of.clone(),
            pass: self.pass,
            ..RunRecord::of(nobody, RunPurpose::Fill)
        })
    }

    /// Checks that phases are long enough at the lowest rate, now that the peak is known.
    pub(super) fn demand_length(&self, peak: PerSecond) -> Result<(), CachesError> {
        let schedule = &self.plan.schedule;
        let RateSchedule::Shares { peak: PeakSource::Searched { .. }, .. } = schedule else { return Ok(()) };
        let Some(lowest) = schedule.lowest(peak) else { return Ok(()) };
        Ok(self.plan.demand_length(lowest)?)
    }

    fn next_world(&mut self) -> u64 {
        self.world = mix64(self.world);
        self.world
    }
}

/// Duration of each measurement of the path to the origin.
fn way_time(plan: &CachePlan) -> Nanos {
    plan.measured_time().map_or(PATH_TIME, |time| time.clamp(SHORTEST_PATH_TIME, PATH_TIME))
}

/// Duration of all of them.
pub(super) fn ways_time(plan: &CachePlan) -> Nanos {
    way_time(plan).times(ON_THE_WAY.len() as f64)
}

/// Time that a cache which may have gone has to take a connection.
const KNOCK: Duration = Duration::from_secs(2);

/// Reason for the end of a run that did not come to its end.
pub(crate) const BROKEN_OFF: &str = "broken off";

/// Reason for the end of the last phase.
pub(crate) fn words(ended: &Ended) -> String {
    match ended.phases.iter().rfind(|line| line.is_of_the_plan()) {
        _ if ended.gave_up => "every request failed".to_owned(),
        Some(line) => line.ended.map_or_else(String::new, |reason| reason.meaning().to_owned()),
        None => "nothing was asked".to_owned(),
    }
}

/// A cache that never answered cannot be measured.
pub(crate) fn demand_replies(record: &RunRecord) -> Result<(), CachesError> {
    let asked: u64 = record.phases.iter().map(|line| line.phase.sums.finished).sum();
    let good: u64 = record.phases.iter().map(|line| line.phase.sums.good).sum();
    if asked == 0 || good > 0 {
        return Ok(());
    }
    let errors = record.phases.iter().flat_map(|line: &PhaseLine| &line.phase.sums.errors);
    let worst = errors.max_by_key(|(_, count)| **count).map(|(class, _)| class.clone());
    Err(CachesError::NoReply {
        entrant: record.entrant.name.clone(),
        asked,
        class: worst.unwrap_or_else(|| "not what was asked for".to_owned()),
    })
}

/// A cache that has refused connections was not there: one that is busy lets them wait. It may be back.
pub(crate) fn demand_there(record: &RunRecord, address: SocketAddr) -> Result<(), CachesError> {
    let class = ErrorClass::ConnectRefused.as_str();
    let refused = record.phases.iter().filter_map(|line| line.phase.sums.errors.get(class)).sum();
    if refused == 0 {
        return Ok(());
    }
    match TcpStream::connect_timeout(&address, KNOCK) {
        Err(why) if why.kind() == ErrorKind::ConnectionRefused => Err(CachesError::Gone { address }),
        _ => Err(CachesError::Away { address, refused }),
    }
}

/// Requests without a reply from which on a cache that answers nothing more has stopped.
const UNANSWERED: u64 = 10;

/// A cache that leaves all requests unanswered from some phase on, while it takes connections, has stopped.
pub(crate) fn demand_life(record: &RunRecord) -> Result<(), CachesError> {
    let silent = record.phases.iter().rev().take_while(|line| line.phase.sums.good == 0);
    let unanswered: u64 = silent.map(|line| line.phase.sums.unanswered()).sum();
    match unanswered {
        few if few < UNANSWERED => Ok(()),
        _ => Err(CachesError::Stopped { entrant: record.entrant.name.clone(), unanswered }),
    }
}

impl From<StoreReading> for Store {
    fn from(reading: StoreReading) -> Self {
        Self {
            used_bytes: reading.used_bytes,
            capacity_bytes: reading.capacity_bytes,
            evictions: reading.evictions,
            source: reading.source.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_robots::ledger::{LedgerRecord, RecordScope, Sums};

    /// A run of phases with so many good replies and requests that timed out.
    fn run(phases: &[(u64, u64)]) -> RunRecord {
        let line = |(good, timed_out): &(u64, u64)| {
            let errors = [(ErrorClass::Timeout.as_str().to_owned(), *timed_out)].into();
            let sums = Sums { good: *good, finished: good + timed_out, errors, ..Sums::default() };
            let (scope, phase) = (RecordScope::Phase, "any".to_owned());
            let phase = LedgerRecord {
                worker: 0,
                scope,
                phase,
                number: 0,
                began_ns: 0,
                ended_ns: 0,
                progress: 0,
                sums,
            };
            let used = crate::records::PhaseUsage::default();
            PhaseLine { phase, measured: true, ended: None, used, achievable: None }
        };
        let entrant = EntrantRecord { name: "mine".to_owned(), ..EntrantRecord::default() };
        let phases = phases.iter().map(line).collect();
        RunRecord { phases, ..RunRecord::of(entrant, RunPurpose::BestEffort) }
    }

    #[test]
    fn a_cache_that_refused_connections_was_not_there_whether_it_is_back_or_not() {
        let refusing = |count| {
            let mut run = run(&[(100, 0), (100, 0)]);
            run.phases[0].phase.sums.errors =
                [(ErrorClass::ConnectRefused.as_str().to_owned(), count)].into();
            run
        };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert!(demand_there(&run(&[(100, 0)]), address).is_ok());
        assert!(matches!(demand_there(&refusing(3), address), Err(CachesError::Away { refused: 3, .. })));
        drop(listener);
        assert!(matches!(demand_there(&refusing(3), address), Err(CachesError::Gone { .. })));
    }

    #[test]
    fn a_cache_that_answers_nothing_more_has_stopped_and_one_with_a_bad_time_has_not() {
        let said = demand_life(&run(&[(500, 0), (300, 40), (0, 7), (0, 5)])).unwrap_err().to_string();
        assert!(said.starts_with("mine stopped answering: its last 12 requests got no reply"), "{said}");
        for alive in [&[(500, 0), (0, 9)][..], &[(500, 0), (0, 200), (1, 0)], &[(500, 20)], &[]] {
            assert!(demand_life(&run(alive)).is_ok(), "{alive:?}");
        }
    }
}
