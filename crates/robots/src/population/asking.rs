//! Construction of the next request, and the consequences of one that has ended.
//!
//! Measuring side, hot. The private half of [`Population`].

use super::agents;
use super::choose::Chooser;
use super::request_text::{self, RequestText};
use super::stamps::serial;
use super::{Child, EMBEDDED, Flight, Next, PAGES, Page, Population, WANTED};
use crate::judge::{Accepts, RequestKind};
use bakeoff_content::world::Object;
use bakeoff_content::{Body, ObjectId, SplitMix64};
use bakeoff_units::Nanos;
use bakeoff_workload::{Ask, Source};

impl Population {
    pub(super) fn next_up(&self) -> Option<(Nanos, Next)> {
        if self.is_over() {
            return None;
        }
        let child = self.waiting.front().map(|child| (child.due, Next::Child));
        let page = self.launcher.due().map(|due| (due, Next::Page));
        match (child, page) {
            (Some(child), Some(page)) => Some(if page.0 < child.0 { page } else { child }),
            (child, page) => child.or(page),
        }
    }

    /// Asks for a page.
    fn page(&mut self, due: Nanos) -> Option<(u32, Object)> {
        let nth = self.setting.worker.number(self.tally.pages + 1) - 1;
        let random = SplitMix64::for_purpose(self.setting.seed ^ PAGES, nth);
        let chooser = Chooser::new(&self.spec, &self.model, &self.setting, &self.schedule, due);
        let (choice, lacked) = chooser.page(&mut self.set, nth, random)?;
        let robot = self.launcher.launch(&self.schedule).unwrap_or(choice.robot);
        self.tally.pages += 1;
        self.tally.lacked += u64::from(lacked);
        let page = self.pages.insert(Page { begun: due, objects: 1, failed: false, robot, pending: 1 });
        let flight = Flight {
            stamp: self.stamps.of(serial(nth, None)),
            name: choice.object.name,
            kind: choice.kind,
            repeat: choice.repeat,
            embedded: false,
            accepts: self.accepts(robot, choice.kind),
            phase: self.schedule.phase()?,
            due,
            written: due.max(self.now),
            words_bytes: 0,
            sends: choice.sends,
            nth,
            page,
        };
        Some((self.flights.insert(flight), choice.object))
    }

    /// Asks for the embedded object whose turn it is.
    fn child(&mut self) -> Option<(u32, Object)> {
        let child = self.waiting.pop_front()?;
        let chooser = Chooser::new(&self.spec, &self.model, &self.setting, &self.schedule, child.due);
        let random = SplitMix64::for_purpose(self.setting.seed ^ EMBEDDED, child.serial);
        let (object, kind) = chooser.embedded(&child.name, child.asked, random)?;
        self.launcher.give_way(&self.schedule);
        let robot = self.pages.get(child.page)?.robot;
        let flight = Flight {
            stamp: self.stamps.of(child.serial),
            name: child.name,
            kind,
            repeat: child.repeat,
            embedded: true,
            accepts: self.accepts(robot, kind),
            phase: self.schedule.phase()?,
            due: child.due,
            written: child.due.max(self.now),
            words_bytes: 0,
            sends: 0,
            nth: 0,
            page: child.page,
        };
        Some((self.flights.insert(flight), object))
    }

    /// The content codings that this robot accepts for this kind of request. Where some accept gzip the others say that
    /// they do not: a request without the header accepts anything.
    fn accepts(&self, robot: u32, kind: RequestKind) -> Accepts {
        let share = self.spec.accept_gzip;
        let number = self.setting.worker.number(u64::from(robot) + 1);
        match share.get() > 0.0 {
            false => Accepts::Anything,
            true if agents::wants_gzip(kind) && agents::accepts_gzip(share, self.setting.seed, number) => {
                Accepts::Gzip
            }
            true => Accepts::Identity,
        }
    }

    /// Queues the embedded objects of a page whose own object has come.
    pub(super) fn embed(&mut self, flight: &Flight, done: Nanos) {
        let Some(object) = self.model.object(&flight.name) else { return };
        let Some(page) = self.pages.get_mut(flight.page) else { return };
        for (index, name) in object.embedded().enumerate() {
            let wanted = SplitMix64::for_purpose(name.object_id().get(), WANTED).unit();
            if wanted >= self.spec.embedded.get() {
                continue;
            }
            (page.objects, page.pending) = (page.objects + 1, page.pending + 1);
            let serial = serial(flight.nth, Some(index as u64));
            let (page, repeat, asked) = (flight.page, flight.repeat, flight.kind);
            self.waiting.push_back(Child { name, due: done, page, repeat, asked, serial });
        }
    }

    /// A request of a page is over.
    pub(super) fn leave_page(&mut self, index: u32, done: Nanos, failed: bool) -> Option<Page> {
        let page = self.pages.get_mut(index)?;
        page.pending -= 1;
        page.failed |= failed;
        if page.pending > 0 {
            return None;
        }
        let page = self.pages.remove(index)?;
        self.launcher.page_over(page.robot, done, page.failed, &self.schedule);
        Some(page)
    }
}

/// Purpose of the random bits of where a reply is broken off.
const ABORT: u64 = 0xAB07;

impl Source for Population {
    fn next(&mut self, _robot: usize) -> Option<Ask<'_>> {
        let (due, next) = self.next_up()?;
        self.see(due);
        if self.is_over() {
            return None;
        }
        let (index, object) = match next {
            Next::Page => self.page(due)?,
            Next::Child => self.child()?,
        };
        let unix_secs = self.unix(due.max(self.now)).whole_secs();
        let flight = self.flights.get_mut(index)?;
        let names = (&*self.model, &self.setting.form, &self.stamp_words);
        self.words.write(&object, flight, names, unix_secs);
        flight.words_bytes = self.words.bytes(flight.kind);
        let flight = *flight;
        let robot = self.pages.get(flight.page)?.robot;
        let body = object.body(object.at(unix_secs).number);
        Some(ask(&self.words, body, &flight, index + 1, robot))
    }

    fn upcoming(&self, _robot: usize) -> Option<Nanos> {
        self.next_up().map(|(due, _)| due)
    }
}

fn ask<'a>(words: &'a RequestText, body: Body, flight: &Flight, ticket: u32, robot: u32) -> Ask<'a> {
    let abort = flight.kind == RequestKind::Abort;
    Ask {
        method: request_text::method(flight.kind),
        target: &words.target,
        headers: &words.headers,
        expect: request_text::expect(body, flight.kind),
        at: flight.due,
        ticket,
        robot,
        body: (flight.kind == RequestKind::Post).then(|| posted(flight)),
        stop_after: abort.then(|| stop_after(flight.stamp, body.len())),
    }
}

/// The body of a POST: bytes that follow from its stamp.
pub(super) fn posted(flight: &Flight) -> Body {
    Body::new(ObjectId::of_name(&flight.stamp.to_le_bytes()), flight.sends)
}

/// Anywhere in the body, but not before its first byte.
fn stop_after(stamp: u64, len: u64) -> u64 {
    1 + SplitMix64::for_purpose(stamp, ABORT).below(len)
}
