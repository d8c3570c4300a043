//! Time limits of a connection: for connecting, for its exchanges, for being idle, and for waiting until the peer
//! closes it.
//!
//! Measuring side. [`crate::turn`] checks them now and then and gives the time.

use super::http::Http;
use super::outcome::{Arrival, Closing, Done};
use super::{Connection, Manner, Phase};
use bakeoff_meter::ErrorClass;
use bakeoff_units::Nanos;

impl Connection {
    /// Checks the time limits; returns whether one has passed.
    pub(crate) fn sweep(
        &mut self,
        now: Nanos,
        manner: &Manner<'_>,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) -> bool {
        if self.lingering.is_some_and(|until| now >= until) {
            self.over = true;
        }
        if self.idles_too_long(now, manner.target.idle_timeout) {
            self.close_inside(Closing::ENDED, &Arrival::new(&manner.clock, None), done);
            return true;
        }
        let opened = self.phase == Phase::Open;
        let on_its_way = matches!(self.phase, Phase::Connecting | Phase::Tunnelling);
        let limit = manner.connect_timeout.filter(|_| on_its_way);
        let late = limit.is_some_and(|limit| now >= self.since + limit);
        match &mut self.http {
            Http::Two(http) if opened => {
                http.give_up_overdue(now, done);
                if done.is_empty() {
                    return self.over;
                }
                self.begin(now, manner, out, done);
                if self.is_spent(manner.target) {
                    self.close_inside(Closing::ENDED, &Arrival::new(&manner.clock, None), done);
                }
                return true;
            }
            http if http.is_overdue(now) || late => {
                self.break_with(
                    if on_its_way { ErrorClass::ConnectTimeout } else { ErrorClass::Timeout },
                    done,
                );
            }
            _ => {}
        }
        self.over
    }

    fn idles_too_long(&self, now: Nanos, limit: Option<Nanos>) -> bool {
        limit.is_some_and(|limit| self.reusable() && now >= self.since + limit)
    }
}
