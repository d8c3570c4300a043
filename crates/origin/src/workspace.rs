//! Workspace of a thread: the site, the outgoing bytes, counters. One for all connections.
//!
//! Hot. Its memory is used again and again, so that a request allocates nothing.

use crate::counters::{Counters, add};
use crate::ending::Ending;
use crate::head::{Going, Heads};
use crate::outgoing::Outgoing;
use crate::site::{Answer, Piece, Site, SiteRequest};
use crate::synthetic_load::{Costs, InPlace, SyntheticLoad};
use crate::tls::Sealed;
use crate::world::{Content, Request, WorldWorkspace};
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use bakeoff_wire::http1::RequestHead;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// See the module.
pub(crate) struct Workspace {
    site: Arc<Site>,
    pub(crate) heads: Heads,
    /// Bytes in plain text.
    pub(crate) out: Outgoing,
    /// The same in records of TLS.
    pub(crate) sealed: Sealed,
    pub(crate) counters: Arc<Counters>,
    /// Shared by all that this thread times.
    pub(crate) clock: MonotonicClock,
    /// Of a world, if one is served.
    pub(crate) world: Option<WorldWorkspace>,
    /// Events behind the one that is served.
    pub(crate) behind: usize,
    burners: Costs<Option<SyntheticLoad>>,
    decoded: Vec<u8>,
}

impl Workspace {
    pub(crate) fn new(
        site: Arc<Site>,
        counters: Arc<Counters>,
        burners: Costs<Option<SyntheticLoad>>,
    ) -> Self {
        Self {
            site,
            heads: Heads::new(),
            out: Outgoing::default(),
            sealed: Sealed::default(),
            counters,
            clock: MonotonicClock::new(),
            world: None,
            behind: 0,
            burners,
            decoded: Vec::new(),
        }
    }

    /// Clears it for the next connection.
    pub(crate) fn clear(&mut self) {
        self.out.clear();
        self.sealed.clear();
    }

    /// Whether there is a planted cost on requests.
    pub(crate) const fn burns(&self) -> bool {
        self.burners.request.is_some() || self.burners.in_flight.is_some()
    }

    /// Whether there is a planted cost on wake-ups.
    pub(crate) const fn burns_on_wakeup(&self) -> bool {
        self.burners.wakeup.is_some()
    }

    /// Burns the cost of a wake-up.
    pub(crate) fn burn_on_wakeup(&mut self) {
        burn(&mut self.burners.wakeup, 1, &self.counters.turns.wakeup, &self.counters.in_place);
    }

    /// With these heads in place of plain ones.
    pub(crate) fn with_heads(self, heads: Heads) -> Self {
        Self { heads, ..self }
    }

    /// With the world that is served beside the site.
    pub(crate) fn with_world(self, world: Option<WorldWorkspace>) -> Self {
        Self { world, ..self }
    }

    /// The moment, where a reply may depend on it: in a world.
    pub(crate) fn now(&self) -> Nanos {
        if self.world.is_some() { self.clock.now() } else { Nanos::ZERO }
    }

    /// Puts the head of a reply about an object of the world in the workspace, and returns its body; the request
    /// counts as answered from now on.
    pub(crate) fn answer_of_world(&mut self, request: &Request, going: Going) -> Content {
        self.count_and_burn();
        let Some(world) = &mut self.world else { return Content::Plain(Piece::nothing()) };
        self.counters.asked(world.is_first(request), request.way);
        let (content, not_modified) = world.reply(request, going, self.out.bytes());
        if not_modified {
            self.counters.not_modified();
        }
        if request.is_post() {
            self.counters.post();
        }
        content
    }

    /// Puts the whole reply in the workspace if the request is for the tally.
    pub(crate) fn tell_tally(&mut self, request: &RequestHead<'_>, going: Going) -> bool {
        match &mut self.world {
            Some(world) if world.is_about_the_tally(request) => {
                world.write_tally(request, going, self.out.bytes());
                true
            }
            _ => false,
        }
    }

    /// Puts the whole reply in the workspace if the request is a part's word; an error ends the connection with it.
    pub(crate) fn meet(&mut self, request: &RequestHead<'_>, going: Going) -> Option<Result<(), Ending>> {
        let world = self.world.as_mut().filter(|world| world.is_about_parts(request))?;
        Some(world.write_meeting(request, self.clock.now(), going, self.out.bytes()))
    }

    /// Decides on a reply; the request counts as answered from now on.
    pub(crate) fn answer(&mut self, asked: &SiteRequest<'_>) -> Answer {
        self.count_and_burn();
        self.site.answer(asked, &mut self.decoded)
    }

    fn count_and_burn(&mut self) {
        self.counters.request();
        let Counters { turns, in_place, .. } = &*self.counters;
        burn(&mut self.burners.request, 1, &turns.request, in_place);
        burn(&mut self.burners.in_flight, self.behind as u64, &turns.in_flight, in_place);
    }
}

fn burn(burner: &mut Option<SyntheticLoad>, units: u64, turns: &AtomicU64, in_place: &InPlace) {
    if let Some(burner) = burner {
        add(turns, burner.burn(units, in_place));
    }
}
