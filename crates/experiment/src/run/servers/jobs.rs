//! From a slice to jobs for stations: one arm at a time, or all at once.

use super::place::Place;
use crate::plan::{LoadClock, RequestWork};
use crate::run::RunError;
use bakeoff_loadgen::{BodyCheck, Constant, Job, Original, Pace, Pacer, Poisson, Recording};
use bakeoff_meter::{Counters, ErrorClass};
use bakeoff_units::{Nanos, PerSecond};
use bakeoff_workload::{ListSource, Slice, Statuses};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

/// Connections that a server is settled over where the clock has no robots.
const SETTLERS: usize = 8;
/// Longest that an arm is settled.
const SETTLE_WITHIN: Nanos = Nanos::from_secs(60);

/// What all jobs of a run have in common.
#[derive(Clone, Copy)]
pub(super) struct Jobs<'a> {
    pub(super) work: &'a RequestWork,
    pub(super) seed: u64,
    pub(super) refused: Statuses,
    pub(super) interrupted: &'a AtomicBool,
}

impl<'a> Jobs<'a> {
    /// The slice on the plan's clock.
    pub(super) fn as_planned(
        &self,
        slice: &Slice,
        threads: usize,
        check: BodyCheck,
        limit: Nanos,
    ) -> Job<'a, ListSource> {
        match self.work.clock {
            LoadClock::Closed { think, .. } => self.closed(slice, threads, think, check, limit),
            open => {
                let pacers = (0..threads).map(|lane| pacer(open, self.seed, lane, threads)).collect();
                self.open(slice, threads, self.work.connections, pacers, check, limit)
            }
        }
    }

    fn closed(
        &self,
        slice: &Slice,
        threads: usize,
        think: Nanos,
        check: BodyCheck,
        limit: Nanos,
    ) -> Job<'a, ListSource> {
        let sources = slice.by_robot(threads);
        let robots = sources.iter().map(ListSource::robots).collect();
        self.job(
            sources,
            robots,
            Pace::Closed { think, spread: Nanos::ZERO, connections: None },
            check,
            limit,
        )
    }

    fn open(
        &self,
        slice: &Slice,
        threads: usize,
        connections: usize,
        pacers: Vec<Box<dyn Pacer>>,
        check: BodyCheck,
        limit: Nanos,
    ) -> Job<'a, ListSource> {
        self.job(slice.by_request(threads), Vec::new(), Pace::Open { pacers, connections }, check, limit)
    }

    fn job(
        &self,
        sources: Vec<ListSource>,
        robots: Vec<usize>,
        pace: Pace,
        check: BodyCheck,
        limit: Nanos,
    ) -> Job<'a, ListSource> {
        let Jobs { work, refused, interrupted, .. } = *self;
        Job { sources, robots, pace, timeout: work.timeout, until: Some(limit), check, refused, interrupted }
    }

    /// The whole slice at one arm.
    pub(super) fn run(
        &self,
        place: &mut Place,
        slice: &Slice,
        check: BodyCheck,
        limit: Nanos,
    ) -> Result<Recording, RunError> {
        place.running.alive()?;
        let job = self.as_planned(slice, place.station.threads(), check, limit);
        let recording = place.station.run(job).map_err(RunError::Generator)?;
        finished(place, recording)
    }

    /// The whole slice as fast as the arm answers, whatever the clock: replies that do not count,
    /// after a start. Somebody else's server is asked at the plan's pace.
    pub(super) fn settle(&self, place: &mut Place, slice: &Slice) -> Result<(), RunError> {
        place.running.alive()?;
        let threads = place.station.threads();
        let dealt = match self.work.clock {
            LoadClock::Closed { .. } => slice,
            _ => &in_lists(slice, SETTLERS.min(self.work.connections)),
        };
        let is_ours = place.running.guardian_process().is_some();
        let job = if is_ours {
            self.closed(dealt, threads, Nanos::ZERO, BodyCheck::Start, SETTLE_WITHIN)
        } else {
            self.as_planned(slice, threads, BodyCheck::Start, SETTLE_WITHIN)
        };
        let recording = place.station.run(job).map_err(RunError::Generator)?;
        finished(place, recording).map(drop)
    }

    /// A few requests on every connection, in a closed loop whatever the clock, so that the slice
    /// does not begin with set-ups and cold caches.
    pub(super) fn warm(&self, place: &mut Place, slice: &Slice, limit: Nanos) -> Result<(), RunError> {
        let lists: Vec<Vec<u32>> = match self.work.clock {
            LoadClock::Closed { .. } => {
                slice.lists.iter().map(|list| list.iter().copied().take(1).collect()).collect()
            }
            _ => slice.lists[0]
                .iter()
                .take(SETTLERS.min(self.work.connections))
                .map(|&entry| vec![entry])
                .collect(),
        };
        let few = Slice { table: slice.table.clone(), lists: Arc::new(lists), at: Arc::default() };
        let job = self.closed(&few, place.station.threads(), Nanos::ZERO, BodyCheck::Start, limit);
        place.station.run(job).map_err(RunError::Generator)?;
        Ok(())
    }

    /// The slices at all arms at the same time, each at `rate`.
    pub(super) fn duet(
        &self,
        places: &mut [Place],
        slices: &[Slice],
        rate: PerSecond,
        limit: Nanos,
    ) -> Result<Vec<Recording>, RunError> {
        let arms = places.len();
        let recordings: Vec<_> = thread::scope(|scope| {
            let running: Vec<_> = places
                .iter_mut()
                .zip(slices)
                .enumerate()
                .map(|(arm, (place, slice))| {
                    let threads = place.station.threads();
                    // Spread over the gap, so that the arms' requests do not come in one burst.
                    let lanes = threads * arms;
                    let pacers = (0..threads)
                        .map(|lane| -> Box<dyn Pacer> {
                            let share = PerSecond::new(rate.get() * arms as f64).unwrap_or(rate);
                            Box::new(Constant::new(share, lane * arms + arm, lanes))
                        })
                        .collect();
                    let connections = self.work.connections_of(&place.client);
                    let slice = in_one_list(slice);
                    let job = self.open(&slice, threads, connections, pacers, BodyCheck::Start, limit);
                    scope.spawn(move || place.station.run(job))
                })
                .collect();
            let panicked = || Err(std::io::Error::other("a generator thread panicked"));
            running.into_iter().map(|thread| thread.join().unwrap_or_else(|_| panicked())).collect()
        });
        places
            .iter_mut()
            .zip(recordings)
            .map(|(place, recording)| finished(place, recording.map_err(RunError::Generator)?))
            .collect()
    }
}

/// One list, dealt to so many robots.
fn in_lists(slice: &Slice, robots: usize) -> Slice {
    let deal = |robot| slice.lists.iter().flatten().skip(robot).step_by(robots).copied().collect();
    let lists: Vec<Vec<u32>> = (0..robots).map(deal).collect();
    Slice { table: slice.table.clone(), lists: Arc::new(lists), at: Arc::default() }
}

/// The lists of all robots, dealt into one.
fn in_one_list(slice: &Slice) -> Slice {
    let longest = slice.lists.iter().map(Vec::len).max().unwrap_or(0);
    let list = (0..longest).flat_map(|i| slice.lists.iter().filter_map(move |list| list.get(i).copied()));
    Slice { table: slice.table.clone(), lists: Arc::new(vec![list.collect()]), at: Arc::default() }
}

fn finished(place: &mut Place, mut recording: Recording) -> Result<Recording, RunError> {
    recording.counters.handshakes = recording.handshakes.counts();
    place.tls = place.tls.take().or_else(|| recording.tls.clone());
    if recording.gave_up {
        place.running.alive()?;
        return Err(no_replies(&place.name, &recording.counters));
    }
    Ok(recording)
}

pub(super) fn pacer(clock: LoadClock, seed: u64, lane: usize, lanes: usize) -> Box<dyn Pacer> {
    match clock {
        LoadClock::Constant(rate) => Box::new(Constant::new(rate, lane, lanes)),
        LoadClock::Poisson(rate) => Box::new(Poisson::new(rate, seed, lane, lanes)),
        LoadClock::Original { speed } => Box::new(Original::new(speed)),
        LoadClock::Closed { .. } => Box::new(Original::new(1.0)), // a closed loop has no pacer
    }
}

pub(super) fn no_replies(arm: &str, counters: &Counters) -> RunError {
    let errors = &counters.errors;
    let classes =
        errors.iter().map(|(class, count)| format!("{class} {count}")).collect::<Vec<_>>().join(", ");
    let most = errors.iter().max_by_key(|(_, count)| **count).map_or("", |(class, _)| class.as_str());
    let hint = ErrorClass::ALL.into_iter().find(|class| class.as_str() == most).map_or("", ErrorClass::hint);
    RunError::NoReplies { arm: arm.to_owned(), classes, hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_workload::RequestTable;

    #[test]
    fn one_list_holds_every_request_of_every_robot_once() {
        let lists = Arc::new(vec![vec![0, 3, 5], vec![1], vec![2, 4]]);
        let slice = Slice { table: Arc::new(RequestTable::default()), lists, at: Arc::default() };
        assert_eq!(in_one_list(&slice).lists[0], [0, 1, 2, 3, 4, 5]);
    }
}
