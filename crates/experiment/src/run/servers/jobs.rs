//! Jobs for stations, made from a slice: one arm at a time, or all at once, each in an order of its own.

use super::arm::ServerArm;
use super::hits::{Numbered, ReplyNote};
use super::order::{ArmLoad, Dealt, LoadPace, SlotsOrder, Step};
use crate::run::RunError;
use crate::run::bench::Part;
use bakeoff_content::SplitMix64;
use bakeoff_loadgen::{
    BodyCheck, Bursts, Constant, Lanes, Original, Pace, Pacer, Poisson, Recording, Slots, Slotted, Station,
    StationJob,
};
use bakeoff_meter::{ErrorClass, SliceCounters};
use bakeoff_plan::{BurstClock, ClientPlan, LoadClock, RequestWork};
use bakeoff_results::{PartRecord, SlotsSetup};
use bakeoff_units::{Nanos, PerSecond};
use bakeoff_workload::{ListSource, Slice, Statuses};
use std::io;
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
    /// Lanes of other processes; none: they are this one's own.
    pub(super) elsewhere: Option<&'a dyn LanesElsewhere>,
}

/// Lanes of generators on other hosts.
pub(super) trait LanesElsewhere: Sync {
    /// Loads of several arms at the same time, by all lanes together. After Ctrl-C nothing is asked, and nothing was.
    fn ask(
        &self,
        places: &mut [&mut ServerArm],
        loads: &[ArmLoad],
        extent: (BodyCheck, Nanos),
        interrupted: &AtomicBool,
    ) -> Result<Vec<Heard>, RunError>;
}

impl<'a> Jobs<'a> {
    /// The job of a station's lanes, of a load.
    fn station_job(
        &self,
        slice: &Slice,
        pace: LoadPace,
        client: &ClientPlan,
        lanes: Lanes,
        (check, limit): (BodyCheck, Nanos),
    ) -> StationJob<'a, ListSource> {
        let closed = |think| {
            let sources = lanes.own(slice.by_robot(lanes.of()));
            let robots = sources.iter().map(ListSource::robots).collect();
            let pace = Pace::Closed { think, spread: Nanos::ZERO, connections: None };
            self.job(sources, robots, pace, check, limit)
        };
        let open = |pacer: &dyn Fn(usize) -> Box<dyn Pacer>, connections| {
            let pace = Pace::Open { pacers: lanes.numbers().map(pacer).collect(), connections };
            self.job(lanes.own(slice.by_request(lanes.of())), Vec::new(), pace, check, limit)
        };
        match (pace, self.work.clock) {
            (LoadPace::FullSpeed, _) => closed(Nanos::ZERO),
            (LoadPace::Planned, LoadClock::Closed { think, .. }) => closed(think),
            (LoadPace::Planned, clock) => {
                open(&|lane| pacer(clock, self.seed, lane, lanes.of()), self.work.connections)
            }
            (LoadPace::At { rate_per_s, order, slots }, _) => {
                let rate = PerSecond::new(rate_per_s).unwrap_or(PerSecond::ONE);
                let pacer = |lane| -> Box<dyn Pacer> {
                    let own = arrivals(slice.len(), (rate, order), lane, lanes.of());
                    match slots {
                        None => Box::new(own),
                        Some(SlotsOrder { every_ns, gap_ns, seed, arm, of }) => {
                            let (every, gap) = (Nanos::new(every_ns), Nanos::new(gap_ns));
                            Box::new(Slotted::new(own, Slots { of, every, gap, seed }, arm))
                        }
                    }
                };
                open(&pacer, self.work.connections_of(client))
            }
        }
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

    /// One load at one arm.
    fn ask(
        &self,
        place: &mut ServerArm,
        dealt: &Dealt,
        pace: LoadPace,
        (check, limit): (BodyCheck, Nanos),
    ) -> Result<Heard, RunError> {
        let load = ArmLoad { dealt: dealt.clone(), pace };
        let mut heard = self.ask_all(&mut [place], &[load], &[0], (check, limit))?;
        heard.pop().ok_or_else(|| RunError::Generator(io::Error::other("a load without a recording")))
    }

    /// Loads of several arms at the same time, over the lanes of this process or of other ones. Threads are begun in the
    /// order of `begin`.
    fn ask_all(
        &self,
        places: &mut [&mut ServerArm],
        loads: &[ArmLoad],
        begin: &[usize],
        extent: (BodyCheck, Nanos),
    ) -> Result<Vec<Heard>, RunError> {
        let all: Vec<Heard> = match self.elsewhere {
            Some(elsewhere) => elsewhere.ask(places, loads, extent, self.interrupted)?,
            None => {
                let towards = places.iter_mut().zip(loads).map(|(place, load)| Towards {
                    jobs: *self,
                    slice: &load.dealt.slice,
                    pace: load.pace,
                    client: &place.client,
                    notes: place.seen.is_some(),
                    station: &mut place.station,
                });
                let heard = send(towards.collect(), begin, extent).map_err(RunError::Generator)?;
                heard
                    .into_iter()
                    .map(|(recording, notes)| Heard { recording, notes, parts: Vec::new() })
                    .collect()
            }
        };
        Ok(places.iter_mut().zip(all).map(|(place, heard)| judged(place, heard)).collect())
    }

    /// The whole slice at one arm.
    pub(super) fn run(
        &self,
        place: &mut ServerArm,
        slice: &Dealt,
        check: BodyCheck,
        limit: Nanos,
    ) -> Result<Heard, RunError> {
        place.running.alive()?;
        let heard = self.ask(place, slice, LoadPace::Planned, (check, limit))?;
        finished(place, heard)
    }

    /// Robots that settle a server of ours, for any clock.
    pub(super) fn settlers(&self) -> usize {
        self.work.clock.robots().unwrap_or(SETTLERS.min(self.work.connections))
    }

    /// A slice as a closed loop takes it, for any clock.
    fn looped(&self, slice: &Dealt) -> Dealt {
        match self.work.clock {
            LoadClock::Closed { .. } => slice.clone(),
            _ => slice.then(Step::Lists(self.settlers())),
        }
    }

    /// Requests everything once, so that a store holds it: replies that do not count.
    pub(super) fn fill(&self, place: &mut ServerArm, pass: &Dealt) -> Result<(), RunError> {
        let behind = |place: &ServerArm| place.running.server().cpu().ok().map(|reading| reading.nanos);
        let before = behind(place);
        let heard = self.ask(place, pass, LoadPace::FullSpeed, (BodyCheck::Start, FILL_WITHIN))?;
        if before.is_some() && behind(place) == before {
            return Err(RunError::NeverAsked { arm: place.name.clone() });
        }
        let asked = finished(place, heard)?.recording.counters.requests;
        let of = pass.slice.len() as u64;
        if asked < of && !self.interrupted.load(Ordering::Relaxed) {
            return Err(RunError::NotFilled { arm: place.name.clone(), asked, of, within: FILL_WITHIN });
        }
        Ok(())
    }

    /// The whole slice as fast as the arm answers, for any clock: replies that do not count, after a start. A server
    /// that bakeoff did not start is asked at the plan's pace.
    pub(super) fn settle(&self, place: &mut ServerArm, slice: &Dealt) -> Result<(), RunError> {
        place.running.alive()?;
        let extent = (BodyCheck::Start, SETTLE_WITHIN);
        let heard = match place.running.supervisor_process() {
            Some(_) => self.ask(place, &self.looped(slice), LoadPace::FullSpeed, extent)?,
            None => self.ask(place, slice, LoadPace::Planned, extent)?,
        };
        finished(place, heard).map(drop)
    }

    /// A few requests on every connection, in a closed loop for any clock, so that the slice does not begin with
    /// set-ups and cold caches.
    pub(super) fn warm(&self, place: &mut ServerArm, slice: &Dealt, limit: Nanos) -> Result<(), RunError> {
        let few = match self.work.clock {
            LoadClock::Closed { .. } => Step::Firsts,
            _ => Step::Few(SETTLERS.min(self.work.connections)),
        };
        self.ask(place, &slice.then(few), LoadPace::FullSpeed, (BodyCheck::Start, limit)).map(drop)
    }

    /// As fast as one arm answers: the replies of a closed loop, for any clock.
    pub(super) fn at_full_speed(
        &self,
        place: &mut ServerArm,
        slice: &Dealt,
        limit: Nanos,
    ) -> Result<Heard, RunError> {
        place.running.alive()?;
        let heard = self.ask(place, &self.looped(slice), LoadPace::FullSpeed, (BodyCheck::Start, limit))?;
        finished(place, heard)
    }

    /// The voice's requests at one arm, at this rate.
    pub(super) fn at_rate(
        &self,
        place: &mut ServerArm,
        voice: &Voice,
        rate: PerSecond,
        limit: Nanos,
    ) -> Result<Heard, RunError> {
        place.running.alive()?;
        let pace = LoadPace::At { rate_per_s: rate.get(), order: voice.order, slots: None };
        let heard = self.ask(place, &voice.slice, pace, (BodyCheck::Start, limit))?;
        finished(place, heard)
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
    ) -> Result<Vec<Heard>, RunError> {
        let SlotsSetup { every_ns, gap_ns } = slots;
        let (seed, of) = (voices.first().map_or(0, |voice| voice.order), places.len());
        let load = |(arm, voice): (usize, &Voice)| {
            let slots = Some(SlotsOrder { every_ns, gap_ns, seed, arm, of });
            let pace = LoadPace::At { rate_per_s: rate.get(), order: voice.order, slots };
            ArmLoad { dealt: voice.slice.clone(), pace }
        };
        let loads: Vec<ArmLoad> = voices.iter().enumerate().map(load).collect();
        let all = self.ask_all(&mut places, &loads, begin, (BodyCheck::Start, limit))?;
        places.into_iter().zip(all).map(|(place, heard)| finished(place, heard)).collect()
    }
}

/// A load, and the station that it goes over.
pub(super) struct Towards<'a> {
    pub(super) station: &'a mut Station,
    pub(super) jobs: Jobs<'a>,
    pub(super) slice: &'a Slice,
    pub(super) pace: LoadPace,
    pub(super) client: &'a ClientPlan,
    /// The numbers of replies are noted.
    pub(super) notes: bool,
}

impl Towards<'_> {
    fn send(self, begins: Option<Instant>, extent: (BodyCheck, Nanos)) -> io::Result<NotedRecording> {
        let Self { station, jobs, slice, pace, client, notes } = self;
        let job = jobs.station_job(slice, pace, client, station.lanes(), extent);
        let job = StationJob { begins, ..job };
        if !notes {
            return station.run(job).map(|recording| (recording, Vec::new()));
        }
        let (recording, sources) = station.run_heard(job.with_sources(Numbered::new))?;
        Ok((recording, Numbered::noted(sources)))
    }
}

/// Sends loads at the same time, each over its station: the lanes of this process.
pub(super) fn send(
    mut towards: Vec<Towards<'_>>,
    begin: &[usize],
    extent: (BodyCheck, Nanos),
) -> io::Result<Vec<NotedRecording>> {
    if towards.len() <= 1 {
        return towards.pop().into_iter().map(|alone| alone.send(None, extent)).collect();
    }
    let begins = Some(Instant::now() + DUET_BEGINS_AFTER);
    let mut heard: Vec<Option<io::Result<NotedRecording>>> = towards.iter().map(|_| None).collect();
    let mut waiting: Vec<Option<Towards<'_>>> = towards.into_iter().map(Some).collect();
    thread::scope(|scope| {
        let mut running = Vec::new();
        for &arm in begin {
            let Some(towards) = waiting.get_mut(arm).and_then(Option::take) else { continue };
            running.push((arm, scope.spawn(move || towards.send(begins, extent))));
        }
        let panicked = || Err(io::Error::other("a generator thread panicked"));
        for (arm, thread) in running {
            heard[arm] = Some(thread.join().unwrap_or_else(|_| panicked()));
        }
    });
    heard.into_iter().flatten().collect()
}

/// The recording of a job, and notes of its replies if they are watched.
pub(super) type NotedRecording = (Recording, Vec<ReplyNote>);

/// Outcome of a load, of all lanes together.
pub(super) struct Heard {
    pub(super) recording: Recording,
    pub(super) notes: Vec<ReplyNote>,
    /// The share of each generator on another host.
    pub(super) parts: Vec<PartRecord>,
}

/// Judges hits and heads; not while anything is measured: it takes the generator's core.
pub(super) fn judged(place: &mut ServerArm, mut heard: Heard) -> Heard {
    let notes = std::mem::take(&mut heard.notes);
    if let Some(seen) = &mut place.seen {
        let (hits, heads) = seen.judge(notes);
        (heard.recording.counters.hits, heard.recording.counters.heads) = (Some(hits), heads);
    }
    heard
}

/// Random moments for the requests of a lane: they end when they do on the mean, so that arms of one rate have that rate
/// exactly.
fn arrivals(requests: usize, (rate, order): (PerSecond, u64), lane: usize, of: usize) -> Poisson {
    let own = requests.saturating_sub(lane).div_ceil(of.max(1));
    Poisson::new(rate, order, lane, of).of_exactly(own)
}

/// The requests of one arm at a rate.
pub(super) struct Voice {
    /// One list, in the arm's own order.
    pub(super) slice: Dealt,
    /// Seed of that order and of the arrivals.
    pub(super) order: u64,
}

impl Voice {
    /// A part of it, with arrivals of its own.
    pub(super) fn part(&self, part: Part) -> Self {
        let order = SplitMix64::for_purpose(self.order, u64::from(part.index)).next_u64();
        Self { slice: self.slice.then(part.step()), order }
    }
}

impl Part {
    pub(super) const fn step(self) -> Step {
        Step::Part { index: self.index, of: self.of }
    }
}

/// Seed of an arm in a round.
pub(super) fn order_seed(seed: u64, round: u64, arm: usize) -> u64 {
    SplitMix64::for_purpose(seed ^ OWN_ORDER ^ (arm as u64).rotate_left(32), round).next_u64()
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

fn finished(place: &mut ServerArm, mut heard: Heard) -> Result<Heard, RunError> {
    let recording = &mut heard.recording;
    recording.counters.handshakes = recording.handshakes.counts();
    place.tls = place.tls.take().or_else(|| recording.tls.clone());
    if recording.gave_up {
        place.running.alive()?;
        return Err(no_replies(&place.name, &recording.counters));
    }
    Ok(heard)
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
