//! A load that ends with time and not with work, from rest to rest: a trial of a rate, or a slice by time.
//!
//! The only place where time cuts. In a trial every request that came due is still followed to its end; in a slice by
//! time requests still in flight are cut off, and counted apart.

use super::hits::Numbered;
use super::jobs::{self, Heard, Jobs, NotedRecording, no_replies, pacer};
use super::shares::Workloads;
use super::{ServerBench, populations};
use crate::run::snapshot::fill_programs;
use crate::run::{RunError, bench};
use bakeoff_loadgen::{BodyCheck, OwnLateness, Pace, Recording, Station};
use bakeoff_meter::{ErrorClass, SliceCounters, Times};
use bakeoff_plan::{BurstClock, During, LoadClock, SliceLengths};
use bakeoff_results::{InFlight, TrialLateness};
use bakeoff_units::{Nanos, PerSecond};
use bakeoff_workload::{EndlessSource, Slice};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Length of the warm-up with the same load before each trial: connections are made and caches are warm.
const WARM_UP: Nanos = Nanos::from_millis(500);
/// ... but no longer than this share of the trial.
const WARM_UP_SHARE: f64 = 0.25;
/// Most requests that are prepared for a trial; longer ones go round.
const MOST_REQUESTS: f64 = 1e6;
/// Requests that are prepared for a closed loop, whose rate is not known.
const CLOSED_REQUESTS: usize = 50_000;
/// Number of samples of the requests in flight in a trial, within bounds.
const SAMPLES: f64 = 300.0;
/// A server is at rest when it uses no more than this in `LOOK`.
const REST: Nanos = Nanos::from_millis(1);
/// Length of one look.
const LOOK: Duration = Duration::from_millis(20);
/// Looks at an overloaded server until it must have come to rest.
const PATIENCE: u32 = 150;
/// If no CPU can be read, time after which rest is taken for granted.
const BLIND_REST: Duration = Duration::from_millis(200);

/// Equal or random gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gaps {
    Constant,
    Poisson,
}

/// Arrivals of a trial's requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Load {
    /// Independent of the replies.
    Open { rate: PerSecond, gaps: Gaps },
    /// The same, many at once.
    Bursts(BurstClock),
    /// Each robot asks again when it has its reply and has thought.
    Closed { robots: usize, think: Nanos },
}

impl Load {
    fn of(clock: LoadClock) -> Result<Self, RunError> {
        match clock {
            LoadClock::Closed { robots, think, .. } => Ok(Self::Closed { robots, think }),
            LoadClock::Constant(rate) => Ok(Self::Open { rate, gaps: Gaps::Constant }),
            LoadClock::Poisson(rate) => Ok(Self::Open { rate, gaps: Gaps::Poisson }),
            LoadClock::Bursts(bursts) => Ok(Self::Bursts(bursts)),
            LoadClock::Original { .. } => {
                Err(RunError::System(std::io::Error::other("no slice by time has the clock of a log")))
            }
        }
    }

    const fn clock(self) -> LoadClock {
        match self {
            Self::Open { rate, gaps: Gaps::Constant } => LoadClock::Constant(rate),
            Self::Open { rate, gaps: Gaps::Poisson } => LoadClock::Poisson(rate),
            Self::Bursts(bursts) => LoadClock::Bursts(bursts),
            Self::Closed { robots, think } => LoadClock::Closed { robots, think, passes: None },
        }
    }
}

/// A trial that was run.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) counters: SliceCounters,
    pub(crate) times: Times,
    pub(crate) in_flight: InFlight,
    pub(crate) own_lateness: Option<TrialLateness>,
}

/// One stretch of a load: the warm-up, or the trial itself.
#[derive(Clone, Copy)]
struct Stretch<'a> {
    slice: &'a Slice,
    /// Index of its first request.
    from: usize,
    load: Load,
    /// Its beginning, from the common start.
    begins: Nanos,
    time: Nanos,
    every: Nanos,
    seed: u64,
    /// Time from its beginning at which requests in flight are cut off, and counted apart; `None`: all are followed to
    /// their end.
    cut_at: Option<Nanos>,
}

/// A load by time that is offered to every arm, by all clients or by one population.
struct Offer {
    /// All its requests as one list.
    slice: Slice,
    load: Load,
    seed: u64,
    /// The part of a slice in which it is there; `None`: all of it.
    during: Option<During>,
}

impl Offer {
    /// The warm-up before a slice: only clients that are active at the slice's beginning take part.
    fn warming(&self, warm: Nanos, every: Nanos) -> Option<Stretch<'_>> {
        let asks = self.during.is_none_or(|during| during.from == Nanos::ZERO);
        asks.then(|| self.stretch(0, (Nanos::ZERO, warm), every, None, 0))
    }

    /// The stretch that counts, with random gaps of its own.
    fn counting(&self, from: usize, time: Nanos, every: Nanos) -> Stretch<'_> {
        let (begins, asks) = self.part_of(time);
        self.stretch(from, (begins, asks), every, Some(time.since(begins)), 1)
    }

    /// Its beginning and length in a slice that is over after `time`.
    fn part_of(&self, time: Nanos) -> (Nanos, Nanos) {
        self.during.map_or((Nanos::ZERO, time), |During { from, until }| (from, until.min(time).since(from)))
    }

    const fn stretch(
        &self,
        from: usize,
        (begins, time): (Nanos, Nanos),
        every: Nanos,
        cut_at: Option<Nanos>,
        turn: u64,
    ) -> Stretch<'_> {
        let Self { slice, load, seed, .. } = self;
        Stretch { slice, from, load: *load, begins, time, every, seed: seed.wrapping_add(turn), cut_at }
    }

    /// Takes its rates over its own active time, not until its last reply: a server that stops answering is no faster.
    fn of_its_time(&self, counters: &mut SliceCounters, time: Nanos) {
        let asked = self.part_of(time).1.get();
        counters.generator_busy *= counters.wall_ns as f64 / asked.max(1) as f64;
        counters.wall_ns = asked;
    }
}

impl ServerBench<'_> {
    /// A slice by time: the same load for a while, rest, and then the part that counts. Every arm begins with the same
    /// requests of the round, and gets as far as it gets.
    pub(super) fn measure_for(
        &mut self,
        arm: usize,
        SliceLengths { slice: length, warm }: SliceLengths,
        limit: Nanos,
    ) -> Result<bench::Measured, RunError> {
        let time = length.min(limit);
        let offers = self.offers(arm, warm + length)?;
        let warming: Vec<_> = offers.iter().map(|offer| offer.warming(warm, length)).collect();
        let warm_up = self.cut_by_time(arm, warming)?;
        self.rest(arm);
        let link_before = self.starter.wire.quiet()?;
        let programs = self.arms[arm].running.program_time();
        let before = self.read(arm);
        let asked = warm_up.iter().map(|recording| recording.counters.requests as usize);
        let counting = offers
            .iter()
            .zip(asked)
            .map(|(offer, asked)| Some(offer.counting(asked, time, length)))
            .collect();
        let mut heard = self.cut_by_time(arm, counting)?;
        self.rest(arm);
        let link_after = self.starter.wire.quiet()?;
        let after = self.read(arm);
        for (Recording { counters, .. }, offer) in heard.iter_mut().zip(&offers) {
            counters.cut = counters.errors.remove(ErrorClass::CutOff.as_str()).unwrap_or(0);
            offer.of_its_time(counters, time);
        }
        let populations = populations::records(self.jobs_of(arm).work, &heard);
        let (mut counters, times) = populations::all_together(heard);
        counters.wall_ns = time.get();
        counters.link = self.starter.wire.between(link_before, link_after, counters.wall_ns);
        self.reader.fill(&mut counters, &before, &after);
        fill_programs(&mut counters, programs, &self.arms[arm].running);
        let complete = time == length && !self.jobs.interrupted.load(Ordering::Relaxed);
        Ok(bench::Measured { populations, ..bench::Measured::alone(counters, times, complete) })
    }

    /// The offers of this round to an arm: one load, or one a population.
    fn offers(&mut self, arm: usize, time: Nanos) -> Result<Vec<Offer>, RunError> {
        let work = self.jobs_of(arm).work;
        let seed = self.jobs.seed.wrapping_add(self.round.wrapping_mul(2));
        let share = self.workloads.share(arm).workload;
        if work.populations.is_empty() {
            let load = Load::of(work.clock)?;
            let slice = self.workloads.all[share].slice(self.round, requests(load, time))?;
            return Ok(vec![Offer { slice: jobs::in_one_list(&slice), load, seed, during: None }]);
        }
        let Workloads { all, own, .. } = &mut self.workloads;
        work.populations
            .iter()
            .zip(own)
            .enumerate()
            .map(|(index, (population, own))| {
                let load = Load::of(population.work.clock)?;
                let apart = populations::apart(index);
                let workload = own.as_mut().unwrap_or(&mut all[share]);
                let slice = workload.slice(self.round ^ apart, requests(load, time))?;
                let during = population.during;
                Ok(Offer { slice: jobs::in_one_list(&slice), load, seed: seed ^ apart, during })
            })
            .collect()
    }

    /// Warms up, waits for rest, runs the trial, waits for rest. `number` chooses the requests.
    pub(crate) fn trial(
        &mut self,
        arm: usize,
        number: u32,
        load: Load,
        time: Nanos,
    ) -> Result<Measured, RunError> {
        let warm_up = WARM_UP.min(time.times(WARM_UP_SHARE));
        let workload = self.workloads.share(arm).workload;
        let workload = &mut self.workloads.all[workload];
        let slice = workload.slice(u64::from(number), requests(load, warm_up + time))?;
        let every = time.times(1.0 / SAMPLES).clamp(Nanos::from_millis(10), Nanos::from_millis(250));
        let seed = self.jobs.seed.wrapping_add(2 * u64::from(number));
        let begins = Nanos::ZERO;
        let warming =
            Stretch { slice: &slice, from: 0, load, begins, time: warm_up, every, seed, cut_at: None };
        let warmed = self.cut_by_time(arm, vec![Some(warming)])?;
        self.rest(arm);
        let from = warmed.iter().map(|recording| recording.counters.requests as usize).sum();
        let before = self.read(arm);
        let stretch = Stretch { from, time, seed: seed.wrapping_add(1), ..warming };
        let mut heard = self.cut_by_time(arm, vec![Some(stretch)])?;
        let after = self.read(arm);
        self.rest(arm);
        let nothing = || RunError::System(std::io::Error::other("a trial without a recording"));
        let Recording { mut counters, times, in_flight, own_lateness, .. } =
            heard.pop().ok_or_else(nothing)?;
        self.reader.fill(&mut counters, &before, &after);
        let in_flight = InFlight { every_ns: every.get(), seen: in_flight };
        let own_lateness = own_lateness.as_ref().map(lateness);
        Ok(Measured { counters, times, in_flight, own_lateness })
    }

    /// The error that this arm returned nothing but failures.
    pub(crate) fn silent(&self, arm: usize, counters: &SliceCounters) -> RunError {
        no_replies(&self.arms[arm].name, counters)
    }

    /// All stretches at the same time: one over the arm's station, or one over that of each population. A population
    /// without a stretch has an empty recording.
    fn cut_by_time(
        &mut self,
        arm: usize,
        stretches: Vec<Option<Stretch<'_>>>,
    ) -> Result<Vec<Recording>, RunError> {
        let jobs = self.jobs_of(arm);
        let place = &mut self.arms[arm];
        place.running.alive()?;
        let hears = place.seen.is_some();
        let askers = populations::askers(place, jobs).into_iter().zip(stretches);
        let all_begin = Instant::now();
        let heard: Vec<std::io::Result<NotedRecording>> = thread::scope(|scope| {
            let mut running = Vec::new();
            for ((station, jobs), stretch) in askers {
                running.push(stretch.map(|stretch| {
                    scope.spawn(move || {
                        wait_until(all_begin, stretch.begins, jobs.interrupted);
                        ask_for(station, jobs, stretch, hears)
                    })
                }));
            }
            let panicked = |_| Err(std::io::Error::other("a generator thread panicked"));
            let ended = |thread: Option<thread::ScopedJoinHandle<'_, _>>| match thread {
                Some(thread) => thread.join().unwrap_or_else(panicked),
                None => Ok((Recording::default(), Vec::new())),
            };
            running.into_iter().map(ended).collect()
        });
        let mut recordings = Vec::new();
        for heard in heard {
            let (recording, notes) = heard.map_err(RunError::Generator)?;
            let heard = Heard { recording, notes, parts: Vec::new() };
            let mut recording = jobs::judged(place, heard).recording;
            recording.counters.handshakes = recording.handshakes.counts();
            place.tls = place.tls.take().or_else(|| recording.tls.clone());
            recordings.push(recording);
        }
        place.running.alive()?;
        Ok(recordings)
    }

    /// Waits until the arm has finished its remaining work: after an overload servers still work on requests that were
    /// given up.
    fn rest(&self, arm: usize) {
        let cpu = || self.arms[arm].running.cpu().ok().map(|reading| reading.nanos);
        let Some(mut last) = cpu() else { return thread::sleep(BLIND_REST) };
        for _ in 0..PATIENCE {
            thread::sleep(LOOK);
            let Some(now) = cpu() else { return };
            if now.since(last) <= REST || self.jobs.interrupted.load(Ordering::Relaxed) {
                return;
            }
            last = now;
        }
    }
}

/// Waits until `begins` after the common start, or until the run is interrupted.
fn wait_until(all_begin: Instant, begins: Nanos, interrupted: &AtomicBool) {
    let begins = all_begin + Duration::from_nanos(begins.get());
    while !interrupted.load(Ordering::Relaxed) {
        let left = begins.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(LOOK));
    }
}

/// One stretch over one station.
fn ask_for(
    station: &mut Station,
    jobs: Jobs<'_>,
    Stretch { slice, from, load, time, every, seed, cut_at, .. }: Stretch<'_>,
    hears: bool,
) -> std::io::Result<NotedRecording> {
    let lanes = station.lanes();
    let (sources, pace) = match load {
        Load::Open { .. } | Load::Bursts(_) => {
            let pacers = lanes.numbers().map(|lane| pacer(load.clock(), seed, lane, lanes.of())).collect();
            let connections = jobs.work.connections;
            (EndlessSource::by_request(slice, lanes.of(), from), Pace::Open { pacers, connections })
        }
        Load::Closed { robots, think } => (
            EndlessSource::by_robot(slice, lanes.of(), robots, from),
            Pace::Closed { think, spread: Nanos::ZERO, connections: None },
        ),
    };
    let sources = lanes.own(sources);
    let robots = sources.iter().map(EndlessSource::robots).collect();
    let job = jobs.job(sources, robots, pace, BodyCheck::Start, time);
    if hears || cut_at.is_some() {
        let job = job.with_sources(|source| Numbered::until(source, cut_at));
        let (recording, sources) = station.run_heard_sampled(job, every)?;
        Ok((recording, Numbered::noted(sources)))
    } else {
        station.run_sampled(job, every).map(|recording| (recording, Vec::new()))
    }
}

fn lateness(own: &OwnLateness) -> TrialLateness {
    let OwnLateness { times, intervals, excluded } = own;
    TrialLateness { p99_ns: times.quantile(0.99).get(), intervals: *intervals, excluded: *excluded }
}

/// Number of requests to prepare: all that may come due, as long as memory allows.
fn requests(load: Load, time: Nanos) -> usize {
    match load {
        Load::Closed { .. } => CLOSED_REQUESTS,
        Load::Bursts(bursts) => bursts.at_most_in(time).min(MOST_REQUESTS) as usize,
        Load::Open { rate, .. } => {
            let due = rate.get() * time.as_secs_f64();
            // Six standard deviations of a Poisson process: none of a billion trials has more.
            (due + 6.0 * due.sqrt() + 10.0).min(MOST_REQUESTS) as usize
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_requests_are_prepared_as_may_come_due() {
        let open = |rate| Load::Open { rate: PerSecond::new(rate).unwrap(), gaps: Gaps::Poisson };
        assert_eq!(requests(open(1000.0), Nanos::from_secs(10)), 10_610);
        assert_eq!(requests(open(1e6), Nanos::from_secs(60)), 1_000_000);
        let bursts = Load::Bursts(BurstClock { least: 50, most: 80, every: Nanos::from_millis(500) });
        assert_eq!(requests(bursts, Nanos::from_secs(10)), 21 * 80);
        assert_eq!(requests(Load::Closed { robots: 1, think: Nanos::ZERO }, Nanos::from_secs(60)), 50_000);
    }
}
