//! Jobs for stations, made from a slice: one arm at a time, or all at once, each in an order of its own.

use super::arm::ServerArm;
use super::hits::Numbered;
use crate::run::RunError;
use crate::run::bench::Part;
use bakeoff_content::SplitMix64;
use bakeoff_loadgen::{
    BodyCheck, Bursts, Constant, Original, Pace, Pacer, Poisson, Recording, Slots, Slotted, StationJob,
};
use bakeoff_meter::{ErrorClass, SliceCounters};
use bakeoff_plan::{BurstClock, LoadClock, RequestWork};
use bakeoff_results::SlotsSetup;
use bakeoff_units::{Nanos, PerSecond};
use bakeoff_workload::{ListSource, Slice, Statuses};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Connections that settle a server if the clock has no robots.
const SETTLERS: usize = 8;
/// Time until the threads of all arms are ready: then the slots of a duet begin.
const DUET_BEGINS_AFTER: Duration = Duration::from_millis(3);
/// Seed purpose of orders of arms' own.
const OWN_ORDER: u64 = 0x0da7;
/// Longest that an arm is settled.
const SETTLE_WITHIN: Nanos = Nanos::from_secs(60);
/// Longest that a store is filled.
const FILL_WITHIN: Nanos = Nanos::from_secs(600);

/// Data common to all jobs of a run.
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
    ) -> StationJob<'a, ListSource> {
        match self.work.clock {
            LoadClock::Closed { think, .. } => self.closed(slice, threads, think, check, limit),
            open => {
                let pacers = (0..threads).map(|worker| pacer(open, self.seed, worker, threads)).collect();
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
    ) -> StationJob<'a, ListSource> {
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
    ) -> StationJob<'a, ListSource> {
        self.job(slice.by_request(threads), Vec::new(), Pace::Open { pacers, connections }, check, limit)
    }

    pub(super) fn job<S>(
        &self,
        sources: Vec<S>,
        robots: Vec<usize>,
        pace: Pace,
        check: BodyCheck,
        limit: Nanos,
    ) -> StationJob<'a, S> {
        let Jobs { work, refused, interrupted, .. } = *self;
        let begins = None;
        let until = Some(limit);
        StationJob {
            sources,
            robots,
            pace,
            begins,
            timeout: work.timeout,
            until,
            check,
            refused,
            interrupted,
        }
    }

    /// The whole slice at one arm.
    pub(super) fn run(
        &self,
        place: &mut ServerArm,
        slice: &Slice,
        check: BodyCheck,
        limit: Nanos,
    ) -> Result<Recording, RunError> {
        place.running.alive()?;
        let job = self.as_planned(slice, place.station.threads(), check, limit);
        let recording = ask(place, job)?;
        finished(place, recording)
    }

    /// Robots that settle a server of ours, for any clock.
    pub(super) fn settlers(&self) -> usize {
        self.work.clock.robots().unwrap_or(SETTLERS.min(self.work.connections))
    }

    /// Requests everything once, so that a store holds it: replies that do not count.
    pub(super) fn fill(&self, place: &mut ServerArm, pass: &Slice) -> Result<(), RunError> {
        let job = self.closed(pass, place.station.threads(), Nanos::ZERO, BodyCheck::Start, FILL_WITHIN);
        let behind = |place: &ServerArm| place.running.server().cpu().ok().map(|reading| reading.nanos);
        let before = behind(place);
        let recording = ask(place, job)?;
        if before.is_some() && behind(place) == before {
            return Err(RunError::NeverAsked { arm: place.name.clone() });
        }
        let recording = finished(place, recording)?;
        let asked = recording.counters.requests;
        if asked < pass.len() as u64 && !self.interrupted.load(Ordering::Relaxed) {
            return Err(RunError::NotFilled {
                arm: place.name.clone(),
                asked,
                of: pass.len() as u64,
                within: FILL_WITHIN,
            });
        }
        Ok(())
    }

    /// The whole slice as fast as the arm answers, for any clock: replies that do not count, after a start. A server
    /// that bakeoff did not start is asked at the plan's pace.
    pub(super) fn settle(&self, place: &mut ServerArm, slice: &Slice) -> Result<(), RunError> {
        place.running.alive()?;
        let threads = place.station.threads();
        let dealt = match self.work.clock {
            LoadClock::Closed { .. } => slice,
            _ => &in_lists(slice, self.settlers()),
        };
        let is_ours = place.running.supervisor_process().is_some();
        let job = if is_ours {
            self.closed(dealt, threads, Nanos::ZERO, BodyCheck::Start, SETTLE_WITHIN)
        } else {
            self.as_planned(slice, threads, BodyCheck::Start, SETTLE_WITHIN)
        };
        let recording = ask(place, job)?;
        finished(place, recording).map(drop)
    }

    /// A few requests on every connection, in a closed loop for any clock, so that the slice does not begin with
    /// set-ups and cold caches.
    pub(super) fn warm(&self, place: &mut ServerArm, slice: &Slice, limit: Nanos) -> Result<(), RunError> {
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
        ask(place, job).map(drop)
    }

    /// As fast as one arm answers: the replies of a closed loop, for any clock.
    pub(super) fn at_full_speed(
        &self,
        place: &mut ServerArm,
        slice: &Slice,
        limit: Nanos,
    ) -> Result<Recording, RunError> {
        place.running.alive()?;
        let threads = place.station.threads();
        let dealt = match self.work.clock {
            LoadClock::Closed { .. } => slice,
            _ => &in_lists(slice, self.settlers()),
        };
        let job = self.closed(dealt, threads, Nanos::ZERO, BodyCheck::Start, limit);
        let recording = ask(place, job)?;
        finished(place, recording)
    }

    /// The voice's requests at one arm, at this rate.
    pub(super) fn at_rate(
        &self,
        place: &mut ServerArm,
        voice: &Voice,
        rate: PerSecond,
        limit: Nanos,
    ) -> Result<Recording, RunError> {
        place.running.alive()?;
        let pacers = arrivals(voice, rate, place.station.threads())
            .map(|own| -> Box<dyn Pacer> { Box::new(own) })
            .collect();
        let connections = self.work.connections_of(&place.client);
        let threads = place.station.threads();
        let job = self.open(&voice.slice, threads, connections, pacers, BodyCheck::Start, limit);
        let recording = ask(place, job)?;
        finished(place, recording)
    }

    /// These arms in one slice, each at `rate` in slots of its own; threads are begun in the order of `begin`.
    ///
    /// No arm is asked while another one is: loaded at once, each would be charged for the packets and the wake-ups of
    /// the others, which come while it runs. A slot is so short that a typical disturbance of the machine lasts longer,
    /// and hits all arms. Each arm's requests come in an order and at moments of their own. With the same for all, the
    /// first arm to touch a file would pay for the others, in every round.
    pub(super) fn in_slots(
        &self,
        mut places: Vec<&mut ServerArm>,
        voices: &[Voice],
        begin: &[usize],
        (rate, slots): (PerSecond, SlotsSetup),
        limit: Nanos,
    ) -> Result<Vec<Recording>, RunError> {
        let (every, gap) = (Nanos::new(slots.every_ns), Nanos::new(slots.gap_ns));
        let seed = voices.first().map_or(0, |voice| voice.order);
        let slots = Slots { of: places.len(), every, gap, seed };
        let begins = Instant::now() + DUET_BEGINS_AFTER;
        let mut recordings: Vec<Option<std::io::Result<NumberedRecording>>> =
            places.iter().map(|_| None).collect();
        let mut waiting: Vec<Option<&mut ServerArm>> =
            places.iter_mut().map(|place| Some(&mut **place)).collect();
        thread::scope(|scope| {
            let mut running = Vec::new();
            for &arm in begin {
                let Some(place) = waiting[arm].take() else { continue };
                let threads = place.station.threads();
                let voice = &voices[arm];
                let pacers = arrivals(voice, rate, threads)
                    .map(|own| -> Box<dyn Pacer> { Box::new(Slotted::new(own, slots, arm)) })
                    .collect();
                let connections = self.work.connections_of(&place.client);
                let job = self.open(&voice.slice, threads, connections, pacers, BodyCheck::Start, limit);
                let job = StationJob { begins: Some(begins), ..job };
                running.push((arm, scope.spawn(move || hear(place, job))));
            }
            let panicked = || Err(std::io::Error::other("a generator thread panicked"));
            for (arm, thread) in running {
                recordings[arm] = Some(thread.join().unwrap_or_else(|_| panicked()));
            }
        });
        let recordings = recordings.into_iter().flatten();
        places
            .into_iter()
            .zip(recordings)
            .map(|(place, heard)| {
                let recording = judged(place, heard.map_err(RunError::Generator)?);
                finished(place, recording)
            })
            .collect()
    }
}

/// The recording of a job, and the numbers of its replies if they are watched.
type NumberedRecording = (Recording, Vec<Numbered<ListSource>>);

fn hear(place: &mut ServerArm, job: StationJob<'_, ListSource>) -> std::io::Result<NumberedRecording> {
    if place.seen.is_none() {
        return place.station.run(job).map(|recording| (recording, Vec::new()));
    }
    place.station.run_heard(job.with_sources(Numbered::new))
}

/// Judges hits and heads; not while anything is measured: it takes the generator's core.
pub(super) fn judged<S>(
    place: &mut ServerArm,
    (mut recording, noted): (Recording, Vec<Numbered<S>>),
) -> Recording {
    if let Some(seen) = &mut place.seen {
        let (hits, heads) = seen.judge(noted);
        (recording.counters.hits, recording.counters.heads) = (Some(hits), heads);
    }
    recording
}

fn ask(place: &mut ServerArm, job: StationJob<'_, ListSource>) -> Result<Recording, RunError> {
    let heard = hear(place, job).map_err(RunError::Generator)?;
    Ok(judged(place, heard))
}

/// Random moments for the requests of a voice, by generator thread: they end when they do on the mean, so that arms of one
/// rate have that rate exactly.
fn arrivals(voice: &Voice, rate: PerSecond, threads: usize) -> impl Iterator<Item = Poisson> + '_ {
    (0..threads).map(move |worker| {
        let requests = voice.slice.len().saturating_sub(worker).div_ceil(threads.max(1));
        Poisson::new(rate, voice.order, worker, threads).of_exactly(requests)
    })
}

/// The requests of one arm at a rate.
pub(super) struct Voice {
    /// One list, in the arm's own order.
    pub(super) slice: Slice,
    /// Seed of that order and of the arrivals.
    pub(super) order: u64,
}

impl Voice {
    /// A part of it, with arrivals of its own.
    pub(super) fn part(&self, part: Part) -> Self {
        let order = SplitMix64::for_purpose(self.order, u64::from(part.index)).next_u64();
        Self { slice: part_of(&self.slice, part), order }
    }
}

/// Seed of an arm in a round.
pub(super) fn order_seed(seed: u64, round: u64, arm: usize) -> u64 {
    SplitMix64::for_purpose(seed ^ OWN_ORDER ^ (arm as u64).rotate_left(32), round).next_u64()
}

/// All requests of a slice as one list, in random order.
pub(super) fn in_own_order(slice: &Slice, seed: u64) -> Slice {
    let mut list: Vec<u32> = slice.lists.iter().flatten().copied().collect();
    SplitMix64::new(seed).shuffle(&mut list);
    Slice { table: slice.table.clone(), lists: Arc::new(vec![list]), at: Arc::default() }
}

/// All requests of a slice as one list, in the order in which robots would come to them.
pub(super) fn in_one_list(slice: &Slice) -> Slice {
    if slice.lists.len() <= 1 {
        return slice.clone();
    }
    let longest = slice.lists.iter().map(Vec::len).max().unwrap_or(0);
    let in_turn = |place: usize| slice.lists.iter().filter_map(move |list| list.get(place)).copied();
    let list = (0..longest).flat_map(in_turn).collect();
    Slice { table: slice.table.clone(), lists: Arc::new(vec![list]), at: Arc::default() }
}

/// A part of a slice: the stretch of each robot's list that is due.
pub(super) fn part_of(slice: &Slice, part: Part) -> Slice {
    if part.of <= 1 {
        return slice.clone();
    }
    let at = |len: usize, index: u32| (len as u64 * u64::from(index) / u64::from(part.of)) as usize;
    let stretch = |list: &Vec<u32>| list[at(list.len(), part.index)..at(list.len(), part.index + 1)].to_vec();
    Slice {
        table: slice.table.clone(),
        lists: Arc::new(slice.lists.iter().map(stretch).collect()),
        at: Arc::default(),
    }
}

/// One list, dealt to this number of robots.
fn in_lists(slice: &Slice, robots: usize) -> Slice {
    let deal = |robot| slice.lists.iter().flatten().skip(robot).step_by(robots).copied().collect();
    let lists: Vec<Vec<u32>> = (0..robots).map(deal).collect();
    Slice { table: slice.table.clone(), lists: Arc::new(lists), at: Arc::default() }
}

fn finished(place: &mut ServerArm, mut recording: Recording) -> Result<Recording, RunError> {
    recording.counters.handshakes = recording.handshakes.counts();
    place.tls = place.tls.take().or_else(|| recording.tls.clone());
    if recording.gave_up {
        place.running.alive()?;
        return Err(no_replies(&place.name, &recording.counters));
    }
    Ok(recording)
}

pub(super) fn pacer(clock: LoadClock, seed: u64, worker: usize, workers: usize) -> Box<dyn Pacer> {
    match clock {
        LoadClock::Constant(rate) => Box::new(Constant::new(rate, worker, workers)),
        LoadClock::Poisson(rate) => Box::new(Poisson::new(rate, seed, worker, workers)),
        LoadClock::Bursts(BurstClock { least, most, every }) => {
            Box::new(Bursts::new(least..=most, every, seed, worker, workers))
        }
        LoadClock::Original { speed } => Box::new(Original::new(speed)),
        LoadClock::Closed { .. } => Box::new(Original::new(1.0)), // a closed loop has no pacer
    }
}

pub(super) fn no_replies(arm: &str, counters: &SliceCounters) -> RunError {
    if counters.error_count() == 0 {
        return RunError::Unanswered { arm: arm.to_owned(), time: Nanos::new(counters.wall_ns) };
    }
    let most =
        counters.errors.iter().max_by_key(|(_, count)| **count).map_or("", |(class, _)| class.as_str());
    let hint = ErrorClass::ALL.into_iter().find(|class| class.as_str() == most).map_or("", ErrorClass::hint);
    let failures = counters.most_failures().unwrap_or_default();
    RunError::NoReplies { arm: arm.to_owned(), failures, hint, printed: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_workload::RequestTable;

    fn slice(lists: Vec<Vec<u32>>) -> Slice {
        Slice { table: Arc::new(RequestTable::default()), lists: Arc::new(lists), at: Arc::default() }
    }

    #[test]
    fn arms_of_a_duet_get_the_same_requests_in_orders_of_their_own() {
        let slice = slice(vec![(0..40).collect(), (40..60).collect()]);
        let order = |arm| in_own_order(&slice, order_seed(7, 3, arm)).lists[0].clone();
        let (one, other) = (order(0), order(1));
        assert_ne!(one, other);
        assert_eq!(one, order(0), "the same as often as it is asked");
        for mut list in [one, other] {
            list.sort_unstable();
            assert_eq!(list, (0..60).collect::<Vec<u32>>());
        }
        assert_ne!(order_seed(7, 3, 0), order_seed(7, 4, 0));
    }

    #[test]
    fn parts_of_a_slice_hold_each_request_once() {
        let whole = slice(vec![(0..10).collect(), vec![10, 11], vec![]]);
        let parts: Vec<Slice> = (0..4).map(|index| part_of(&whole, Part { index, of: 4 })).collect();
        let lengths: Vec<usize> = parts.iter().map(Slice::len).collect();
        assert_eq!(lengths, [2, 4, 2, 4]);
        let robots: Vec<u32> = parts.iter().flat_map(|part| part.lists[0].clone()).collect();
        assert_eq!(robots, whole.lists[0], "each robot goes on where it was");
        assert_eq!(part_of(&whole, Part { index: 0, of: 1 }).lists, whole.lists);
    }

    #[test]
    fn an_arm_without_a_reply_is_said_to_have_failed_only_if_it_failed() {
        let mut counters = SliceCounters { wall_ns: 20_000_000, ..SliceCounters::default() };
        let said = no_replies("a", &counters).to_string();
        assert!(said.starts_with("a: no reply came within 20 ms, all that the budget leaves"), "{said}");
        counters.errors.insert(ErrorClass::Timeout.as_str().to_owned(), 3);
        let said = no_replies("a", &counters).to_string();
        assert!(said.starts_with("a: nothing but failures came back, most by timeout"), "{said}");
    }
}
