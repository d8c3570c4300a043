//! Robot population: the source of requests of one worker, after Web Polygraph's robots.
//!
//! Measuring side, hot. One [`Population`] is the source of one worker of the load generator. At a rate it is an open
//! loop: moments follow from the plan and the seed. Embedded objects are requested when their page is complete, each in
//! the place of a later page, so that the rate is that of all requests. Judges nothing: the caller, which gets the
//! replies, reports the end of each request ([`Population::finish`]).
//!
//! With the same seed and world the n-th page is the same request, whatever replies do, as long as nothing
//! it depends on follows from replies. These do: when a phase ends by requests, fill or errors, and so the
//! factors of later requests; when a working set freezes by objects; which pages make way for embedded
//! objects, and so when the n-th page is due. Without a rate replies decide when anything is asked.

mod agents;
mod asking;
mod choose;
mod flights;
mod launcher;
mod request_text;
mod stamps;
#[cfg(test)]
mod tests;
mod worker;

pub use flights::{Flight, Page};
pub use request_text::TargetForm;
pub use worker::Worker;

use crate::judge::{RequestKind, stamp_of};
use crate::phases::{FillGate, Finished, PartsGate, Schedule};
use crate::spec::Spec;
use crate::working_set::WorkingSet;
use bakeoff_content::ObjectId;
use bakeoff_content::world::{Model, Object, ObjectName};
use bakeoff_units::Nanos;
use bakeoff_wire::stamp::Words;
use flights::Slab;
use launcher::Launcher;
use request_text::RequestText;
use stamps::Stamps;
use std::collections::VecDeque;
use std::sync::Arc;

/// Purposes of random bits.
const PAGES: u64 = 0x9A6E;
const EMBEDDED: u64 = 0xE3BE;
const WANTED: u64 = 0x3A47;

/// Settings of a population besides its plan.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The world: another one for each run, so that no cache knows an object before it was requested.
    pub world: u64,
    /// Seed of the choice and timing of requests.
    pub seed: u64,
    /// The moment at which the run starts, since 1970.
    pub start_unix: Nanos,
    /// The worker: which part of the population this is.
    pub worker: Worker,
    /// The form of object names.
    pub form: TargetForm,
    /// Ends phases that wait to be told.
    pub gate: FillGate,
}

/// The end of a request, as far as it changes later requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlightEnd {
    /// Whether it was an error.
    pub failed: bool,
    /// The whole object came back (status 200, a body): what it embeds can be asked for.
    pub whole: bool,
    /// Bytes that went into a cache: of basic, cachable replies that were no hits. Else 0.
    pub fill_bytes: u64,
}

/// Counts of pages, and of those that could not be asked as planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageCounts {
    /// Pages asked for.
    pub pages: u64,
    /// Pages that should have repeated one of a server and kind of which there was none yet.
    pub lacked: u64,
}

/// Robots of one worker.
#[derive(Clone, Debug)]
pub struct Population {
    spec: Arc<Spec>,
    model: Arc<Model>,
    setting: Setting,
    stamps: Stamps,
    schedule: Schedule,
    set: WorkingSet,
    launcher: Launcher,
    /// Embedded objects to be requested, the earliest first.
    waiting: VecDeque<Child>,
    flights: Slab<Flight>,
    pages: Slab<Page>,
    tally: PageCounts,
    words: RequestText,
    stamp_words: Words,
    /// The latest moment seen so far.
    now: Nanos,
}

/// An embedded object that is to be requested.
#[derive(Clone, Copy, Debug)]
struct Child {
    name: ObjectName,
    due: Nanos,
    page: u32,
    repeat: bool,
    /// The kind of its page's request.
    asked: RequestKind,
    /// Its page's number and its own in it, as one: see [`stamps::serial`].
    serial: u64,
}

/// The next kind of request to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Page,
    Child,
}

impl Population {
    /// Robots that have sent no request yet.
    pub fn new(spec: Arc<Spec>, model: Arc<Model>, setting: Setting) -> Self {
        let schedule = Schedule::new(spec.phases.clone(), setting.worker, setting.gate.clone());
        let set = WorkingSet::new(spec.servers.get(), model.kinds().len(), setting.worker, spec.working_set);
        let launcher = Launcher::new(&spec, setting.worker, setting.seed, &schedule);
        let stamp_words = model.further_names().map_or_else(Words::default, Words::drawn);
        Self {
            stamps: Stamps::new(setting.world, setting.start_unix),
            spec,
            model,
            setting,
            schedule,
            set,
            launcher,
            waiting: VecDeque::new(),
            flights: Slab::new(),
            pages: Slab::new(),
            tally: PageCounts::default(),
            words: RequestText::default(),
            stamp_words,
            now: Nanos::ZERO,
        }
    }

    /// The same as one of several parts of a run, which wait for each other at the end of a phase.
    #[must_use]
    pub fn agreeing(self, parts: PartsGate) -> Self {
        Self { schedule: self.schedule.agreeing(parts), ..self }
    }

    /// The request with this ticket, while it is in flight.
    pub fn flight(&self, ticket: u32) -> Option<&Flight> {
        self.flights.get(ticket.checked_sub(1)?)
    }

    /// Whether these robots have sent the request with this stamp. Cheap, and nothing is remembered for it.
    pub fn has_sent(&self, stamp: u64) -> bool {
        let pages = self.tally.pages;
        pages > 0 && self.stamps.is_within(stamp, self.setting.worker.number(pages))
    }

    /// The object of a name of this population's worlds.
    pub fn object(&self, name: &ObjectName) -> Option<Object> {
        self.model.object(name)
    }

    /// Notes the end of a request; returns its page, if that is over, too.
    pub fn finish(&mut self, ticket: u32, done: Nanos, outcome: FlightEnd) -> Option<Page> {
        let flight = self.flights.remove(ticket.checked_sub(1)?)?;
        if outcome.fill_bytes > 0 {
            self.set.fill();
        }
        if outcome.whole && !flight.embedded && !self.is_over() {
            self.embed(&flight, done);
        }
        let FlightEnd { failed, fill_bytes, .. } = outcome;
        self.schedule.note(Finished { failed, fill_bytes });
        let page = self.leave_page(flight.page, done, failed);
        self.see(done);
        page
    }

    /// Advances the time: phases may end that nothing else would end. Cheap.
    pub fn see(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        self.set.tick(now);
        if self.set.is_frozen() {
            self.schedule.set_frozen();
        }
        while let Some(at) = self.schedule.end_by(now) {
            self.launcher.before_change(at, &self.schedule);
            self.schedule.advance(now);
            self.launcher.after_change(at, &self.schedule);
        }
    }

    /// Notes that nothing is in flight any more. If nothing is to come either, the rest of the phases passes as
    /// planned, from this moment on; a phase that the clock alone does not end stays open.
    pub fn close(&mut self, now: Nanos) {
        self.see(now);
        while self.next_up().is_none()
            && self.flights.len() == 0
            && let Some(at) = self.schedule.planned(self.set.freezes_at())
        {
            self.see(at);
        }
    }

    /// The text of a request, without what the load generator adds. Cold: for examples.
    pub fn request_text(&self, flight: &Flight) -> Vec<u8> {
        let Some(object) = self.model.object(&flight.name) else { return Vec::new() };
        let unix_secs = self.unix(flight.written).whole_secs();
        let mut words = RequestText::default();
        words.write(&object, flight, (&self.model, &self.setting.form, &self.stamp_words), unix_secs);
        words.text(flight.kind)
    }

    /// Writes the header lines anew for a request that has waited for its connection and is sent only now.
    pub fn rewrite(&mut self, ticket: u32, now: Nanos) -> Option<&[u8]> {
        let unix_secs = self.unix(now).whole_secs();
        let flight = self.flights.get_mut(ticket.checked_sub(1)?)?;
        flight.written = now;
        let object = self.model.object(&flight.name)?;
        let names = (&*self.model, &self.setting.form, &self.stamp_words);
        self.words.write(&object, flight, names, unix_secs);
        Some(&self.words.headers)
    }

    /// The id of the bytes that a reply must hold, by the version in its head. `None`: as was expected.
    pub(crate) fn came(&self, ticket: u32, head: &[u8]) -> Option<ObjectId> {
        let flight = self.flight(ticket)?;
        let stamp = stamp_of(head, flight.stamp, &self.stamp_words)?;
        Some(flight.name.version_id(stamp.version))
    }

    /// The words of its stamps.
    pub const fn stamp_words(&self) -> &Words {
        &self.stamp_words
    }

    /// The model of its objects.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The schedule of phases.
    pub const fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The working set: objects requested so far.
    pub const fn working_set(&self) -> &WorkingSet {
        &self.set
    }

    /// Counts of pages, and of those that could not be asked as planned.
    pub const fn tally(&self) -> PageCounts {
        self.tally
    }

    /// A moment of the run, since 1970.
    pub fn unix(&self, moment: Nanos) -> Nanos {
        self.setting.start_unix + moment
    }

    /// Whether all phases are over: nothing more is asked for.
    pub fn is_over(&self) -> bool {
        self.schedule.phase().is_none()
    }

    /// The time since which all phases are over, if they are.
    pub fn over_since(&self) -> Option<Nanos> {
        let last = self.schedule.ended().last().map_or(Nanos::ZERO, |ended| ended.ended);
        self.is_over().then_some(last)
    }
}
