//! Choice of the next request: object, kind and robot.
//!
//! Measuring side, hot. Each request has random bits of its own, seeded by its number, and takes them in a fixed order:
//! the draws of one request change no other. Owns the choice; knows no moment, no reply and no text.

use super::{Setting, Worker};
use crate::judge::RequestKind;
use crate::phases::{Factors, Schedule};
use crate::spec::{Spec, Special};
use crate::working_set::WorkingSet;
use bakeoff_content::SplitMix64;
use bakeoff_content::world::{Model, Object, ObjectName};
use bakeoff_units::Nanos;

/// Neighbours on either side in byte-hit discrimination, as in Web Polygraph.
const NEIGHBOURS: u64 = 4;

/// The most that a POST sends, whatever was drawn: it is copied into a connection's buffer. A plan's mean is a
/// sixteenth of that at most.
const LARGEST_POST: u64 = 16 << 20;

/// Bit in the number of a POST's object that is no repeat: nobody asks for it, as it would be a repeat that no cache
/// has seen.
const POSTED: u64 = 1 << 63;

/// The chosen request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) object: Object,
    pub(super) kind: RequestKind,
    pub(super) repeat: bool,
    pub(super) robot: u32,
    /// Bytes that a POST sends.
    pub(super) sends: u64,
}

/// The data on which choices depend.
pub(super) struct Chooser<'a> {
    spec: &'a Spec,
    model: &'a Model,
    world: u64,
    worker: Worker,
    factors: Factors,
    /// Seconds since 1970.
    unix_secs: u64,
}

/// A repeat that could not be made: there was nothing yet of that server and kind.
pub(super) type Lacked = bool;

impl<'a> Chooser<'a> {
    /// For a request that is due at this moment of the run.
    pub(super) fn new(
        spec: &'a Spec,
        model: &'a Model,
        setting: &Setting,
        schedule: &Schedule,
        due: Nanos,
    ) -> Self {
        let Setting { world, worker, start_unix, .. } = *setting;
        let unix_secs = (start_unix + due).whole_secs();
        Self { spec, model, world, worker, factors: schedule.factors(due), unix_secs }
    }

    /// The `nth` request that is asked directly.
    pub(super) fn page(
        &self,
        set: &mut WorkingSet,
        nth: u64,
        mut random: SplitMix64,
    ) -> Option<(Choice, Lacked)> {
        let robot = self.robot(&mut random);
        let server = random.below(u64::from(self.spec.servers.get())) as u16;
        let kind = self.model.draw_kind(&mut random);
        let wanted = random.unit() < self.spec.recurrence.get() * self.factors.recurrence;
        let name = |number| ObjectName { world: self.world, server, kind, number };
        let method = self.method(random.unit());
        let repeat = wanted && set.has_any(server, usize::from(kind));
        let object = if repeat {
            self.repeated(set, name, &mut random)?
        } else if method == Drawn::Post {
            self.model.object(&name(POSTED | nth))?
        } else {
            self.model.object(&name(set.make(server, usize::from(kind))))?
        };
        if method == Drawn::Post {
            let drawn = self.spec.post_body.as_ref().map_or(0.0, |sizes| sizes.draw(&mut random)) as u64;
            let sends = drawn.min(LARGEST_POST);
            return Some((
                Choice { object, kind: RequestKind::Post, repeat, robot, sends },
                wanted && !repeat,
            ));
        }
        let drawn = if method == Drawn::Head { method } else { self.drawn(random.unit()) };
        // An object that a page embeds is marked as a repeat when its page is one: it must have come with the first.
        let is_first_page = !repeat && object.embedded().len() > 0;
        let drawn = if is_first_page && !drawn.brings_the_whole() { Drawn::Basic } else { drawn };
        let kind = self.kind(&object, drawn, &mut random);
        Some((Choice { object, kind, repeat, robot, sends: 0 }, wanted && !repeat))
    }

    fn method(&self, unit: f64) -> Drawn {
        let [head, post] = [self.spec.special.head, self.spec.special.post];
        let [head, post] = [head, post].map(|share| share.get() * self.factors.special);
        match unit {
            _ if unit < head => Drawn::Head,
            _ if unit < head + post => Drawn::Post,
            _ => Drawn::Basic,
        }
    }

    /// A request for an embedded object of a page: it is made as its page's was, as in Web Polygraph, but that a range
    /// is the page's own and each may be aborted.
    pub(super) fn embedded(
        &self,
        name: &ObjectName,
        page: RequestKind,
        mut random: SplitMix64,
    ) -> Option<(Object, RequestKind)> {
        let object = self.model.object(name)?;
        let drawn = match self.drawn(random.unit()) {
            Drawn::Abort => Drawn::Abort,
            _ => Drawn::inherited(page),
        };
        let kind = self.kind(&object, drawn, &mut random);
        Some((object, kind))
    }

    fn robot(&self, random: &mut SplitMix64) -> u32 {
        let robots = self.worker.share(u64::from(self.spec.robots.get()));
        let there = (robots as f64 * self.factors.population).ceil().max(1.0);
        random.below(there as u64) as u32
    }

    fn repeated(
        &self,
        set: &mut WorkingSet,
        name: impl Fn(u64) -> ObjectName,
        random: &mut SplitMix64,
    ) -> Option<Object> {
        let place = (name(0).server, usize::from(name(0).kind));
        let repeat = set.repeat(place, self.spec.popularity, self.spec.hot_set, random);
        let small = random.unit() < self.spec.byte_hit_discrimination.get();
        let smallest = || {
            let objects = repeat.neighbours(NEIGHBOURS).filter_map(|number| self.model.object(&name(number)));
            objects.filter(|object| object.cachable).min_by_key(|object| object.size)
        };
        let found = if small { smallest() } else { None };
        found.or_else(|| self.model.object(&name(repeat.number())))
    }

    /// The kind of request for an object; one that the object does not allow becomes a plain one.
    fn kind(&self, object: &Object, drawn: Drawn, random: &mut SplitMix64) -> RequestKind {
        let dated = || object.at(self.unix_secs).last_modified.is_some();
        match drawn {
            Drawn::Head => RequestKind::Head,
            Drawn::Ims200 if dated() => RequestKind::Ims200,
            Drawn::Ims304 if dated() => RequestKind::Ims304,
            Drawn::Reload => RequestKind::Reload,
            Drawn::Range if object.size > 0 => range(object.size, random),
            Drawn::Abort if object.size > 0 => RequestKind::Abort,
            Drawn::Etag200 if object.cachable => RequestKind::Etag200,
            Drawn::Etag304 if object.cachable => RequestKind::Etag304,
            Drawn::Match412 => RequestKind::Match412,
            Drawn::Hop => RequestKind::Hop,
            _ => RequestKind::Basic,
        }
    }

    fn drawn(&self, unit: f64) -> Drawn {
        let Special { ims200, ims304, reload, range, abort, etag200, etag304, match412, hop, .. } =
            self.spec.special;
        let mut end = 0.0;
        for (share, drawn) in [
            (ims200, Drawn::Ims200),
            (ims304, Drawn::Ims304),
            (reload, Drawn::Reload),
            (range, Drawn::Range),
            (abort, Drawn::Abort),
            (etag200, Drawn::Etag200),
            (etag304, Drawn::Etag304),
            (match412, Drawn::Match412),
            (hop, Drawn::Hop),
        ] {
            end += share.get() * self.factors.special;
            if unit < end {
                return drawn;
            }
        }
        Drawn::Basic
    }
}

/// A kind of request before the object was looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drawn {
    Basic,
    Ims200,
    Ims304,
    Reload,
    Range,
    Abort,
    Etag200,
    Etag304,
    Match412,
    Hop,
    Head,
    Post,
}

impl Drawn {
    /// The kind that a page's embedded objects inherit from its request. Where that brought no body nothing is
    /// embedded.
    const fn inherited(page: RequestKind) -> Self {
        match page {
            RequestKind::Ims200 => Self::Ims200,
            RequestKind::Ims304 => Self::Ims304,
            RequestKind::Reload => Self::Reload,
            RequestKind::Etag200 => Self::Etag200,
            RequestKind::Etag304 => Self::Etag304,
            _ => Self::Basic,
        }
    }

    /// Whether the origin's reply is the whole object.
    const fn brings_the_whole(self) -> bool {
        matches!(self, Self::Basic | Self::Ims200 | Self::Reload | Self::Etag200 | Self::Hop)
    }
}

/// From anywhere in the body to anywhere behind that.
fn range(len: u64, random: &mut SplitMix64) -> RequestKind {
    let first = random.below(len);
    RequestKind::Range { first, last: first + random.below(len - first) }
}
