//! Robots as the load generator knows them: a source of requests that hears what becomes of them.
//!
//! Measuring side, hot. Brings together who asks ([`Population`]), who judges ([`judge`]) and who counts
//! ([`Ledger`]), and decides nothing itself. One a lane.

use crate::judge::{
    Asked, BodyBytes, Came, Fault, Faults, Fields, GRACE_SECS, Judged, Known, Outcome as Verdict,
    RequestKind, Truth, judge,
};
use crate::ledger::{Entry, Ledger};
use crate::population::{Flight, Outcome, Page, Population};
use bakeoff_content::world::{Base, Expiry, Object, Version};
use bakeoff_loadgen::{Course, Ended, Listener, Reuse, Target};
use bakeoff_meter::Histogram;
use bakeoff_units::Nanos;
use bakeoff_wire::stamp::Told;
use bakeoff_workload::{Ask, Source};

/// One lane's robots.
pub struct Robots {
    population: Population,
    ledger: Ledger,
    pages: Vec<Pages>,
    /// Bytes that all requests have in common.
    common_bytes: u64,
    /// Whether Expires of a kind moves with the clock.
    moving: Vec<bool>,
    /// The phase that the ledger knows.
    phase: Option<usize>,
    /// The latest moment that was heard of.
    now: Nanos,
    id: Vec<u8>,
    aside: Aside,
}

/// Pages of one phase: those that were complete in it.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// Complete without a failure.
    pub good: u64,
    /// With one.
    pub failed: u64,
    /// Objects of the good ones.
    pub objects: u64,
    /// From the moment a good page's first request was due to its last byte.
    pub response: Histogram,
}

/// Is told of every request when it has ended, besides the ledger.
pub type Aside = Option<Box<dyn FnMut(&Flight, &Entry<'_>) + Send>>;

impl Robots {
    /// A population whose requests go to `target` and whose accounts are kept in `ledger`, which is fresh.
    pub fn new(population: Population, mut ledger: Ledger, target: &Target) -> Self {
        let phases = population.schedule().phases();
        let pages = vec![Pages::default(); phases.len()];
        if let Some(first) = phases.first() {
            ledger.begin_phase(&first.name, Nanos::ZERO);
        }
        let moves = |expiry: &Expiry| expiry.base == Base::Now;
        let kinds = population.model().kinds.iter();
        let moving = kinds.map(|kind| kind.life.as_ref().is_some_and(|life| life.expires.iter().any(moves)));
        Self {
            phase: population.schedule().phase(),
            moving: moving.collect(),
            common_bytes: common_bytes(target),
            population,
            ledger,
            pages,
            now: Nanos::ZERO,
            id: Vec::with_capacity(64),
            aside: None,
        }
    }

    /// The same, and somebody else is told of every request.
    #[must_use]
    pub fn telling(mut self, aside: impl FnMut(&Flight, &Entry<'_>) + Send + 'static) -> Self {
        self.aside = Some(Box::new(aside));
        self
    }

    /// Who asks.
    pub const fn population(&self) -> &Population {
        &self.population
    }

    /// Pages by phase.
    pub fn pages(&self) -> &[Pages] {
        &self.pages
    }

    /// The run is over: closes the accounts. Who asked, and pages by phase.
    pub fn finish(mut self) -> (Population, Vec<Pages>) {
        self.population.close();
        self.follow_phases();
        let last = self.population.schedule().ended().last().map(|ended| ended.ended);
        // A run that was cut short has no end of its own.
        let end = if self.population.is_over() { last.unwrap_or(self.now).max(self.now) } else { self.now };
        self.ledger.finish(end);
        (self.population, self.pages)
    }

    /// Tells the ledger of phases that have changed.
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

    /// What the origin would say of the object.
    fn truth(&self, object: &Object, sent: Nanos, done: Nanos) -> Truth {
        let secs = |moment| self.population.unix(moment).get() / 1_000_000_000;
        let known = |version: Version| Known {
            version: version.number,
            last_modified: version.last_modified,
            expires: version.expires.filter(|_| !self.moving[object.kind]),
            etag: true, // the origin shows one for everything
        };
        Truth {
            body_bytes: object.body.len(),
            cachable: object.cachable,
            at_sent: known(object.at(secs(sent).saturating_sub(GRACE_SECS))),
            at_done: known(object.at(secs(done))),
        }
    }

    fn judged(&self, flight: &Flight, object: &Object, ended: &Ended<'_>) -> Judged {
        let asked = Asked {
            stamp: flight.stamp,
            kind: flight.kind,
            repeat: flight.repeat,
            id: &self.id,
            truth: self.truth(object, ended.sent, ended.done),
            sent_unix: self.population.unix(ended.sent),
            done_unix: self.population.unix(ended.done),
        };
        let mut judged = judge(&asked, &came(ended));
        if judged.faults.has(Fault::FalseHit) && self.was_overtaken(flight.stamp, ended.head) {
            let not_false: Faults = [Fault::FalseHit].into_iter().collect();
            judged.faults = judged.faults.without(not_false);
        }
        judged
    }

    /// Whether the first request for an object was answered with what a later one had fetched: two that are
    /// under way at once may change places, and caches join them. What was validated for the first request may
    /// be either, and is not held against the cache. Cold.
    fn was_overtaken(&self, stamp: u64, head: &[u8]) -> bool {
        let told = Fields::read(head, stamp).stamp.map(|stamp| stamp.told);
        told.is_some_and(|(Told::Made(of) | Told::Valid(of))| self.population.has_sent(of))
    }

    fn note_page(&mut self, page: Page, done: Nanos) {
        let phase = self.population.schedule().phase().unwrap_or(self.pages.len() - 1);
        let pages = &mut self.pages[phase];
        if page.failed {
            pages.failed += 1;
            return;
        }
        pages.good += 1;
        pages.objects += u64::from(page.objects);
        pages.response.record(done.since(page.begun));
    }
}

impl Source for Robots {
    fn next(&mut self, robot: usize) -> Option<Ask<'_>> {
        let due = self.population.upcoming(robot)?;
        self.see(due);
        // The population may have nothing any more, now that it has seen this moment.
        let ask = self.population.next(robot)?;
        self.ledger.asked(ask.at);
        Some(ask)
    }

    fn upcoming(&self, robot: usize) -> Option<Nanos> {
        self.population.upcoming(robot)
    }
}

impl Listener for Robots {
    fn ended(&mut self, ended: &Ended<'_>) {
        self.see(ended.done);
        let Some(flight) = self.population.flight(ended.ticket).copied() else { return };
        let Some(object) = self.population.object(&flight.name) else { return };
        self.id.clear();
        object.name.write_id(&mut self.id);
        let judged = self.judged(&flight, &object, ended);
        let came = came(ended);
        let entry = Entry {
            judged,
            status: came.status,
            due: ended.due,
            sent: ended.sent,
            first_byte: ended.first_byte,
            done: ended.done,
            request_bytes: self.common_bytes + flight.words_bytes + flight.sends,
            reply_bytes: ended.result.map_or(0, |reply| reply.head_bytes + reply.body_bytes),
            reused: ended.reused,
            id: &self.id,
            head: ended.head,
        };
        let population = &self.population;
        self.ledger.ended(&entry, || population.request_text(&flight));
        if let Some(aside) = &mut self.aside {
            aside(&flight, &entry);
        }
        let page = self.population.finish(ended.ticket, ended.done, outcome(&judged, &entry));
        self.follow_phases();
        if let Some(page) = page {
            self.note_page(page, ended.done);
        }
    }

    fn course(&mut self, now: Nanos) -> Course {
        self.see(now);
        self.ledger.tick(now);
        Course::GoOn
    }
}

/// What the next request depends on.
fn outcome(judged: &Judged, entry: &Entry<'_>) -> Outcome {
    let good = judged.outcome == Verdict::Good;
    Outcome {
        failed: !good && judged.outcome != Verdict::Aborted,
        whole: good && entry.status == Some(200) && has_the_object(judged.kind),
        fill_bytes: if good && judged.fill() { entry.reply_bytes } else { 0 },
    }
}

/// Whether a reply of status 200 is the object, so that what it embeds can be asked for.
const fn has_the_object(kind: RequestKind) -> bool {
    !matches!(kind, RequestKind::Head | RequestKind::Post | RequestKind::Abort)
}

fn came<'a>(ended: &Ended<'a>) -> Came<'a> {
    match ended.result {
        Ok(reply) => Came {
            status: Some(reply.status),
            head: reply.head,
            body_bytes: reply.body_bytes,
            body: BodyBytes::Right,
            error: None,
        },
        Err(class) => Came {
            status: crate::judge::status_of(ended.head),
            head: ended.head,
            body_bytes: 0,
            body: BodyBytes::Unchecked,
            error: Some(class),
        },
    }
}

/// What the load generator writes around target and header lines.
fn common_bytes(target: &Target) -> u64 {
    let closes = if target.reuse == Reuse::Never { "Connection: close\r\n".len() } else { 0 };
    let around = "  HTTP/1.1\r\nHost: \r\n\r\n".len();
    (around + target.host.len() + target.headers.len() + closes) as u64
}
