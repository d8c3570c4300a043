//! A load that ends with time and not with work, from rest to rest: a trial of a rate, or a slice by time.
//!
//! The only place where time cuts. In a trial every request that came due is still followed to its end; in a slice by
//! time what is in flight then is cut off, and counted apart.

use super::ServerBench;
use super::hits::Numbered;
use super::jobs::{self, Jobs, no_replies, pacer};
use crate::plan::{LoadClock, Timed};
use crate::results::{InFlight, TrialLateness};
use crate::run::{RunError, bench};
use bakeoff_loadgen::{BodyCheck, Job, OwnLateness, Pace, Recording};
use bakeoff_meter::{Counters, ErrorClass, Times};
use bakeoff_units::{Nanos, PerSecond};
use bakeoff_workload::{EndlessSource, Slice};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The same load runs so long before each trial: connections are made and caches are warm.
const WARM_UP: Nanos = Nanos::from_millis(500);
/// ... but no longer than this share of the trial.
const WARM_UP_SHARE: f64 = 0.25;
/// Most requests that are prepared for a trial; longer ones go round.
const MOST_REQUESTS: f64 = 1e6;
/// Requests that are prepared for a closed loop, whose rate nobody knows.
const CLOSED_REQUESTS: usize = 50_000;
/// The number in flight is taken so many times in a trial, within bounds.
const SAMPLES: f64 = 300.0;
/// A server is at rest when it uses no more than this in `LOOK`.
const REST: Nanos = Nanos::from_millis(1);
/// How long it is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// An overloaded server gets so many looks to come to rest.
const PATIENCE: u32 = 150;
/// Where no CPU can be seen, rest is taken for granted after this.
const BLIND_REST: Duration = Duration::from_millis(200);

/// Equal or random gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gaps {
    Constant,
    Poisson,
}

/// What a trial's requests come due by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Load {
    /// Whatever becomes of the replies.
    Open { rate: PerSecond, gaps: Gaps },
    /// Each robot again when it has its reply and has thought.
    Closed { robots: usize, think: Nanos },
}

/// A trial that was run.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) counters: Counters,
    pub(crate) times: Times,
    pub(crate) in_flight: InFlight,
    pub(crate) own_lateness: Option<TrialLateness>,
}

/// What becomes of requests that are in flight when time is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtTheEnd {
    /// They are followed to their end.
    Followed,
    /// They are cut off, and counted apart.
    Cut,
}

/// One stretch of a load: the warm-up, or the trial itself.
struct Stretch<'a> {
    slice: &'a Slice,
    /// The request that it begins with.
    from: usize,
    load: Load,
    time: Nanos,
    every: Nanos,
    seed: u64,
    at_the_end: AtTheEnd,
}

impl ServerBench<'_> {
    /// A slice by time: the same load for a while, rest, and then what counts. Every arm begins with the same requests of
    /// the round, and gets as far as it gets.
    pub(super) fn measure_for(
        &mut self,
        arm: usize,
        Timed { slice: length, warm }: Timed,
        limit: Nanos,
    ) -> Result<bench::Measured, RunError> {
        let load = match self.jobs.work.clock {
            LoadClock::Closed { robots, think, .. } => Load::Closed { robots, think },
            LoadClock::Constant(rate) => Load::Open { rate, gaps: Gaps::Constant },
            LoadClock::Poisson(rate) => Load::Open { rate, gaps: Gaps::Poisson },
            LoadClock::Original { .. } => {
                return Err(RunError::System(std::io::Error::other("no slice by time")));
            }
        };
        let time = length.min(limit);
        let workload = self.workloads.share(arm).workload;
        let requests = requests(load, warm + length);
        let slice = jobs::in_one_list(&self.workloads.all[workload].slice(self.round, requests)?);
        let seed = self.jobs.seed.wrapping_add(self.round.wrapping_mul(2));
        let at_the_end = AtTheEnd::Followed;
        let warming = Stretch { slice: &slice, from: 0, load, time: warm, every: length, seed, at_the_end };
        let from = self.cut_by_time(arm, &warming)?.counters.requests as usize;
        self.rest(arm);
        let link_before = self.starter.wire.quiet()?;
        let before = self.read(arm);
        let stretch =
            Stretch { from, time, seed: seed.wrapping_add(1), at_the_end: AtTheEnd::Cut, ..warming };
        let recording = self.cut_by_time(arm, &stretch)?;
        self.rest(arm);
        let link_after = self.starter.wire.quiet()?;
        let after = self.read(arm);
        let mut counters = recording.counters;
        counters.link = self.starter.wire.between(link_before, link_after, counters.wall_ns);
        counters.cut = counters.errors.remove(ErrorClass::CutOff.as_str()).unwrap_or(0);
        self.reader.fill(&mut counters, &before, &after);
        let complete = time == length && !self.jobs.interrupted.load(Ordering::Relaxed);
        Ok(bench::Measured { counters, times: recording.times, complete, order_seed: None })
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
        let at_the_end = AtTheEnd::Followed;
        let warming = Stretch { slice: &slice, from: 0, load, time: warm_up, every, seed, at_the_end };
        let warmed = self.cut_by_time(arm, &warming)?;
        self.rest(arm);
        let from = warmed.counters.requests as usize;
        let before = self.read(arm);
        let stretch = Stretch { from, time, seed: seed.wrapping_add(1), ..warming };
        let recording = self.cut_by_time(arm, &stretch)?;
        let after = self.read(arm);
        self.rest(arm);
        let mut counters = recording.counters;
        self.reader.fill(&mut counters, &before, &after);
        let in_flight = InFlight { every_ns: every.get(), seen: recording.in_flight };
        let own_lateness = recording.own_lateness.as_ref().map(lateness);
        Ok(Measured { counters, times: recording.times, in_flight, own_lateness })
    }

    /// That nothing but failures came back, for this arm.
    pub(crate) fn silent(&self, arm: usize, counters: &Counters) -> RunError {
        no_replies(&self.arms[arm].name, counters)
    }

    fn cut_by_time(&mut self, arm: usize, stretch: &Stretch<'_>) -> Result<Recording, RunError> {
        let Stretch { slice, from, load, time, every, seed, at_the_end } = *stretch;
        let Jobs { work, refused, interrupted, .. } = self.jobs;
        let connections = work.connections;
        let place = &mut self.arms[arm];
        place.running.alive()?;
        let threads = place.station.threads();
        let (sources, pace) = match load {
            Load::Open { rate, gaps } => {
                let clock = match gaps {
                    Gaps::Constant => LoadClock::Constant(rate),
                    Gaps::Poisson => LoadClock::Poisson(rate),
                };
                let pacers = (0..threads).map(|lane| pacer(clock, seed, lane, threads)).collect();
                (EndlessSource::by_request(slice, threads, from), Pace::Open { pacers, connections })
            }
            Load::Closed { robots, think } => (
                EndlessSource::by_robot(slice, threads, robots, from),
                Pace::Closed { think, spread: Nanos::ZERO, connections: None },
            ),
        };
        let job = Job {
            robots: sources.iter().map(EndlessSource::robots).collect(),
            sources,
            pace,
            timeout: work.timeout,
            until: Some(time),
            check: BodyCheck::Start,
            refused,
            interrupted,
        };
        let cut_at = (at_the_end == AtTheEnd::Cut).then_some(time);
        let heard = if place.seen.is_some() || cut_at.is_some() {
            place.station.run_heard_sampled(job.with_sources(|source| Numbered::until(source, cut_at)), every)
        } else {
            place.station.run_sampled(job, every).map(|recording| (recording, Vec::new()))
        };
        let mut recording = jobs::judged(place, heard.map_err(RunError::Generator)?);
        recording.counters.handshakes = recording.handshakes.counts();
        place.tls = place.tls.take().or_else(|| recording.tls.clone());
        place.running.alive()?;
        Ok(recording)
    }

    /// Waits until the arm has done what it was left with: after an overload servers still work on
    /// what nobody waits for any more.
    fn rest(&self, arm: usize) {
        let cpu = || self.arms[arm].running.cpu().ok().map(|reading| reading.nanos);
        let Some(mut last) = cpu() else { return std::thread::sleep(BLIND_REST) };
        for _ in 0..PATIENCE {
            std::thread::sleep(LOOK);
            let Some(now) = cpu() else { return };
            if now.since(last) <= REST || self.jobs.interrupted.load(Ordering::Relaxed) {
                return;
            }
            last = now;
        }
    }
}

fn lateness(own: &OwnLateness) -> TrialLateness {
    let OwnLateness { times, intervals, excluded } = own;
    TrialLateness { p99_ns: times.quantile(0.99).get(), intervals: *intervals, excluded: *excluded }
}

/// How many requests to prepare: all that may come due, as long as memory is no matter.
fn requests(load: Load, time: Nanos) -> usize {
    match load {
        Load::Closed { .. } => CLOSED_REQUESTS,
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
        assert_eq!(requests(Load::Closed { robots: 1, think: Nanos::ZERO }, Nanos::from_secs(60)), 50_000);
    }
}
