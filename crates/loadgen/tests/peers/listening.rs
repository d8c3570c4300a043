//! A source with its own clock that keeps the ends of its requests, and the conditions that must hold for them.

use crate::support::{NEVER, Peer};
use bakeoff_content::ObjectId;
use bakeoff_loadgen::{
    BodyCheck, Continuation, Pace, Recording, RequestEnd, RequestListener, Station, StationJob, Target,
};
use bakeoff_meter::ErrorClass;
use bakeoff_units::Nanos;
use bakeoff_workload::{Ask, Request, Source, Statuses};
use std::collections::BTreeSet;

pub(crate) const MS: fn(u64) -> Nanos = Nanos::from_millis;

/// The end of one request.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) robot: u32,
    pub(crate) ticket: u32,
    pub(crate) due: Nanos,
    pub(crate) sent: Nanos,
    pub(crate) done: Nanos,
    /// Status and bytes of the body.
    pub(crate) result: Result<(u16, u64), ErrorClass>,
    pub(crate) reused: bool,
    pub(crate) head: String,
}

/// See the module. Its tickets are the places of its requests, from 1 on.
#[derive(Default)]
pub(crate) struct Planned {
    requests: Vec<(Request, u32)>,
    /// When each request is due that was not given yet.
    due: BTreeSet<(Nanos, u32)>,
    pub(crate) told: Vec<Told>,
    /// Called for each end: may plan more.
    pub(crate) answer: Option<Box<Answer>>,
    /// The object of which a head says that its bytes follow.
    pub(crate) headed: Option<fn(&str) -> Option<ObjectId>>,
    /// New header lines for requests that have waited for a connection.
    pub(crate) anew: Option<&'static [u8]>,
    /// Called with the time.
    pub(crate) course: Option<Box<dyn FnMut(Nanos) -> Continuation + Send>>,
}

pub(crate) type Answer = dyn FnMut(&Told) -> Vec<(Nanos, u32, Request)> + Send;

impl Planned {
    /// These requests of these robots at these times.
    pub(crate) fn of(plan: impl IntoIterator<Item = (Nanos, u32, Request)>) -> Self {
        let mut planned = Self::default();
        plan.into_iter().for_each(|(at, robot, request)| planned.add(at, robot, request));
        planned
    }

    fn add(&mut self, at: Nanos, robot: u32, request: Request) {
        self.requests.push((request, robot));
        self.due.insert((at, self.requests.len() as u32));
    }

    /// Number of requests given.
    pub(crate) fn given(&self) -> usize {
        self.requests.len() - self.due.len()
    }

    /// The ends of a robot's requests, in their order.
    pub(crate) fn of_robot(&self, robot: u32) -> Vec<&Told> {
        let mut told: Vec<_> = self.told.iter().filter(|told| told.robot == robot).collect();
        told.sort_by_key(|told| told.ticket);
        told
    }
}

impl Source for Planned {
    /// In a closed loop each robot has its own requests, and their times are of no account.
    fn next(&mut self, robot: usize) -> Option<Ask<'_>> {
        let closed = robot > 0;
        let mine = |ticket: u32| self.requests[ticket as usize - 1].1 as usize == robot;
        let entry = *self.due.iter().find(|(_, ticket)| !closed || mine(*ticket))?;
        self.due.remove(&entry);
        let (at, ticket) = entry;
        let (request, robot) = &self.requests[ticket as usize - 1];
        let Request { method, target, headers, expect } = request;
        Some(Ask {
            method: *method,
            target,
            headers,
            expect: *expect,
            at,
            ticket,
            robot: *robot,
            ..Ask::default()
        })
    }

    fn upcoming(&self, _robot: usize) -> Option<Nanos> {
        self.due.first().map(|(at, _)| *at)
    }
}

impl RequestListener for Planned {
    fn ended(&mut self, ended: &RequestEnd<'_>) {
        let told = Told {
            robot: ended.robot,
            ticket: ended.ticket,
            due: ended.due,
            sent: ended.sent,
            done: ended.done,
            result: ended.result.map(|reply| (reply.status, reply.body_bytes)),
            reused: ended.reused,
            head: String::from_utf8_lossy(ended.head).into_owned(),
        };
        assert!(ended.due <= ended.sent && ended.sent <= ended.first_byte, "{told:?}");
        assert!(ended.first_byte <= ended.done, "{told:?}");
        if let Ok(reply) = ended.result {
            assert_eq!((reply.head, reply.head_bytes), (ended.head, ended.head.len() as u64));
        }
        let more = self.answer.as_mut().map_or_else(Vec::new, |answer| answer(&told));
        more.into_iter().for_each(|(at, robot, request)| self.add(at, robot, request));
        self.told.push(told);
    }

    fn headed(&mut self, ticket: u32, head: &[u8]) -> Option<ObjectId> {
        assert!(self.requests.len() >= ticket as usize && head.ends_with(b"\r\n\r\n"));
        self.headed.and_then(|headed| headed(&String::from_utf8_lossy(head)))
    }

    fn sending(&mut self, ticket: u32, now: Nanos) -> Option<&[u8]> {
        let (request, _) = &self.requests[ticket as usize - 1];
        assert!(request.target.starts_with(b"/") && now > Nanos::ZERO);
        self.anew
    }

    fn course(&mut self, now: Nanos) -> Continuation {
        self.course.as_mut().map_or(Continuation::GoOn, |course| course(now))
    }
}

/// A job of one thread.
pub(crate) fn heard(source: Planned, pace: Pace) -> StationJob<'static, Planned> {
    StationJob {
        sources: vec![source],
        robots: Vec::new(),
        pace,
        begins: None,
        timeout: Nanos::from_secs(60),
        until: None,
        check: BodyCheck::Full,
        refused: Statuses::default(),
        interrupted: &NEVER,
    }
}

/// Runs a job; the ends must match what is recorded, class by class, and each request once.
pub(crate) fn hear(station: &mut Station, job: StationJob<'_, Planned>) -> (Recording, Vec<Planned>) {
    let (recording, sources) = station.run_heard(job).unwrap();
    let counters = &recording.counters;
    for source in &sources {
        let tickets: BTreeSet<u32> = source.told.iter().map(|told| told.ticket).collect();
        assert_eq!((tickets.len(), source.told.len()), (source.given(), source.given()), "{counters:?}");
    }
    let results = || sources.iter().flat_map(|source| &source.told).map(|told| told.result);
    assert_eq!(results().count() as u64, counters.requests);
    assert_eq!(results().filter(Result::is_ok).count() as u64, counters.replies);
    for class in ErrorClass::ALL {
        let told = results().filter(|result| *result == Err(class)).count() as u64;
        assert_eq!(told, counters.errors.get(class.as_str()).copied().unwrap_or(0), "{class:?}");
    }
    assert_eq!(counters.requests, counters.replies + counters.error_count());
    (recording, sources)
}

/// The same with one source towards a station of one thread.
pub(crate) fn hear_one(peer: &Peer, job: StationJob<'_, Planned>) -> (Recording, Planned) {
    hear_at(peer.target(), job)
}

/// The same with a target of one's own.
pub(crate) fn hear_at(target: Target, job: StationJob<'_, Planned>) -> (Recording, Planned) {
    let mut station = Station::new(target, 1, Vec::new()).unwrap();
    let (recording, mut sources) = hear(&mut station, job);
    (recording, sources.pop().unwrap())
}
