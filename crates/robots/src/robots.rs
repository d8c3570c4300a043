//! Robots as the load generator sees them: a source of requests that is told how each request ends.
//!
//! Measuring side, hot. Connects [`Population`] (requests), [`Judging`] (judgements) and [`Ledger`] (counts), and decides
//! nothing itself. One for each worker.

use crate::judge::{ReceivedReply, ReplyJudgement, RequestKind, RequestOutcome, status_of};
use crate::judging::{Judging, Sending};
use crate::ledger::{Ledger, LedgerEntry};
use crate::population::{Flight, FlightEnd, Population};
use bakeoff_content::{Distribution, ObjectId};
use bakeoff_loadgen::{Continuation, RequestEnd, RequestListener, Reuse, Target};
use bakeoff_units::Nanos;
use bakeoff_workload::{Ask, Source};

/// One worker's robots.
pub struct Robots {
    population: Population,
    ledger: Ledger,
    /// Bytes that all requests have in common.
    common_bytes: u64,
    /// The phase that the ledger was last told of.
    phase: Option<usize>,
    /// The latest moment seen so far.
    now: Nanos,
    judging: Judging,
    on_ended: OnEnded,
    /// Longest wait for replies after the last phase; `None`: as long as requests may take.
    last_replies: Option<Nanos>,
}

/// A request that has ended, as a listener besides the ledger is told of it.
#[derive(Clone, Copy, Debug)]
pub struct FinishedRequest<'a> {
    /// The request.
    pub flight: &'a Flight,
    /// Its outcome, as the ledger records it.
    pub entry: &'a LedgerEntry<'a>,
    /// The robots that sent it.
    pub population: &'a Population,
    /// Its reply, as it came.
    pub reply: &'a ReceivedReply<'a>,
    /// The phase in which it ended and is recorded, as its place in the plan. `None` after the last.
    pub phase: Option<usize>,
    /// The robot that sent it.
    pub robot: u32,
    /// Bytes of the requested object, uncoded.
    pub object_bytes: u64,
}

/// A callback for every request that has ended, besides the ledger.
pub type OnEnded = Option<Box<dyn FnMut(&FinishedRequest<'_>) + Send>>;

impl Robots {
    /// A population whose requests go to `target` and whose accounts are kept in `ledger`, which is fresh.
    pub fn new(population: Population, mut ledger: Ledger, target: &Target) -> Self {
        if let Some(first) = population.schedule().phases().first() {
            ledger.begin_phase(&first.name, Nanos::ZERO);
        }
        Self {
            phase: population.schedule().phase(),
            common_bytes: common_bytes(target),
            judging: Judging::new(population.unix(Nanos::ZERO), population.stamp_words().clone()),
            population,
            ledger,
            now: Nanos::ZERO,
            on_ended: None,
            last_replies: None,
        }
    }

    /// The same before an origin that thinks: what a stored reply's age has in it of its fetch follows from that.
    #[must_use]
    pub fn thinking(mut self, think: Option<Distribution>) -> Self {
        self.judging = self.judging.thinking(think);
        self
    }

    /// The same, but requests without a reply so long after the last phase are cut off. A server that has stopped would
    /// otherwise be waited for once for each request in the queue.
    #[must_use]
    pub const fn waiting_at_most(mut self, last_replies: Nanos) -> Self {
        self.last_replies = Some(last_replies);
        self
    }

    /// The same, with a callback for every request that ends.
    #[must_use]
    pub fn telling(mut self, on_ended: impl FnMut(&FinishedRequest<'_>) + Send + 'static) -> Self {
        self.on_ended = Some(Box::new(on_ended));
        self
    }

    /// The population that makes the requests.
    pub const fn population(&self) -> &Population {
        &self.population
    }

    /// Ends the run, closes the accounts and returns the population.
    pub fn finish(mut self) -> Population {
        self.population.close(self.now);
        self.follow_phases();
        let last = self.population.schedule().ended().last().map(|ended| ended.ended);
        // A run that was cut short has no end of its own.
        let end = if self.population.is_over() { last.unwrap_or(self.now).max(self.now) } else { self.now };
        self.ledger.finish(end);
        self.population
    }

    /// Tells the ledger of phase changes.
    fn follow_phases(&mut self) {
        let schedule = self.population.schedule();
        while self.phase != schedule.phase() {
            let Some(ended) = self.phase.and_then(|phase| schedule.ended().get(phase)) else { return };
            // After the last phase, and after too many errors, nothing begins.
            let next = (ended.phase + 1 < schedule.phases().len()).then_some(ended.phase + 1);
            let begun = |next: &usize| schedule.ended().len() > *next || schedule.phase() == Some(*next);
            self.phase = next.filter(begun);
            let name = self.phase.map_or("", |phase| &schedule.phases()[phase].name);
            self.ledger.begin_phase(name, ended.ended);
        }
    }

    fn see(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        self.population.see(now);
        self.follow_phases();
    }
}

impl Source for Robots {
    fn next(&mut self, robot: usize) -> Option<Ask<'_>> {
        let due = self.population.upcoming(robot)?;
        self.see(due);
        // The population may have nothing left after it has seen this moment.
        let ask = self.population.next(robot)?;
        self.ledger.asked(ask.at);
        Some(ask)
    }

    fn upcoming(&self, robot: usize) -> Option<Nanos> {
        self.population.upcoming(robot)
    }
}

impl RequestListener for Robots {
    fn ended(&mut self, ended: &RequestEnd<'_>) {
        self.see(ended.done);
        let Some(flight) = self.population.flight(ended.ticket).copied() else { return };
        let Some(object) = self.population.object(&flight.name) else { return };
        let came = came(ended);
        let (population, times) = (&self.population, Sending { sent: ended.sent, done: ended.done });
        let judged = self
            .judging
            .judge(population.model(), (&flight, &object), times, &came, |stamp| population.has_sent(stamp));
        let refreshed = self.judging.refreshed(flight.stamp, &judged);
        let entry = LedgerEntry {
            judged,
            status: came.status,
            due: ended.due,
            sent: ended.sent,
            first_byte: ended.first_byte,
            done: ended.done,
            request_bytes: self.common_bytes + flight.words_bytes + posted_bytes(&flight),
            reply_bytes: ended.result.map_or(0, |reply| reply.head_bytes + reply.body_bytes),
            reused: ended.reused,
            resent: ended.resent,
            refreshed,
            id: self.judging.id(),
            head: ended.head,
        };
        self.ledger.ended(&entry, || self.population.request_text(&flight));
        if judged.failed() && self.phase != Some(flight.phase) {
            self.ledger.failed_late(&self.population.schedule().phases()[flight.phase].name);
        }
        if let Some(on_ended) = &mut self.on_ended {
            let (phase, robot, object_bytes) = (self.phase, ended.robot, object.size);
            on_ended(&FinishedRequest {
                flight: &flight,
                entry: &entry,
                population: &self.population,
                reply: &came,
                phase,
                robot,
                object_bytes,
            });
        }
        let page = self.population.finish(ended.ticket, ended.done, outcome(&judged, &entry));
        // In the phase in which it ended, as its last request is: this may have ended the phase.
        if let Some(page) = page {
            self.ledger.page_ended(page.failed, page.objects, ended.done.since(page.begun));
        }
        self.follow_phases();
    }

    fn headed(&mut self, ticket: u32, head: &[u8]) -> Option<ObjectId> {
        self.population.came(ticket, head)
    }

    fn sending(&mut self, ticket: u32, now: Nanos) -> Option<&[u8]> {
        self.population.rewrite(ticket, now)
    }

    fn course(&mut self, now: Nanos) -> Continuation {
        self.see(now);
        self.ledger.tick(now);
        let over = self.last_replies.zip(self.population.over_since());
        if over.is_some_and(|(patience, since)| now > since + patience) {
            Continuation::Stop
        } else {
            Continuation::GoOn
        }
    }
}

/// The parts of a judgement on which the next request depends.
fn outcome(judged: &ReplyJudgement, entry: &LedgerEntry<'_>) -> FlightEnd {
    let good = judged.outcome == RequestOutcome::Good;
    FlightEnd {
        failed: judged.failed(),
        whole: good && entry.status == Some(200) && has_the_object(judged.kind),
        fill_bytes: if good && judged.fill() { entry.reply_bytes } else { 0 },
    }
}

/// Whether a reply of status 200 is the object, so that what it embeds can be asked for.
const fn has_the_object(kind: RequestKind) -> bool {
    !matches!(kind, RequestKind::Head | RequestKind::Post | RequestKind::Abort)
}

fn came<'a>(ended: &RequestEnd<'a>) -> ReceivedReply<'a> {
    match ended.result {
        Ok(reply) => ReceivedReply {
            status: Some(reply.status),
            head: reply.head,
            body_bytes: reply.body_bytes,
            error: None,
        },
        Err(class) => ReceivedReply {
            status: status_of(ended.head),
            head: ended.head,
            body_bytes: 0,
            error: Some(class),
        },
    }
}

/// Bytes that the load generator writes around target and header lines.
fn common_bytes(target: &Target) -> u64 {
    let closes = if target.reuse == Reuse::Never { "Connection: close\r\n".len() } else { 0 };
    let around = "  HTTP/1.1\r\nHost: \r\n\r\n".len();
    (around + target.host.len() + target.headers.len() + closes) as u64
}

/// The additional bytes of a POST: its body, and the line that says how long that is.
fn posted_bytes(flight: &Flight) -> u64 {
    if flight.kind != RequestKind::Post {
        return 0;
    }
    let digits = u64::from(flight.sends.checked_ilog10().unwrap_or(0)) + 1;
    "Content-Length: \r\n".len() as u64 + digits + flight.sends
}
